/* SPDX-License-Identifier: MIT */
/* The life of a sandbox: made in the pool, ended by events, removed in the pool. */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

/* ---- making ---- */

static struct fake_sandbox *of_job(struct fake_job *job)
{
	return FAKE_CONTAINER(job, struct fake_sandbox, job);
}

static void start_job(struct fake_sandbox *sandbox, void (*run)(struct fake_job *job),
		      void (*done)(struct fake_job *job))
{
	struct fake_engine *engine = sandbox->engine;

	sandbox->busy = true;
	sandbox->job = (struct fake_job){ .run = run, .done = done };
	fake_pool_submit(sandbox->archive_fd >= 0 ? engine->slow_pool : engine->pool,
			 &sandbox->job);
}

/* The sandbox's layers: as they are at first, or from an archive. Pool. */
static int make_layers(struct fake_sandbox *sandbox, int dir_fd, struct fake_restore *restore,
		       struct sp_error *err)
{
	const struct fake_plan *plan = &sandbox->engine->plan;
	int rc = restore ? fake_plan_prepare_bare(plan, dir_fd) : fake_plan_prepare(plan, dir_fd);

	if (rc)
		return sp_error_set_errno(err, -rc, "cannot make the layers of %s in %s",
					  sandbox->id, sandbox->engine->state_dir);
	return restore ? fake_restore_layers(restore, dir_fd, err) : 0;
}

/* Namespaces, process 1, and the descriptors by which we look inside. Pool. */
static int make_namespaces(struct fake_sandbox *sandbox, struct sp_error *err)
{
	struct fake_engine *engine = sandbox->engine;
	struct fake_setup setup = {
		.plan = &engine->plan,
		.state_dir = engine->state_dir,
		.name = sandbox->id,
		.init_fd = engine->init_fd,
		.deny_network = sandbox->deny_network,
		.server = engine->server,
	};
	char path[40];
	int rc = fake_setup_run(&setup);

	if (rc)
		return sp_error_set_errno(err, -rc, "cannot make %s: %s %s", sandbox->id,
					  setup.step, setup.object);
	sandbox->init_pid = setup.pid;
	sandbox->init.fd = setup.pid_fd;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)setup.pid);
	sandbox->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sandbox->root_fd < 0)
		return sp_error_set_errno(err, errno, "cannot look into %s", sandbox->id);
	sandbox->proc_fd = openat(sandbox->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sandbox->proc_fd < 0)
		return sp_error_set_errno(err, errno, "cannot look into %s", sandbox->id);
	return 0;
}

static int make_folder(int dir_fd, const char *name, int *ret_fd)
{
	if (mkdirat(dir_fd, name, 0700))
		return -errno;
	*ret_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

/* Pool. */
static int make_plain(struct fake_sandbox *sandbox, int dir_fd, struct sp_error *err)
{
	int rc = make_folder(dir_fd, "home", &sandbox->home_fd);

	if (!rc)
		rc = make_folder(dir_fd, "dev", &sandbox->memory_fd);
	return rc ? sp_error_set_errno(err, -rc, "cannot make the folders of %s in %s", sandbox->id,
				       sandbox->engine->state_dir) :
		    0;
}

static void drop_restore(struct fake_restore **restore)
{
	fake_restore_free(*restore);
}

static int make(struct fake_sandbox *sandbox, struct sp_error *err)
{
	struct fake_engine *engine = sandbox->engine;
	struct fake_restore *restore SP_CLEANUP(drop_restore) = NULL;
	int dir_fd SP_CLOSE = -1;
	int rc;

	rc = make_folder(engine->state_fd, sandbox->id, &dir_fd);
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot make the folder of %s in %s",
					  sandbox->id, engine->state_dir);
	if (sandbox->archive_fd >= 0)
		rc = fake_restore_open(sandbox, &restore, err);
	if (!rc && engine->mode == FAKE_PLAIN) {
		rc = make_plain(sandbox, dir_fd, err);
		if (!rc && restore)
			rc = fake_restore_layers(restore, dir_fd, err);
	} else if (!rc) {
		rc = make_layers(sandbox, dir_fd, restore, err);
		rc = rc ? rc : make_namespaces(sandbox, err);
	}
	return rc || !restore ? rc : fake_restore_memory(restore, err);
}

