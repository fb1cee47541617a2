/* SPDX-License-Identifier: MIT */
/* Faults of aborts and deadlines on any provider. */
#include <signal.h>
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

/* What becomes of the command when the cancel of its exec fires. */
enum on_fire {
	LEAVE,
	TELL_TERM,
	END_ON_ABORT_ONLY,
};

static int read_all(struct sp_process *process, enum sp_stream stream, struct sp_bytes *ret_bytes,
		    struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	char piece[16384];
	size_t len;
	int rc;

	do {
		rc = sp_process_read(process, stream, piece, sizeof(piece), &len, NULL, err);
		if (rc == 0)
			sp_buf_add(&buf, piece, len);
	} while (rc == 0 && len);
	return rc < 0 ? rc : sp_buf_take_bytes(&buf, ret_bytes);
}

/*
 * An exec made of a spawn, so that its cancel can be kept from the command.
 * Output beyond the bound of unread output would stand still: no case of this fault has that much.
 */
static int exec_by_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 enum on_fire on_fire, struct sp_exec_result *ret_result,
			 struct sp_error *err)
{
	struct sp_process process SP_CLEANUP(sp_process_done) = SP_PROCESS_INIT;
	struct sp_exec_options plain = *options;
	struct sp_exit exit;
	int rc = sp_cancel_check(options->cancel, err);

	plain.cancel = NULL;
	if (rc == 0)
		rc = sp_sandbox_spawn(&sandbox->inner, &plain, &process, err);
	if (rc < 0)
		return rc;
	rc = sp_process_wait(&process, &exit, options->cancel, err);
	if (rc < 0) {
		if (on_fire == TELL_TERM)
			(void)sp_process_signal(&process, SIGTERM, NULL, NULL);
		else if (on_fire == END_ON_ABORT_ONLY && rc == SP_ABORTED)
			(void)sp_process_kill(&process, SIGTERM, NULL, NULL);
		return rc;
	}
	*ret_result = (struct sp_exec_result){ .exit_code = exit.code };
	rc = read_all(&process, SP_STDOUT, &ret_result->stdout_bytes, err);
	return rc < 0 ? rc : read_all(&process, SP_STDERR, &ret_result->stderr_bytes, err);
}

static int view_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	return exec_by_spawn(sandbox, options, LEAVE, ret_result, err);
}

static const struct fault_hooks view = { .exec = view_exec };
FAULT_WRAP(wrap_view, view)

static int polite_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	return exec_by_spawn(sandbox, options, TELL_TERM, ret_result, err);
}

static const struct fault_hooks polite = { .exec = polite_exec };
FAULT_WRAP(wrap_polite, polite)

static int deadline_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	return exec_by_spawn(sandbox, options, END_ON_ABORT_ONLY, ret_result, err);
}

static const struct fault_hooks deadline = { .exec = deadline_exec };
FAULT_WRAP(wrap_deadline, deadline)

static int zero_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	if (rc != SP_ABORTED)
		return rc;
	*ret_result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks zero = { .exec = zero_exec };
FAULT_WRAP(wrap_zero, zero)

/* ---- Spawned ---- */

/* The command never learns of its cancel; the handle alone does. */
static int kept_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		      struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options plain = *options;
	int rc = sp_cancel_check(options->cancel, err);

	if (rc < 0)
		return rc;
	plain.cancel = NULL;
	if (options->cancel)
		process->cancel = sp_cancel_ref(options->cancel);
	return sp_sandbox_spawn(&sandbox->inner, &plain, &process->inner, err);
}

static int wait_for_handle(struct fault_process *process, int on_fire, struct sp_exit *ret_exit,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	int rc, fired;

	/* Waiting on the command's own cancel; the wait's is looked at before. */
	rc = sp_cancel_check(cancel, err);
	if (rc < 0)
		return rc;
	rc = fault_inner_wait(process, ret_exit, process->cancel ? process->cancel : cancel, err);
	fired = process->cancel ? sp_cancel_check(process->cancel, NULL) : 0;
	if (rc == 0 || !fired)
		return rc;
	if (on_fire)
		(void)sp_process_signal(&process->inner, on_fire, NULL, NULL);
	*ret_exit = (struct sp_exit){
		fired == SP_ABORTED ? SP_EXIT_ABORTED : SP_EXIT_TIMED_OUT, 143, 0
	};
	return 0;
}

static int spawn_view_wait(struct fault_process *process, struct sp_exit *ret_exit,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	return wait_for_handle(process, 0, ret_exit, cancel, err);
}

static const struct fault_hooks spawn_view = { .spawn = kept_spawn, .wait = spawn_view_wait };
FAULT_WRAP(wrap_spawn_view, spawn_view)

static int spawn_polite_wait(struct fault_process *process, struct sp_exit *ret_exit,
			     struct sp_cancel *cancel, struct sp_error *err)
{
	return wait_for_handle(process, SIGTERM, ret_exit, cancel, err);
}

static const struct fault_hooks spawn_polite = { .spawn = kept_spawn, .wait = spawn_polite_wait };
FAULT_WRAP(wrap_spawn_polite, spawn_polite)

/* ---- Before ---- */

static int late_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options plain = *options;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int fired = sp_cancel_check(options->cancel, err);

	if (!fired)
		return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	plain.cancel = NULL;
	(void)sp_sandbox_exec(&sandbox->inner, &plain, &result, NULL);
	return fired;
}

static int late_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		      struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options plain = *options;
	struct sp_process started SP_CLEANUP(sp_process_done) = SP_PROCESS_INIT;
	int fired = sp_cancel_check(options->cancel, err);

	if (!fired)
		return sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
	plain.cancel = NULL;
	(void)sp_sandbox_spawn(&sandbox->inner, &plain, &started, NULL);
	return fired;
}

