/* SPDX-License-Identifier: MIT */
#include <fakes/bash/internal.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

/* More than the cores: removal mostly waits for the disk. */
#define POOL_THREADS 4
/* Captures and restores at a time. */
#define SLOW_THREADS 2
/* They copy for seconds: event streams and commands come first. */
#define SLOW_NICENESS 5
/* Events handled by one fake_engine_dispatch(). */
#define BATCH 64
#define QUEUE_BYTES (64 * 1024)

/* ---- descriptors ---- */

int fake_watch_arm(struct fake_engine *engine, struct fake_watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	if (watch->armed || watch->fd < 0)
		return 0;
	if (epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	watch->armed = true;
	return 0;
}

/* Taken out altogether: a mere empty mask would still report a hang-up, over and over. */
void fake_watch_disarm(struct fake_engine *engine, struct fake_watch *watch)
{
	if (!watch->armed)
		return;
	epoll_ctl(engine->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->armed = false;
}

void fake_watch_close(struct fake_engine *engine, struct fake_watch *watch)
{
	fake_watch_disarm(engine, watch);
	watch->fd = sp_close(watch->fd);
}

static void pool_ready(struct fake_watch *watch)
{
	fake_pool_collect(FAKE_CONTAINER(watch, struct fake_engine, pool_watch)->pool);
}

static void slow_ready(struct fake_watch *watch)
{
	fake_pool_collect(FAKE_CONTAINER(watch, struct fake_engine, slow_watch)->slow_pool);
}

/* ---- mode ---- */

/* SANDPROOF_FAKE decides where the caller does not. */
static int wanted_mode(enum fake_mode asked, enum fake_mode *ret_mode, struct sp_error *err)
{
	const char *word = getenv("SANDPROOF_FAKE");

	*ret_mode = asked;
	if (asked != FAKE_AUTO || !word || !*word || !strcmp(word, "auto"))
		return 0;
	if (!strcmp(word, "plain"))
		*ret_mode = FAKE_PLAIN;
	else if (!strcmp(word, "namespaces"))
		*ret_mode = FAKE_NAMESPACES;
	else
		return sp_error_set(err, SP_INVALID,
				    "SANDPROOF_FAKE is neither plain, namespaces nor auto");
	return 0;
}

/*
 * Namespaces as root, else in a user namespace, else none. A probe in a child asks
 * before anything is irrevocable.
 */
static int choose_mode(struct fake_engine *engine, enum fake_mode wanted, struct sp_error *err)
{
	struct sp_error first = SP_ERROR_INIT;
	struct sp_error second = SP_ERROR_INIT;
	int rc = SP_UNSUPPORTED;

	engine->mode = FAKE_PLAIN;
	if (wanted == FAKE_PLAIN)
		return 0;
	if (geteuid() == 0)
		rc = fake_setup_probe(engine->state_dir, false, &first);
	if (rc == SP_UNSUPPORTED) {
		engine->user_ns = true;
		rc = fake_setup_probe(engine->state_dir, true, &second);
	}
	if (!rc && engine->user_ns)
		rc = fake_setup_user_ns(&second);
	if (!rc) {
		engine->mode = FAKE_NAMESPACES;
		return 0;
	}
	engine->user_ns = false;
	if (wanted == FAKE_AUTO && rc == SP_UNSUPPORTED)
		return 0;
	if (!first.code)
		return sp_error_set(err, rc, "%s", second.message);
	return sp_error_set(err, rc, "%.200s; in a user namespace: %.200s", first.message,
			    second.message);
}

/* ---- starting ---- */

static int open_state(struct fake_engine *engine, const char *state_dir, struct sp_error *err)
{
	engine->state_dir = realpath(state_dir, NULL);
	if (!engine->state_dir)
		return sp_error_set_errno(err, errno, "cannot use the state folder %s", state_dir);
	engine->state_fd = open(engine->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (engine->state_fd < 0)
		return sp_error_set_errno(err, errno, "cannot use the state folder %s", state_dir);
	if (mkdirat(engine->state_fd, "probe", 0700) ||
	    unlinkat(engine->state_fd, "probe", AT_REMOVEDIR))
		return sp_error_set_errno(err, errno, "cannot write in the state folder %s",
					  state_dir);
	return 0;
}

/* What namespaces need beyond the mode itself. */
static int start_namespaces(struct fake_engine *engine, struct sp_error *err)
{
	int rc = fake_plan_make(engine->state_dir, engine->user_ns, &engine->plan, err);

	if (rc)
		return rc;
	rc = fake_setup_limit_caps();
	if (rc)
		return sp_error_set_errno(err, -rc, "cannot give up capabilities");
	engine->init_fd = fake_init_open();
	if (engine->init_fd < 0)
		return sp_error_set_errno(err, -engine->init_fd, "cannot hold process 1");
	engine->pid_ns_fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (engine->pid_ns_fd < 0)
		return sp_error_set_errno(err, errno, "cannot open our pid namespace");
	return 0;
}

static int start_plain(struct sp_error *err)
{
	int rc = sp_subreaper();

	return rc ? sp_error_set_errno(err, -rc, "cannot adopt orphans") : 0;
}

/* A pool of threads and the watch that tells of it. */
static int start_pool(struct fake_engine *engine, unsigned threads, int niceness,
		      struct fake_pool **pool,
		      struct fake_watch *watch, void (*ready)(struct fake_watch *watch),
		      struct sp_error *err)
{
	int rc = fake_pool_new(threads, niceness, pool);

	if (rc)
		return sp_error_set_errno(err, -rc, "cannot start threads");
	*watch = (struct fake_watch){ .fd = fake_pool_fd(*pool), .ready = ready };
	rc = fake_watch_arm(engine, watch);
	return rc ? sp_error_set_errno(err, -rc, "cannot watch the pool") : 0;
}

static int start_loop(struct fake_engine *engine, struct sp_error *err)
{
	int rc;

	engine->stack = mmap(NULL, 2 * FAKE_STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (engine->stack == MAP_FAILED) {
		engine->stack = NULL;
		return sp_error_set_errno(err, errno, "no memory for an engine");
	}
	engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (engine->epoll_fd < 0)
		return sp_error_set_errno(err, errno, "cannot make an event loop");
	rc = start_pool(engine, POOL_THREADS, 0, &engine->pool, &engine->pool_watch, pool_ready,
			err);
	return rc ? rc
		  : start_pool(engine, SLOW_THREADS, SLOW_NICENESS, &engine->slow_pool,
			       &engine->slow_watch, slow_ready, err);
}

static void engine_release(struct fake_engine *engine)
{
	fake_pool_free(engine->pool);
	fake_pool_free(engine->slow_pool);
	fake_plan_done(&engine->plan);
	if (engine->stack)
		munmap(engine->stack, 2 * FAKE_STACK);
	sp_close(engine->epoll_fd);
	sp_close(engine->init_fd);
	sp_close(engine->pid_ns_fd);
	sp_close(engine->state_fd);
	free(engine->state_dir);
	free(engine);
}

static int engine_start(struct fake_engine *engine, const struct fake_engine_options *options,
			struct sp_error *err)
{
	enum fake_mode wanted;
	int rc = wanted_mode(options->mode, &wanted, err);

	if (!rc && access("/bin/bash", X_OK))
		rc = sp_error_set(err, SP_UNSUPPORTED, "there is no /bin/bash here: install bash");
	if (!rc)
		rc = open_state(engine, options->state_dir, err);
	if (!rc)
		rc = choose_mode(engine, wanted, err);
	if (!rc)
		rc = engine->mode == FAKE_NAMESPACES ? start_namespaces(engine, err) :
						       start_plain(err);
	return rc ? rc : start_loop(engine, err);
}

int fake_engine_new(const struct fake_engine_options *options, struct fake_engine **ret_engine,
		    struct sp_error *err)
{
	struct fake_engine *engine = calloc(1, sizeof(*engine));
	int rc;

	if (!engine)
		return sp_error_set(err, SP_INTERNAL, "no memory for an engine");
	engine->state_fd = -1;
	engine->epoll_fd = -1;
	engine->init_fd = -1;
	engine->pid_ns_fd = -1;
	engine->server = getpid();
	engine->queue_bytes = options->queue_bytes ? options->queue_bytes : QUEUE_BYTES;
	LIST_INIT(&engine->sandboxes);
	LIST_INIT(&engine->orphans);
	LIST_INIT(&engine->graveyard);
	rc = engine_start(engine, options, err);
	if (rc) {
		engine_release(engine);
		return rc;
	}
	*ret_engine = engine;
	return 0;
}

/* ---- running ---- */

static void sweep_graveyard(struct fake_engine *engine)
{
	struct fake_command *command;

	while ((command = LIST_FIRST(&engine->graveyard)))
		fake_command_free(command);
}

/* One batch; an event whose descriptor was closed by an earlier one of the batch is stale. */
static void run_batch(struct fake_engine *engine, int timeout)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(engine->epoll_fd, events, BATCH, timeout);

	engine->dispatching = true;
	for (int i = 0; i < n; i++) {
		struct fake_watch *watch = events[i].data.ptr;

		if (watch->armed)
			watch->ready(watch);
	}
	engine->dispatching = false;
	sweep_graveyard(engine);
}

void fake_engine_dispatch(struct fake_engine *engine)
{
	run_batch(engine, 0);
}

/* True once every sandbox has ended. */
static bool all_over(struct fake_engine *engine)
{
	struct fake_sandbox *sandbox;

	LIST_FOREACH(sandbox, &engine->sandboxes, link)
		if (!sandbox->over)
			return false;
	return true;
}

static void ended(void *arg, int rc, const struct sp_error *err)
{
	(void)arg;
	(void)rc;
	(void)err;
}

void fake_engine_free(struct fake_engine *engine)
{
	struct fake_sandbox *sandbox;
	struct fake_command *command;

	if (!engine)
		return;
	engine->closing = true;
	LIST_FOREACH(sandbox, &engine->sandboxes, link)
		fake_sandbox_destroy(sandbox, ended, NULL);
	while (!all_over(engine) || engine->n_finishing)
		run_batch(engine, -1);
	while ((sandbox = LIST_FIRST(&engine->sandboxes)))
		fake_sandbox_free(sandbox);
	while ((command = LIST_FIRST(&engine->orphans)))
		fake_command_free(command);
	engine_release(engine);
}

/* ---- questions ---- */

int fake_engine_fd(struct fake_engine *engine)
{
	return engine->epoll_fd;
}

enum fake_mode fake_engine_mode(struct fake_engine *engine)
{
	return engine->mode;
}

const char *const *fake_engine_cannot_hold(struct fake_engine *engine)
{
	static const char *const nothing[] = { NULL };
	static const char *const user[] = { "other-users", NULL };
	static const char *const plain[] = { "isolation",	"network-policy",
					     "hostile-files",	"memory-directory",
					     "other-users", "server-death", NULL };

	if (engine->mode == FAKE_PLAIN)
		return plain;
	return engine->user_ns ? user : nothing;
}

uint64_t fake_engine_commands(struct fake_engine *engine)
{
	return engine->n_commands;
}
