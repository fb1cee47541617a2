/* SPDX-License-Identifier: MIT */
/* Output: two streams, byte for byte, to the last one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <witness/fifo.h>
#include <witness/gate.h>
#include <witness/rounds.h>

#include <witness/rounds.h>

#include "cases.h"
#include "run.h"

void exec_output_apart(struct sp_case *t)
{
	SP_REQUIRE(command_gives(t, "echo O; echo E >&2",
				 &(struct expected){ .out = "O\n", .err = "E\n" }, SP_HERE,
				 "a command that succeeds"));
	SP_REQUIRE(command_gives(t, "echo O; echo E >&2; exit 3",
				 &(struct expected){ .out = "O\n", .err = "E\n", .code = 3 },
				 SP_HERE, "a command that fails"));
	command_gives(t, "echo only >&2", &(struct expected){ .out = "", .err = "only\n" }, SP_HERE,
		      "a command that writes to stderr only");
}

void exec_output_undecorated(struct sp_case *t)
{
	static const struct {
		const char *command;
		const char *out;
	} rows[] = {
		{ ":", "" },
		{ "printf '\\n'", "\n" },
		{ "printf a", "a" },
		{ "printf 'a\\n'", "a\n" },
		{ "printf 'a\\n\\n'", "a\n\n" },
		{ "printf '\\r\\n'", "\r\n" },
		{ "printf ' a '", " a " },
		{ "printf '\\t\\033[1mx\\033[0m\\b'", "\t\033[1mx\033[0m\b" },
		{ "printf '\\357\\273\\277bom'", "\357\273\277bom" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = rows[i].out }, SP_HERE,
					 rows[i].command));
	command_gives(t, "printf 'a\\000b'", &(struct expected){ .out = "a\0b", .out_len = 3 },
		      SP_HERE, "a NUL in the output");
}

/* U+00E9, U+20AC and U+1F600: two, three and four bytes. */
static const char characters[] = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";

/* A command that writes the characters byte by byte, one step for each line that it gets. */
static const char *stepwise(struct sp_case *t, const struct sp_fifo *go, const char *stream)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *command;

	sp_buf_addf(&buf, "exec 4<>%s;", go->path);
	for (const char *c = characters; *c; c++)
		sp_buf_addf(&buf, "printf '\\%03o' %s;read -r go <&4;", (unsigned char)*c, stream);
	command = sp_case_format(t, "%s", sp_buf_str(&buf));
	return command;
}

/* Reads until `want` bytes are there. */
static bool read_exactly(struct sp_case *t, struct sp_spawned *child, enum sp_stream stream,
			 const char *want, size_t len)
{
	char got[16];
	size_t have = 0;

	while (have < len) {
		struct sp_error err = SP_ERROR_INIT;
		size_t n = 0;
		int rc = sp_process_read(&child->process, stream, got + have, sizeof(got) - have,
					 &n, sp_case_cancel(t), &err);

		if (!SP_CHECK_OK(t, rc, &err, "reading a character") ||
		    !SP_CHECK(t, n > 0, "the stream goes on while the command does"))
			return false;
		have += n;
	}
	return SP_CHECK_BYTES(t, want, len, got, have, "the character arrives whole");
}

static void split_on(struct sp_case *t, enum sp_stream stream, const char *redirection,
		     const char *name)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_exit ended;
	struct sp_fifo go;
	const char *at = characters;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, name, &place) &&
		   sp_fifo_make(&place, "go", &go));
	SP_REQUIRE(sp_spawn(t, sandbox, &child, "%s", stepwise(t, &go, redirection)));
	for (size_t width = 2; width <= 4; width++) {
		/* The head of a character is no character yet: only its last byte brings it. */
		for (size_t i = 1; i < width; i++)
			SP_REQUIRE(sp_fifo_put(&go, "go"));
		SP_REQUIRE(read_exactly(t, &child, stream, at, width));
		SP_REQUIRE(sp_fifo_put(&go, "go"));
		at += width;
	}
	SP_REQUIRE(sp_spawned_wait(&child, &ended));
	SP_CHECK_INT(t, 0, ended.code, "the writer's code");
}

