/* SPDX-License-Identifier: MIT */
/*
 * Outcomes: what a call answers when it was cancelled, cut off, or the platform failed around it.
 */
#include <string.h>

#include <base/clock.h>
#include <witness/count.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/mark.h>
#include <witness/rounds.h>

#include "cases.h"
#include "run.h"

static void unref(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

void exec_cancel_unused(struct sp_case *t)
{
	struct sp_cancel *cancel SP_CLEANUP(unref) = sp_cancel_new();
	struct sp_exec_options options = exec_options(t, "echo ran; exit 2");

	if (!cancel) {
		sp_case_error(t, SP_HERE, "no cancel could be made");
		return;
	}
	options.cancel = cancel;
	SP_REQUIRE(exec_gives(t, &options, &(struct expected){ .out = "ran\n", .code = 2 }, SP_HERE,
			      "a command with a cancel that nobody fires"));
	SP_CHECK_INT(t, 0, (long long)sp_cancel_watchers(cancel),
		     "watchers left on the cancel of a finished command");
	SP_CHECK_INT(t, 1, (long long)sp_cancel_refs(cancel),
		     "references left on the cancel of a finished command");
}

void exec_deadline_is_no_success(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_fifo here;
	struct sp_exec_options options;
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "late", &place) &&
		   sp_fifo_make(&place, "here", &here));
	options = exec_options(t, sp_case_format(t, "trap 'exit 0' TERM; echo here >%s; %s & wait",
						 here.path, place.hold));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_fifo_take(&here));
	/* A deadline in the past: it fires now, and nobody waits for it. */
	sp_cancel_set_deadline(sp_call_cancel(call), 1);
	result = sp_call_join(call);
	SP_CHECK_CODE(t, SP_TIMED_OUT, result->rc, &result->err,
		      "exec of a command that ran past its deadline");
}

void exec_deadline_none_sent(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_control_requests requests SP_CLEANUP(sp_control_requests_done) =
		SP_CONTROL_REQUESTS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool seen = false;

	SP_REQUIRE(control && sp_case_sandbox(t) && sp_count_forget_requests(t));
	SP_REQUIRE(command_gives(t, "echo ran", &(struct expected){ .out = "ran\n" }, SP_HERE,
				 "a command without a deadline"));
	if (control->ops->requests(control->self, true, &requests, &err)) {
		sp_case_error(t, SP_HERE, "the back end did not say what it received: %s",
			      err.message);
		return;
	}
	for (size_t i = 0; i < requests.len; i++) {
		struct sp_control_request *request = &requests.items[i];
		const char *body = request->body.data ? (const char *)request->body.data : "";

		seen = seen || strstr(body, "\"command\"");
		SP_CHECK(t,
			 !strcasestr(body, "timeout") && !strcasestr(request->target, "timeout") &&
				 !strcasestr(request->headers ? request->headers : "", "timeout"),
			 "no deadline is sent when none was given, but %s %s carries one",
			 request->method, request->target);
	}
	SP_CHECK(t, seen, "the start of the command is among the requests");
}

/* Makes the next stream that comes to its exit end without telling it. */
static bool break_next(struct sp_case *t, enum sp_control_how how)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	if (control->ops->fail(control->self, SP_STEP_EXIT, 1, how, 0, &err) == 0)
		return true;
	sp_case_error(t, SP_HERE, "the back end cannot break a stream: %s", err.message);
	return false;
}

void exec_outcome_cut_stream(struct sp_case *t)
{
	/* The connection breaks; and the stream ends in good order, one event short. */
	static const enum sp_control_how hows[] = { SP_FAIL_CUT, SP_FAIL_DROP };
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox && sp_case_control(t));
	for (size_t i = 0; i < SP_COUNT(hows); i++) {
		struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
		struct sp_exec_options options = exec_options(t, "echo begun; exit 0");
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		SP_REQUIRE(break_next(t, hows[i]));
		rc = sp_sandbox_exec(sandbox, &options, &result, &err);
		SP_REQUIRE(SP_CHECK_CODE(t, SP_UNKNOWN_OUTCOME, rc, &err, "exec whose stream %s",
					 hows[i] == SP_FAIL_CUT ? "broke off before the exit code"
								: "ended without an exit code"));
		SP_REQUIRE(command_gives(t, "echo fine", &(struct expected){ .out = "fine\n" },
					 SP_HERE, "the next command"));
	}
}

