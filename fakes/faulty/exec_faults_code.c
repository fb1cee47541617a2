/* SPDX-License-Identifier: MIT */
/* Faults of exit codes, and of the moment at which they are told. */
#include "exec_faults.h"

#include <string.h>

/* code = ok ? 0 : 1 */
static void boolean_result(struct sp_exec_result *result)
{
	result->exit_code = result->exit_code ? 1 : 0;
}
EXEC_RESULT_FAULT(boolean)

/* The shell's word about a program is taken for the platform's. */
static int no_program_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			   struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(&sandbox->inner, options, &result, err);

	if (rc == 0 && (result.exit_code == 126 || result.exit_code == 127))
		return sp_error_set(err, SP_NOT_FOUND, "there is no such program");
	if (rc == 0) {
		*ret_result = result;
		result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	}
	return rc;
}

static const struct fault_hooks no_program = { .exec = no_program_exec };
FAULT_WRAP(wrap_no_program, no_program)

/*
 * The command writes into a FIFO that we read to its end. `(:;` because the text may be empty, the
 * newline because it may end in a comment; it stays on line 1.
 */
static void through_pipe(const char *command, const char *afterwards, struct sp_buf *out)
{
	sp_buf_addf(out,
		    "p=${TMPDIR:-/tmp}/.pipe$$;mkfifo \"$p\"||exit 125;(:;%s\n) >\"$p\"& j=$!;"
		    "exec 3<\"$p\";rm -f \"$p\";cat <&3;%s",
		    command, afterwards);
}

/*
 * The status is looked at once, when the output has ended. A shell learns of ended children
 * while it waits for another: the second cat gives it the occasion.
 */
static void stream_end_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	through_pipe(options->command,
		     "cat </dev/null;if kill -0 $j 2>/dev/null;then exit 0;fi;wait $j", out);
}
EXEC_TEXT_FAULT(stream_end)

/* Whoever holds the output open keeps exec waiting: "close" instead of "exit". */
static void pipe_close_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	through_pipe(options->command, "wait $j", out);
}
EXEC_TEXT_FAULT(pipe_close)

/* code ?? 0, where the shell never came to run anything. */
static void syntax_zero_result(struct sp_exec_result *result)
{
	if (result->exit_code == 2 && !result->stdout_bytes.len && result->stderr_bytes.len)
		result->exit_code = 0;
}
EXEC_RESULT_FAULT(syntax_zero)

static int spawn_zero_wait(struct fault_process *process, struct sp_exit *ret_exit,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0 && ret_exit->how == SP_EXITED)
		ret_exit->code = 0;
	return rc;
}

static const struct fault_hooks spawn_zero = { .wait = spawn_zero_wait };
FAULT_WRAP(wrap_spawn_zero, spawn_zero)

static const struct sp_fault faults[] = {
	EXEC_FAULT("exec-code-boolean", boolean, "X1", "Every failure has code 1.",
		   FAULT_LIST("field:X04", "contract:C145"),
		   FAULT_LIST("exec.code.passes-through")),
	EXEC_FAULT("exec-127-is-an-error", no_program, "X1",
		   "Codes 126 and 127 become an error of the call.", FAULT_LIST("contract:C145"),
		   FAULT_LIST("exec.code.no-program")),
	EXEC_FAULT("exec-code-at-stream-end", stream_end, "X1",
		   "The status is read once, when the output has ended; one that is not there yet "
		   "is 0.",
		   FAULT_LIST("field:X03"), FAULT_LIST("exec.code.is-final")),
	EXEC_FAULT("exec-syntax-error-is-zero", syntax_zero, "X1",
		   "A text that the shell refuses counts as done.", FAULT_LIST("contract:C145"),
		   FAULT_LIST("exec.code.syntax-error")),
	EXEC_FAULT("exec-waits-for-pipe", pipe_close, "X5",
		   "exec answers when everybody has closed the output, not when its own process "
		   "has ended.",
		   FAULT_LIST("field:X10"), FAULT_LIST("exec.spawn.background-child")),
	EXEC_FAULT("spawn-code-zero", spawn_zero, "X5",
		   "Every spawned command that exits has code 0.", FAULT_LIST("contract:C145"),
		   FAULT_LIST("exec.spawn.own-code")),
};
FAULT_TABLE(fault_exec_code, faults);
