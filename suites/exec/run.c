/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <string.h>

struct sp_exec_options exec_options(struct sp_case *t, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = command;
	options.cancel = sp_case_cancel(t);
	return options;
}

bool exec_gives(struct sp_case *t, const struct sp_exec_options *options,
		const struct expected *expected, struct sp_where where, const char *what)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_error err = SP_ERROR_INIT;
	size_t out_len = expected->out_len ? expected->out_len : strlen(expected->out);
	int rc;

	if (!sandbox)
		return false;
	sp_case_note(t, "exec: %.300s", options->command);
	rc = sp_sandbox_exec(sandbox, options, &result, &err);
	return sp_check_ok(t, rc, &err, where, "%s: exec answers", what) &&
	       sp_check_bytes(t, expected->out, out_len, result.stdout_bytes.data,
			      result.stdout_bytes.len, where, "%s: stdout", what) &&
	       sp_check_bytes(t, expected->err ? expected->err : "",
			      expected->err ? strlen(expected->err) : 0, result.stderr_bytes.data,
			      result.stderr_bytes.len, where, "%s: stderr", what) &&
	       sp_check_int(t, expected->code, result.exit_code, where, "%s: exit code", what);
}

bool command_gives(struct sp_case *t, const char *command, const struct expected *expected,
		   struct sp_where where, const char *what)
{
	struct sp_exec_options options = exec_options(t, command);

	return exec_gives(t, &options, expected, where, what);
}