void exec_outcome_all_waiters(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_call *first SP_CALL = NULL;
	struct sp_call *second SP_CALL = NULL;
	struct sp_call *reading SP_CALL = NULL;
	struct sp_call *const *calls[] = { &first, &second, &reading };
	struct sp_gate gate SP_GATE = SP_GATE_INIT;

	SP_REQUIRE(sandbox && sp_case_control(t) && break_next(t, SP_FAIL_CUT));
	/*
	 * The gate makes the failure this command's: the round trips below
	 * come to their exits after it.
	 */
	SP_REQUIRE(sp_gate_shut(t, sandbox, SP_STEP_EXIT, SP_BEFORE, &gate));
	SP_REQUIRE(sp_spawn(t, sandbox, &child, "echo begun; exit 0") && sp_gate_await(&gate));
	first = sp_call_wait(t, &child.process);
	second = sp_call_wait(t, &child.process);
	reading = sp_call_read(t, &child.process, SP_STDOUT, 4096);
	SP_REQUIRE(first && second && reading && sp_gate_open(&gate));
	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		struct sp_call_result *result;

		SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, sandbox, *calls[i]),
				    "waiter %zu of a broken stream settles", i + 1));
		SP_REQUIRE(!sp_case_failed(t));
		result = sp_call_join(*calls[i]);
		SP_CHECK_CODE(t, SP_UNKNOWN_OUTCOME, result->rc, &result->err,
			      "waiter %zu of a broken stream", i + 1);
	}
}

void exec_outcome_survives_later_failures(struct sp_case *t)
{
	static const enum sp_control_step steps[] = { SP_STEP_MINT_RUN, SP_STEP_GET, SP_STEP_LIST,
						      SP_STEP_MINT_DOWNLOAD, SP_STEP_DOWNLOAD };
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_control *control = sp_case_control(t);
	struct sp_exec_options options = exec_options(t, "printf whole; exit 11");
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sandbox && control && sp_gate_shut(t, sandbox, SP_STEP_EXIT, SP_BEFORE, &gate));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_gate_await(&gate));
	/* From now on the platform answers nothing but the rest of this stream. */
	for (size_t i = 0; i < SP_COUNT(steps); i++)
		if (control->ops->fail(control->self, steps[i], 0, SP_FAIL_STATUS, 503, &err))
			sp_case_error(t, SP_HERE, "the back end cannot fail a step: %s",
				      err.message);
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	for (size_t i = 0; i < SP_COUNT(steps); i++)
		(void)control->ops->fail(control->self, steps[i], 0, -1, 0, NULL);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err,
			       "exec whose result had arrived before the platform failed"));
	SP_CHECK_INT(t, 11, result->exec.exit_code, "its code");
	SP_CHECK_BYTES(t, "whole", 5, result->exec.stdout_bytes.data, result->exec.stdout_bytes.len,
		       "its output");
}

void exec_wake_runs(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_control *control = sp_case_control(t);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sandbox && control && sp_mark_make(t, sandbox, "woken", &mark));
	if (control->ops->set_state(control->self, sp_sandbox_id(sandbox), "suspended", &err)) {
		sp_case_error(t, SP_HERE, "the back end cannot suspend: %s", err.message);
		return;
	}
	SP_REQUIRE(command_gives(t, sp_case_format(t, "%s; echo ran", mark.shell),
				 &(struct expected){ .out = "ran\n" }, SP_HERE,
				 "the first command after a suspension"));
	sp_mark_check(&mark, true, SP_HERE,
		      "the effect of a command that was accepted by a suspended sandbox");
}