static void run_create(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);
	int rc = make(sandbox, &sandbox->job_error);

	/* A restored one was told. */
	if (!rc && sandbox->archive_fd < 0)
		sandbox->base_files = fake_count_files(sandbox);
	sandbox->archive_fd = sp_close(sandbox->archive_fd);
}

/* ---- ending ---- */

static void run_sweep(struct fake_job *job)
{
	fake_mark_sweep(of_job(job)->mark);
}

static void sweep_done(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);

	sandbox->busy = false;
	sandbox->swept = true;
	fake_mark_reap(sandbox->engine);
	fake_sandbox_advance(sandbox);
}

/* Ends every process. A job under way comes back to it when it is done. */
static void kill_all(struct fake_sandbox *sandbox)
{
	if (sandbox->busy || sandbox->killed)
		return;
	sandbox->killed = true;
	if (sandbox->engine->mode == FAKE_PLAIN)
		start_job(sandbox, run_sweep, sweep_done);
	else if (sandbox->init_pid)
		sp_pidfd_signal(sandbox->init.fd, SIGKILL);
}

/* Process 1 has ended, and by then the kernel has ended everything else in its pid namespace. */
static void init_ready(struct fake_watch *watch)
{
	struct fake_sandbox *sandbox = FAKE_CONTAINER(watch, struct fake_sandbox, init);
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)watch->fd, &info, WEXITED | WNOHANG) || !info.si_pid)
		return;
	fake_watch_close(sandbox->engine, watch);
	sandbox->init_pid = 0;
	if (!sandbox->ending) {
		sandbox->state = FAKE_ERRORED;
		fake_archivings_stop(sandbox);
	}
	fake_sandbox_advance(sandbox);
}

static void call_waiters(struct fake_sandbox *sandbox)
{
	struct fake_waiter *waiter = sandbox->waiters;
	struct sp_error error = sandbox->job_error;

	/* A waiter may forget the sandbox. */
	sandbox->waiters = NULL;
	while (waiter) {
		struct fake_waiter *next = waiter->next;

		waiter->done(waiter->arg, error.code, error.code ? &error : NULL);
		free(waiter);
		waiter = next;
	}
}

static void run_remove(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);
	int rc = sp_remove_tree_at(sandbox->engine->state_fd, sandbox->id);

	if (rc)
		sp_error_set_errno(&sandbox->job_error, -rc, "cannot remove the files of %s in %s",
				   sandbox->id, sandbox->engine->state_dir);
}

static void remove_done(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);

	sandbox->busy = false;
	sandbox->over = true;
	call_waiters(sandbox);
}

/* Lets go of everything that holds the mounts or the folders. */
static void close_inside(struct fake_sandbox *sandbox)
{
	fake_uploads_detach(sandbox);
	sandbox->root_fd = sp_close(sandbox->root_fd);
	sandbox->proc_fd = sp_close(sandbox->proc_fd);
	sandbox->home_fd = sp_close(sandbox->home_fd);
	sandbox->memory_fd = sp_close(sandbox->memory_fd);
}

void fake_sandbox_advance(struct fake_sandbox *sandbox)
{
	bool plain = sandbox->engine->mode == FAKE_PLAIN;

	if (!sandbox->ending || sandbox->busy || sandbox->removed)
		return;
	kill_all(sandbox);
	/*
	 * Commands are our children: process 1 cannot end before they are
	 * reaped. Captures look inside.
	 */
	if (sandbox->busy || !LIST_EMPTY(&sandbox->archivings) || sandbox->init_pid ||
	    sandbox->n_live || (plain && !sandbox->swept))
		return;
	sandbox->removed = true;
	close_inside(sandbox);
	memset(&sandbox->job_error, 0, sizeof(sandbox->job_error));
	start_job(sandbox, run_remove, remove_done);
}

/* The news for calls of destroy that came after the end. */
static void late_done(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);

	sandbox->busy = false;
	if (sandbox->forgotten) {
		call_waiters(sandbox);
		fake_sandbox_free(sandbox);
		return;
	}
	call_waiters(sandbox);
}

