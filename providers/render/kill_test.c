/* SPDX-License-Identifier: MIT */
/*
 * Kill, signal and the wrapper's own reaping under a real bash. Every process of
 * a command holds the write end of one pipe: its end of file is the proof
 * that all of them are dead, and nobody has to wait for a length of time.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <base/child.h>
#include <base/files.h>

#include "internal.h"

static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/",
					  "LANG=C.UTF-8", NULL};

static char *folder;

static void set_up(void)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("kill-", &folder, &err), 0, "%s", err.message);
	/* Orphans become ours, so that none outlives the test unseen. */
	cr_assert_eq(sp_subreaper(), 0);
}

static void tear_down(void)
{
	sp_remove_tree(folder);
	free(folder);
}

TestSuite(kill, .init = set_up, .fini = tear_down, .timeout = 120);

/* A running wrapped command. */
struct running {
	struct render_command command;
	struct sp_child child;
	struct sp_buf text;
	const char *argv[4];
	struct sp_buf out;
};

static void start_with(const struct sp_render_steps *steps, struct running *r, const char *text)
{
	struct sp_error err = SP_ERROR_INIT;

	memset(r, 0, sizeof(*r));
	r->text.ceiling = SP_BUF_COMMAND;
	r->out.ceiling = SP_BUF_LINE;
	r->command.text = text;
	render_command_init(&r->command);
	cr_assert_eq(render_compose(steps, folder, &r->command, &r->text), 0);
	r->argv[0] = "bash";
	r->argv[1] = "-c";
	r->argv[2] = sp_buf_str(&r->text);
	r->child = (struct sp_child)SP_CHILD_INIT;
	r->child.argv = r->argv;
	r->child.env = environment;
	r->child.dir = folder;
	r->child.out = SP_CHILD_PIPE;
	cr_assert_eq(sp_child_start(&r->child, &err), 0, "%s", err.message);
}

static void start(struct running *r, const char *text)
{
	struct sp_render_steps steps = sp_render_steps();

	start_with(&steps, r, text);
}

/* Reads until `word` was seen; false at the end of file. */
static bool read_until(struct running *r, const char *word)
{
	char piece[256];
	ssize_t n;

	while (!strstr(sp_buf_str(&r->out), word)) {
		n = read(r->child.out, piece, sizeof(piece));
		if (n <= 0)
			return false;
		sp_buf_add(&r->out, piece, (size_t)n);
	}
	return true;
}

/* All writers are gone. */
static void read_to_end(struct running *r)
{
	read_until(r, "a word that nobody writes");
}

static int finish(struct running *r)
{
	int code;

	cr_assert_eq(sp_child_wait(&r->child, NULL, NULL), 0);
	code = r->child.code;
	sp_child_done(&r->child);
	sp_buf_done(&r->text);
	sp_buf_done(&r->out);
	return code;
}

static int run_text(const char *text)
{
	const char *const argv[] = {"bash", "-c", text, NULL};
	struct sp_run_result result;
	struct sp_error err = SP_ERROR_INIT;
	int code;

	cr_assert_eq(sp_run(argv, environment, NULL, 0, SP_BUF_LINE, NULL, &result, &err), 0, "%s",
		     err.message);
	cr_expect_eq(result.out_len, 0, "a kill says something: %s", result.out);
	cr_expect_eq(result.err_len, 0, "a kill says something: %s", result.err);
	code = result.code;
	sp_run_result_done(&result);
	return code;
}

static int kill_it(const struct running *r, int signal, uint32_t grace_ms)
{
	struct sp_render_steps steps = sp_render_steps();
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cr_assert_eq(render_compose_kill(&steps, folder, r->command.id, r->command.mark, signal,
					 grace_ms, &text),
		     0);
	return run_text(sp_buf_str(&text));
}

static int signal_it(const struct running *r, int signal)
{
	struct sp_render_steps steps = sp_render_steps();
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cr_assert_eq(
	    render_compose_signal(&steps, folder, r->command.id, r->command.mark, signal, &text),
	    0);
	return run_text(sp_buf_str(&text));
}

/* With a trap the loop is short: a signal that falls between fork and exec of a long sleep would be
 * lost with it. */
