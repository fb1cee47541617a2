/* SPDX-License-Identifier: MIT */
/*
 * Faults of outcomes: what is told when a call was cancelled, cut off, or
 * the platform failed around it.
 */
#include "exec_faults.h"

static void nothing(void *arg)
{
	(void)arg;
}

/* A listener that stays. */
static int watcher_left_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			     struct sp_exec_result *ret_result, struct sp_error *err)
{
	uint64_t id;

	if (options->cancel)
		(void)sp_cancel_watch(options->cancel, nothing, NULL, &id);
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}

static const struct fault_hooks watcher_left = { .exec = watcher_left_exec };
FAULT_WRAP(wrap_watcher_left, watcher_left)

/* { exitCode: 0, timedOut: true }, and nobody looks at the second. */
static int deadline_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	if (rc != SP_TIMED_OUT)
		return rc;
	*ret_result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks deadline = { .exec = deadline_exec };
FAULT_WRAP(wrap_deadline, deadline)

/* A failed drain tells the first who waits; the others are parked. */
static int parked_wait(struct fault_process *process, struct sp_exit *ret_exit,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc < 0 && !sp_cancel_check(cancel, NULL) && atomic_fetch_add(&process->count, 1) > 0)
		return fault_hang(cancel, err);
	return rc;
}

static const struct fault_hooks parked = { .wait = parked_wait };
FAULT_WRAP(wrap_parked, parked)

/* An auxiliary request after the result, whose error becomes the answer. */
static int asks_again_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			   struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options again = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result more SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(&sandbox->inner, options, &result, err);

	again.command = ":";
	again.cancel = options->cancel;
	if (rc == 0)
		rc = sp_sandbox_exec(&sandbox->inner, &again, &more, err);
	if (rc < 0)
		return rc;
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks asks_again = { .exec = asks_again_exec };
FAULT_WRAP(wrap_asks_again, asks_again)

static void change_end(struct sp_render_steps *steps)
{
	steps->end_needs_exit = false;
}

static const struct sp_fault faults[] = {
	EXEC_FAULT("exec-watcher-left", watcher_left, "X11",
		   "A watcher stays on the caller's cancel after the command.",
		   FAULT_LIST("contract:1.4", "contract:C144"),
		   FAULT_LIST("exec.outcome.cancel-unused")),
	EXEC_FAULT("deadline-is-success", deadline, "X11",
		   "A command that ran past its deadline is a result with code 0.",
		   FAULT_LIST("field:X06"), FAULT_LIST("exec.outcome.deadline")),
	EXEC_FAULT("second-waiter-parked", parked, "X12",
		   "When a stream breaks, only the first who waits is told.",
		   FAULT_LIST("contract:C153"), FAULT_LIST("exec.outcome.all-waiters")),
	EXEC_FAULT("exec-asks-again-afterwards", asks_again, "X12",
		   "Another request follows the result, and its failure replaces it.",
		   FAULT_LIST("field:X34"), FAULT_LIST("exec.outcome.survives-later-failures")),
	{ .version = SP_FAULT_VERSION,
	  .id = "exec-end-is-success",
	  .summary = "A stream that ends without an exit code counts as code 0.",
	  .sources = FAULT_LIST("field:X03"),
	  .clause = "exec X12",
	  .cases = FAULT_LIST("exec.outcome.cut-stream"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = change_end },
};
FAULT_TABLE(fault_exec_outcome, faults);