void fake_sandbox_destroy(struct fake_sandbox *sandbox, fake_done_fn done, void *arg)
{
	struct fake_waiter **last = &sandbox->waiters;
	struct fake_waiter *waiter = calloc(1, sizeof(*waiter));

	/* Nobody could be told: there is no honest way on. */
	if (!waiter)
		abort();
	*waiter = (struct fake_waiter){ .done = done, .arg = arg };
	while (*last)
		last = &(*last)->next;
	*last = waiter;
	sandbox->ending = true;
	sandbox->state = FAKE_TERMINATED;
	atomic_store_explicit(&sandbox->stop, true, memory_order_relaxed);
	fake_archivings_stop(sandbox);
	if (!sandbox->over) {
		fake_sandbox_advance(sandbox);
	} else if (!sandbox->busy) {
		sandbox->busy = true;
		sandbox->job = (struct fake_job){ .done = late_done };
		fake_pool_post(sandbox->engine->pool, &sandbox->job);
	}
}

void fake_sandbox_free(struct fake_sandbox *sandbox)
{
	if (!sandbox)
		return;
	if (!sandbox->over)
		abort();
	if (sandbox->busy) {
		sandbox->forgotten = true;
		return;
	}
	fake_commands_orphan(sandbox);
	fake_timeline_done(sandbox);
	fake_env_free(sandbox->envp);
	LIST_REMOVE(sandbox, link);
	free(sandbox->stopped);
	sp_close(sandbox->archive_fd);
	free(sandbox->home);
	free(sandbox->memory_dir);
	free(sandbox);
}

void fake_sandbox_set_errored(struct fake_sandbox *sandbox)
{
	if (sandbox->ending)
		return;
	sandbox->state = FAKE_ERRORED;
	fake_archivings_stop(sandbox);
	kill_all(sandbox);
}

/* ---- create ---- */

static void create_done(struct fake_job *job)
{
	struct fake_sandbox *sandbox = of_job(job);
	struct sp_error error = sandbox->job_error;

	sandbox->busy = false;
	if (sandbox->init_pid) {
		int rc = fake_watch_arm(sandbox->engine, &sandbox->init);

		/* Without an event its end could not be told: end it here. */
		if (rc) {
			sp_error_set_errno(&error, -rc, "cannot watch %s", sandbox->id);
			sp_pidfd_signal(sandbox->init.fd, SIGKILL);
			waitid(P_PIDFD, (id_t)sandbox->init.fd, &(siginfo_t){ 0 }, WEXITED);
			fake_watch_close(sandbox->engine, &sandbox->init);
			sandbox->init_pid = 0;
		}
	}
	if (!error.code && sandbox->state != FAKE_CREATING)
		sp_error_set(&error, SP_CONFLICT, "%s was ended while it was being created",
			     sandbox->id);
	if (!error.code)
		sandbox->state = FAKE_RUNNING;
	else if (!sandbox->ending)
		fake_sandbox_set_errored(sandbox);
	sandbox->created(sandbox->created_arg, error.code, error.code ? &error : NULL);
	fake_sandbox_advance(sandbox);
}

static bool good_id(const char *id)
{
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len && len <= FAKE_ID_MAX && !id[len];
}

static int check_options(struct fake_engine *engine, const struct fake_sandbox_options *options,
			 struct sp_error *err)
{
	struct fake_sandbox *other;

	if (!good_id(options->id))
		return sp_error_set(err, SP_INVALID,
				    "a sandbox's id is 1 to %d characters of a-z, 0-9 and -",
				    FAKE_ID_MAX);
	if (engine->closing)
		return sp_error_set(err, SP_CONFLICT, "the engine is ending");
	LIST_FOREACH(other, &engine->sandboxes, link)
		if (!strcmp(other->id, options->id))
			return sp_error_set(err, SP_CONFLICT, "sandbox %s exists already",
					    options->id);
	return 0;
}