static const struct {
	const char *name;
	const char *text;
	int signal;
	int code;
	/* Written because of the signal, or NULL. */
	const char *word;
} shapes[] = {
    {"exec", "echo ready; exec sleep 1000", SIGTERM, 143, NULL},
    {"compound", "echo ready; sleep 1000; echo no", SIGTERM, 143, NULL},
    {"KILL", "trap 'echo trapped' TERM; echo ready; sleep 1000", SIGKILL, 137, NULL},
    {"INT", "trap 'echo int; exit 7' INT; echo ready; while :; do sleep 0.01; done", SIGINT, 7,
     "int"},
    {"HUP", "trap 'echo hup; exit 8' HUP; echo ready; while :; do sleep 0.01; done", SIGHUP, 8,
     "hup"},
    {"QUIT", "trap 'echo quit; exit 9' QUIT; echo ready; while :; do sleep 0.01; done", SIGQUIT, 9,
     "quit"},
    {"background", "sleep 1000 & echo ready; wait", SIGTERM, 143, NULL},
    {"grandchild", "bash -c 'sleep 1000 & echo ready; wait'; echo no", SIGTERM, 143, NULL},
    {"leader ends at once", "trap 'exit 3' TERM; sleep 1000 & echo ready; wait", SIGTERM, 3, NULL},
    {"child's trap",
     "bash -c 'trap \"echo child; exit\" TERM; echo ready; while :; do sleep 0.01; done' & wait",
     SIGTERM, 143, "child"},
    {"TERM trapped", "trap '' TERM; echo ready; while :; do sleep 0.01; done", SIGTERM, 137, NULL},
    {"stopped", "echo ready; kill -STOP $$", SIGTERM, -1, NULL},
    {"setsid", "setsid sleep 1000 & echo ready; wait", SIGTERM, 143, NULL},
    {"double fork", "(setsid sleep 1000 &); echo ready; sleep 1000", SIGTERM, 143, NULL},
    {"empty environment", "(setsid env -i /bin/sleep 1000 &); echo ready; sleep 1000", SIGTERM, 143,
     NULL},
    {"job control", "set -m; sleep 1000 & sleep 1000 & echo ready; wait", SIGTERM, 143, NULL},
    {"closed descriptors", "setsid sleep 1000 2>&- 3>&- 4>&- & echo ready; wait", SIGTERM, 143,
     NULL},
    {"breeder", "echo ready; f() { setsid bash -c 'sleep 0.002' & sleep 0.001; f; }; f", SIGTERM,
     -1, NULL},
};

Test(kill, ends_every_shape)
{
	for (size_t i = 0; i < SP_COUNT(shapes); i++) {
		struct running r;
		int code;

		start(&r, shapes[i].text);
		cr_expect(read_until(&r, "ready"), "%s: did not begin", shapes[i].name);
		code = kill_it(&r, shapes[i].signal, 100);
		cr_expect_eq(code, 0, "%s: kill gave %d", shapes[i].name, code);
		read_to_end(&r);
		cr_expect_null(strstr(sp_buf_str(&r.out), "trapped"), "%s", shapes[i].name);
		cr_expect_null(strstr(sp_buf_str(&r.out), "no\n"), "%s", shapes[i].name);
		if (shapes[i].word)
			cr_expect_not_null(strstr(sp_buf_str(&r.out), shapes[i].word), "%s: <%s>",
					   shapes[i].name, sp_buf_str(&r.out));
		code = finish(&r);
		if (shapes[i].code >= 0)
			cr_expect_eq(code, shapes[i].code, "%s: %d, not %d", shapes[i].name, code,
				     shapes[i].code);
	}
}

Test(kill, before_the_start_keeps_the_command_from_running)
{
	struct sp_render_steps steps = sp_render_steps();
	struct running r = {.command = {.text = "echo ran"}};
	const char *argv[] = {"bash", "-c", NULL, NULL};
	struct sp_run_result result;

	r.text.ceiling = SP_BUF_COMMAND;
	render_command_init(&r.command);
	cr_expect_eq(kill_it(&r, SIGTERM, 100), 0);
	cr_assert_eq(render_compose(&steps, folder, &r.command, &r.text), 0);
	argv[2] = sp_buf_str(&r.text);
	cr_assert_eq(sp_run(argv, environment, NULL, 0, 4096, NULL, &result, NULL), 0);
	cr_expect_eq(result.code, 143, "%d", result.code);
	cr_expect_str_empty(result.out);
	sp_run_result_done(&result);
	sp_buf_done(&r.text);
}

/* Without a record yet, it sees the kill by itself and ends as what never started. */
Test(kill, on_the_way_to_the_start_is_no_KILL)
{
	/* Held until the kill's marker is there, before or after its mark; busy for some time. */
	static const char held[] = "until [[ -e @D@/@ID@.killed ]];do :;done;";
	static const char busy[] = "for((i=0;i<20000;i++));do :;done;";
	static const int signals[] = {SIGTERM, SIGINT, SIGKILL};
	struct sp_render_steps steps = sp_render_steps();
	const char *healthy = steps.shell.mark;
	char mark[512];

	steps.shell.mark = mark;
	for (size_t i = 0; i < 2 * SP_COUNT(signals); i++) {
		int signal = signals[i / 2];
		struct running r;

		snprintf(mark, sizeof(mark), "%s%s%s", i % 2 ? healthy : held,
			 i % 2 ? held : healthy, busy);
		start_with(&steps, &r, "echo ran");
		cr_expect_eq(kill_it(&r, signal, 10000), 0);
		read_to_end(&r);
		cr_expect_str_empty(sp_buf_str(&r.out), "signal %d: %s", signal,
				    sp_buf_str(&r.out));
		cr_expect_eq(finish(&r), 143, "signal %d, %s the mark", signal,
			     i % 2 ? "after" : "before");
	}
}

