/* SPDX-License-Identifier: MIT */
/*
 * Receiving a file, piece by piece, into its place; or an archive, into a file without a name, to
 * be extracted when it is whole.
 */
#include <fakes/render-api/routes.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/nameless.h>

/* A transfer under way: one of the two. */
struct incoming {
	struct fake_upload *upload;
	/* The archive, or -1. */
	int fd;
	bool compressed;
};

static void answer_upload_error(struct request *request, const struct sp_error *err)
{
	if (err->code == SP_NOT_FOUND)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "file_not_found", "%s",
				     err->message);
	else if (err->code == SP_CONFLICT)
		request_answer_error(request, MHD_HTTP_CONFLICT, "path_is_a_directory", "%s",
				     err->message);
	else if (err->code == SP_PROTOCOL)
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid_archive", "%s",
				     err->message);
	else if (err->code == SP_DENIED)
		request_answer_error(request, MHD_HTTP_FORBIDDEN, "permission_denied", "%s",
				     err->message);
	else if (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT)
		request_answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, "insufficient_storage",
				     "no space left on device");
	else
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "upload_failed", "%s",
				     err->message);
}

static void answer_full(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;

	sp_error_set_errno(&err, ENOSPC, "the disk is made to be full");
	answer_upload_error(request, &err);
}

static void drop(struct request *request)
{
	struct incoming *incoming = SP_TAKE(request->op);

	if (!incoming)
		return;
	if (incoming->upload)
		fake_upload_abort(incoming->upload);
	sp_close(incoming->fd);
	free(incoming);
	sandbox_unuse(request->sandbox);
}

/* Of an archive the name of the folder is looked at in the end, when it is needed. */
static int open_incoming(struct request *request, struct incoming *incoming, struct sp_error *err)
{
	const char *type = request_header(request, "Content-Type");
	const char *encoding = request_header(request, "Content-Encoding");

	incoming->fd = -1;
	if (!type || strncasecmp(type, "application/x-tar", 17))
		return fake_upload_open(request->sandbox->handle, request_query(request, "path"),
					&incoming->upload, err);
	incoming->compressed = encoding && !strcasecmp(encoding, "gzip");
	incoming->fd = nameless_open(request->api->state_dir);
	return incoming->fd < 0 ? sp_error_set_errno(err, errno, "cannot hold an archive") : 0;
}

static void open_upload(struct request *request)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));
	struct sp_error err = SP_ERROR_INIT;
	int rc = incoming ? open_incoming(request, incoming, &err) :
			    sp_error_set(&err, SP_INTERNAL, "out of memory");

	if (rc) {
		free(incoming);
		answer_upload_error(request, &err);
		return;
	}
	sandbox_use(request->sandbox);
	request->op = incoming;
}

void proxy_upload(struct request *request)
{
	request_wake(request, open_upload);
}

static int take(struct incoming *incoming, const void *data, size_t len, struct sp_error *err)
{
	int rc;

	if (incoming->upload)
		return fake_upload_write(incoming->upload, data, len, err);
	rc = sp_write_all(incoming->fd, data, len);
	return rc ? sp_error_set_errno(err, -rc, "cannot hold an archive") : 0;
}

/* True when the transfer has been made to fail. */
static bool fails(struct request *request)
{
	if (request->failure.how == SP_FAIL_CUT) {
		drop(request);
		request_answer_drop(request);
		return true;
	}
	if (request->failure.how == SP_FAIL_DISK_FULL) {
		drop(request);
		answer_full(request);
		return true;
	}
	return false;
}

void proxy_upload_data(struct request *request, const void *data, size_t len)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!request->op || fails(request))
		return;
	if (take(request->op, data, len, &err)) {
		drop(request);
		answer_upload_error(request, &err);
	}
}

static void on_stored(void *arg, int rc, const struct sp_error *err)
{
	struct request *request = arg;

	sandbox_unuse(request->sandbox);
	if (rc)
		answer_upload_error(request, err);
	else
		request_answer_empty(request, MHD_HTTP_NO_CONTENT);
	request_unref(request);
}

static void extract(struct request *request, struct incoming *incoming)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = lseek(incoming->fd, 0, SEEK_SET) < 0 ?
			 sp_error_set_errno(&err, errno, "cannot read an archive") :
			 0;

	request_ref(request);
	if (!rc)
		rc = fake_sandbox_extract(request->sandbox->handle, request_query(request, "path"),
					  incoming->fd, incoming->compressed, 0, on_stored, request,
					  &err);
	if (rc)
		on_stored(request, rc, &err);
}

void proxy_upload_end(struct request *request)
{
	struct incoming *incoming = request->op;

	if (!incoming || fails(request))
		return;
	/* From here on it is the engine's, whether the client stays or not. */
	request->op = NULL;
	if (incoming->upload)
		fake_upload_finish(incoming->upload, on_stored, request_ref(request));
	else
		extract(request, incoming);
	sp_close(incoming->fd);
	free(incoming);
}

void proxy_upload_gone(struct request *request)
{
	drop(request);
}
