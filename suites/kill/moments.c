/* SPDX-License-Identifier: MIT */
/* K2, K3, K10: the same kill at other moments. A gate gives each race one order. */
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

/* A start that stands at a gate. Cleaned up backwards: gate, call, the rest. */
struct held {
	struct sp_case *t;
	struct sp_sandbox *sandbox;
	/*
	 * Another instance's handle: what the case itself runs meanwhile
	 * does not queue behind the start.
	 */
	struct sp_sandbox other;
	struct sp_mark mark;
	struct sp_cancel *cancel;
	struct sp_spawned child;
	struct sp_call *start;
	struct sp_gate gate;
	/* spawn() has answered and there is a handle to kill. */
	bool has_handle;
};

#define HELD_INIT                                                                                  \
	{ .other = SP_SANDBOX_INIT, .mark = SP_MARK_INIT, .child = SP_SPAWNED_INIT,                \
	  .gate = SP_GATE_INIT }
#define HELD SP_CLEANUP(held_done)

static void held_done(struct held *h)
{
	sp_gate_done(&h->gate);
	sp_call_done(&h->start);
	sp_spawned_done(&h->child);
	sp_mark_done(&h->mark);
	sp_sandbox_done(&h->other);
	h->cancel = sp_cancel_unref(h->cancel);
}

/* Starts a command whose start stops at the gate. */
static bool held_start(struct sp_case *t, struct held *h, enum sp_control_step step,
		       enum sp_control_when when)
{
	const struct sp_env env = { "SANDPROOF_CALL", "of this command only" };
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	h->t = t;
	h->sandbox = sp_case_sandbox(t);
	if (!h->sandbox)
		return false;
	h->cancel = kill_cancel(t);
	h->other = kill_second_handle(t, h->sandbox);
	if (!h->cancel || !h->other.ops || !sp_mark_make(t, &h->other, "ran", &h->mark))
		return false;
	if (!sp_gate_shut(t, h->sandbox, step, when, &h->gate))
		return false;
	options.command = sp_case_format(t, "%s; exec sleep 1000", h->mark.shell);
	options.cancel = h->cancel;
	/*
	 * Only where its way is what is held: a file that the kill removes
	 * would stop the command as well.
	 */
	options.env = &env;
	options.n_env = step == SP_STEP_UPLOAD;
	h->start = sp_call_spawn(t, h->sandbox, &options);
	return h->start && sp_gate_await(&h->gate);
}

/* Takes the handle if spawn() has one to give while its start is held. */
static bool held_take(struct held *h)
{
	struct sp_call_result *result;

	if (!sp_rounds_done(h->t, &h->other, h->start))
		return false;
	result = sp_call_join(h->start);
	if (!SP_CHECK_OK(h->t, result->rc, &result->err, "spawn is accepted"))
		return false;
	sp_spawned_take(h->t, &h->child, &result->process);
	h->has_handle = true;
	return true;
}

/* What must hold once the gate is open: it never ran, also not later. */
static void held_check_never_ran(struct held *h)
{
	/*
	 * The step that was held has gone on; the rounds give it every chance to start the command.
	 */
	SP_REQUIRE(sp_rounds(h->t, &h->other));
	sp_mark_check(&h->mark, false, SP_HERE, "the effect of a command that never started");
}

/* Abort of a start that has no handle yet. */
static void held_abort(struct held *h)
{
	struct sp_call_result *result;

	sp_cancel_abort(h->cancel, "changed my mind");
	/* Healthy providers differ: some answer at once, some when the step goes on. */
	(void)sp_rounds_done(h->t, &h->other, h->start);
	SP_REQUIRE(sp_gate_open(&h->gate));
	result = sp_call_join(h->start);
	if (result->rc == 0)
		sp_spawned_take(h->t, &h->child, &result->process);
	else
		SP_CHECK_CODE(h->t, SP_ABORTED, result->rc, &result->err,
			      "a spawn that was aborted before it was accepted");
}

static void check_never_started_exit(struct held *h, enum sp_exit_how how)
{
	struct sp_exit exit;

	SP_REQUIRE(sp_spawned_wait(&h->child, &exit));
	SP_CHECK_INT(h->t, 143, exit.code, "code of a command that was ended before it started");
	SP_CHECK_STR(h->t, sp_exit_how_name(how), sp_exit_how_name(exit.how),
		     "why it ended");
}

