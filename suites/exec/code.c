/* SPDX-License-Identifier: MIT */
/* Exit codes: all of them, unchanged, and only when they are final. */
#include <stdio.h>

#include <witness/fifo.h>
#include <witness/rounds.h>

#include "cases.h"
#include "run.h"

void exec_code_passes_through(struct sp_case *t)
{
	static const int codes[] = { 0, 1, 2, 7, 42, 126, 127, 128, 254, 255 };

	for (size_t i = 0; i < SP_COUNT(codes); i++) {
		char command[32];

		snprintf(command, sizeof(command), "exit %d", codes[i]);
		SP_REQUIRE(command_gives(t, command,
					 &(struct expected){ .out = "", .code = codes[i] }, SP_HERE,
					 command));
	}
}

void exec_code_no_program(struct sp_case *t)
{
	struct sp_exec_result missing SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_exec_result refused SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *name = sp_case_unique(t);

	SP_REQUIRE(sandbox);
	SP_REQUIRE(sp_sh(t, sandbox, &missing, "no-such-program-%s", name));
	SP_CHECK_INT(t, 127, missing.exit_code, "a program that is not there");
	SP_CHECK(t, missing.stderr_bytes.len > 0,
		 "the shell says on stderr that there is no such program");

	SP_REQUIRE(sp_sh(t, sandbox, &refused,
			 ": >/tmp/%s-plain && chmod 600 /tmp/%s-plain && "
			 "{ /tmp/%s-plain; c=$?; rm -f /tmp/%s-plain; exit $c; }",
			 name, name, name, name));
	SP_CHECK_INT(t, 126, refused.exit_code, "a file that may not be executed");
}

void exec_code_is_final(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_fifo go, here;
	struct sp_exec_options options;
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "code", &place));
	SP_REQUIRE(sp_fifo_make(&place, "here", &here) && sp_fifo_make(&place, "go", &go));
	options = exec_options(t, sp_case_format(t,
						 "exec >&- 2>&-; echo closed >%s; read -r line "
						 "<%s; exit 42",
						 here.path, go.path));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_fifo_take(&here));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, sandbox, call),
			    "a command that closed its outputs is still running, so exec is "
			    "pending"));
	SP_REQUIRE(sp_fifo_put(&go, "go"));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err,
			       "exec answers once the command has ended"));
	SP_CHECK_INT(t, 42, result->exec.exit_code,
		     "the code of a command that ended long after its outputs");
}

void exec_code_syntax_error(struct sp_case *t)
{
	static const char *const texts[] = { "echo 'open", "if true", "echo $(", "done",
					     "( echo a" };
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;

		SP_REQUIRE(sp_sh(t, sandbox, &result, "%s", texts[i]));
		SP_REQUIRE(SP_CHECK(t, result.exit_code != 0,
				    "\"%s\" is no command, so its code is not 0", texts[i]));
		SP_REQUIRE(SP_CHECK(t, result.stderr_bytes.len > 0,
				    "the shell's complaint about \"%s\" arrives", texts[i]));
		SP_REQUIRE(command_gives(t, "echo fine", &(struct expected){ .out = "fine\n" },
					 SP_HERE, "the next command"));
	}
}
