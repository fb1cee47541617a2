/* SPDX-License-Identifier: MIT */
/* Calls on threads, patience, gates and counts, against a back end that answers as scripted. */
#include <witness/testing.h>

#include <limits.h>
#include <sched.h>

#include <witness/count.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/rounds.h>

/* ---- call.h ---- */

/* A call that answers when its pipe does, or is aborted. */
static int until_told(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	int rc = stub_await(*(int *)arg, cancel, &result->err);

	return rc ? rc : 7;
}

Test(call, is_pending_until_it_answers)
{
	struct sp_case *t CASE = case_new();
	int fds[2];

	cr_assert(!pipe(fds));
	struct sp_call *call SP_CALL = sp_call_start(t, until_told, &fds[0]);

	cr_expect(sp_call_pending(call));
	sp_write_all(fds[1], "x", 1);
	cr_expect(sp_call_join(call)->rc == 7 && !sp_call_pending(call));
	cr_expect(sp_call_join(call)->rc == 7, "a second join");
	close(fds[0]);
	close(fds[1]);
}

/* Asleep is where it waits, and nowhere else. */
Test(call, is_asleep_while_it_waits)
{
	struct sp_case *t CASE = case_new();
	int fds[2];

	cr_assert(!pipe(fds));
	struct sp_call *call SP_CALL = sp_call_start(t, until_told, &fds[0]);

	while (!sp_call_asleep(call))
		sched_yield();
	cr_expect(sp_call_pending(call), "who sleeps has not answered");
	sp_write_all(fds[1], "x", 1);
	cr_expect(sp_call_join(call)->rc == 7);
	cr_expect(!sp_call_asleep(call), "who has answered does not sleep");
	cr_expect(!sp_call_asleep(NULL), "nobody does not sleep");
	close(fds[0]);
	close(fds[1]);
}

Test(call, is_aborted_by_hand_by_its_own_deadline_by_the_case_and_by_its_scope)
{
	struct sp_case *t CASE = case_new();
	int fds[2];

	cr_assert(!pipe(fds));
	struct sp_call *by_hand SP_CALL = sp_call_start(t, until_told, &fds[0]);
	struct sp_call *deadline SP_CALL = sp_call_start(t, until_told, &fds[0]);
	struct sp_call *by_case SP_CALL = sp_call_start(t, until_told, &fds[0]);

	/* Left pending: its scope aborts and joins it. */
	struct sp_call *left SP_CALL = sp_call_start(t, until_told, &fds[0]);

	cr_expect(sp_call_pending(left));
	sp_call_abort(by_hand, "because");
	cr_expect(sp_call_join(by_hand)->rc == SP_ABORTED);
	cr_expect(strstr(sp_call_join(by_hand)->err.message, "because"), "%s",
		  sp_call_join(by_hand)->err.message);
	sp_cancel_set_deadline(sp_call_cancel(deadline), sp_now());
	/*
	 * Who polls the descriptor sees the deadline when it is asked; an abort
	 * that comes later does not count.
	 */
	sp_call_abort(deadline, "too late");
	cr_expect(sp_call_join(deadline)->rc == SP_TIMED_OUT, "%d", sp_call_join(deadline)->rc);
	sp_cancel_abort(t->cancel, "the case is over");
	cr_expect(sp_call_join(by_case)->rc == SP_ABORTED);
	sp_call_done(&left);
	close(fds[0]);
	close(fds[1]);
}

Test(call, of_each_function_brings_its_results)
{
	struct sp_case *t CASE = case_new();
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_call_result *result;
	struct sp_fifo said;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_fifo_make(&place, "said", &said));
	options.command = "echo out; exit 6";
	struct sp_call *exec SP_CALL = sp_call_exec(t, &t->sandbox, &options);

	result = sp_call_join(exec);
	cr_expect(!result->rc && result->exec.exit_code == 6);
	cr_expect_str_eq((char *)result->exec.stdout_bytes.data, "out\n");
	options.command =
		sp_case_format(t, "echo 12345; echo said >%s; %s", said.path, place.hold);
	struct sp_call *spawn SP_CALL = sp_call_spawn(t, &t->sandbox, &options);

	result = sp_call_join(spawn);
	cr_assert(!result->rc, "%s", result->err.message);
	sp_spawned_take(t, &child, &result->process);
	struct sp_call *wait SP_CALL = sp_call_wait(t, &child.process);
	struct sp_call *read SP_CALL = sp_call_read(t, &child.process, SP_STDOUT, 3);

	cr_expect_str_eq(sp_fifo_take(&said), "said");
	/* The command stands still: neither can have answered. */
	cr_expect(sp_call_pending(wait) && sp_call_pending(read));
	struct sp_call *kill SP_CALL = sp_call_kill(t, &child.process, SIGKILL);

	cr_expect(!sp_call_join(kill)->rc);
	cr_expect(!sp_call_join(wait)->rc && sp_call_join(wait)->exit.code == 128 + SIGKILL);
	result = sp_call_join(read);
	cr_expect(!result->rc && result->bytes.len == 3 && !memcmp(result->bytes.data, "123", 3));
	child.over = true;
	sp_place_close(&place);
	struct sp_call *destroy SP_CALL = sp_call_destroy(t, &t->sandbox);

	cr_expect(!sp_call_join(destroy)->rc && t->gone);
	struct sp_call *late_exec SP_CALL = sp_call_exec(t, &t->sandbox, &options);
	struct sp_call *late_spawn SP_CALL = sp_call_spawn(t, &t->sandbox, &options);

	cr_expect(sp_call_join(late_exec)->rc == SP_GONE);
	cr_expect(sp_call_join(late_spawn)->rc == SP_GONE);
	cr_expect_str_eq(recorded(t), "");
}