void exec_output_split_characters(struct sp_case *t)
{
	split_on(t, SP_STDOUT, "", "out");
	if (!sp_case_failed(t))
		split_on(t, SP_STDERR, ">&2", "err");
}

void exec_output_invalid_bytes(struct sp_case *t)
{
	bool utf8 = sp_case_capabilities(t)->output == SP_OUTPUT_UTF8;
	/* A stray byte between letters, and a character cut off by the end of the stream. */
	const struct {
		const char *command;
		const char *raw;
		const char *text;
	} rows[] = {
		{ "printf 'a\\377b'", "a\377b", "a\xef\xbf\xbd"
						 "b" },
		{ "printf 'x\\342\\202'", "x\342\202", "x\xef\xbf\xbd" },
		{ "printf '\\300\\257'", "\300\257", "\xef\xbf\xbd\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = utf8 ? rows[i].text
									 : rows[i].raw },
					 SP_HERE,
					 utf8 ? "invalid UTF-8 becomes U+FFFD"
					      : "every byte arrives as it is"));
}

/* What `awk` prints for numbered lines from 0 to n - 1. */
static char *numbered(size_t n, size_t *ret_len)
{
	struct sp_buf buf = SP_BUF_INIT(SP_BUF_COMMAND);

	for (size_t i = 0; i < n; i++)
		sp_buf_addf(&buf, "%07zu\n", i);
	return sp_buf_take(&buf, ret_len);
}

void exec_output_last_bytes(struct sp_case *t)
{
	/* Large enough that the end is still under way when the shell exits. */
	enum { LINES = 40000 };
	const char *nonce = sp_case_unique(t);
	struct sp_buf want SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	size_t len = 0;
	char *lines SP_FREE = numbered(LINES, &len);

	sp_buf_add(&want, lines, len);
	sp_buf_adds(&want, nonce);
	for (int i = 0; i < 5; i++)
		SP_REQUIRE(command_gives(t,
					 sp_case_format(t,
							"awk 'BEGIN{for(i=0;i<%d;i++)printf "
							"\"%%07d\\n\",i}'; printf %%s %s",
							LINES, nonce),
					 &(struct expected){ .out = sp_buf_str(&want),
							     .out_len = want.len },
					 SP_HERE,
					 "everything up to the last byte before the exit"));
}

void exec_output_withheld_end(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options = exec_options(t, "printf first; printf last; exit 9");
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox && sp_gate_shut(t, sandbox, SP_STEP_EXIT, SP_BEFORE, &gate));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_gate_await(&gate));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, sandbox, call),
			    "exec is pending while the end of the output is withheld"));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "exec answers"));
	SP_CHECK_BYTES(t, "firstlast", 9, result->exec.stdout_bytes.data,
		       result->exec.stdout_bytes.len,
		       "the output that came after the command's end");
	SP_CHECK_INT(t, 9, result->exec.exit_code, "the exit code that came last");
}

void exec_output_long_line(struct sp_case *t)
{
	enum { LEN = 1024 * 1024 };
	char *line SP_FREE = malloc(LEN + 1);

	if (!line) {
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	memset(line, 'x', LEN);
	line[LEN] = '\n';
	SP_REQUIRE(command_gives(t, "head -c 1048576 /dev/zero | tr '\\000' x",
				 &(struct expected){ .out = line, .out_len = LEN }, SP_HERE,
				 "a line of 1 MiB without a newline"));
	command_gives(t, "head -c 1048576 /dev/zero | tr '\\000' x; echo",
		      &(struct expected){ .out = line, .out_len = LEN + 1 }, SP_HERE,
		      "a line of 1 MiB with its newline");
}

void exec_output_instant(struct sp_case *t)
{
	/* Where each try is a request that counts, fewer of them. */
	int times = sp_counted(t) ? 15 : 60;

	for (int i = 0; i < times; i++)
		SP_REQUIRE(command_gives(t, sp_case_format(t, "printf %d", i),
					 &(struct expected){ .out = sp_case_format(t, "%d", i) },
					 SP_HERE, "a command that ends at once"));
}
