/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <base/clock.h>
#include <base/files.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Bytes taken from a pipe at once. */
#define PIECE (64 * 1024)
/* What a pipe can hold beyond the bound when the command exits, and bytes read already: generous.
 */
#define PIPE_ROOM (4 * 1024 * 1024)

/* ---- Reference counts and waiting ---- */

void local_run_ref(struct local_run *run)
{
	atomic_fetch_add(&run->refs, 1);
}

void local_run_unref(struct local_run *run)
{
	if (!run || atomic_fetch_sub(&run->refs, 1) != 1)
		return;
	for (size_t i = 0; i < SP_COUNT(run->streams); i++) {
		sp_close(run->streams[i].fd);
		sp_buf_done(&run->streams[i].buf);
	}
	sp_close(run->in);
	sp_close(run->wake);
	sp_cancel_unref(run->cancel);
	pthread_mutex_destroy(&run->lock);
	free(run);
}

int local_run_wait_change(struct local_run *run, struct sp_cancel *cancel, struct sp_error *err)
{
	struct local_waiter waiter;
	int rc = sp_cancel_check(cancel, err);

	if (rc == 0)
		rc = local_waiter_add(run, &waiter, err);
	if (rc < 0)
		return rc;
	pthread_mutex_unlock(&run->lock);
	struct pollfd fds[] = {
	    {.fd = waiter.fd, .events = POLLIN},
	    {.fd = sp_cancel_fd(cancel), .events = POLLIN},
	};
	poll(fds, SP_COUNT(fds), -1);
	pthread_mutex_lock(&run->lock);
	local_waiter_remove(run, &waiter);
	return sp_cancel_check(cancel, err);
}

/* ---- Starting ---- */

/*
 * The folder that a command starts in: below the workspace, as /workspace
 * says, or any other of the host's, as the command itself could enter it.
 */
static int resolve_cwd(const struct local_sandbox *sandbox, const char *cwd, char **ret_dir,
		       struct sp_error *err)
{
	char *dir SP_FREE = NULL;
	struct stat st;
	int n;

