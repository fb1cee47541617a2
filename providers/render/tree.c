/* SPDX-License-Identifier: MIT */
/* Folders and files of any size: what is sent and what takes it, around render_transfer(). */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <base/files.h>

#include "tar.h"

static int transfer(struct sp_provider *provider, const char *sandbox_id, const char *operation,
		    const char *path, struct render_request *request, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};

	if (!sp_render_platform(provider).ops)
		return sp_error_set(err, SP_UNSUPPORTED, "not a Render provider");
	if (!render_id_ok(sandbox_id))
		return sp_error_set(err, SP_INVALID, "not the id of a sandbox");
	return render_transfer(provider->self, sandbox_id, operation, path, request, cancel,
			       &answer, err);
}

/* ---- folders ---- */

int sp_render_send_tree(struct sp_provider *provider, const char *sandbox_id, const char *path,
			const char *folder, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_source *source = tar_out_new(folder, err);
	struct render_request request = {
	    .method = "PUT", .content_type = RENDER_ARCHIVE_TYPE, .source = source};
	int rc;

	if (!source)
		return SP_INTERNAL;
	rc = transfer(provider, sandbox_id, "files/upload", path, &request, cancel, err);
	tar_out_free(source);
	return rc;
}

static bool is_archive(struct sp_http_stream *stream)
{
	const char *type = stream->ops->header(stream->self, "Content-Type");

	return type && !strncasecmp(type, RENDER_ARCHIVE_TYPE, strlen(RENDER_ARCHIVE_TYPE));
}

static int take_tree(void *arg, struct sp_http_stream *stream, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	if (!is_archive(stream))
		return sp_error_set(err, SP_INVALID, "that is a file and no folder");
	return tar_in(*(const int *)arg, stream, cancel, err);
}

int sp_render_fetch_tree(struct sp_provider *provider, const char *sandbox_id, const char *path,
			 const char *folder, struct sp_cancel *cancel, struct sp_error *err)
{
	int fd SP_CLOSE = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct render_sink sink = {.take = take_tree, .arg = &fd};
	struct render_request request = {.method = "GET", .sink = &sink};

	if (fd < 0)
		return sp_error_set_errno(err, errno, "cannot open the folder %s", folder);
	return transfer(provider, sandbox_id, "files/download", path, &request, cancel, err);
}

/* ---- files ---- */

struct file {
	int fd;
	/* Where it stood. */
	off_t start;
	struct render_source source;
};

static int64_t give_file(void *arg, void *buffer, size_t max)
{
	struct file *file = arg;
	ssize_t n = read(file->fd, buffer, max);

	return n >= 0 ? n
		      : sp_error_set_errno(&file->source.error, errno,
					   "cannot read the file that is sent");
}

static int rewind_file(void *arg, struct sp_error *err)
{
	struct file *file = arg;

	return lseek(file->fd, file->start, SEEK_SET) < 0
		   ? sp_error_set_errno(err, errno, "cannot read the file again")
		   : 0;
}

int sp_render_send_file(struct sp_provider *provider, const char *sandbox_id, const char *path,
			int fd, struct sp_cancel *cancel, struct sp_error *err)
{
	struct file file = {.fd = fd, .start = lseek(fd, 0, SEEK_CUR)};
	struct render_request request = {.method = "PUT",
					 .content_type = "application/octet-stream",
					 .source = &file.source};

	if (file.start < 0)
		return sp_error_set_errno(err, errno, "cannot tell where the file stands");
	file.source = (struct render_source){
	    .read = give_file, .rewind = rewind_file, .arg = &file, .error = SP_ERROR_INIT};
	return transfer(provider, sandbox_id, "files/upload", path, &request, cancel, err);
}

static int take_file(void *arg, struct sp_http_stream *stream, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	char piece[16 * 1024];
	size_t n = 0;
	int rc;

	if (is_archive(stream))
		return sp_error_set(err, SP_INVALID, "that is a folder and no file");
	do {
		rc = stream->ops->read(stream->self, piece, sizeof(piece), &n, cancel, err);
		if (!rc && n && (rc = sp_write_all(*(const int *)arg, piece, n)))
			return sp_error_set_errno(err, -rc, "cannot write the file that comes");
	} while (!rc && n);
	return rc;
}

int sp_render_fetch_file(struct sp_provider *provider, const char *sandbox_id, const char *path,
			 int fd, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sink sink = {.take = take_file, .arg = &fd};
	struct render_request request = {.method = "GET", .sink = &sink};

	return transfer(provider, sandbox_id, "files/download", path, &request, cancel, err);
}
