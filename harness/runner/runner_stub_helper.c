/* SPDX-License-Identifier: MIT */
/*
 * A run of a stub suite against a stub back end, for runner_test.c. The back
 * end is a folder ($STUB_STATE): a sandbox is a file "sbx-ID" in it, so it
 * outlives workers and can be looked at afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <runner/runner.h>

/* ---- the back end ---- */

static const char *state_dir;
static bool with_control;
static bool open_fails;
static bool prepare_is_interrupted;

static void state_path(char *path, size_t size, const char *prefix, const char *name)
{
	snprintf(path, size, "%s/%s%s", state_dir, prefix, name);
}

static void put(const char *prefix, const char *name, const char *text)
{
	char path[512];
	int fd;

	state_path(path, sizeof(path), prefix, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	close(fd);
}

static bool there(const char *prefix, const char *name)
{
	char path[512];

	state_path(path, sizeof(path), prefix, name);
	return !access(path, F_OK);
}

static void drop(const char *prefix, const char *name)
{
	char path[512];

	state_path(path, sizeof(path), prefix, name);
	unlink(path);
}

/* Number of entries that begin so. */
static size_t count(const char *prefix)
{
	DIR *dir = opendir(state_dir);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += !strncmp(entry->d_name, prefix, strlen(prefix));
	if (dir)
		closedir(dir);
	return n;
}

static void hang(void)
{
	for (;;)
		pause();
}

/* Until TERM was delivered, however early it comes. */
static void await_term(void)
{
	sigset_t term, before;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	put("creating", "", "");
	sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- sandbox ---- */

struct stub_provider {
	struct sp_provider_ops ops;
	int cached[8];
	int n_cached;
};

struct stub_sandbox {
	struct stub_provider *provider;
	char id[128];
};

static const char *sandbox_id(void *self)
{
	return ((struct stub_sandbox *)self)->id;
}

static const char *sandbox_root(void *self)
{
	(void)self;
	return "/home/stub";
}

static void answer(struct sp_exec_result *result, const char *text)
{
	result->stdout_bytes.data = (unsigned char *)strdup(text);
	result->stdout_bytes.len = strlen(text);
}

/* What the shell of the stub understands. */
static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct stub_sandbox *sandbox = self;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	const char *command = options->command;

	if (!there("sbx-", sandbox->id))
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", sandbox->id);
	if (!strcmp(command, "hang")) {
		put("hanging", "", "");
		hang();
	}
	else if (!strcmp(command, "crash"))
		raise(SIGSEGV);
	else if (!strncmp(command, "for t in", 8))
		answer(&result, "flock od ");
	else if (!strncmp(command, "find", 4))
		answer(&result, there("files-", sandbox->id) ? ".\n./left\n" : ".\n");
	else if (!strcmp(command, "orphan"))
		put("sbx-", "orphan", "");
	else if (!strcmp(command, "leave process"))
		put("procs-", sandbox->id, "1");
	else if (!strcmp(command, "leave file"))
		put("files-", sandbox->id, "1");
	else if (!strcmp(command, "bookkeeping"))
		put("books-", sandbox->id, "1");
	else if (!strcmp(command, "cache"))
		sandbox->provider->cached[sandbox->provider->n_cached++ % 8] = dup(STDIN_FILENO);
	else if (!strcmp(command, "leave hold"))
		put("hold-", "1", "");
	else if (!strcmp(command, "leave snapshot"))
		put("snap-", "1", "");
	*ret_result = result;
	return 0;
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct stub_sandbox *sandbox = self;

	(void)cancel;
	if (there("stuck-", sandbox->id))
		return sp_error_set(err, SP_UNAVAILABLE, "the stub refuses");
	drop("sbx-", sandbox->id);
	return 0;
}

static void sandbox_close(void *self)
{
	free(self);
}

static const struct sp_sandbox_ops sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = sandbox_id,
	.workspace_root = sandbox_root,
	.exec = sandbox_exec,
	.destroy = sandbox_destroy,
	.close = sandbox_close,
};

/* ---- provider ---- */

