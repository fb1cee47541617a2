/* SPDX-License-Identifier: MIT */
#include <reports/out.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

#define PASS ((size_t)64 * 1024)

/* A device or pipe is written into: a rename would put a file in its place. */
static int open_device(struct sp_out *out, const char *path, struct sp_error *err)
{
	out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	out->device = out->fd >= 0;
	return out->device ? 0
			   : sp_error_set_errno(err, errno, "cannot write the report %s", path);
}

int sp_out_open(struct sp_out *out, const char *path, struct sp_error *err)
{
	struct stat st;
	char id[13];

	out->path = path;
	if (!strcmp(path, "-")) {
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return open_device(out, path, err);
	sp_random_id(id, sizeof(id) - 1);
	if (asprintf(&out->temporary, "%s.%s.tmp", path, id) < 0) {
		out->temporary = NULL;
		return sp_error_set(err, SP_INTERNAL, "no memory for the report %s", path);
	}
	out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644);
	if (out->fd < 0) {
		int error = errno;

		free(out->temporary);
		out->temporary = NULL;
		return sp_error_set_errno(err, error, "cannot write the report %s", path);
	}
	return 0;
}

void sp_out_write(struct sp_out *out, const void *data, size_t len)
{
	sp_out_flush(out);
	if (!out->error && len) {
		out->error = -sp_write_all(out->fd, data, len);
		out->written += len;
	}
}

void sp_out_flush(struct sp_out *out)
{
	if (!out->error && out->buf.error)
		out->error = -out->buf.error;
	if (!out->error && out->buf.len) {
		out->error = -sp_write_all(out->fd, out->buf.data, out->buf.len);
		out->written += out->buf.len;
	}
	sp_buf_clear(&out->buf);
}

void sp_out_pass(struct sp_out *out)
{
	if (out->buf.len >= PASS || out->buf.error)
		sp_out_flush(out);
}

void sp_out_fail(struct sp_out *out, int error)
{
	if (!out->error)
		out->error = error;
}

int sp_out_close(struct sp_out *out, struct sp_error *err)
{
	sp_out_flush(out);
	if (out->device && close(SP_TAKE_FD(out->fd)) && !out->error)
		out->error = errno;
	if (out->temporary) {
		/* Some file systems tell of a full disk only here. */
		if (close(out->fd) && !out->error)
			out->error = errno;
		out->fd = -1;
		if (!out->error && rename(out->temporary, out->path))
			out->error = errno;
		if (!out->error) {
			free(out->temporary);
			out->temporary = NULL;
		}
	}
	if (out->error)
		return sp_error_set_errno(err, out->error, "cannot write the report %s",
					  strcmp(out->path, "-") ? out->path
								 : "to standard output");
	return 0;
}

void sp_out_done(struct sp_out *out)
{
	if (out->device)
		out->fd = sp_close(out->fd);
	if (out->temporary) {
		if (out->fd >= 0)
			close(out->fd);
		(void)unlink(out->temporary);
		free(out->temporary);
	}
	sp_buf_done(&out->buf);
	*out = (struct sp_out)SP_OUT_INIT;
}
