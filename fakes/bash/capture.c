/* SPDX-License-Identifier: MIT */
/*
 * Snapshots, taken. The archive holds, in this order:
 *
 *   about           what made it (text)
 *   l/N/…           the upper layer of overlay N, whiteouts and opaque folders included
 *   root/…          an ordinary user's folders that are no overlay
 *   home/…          plain mode: the home
 *   memory/…        runtime kind: the memory-backed directory, without its devices
 *   environ/PID     runtime kind: the environment of a process, as /proc has it
 *   end             nothing follows: an archive without it was cut off
 */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

/* Longest environment of a process: the kernel's limit is a quarter of the stack's. */
#define ENVIRON_CEILING ((size_t)8 << 20)

void fake_about(const struct fake_sandbox *sandbox, struct sp_buf *buf)
{
	const struct fake_plan *plan = &sandbox->engine->plan;

	sp_buf_adds(buf, "sandproof snapshot 1\n");
	if (sandbox->engine->mode == FAKE_PLAIN)
		sp_buf_adds(buf, "plain\n");
	else
		sp_buf_addf(buf, "namespaces%s\n", plan->user_ns ? " of a user" : "");
	for (size_t i = 0; i < plan->n_layers; i++)
		if (plan->layers[i].kind == FAKE_LAYER_OVERLAY)
			sp_buf_addf(buf, "%u %s\n", plan->layers[i].number, plan->layers[i].lower);
	sp_buf_addf(buf, FAKE_ABOUT_BASE "%zu\n", sandbox->base_files);
}

static int pack_about(struct fake_pack *pack, const struct fake_sandbox *sandbox)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FAKE_ABOUT_MAX - 1);

	fake_about(sandbox, &buf);
	return buf.error ? buf.error : fake_pack_bytes(pack, "about", buf.data, buf.len);
}

static int pack_at(struct fake_pack *pack, const char *prefix, int dir_fd, const char *path)
{
	int fd SP_CLOSE = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fake_pack_tree(pack, prefix, fd);
}

static int pack_layers(struct fake_pack *pack, const struct fake_sandbox *sandbox)
{
	const struct fake_plan *plan = &sandbox->engine->plan;
	int dir_fd SP_CLOSE = openat(sandbox->engine->state_fd, sandbox->id,
				     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = dir_fd < 0 ? -errno : 0;

	for (unsigned i = 0; !rc && i < plan->overlays; i++) {
		char prefix[24], path[32];

		snprintf(prefix, sizeof(prefix), "l/%u", i);
		snprintf(path, sizeof(path), "l/%u/u", i);
		rc = pack_at(pack, prefix, dir_fd, path);
	}
	if (!rc && plan->user_ns)
		rc = pack_at(pack, "root", dir_fd, "root");
	return rc;
}

/* Reads a whole environment; one of a process that has just ended is none. */
static int read_environ(const struct fake_sandbox *sandbox, pid_t pid, struct sp_buf *buf)
{
	bool plain = sandbox->engine->mode == FAKE_PLAIN;
	char path[40];
	int fd SP_CLOSE = -1;
	ssize_t n;

	sp_buf_clear(buf);
	snprintf(path, sizeof(path), "%s%d/environ", plain ? "/proc/" : "", (int)pid);
	fd = openat(plain ? AT_FDCWD : sandbox->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	do {
		char *room = sp_buf_reserve(buf, 64 * 1024);

		n = room ? read(fd, room, 64 * 1024) : 0;
		buf->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return buf->error;
}

static int pack_environs(struct fake_pack *pack, const struct fake_sandbox *sandbox)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ENVIRON_CEILING);
	pid_t *pids SP_FREE = NULL;
	size_t n = 0;
	int rc = fake_list_pids(sandbox, &pids, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "environ/%d", (int)pids[i]);
		rc = read_environ(sandbox, pids[i], &buf);
		if (!rc && buf.len)
			rc = fake_pack_bytes(pack, name, buf.data, buf.len);
	}
	return rc;
}

static int pack_all(struct fake_pack *pack, const struct fake_archiving *capture)
{
	const struct fake_sandbox *sandbox = capture->sandbox;
	bool plain = sandbox->engine->mode == FAKE_PLAIN;
	int rc = pack_about(pack, sandbox);

	if (!rc)
		rc = plain ? fake_pack_tree(pack, "home", sandbox->home_fd) :
			     pack_layers(pack, sandbox);
	if (!rc && capture->kind == FAKE_RUNTIME) {
		rc = plain ? fake_pack_tree(pack, "memory", sandbox->memory_fd) :
			     pack_at(pack, "memory", sandbox->root_fd, "dev");
		rc = rc ? rc : pack_environs(pack, sandbox);
	}
	return rc ? rc : fake_pack_bytes(pack, "end", NULL, 0);
}

static void run_capture(struct fake_job *job)
{
	struct fake_archiving *capture = FAKE_CONTAINER(job, struct fake_archiving, job);
	struct fake_pack *pack;
	int fd = open(capture->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : fake_pack_open(fd, capture->limit, &capture->stop, &pack);

	if (!rc) {
		int error = pack_all(pack, capture);

		rc = fake_pack_close(pack);
		rc = error ? error : rc;
	}
	/* Some file systems tell only now that they are full. */
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	if (rc && fd >= 0)
		unlink(capture->path);
	if (rc)
		fake_archive_error(&capture->error, rc, "capture", capture->sandbox->id);
}

int fake_sandbox_capture(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path,
			 uint64_t limit, fake_done_fn done, void *arg, struct sp_error *err)
{
	struct fake_archiving *capture;
	int rc = fake_sandbox_need(sandbox, false, err);

	if (rc)
		return rc;
	capture = fake_archiving_new(sandbox, limit, done, arg);
	if (capture)
		capture->path = strdup(path);
	if (!capture || !capture->path) {
		fake_archiving_free(capture);
		return sp_error_set(err, SP_INTERNAL, "no memory for a snapshot");
	}
	capture->kind = kind;
	fake_archiving_start(capture, run_capture);
	return 0;
}

/* ---- removing ---- */

struct removal {
	struct fake_job job;
	struct fake_engine *engine;
	char *path;
	int error;
	fake_done_fn done;
	void *arg;
};

static void run_removal(struct fake_job *job)
{
	struct removal *removal = FAKE_CONTAINER(job, struct removal, job);

	if (unlink(removal->path) && errno != ENOENT)
		removal->error = errno;
}

static void removal_done(struct fake_job *job)
{
	struct removal *removal = FAKE_CONTAINER(job, struct removal, job);
	struct sp_error error = SP_ERROR_INIT;

	if (removal->error)
		sp_error_set_errno(&error, removal->error, "cannot remove %s", removal->path);
	removal->engine->n_finishing--;
	if (removal->done)
		removal->done(removal->arg, error.code, error.code ? &error : NULL);
	free(removal->path);
	free(removal);
}

int fake_archive_remove(struct fake_engine *engine, const char *path, fake_done_fn done, void *arg,
			struct sp_error *err)
{
	struct removal *removal = calloc(1, sizeof(*removal));

	if (removal)
		removal->path = strdup(path);
	if (!removal || !removal->path) {
		free(removal);
		return sp_error_set(err, SP_INTERNAL, "no memory to remove %s", path);
	}
	removal->engine = engine;
	removal->done = done;
	removal->arg = arg;
	removal->job = (struct fake_job){ .run = run_removal, .done = removal_done };
	engine->n_finishing++;
	fake_pool_submit(engine->pool, &removal->job);
	return 0;
}