static const char *provider_name(void *self)
{
	(void)self;
	return "stub";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	static const struct sp_capabilities capabilities = {
		.version = SP_CAPABILITIES_VERSION,
		.fs = true,
		.exec = true,
		.killable_processes = true,
		.kill_reach = SP_REACH_GROUP,
	};

	(void)self;
	return &capabilities;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct stub_sandbox *sandbox = calloc(1, sizeof(*sandbox));

	(void)err;
	snprintf(sandbox->id, sizeof(sandbox->id), "%s", options->id ? options->id : "unnamed");
	sandbox->provider = self;
	put("sbx-", sandbox->id, "");
	put("made-", sandbox->id, "");
	if (there("create-waits", ""))
		await_term();
	*ret_sandbox = (struct sp_sandbox){ &sandbox_ops, sandbox };
	return 0;
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct stub_sandbox *sandbox = calloc(1, sizeof(*sandbox));

	(void)cancel, (void)err;
	snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
	sandbox->provider = self;
	*ret_sandbox = (struct sp_sandbox){ &sandbox_ops, sandbox };
	return 0;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	(void)self, (void)cancel;
	if (there("unremovable", "")) {
		put("removing", "", "");
		hang();
	}
	if (there("stuck-", id))
		return sp_error_set(err, SP_UNAVAILABLE, "the stub refuses");
	drop("sbx-", id);
	return 0;
}

static void provider_close(void *self)
{
	struct stub_provider *provider = self;

	for (int i = 0; i < provider->n_cached && i < 8; i++)
		close(provider->cached[i]);
	free(provider);
}

/* ---- control ---- */

static int control_census(void *self, struct sp_census *ret_census, struct sp_error *err)
{
	DIR *dir = opendir(state_dir);
	struct dirent *entry;
	struct sp_census census = SP_CENSUS_INIT;

	(void)self;
	if (!dir)
		return sp_error_set(err, SP_UNAVAILABLE, "no census");
	census.sandboxes = calloc(64, sizeof(*census.sandboxes));
	while ((entry = readdir(dir)) && census.n_sandboxes < 64) {
		const char *id = entry->d_name + 4;
		struct sp_census_sandbox *sandbox = &census.sandboxes[census.n_sandboxes];

		if (strncmp(entry->d_name, "sbx-", 4))
			continue;
		sandbox->id = strdup(id);
		sandbox->state = strdup("running");
		sandbox->processes = there("procs-", id);
		sandbox->files = (size_t)there("files-", id) + (size_t)there("books-", id);
		census.n_sandboxes++;
	}
	closedir(dir);
	census.n_snapshots = count("snap-");
	census.n_holds = count("hold-");
	*ret_census = census;
	return 0;
}

static int control_reset(void *self, struct sp_error *err)
{
	DIR *dir = opendir(state_dir);
	struct dirent *entry;

	(void)self, (void)err;
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "sbx-", 4) || !strncmp(entry->d_name, "snap-", 5) ||
		    !strncmp(entry->d_name, "hold-", 5))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	put("reset", "", "1");
	return 0;
}

static void control_close(void *self)
{
	(void)self;
}

static const struct sp_control_ops control_ops = {
	.version = SP_CONTROL_VERSION,
	.census = control_census,
	.reset = control_reset,
	.close = control_close,
};

static int open_subject(void *opener, enum sp_subject_kind kind, const char *spec,
			const char *workspace, struct sp_subject *ret_subject, struct sp_error *err)
{
	struct stub_provider *provider;

	(void)opener, (void)spec, (void)workspace;
	if (open_fails)
		return sp_error_set(err, SP_DENIED, "the stub is closed today");
	provider = calloc(1, sizeof(*provider));
	provider->ops = (struct sp_provider_ops){
		.version = SP_PROVIDER_VERSION,
		.name = provider_name,
		.capabilities = provider_capabilities,
		.create = provider_create,
		.resume = provider_resume,
		.destroy = provider_destroy,
		.close = provider_close,
	};
	*ret_subject = (struct sp_subject)SP_SUBJECT_INIT;
	ret_subject->kind = kind;
	ret_subject->provider = (struct sp_provider){ &provider->ops, provider };
	if (with_control)
		ret_subject->control = (struct sp_control){ &control_ops, NULL };
	return 0;
}

/* ---- cases ---- */

static int run_command(struct sp_case *t, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	options.command = command;
	return sandbox ? sp_sandbox_exec(sandbox, &options, &result, NULL) : SP_INTERNAL;
}

/* The whole case is one command of the sandbox. */
static void command_case(struct sp_case *t, const char *command)
{
	SP_CHECK_INT(t, 0, run_command(t, command), "the command %s runs", command);
}

