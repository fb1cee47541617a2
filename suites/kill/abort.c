/* SPDX-License-Identifier: MIT */
/* K8, K9: an abort and a deadline end the command in the sandbox, as kill(TERM) does. */
#include <base/clock.h>
#include <suites/kill/cases.h>
#include <suites/kill/scene.h>

static const char *const reason = "the user changed their mind";

/* How a call's cancel is made to fire. */
static void fire(struct sp_cancel *cancel, bool deadline)
{
	if (deadline)
		sp_cancel_set_deadline(cancel, sp_now());
	else
		sp_cancel_abort(cancel, reason);
}

/* An exec that is running when its cancel fires. */
static void running_exec(struct sp_case *t, const char *shape, bool deadline)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *exec SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(kill_scene_open(t, &s));
	options.command = sp_case_format(t, shape, s.probe.shell, s.place.hold);
	exec = sp_call_exec(t, s.sandbox, &options);
	SP_REQUIRE(exec && sp_token_await(&s.probe));
	fire(sp_call_cancel(exec), deadline);
	result = sp_call_join(exec);
	SP_REQUIRE(SP_CHECK_CODE(t, deadline ? SP_TIMED_OUT : SP_ABORTED, result->rc, &result->err,
				 "an exec whose cancel fired while it ran"));
	if (!deadline)
		SP_CHECK_STR(t, reason, result->err.message, "the message is the abort's reason");
	SP_REQUIRE(sp_token_check_dead(&s.probe, SP_HERE, "the command of that exec"));
	kill_check_usable(&s);
}

void kill_abort_exec(struct sp_case *t)
{
	running_exec(t, "%1$s & wait", false);
}

void kill_abort_exec_trapped(struct sp_case *t)
{
	running_exec(t, "trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s", false);
}

void kill_deadline_exec(struct sp_case *t)
{
	running_exec(t, "( ( %1$s & wait ) & wait ) & wait", true);
}

void kill_deadline_exec_trapped(struct sp_case *t)
{
	running_exec(t, "trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s", true);
}

static void running_spawn(struct sp_case *t, const char *shape, bool deadline)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, shape));
	fire(s.cancel, deadline);
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_STR(t, deadline ? "timed out" : "aborted", sp_exit_how_name(exit.how),
		     "why it ended");
	SP_CHECK(t, exit.code != 0, "a command that was not allowed to finish has no code 0");
	SP_REQUIRE(sp_token_check_dead(&s.probe, SP_HERE, "the spawned command"));
	kill_check_usable(&s);
}

void kill_abort_spawn(struct sp_case *t)
{
	running_spawn(t, "%1$s & wait", false);
}

void kill_abort_spawn_trapped(struct sp_case *t)
{
	running_spawn(t, "trap '' TERM INT HUP QUIT; %1$s & until wait; do :; done; %2$s", false);
}

void kill_deadline_spawn(struct sp_case *t)
{
	running_spawn(t, "( %1$s & ); %2$s", true);
}

/* Both calls with a cancel that has fired: refused, and nothing ran. */
static void fired_before(struct sp_case *t, bool deadline)
{
	struct sp_cancel *cancel KILL_CANCEL = kill_cancel(t);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int expected = deadline ? SP_TIMED_OUT : SP_ABORTED, rc;

	SP_REQUIRE(cancel && sandbox && sp_mark_make(t, sandbox, "ran", &mark));
	fire(cancel, deadline);
	options.command = mark.shell;
	options.cancel = cancel;
	rc = sp_sandbox_exec(sandbox, &options, &result, &err);
	SP_CHECK_CODE(t, expected, rc, &err, "an exec whose cancel has fired before");
	if (!deadline)
		SP_CHECK_STR(t, reason, err.message, "the message is the abort's reason");
	child.t = t;
	err = (struct sp_error)SP_ERROR_INIT;
	rc = sp_sandbox_spawn(sandbox, &options, &child.process, &err);
	SP_CHECK_CODE(t, expected, rc, &err, "a spawn whose cancel has fired before");
	SP_REQUIRE(sp_rounds(t, sandbox));
	sp_mark_check(&mark, false, SP_HERE, "the effect of commands that may not start");
}

void kill_abort_before(struct sp_case *t)
{
	fired_before(t, false);
}

void kill_deadline_before(struct sp_case *t)
{
	fired_before(t, true);
}

