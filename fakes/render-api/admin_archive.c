/* SPDX-License-Identifier: MIT */
/* The back door to the bytes of a snapshot: to search them, and to put others in their place. */
#include <fakes/render-api/routes.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

/* The complete archive that the path names, or NULL, and then it has answered. */
static struct snapshot *find(struct request *request)
{
	struct snapshot *snapshot = snapshot_find(request->workspace, request->params[1], false);

	if (snapshot && snapshot->path && !snapshot->capturing)
		return snapshot;
	request_answer_error(request, MHD_HTTP_NOT_FOUND, "archive_not_found",
			     "the workspace has no archive of %s", request->params[1]);
	return NULL;
}

void admin_archive(struct request *request)
{
	struct snapshot *snapshot = find(request);
	struct MHD_Response *response = NULL;
	struct stat st;
	int fd;

	if (!snapshot)
		return;
	fd = open(snapshot->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st))
		response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
	if (response)
		MHD_add_response_header(response, "Content-Type", "application/x-tar");
	else
		sp_close(fd);
	request_answer(request, MHD_HTTP_OK, response);
}

/* An archive that comes in; it takes the other's place when it is whole. */
struct plant {
	char *path;
	int fd;
	int error;
};

void admin_plant(struct request *request)
{
	struct snapshot *snapshot = find(request);
	struct plant *plant = snapshot ? calloc(1, sizeof(*plant)) : NULL;

	if (!snapshot)
		return;
	if (!plant || asprintf(&plant->path, "%s.planted", snapshot->path) < 0) {
		free(plant);
		request_answer_drop(request);
		return;
	}
	plant->fd = open(plant->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	plant->error = plant->fd < 0 ? -errno : 0;
	request->op = plant;
}

void admin_plant_data(struct request *request, const void *data, size_t len)
{
	struct plant *plant = request->op;

	if (plant && !plant->error)
		plant->error = sp_write_all(plant->fd, data, len);
}

/* Restores that are under way keep what they have opened. */
void admin_plant_end(struct request *request)
{
	struct plant *plant = request->op;
	struct snapshot *snapshot = plant ? find(request) : NULL;

	if (!snapshot)
		return;
	if (!plant->error && rename(plant->path, snapshot->path))
		plant->error = -errno;
	if (plant->error)
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "not_planted",
				     "cannot write the archive: %s", strerror(-plant->error));
	else
		request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

void admin_plant_gone(struct request *request)
{
	struct plant *plant = SP_TAKE(request->op);

	if (!plant)
		return;
	sp_close(plant->fd);
	unlink(plant->path);
	free(plant->path);
	free(plant);
}