/* A sandbox that could not be made was recorded then; its calls are no calls. */
Test(call, of_nothing_is_nothing)
{
	struct sp_case *t CASE = case_new();
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = "true";
	cr_expect(!sp_call_exec(t, NULL, &options) && !sp_call_spawn(t, NULL, &options));
	cr_expect(!sp_call_destroy(t, NULL) && !sp_call_join(NULL) && !sp_call_pending(NULL));
	cr_expect(!sp_call_cancel(NULL));
	sp_call_abort(NULL, "nobody");
}

/* ---- rounds.h ---- */

Test(rounds, are_round_trips_and_nothing_else)
{
	struct sp_case *t CASE = case_new();

	t->rounds = 7;
	SAYS_YES(t, sp_rounds(t, &t->sandbox));
	cr_expect(t->execs == 7, "7 commands expected, got %u", t->execs);
	/* This machine's own sandboxes count nothing, with or without control. */
	t->control.ops = NULL;
	SAYS_YES(t, sp_rounds(t, &t->sandbox));
	cr_expect(t->execs == 7 + 7, "7 more commands expected, got %u", t->execs - 7);
	/* A service does. */
	t->declared.suspension = true;
	SAYS_YES(t, sp_rounds(t, &t->sandbox));
	cr_expect(t->execs == 14 + 2, "2 more commands expected, got %u", t->execs - 14);
	t->gone = true;
	SAYS_NO(t, sp_rounds(t, &t->sandbox), "answers");
}

Test(rounds, tell_a_pending_call_from_one_that_answered)
{
	struct sp_case *t CASE = case_new();
	int fds[2];

	cr_assert(!pipe(fds));
	struct sp_call *call SP_CALL = sp_call_start(t, until_told, &fds[0]);

	SAYS_YES(t, sp_rounds_pending(t, &t->sandbox, call));
	SAYS_YES(t, !sp_rounds_done(t, &t->sandbox, call));
	t->gone = true;
	SAYS_NO(t, sp_rounds_pending(t, &t->sandbox, call), "answers");
	SAYS_NO(t, sp_rounds_done(t, &t->sandbox, call), "answers");
	t->gone = false;
	sp_write_all(fds[1], "x", 1);
	sp_call_join(call);
	SAYS_YES(t, !sp_rounds_pending(t, &t->sandbox, call));
	SAYS_YES(t, sp_rounds_done(t, &t->sandbox, call));
	close(fds[0]);
	close(fds[1]);
}

/* ---- gate.h ---- */

