/* SPDX-License-Identifier: MIT */
/* The console on a real terminal, and the live report on a pipe. */
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <cli/console.h>
#include <cli/listeners.h>
#include <cli/live.h>

/* A terminal of 80 columns: what is written to `stream` is read from `master`. */
struct terminal {
	int master;
	FILE *stream;
	char text[64 * 1024];
};

static void open_terminal(struct terminal *t)
{
	struct winsize size = {.ws_col = 80, .ws_row = 24};
	struct termios raw;
	int slave;

	cr_assert_eq(openpty(&t->master, &slave, NULL, NULL, &size), 0);
	/* As it is written, no carriage returns put in. */
	cr_assert_eq(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	cr_assert_eq(tcsetattr(slave, TCSANOW, &raw), 0);
	cr_assert_eq(sp_set_nonblock(t->master, true), 0);
	t->stream = fdopen(slave, "w");
	unsetenv("CI");
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
}

/* All that has come so far; what was written before is there. */
static const char *seen(struct terminal *t)
{
	size_t len = 0;
	ssize_t n;

	fflush(t->stream);
	while ((n = read(t->master, t->text + len, sizeof(t->text) - 1 - len)) > 0)
		len += (size_t)n;
	t->text[len] = '\0';
	return t->text;
}

static void close_terminal(struct terminal *t)
{
	fclose(t->stream);
	close(t->master);
}

static const struct sp_case_def defs[] = {
    {.id = "kill.group.leader", .requirement = "The leader is dead."},
    {.id = "kill.shape.setsid", .requirement = "Nothing survives."},
    {.id = "kill.stream.ends", .requirement = "Streams end."},
};

/* A console on the terminal with three cases of which two run. */
static struct cli_console *begin(struct terminal *t, struct sp_selection *selection)
{
	static const struct sp_case_def *cases[] = {&defs[0], &defs[1], &defs[2]};
	struct cli_console_options options = {
	    .stream = t->stream, .style = cli_style_of(t->stream), .subjects = "provider bash"};
	struct cli_console *console = cli_console_new(&options);
	struct sp_run_listener listener = cli_console_listener(console);

	*selection = (struct sp_selection){.cases = cases, .len = 3};
	listener.started(listener.arg, selection, 2);
	listener.case_started(listener.arg, &defs[0], 0);
	listener.case_started(listener.arg, &defs[1], 1);
	listener.tick(listener.arg);
	return console;
}

Test(terminal, says_what_runs_and_how_far_it_is)
{
	struct sp_result_case failed = {.id = (char *)"kill.group.leader",
					.suite = (char *)"kill",
					.clause = (char *)"K1",
					.level = (char *)"MUST",
					.verdict = SP_FAIL,
					.message = (char *)"it lives",
					.expected = (char *)"dead",
					.actual = (char *)"alive"};
	struct sp_result_end end = {.failed = 1};
	struct sp_selection selection;
	struct terminal t;

	open_terminal(&t);
	struct cli_console *console = begin(&t, &selection);
	struct sp_run_listener listener = cli_console_listener(console);
	const char *text = seen(&t);

	cr_expect(strstr(text, "kill.group.leader") && strstr(text, "kill.shape.setsid"),
		  "both that run are named: %s", text);
	cr_expect(!strstr(text, "kill.stream.ends"), "and no other: %s", text);
	cr_expect(strstr(text, "0/3"), "%s", text);
	listener.case_ended(listener.arg, &failed);
	text = seen(&t);
	/* The block goes, the failure stays, the block comes again below it. */
	cr_expect_eq(strncmp(text, "\x1b[3A\r\x1b[J", 8), 0, "%s", text);
	cr_expect(strstr(text, "FAIL") && strstr(text, "it lives") && strstr(text, "dead") &&
		      strstr(text, "alive") && strstr(text, "The leader is dead."),
		  "%s", text);
	cr_expect(strstr(text, "1/3, 1 failed"), "%s", text);
	cr_expect(strstr(text, "kill.shape.setsid"), "%s", text);
	listener.ended(listener.arg, &end);
	cli_console_summary(console, &end);
	text = seen(&t);
	cr_expect_str_eq(strrchr(text, ',') + 1, " 0 skipped\n", "the verdict is last: %s", text);
	cli_console_free(console);
	close_terminal(&t);
}

/* No line of the block is as wide as the terminal, or it would wrap and not be erased. */
Test(terminal, the_block_fits)
{
	static const struct sp_case_def wide = {
	    .id = "kill.a-name-that-is-far-longer-than-any-terminal-that-somebody-may-have-is-wide-"
		  "and-more",
	    .requirement = "r",
	};
	struct sp_selection selection;
	struct terminal t;

	open_terminal(&t);
	struct cli_console *console = begin(&t, &selection);
	struct sp_run_listener listener = cli_console_listener(console);

	listener.case_started(listener.arg, &wide, 1);
	(void)seen(&t);
	listener.tick(listener.arg);
	for (const char *line = seen(&t); *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		struct sp_buf one SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_add(&one, line, strcspn(line, "\n"));
		cr_expect_lt(cli_text_columns(&one, 0), 80 + 8, "\"%s\"", sp_buf_str(&one));
		cr_expect(!strstr(sp_buf_str(&one), "and-more"), "%s", sp_buf_str(&one));
	}
	cli_console_free(console);
	close_terminal(&t);
}

static const struct {
	const char *name, *value;
	bool live;
} environments[] = {
    {"NONE_OF_THEM", "1", true},
    {"CI", "true", false},
    {"TERM", "dumb", false},
};

/* In CI a terminal is a log: nothing is redrawn, nothing moves. */
Test(terminal, quiet_where_nobody_watches)
{
	for (size_t i = 0; i < SP_COUNT(environments); i++) {
		struct sp_selection selection;
		struct terminal t;

		open_terminal(&t);
		setenv(environments[i].name, environments[i].value, 1);
		struct cli_console *console = begin(&t, &selection);
		const char *text = seen(&t);

		cr_expect_eq(strstr(text, "kill.group.leader") != NULL, environments[i].live,
			     "%s=%s: %s", environments[i].name, environments[i].value, text);
		cli_console_free(console);
		text = seen(&t);
		cr_expect_eq(strstr(text, "A\r\x1b[J") != NULL, environments[i].live, "%s=%s",
			     environments[i].name, environments[i].value);
		unsetenv(environments[i].name);
		close_terminal(&t);
	}
}

/* ---- the live report ---- */

/* What has come, and a mark behind it. */
static void drain(int fd, struct sp_buf *all)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	sp_buf_add(all, text, n > 0 ? (size_t)n : 0);
	sp_buf_addc(all, '|');
}