	if (!cwd)
		n = asprintf(&dir, "%s", sandbox->workspace);
	else if (!strcmp(cwd, "/workspace") || !strncmp(cwd, "/workspace/", 11))
		n = asprintf(&dir, "%s%s", sandbox->workspace, cwd + 10);
	else if (*cwd == '/')
		n = asprintf(&dir, "%s", cwd);
	else
		n = asprintf(&dir, "%s/%s", sandbox->workspace, cwd);
	if (n < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	if (stat(sandbox->root, &st) < 0 && errno == ENOENT)
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", sandbox->id);
	if (stat(dir, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return sp_error_set(err, SP_NOT_FOUND,
					    "the working folder %s does not exist",
					    cwd ? cwd : "/workspace");
		if (errno == EACCES)
			return sp_error_set(err, SP_DENIED,
					    "the working folder %s may not be entered",
					    cwd ? cwd : "/workspace");
		return sp_error_set_errno(err, errno, "cannot look at the working folder %s",
					  cwd ? cwd : "/workspace");
	}
	if (!S_ISDIR(st.st_mode))
		return sp_error_set(err, SP_NOT_FOUND, "the working folder %s is not a folder",
				    cwd);
	*ret_dir = SP_TAKE(dir);
	return 0;
}

/* What every command has before the caller's variables; nothing of ours leaks in. */
static int base_env(const struct local_sandbox *sandbox, struct local_env *env,
		    struct sp_error *err)
{
	char *tmp SP_FREE = NULL;

	if (asprintf(&tmp, "%s/tmp", sandbox->root) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	const struct sp_env vars[] = {
	    {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	    {"HOME", sandbox->root},
	    {"TMPDIR", tmp},
	    {"LANG", "C.UTF-8"},
	    {"SHELL", "/bin/bash"},
	};
	return local_env_merge(env, vars, SP_COUNT(vars), err);
}

/* The whole environment of a command: the later the stronger; the marks last. The sandbox's lock is
 * held. */
static int command_env(const struct local_run *run, const struct local_sandbox *sandbox,
		       const struct sp_exec_options *options, struct local_env *env,
		       struct sp_error *err)
{
	int rc = base_env(sandbox, env, err);

	if (rc == 0)
		rc = local_env_overlay(env, &sandbox->env, err);
	if (rc == 0)
		rc = local_env_merge(env, options->env, options->n_env, err);
	if (rc == 0)
		rc = local_env_put(env, LOCAL_MARK_SANDBOX, sandbox->id, err);
	if (rc == 0)
		rc = local_env_put(env, LOCAL_MARK_RUN, strchr(run->mark, '=') + 1, err);
	return rc;
}

/* A command too long for an argument is read from memory; it closes the descriptor before its own
 * first word. */
static int command_fd(const char *command, int *ret_fd, struct sp_error *err)
{
	static const char head[] = "exec 3<&-;";
	int fd SP_CLOSE = memfd_create("command", MFD_CLOEXEC);

	if (fd < 0)
		return sp_error_set_errno(err, errno, "cannot hold a long command in memory");
	int rc = sp_write_all(fd, head, sizeof(head) - 1);
	if (rc == 0)
		rc = sp_write_all(fd, command, strlen(command));
	if (rc < 0)
		return sp_error_set_errno(err, -rc, "cannot hold a long command in memory");
	*ret_fd = SP_TAKE_FD(fd);
	return 0;
}

static int start_child(struct local_run *run, const struct sp_exec_options *options,
		       const char *dir, const struct local_env *env, struct sp_error *err)
{
	bool is_long = strlen(options->command) >= LOCAL_ARG_MAX;
	/* The last word is $0, as it is for `bash -c` by itself. */
	const char *argv[] = {"/bin/bash", "-c",
			      "--",	   is_long ? ". /proc/self/fd/3" : options->command,
			      "bash",	   NULL};

	run->child = (struct sp_child)SP_CHILD_INIT;
	run->child.argv = argv;
	run->child.env = (const char *const *)env->vars;
	run->child.dir = dir;
	run->child.in = run->keeps_prefix ? SP_CHILD_NULL : SP_CHILD_PIPE;
	run->child.out = SP_CHILD_PIPE;
	run->child.err = SP_CHILD_PIPE;
	/* Tied to a thread by the kernel; a sandbox outlives the thread that started its command.
	 */
	run->child.outlives = true;
	if (is_long) {
		int rc = command_fd(options->command, &run->child.extra, err);
		if (rc < 0)
			return rc;
	}
	int rc = sp_child_start(&run->child, err);
	/* Borrowed until here only. */
	run->child.argv = NULL;
	run->child.env = NULL;
	run->child.dir = NULL;
	return rc;
}

static int take_pipe(int *child_end, int *ret_fd)
{
	*ret_fd = *child_end;
	*child_end = SP_CHILD_NULL;
	return sp_set_nonblock(*ret_fd, true);
}

static void take_pipes(struct local_run *run)
{
	take_pipe(&run->child.out, &run->streams[0].fd);
	take_pipe(&run->child.err, &run->streams[1].fd);
	if (!run->keeps_prefix)
		take_pipe(&run->child.in, &run->in);
}

static struct local_run *new_run(struct local_sandbox *sandbox, bool keeps_prefix)
{
	struct local_run *run = calloc(1, sizeof(*run));
	char id[LOCAL_MARK_LEN + 1];

	if (!run)
		return NULL;
	atomic_init(&run->refs, 1);
	pthread_mutex_init(&run->lock, NULL);
	sp_random_id(id, LOCAL_MARK_LEN);
	snprintf(run->mark, sizeof(run->mark), "%s=%s", LOCAL_MARK_RUN, id);
	run->keeps_prefix = keeps_prefix;
	run->limit = keeps_prefix ? sandbox->provider->caps.output_cap
				  : sandbox->provider->caps.unread_bound;
	run->child = (struct sp_child)SP_CHILD_INIT;
	run->in = -1;
	run->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (size_t i = 0; i < SP_COUNT(run->streams); i++) {
		run->streams[i].fd = -1;
		/* Read bytes stay in front until they are half of it. */
		run->streams[i].buf.ceiling = 2 * run->limit + PIPE_ROOM;
	}
	return run;
}

/* Registers and starts in one step, so that destroy() sees every command or prevents it. */
static int start_locked(struct local_sandbox *sandbox, struct local_run *run,
			const struct sp_exec_options *options, const char *dir,
			struct sp_error *err)
{
	struct local_env env SP_CLEANUP(local_env_done) = {0};
	LOCAL_LOCK(&sandbox->lock);

	if (sandbox->gone)
		return sp_error_set(err, SP_GONE, "sandbox %s is gone", sandbox->id);
	int rc = command_env(run, sandbox, options, &env, err);
	if (rc == 0)
		rc = start_child(run, options, dir, &env, err);
	if (rc < 0)
		return rc;
	take_pipes(run);
	run->next = sandbox->runs;
	sandbox->runs = run;
	return 0;
}

static int check_options(const struct sp_exec_options *options, struct sp_error *err)
{
	if (!options || !options->command)
		return sp_error_set(err, SP_INVALID, "a command is required");
	if (options->version != SP_EXEC_OPTIONS_VERSION)
		return sp_error_set(err, SP_INVALID, "exec options of version %u, expected %d",
				    options->version, SP_EXEC_OPTIONS_VERSION);
	int rc = local_env_check(options->env, options->n_env, err);
	return rc < 0 ? rc : sp_cancel_check(options->cancel, err);
}

int local_run_start(struct local_sandbox *sandbox, const struct sp_exec_options *options,
		    bool keeps_prefix, struct local_run **ret_run, struct sp_error *err)
{
	char *dir SP_FREE = NULL;
	int rc = check_options(options, err);

	if (rc == 0)
		rc = resolve_cwd(sandbox, options->cwd, &dir, err);
	if (rc < 0)
		return rc;
	struct local_run *run = new_run(sandbox, keeps_prefix);
	if (!run || run->wake < 0) {
		local_run_unref(run);
		return sp_error_set(err, SP_INTERNAL, "no memory or descriptor for a command");
	}
	run->sandbox = sandbox;
	local_sandbox_ref(sandbox);
	rc = start_locked(sandbox, run, options, dir, err);
	if (rc < 0) {
		sp_child_done(&run->child);
		local_run_unref(run);
		local_sandbox_unref(sandbox);
		return rc;
	}
	run->cancel = options->cancel ? sp_cancel_ref(options->cancel) : NULL;
	*ret_run = run;
	return 0;
}

/* ---- Ending ---- */

bool local_run_leader_exited(const struct local_run *run)
{
	struct pollfd poll_fd = {.fd = run->child.pidfd, .events = POLLIN};

	return run->ended || run->child.reaped || poll(&poll_fd, 1, 0) > 0;
}

void local_run_end(struct local_run *run, int signal, enum sp_exit_how how)
{
	LOCAL_LOCK(&run->lock);

	if (run->ending ? run->escalated || signal != SIGKILL : local_run_leader_exited(run))
		return;
	if (!run->ending) {
		run->ending = true;
		run->how = how;
		run->grace_end = sp_now() + run->sandbox->provider->caps.kill_grace_ms * SP_MS;
	}
	run->escalated = signal == SIGKILL;
	sp_child_signal(&run->child, signal);
	local_run_wake_pump(run);
}

/* ---- The pump ---- */

/* How many bytes may be taken from a stream now; 0 makes the command stand still. */
static size_t room(const struct local_run *run, const struct local_stream *stream)
{
	size_t unread = stream->buf.len - stream->head;

	if (run->keeps_prefix || run->released)
		return PIECE;
	return unread < run->limit ? run->limit - unread : 0;
}

/* Takes bytes in; what is beyond the cap of exec, or for nobody, is dropped. */
static void take(struct local_run *run, struct local_stream *stream, const char *data, size_t len)
{
	if (run->released)
		return;
	if (run->keeps_prefix && len > run->limit - stream->buf.len) {
		len = run->limit - stream->buf.len;
		stream->cut = true;
	}
	if (sp_buf_add(&stream->buf, data, len) < 0)
		stream->cut = true;
}

/* Reads at most `max` bytes of a stream; returns how many, 0 at its end or when there is nothing.
 */
static size_t pull(struct local_run *run, struct local_stream *stream, size_t max)
{
	char piece[PIECE];
	ssize_t n = read(stream->fd, piece, max < sizeof(piece) ? max : sizeof(piece));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	LOCAL_LOCK(&run->lock);
	if (n > 0) {
		take(run, stream, piece, (size_t)n);
	} else {
		stream->ended = true;
		stream->fd = sp_close(stream->fd);
	}
	local_run_changed(run);
	return n > 0 ? (size_t)n : 0;
}

static void pull_with_room(struct local_run *run, struct local_stream *stream)
{
	pthread_mutex_lock(&run->lock);
	size_t max = room(run, stream);
	pthread_mutex_unlock(&run->lock);
	if (max > 0)
		pull(run, stream, max);
}

/* An abort or deadline of the caller's cancel ends the command as kill(TERM) does. */
static void notice_cancel(struct local_run *run)
{
	int rc = sp_cancel_check(run->cancel, NULL);

	if (rc < 0)
		local_run_end(run, SIGTERM,
			      rc == SP_TIMED_OUT ? SP_EXIT_TIMED_OUT : SP_EXIT_ABORTED);
}

/* KILL when the grace is over; returns milliseconds until then, -1 for never. */
static int escalate(struct local_run *run)
{
	LOCAL_LOCK(&run->lock);

	if (!run->ending || run->escalated)
		return -1;
	int left = sp_until_ms(run->grace_end);
	if (left > 0)
		return left;
	run->escalated = true;
	sp_child_signal(&run->child, SIGKILL);
	return -1;
}

enum { AT_LEADER, AT_WAKE, AT_CANCEL, AT_OUT, AT_ERR, AT_MORE };

static void fill_poll(struct local_run *run, struct pollfd *fds, bool leader)
{
	LOCAL_LOCK(&run->lock);

	fds[AT_LEADER] = (struct pollfd){leader ? run->child.pidfd : -1, POLLIN, 0};
	fds[AT_WAKE] = (struct pollfd){run->wake, POLLIN, 0};
	/* Once it is being ended, a fired cancel would only keep the loop busy. */
	fds[AT_CANCEL] = (struct pollfd){run->ending ? -1 : sp_cancel_fd(run->cancel), POLLIN, 0};
	for (int i = 0; i < 2; i++) {
		struct local_stream *stream = &run->streams[i];
		fds[AT_OUT + i] = (struct pollfd){room(run, stream) ? stream->fd : -1, POLLIN, 0};
	}
}

/* One round: waits for anything and moves it. `fds` has room for AT_MORE entries and n_more of the
 * caller's. */
static void pump_once(struct local_run *run, struct pollfd *fds, size_t n_more, bool leader)
{
	eventfd_t ignored;
	int timeout = escalate(run);

	fill_poll(run, fds, leader);
	if (poll(fds, AT_MORE + n_more, timeout) <= 0)
		return;
	if (fds[AT_WAKE].revents)
		eventfd_read(run->wake, &ignored);
	if (fds[AT_CANCEL].revents)
		notice_cancel(run);
	for (int i = 0; i < 2; i++) {
		if (fds[AT_OUT + i].revents)
			pull_with_room(run, &run->streams[i]);
	}
}

static bool grace_over(struct local_run *run)
{
	escalate(run);
	LOCAL_LOCK(&run->lock);
	return run->escalated;
}

/* Keeps moving output until these have died or the grace is over. */
static void pump_members(struct local_run *run, struct local_found *members)
{
	struct pollfd *fds SP_FREE = calloc(AT_MORE + members->len, sizeof(*fds));

	while (fds && members->alive > 0 && !grace_over(run)) {
		for (size_t i = 0; i < members->len; i++)
			fds[AT_MORE + i] = (struct pollfd){members->fds[i], POLLIN, 0};
		pump_once(run, fds, members->len, false);
		local_found_update(members);
	}
}

/* The leader died of the signal asked for; the rest of its group has the same grace. */
static void give_group_its_grace(struct local_run *run, const struct local_match *group)
{
	while (!grace_over(run)) {
		struct local_found members SP_CLEANUP(local_found_done) = LOCAL_FOUND_INIT;
		if (local_find(group, &members) < 0 || members.alive == 0)
			return;
		pump_members(run, &members);
	}
}

/*
 * Waits for the deaths of a group that was KILLed whole. Its leader is reaped
 * by now, so nothing is signalled here: the number could mean somebody else.
 */
static void await_group(const struct local_match *match)
{
	struct local_found members SP_CLEANUP(local_found_done) = LOCAL_FOUND_INIT;

	if (local_find(match, &members) == 0)
		local_found_wait(&members, sp_deadline_ms(LOCAL_DEATH_LIMIT_MS));
}

/*
 * The leader has exited and is not reaped yet, so its group number cannot
 * mean another group. On the way out of an ordinary exit the walk over /proc
 * is spared unless somebody is left in the group.
 */
static void clear_group(struct local_run *run)
{
	pid_t leader = run->child.pid;
	struct local_match match = {.group = leader, .except = leader};
	pthread_mutex_lock(&run->lock);
	bool ending = run->ending;
	bool reaps = ending || run->sandbox->provider->caps.exit_reaps_group;
	pthread_mutex_unlock(&run->lock);

	if (ending)
		give_group_its_grace(run, &match);
	if (reaps)
		sp_child_signal(&run->child, SIGKILL);
	if (ending) {
		match.mark = run->mark;
		local_sweep(&match, 0);
	}
	pthread_mutex_lock(&run->lock);
	sp_child_wait(&run->child, NULL, NULL);
	pthread_mutex_unlock(&run->lock);
	if (reaps && kill(-leader, 0) == 0)
		await_group(&match);
}

/* Takes what the command wrote before it died; a background writer cannot make this endless. */
static void drain(struct local_run *run)
{
	for (size_t i = 0; i < SP_COUNT(run->streams); i++) {
		struct local_stream *stream = &run->streams[i];
		int left = 0;
		if (stream->fd < 0 || ioctl(stream->fd, FIONREAD, &left) < 0)
			continue;
		while (left > 0 && stream->fd >= 0) {
			size_t n = pull(run, stream, (size_t)left);
			if (n == 0)
				break;
			left -= (int)n;
		}
		/* Tells the end of a pipe that nobody holds any more. */
		if (stream->fd >= 0) {
			struct pollfd poll_fd = {.fd = stream->fd, .events = POLLIN};
			if (poll(&poll_fd, 1, 0) > 0 && !(poll_fd.revents & POLLIN))
				pull(run, stream, PIECE);
		}
	}
}

static struct sp_exit read_exit(const struct local_run *run, const siginfo_t *info)
{
	bool by_signal = info->si_code != CLD_EXITED;
	struct sp_exit exit = {
	    .how = by_signal ? SP_SIGNALLED : SP_EXITED,
	    .code = by_signal ? 128 + info->si_status : info->si_status,
	    .signal = by_signal ? info->si_status : 0,
	};

	if (run->ending && run->how != LOCAL_DESTROYED)
		exit.how = run->how;
	return exit;
}

/* Closes everything that belongs to a living command, then tells the end. */
static void finish(struct local_run *run, const siginfo_t *info)
{
	struct local_drain *rest = run->sandbox->provider->drain;
	struct sp_cancel *cancel;

	pthread_mutex_lock(&run->lock);
	for (size_t i = 0; i < SP_COUNT(run->streams); i++) {
		struct local_stream *stream = &run->streams[i];
		if (stream->fd >= 0)
			local_drain_add(rest, SP_TAKE_FD(stream->fd), run->sandbox);
		stream->ended = true;
	}
	if (run->in_users == 0)
		run->in = sp_close(run->in);
	run->wake = sp_close(run->wake);
	cancel = run->cancel;
	run->cancel = NULL;
	run->exit = read_exit(run, info);
	sp_child_done(&run->child);
	pthread_mutex_unlock(&run->lock);
	sp_cancel_unref(cancel);
}

void local_run_pump(struct local_run *run)
{
	struct pollfd fds[AT_MORE];
	siginfo_t info = {0};

	do
		pump_once(run, fds, 0, true);
	while (waitid(P_PIDFD, (id_t)run->child.pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0);
	clear_group(run);
	drain(run);
	finish(run, &info);
	local_sandbox_leave(run->sandbox, run);
	LOCAL_LOCK(&run->lock);
	run->ended = true;
	local_run_changed(run);
}