Test(gate, is_shut_reached_and_opened)
{
	struct sp_case *t CASE = case_new();
	struct sp_gate gate SP_GATE = SP_GATE_INIT;

	SAYS_YES(t, sp_gate_shut(t, &t->sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	cr_expect(gate.shut && t->back.holds_set == 1);
	SAYS_YES(t, sp_gate_await(&gate));
	SAYS_YES(t, sp_gate_open(&gate));
	cr_expect(!gate.shut && t->back.holds_released == 1);
}

Test(gate, that_nobody_reaches_fails_the_case)
{
	struct sp_case *t CASE = case_new();

	t->back.never_held = true;
	{
		struct sp_gate gate SP_GATE = SP_GATE_INIT;

		SAYS_YES(t, sp_gate_shut(t, &t->sandbox, SP_STEP_EXIT, SP_AFTER, &gate));
		SAYS_NO(t, sp_gate_await(&gate), "comes to the step");
	}
	cr_expect(t->back.holds_released == 1, "its scope left the gate shut");
}

Test(gate, that_control_refuses_is_an_error_of_ours)
{
	struct sp_case *t CASE = case_new();
	struct sp_gate gate SP_GATE = SP_GATE_INIT;

	t->back.refuses = SP_UNAVAILABLE;
	SAYS_NO(t, sp_gate_shut(t, &t->sandbox, SP_STEP_RUN, SP_BEFORE, &gate), "error: control");
	cr_expect(!gate.shut && !t->back.holds_set);
	t->back.refuses = 0;
	SAYS_YES(t, sp_gate_shut(t, &t->sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	t->back.refuses = SP_UNAVAILABLE;
	SAYS_NO(t, sp_gate_open(&gate), "error: control");
	cr_expect(!sp_gate_shut(t, NULL, SP_STEP_RUN, SP_BEFORE, &gate));
	t->control.ops = NULL;
	cr_expect(!sp_gate_shut(t, &t->sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
}

/* ---- count.h ---- */

Test(count, what_lives_in_one_sandbox)
{
	static char id[] = "sbx-1", state[] = "running";
	static const struct sp_census_sandbox sandbox = {id, state, 3, 2, 5};
	struct sp_case *t CASE = case_new();
	struct sp_count count;

	t->back.sandbox = &sandbox;
	SAYS_YES(t, sp_count_sandbox(t, "sbx-1", &count));
	cr_expect(count.found && count.processes == 3 && count.commands == 2 && count.files == 5);
	SAYS_YES(t, sp_count_sandbox(t, "sbx-10", &count));
	cr_expect(!count.found && !count.processes && !count.commands && !count.files);
	t->back.refuses = SP_UNAVAILABLE;
	SAYS_NO(t, sp_count_sandbox(t, "sbx-1", &count), "error: control cannot count");
}

Test(count, which_requests_came)
{
	static const char *const requests[][2] = {
		{"POST", "/v1/sandboxes"},
		{"POST", "/v1/sandboxes/sbx-1/runs/stream/token"},
		{"GET", "/v1/sandboxes/sbx-1"},
		{"POST", "/v1/sandboxes/sbx-1/files/upload/token?path=runs"},
	};
	static const struct {
		const char *method;
		const char *part;
		long n;
	} rows[] = {
		{"POST", "runs", 2}, {"POST", "/runs/stream", 1}, {"GET", "runs", 0},
		{"GET", "sbx-1", 1}, {"DELETE", "", 0},		  {"POST", "", 3},
	};
	struct sp_case *t CASE = case_new();

	t->back.requests = requests;
	t->back.n_requests = SP_COUNT(requests);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		long n = sp_count_requests(t, rows[i].method, rows[i].part);

		cr_expect(n == rows[i].n, "%s %s: %ld expected, got %ld", rows[i].method,
			  rows[i].part, rows[i].n, n);
	}
	cr_expect(sp_count_all_requests(t) == 4);
	SAYS_YES(t, sp_count_forget_requests(t));
	cr_expect(sp_count_all_requests(t) == 0 && sp_count_requests(t, "POST", "") == 0);
	t->back.refuses = SP_UNAVAILABLE;
	SAYS_NO(t, sp_count_all_requests(t) >= 0, "error: control cannot tell");
	SAYS_NO(t, sp_count_requests(t, "GET", "") >= 0, "error: control cannot tell");
	SAYS_NO(t, sp_count_forget_requests(t), "error: control cannot tell");
}

/* Looks, each a round trip, until the process is in that state. */
static void await_process(struct sp_case *t, long pid, char state)
{
	char seen = 0;

	while (!sp_cancel_check(t->cancel, NULL) && seen != state)
		seen = sp_count_state(t, &t->sandbox, pid);
	cr_expect(seen == state, "%c expected, got %c", state, seen);
}

/* A parent that stands still cannot take its dead child's exit code. */
Test(count, state_of_a_process)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned parent SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	long parent_pid = 0, child_pid = 0;

	SAYS_YES(t, sp_place_open(t, &t->sandbox, "p", &place));
	SAYS_YES(t, sp_spawn(t, &t->sandbox, &parent,
			     "( exec >&- 2>&-; %s ) & echo $$ $!; exec >&- 2>&-; wait",
			     place.hold));
	SAYS_YES(t, sp_spawned_read(&parent, SP_STDOUT, 100, &out));
	sscanf((char *)out.data, "%ld %ld", &parent_pid, &child_pid);
	SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "kill -STOP %ld", parent_pid));
	await_process(t, parent_pid, 'T');
	SAYS_YES(t, sp_sh_ok(t, &t->sandbox, "echo go >%s/hold", place.dir));
	await_process(t, child_pid, 'Z');
	SAYS_YES(t, sp_spawned_kill(&parent, SIGKILL));
	cr_expect(sp_count_state(t, &t->sandbox, LONG_MAX) == '-');
	t->gone = true;
	SAYS_NO(t, sp_count_state(t, &t->sandbox, parent_pid), "answers");
	t->gone = false;
}