/* Paths as a command sees them. */
static int set_paths(struct fake_sandbox *sandbox)
{
	const char *state = sandbox->engine->state_dir;
	int rc;

	if (sandbox->engine->mode == FAKE_NAMESPACES) {
		sandbox->home = strdup("/root");
		sandbox->memory_dir = strdup("/dev");
		return sandbox->home && sandbox->memory_dir ? 0 : -ENOMEM;
	}
	rc = asprintf(&sandbox->home, "%s/%s/home", state, sandbox->id);
	if (rc < 0) {
		sandbox->home = NULL;
		return -ENOMEM;
	}
	rc = asprintf(&sandbox->memory_dir, "%s/%s/dev", state, sandbox->id);
	if (rc < 0) {
		sandbox->memory_dir = NULL;
		return -ENOMEM;
	}
	return 0;
}

static struct fake_sandbox *sandbox_new(struct fake_engine *engine,
					const struct fake_sandbox_options *options)
{
	struct fake_sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox)
		return NULL;
	sandbox->engine = engine;
	sandbox->deny_network = options->deny_network;
	snprintf(sandbox->id, sizeof(sandbox->id), "%s", options->id);
	sandbox->init = (struct fake_watch){ .fd = -1, .ready = init_ready };
	sandbox->root_fd = -1;
	sandbox->proc_fd = -1;
	sandbox->home_fd = -1;
	sandbox->memory_fd = -1;
	sandbox->archive_fd = -1;
	sandbox->archive_limit = options->archive_limit ? options->archive_limit : UINT64_MAX;
	sandbox->mark = fake_mark_new();
	LIST_INIT(&sandbox->commands);
	LIST_INIT(&sandbox->uploads);
	LIST_INIT(&sandbox->archivings);
	if (!set_paths(sandbox))
		return sandbox;
	free(sandbox->home);
	free(sandbox->memory_dir);
	free(sandbox);
	return NULL;
}

static int open_archive(struct fake_sandbox *sandbox, const char *path, struct sp_error *err)
{
	if (!path)
		return 0;
	sandbox->archive_fd = open(path, O_RDONLY | O_CLOEXEC);
	return sandbox->archive_fd < 0 ? sp_error_set_errno(err, errno, "cannot read %s", path) : 0;
}

int fake_sandbox_create(struct fake_engine *engine, const struct fake_sandbox_options *options,
			fake_done_fn done, void *arg, struct fake_sandbox **ret_sandbox,
			struct sp_error *err)
{
	struct fake_sandbox *sandbox;
	int rc = check_options(engine, options, err);

	if (rc)
		return rc;
	sandbox = sandbox_new(engine, options);
	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
	rc = fake_env_make(sandbox->home, options->env, options->n_env, &sandbox->envp, err);
	if (!rc)
		rc = open_archive(sandbox, options->archive, err);
	if (rc) {
		fake_env_free(sandbox->envp);
		free(sandbox->home);
		free(sandbox->memory_dir);
		free(sandbox);
		return rc;
	}
	sandbox->created = done;
	sandbox->created_arg = arg;
	LIST_INSERT_HEAD(&engine->sandboxes, sandbox, link);
	sandbox->held = options->held;
	if (!sandbox->held)
		start_job(sandbox, run_create, create_done);
	*ret_sandbox = sandbox;
	return 0;
}

void fake_sandbox_begin(struct fake_sandbox *sandbox)
{
	if (!sandbox->held || sandbox->ending)
		return;
	sandbox->held = false;
	start_job(sandbox, run_create, create_done);
}

/* ---- questions ---- */

int fake_sandbox_need(const struct fake_sandbox *sandbox, bool or_suspended, struct sp_error *err)
{
	if (sandbox->state == FAKE_RUNNING || (or_suspended && sandbox->state == FAKE_SUSPENDED))
		return 0;
	return sp_error_set(err, SP_CONFLICT, "sandbox %s is %s", sandbox->id,
			    fake_state_name(sandbox->state));
}

enum fake_state fake_sandbox_state(const struct fake_sandbox *sandbox)
{
	return sandbox->state;
}

const char *fake_sandbox_id(const struct fake_sandbox *sandbox)
{
	return sandbox->id;
}

const char *fake_sandbox_home(const struct fake_sandbox *sandbox)
{
	return sandbox->home;
}

const char *fake_sandbox_memory_dir(const struct fake_sandbox *sandbox)
{
	return sandbox->memory_dir;
}