/* Each point is there as soon as its case has ended: nothing waits in a buffer. */
Test(live, points_come_as_cases_end)
{
	struct sp_result_case pass = {.id = (char *)"kill.a", .verdict = SP_PASS};
	struct sp_result_case skip = {
	    .id = (char *)"kill.b", .verdict = SP_SKIP, .message = (char *)"no #1"};
	struct sp_result_leak leak = {
	    .id = (char *)"kill.a", .kind = (char *)"file", .message = (char *)"/x"};
	int pair[2], saved = dup(STDOUT_FILENO);
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cr_assert_eq(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
	fflush(stdout);
	dup2(pair[1], STDOUT_FILENO);
	struct cli_live *live = cli_live_new();
	struct cli_listeners everybody = {.len = 0};
	/* One that listens to nothing stands in nobody's way. */
	cli_listeners_add(&everybody, (struct sp_run_listener){.arg = NULL});
	cli_listeners_add(&everybody, cli_live_listener(live));
	struct sp_run_listener listener = cli_listeners_as_one(&everybody);
	drain(pair[0], &all);
	listener.started(listener.arg, NULL, 1);
	listener.case_ended(listener.arg, &pass);
	drain(pair[0], &all);
	listener.case_ended(listener.arg, &skip);
	drain(pair[0], &all);
	listener.leaked(listener.arg, &leak);
	listener.tick(listener.arg);
	listener.ended(listener.arg, NULL);
	drain(pair[0], &all);
	int rc = cli_live_done(live, true);
	drain(pair[0], &all);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(pair[0]);
	close(pair[1]);
	cr_expect_eq(rc, 0);
	cr_expect_str_eq(
	    sp_buf_str(&all),
	    "TAP version 14\n|ok 1 - kill.a\n|ok 2 - kill.b # SKIP no \\#1\n|"
	    "not ok 3 - leak.kill.a\n  ---\n  message: \"/x\"\n  severity: leak\n  kind: \"file\"\n"
	    "  ...\n|1..3\n|");
}

Test(live, a_reader_that_went_away_is_told_at_the_end)
{
	struct sp_result_case pass = {.id = (char *)"kill.a", .verdict = SP_PASS};
	int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	dup2(full, STDOUT_FILENO);
	struct cli_live *live = cli_live_new();
	struct sp_run_listener listener = cli_live_listener(live);
	listener.case_ended(listener.arg, &pass);
	int rc = cli_live_done(live, false);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(full);
	cr_expect_lt(rc, 0, "%d", rc);
	cr_expect_eq(cli_live_done(NULL, true), 0);
}