static void case_pass(struct sp_case *t)
{
	command_case(t, "true");
}

static void case_empty(struct sp_case *t)
{
	SP_CHECK(t, true, "nothing is asked");
}

static void case_fail(struct sp_case *t)
{
	sp_case_note(t, "before the failure");
	SP_CHECK_INT(t, 1, 2, "one is two");
	SP_CHECK_STR(t, "left", "right", "left is right");
}

static void case_fail_bytes(struct sp_case *t)
{
	SP_CHECK_BYTES(t, "abc\0def", 7, "abc\0dxf", 7, "bytes are equal");
}

static void case_fail_code(struct sp_case *t)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_error_set(&err, SP_GONE, "it went away");

	SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "the code is right");
}

static void case_skip(struct sp_case *t)
{
	sp_skip(t, "needs %s", "the moon");
}

static void case_error(struct sp_case *t)
{
	sp_case_error(t, SP_HERE, "the set-up broke");
}

static void case_no_check(struct sp_case *t)
{
	(void)t;
}

static void case_pid_then_hang(struct sp_case *t)
{
	char text[32];

	(void)t;
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	put("pids", "", text);
	hang();
}

static void case_hang_with_sandbox(struct sp_case *t)
{
	command_case(t, "true");
	case_pid_then_hang(t);
}

static void case_hang_unremovable(struct sp_case *t)
{
	put("unremovable", "", "");
	case_hang_with_sandbox(t);
}

static void case_hang_create(struct sp_case *t)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox made = SP_SANDBOX_INIT;

	put("create-waits", "", "");
	SP_CHECK_OK(t, sp_provider_create(sp_case_provider(t), &options, &made, NULL), NULL,
		    "it is answered in the end");
	hang();
}

static void case_hang_inside(struct sp_case *t)
{
	sp_case_note(t, "about to hang");
	command_case(t, "hang");
}

static void case_segv(struct sp_case *t)
{
	(void)t;
	fprintf(stderr, "dying now\n");
	raise(SIGSEGV);
}

static void case_segv_inside(struct sp_case *t)
{
	command_case(t, "crash");
}

static void case_exit(struct sp_case *t)
{
	(void)t;
	_exit(7);
}

static void *hang_thread(void *arg)
{
	run_command(arg, "hang");
	return NULL;
}

static void case_pending(struct sp_case *t)
{
	struct timespec pause = { 0, 1000000 };
	pthread_t thread;

	(void)sp_case_sandbox(t);
	pthread_create(&thread, NULL, hang_thread, t);
	pthread_detach(thread);
	while (!there("hanging", ""))
		nanosleep(&pause, NULL);
	SP_CHECK(t, true, "fine");
}

/*
 * A process that left the group, the session and the parent, with an empty
 * environment, and ignores TERM.
 */
static void leave_orphan(void)
{
	char *const argv[] = { (char *)"sleep", (char *)"1000", NULL };
	char *const env[] = { NULL };
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		abort();
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		/* The end of the pipe tells that the program runs. */
		execve("/bin/sleep", argv, env);
		_exit(127);
	}
	close(ready[1]);
	while (read(ready[0], &byte, 1) > 0)
		;
	close(ready[0]);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void case_leak_orphan(struct sp_case *t)
{
	leave_orphan();
	SP_CHECK(t, true, "fine");
}