void kill_abort_no_request(struct sp_case *t)
{
	struct sp_cancel *cancel KILL_CANCEL = kill_cancel(t);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;

	/* One round first: what a provider does only once is not laid to the calls below. */
	SP_REQUIRE(cancel && sandbox && sp_sh_ok(t, sandbox, ":"));
	SP_REQUIRE(sp_count_forget_requests(t));
	sp_cancel_abort(cancel, reason);
	options.command = ":";
	options.cancel = cancel;
	SP_CHECK_CODE(t, SP_ABORTED, sp_sandbox_exec(sandbox, &options, &result, NULL), NULL,
		      "an exec whose cancel has fired before");
	child.t = t;
	SP_CHECK_CODE(t, SP_ABORTED, sp_sandbox_spawn(sandbox, &options, &child.process, NULL),
		      NULL, "a spawn whose cancel has fired before");
	SP_CHECK_INT(t, 0, sp_count_all_requests(t), "requests for commands that may not start");
}

void kill_abort_watchers(struct sp_case *t)
{
	struct sp_cancel *cancel KILL_CANCEL = kill_cancel(t);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;
	size_t refs;

	SP_REQUIRE(cancel && sandbox);
	refs = sp_cancel_refs(cancel);
	options.command = ":";
	options.cancel = cancel;
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_exec(sandbox, &options, &result, &err), &err,
			       "an exec with a cancel that never fires"));
	SP_CHECK_INT(t, 0, (long long)sp_cancel_watchers(cancel), "watchers left by exec");
	SP_REQUIRE(sp_spawn_with(t, sandbox, &child, &options));
	SP_REQUIRE(sp_spawned_wait(&child, &exit));
	SP_CHECK_INT(t, 0, (long long)sp_cancel_watchers(cancel), "watchers left by a process");
	sp_process_done(&child.process);
	for (unsigned i = 0; i < sp_case_rounds(t) && sp_cancel_refs(cancel) != refs; i++)
		SP_REQUIRE(sp_sh_ok(t, sandbox, ":"));
	SP_CHECK_INT(t, (long long)refs, (long long)sp_cancel_refs(cancel),
		     "references to the cancel after everything ended");
}

/* An abort that comes after the exit changes nothing and hurts nobody. */
void kill_abort_after_exit(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_spawned neighbour SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_answerer answerer;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_bystander(&s, "neighbour", &neighbour, &answerer));
	options.command = "exit 3";
	options.cancel = s.cancel;
	SP_REQUIRE(sp_spawn_with(t, s.sandbox, &s.child, &options));
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	sp_cancel_abort(s.cancel, reason);
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_INT(t, 3, exit.code, "its own code after an abort that came too late");
	SP_CHECK_STR(t, "exited", sp_exit_how_name(exit.how),
		     "the reason after an abort that came too late");
	SP_REQUIRE(sp_answerer_check(&answerer, SP_HERE,
				     "the neighbour of a command that had exited"));
	/* By itself: nobody may be able to kill it. */
	SP_REQUIRE(sp_answerer_end(&answerer) && sp_spawned_wait(&neighbour, &exit));
	SP_CHECK_INT(t, SP_ANSWERER_CODE, exit.code, "the neighbour's own code");
}

/* K7: the first cause stays the only one. */
static void first_cause(struct sp_case *t, bool deadline_first)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	fire(s.cancel, deadline_first);
	/* A deadline fires when it is noticed; looking makes it the first cause for sure. */
	(void)sp_cancel_check(s.cancel, NULL);
	fire(s.cancel, !deadline_first);
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_STR(t, deadline_first ? "timed out" : "aborted", sp_exit_how_name(exit.how),
		     "the first cause is the reason");
	SP_CHECK(t, exit.code != 0, "its code is not 0");
}

void kill_how_abort_first(struct sp_case *t)
{
	first_cause(t, false);
}

void kill_how_deadline_first(struct sp_case *t)
{
	first_cause(t, true);
}

void kill_how_kill_first(struct sp_case *t)
{
	struct kill_scene s KILL_SCENE = KILL_SCENE_INIT;
	struct sp_exit exit;

	SP_REQUIRE(kill_scene_open(t, &s));
	SP_REQUIRE(kill_scene_start(&s, "%1$s & wait"));
	SP_REQUIRE(sp_spawned_kill(&s.child, SIGTERM));
	fire(s.cancel, false);
	fire(s.cancel, true);
	SP_REQUIRE(sp_spawned_wait(&s.child, &exit));
	SP_CHECK_STR(t, "killed", sp_exit_how_name(exit.how), "the first cause is the reason");
}
