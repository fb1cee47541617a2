/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

#include <signal.h>

static struct sp_exit wait_exit(struct fixture *f, struct sp_process *process)
{
	struct sp_exit exit = {SP_EXITED, -1, -1};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_process_wait(process, &exit, f->cancel, &err);

	cr_expect_eq(rc, 0, "wait: %s", err.message);
	return exit;
}

static void expect_exit(struct sp_exit actual, enum sp_exit_how how, int code, const char *what)
{
	cr_expect(actual.how == how && actual.code == code,
		  "%s: expected how %d code %d, got how %d code %d", what, how, code, actual.how,
		  actual.code);
}

Test(process, ends_are_told_apart)
{
	static const struct {
		const char *command;
		enum sp_exit_how how;
		int code;
	} ends[] = {
	    {"exit 0", SP_EXITED, 0},
	    {"exit 143", SP_EXITED, 143},
	    {"kill -TERM $$", SP_SIGNALLED, 143},
	    {"kill -KILL $$", SP_SIGNALLED, 137},
	    {"kill -34 $$", SP_SIGNALLED, 162},
	};
	struct fixture f;

	fixture_open(&f, false, 50);
	for (size_t i = 0; i < SP_COUNT(ends); i++) {
		struct sp_process process = spawn_command(&f, ends[i].command);
		expect_exit(wait_exit(&f, &process), ends[i].how, ends[i].code, ends[i].command);
		/* Again, and a kill that comes too late changes nothing. */
		cr_expect_eq(sp_process_kill(&process, SIGKILL, f.cancel, NULL), 0);
		expect_exit(wait_exit(&f, &process), ends[i].how, ends[i].code, ends[i].command);
		cr_expect_eq(sp_process_signal(&process, SIGTERM, NULL, NULL), SP_GONE);
		sp_process_done(&process);
	}
	fixture_close(&f);
}

Test(process, stdin_is_written_and_closed)
{
	struct fixture f;
	const size_t size = 400 * 1024;
	char *data SP_FREE = malloc(size);
	char back[4096];
	size_t total = 0, n;

	fixture_open(&f, false, 50);
	memset(data, 'd', size);
	/* Counts on stderr-free output: the length of what came. */
	struct sp_process process = spawn_command(&f, "wc -c");
	cr_expect_eq(sp_process_write_stdin(&process, data, size, f.cancel, NULL), 0);
	cr_expect_eq(sp_process_close_stdin(&process, NULL), 0);
	cr_expect_eq(sp_process_close_stdin(&process, NULL), 0);
	expect_line(&f, &process, "409600");
	while (sp_process_read(&process, SP_STDOUT, back, sizeof(back), &n, f.cancel, NULL) == 0 &&
	       n > 0)
		total += n;
	cr_expect_eq(total, 0);
	expect_exit(wait_exit(&f, &process), SP_EXITED, 0, "wc");
	cr_expect_eq(sp_process_write_stdin(&process, "x", 1, NULL, NULL), SP_GONE);
	sp_process_done(&process);
	fixture_close(&f);
}

Test(process, a_closed_stdin_takes_nothing_more)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	/* It outlives the end of its input, so that "closed" cannot be "gone". */
	struct sp_process process = spawn_command(&f, "cat; exec tail -f /dev/null");
	cr_expect_eq(sp_process_close_stdin(&process, NULL), 0);
	cr_expect_eq(sp_process_write_stdin(&process, "x", 1, f.cancel, NULL), SP_CONFLICT);
	cr_expect_eq(sp_process_kill(&process, SIGKILL, f.cancel, NULL), 0);
	expect_exit(wait_exit(&f, &process), SP_KILLED, 137, "tail");
	sp_process_done(&process);
	fixture_close(&f);
}

Test(process, a_write_that_nobody_takes_ends_with_the_process)
{
	struct fixture f;
	const size_t size = 400 * 1024;
	char *data SP_FREE = calloc(1, size);

	fixture_open(&f, false, 50);
	struct sp_process process = spawn_command(&f, "read -r line; echo \"$line\"; exit 3");
	cr_expect_eq(sp_process_write_stdin(&process, "one\n", 4, f.cancel, NULL), 0);
	int rc = sp_process_write_stdin(&process, data, size, f.cancel, NULL);
	cr_expect_eq(rc, SP_GONE, "%s", sp_code_name(rc));
	expect_exit(wait_exit(&f, &process), SP_EXITED, 3, "reader");
	sp_process_done(&process);
	fixture_close(&f);
}