static void case_leak_child(struct sp_case *t)
{
	if (!fork()) {
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	SP_CHECK(t, true, "fine");
}

static void case_hang_with_orphan(struct sp_case *t)
{
	leave_orphan();
	case_pid_then_hang(t);
}

static void peer_echo(struct sp_peer_side *side)
{
	char line[64];

	sp_side_say(side, "%.*s %d", (int)side->arg_len, (const char *)side->arg,
		    side->subject->provider.ops != NULL);
	while (sp_side_hear(side, line, sizeof(line)))
		sp_side_say(side, "heard %s", line);
}

static void peer_crash(struct sp_peer_side *side)
{
	(void)side;
	abort();
}

static void peer_hang(struct sp_peer_side *side)
{
	sp_side_say(side, "begun");
	for (;;)
		pause();
}

/*
 * A subject of its own, lines both ways, an end of its own, a crash and a kill that are told apart.
 */
static void case_peer(struct sp_case *t)
{
	struct sp_peer *echo = sp_case_peer(t, SP_PEER_PLAIN, peer_echo, "word", 4);
	struct sp_peer *crash = sp_case_peer(t, SP_PEER_PLAIN, peer_crash, NULL, 0);
	struct sp_peer *hang = sp_case_peer(t, SP_PEER_PLAIN, peer_hang, NULL, 0);

	SP_CHECK_STR(t, "word 1", sp_peer_hear(echo), "the argument and the subject arrive");
	SP_CHECK(t, sp_peer_say(echo, "%d", 7), "a line goes there");
	SP_CHECK_STR(t, "heard 7", sp_peer_hear(echo), "and comes back");
	SP_CHECK(t, sp_peer_end(echo), "it ends by itself");
	SP_CHECK(t, !sp_peer_end(crash), "a crash is no end");
	SP_CHECK_STR(t, "begun", sp_peer_hear(hang), "it hangs");
	sp_peer_kill(hang);
	SP_CHECK_STR(t, NULL, sp_peer_hear(hang), "nothing comes after a kill");
}

static void case_peer_left(struct sp_case *t)
{
	SP_CHECK_STR(t, "begun", sp_peer_hear(sp_case_peer(t, SP_PEER_PLAIN, peer_hang, NULL, 0)),
		     "it is left running");
}

/* A case that did not say that it starts processes has none. */
static void case_peer_undeclared(struct sp_case *t)
{
	SP_CHECK(t, true, "fine");
	sp_case_peer(t, SP_PEER_PLAIN, peer_hang, NULL, 0);
}

static void case_reopen(struct sp_case *t)
{
	struct sp_subject *subject = sp_case_subject(t);

	SP_CHECK(t, sp_case_reopen(t) == subject, "it is opened again in its place");
	SP_CHECK(t, subject->provider.ops != NULL, "and has its tables");
}

static void case_leak_fd(struct sp_case *t)
{
	SP_CHECK(t, dup(STDIN_FILENO) >= 0, "a descriptor");
}

static void case_cache(struct sp_case *t)
{
	command_case(t, "cache");
}

static void case_leak_file(struct sp_case *t)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/forgotten", getenv("TMPDIR"));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	SP_CHECK(t, fd >= 0, "a file");
	close(fd);
}

static void case_leak_sandbox(struct sp_case *t)
{
	command_case(t, "orphan");
}

static void case_leak_process_inside(struct sp_case *t)
{
	command_case(t, "leave process");
}

static void case_leak_file_inside(struct sp_case *t)
{
	command_case(t, "leave file");
}

static void case_bookkeeping(struct sp_case *t)
{
	command_case(t, "bookkeeping");
}

static void case_leak_hold(struct sp_case *t)
{
	command_case(t, "leave hold");
}

static void case_leak_snapshot(struct sp_case *t)
{
	command_case(t, "leave snapshot");
}

/* Makes sandboxes and forgets them, handles and all. */
static void case_careless(struct sp_case *t)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox made = SP_SANDBOX_INIT;

	options.id = sp_case_unique(t);
	SP_CHECK_OK(t, sp_provider_create(sp_case_provider(t), &options, &made, NULL), NULL,
		    "one is made");
	put("sbx-", "told", "");
	sp_case_own_sandbox(t, "told");
}

static void case_stuck(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	put("stuck-", sp_sandbox_id(sandbox), "");
	SP_CHECK(t, true, "fine");
}

static void case_secret(struct sp_case *t)
{
	sp_case_secret(t, "hunter2hunter2");
	sp_case_note(t, "the password is hunter2hunter2");
	SP_CHECK_STR(t, "x hunter2hunter2 y", "z aHVudGVyMmh1bnRlcjI= hunter2hunter2",
		     "hunter2hunter2 is kept");
}

static void case_secret_crash(struct sp_case *t)
{
	sp_case_secret(t, "hunter2hunter2");
	fprintf(stderr, "last words: hunter2hunter2\n");
	raise(SIGSEGV);
}

static void case_second(struct sp_case *t)
{
	struct sp_subject *second = sp_case_second(t);

	SP_REQUIRE(SP_CHECK(t, second && second->provider.ops, "there is a second one"));
	SP_CHECK(t, second->provider.self != sp_case_provider(t)->self, "it is another");
}