/* Kill while the start is held at `step`; an abort where there is no handle yet. */
static void ended_while_held(struct sp_case *t, enum sp_control_step step)
{
	struct held h HELD = HELD_INIT;
	struct sp_call *kill SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(held_start(t, &h, step, SP_BEFORE));
	if (!held_take(&h)) {
		if (sp_case_failed(t))
			return;
		sp_case_note(t, "spawn gives no handle before its start; its cancel is aborted");
		held_abort(&h);
		if (!sp_case_failed(t) && h.child.process.ops)
			check_never_started_exit(&h, SP_EXIT_ABORTED);
		if (!sp_case_failed(t))
			held_check_never_ran(&h);
		return;
	}
	kill = sp_call_kill(t, &h.child.process, SIGTERM);
	(void)sp_rounds_done(t, &h.other, kill);
	SP_REQUIRE(sp_gate_open(&h.gate));
	result = sp_call_join(kill);
	SP_REQUIRE(result && SP_CHECK_OK(t, result->rc, &result->err, "kill before the start"));
	check_never_started_exit(&h, SP_KILLED);
	if (!sp_case_failed(t))
		held_check_never_ran(&h);
}

void kill_moment_before_mint(struct sp_case *t)
{
	ended_while_held(t, SP_STEP_MINT_RUN);
}

void kill_moment_before_run(struct sp_case *t)
{
	ended_while_held(t, SP_STEP_RUN);
}

void kill_moment_before_upload(struct sp_case *t)
{
	ended_while_held(t, SP_STEP_UPLOAD);
}

/*
 * The command runs already, but its start has not been answered: whoever
 * ends it now must reach a process that the provider has not heard of.
 */
void kill_moment_during_start(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_sandbox other KILL_HANDLE = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *start SP_CALL = NULL;
	struct sp_call *kill SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(kill_scene_open(t, &s));
	other = kill_second_handle(t, s.sandbox);
	SP_REQUIRE(other.ops != NULL);
	/* From here on the case looks through the other handle. */
	s.place.sandbox = &other;
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_RUN, SP_AFTER, &gate));
	options.command = sp_case_format(t, "%s & wait", s.probe.shell);
	options.cancel = s.cancel;
	start = sp_call_spawn(t, s.sandbox, &options);
	SP_REQUIRE(sp_gate_await(&gate) && sp_token_await(&s.probe));
	if (sp_rounds_done(t, &other, start)) {
		result = sp_call_join(start);
		SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "spawn is accepted"));
		sp_spawned_take(t, &s.child, &result->process);
		kill = sp_call_kill(t, &s.child.process, SIGTERM);
		(void)sp_rounds_done(t, &other, kill);
	} else if (!sp_case_failed(t)) {
		sp_cancel_abort(s.cancel, "changed my mind");
		(void)sp_rounds_done(t, &other, start);
	}
	SP_REQUIRE(sp_gate_open(&gate));
	if (kill) {
		result = sp_call_join(kill);
		SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "kill during the start"));
	} else {
		result = sp_call_join(start);
		if (result && result->rc == 0)
			sp_spawned_take(t, &s.child, &result->process);
	}
	if (s.child.process.ops) {
		struct sp_exit exit;

		SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
		SP_CHECK(t, exit.code != 0, "a command ended during its start has no code 0");
	} else {
		SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err,
			      "a spawn that was aborted during its start");
	}
	sp_token_check_dead(&s.probe, SP_HERE, "the command that was ended during its start");
	s.place.sandbox = s.sandbox;
}

void kill_moment_twice(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit first, second;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_token_check_dead(&s.probe, SP_HERE, "the command that was killed twice"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &first));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGKILL));
	SP_REQUIRE(sp_spawned_wait(&s.child, &second));
	SP_CHECK_INT(t, first.code, second.code, "the code after one more kill");
	SP_CHECK_STR(t, "killed", sp_exit_how_name(second.how), "the reason after one more kill");
}

