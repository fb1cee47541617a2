/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#define HELPER SP_TEST_BIN_DIR "/sp_base_child_helper"
#define CHILD SP_CLEANUP(sp_child_done)

/* Reads to the end of a pipe. */
static char *read_end(int fd)
{
	char *text = calloc(1, 65536);
	size_t len = 0;
	ssize_t n;

	while (len < 65535 && (n = read(fd, text + len, 65535 - len)) > 0)
		len += (size_t)n;
	return text;
}

static void start(struct sp_child *child, const char *const *argv)
{
	struct sp_error err = SP_ERROR_INIT;

	child->argv = argv;
	cr_assert_eq(sp_child_start(child, &err), 0, "%s", err.message);
	cr_assert_gt(child->pid, 0);
	cr_assert_geq(child->pidfd, 0);
}

static void wait_code(struct sp_child *child, int code)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_child_wait(child, NULL, &err), 0, "%s", err.message);
	cr_assert(child->reaped);
	cr_assert_eq(child->code, code, "code %d, expected %d", child->code, code);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

Test(child, codes)
{
	static const struct {
		const char *what, *value;
		int code;
	} rows[] = {
		{ "exit", "0", 0 },	 { "exit", "1", 1 },	{ "exit", "255", 255 },
		{ "signal", "9", 137 },	 { "signal", "15", 143 }, { "signal", "1", 129 },
		{ "signal", "34", 162 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_child child CHILD = SP_CHILD_INIT;
		const char *argv[] = { HELPER, rows[i].what, rows[i].value, NULL };

		start(&child, argv);
		wait_code(&child, rows[i].code);
		/* Again, and nothing changes. */
		wait_code(&child, rows[i].code);
	}
}

Test(child, state_is_clean)
{
	const char *argv[] = { HELPER, "state", "a b", "", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	char *text SP_FREE = NULL;
	sigset_t all;
	int noise[2];

	/* What must not be inherited: descriptors, ignored signals, the mask. */
	cr_assert_eq(pipe(noise), 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	child.out = SP_CHILD_PIPE;
	child.dir = "/";
	start(&child, argv);
	text = read_end(child.out);
	cr_assert(strstr(text, "fds 0 1 2\n"), "%s", text);
	cr_assert(strstr(text, "SigBlk:\t0000000000000000\n"), "%s", text);
	cr_assert(strstr(text, "SigIgn:\t0000000000000000\n"), "%s", text);
	cr_assert(strstr(text, "leads 1\ncwd /\narg a b\narg \n"), "%s", text);
	wait_code(&child, 0);
	close(noise[0]);
	close(noise[1]);
}

Test(child, extra_is_number_three_and_same_group)
{
	const char *argv[] = { HELPER, "state", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	char *text SP_FREE = NULL;

	child.out = SP_CHILD_PIPE;
	child.extra = open("/dev/null", O_RDONLY | O_CLOEXEC);
	child.same_group = true;
	start(&child, argv);
	cr_assert_eq(child.extra, -1, "it was handed over");
	text = read_end(child.out);
	cr_assert(strstr(text, "fds 0 1 2 3\n"), "%s", text);
	cr_assert(strstr(text, "leads 0\n"), "%s", text);
	wait_code(&child, 0);
}

Test(child, environment)
{
	const char *argv[] = { "/bin/sh", "-c", "echo \"$A|$HOME\"", NULL };
	const char *env[] = { "A=x y", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	char *text SP_FREE = NULL;

	child.out = SP_CHILD_PIPE;
	child.env = env;
	start(&child, argv);
	text = read_end(child.out);
	cr_assert_str_eq(text, "x y|\n");
	wait_code(&child, 0);
}

/* Numbers that collide with their targets: each must land where it belongs. */
Test(child, handed_over_descriptors_may_have_any_number)
{
	const char *argv[] = { "/bin/sh", "-c",
			       "read a; echo out-$a; echo err >&2; read b <&3; echo out-$b", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	int in[2], out[2], err[2], extra[2];
	char *text SP_FREE = NULL;
	char *errors SP_FREE = NULL;

	cr_assert(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC) &&
		  !pipe2(extra, O_CLOEXEC));
	cr_assert(!sp_write_all(in[1], "1\n", 2) && !sp_write_all(extra[1], "2\n", 2));
	/* Rotated, each in another one's place: in at 1, out at 2, err at 3, the extra one at 0. */
	int saved[4];

	for (int i = 0; i < 4; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
	dup3(in[0], 1, O_CLOEXEC);
	dup3(out[1], 2, O_CLOEXEC);
	dup3(err[1], 3, O_CLOEXEC);
	dup3(extra[0], 0, O_CLOEXEC);
	child.in = 1;
	child.out = 2;
	child.err = 3;
	child.extra = 0;
	child.argv = argv;
	int rc = sp_child_start(&child, NULL);
	bool closed = !is_open(0) && !is_open(1) && !is_open(2) && !is_open(3);

	for (int i = 0; i < 4; i++)
		if (saved[i] >= 0)
			dup2(saved[i], i);
	/* Criterion's own descriptors are back: only now may anything be asserted. */
	close(out[1]);
	close(err[1]);
	cr_assert_eq(rc, 0);
	cr_assert(closed, "handed over is closed here");
	text = read_end(out[0]);
	errors = read_end(err[0]);
	cr_assert_str_eq(text, "out-1\nout-2\n");
	cr_assert_str_eq(errors, "err\n");
	wait_code(&child, 0);
}

Test(child, one_descriptor_for_both_outputs)
{
	const char *argv[] = { "sh", "-c", "echo a; echo b >&2", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	char *text SP_FREE = NULL;
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	child.out = child.err = ends[1];
	start(&child, argv);
	cr_assert(!is_open(ends[1]));
	text = read_end(ends[0]);
	cr_assert_str_eq(text, "a\nb\n");
	wait_code(&child, 0);
	close(ends[0]);
}

static const struct {
	const char *what;
	const char *program;
	const char *dir;
	int sys_errno;
	/* A word of the message. */
	const char *word;
} failures[] = {
	{ "no such name", "no-such-program-here", NULL, ENOENT, "no-such-program-here" },
	{ "no such path", "/no/such/program", NULL, ENOENT, "/no/such/program" },
	{ "not executable", "/etc/passwd", NULL, EACCES, "/etc/passwd" },
	{ "a folder", "/etc", NULL, EACCES, "/etc" },
	{ "no such folder to run in", "true", "/no/such/folder", ENOENT, "/no/such/folder" },
	{ "empty name", "", NULL, ENOENT, "not found" },
};

Test(child, failures_are_told_and_leave_nothing_open)
{
	int before = sp_count_fds();

	for (size_t i = 0; i < SP_COUNT(failures); i++) {
		const char *argv[] = { failures[i].program, NULL };
		struct sp_child child = SP_CHILD_INIT;
		struct sp_error err = SP_ERROR_INIT;

		child.argv = argv;
		child.dir = failures[i].dir;
		child.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		child.out = SP_CHILD_PIPE;
		child.extra = open("/dev/null", O_RDONLY | O_CLOEXEC);
		cr_expect_eq(sp_child_start(&child, &err), SP_IO, "%s", failures[i].what);
		cr_expect_eq(err.sys_errno, failures[i].sys_errno, "%s: %s", failures[i].what,
			     err.message);
		cr_expect(strstr(err.message, failures[i].word), "%s: %s", failures[i].what,
			  err.message);
		cr_expect_eq(sp_count_fds(), before, "%s: descriptors stay open", failures[i].what);
		cr_expect_eq(child.pid, -1);
		cr_expect_eq(sp_child_signal(&child, SIGKILL), -ESRCH);
		sp_child_done(&child);
		cr_expect_eq(sp_count_fds(), before);
	}
	/* No zombie either. */
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD);
}

Test(child, a_whole_life_leaves_no_descriptor)
{
	const char *argv[] = { "cat", NULL };
	int before = sp_count_fds();
	struct sp_child child = SP_CHILD_INIT;

	child.in = child.out = child.err = SP_CHILD_PIPE;
	start(&child, argv);
	cr_assert_eq(sp_count_fds(), before + 4);
	cr_assert(fcntl(child.in, F_GETFD) & FD_CLOEXEC);
	/* It still runs: this is what ends it. */
	sp_child_done(&child);
	cr_assert(child.reaped);
	cr_assert_eq(child.code, 137);
	cr_assert_eq(sp_count_fds(), before);
	sp_child_done(&child);
}

Test(child, executes_a_descriptor)
{
	const char *argv[] = { "renamed", "state", "x", NULL };
	int fd SP_CLOSE = open(HELPER, O_PATH | O_CLOEXEC);
	struct sp_child child CHILD = SP_CHILD_INIT;
	char *text SP_FREE = NULL;

	child.exec_fd = fd;
	child.out = SP_CHILD_PIPE;
	start(&child, argv);
	text = read_end(child.out);
	cr_assert(strstr(text, "fds 0 1 2\n"), "%s", text);
	cr_assert(strstr(text, "arg x\n"), "%s", text);
	cr_assert(is_open(fd), "it was borrowed");
	wait_code(&child, 0);
}

Test(child, a_signal_reaches_the_whole_group)
{
	/* Leader and grandchild hold the pipe: its end shows that both are gone. */
	const char *argv[] = { "sh", "-c", "cat <&3 & echo ready; wait", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	char line[7] = "";
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	child.out = SP_CHILD_PIPE;
	child.extra = ends[0];
	start(&child, argv);
	cr_assert_eq(read(child.out, line, 6), 6);
	cr_assert_eq(sp_child_signal(&child, SIGTERM), 0);
	cr_assert_eq(read(ends[1], line, 1), 0, "somebody of the group is left");
	wait_code(&child, 143);
	cr_assert_eq(sp_child_signal(&child, SIGTERM), -ESRCH, "never after it was reaped");
	close(ends[1]);
}

/* Starts the helper that starts `cat` on one end of a socket; returns the other end. */
static int start_parent(struct sp_child *helper, const char *how)
{
	const char *argv[] = { HELPER, "parent", how, NULL };
	char line[7] = "";
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	helper->in = helper->out = SP_CHILD_PIPE;
	helper->extra = ends[0];
	start(helper, argv);
	cr_assert_eq(read(helper->out, line, 6), 6);
	cr_assert_str_eq(line, "ready\n");
	return ends[1];
}

static void expect_echo(int fd)
{
	char byte = 0;

	cr_assert_eq(send(fd, "e", 1, MSG_NOSIGNAL), 1, "nobody is there");
	cr_assert_eq(read(fd, &byte, 1), 1);
	cr_assert_eq(byte, 'e');
}

static void expect_dead(int fd)
{
	char byte;

	cr_assert_leq(read(fd, &byte, 1), 0, "it is still there");
}

Test(child, dies_with_its_parent)
{
	static const char *const ways[] = { "dies", "thread" };

	for (size_t i = 0; i < SP_COUNT(ways); i++) {
		struct sp_child helper CHILD = SP_CHILD_INIT;
		int fd SP_CLOSE = start_parent(&helper, ways[i]);

		/* Also when the thread that started it has ended long ago. */
		expect_echo(fd);
		helper.in = sp_close(helper.in);
		wait_code(&helper, 0);
		expect_dead(fd);
	}
}

Test(child, dies_with_a_killed_parent)
{
	struct sp_child helper CHILD = SP_CHILD_INIT;
	int fd SP_CLOSE = start_parent(&helper, "dies");

	expect_echo(fd);
	cr_assert_eq(sp_pidfd_signal(helper.pidfd, SIGKILL), 0);
	wait_code(&helper, 137);
	expect_dead(fd);
}

Test(child, outlives_its_parent_when_told)
{
	struct sp_child helper CHILD = SP_CHILD_INIT;
	int fd SP_CLOSE = start_parent(&helper, "outlives");

	helper.in = sp_close(helper.in);
	wait_code(&helper, 0);
	expect_echo(fd);
	/* cat ends at the end of its input. */
	shutdown(fd, SHUT_WR);
	expect_dead(fd);
}

Test(child, starts_in_a_new_pid_namespace)
{
	const char *argv[] = { HELPER, "namespace", NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 4096, NULL, &result, &err), 0, "%s", err.message);
	if (!strcmp(result.out, "refused\n")) {
		sp_run_result_done(&result);
		/* A warning would make the whole program fail. */
		cr_skip("no right to make a pid namespace here");
	}
	cr_assert_str_eq(result.out, "code 1\n", "%s%s", result.out, result.err);
	sp_run_result_done(&result);
}

Test(child, starts_on_both_sides_of_a_fork)
{
	const char *argv[] = { HELPER, "fork", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;

	start(&child, argv);
	wait_code(&child, 0);
}

Test(child, same_group_is_signalled_alone)
{
	/* Were the group signalled, this test would end as well. */
	const char *argv[] = { "cat", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;

	child.in = SP_CHILD_PIPE;
	child.same_group = true;
	start(&child, argv);
	cr_assert_eq(sp_child_signal(&child, SIGTERM), 0);
	wait_code(&child, 143);
}

Test(child, a_foreign_reaper_is_told_and_nobody_is_signalled)
{
	const char *argv[] = { "true", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;

	start(&child, argv);
	cr_assert_eq(waitpid(child.pid, NULL, 0), child.pid);
	cr_assert_eq(sp_child_wait(&child, NULL, &err), SP_IO);
	cr_assert_eq(err.sys_errno, ECHILD);
	cr_assert_eq(sp_child_signal(&child, SIGKILL), -ESRCH);
}

Test(child, no_descriptors_left)
{
	const char *argv[] = { "cat", NULL };
	int before = sp_count_fds();
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* From none to all that a start needs: it fails or works, and leaves nothing either way. */
	for (rlim_t room = 0; room < 12; room++) {
		struct sp_child child = SP_CHILD_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct rlimit tight = { .rlim_cur = (rlim_t)before + room,
					.rlim_max = limit.rlim_max };
		int rc;

		child.argv = argv;
		child.in = child.out = child.err = SP_CHILD_PIPE;
		setrlimit(RLIMIT_NOFILE, &tight);
		rc = sp_child_start(&child, &err);
		setrlimit(RLIMIT_NOFILE, &limit);
		cr_expect(!rc || (rc == SP_IO && err.sys_errno == EMFILE), "room %d: %s", (int)room,
			  err.message);
		sp_child_done(&child);
		cr_expect_eq(sp_count_fds(), before, "room %d", (int)room);
	}
}

Test(child, detach_leaves_it_running)
{
	const char *argv[] = { "sh", "-c", "exec cat <&3 >&3", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	int before = sp_count_fds();
	int ends[2];
	pid_t pid;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	child.extra = ends[0];
	child.outlives = true;
	start(&child, argv);
	pid = child.pid;
	sp_child_detach(&child);
	cr_assert_eq(sp_count_fds(), before + 1);
	cr_assert_eq(sp_child_signal(&child, SIGKILL), -ESRCH);
	expect_echo(ends[1]);
	close(ends[1]);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(child, wait_ends_by_cancel_and_the_child_lives_on)
{
	const char *argv[] = { "cat", NULL };
	struct sp_child child CHILD = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_cancel *aborted = sp_cancel_new();
	struct sp_cancel *late = sp_cancel_new();
	char byte = 0;

	child.in = child.out = SP_CHILD_PIPE;
	start(&child, argv);
	sp_cancel_abort(aborted, "enough");
	cr_assert_eq(sp_child_wait(&child, aborted, &err), SP_ABORTED);
	cr_assert_str_eq(err.message, "enough");
	sp_cancel_set_deadline(late, sp_now() + SP_MS);
	cr_assert_eq(sp_child_wait(&child, late, &err), SP_TIMED_OUT);
	cr_assert(!child.reaped);
	cr_assert_eq(sp_write_all(child.in, "z", 1), 0);
	cr_assert_eq(read(child.out, &byte, 1), 1);
	cr_assert_eq(byte, 'z');
	/* What has ended is told, whatever the cancel says. */
	child.in = sp_close(child.in);
	struct pollfd end = { .fd = child.pidfd, .events = POLLIN };

	cr_assert_eq(poll(&end, 1, -1), 1);
	cr_assert_eq(sp_child_wait(&child, aborted, &err), 0);
	cr_assert_eq(child.code, 0);
	sp_cancel_unref(aborted);
	sp_cancel_unref(late);
}

Test(child, wait_without_start)
{
	struct sp_child child CHILD = SP_CHILD_INIT;

	cr_assert_eq(sp_child_wait(&child, NULL, NULL), SP_INVALID);
}

Test(run, feeds_and_keeps_up_to_the_limit)
{
	const char *argv[] = { "sh", "-c", "cat; printf 1234567 >&2; exit 5", NULL };
	size_t len = 1 << 20;
	char *input SP_FREE = malloc(len);
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	memset(input, 'i', len);
	cr_assert_eq(sp_run(argv, NULL, input, len, len, NULL, &result, &err), 0, "%s",
		     err.message);
	cr_assert_eq(result.out_len, len);
	cr_assert(!memcmp(result.out, input, len));
	cr_assert_str_eq(result.err, "1234567");
	cr_assert_eq(result.code, 5);
	sp_run_result_done(&result);
	cr_assert_eq(sp_run(argv, NULL, input, len, 3, NULL, &result, &err), 0);
	cr_assert_str_eq(result.out, "iii");
	cr_assert_str_eq(result.err, "123");
	sp_run_result_done(&result);
}

Test(run, an_unread_input_and_a_held_pipe_do_not_hang)
{
	/* The background cat holds both outputs until the socket is closed; nobody waits for it. */
	const char *unread[] = { "true", NULL };
	const char *held[] = { "sh", "-c", "cat /dev/zero | cat >/dev/null & echo $!", NULL };
	size_t len = 1 << 20;
	char *input SP_FREE = calloc(1, len);
	struct sp_run_result result = { 0 };
	int pid;

	cr_assert_eq(sp_run(unread, NULL, input, len, 10, NULL, &result, NULL), 0);
	cr_assert_eq(result.code, 0);
	sp_run_result_done(&result);
	cr_assert_eq(sp_run(held, NULL, NULL, 0, 10, NULL, &result, NULL), 0);
	pid = (int)strtol(result.out, NULL, 10);
	cr_assert_gt(pid, 1);
	/* Ending the reader ends the writer. */
	kill(pid, SIGKILL);
	sp_run_result_done(&result);
}

Test(run, a_cancel_ends_the_group)
{
	const char *argv[] = { "sh", "-c", "cat; cat", NULL };
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_run_result result = { .code = 77 };
	struct sp_error err = SP_ERROR_INIT;
	const char *forever[] = { "sh", "-c", "while :; do wait; read x </dev/zero & wait; done",
				  NULL };

	sp_cancel_set_deadline(cancel, sp_now() + SP_MS);
	cr_assert_eq(sp_run(forever, NULL, NULL, 0, 10, cancel, &result, &err), SP_TIMED_OUT);
	cr_assert_eq(result.code, 77, "an output was touched on failure");
	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 10, cancel, &result, &err), SP_TIMED_OUT);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD);
	sp_cancel_unref(cancel);
}

Test(signals, names)
{
	static const struct {
		const char *name;
		int signal;
	} rows[] = {
		{ "TERM", 15 },	  { "SIGTERM", 15 }, { "15", 15 },   { "term", 15 },
		{ "sigkill", 9 }, { "HUP", 1 },	     { "USR1", 10 }, { "64", 64 },
		{ "65", 0 },	  { "0", 0 },	     { "", 0 },	     { "SIG", 0 },
		{ "15x", 0 },	  { "-1", 0 },	     { "TERMS", 0 }, { "99999999999999999999", 0 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		cr_expect_eq(sp_signal_from_name(rows[i].name), rows[i].signal, "%s", rows[i].name);
	cr_assert_str_eq(sp_signal_name(15), "TERM");
	cr_assert_str_eq(sp_signal_name(0), "?");
	cr_assert_str_eq(sp_signal_name(-4), "?");
	cr_assert_str_eq(sp_signal_name(64), "?");
}

Test(pidfd, says_what_it_cannot)
{
	int fd SP_CLOSE = sp_pidfd_open(getpid());

	cr_assert_geq(fd, 0);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(sp_pidfd_signal(fd, 0), 0);
	cr_assert_lt(sp_pidfd_open(-1), 0);
	cr_assert_eq(sp_subreaper(), 0);
}