static void case_unique(struct sp_case *t)
{
	const char *names[12];

	/* Cases make keys of them by adding to the end: none may be another's beginning. */
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		names[i] = sp_case_unique(t);
		for (size_t k = 0; k < i; k++)
			SP_CHECK(t, strncmp(names[i], names[k], strlen(names[k])),
				 "%s does not start with %s", names[i], names[k]);
	}
	SP_CHECK_STR(t, "a-7", sp_case_format(t, "%s-%d", "a", 7), "format formats");
	SP_CHECK_INT(t, 20, sp_case_rounds(t), "rounds");
	SP_CHECK_INT(t, 0, sp_cancel_check(sp_case_cancel(t), NULL), "the cancel has not fired");
}

/* Waits for its own cancel: the case says what hung, the supervisor does not have to. */
static void case_cancel(struct sp_case *t)
{
	struct sp_error err = SP_ERROR_INIT;
	struct timespec pause = { 0, 1000000 };

	while (!sp_cancel_check(sp_case_cancel(t), &err))
		nanosleep(&pause, NULL);
	SP_CHECK_CODE(t, SP_TIMED_OUT, err.code, &err, "the cancel fires before the deadline");
}

static void case_control(struct sp_case *t)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_control *control = sp_case_control(t);

	SP_CHECK_INT(t, 0, control->ops->census(control->self, &census, NULL), "census answers");
}

static void case_undeclared_control(struct sp_case *t)
{
	uint64_t hold;
	struct sp_control *control = sp_case_control(t);

	SP_CHECK_INT(t, SP_UNSUPPORTED,
		     control->ops->hold(control->self, SP_STEP_RUN, SP_BEFORE, NULL, &hold, NULL),
		     "it answers all the same");
}

/* Fails at its second attempt of three. */
static void case_flaky(struct sp_case *t)
{
	put("attempts", "", "1");
	SP_CHECK(t, !there("attempts", "") || count("attempt-") != 1, "not the second time");
	put("attempt-", sp_case_unique(t), "");
}

static const char *const fault[] = { "none", NULL };
static const char *const flock_tool[] = { "flock", NULL };
static const char *const missing_tool[] = { "flock", "python9", NULL };
static const char *const tags[] = { "quick", "basic", NULL };
static const char *const aliases[] = { "stub.old.name", NULL };

#define CASE(id_, fn, ...)                                                                         \
	{                                                                                          \
		.id = id_, .requirement = "The stub does " id_ ".", .clause = "S1", .run = fn,     \
		.faults = fault, SP_CASE_HERE, __VA_ARGS__                                         \
	}

