/* SPDX-License-Identifier: MIT */
/* Standard input: empty where nobody gives one, and whole where somebody does. */
#include <stdlib.h>
#include <string.h>

#include <base/files.h>
#include <witness/fifo.h>
#include <witness/rounds.h>
#include <witness/twopath.h>

#include "cases.h"
#include "run.h"

void exec_stdin_is_empty(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options =
		exec_options(t, "cat; echo $?; if read -r line; then echo read; else echo end; fi");
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox);
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call);
	SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, sandbox, call),
			    "a command that reads stdin gets end of file at once"));
	SP_REQUIRE(!sp_case_failed(t));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "exec of a reader"));
	SP_CHECK_BYTES(t, "0\nend\n", 6, result->exec.stdout_bytes.data,
		       result->exec.stdout_bytes.len, "what a reader finds on its stdin");
}

/* Writes all, or fails the case. */
static bool give(struct sp_case *t, struct sp_spawned *child, const void *data, size_t len)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_process_write_stdin(&child->process, data, len, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "write_stdin of %zu bytes", len);
}

static bool give_end(struct sp_case *t, struct sp_spawned *child)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_process_close_stdin(&child->process, &err);

	return SP_CHECK_OK(t, rc, &err, "close_stdin");
}

void exec_stdin_close_arrives(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_call *reading SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_spawn(t, sandbox, &child, "cat; echo END"));
	SP_REQUIRE(give(t, &child, "in\n", 3) && give_end(t, &child) && give_end(t, &child));
	reading = sp_call_read(t, &child.process, SP_STDOUT, 4096);
	SP_REQUIRE(reading);
	SP_REQUIRE(SP_CHECK(t, !sp_rounds_pending(t, sandbox, reading),
			    "the process sees the end of its stdin"));
	SP_REQUIRE(!sp_case_failed(t));
	result = sp_call_join(reading);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "reading to the end"));
	SP_CHECK_BYTES(t, "in\nEND\n", 7, result->bytes.data, result->bytes.len,
		       "what came through");
}

void exec_stdin_kept_for_late_reader(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_fifo go;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "late", &place) &&
		   sp_fifo_make(&place, "go", &go));
	SP_REQUIRE(sp_spawn(t, sandbox, &child, "read -r line <%s; cat", go.path));
	SP_REQUIRE(give(t, &child, "kept\n", 5) && give_end(t, &child));
	SP_REQUIRE(sp_fifo_put(&go, "go") && sp_spawned_read(&child, SP_STDOUT, 4096, &out));
	SP_CHECK_BYTES(t, "kept\n", 5, out.data, out.len,
		       "input that was written and closed before it was read");
}

void exec_stdin_large(struct sp_case *t)
{
	enum { LEN = 1024 * 1024 };
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	unsigned char *data SP_FREE = malloc(LEN);

	if (!data) {
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	sp_random(data, LEN);
	SP_REQUIRE(sandbox && sp_spawn(t, sandbox, &child, "cksum"));
	SP_REQUIRE(give(t, &child, data, LEN) && give_end(t, &child));
	SP_REQUIRE(sp_spawned_read(&child, SP_STDOUT, 4096, &out));
	SP_CHECK_STR(t, sp_case_format(t, "%u %d\n", sp_cksum(data, LEN), LEN),
		     sp_case_format(t, "%.*s", (int)out.len, out.data),
		     "CRC and length of 1 MiB of any bytes");
}

void exec_stdin_refused(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit ended;
	int rc;

	SP_REQUIRE(sandbox && sp_spawn(t, sandbox, &child, "cat; exit 6"));
	rc = sp_process_write_stdin(&child.process, "x", 1, sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err,
		      "write_stdin where writable_stdin is declared false");
	err = (struct sp_error)SP_ERROR_INIT;
	rc = sp_process_close_stdin(&child.process, &err);
	SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err,
		      "close_stdin where writable_stdin is declared false");
	SP_REQUIRE(sp_spawned_wait(&child, &ended));
	SP_CHECK_INT(t, 6, ended.code, "the process is none the worse for it");
}
