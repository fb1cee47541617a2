/* SPDX-License-Identifier: MIT */
/* Sending a file as it is, or a folder as an archive. */
#include <fakes/render-api/routes.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <fakes/render-api/tarball.h>

#define BLOCK ((size_t)16 * 1024)

/* A transfer under way; the answer owns it. */
struct download {
	struct request *request;
	struct sandbox *sandbox;
	struct tarball *tarball;
	int fd;
	/* Bytes left until the connection breaks, for a cut. */
	uint64_t until_cut;
};

static void download_free(void *arg)
{
	struct download *download = arg;

	if (download->tarball)
		tarball_free(download->tarball);
	sp_close(download->fd);
	sandbox_unuse(download->sandbox);
	request_unref(download->request);
	free(download);
}

static struct download *download_new(struct request *request)
{
	struct download *download = calloc(1, sizeof(*download));

	if (!download)
		return NULL;
	download->request = request_ref(request);
	download->sandbox = request->sandbox;
	download->fd = -1;
	download->until_cut = UINT64_MAX;
	sandbox_use(request->sandbox);
	return download;
}

static ssize_t cut(struct download *download, ssize_t n)
{
	if (n > 0 && download->until_cut != UINT64_MAX)
		download->until_cut -= (uint64_t)n;
	return n;
}

/* How much may be given; 0: break the connection now. */
static size_t allowed(const struct download *download, size_t max)
{
	return download->until_cut < max ? (size_t)download->until_cut : max;
}

static ssize_t read_folder(void *arg, uint64_t position SP_UNUSED, char *buffer, size_t max)
{
	struct download *download = arg;
	size_t room = allowed(download, max);
	ssize_t n = room ? tarball_read(download->tarball, buffer, room) : -1;

	if (n < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return n ? cut(download, n) : MHD_CONTENT_READER_END_OF_STREAM;
}

static ssize_t read_file(void *arg, uint64_t position, char *buffer, size_t max)
{
	struct download *download = arg;
	size_t room = allowed(download, max);
	ssize_t n = room ? pread(download->fd, buffer, room, (off_t)position) : -1;

	/* A file that became shorter breaks its promise of length; so does the connection. */
	return n > 0 ? cut(download, n) : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void answer_open_error(struct request *request, const struct sp_error *err)
{
	if (err->code == SP_NOT_FOUND)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "file_not_found", "%s",
				     err->message);
	else if (err->code == SP_DENIED)
		request_answer_error(request, MHD_HTTP_FORBIDDEN, "permission_denied", "%s",
				     err->message);
	else
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "download_failed",
				     "%s", err->message);
}

static void answer_folder(struct request *request, const char *path)
{
	struct sp_error err = SP_ERROR_INIT;
	struct tarball *tarball = tarball_new(request->sandbox->handle, path, &err);
	struct download *download = tarball ? download_new(request) : NULL;
	struct MHD_Response *response;

	if (!download) {
		if (tarball)
			tarball_free(tarball);
		answer_open_error(request, &err);
		return;
	}
	download->tarball = tarball;
	if (request->failure.how == SP_FAIL_CUT)
		download->until_cut = 16;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_folder, download,
						     download_free);
	if (!response) {
		download_free(download);
		request_answer_drop(request);
		return;
	}
	MHD_add_response_header(response, "Content-Type", "application/x-tar");
	MHD_add_response_header(response, "Content-Encoding", "gzip");
	request_answer(request, MHD_HTTP_OK, response);
}

/* Names may hold anything; what could end the quoted text or the header is replaced. */
static void add_disposition(struct MHD_Response *response, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[256];
	char header[300];

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
			*c = '_';
	snprintf(header, sizeof(header), "attachment; filename=\"%s\"", name);
	MHD_add_response_header(response, "Content-Disposition", header);
}

/* The plain way hands the file to the kernel; only a cut needs to count bytes. */
static struct MHD_Response *file_response(struct request *request, int fd, uint64_t size)
{
	struct MHD_Response *response;
	struct download *download;

	if (request->failure.how != SP_FAIL_CUT || !size) {
		response = MHD_create_response_from_fd64(size, fd);
		if (!response)
			sp_close(fd);
		return response;
	}
	download = download_new(request);
	if (!download) {
		sp_close(fd);
		return NULL;
	}
	download->fd = fd;
	download->until_cut = size / 2;
	response = MHD_create_response_from_callback(size, BLOCK, read_file, download,
						     download_free);
	if (!response)
		download_free(download);
	return response;
}

static void answer_file(struct request *request, const char *path, int fd, uint64_t size)
{
	struct MHD_Response *response = file_response(request, fd, size);

	if (response) {
		MHD_add_response_header(response, "Content-Type", "application/octet-stream");
		add_disposition(response, path);
	}
	request_answer(request, MHD_HTTP_OK, response);
}

static void open_download(struct request *request)
{
	const char *path = request_query(request, "path");
	struct sp_error err = SP_ERROR_INIT;
	enum fake_path_kind kind;
	uint64_t size = 0;
	int fd SP_CLOSE = -1;

	if (fake_path_open(request->sandbox->handle, path, &kind, &fd, &size, &err)) {
		answer_open_error(request, &err);
		return;
	}
	/* A transfer is activity, also one that the kernel does by itself. */
	sandbox_use(request->sandbox);
	sandbox_unuse(request->sandbox);
	if (kind == FAKE_PATH_DIR)
		answer_folder(request, path);
	else if (kind == FAKE_PATH_FILE)
		answer_file(request, path, SP_TAKE_FD(fd), size);
	else
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, "not_a_file",
				     "%s is neither a file nor a folder", path);
}

void proxy_download(struct request *request)
{
	request_wake(request, open_download);
}