static const struct sp_case_def cases[] = {
	CASE("stub.verdict.pass", case_pass, .tags = tags, .aliases = aliases),
	CASE("stub.verdict.fail", case_fail, .level = SP_MUST),
	CASE("stub.verdict.fail-bytes", case_fail_bytes, .level = SP_MUST),
	CASE("stub.verdict.fail-code", case_fail_code, .level = SP_MUST),
	CASE("stub.verdict.warn", case_fail, .level = SP_SHOULD),
	CASE("stub.verdict.skip", case_skip, .level = SP_MUST),
	CASE("stub.verdict.error", case_error, .level = SP_MUST),
	CASE("stub.verdict.no-check", case_no_check, .level = SP_MUST),
	CASE("stub.need.control", case_control, .needs = SP_NEED_CONTROL),
	CASE("stub.need.undeclared-control", case_undeclared_control, .level = SP_MUST),
	CASE("stub.need.tree", case_empty, .needs = SP_NEED_REACH_TREE),
	CASE("stub.need.stdin", case_empty, .needs = SP_NEED_STDIN),
	CASE("stub.need.no-kill", case_empty, .needs = SP_NEED_NO_KILL),
	CASE("stub.need.tool", case_empty, .tools = flock_tool),
	CASE("stub.need.missing-tool", case_empty, .tools = missing_tool),
	CASE("stub.need.no-sandbox", case_pass, .needs = SP_NEED_NO_SANDBOX),
	CASE("stub.crash.segv", case_segv, .level = SP_MUST),
	CASE("stub.crash.segv-inside", case_segv_inside, .level = SP_MUST),
	CASE("stub.crash.exit", case_exit, .level = SP_MUST),
	CASE("stub.crash.secret", case_secret_crash, .level = SP_MUST),
	CASE("stub.hang.outside", case_pid_then_hang, .needs = SP_NEED_NO_SANDBOX),
	CASE("stub.hang.with-sandbox", case_hang_with_sandbox, .needs = SP_NEED_FRESH),
	CASE("stub.hang.inside", case_hang_inside, .level = SP_MUST),
	CASE("stub.hang.unremovable", case_hang_unremovable, .needs = SP_NEED_FRESH),
	CASE("stub.hang.create", case_hang_create, .needs = SP_NEED_NO_SANDBOX),
	CASE("stub.hang.orphan", case_hang_with_orphan, .needs = SP_NEED_NO_SANDBOX),
	CASE("stub.hang.pending", case_pending, .level = SP_MUST),
	CASE("stub.peer.talks", case_peer, .needs = SP_NEED_PEER),
	CASE("stub.peer.left", case_peer_left, .needs = SP_NEED_PEER),
	CASE("stub.peer.undeclared", case_peer_undeclared, .level = SP_MUST),
	CASE("stub.context.reopen", case_reopen, .level = SP_MUST),
	CASE("stub.leak.orphan", case_leak_orphan, .level = SP_MUST),
	CASE("stub.leak.child", case_leak_child, .level = SP_MUST),
	CASE("stub.leak.descriptor", case_leak_fd, .level = SP_MUST),
	CASE("stub.leak.cache", case_cache, .level = SP_MUST),
	CASE("stub.leak.file", case_leak_file, .level = SP_MUST),
	CASE("stub.leak.sandbox", case_leak_sandbox, .needs = SP_NEED_CONTROL),
	CASE("stub.leak.process-inside", case_leak_process_inside, .needs = SP_NEED_CONTROL),
	CASE("stub.leak.file-inside", case_leak_file_inside, .needs = SP_NEED_CONTROL),
	CASE("stub.leak.bookkeeping", case_bookkeeping, .needs = SP_NEED_CONTROL),
	CASE("stub.leak.hold", case_leak_hold, .needs = SP_NEED_CONTROL),
	CASE("stub.leak.snapshot", case_leak_snapshot, .needs = SP_NEED_CONTROL),
	CASE("stub.own.careless", case_careless, .level = SP_MUST),
	CASE("stub.own.fresh", case_pass, .needs = SP_NEED_FRESH),
	CASE("stub.own.stuck", case_stuck, .needs = SP_NEED_FRESH),
	CASE("stub.context.secret", case_secret, .level = SP_MUST),
	CASE("stub.context.second", case_second, .level = SP_MUST),
	CASE("stub.context.unique", case_unique, .level = SP_MUST),
	CASE("stub.context.cancel", case_cancel, .needs = SP_NEED_NO_SANDBOX),
	CASE("stub.context.flaky", case_flaky, .needs = SP_NEED_NO_SANDBOX),
};

static const struct sp_suite stub_suite = {
	.version = SP_SUITE_VERSION,
	.name = "stub",
	.summary = "everything that can happen to a case",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "1",
};