static const struct fault_hooks late = { .exec = late_exec, .spawn = late_spawn };
FAULT_WRAP(wrap_late, late)

/* The start has no ear for its cancel; what it started is nobody's. */
static int blind_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options plain = *options;
	int rc = sp_cancel_check(options->cancel, err);

	plain.cancel = NULL;
	if (rc == 0)
		rc = sp_sandbox_spawn(&sandbox->inner, &plain, &process->inner, err);
	if (rc == 0)
		rc = sp_cancel_check(options->cancel, err);
	if (rc < 0)
		sp_process_done(&process->inner);
	return rc;
}

static const struct fault_hooks blind = { .spawn = blind_spawn };
FAULT_WRAP(wrap_blind, blind)

/* ---- Watchers ---- */

static void nothing(void *arg)
{
	(void)arg;
}

static int watched_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	uint64_t id;

	if (options->cancel)
		(void)sp_cancel_watch(options->cancel, nothing, NULL, &id);
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}

static const struct fault_hooks watched = { .exec = watched_exec };
FAULT_WRAP(wrap_watched, watched)

/* ---- After the exit ---- */

static int remember_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			  struct fault_process *process, struct sp_error *err)
{
	if (options->cancel)
		process->cancel = sp_cancel_ref(options->cancel);
	return sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
}

static int neighbours_wait(struct fault_process *process, struct sp_exit *ret_exit,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	if (atomic_load(&process->exited) && process->cancel &&
	    sp_cancel_check(process->cancel, NULL))
		fault_kill_all(process->sandbox, process, cancel);
	return fault_inner_wait(process, ret_exit, cancel, err);
}

static const struct fault_hooks neighbours = { .spawn = remember_spawn, .wait = neighbours_wait };
FAULT_WRAP(wrap_neighbours, neighbours)

static enum sp_exit_how mixed(enum sp_exit_how how, bool fired)
{
	switch (how) {
	case SP_EXIT_ABORTED:
		return SP_EXIT_TIMED_OUT;
	case SP_EXIT_TIMED_OUT:
		return SP_EXIT_ABORTED;
	case SP_EXITED:
	case SP_SIGNALLED:
	case SP_KILLED:
		return fired ? SP_EXIT_ABORTED : how;
	}
	return how;
}

static int mixed_wait(struct fault_process *process, struct sp_exit *ret_exit,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0)
		ret_exit->how = mixed(ret_exit->how,
				      process->cancel && sp_cancel_check(process->cancel, NULL));
	return rc;
}

static const struct fault_hooks mixed_up = { .spawn = remember_spawn, .wait = mixed_wait };
FAULT_WRAP(wrap_mixed_up, mixed_up)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-view-only",
		.summary = "An exec whose cancel fires comes back and leaves its command running.",
		.sources = FAULT_LIST("field:K03", "contract:C24"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.exec", "kill.abort.exec-stubborn"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_view,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-no-escalation",
		.summary = "An exec whose cancel fires sends TERM and never KILL.",
		.sources = FAULT_LIST("field:K06"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.exec-stubborn", "kill.deadline.exec-stubborn"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_polite,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "deadline-view-only",
		.summary = "The deadline of an exec does not end its command; an abort does.",
		.sources = FAULT_LIST("field:K19"),
		.clause = "kill K9",
		.cases = FAULT_LIST("kill.deadline.exec", "kill.deadline.exec-stubborn"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_deadline,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-code-zero",
		.summary = "An aborted exec is a success with code 0.",
		.sources = FAULT_LIST("contract:C33"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.exec"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_zero,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-spawn-view-only",
		.summary = "The cancel of a spawned command settles the handle only.",
		.sources = FAULT_LIST("field:K03", "field:K19"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.spawn",
				    "kill.abort.spawn-stubborn",
				    "kill.deadline.spawn"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_spawn_view,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-spawn-polite",
		.summary = "The cancel of a spawned command sends TERM and never KILL.",
		.sources = FAULT_LIST("field:K06"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.spawn-stubborn"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_spawn_polite,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "start-blind-to-abort",
		.summary = "A start in flight does not look at its cancel: the command starts, "
			   "and the call is aborted afterwards.",
		.sources = FAULT_LIST("contract:C6", "contract:C23"),
		.clause = "kill K3",
		.cases = FAULT_LIST("kill.start.before-mint",
				    "kill.start.before-upload",
				    "kill.start.before-run"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_blind,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-checked-late",
		.summary = "A cancel that has fired is looked at after the start.",
		.sources = FAULT_LIST("render:19", "field:K09", "contract:C26"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.before",
				    "kill.abort.no-request",
				    "kill.deadline.before"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_late,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-watchers-kept",
		.summary = "exec never removes its watcher from the cancel.",
		.sources = FAULT_LIST("contract:1.4"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.watchers"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_watched,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-kills-neighbours",
		.summary = "An abort that comes after the exit ends the neighbours.",
		.sources = FAULT_LIST("field:K13"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.abort.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_neighbours,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "how-mixed-up",
		.summary = "An abort is told as a deadline and the other way round, and a late "
			   "cause replaces an earlier one.",
		.sources = FAULT_LIST("field:K24"),
		.clause = "kill K7",
		.cases = FAULT_LIST("kill.how.abort-first",
				    "kill.how.deadline-first",
				    "kill.how.kill-first",
				    "kill.abort.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_mixed_up,
	},
};
FAULT_TABLE(fault_kill_abort, faults);