void kill_moment_together(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_call *a SP_CALL = NULL;
	struct sp_call *b SP_CALL = NULL;
	struct sp_call *c SP_CALL = NULL;
	struct sp_call *calls[3];

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	calls[0] = a = sp_call_kill(t, &s.child.process, SIGTERM);
	calls[1] = b = sp_call_kill(t, &s.child.process, SIGINT);
	calls[2] = c = sp_call_kill(t, &s.child.process, SIGKILL);
	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		struct sp_call_result *result = sp_call_join(calls[i]);

		SP_REQUIRE(result != NULL);
		SP_CHECK_OK(t, result->rc, &result->err, "each of three kills at once answers 0");
	}
	sp_token_check_dead(&s.probe, SP_HERE, "the command that was killed by three at once");
}

/* A polite kill stands at the gate; the strong one may not wait for it. */
void kill_moment_stronger(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_sandbox other KILL_HANDLE = SP_SANDBOX_INIT;
	struct sp_call *polite SP_CALL = NULL;
	struct sp_call *strong SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	bool done;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "trap '' TERM; %1$s & until wait; do :; done; %2$s"));
	other = kill_second_handle(t, s.sandbox);
	SP_REQUIRE(other.ops != NULL);
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	polite = sp_call_kill(t, &s.child.process, SIGTERM);
	SP_REQUIRE(sp_gate_await(&gate));
	strong = sp_call_kill(t, &s.child.process, SIGKILL);
	done = sp_rounds_done(t, &other, strong);
	if (done) {
		result = sp_call_join(strong);
		SP_CHECK_OK(t, result->rc, &result->err, "kill(KILL) beside a pending kill(TERM)");
		s.place.sandbox = &other;
		sp_token_check_dead(&s.probe, SP_HERE, "what kill(KILL) ended");
		s.place.sandbox = s.sandbox;
	} else {
		SP_CHECK(t, false, "kill(KILL) does not wait for a kill(TERM) that is on its way");
	}
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(polite);
	SP_REQUIRE(result != NULL);
	SP_CHECK_OK(t, result->rc, &result->err, "the polite kill that came too late");
}

void kill_moment_after_exit(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_answerer answerer;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "neighbour", &neighbour, &answerer));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "exit 7"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 7, exit.code, "its own code");
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGKILL));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 7, exit.code, "its own code after a kill that came too late");
	SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how),
		     "the reason after a kill that came too late");
	sp_answerer_check(&answerer, SP_HERE, "the neighbour of a command that had exited");
}

void kill_moment_after_exit_silent(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(sp_spawn(t, s.sandbox, &s.child, "exit 7"));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_REQUIRE(sp_count_forget_requests(t));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGKILL));
	SP_CHECK_INT(t, 0, sp_count_requests(t, "POST", "/runs/"),
		     "commands sent to kill what had exited");
}

void kill_moment_stdin_closed(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	rc = sp_process_close_stdin(&s.child.process, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "close_stdin"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	sp_token_check_dead(&s.probe, SP_HERE, "the command whose stdin was closed");
}

/* K10: the kill's own run stands at the gate; until it is carried out the command can act. */
void kill_wait_gate(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_sandbox other KILL_HANDLE = SP_SANDBOX_INIT;
	struct sp_call *kill SP_CALL = NULL;
	struct sp_call *wait SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	other = kill_second_handle(t, s.sandbox);
	SP_REQUIRE(other.ops != NULL);
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	kill = sp_call_kill(t, &s.child.process, SIGTERM);
	SP_REQUIRE(sp_gate_await(&gate));
	wait = sp_call_wait(t, &s.child.process);
	if (!sp_rounds_pending(t, &other, wait) && !sp_case_failed(t))
		SP_CHECK(t, false, "wait() is pending while nothing of the kill was delivered");
	else
		SP_CHECK(t, sp_call_pending(kill),
			 "kill() is pending while nothing of it was delivered");
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(kill);
	SP_REQUIRE(result && SP_CHECK_OK(t, result->rc, &result->err, "kill after the gate"));
	result = sp_call_join(wait);
	SP_REQUIRE(result && SP_CHECK_OK(t, result->rc, &result->err, "wait after the gate"));
	SP_CHECK_STR(t, "killed", sp_exit_how_name(result->exit.how), "why it ended");
	sp_token_check_dead(&s.probe, SP_HERE, "the command after the gate");
}
