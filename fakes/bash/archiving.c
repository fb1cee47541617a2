/* SPDX-License-Identifier: MIT */
/*
 * What goes out of a sandbox or into it as an archive: work that takes as long as there are files.
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>

struct fake_archiving *fake_archiving_new(struct fake_sandbox *sandbox, uint64_t limit,
					  fake_done_fn done, void *arg)
{
	struct fake_archiving *archiving = calloc(1, sizeof(*archiving));

	if (!archiving)
		return NULL;
	archiving->sandbox = sandbox;
	archiving->fd = -1;
	archiving->dir_fd = -1;
	archiving->limit = limit ? limit : UINT64_MAX;
	archiving->done = done;
	archiving->arg = arg;
	return archiving;
}

void fake_archiving_free(struct fake_archiving *archiving)
{
	if (!archiving)
		return;
	sp_close(archiving->fd);
	sp_close(archiving->dir_fd);
	free(archiving->path);
	free(archiving);
}

/*
 * It may have been the last that the sandbox's end waited for; what was done
 * for one that ended is nothing.
 */
static void archiving_done(struct fake_job *job)
{
	struct fake_archiving *archiving = FAKE_CONTAINER(job, struct fake_archiving, job);
	struct fake_sandbox *sandbox = archiving->sandbox;
	bool ended = sandbox->state != FAKE_RUNNING && sandbox->state != FAKE_SUSPENDED;

	if (ended && !archiving->error.code) {
		if (archiving->path)
			unlink(archiving->path);
		fake_archive_error(&archiving->error, -ECANCELED, "use", sandbox->id);
	}
	LIST_REMOVE(archiving, link);
	sandbox->engine->n_finishing--;
	archiving->dir_fd = sp_close(archiving->dir_fd);
	archiving->done(archiving->arg, archiving->error.code,
			archiving->error.code ? &archiving->error : NULL);
	fake_archiving_free(archiving);
	fake_sandbox_advance(sandbox);
}

void fake_archiving_start(struct fake_archiving *archiving, void (*run)(struct fake_job *job))
{
	struct fake_sandbox *sandbox = archiving->sandbox;

	archiving->job = (struct fake_job){ .run = run, .done = archiving_done };
	LIST_INSERT_HEAD(&sandbox->archivings, archiving, link);
	sandbox->engine->n_finishing++;
	fake_pool_submit(sandbox->engine->slow_pool, &archiving->job);
}

void fake_archivings_stop(struct fake_sandbox *sandbox)
{
	struct fake_archiving *archiving;

	LIST_FOREACH(archiving, &sandbox->archivings, link)
		atomic_store_explicit(&archiving->stop, true, memory_order_relaxed);
}

/* ---- extracting what a client sent ---- */

/* Everything goes below the one folder; names may begin with "./". */
static enum fake_place place(void *arg, const char *name, int *ret_fd, const char **ret_rest)
{
	while (!strncmp(name, "./", 2))
		name += 2;
	*ret_fd = *(int *)arg;
	*ret_rest = strcmp(name, ".") ? name : name + 1;
	return FAKE_PLACE_HERE;
}

static void run_extract(struct fake_job *job)
{
	struct fake_archiving *archiving = FAKE_CONTAINER(job, struct fake_archiving, job);
	const struct fake_unpack_rules rules = { .compressed = archiving->compressed };
	struct fake_unpack *unpack;
	int rc = fake_unpack_open(archiving->fd, &rules, archiving->limit, &archiving->stop,
				  &unpack);

	if (!rc) {
		rc = fake_unpack_run(unpack, place, &archiving->dir_fd);
		fake_unpack_free(unpack);
	}
	if (rc < 0)
		fake_archive_error(&archiving->error, rc, "extract into", archiving->sandbox->id);
}

/* The folder; when only its last component is missing, that is made. -errno. */
static int open_folder(struct fake_sandbox *sandbox, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent SP_FREE = NULL;
	int fd = fake_path_resolve(sandbox, path, O_RDONLY | O_DIRECTORY);
	int parent_fd SP_CLOSE = -1;

	if (fd != -ENOENT)
		return fd;
	parent = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!parent)
		return -ENOMEM;
	parent_fd = fake_path_resolve(sandbox, parent, O_RDONLY | O_DIRECTORY);
	if (parent_fd < 0)
		return parent_fd;
	if (mkdirat(parent_fd, slash ? slash + 1 : path, 0755) && errno != EEXIST)
		return -errno;
	return fake_path_resolve(sandbox, path, O_RDONLY | O_DIRECTORY);
}

int fake_sandbox_extract(struct fake_sandbox *sandbox, const char *path, int fd, bool compressed,
			 uint64_t limit, fake_done_fn done, void *arg, struct sp_error *err)
{
	struct fake_archiving *archiving;
	int rc = fake_sandbox_need(sandbox, false, err);
	int dir_fd;

	if (rc)
		return rc;
	dir_fd = open_folder(sandbox, path);
	if (dir_fd < 0)
		return fake_path_error(err, dir_fd, path);
	archiving = fake_archiving_new(sandbox, limit, done, arg);
	if (!archiving) {
		sp_close(dir_fd);
		return sp_error_set(err, SP_INTERNAL, "no memory for an archive");
	}
	archiving->dir_fd = dir_fd;
	archiving->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	archiving->compressed = compressed;
	if (archiving->fd < 0) {
		rc = sp_error_set_errno(err, errno, "cannot hold an archive");
		fake_archiving_free(archiving);
		return rc;
	}
	fake_archiving_start(archiving, run_extract);
	return 0;
}