Test(kill, spares_everybody_else)
{
	/* The command points every file with its own number at somebody else. */
	static const char liar[] = "read -r other <other; for f in *.pg; do read -r g <$f; "
				   "[[ $g = $$ ]] && echo $other >$f; done; echo ready; sleep 1000";
	char path[600], fifo[512];
	struct running victim, bystander;

	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	start(&bystander, "echo $$ >other; echo ready; read x <fifo; echo \"got $x\"");
	cr_assert(read_until(&bystander, "ready"));
	start(&victim, liar);
	cr_assert(read_until(&victim, "ready"));
	cr_expect_eq(kill_it(&victim, SIGTERM, 50), 0);
	read_to_end(&victim);
	cr_expect_eq(finish(&victim), 137);
	snprintf(path, sizeof(path), "echo word >%s", fifo);
	run_text(path);
	cr_expect(read_until(&bystander, "got word"), "the bystander is dead");
	read_to_end(&bystander);
	cr_expect_eq(finish(&bystander), 0);
}

Test(kill, of_an_ended_command_signals_nobody)
{
	struct running r;

	start(&r, "echo ready");
	read_to_end(&r);
	cr_expect_eq(kill_it(&r, SIGTERM, 50), 0);
	cr_expect_eq(signal_it(&r, SIGUSR1), 3);
	cr_expect_eq(finish(&r), 0);
}

Test(kill, a_record_without_its_newline_is_no_record)
{
	static const char *const records[] = {"",      "1",	"0\n",	      "-1\n",
					      "end\n", "12x\n", "999999999\n"};
	struct running r;
	char path[512];

	start(&r, "echo ready; sleep 1000");
	cr_assert(read_until(&r, "ready"));
	snprintf(path, sizeof(path), "%s/%s.pg", folder, r.command.id);
	for (size_t i = 0; i < SP_COUNT(records); i++) {
		cr_assert_eq(sp_write_file(path, records[i], strlen(records[i]), 0600, NULL), 0);
		/* An incomplete one may still be completed: looked for again and again, then given
		 * up. */
		if (strchr(records[i], '\n'))
			cr_expect_eq(signal_it(&r, SIGTERM), 3, "<%s>", records[i]);
	}
	/* The mark still leads there. */
	cr_expect_eq(kill_it(&r, SIGTERM, 50), 0);
	read_to_end(&r);
	finish(&r);
}

Test(kill, signal_tells_and_does_not_end)
{
	struct running r;
	char path[512];

	start(&r, "trap 'echo usr1' USR1; trap 'echo winch' WINCH; echo ready; "
		  "until [[ -e stop ]]; do sleep 0.01; done; exit 4");
	cr_assert(read_until(&r, "ready"));
	cr_expect_eq(signal_it(&r, SIGUSR1), 0);
	cr_expect(read_until(&r, "usr1"));
	cr_expect_eq(signal_it(&r, SIGWINCH), 0);
	cr_expect(read_until(&r, "winch"));
	cr_expect_eq(signal_it(&r, SIGSTOP), 0);
	cr_expect_eq(signal_it(&r, SIGCONT), 0);
	snprintf(path, sizeof(path), "%s/stop", folder);
	cr_assert_eq(sp_write_file(path, "", 0, 0600, NULL), 0);
	read_to_end(&r);
	cr_expect_eq(finish(&r), 4);
}

Test(kill, an_exit_takes_the_group_along)
{
	struct running r;
	char piece[16];

	/* What is left of the group is dead when the code is told: the pipe has ended by then. */
	start(&r, "sleep 1000 & (trap '' TERM HUP INT; sleep 1000) & echo ready; exit 6");
	cr_assert_eq(sp_child_wait(&r.child, NULL, NULL), 0);
	cr_assert_eq(sp_set_nonblock(r.child.out, true), 0);
	cr_expect_eq(read(r.child.out, piece, sizeof(piece)), 6);
	cr_expect_eq(read(r.child.out, piece, sizeof(piece)), 0, "somebody still holds the output");
	cr_expect_eq(r.child.code, 6);
	finish(&r);
}

Test(kill, an_exit_leaves_what_left_the_group)
{
	struct running r;

	start(&r, "setsid bash -c 'echo ready; touch up; sleep 1000; echo still' & until [[ -e up "
		  "]]; do sleep 0.01; done; exit 6");
	cr_assert(read_until(&r, "ready"));
	cr_assert_eq(sp_child_wait(&r.child, NULL, NULL), 0);
	cr_expect_eq(r.child.code, 6);
	/* And a kill that comes late reaches it. */
	cr_expect_eq(kill_it(&r, SIGTERM, 50), 0);
	read_to_end(&r);
	finish(&r);
}