Test(process, output_is_held_and_then_stands_still)
{
	struct fixture f;
	struct sp_exit exit;
	char *data SP_FREE = malloc(4 * TEST_BOUND);
	size_t total = 0, n;

	fixture_open(&f, false, 50);
	/* Fits the bound: wait resolves without a reader, and nothing is lost. */
	struct sp_process fits = spawn_command(&f, "head -c 131072 /dev/zero");
	expect_exit(wait_exit(&f, &fits), SP_EXITED, 0, "fits");
	while (sp_process_read(&fits, SP_STDOUT, data, 1000, &n, f.cancel, NULL) == 0 && n > 0)
		total += n;
	cr_expect_eq(total, 131072, "%zu", total);
	sp_process_done(&fits);

	/* Does not fit: it goes on only when somebody reads. */
	total = 0;
	struct sp_process more = spawn_command(&f, "head -c 524288 /dev/zero; echo end >&2");
	for (int round = 0; round < 20; round++)
		expect_output(&f, ":", "");
	struct sp_cancel *fired = sp_cancel_new();
	sp_cancel_set_deadline(fired, 1);
	cr_expect_eq(sp_process_wait(&more, &exit, fired, NULL), SP_TIMED_OUT);
	sp_cancel_unref(fired);
	while (sp_process_read(&more, SP_STDOUT, data, 4 * TEST_BOUND, &n, f.cancel, NULL) == 0 &&
	       n > 0)
		total += n;
	cr_expect_eq(total, 524288, "%zu", total);
	expect_exit(wait_exit(&f, &more), SP_EXITED, 0, "more");
	sp_process_done(&more);

	/* A kill does not wait for a reader. */
	struct sp_process endless = spawn_command(&f, "cat /dev/zero");
	cr_expect_eq(sp_process_kill(&endless, SIGTERM, f.cancel, NULL), 0);
	expect_exit(wait_exit(&f, &endless), SP_KILLED, 143, "endless");
	sp_process_done(&endless);
	fixture_close(&f);
}

Test(process, a_released_one_runs_on)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	struct sp_process process =
	    spawn_command(&f, "mkfifo done; head -c 1000000 /dev/zero; echo over >done");
	sp_process_done(&process);
	expect_output(&f, "until [[ -p done ]]; do read -t 0.01 <> <(:); done; cat done", "over\n");
	fixture_close(&f);
}

Test(process, signals_are_told_exactly)
{
	struct fixture f;

	fixture_open(&f, false, 50);
	/* A shell that waits may miss a signal that came just before; one that turns looks. */
	struct sp_process process = spawn_command(
	    &f, "trap 'echo usr1' USR1; trap 'echo term' TERM; trap 'echo rt' RTMIN+3; echo ready; "
		"while :; do :; done");
	expect_line(&f, &process, "ready");
	cr_expect_eq(sp_process_signal(&process, SIGUSR1, NULL, NULL), 0);
	expect_line(&f, &process, "usr1");
	cr_expect_eq(sp_process_signal(&process, SIGTERM, NULL, NULL), 0);
	expect_line(&f, &process, "term");
	cr_expect_eq(sp_process_signal(&process, SIGRTMIN + 3, NULL, NULL), 0);
	expect_line(&f, &process, "rt");
	cr_expect_eq(sp_process_signal(&process, 0, NULL, NULL), SP_UNSUPPORTED);
	cr_expect_eq(sp_process_signal(&process, 64, NULL, NULL), SP_UNSUPPORTED);
	cr_expect_eq(sp_process_signal(&process, SIGKILL, NULL, NULL), 0);
	expect_exit(wait_exit(&f, &process), SP_SIGNALLED, 137, "signal KILL");
	sp_process_done(&process);
	fixture_close(&f);
}
