/* SPDX-License-Identifier: MIT */
/*
 * Undoes gzip piece by piece. Not left to libcurl, which takes a body that ends before its checksum
 * for a whole one: a transfer that was cut off would look complete.
 */
#include "internal.h"

#include <stdlib.h>
#include <strings.h>

#include <zlib.h>

/* Window of 32 KiB, and a gzip header and trailer that have to be there. */
#define GZIP_BITS (15 + 16)

struct http_gunzip {
	z_stream z;
	/* Something came, and it is not known to be whole. */
	bool open;
};

int http_gunzip_new(const char *coding, struct http_gunzip **ret_gunzip, struct sp_error *err)
{
	struct http_gunzip *gunzip;

	*ret_gunzip = NULL;
	if (!coding || !*coding || !strcasecmp(coding, "identity"))
		return 0;
	if (strcasecmp(coding, "gzip"))
		return sp_error_set(err, SP_PROTOCOL, "an answer in the coding \"%.32s\"", coding);
	gunzip = calloc(1, sizeof(*gunzip));
	if (!gunzip || inflateInit2(&gunzip->z, GZIP_BITS) != Z_OK) {
		free(gunzip);
		return sp_error_set(err, SP_INTERNAL, "no memory for a compressed answer");
	}
	*ret_gunzip = gunzip;
	return 0;
}

void http_gunzip_free(struct http_gunzip *gunzip)
{
	if (!gunzip)
		return;
	inflateEnd(&gunzip->z);
	free(gunzip);
}

int http_gunzip_step(struct http_gunzip *gunzip, const void *in, size_t len, size_t *ret_used,
		     void *out, size_t max, size_t *ret_len, struct sp_error *err)
{
	z_stream *z = &gunzip->z;
	int rc;

	/* Archives may stand one behind the other. */
	if (len && !gunzip->open) {
		inflateReset(z);
		gunzip->open = true;
	}
	z->next_in = (void *)in;
	z->avail_in = (uInt)len;
	z->next_out = out;
	z->avail_out = (uInt)max;
	rc = gunzip->open ? inflate(z, Z_NO_FLUSH) : Z_BUF_ERROR;
	*ret_used = len - z->avail_in;
	*ret_len = max - z->avail_out;
	if (rc == Z_STREAM_END)
		gunzip->open = false;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		return sp_error_set(err, rc == Z_MEM_ERROR ? SP_INTERNAL : SP_PROTOCOL,
				    "a compressed answer cannot be read: %s",
				    z->msg ? z->msg : "no memory");
	return 0;
}

bool http_gunzip_is_whole(const struct http_gunzip *gunzip)
{
	return !gunzip->open;
}
