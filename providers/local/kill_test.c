/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

#include <signal.h>

/* Each holds descriptor 9 of a FIFO in everything it starts, says "ready" and never ends by itself.
 */
static const struct {
	const char *name;
	const char *command;
} shapes[] = {
    {"foreground", "exec 9>fifo; echo ready; sleep 1000"},
    {"background", "exec 9>fifo; sleep 1000 & echo ready; wait"},
    {"grandchild", "exec 9>fifo; (sleep 1000 & sleep 1000) & echo ready; wait"},
    {"trapped", "exec 9>fifo; trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 1000; done"},
    {"stopped", "exec 9>fifo; echo ready; kill -STOP $$"},
    {"session", "exec 9>fifo; setsid sleep 1000 & echo ready; wait"},
    {"job", "exec 9>fifo; set -m; sleep 1000 & sleep 1000 & echo ready; wait"},
    {"double fork",
     "exec 9>fifo; (setsid bash -c 'sleep 1000 & sleep 1000' &) ; echo ready; sleep 1000"},
    {"empty environment in the group", "exec 9>fifo; env -i sleep 1000 & echo ready; wait"},
    {"forks all the time", "exec 9>fifo; f() { while :; do (:) ; done; }; f & setsid bash -c "
			   "'while :; do (:); done' & echo ready; wait"},
};

static void kill_one(size_t i, int signal)
{
	struct fixture f;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit = {SP_EXITED, 0, 0};

	fixture_open(&f, false, 50);
	int witness = open_witness(&f, "fifo");
	struct sp_process process = spawn_command(&f, shapes[i].command);
	expect_line(&f, &process, "ready");
	int rc = sp_process_kill(&process, signal, f.cancel, &err);
	cr_expect_eq(rc, 0, "%s: kill %d: %s", shapes[i].name, signal, err.message);
	cr_expect(witness_ended(witness), "%s: something lives after kill %d returned",
		  shapes[i].name, signal);
	cr_expect_eq(sp_process_wait(&process, &exit, f.cancel, &err), 0, "%s", err.message);
	cr_expect(exit.how == SP_KILLED && exit.code > 128, "%s: how %d, code %d", shapes[i].name,
		  exit.how, exit.code);
	sp_process_done(&process);
	expect_output(&f, "echo usable", "usable\n");
	close(witness);
	fixture_close(&f);
}

Test(kill, shapes_by_term)
{
	for (size_t i = 0; i < SP_COUNT(shapes); i++)
		kill_one(i, SIGTERM);
}

Test(kill, shapes_by_kill)
{
	for (size_t i = 0; i < SP_COUNT(shapes); i++)
		kill_one(i, SIGKILL);
}

Test(kill, signals_as_asked)
{
	static const struct {
		int asked;
		const char *said;
		int code;
	} rows[] = {
	    {0, "TERM", 3},	{SIGTERM, "TERM", 3}, {SIGINT, "INT", 3},
	    {SIGHUP, "HUP", 3}, {SIGQUIT, "QUIT", 3}, {SIGKILL, "", 137},
	    {SIGUSR1, "", 137}, {SIGSTOP, "", 137},   {-4, "", 137},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct fixture f;
		struct sp_exit exit = {SP_EXITED, 0, 0};
		/* The grace is long: a trap that runs is never cut short. */
		fixture_open(&f, false, 30000);
		struct sp_process process =
		    spawn_command(&f, "for s in TERM INT HUP QUIT USR1; do trap \"echo $s; exit "
				      "3\" $s; done; echo ready; "
				      "while :; do read -t 1 <> <(:); done");
		expect_line(&f, &process, "ready");
		cr_expect_eq(sp_process_kill(&process, rows[i].asked, f.cancel, NULL), 0);
		expect_line(&f, &process, rows[i].said);
		cr_expect_eq(sp_process_wait(&process, &exit, f.cancel, NULL), 0);
		cr_expect(exit.how == SP_KILLED && exit.code == rows[i].code,
			  "asked %d: how %d, code %d", rows[i].asked, exit.how, exit.code);
		sp_process_done(&process);
		fixture_close(&f);
	}
}

Test(kill, a_child_has_the_grace_too)
{
	struct fixture f;

	fixture_open(&f, false, 30000);
	/* The leader dies of TERM at once; its child needs a moment to say so. */
	struct sp_process process =
	    spawn_command(&f, "bash -c 'trap \"sleep 0.05; echo cleaned; exit\" TERM; echo ready; "
			      "while :; do read -t 1 <> <(:); done' & wait");
	expect_line(&f, &process, "ready");
	cr_expect_eq(sp_process_kill(&process, SIGTERM, f.cancel, NULL), 0);
	expect_line(&f, &process, "cleaned");
	sp_process_done(&process);
	fixture_close(&f);
}

Test(kill, a_second_kill_does_not_wait_for_the_grace_of_the_first)
{
	struct fixture f;
	struct sp_exit exit = {SP_EXITED, 0, 0};
	struct sp_cancel *fired = sp_cancel_new();

	fixture_open(&f, false, 1000000);
	struct sp_process process =
	    spawn_command(&f, "trap '' TERM; echo ready; while :; do sleep 1000; done");
	expect_line(&f, &process, "ready");
	sp_cancel_set_deadline(fired, sp_deadline_ms(20));
	cr_expect_eq(sp_process_kill(&process, SIGTERM, fired, NULL), SP_TIMED_OUT);
	cr_expect_eq(sp_process_kill(&process, SIGKILL, f.cancel, NULL), 0);
	cr_expect_eq(sp_process_wait(&process, &exit, f.cancel, NULL), 0);
	cr_expect(exit.how == SP_KILLED && exit.code == 137, "how %d, code %d", exit.how,
		  exit.code);
	sp_process_done(&process);
	sp_cancel_unref(fired);
	fixture_close(&f);
}

Test(kill, siblings_are_left_alone)
{
	struct fixture f;
	char back[8];
	size_t n = 0;

	fixture_open(&f, false, 50);
	struct sp_process victim = spawn_command(&f, "setsid sleep 1000 & echo ready; wait");
	struct sp_process sibling = spawn_command(&f, "echo ready; read -r x; echo \"got $x\"");
	expect_line(&f, &victim, "ready");
	expect_line(&f, &sibling, "ready");
	cr_expect_eq(sp_process_kill(&victim, SIGKILL, f.cancel, NULL), 0);
	cr_expect_eq(sp_process_read(&victim, SP_STDOUT, back, sizeof(back), &n, f.cancel, NULL),
		     0);
	cr_expect_eq(n, 0, "the stream of a killed process ends");
	cr_expect_eq(sp_process_write_stdin(&sibling, "word\n", 5, f.cancel, NULL), 0);
	expect_line(&f, &sibling, "got word");
	sp_process_done(&victim);
	sp_process_done(&sibling);
	fixture_close(&f);
}
