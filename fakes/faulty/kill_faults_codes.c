/* SPDX-License-Identifier: MIT */
/* Faults of codes and reasons on any provider. */
#include <signal.h>

#include "tables.h"
#include "wrap.h"

/* Defines the hooks of a fault that changes codes alone: NAME_code(code) in exec and wait. */
#define CODE_FAULT(name)                                                                           \
	static int name##_exec(struct fault_sandbox *sandbox,                                      \
			       const struct sp_exec_options *options,                              \
			       struct sp_exec_result *ret_result, struct sp_error *err)            \
	{                                                                                          \
		int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);               \
		if (rc == 0)                                                                       \
			ret_result->exit_code = name##_code(ret_result->exit_code);                \
		return rc;                                                                         \
	}                                                                                          \
	static int name##_wait(struct fault_process *process, struct sp_exit *ret_exit,            \
			       struct sp_cancel *cancel, struct sp_error *err)                     \
	{                                                                                          \
		int rc = fault_inner_wait(process, ret_exit, cancel, err);                         \
		if (rc == 0)                                                                       \
			ret_exit->code = name##_code(ret_exit->code);                              \
		return rc;                                                                         \
	}                                                                                          \
	static const struct fault_hooks name = { .exec = name##_exec, .wait = name##_wait };       \
	FAULT_WRAP(wrap_##name, name)

static bool is_death(int code)
{
	return code > 128 && code < 128 + 64;
}

/* code ?? 0 */
static int zero_code(int code)
{
	return is_death(code) ? 0 : code;
}
CODE_FAULT(zero)

/* The negative status of some runtimes, cut to eight bits. */
static int masked_code(int code)
{
	return is_death(code) ? (128 - code) & 0xff : code;
}
CODE_FAULT(masked)

/* code ?? 1 */
static int one_code(int code)
{
	return is_death(code) ? 1 : code;
}
CODE_FAULT(one)

static int killed_zero_wait(struct fault_process *process, struct sp_exit *ret_exit,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0 && ret_exit->how == SP_KILLED)
		ret_exit->code = 0;
	return rc;
}

static const struct fault_hooks killed_zero = { .wait = killed_zero_wait };
FAULT_WRAP(wrap_killed_zero, killed_zero)

/* The supervisor died with the command: nobody is left to tell. */
static int lost_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(&sandbox->inner, options, &result, err);

	if (rc < 0)
		return rc;
	if (result.exit_code == 128 + SIGKILL)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the stream ended without an exit");
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static int lost_wait(struct fault_process *process, struct sp_exit *ret_exit,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exit exit;
	int rc = fault_inner_wait(process, &exit, cancel, err);

	if (rc < 0)
		return rc;
	if (exit.code == 128 + SIGKILL && exit.how != SP_KILLED)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the stream ended without an exit");
	*ret_exit = exit;
	return 0;
}

static const struct fault_hooks lost = { .exec = lost_exec, .wait = lost_wait };
FAULT_WRAP(wrap_lost, lost)

static int from_code_wait(struct fault_process *process, struct sp_exit *ret_exit,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0)
		ret_exit->how = is_death(ret_exit->code) ? SP_KILLED : SP_EXITED;
	return rc;
}

static const struct fault_hooks from_code = { .wait = from_code_wait };
FAULT_WRAP(wrap_from_code, from_code)

static int as_exited_wait(struct fault_process *process, struct sp_exit *ret_exit,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0 && ret_exit->how == SP_KILLED)
		ret_exit->how = SP_EXITED;
	return rc;
}

static const struct fault_hooks as_exited = { .wait = as_exited_wait };
FAULT_WRAP(wrap_as_exited, as_exited)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "code-death-is-zero",
		.summary = "Death by a signal is code 0.",
		.sources = FAULT_LIST("field:K16"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.by-signal", "kill.code.in-shell",
				    "kill.code.self-kill"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_zero,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "code-death-masked",
		.summary = "Death by a signal is a negative status cut to eight bits.",
		.sources = FAULT_LIST("field:K17"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.by-signal", "kill.code.in-shell"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_masked,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "code-death-is-one",
		.summary = "Death by a signal is code 1.",
		.sources = FAULT_LIST("field:K18"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.crash"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_one,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "code-killed-is-zero",
		.summary = "A killed command has code 0.",
		.sources = FAULT_LIST("field:K16", "contract:C145"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.killed"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_killed_zero,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "self-kill-loses-exit",
		.summary = "A command that KILLs itself takes its supervisor along: the outcome "
			   "is unknown.",
		.sources = FAULT_LIST("field:K16"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.self-kill", "kill.code.supervisor"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_lost,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "how-from-code",
		.summary = "The reason is guessed from the code.",
		.sources = FAULT_LIST("field:K24"),
		.clause = "kill K7",
		.cases = FAULT_LIST("kill.how.exited"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_from_code,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "how-killed-is-exited",
		.summary = "A killed command is told as one that exited.",
		.sources = FAULT_LIST("field:K24"),
		.clause = "kill K7",
		.cases = FAULT_LIST("kill.how.kill-first"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_as_exited,
	},
};
FAULT_TABLE(fault_kill_codes, faults);