#define EMPTY_CASE(n) CASE("empty.case.n" #n, case_empty, .needs = SP_NEED_NO_SANDBOX)
#define TEN_CASES(n)                                                                               \
	EMPTY_CASE(n##0), EMPTY_CASE(n##1), EMPTY_CASE(n##2), EMPTY_CASE(n##3), EMPTY_CASE(n##4),  \
		EMPTY_CASE(n##5), EMPTY_CASE(n##6), EMPTY_CASE(n##7), EMPTY_CASE(n##8),            \
		EMPTY_CASE(n##9)

static const struct sp_case_def empty_cases[] = {
	TEN_CASES(0), TEN_CASES(1), TEN_CASES(2), TEN_CASES(3), TEN_CASES(4),
	TEN_CASES(5), TEN_CASES(6), TEN_CASES(7), TEN_CASES(8), TEN_CASES(9),
};

/* What a run costs beyond its cases. */
static const struct sp_suite empty_suite = {
	.version = SP_SUITE_VERSION,
	.name = "empty",
	.summary = "cases that do nothing",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = empty_cases,
	.n_cases = SP_COUNT(empty_cases),
	.clauses_version = "1",
};

/* ---- the run ---- */

static void say_started(void *arg, const struct sp_case_def *def, int worker)
{
	(void)arg, (void)worker;
	printf("case %s\n", def->id);
	fflush(stdout);
}

static void say_slow(void *arg, const struct sp_case_def *def, int worker, uint64_t elapsed_ms)
{
	(void)arg, (void)worker, (void)elapsed_ms;
	printf("slow %s\n", def->id);
	fflush(stdout);
}

static void say_ended(void *arg, const struct sp_result_case *result)
{
	(void)arg;
	printf("end %s %s\n", result->id, sp_verdict_name(result->verdict));
	fflush(stdout);
}

static void say_leaked(void *arg, const struct sp_result_leak *leak)
{
	(void)arg;
	printf("leak %s %s\n", leak->id, leak->kind);
	fflush(stdout);
}

static int prepare(void *opener, struct sp_error *err)
{
	(void)opener, (void)err;
	put("prepared", "", "1");
	if (prepare_is_interrupted)
		kill(getpid(), SIGINT);
	return 0;
}

static void finish(void *opener)
{
	(void)opener;
	put("finished", "", "1");
}

struct arguments {
	const char *globs[64];
	size_t n_globs;
	struct sp_run_options options;
};

static bool take_flag(struct arguments *a, const char *word)
{
	if (!strcmp(word, "--control"))
		with_control = true;
	else if (!strcmp(word, "--no-open"))
		open_fails = true;
	else if (!strcmp(word, "--outlives"))
		a->options.outlives = true;
	else if (!strcmp(word, "--interrupt-prepare"))
		prepare_is_interrupted = true;
	else if (!strcmp(word, "--fail-fast"))
		a->options.fail_fast = true;
	else if (!strcmp(word, "--fail-on-skip"))
		a->options.fail_on_skip = true;
	else
		return false;
	return true;
}

static void take_value(struct arguments *a, const char *word, const char *value)
{
	unsigned long number = strtoul(value, NULL, 10);

	if (!strcmp(word, "--case") && a->n_globs < SP_COUNT(a->globs))
		a->globs[a->n_globs++] = value;
	else if (!strcmp(word, "--jobs"))
		a->options.jobs = (unsigned)number;
	else if (!strcmp(word, "--repeat"))
		a->options.repeat = (unsigned)number;
	else if (!strcmp(word, "--seed"))
		a->options.seed = number;
	else if (!strcmp(word, "--deadline"))
		a->options.case_deadline_ms = number;
	else if (!strcmp(word, "--grace"))
		a->options.grace_ms = number;
	else if (!strcmp(word, "--min"))
		a->options.min_executed = number;
	else if (!strcmp(word, "--results"))
		a->options.results_path = value;
	else if (!strcmp(word, "--gated"))
		a->options.gated_skip = value;
	else
		abort();
}

int main(int argc, char **argv)
{
	static const struct sp_suite *const suites[] = { &stub_suite, &empty_suite };
	static struct sp_run_subject subject = { SP_SUBJECT_PROVIDER, "stub", "stub" };
	struct arguments a = { .options = SP_RUN_OPTIONS_INIT };
	struct sp_result_end end = { .passed = 0 };
	struct sp_filter filter = { .n_cases = 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code;

	state_dir = getenv("STUB_STATE");
	for (int i = 1; i < argc; i++)
		if (!take_flag(&a, argv[i]) && i + 1 < argc) {
			take_value(&a, argv[i], argv[i + 1]);
			i++;
		}
	if (getenv("STUB_PLUGIN"))
		subject.spec = "plugin:stub.so";
	filter.cases = a.globs;
	filter.n_cases = a.n_globs;
	a.options.subjects = &subject;
	a.options.n_subjects = 1;
	a.options.open = open_subject;
	a.options.prepare = prepare;
	a.options.finish = finish;
	a.options.rerun_prefix = "stub run";
	a.options.listener = (struct sp_run_listener){
		.case_started = say_started,
		.case_slow = say_slow,
		.case_ended = say_ended,
		.leaked = say_leaked,
	};
	if (sp_select(suites, SP_COUNT(suites), &filter, &a.options.selection, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return SP_EXIT_USAGE;
	}
	code = sp_run_cases(&a.options, &end, &err);
	printf("exit %d %zu %zu %zu: %s\n", code, end.passed, end.failed, end.skipped, err.message);
	sp_selection_done(&a.options.selection);
	return code;
}
