/* SPDX-License-Identifier: MIT */
/* Volume: bursts, slow readers, and the cap of exec. */
#include <stdio.h>
#include <string.h>

#include <base/buf.h>
#include <base/utf8.h>
#include <witness/fifo.h>
#include <witness/twopath.h>

#include "cases.h"
#include "run.h"

/* Eight bytes a line: "0000000\n" and on. */
#define LINE 8
#define LINES_SHELL "awk 'BEGIN{for(i=0;i<%lld;i++)printf \"%%07d\\n\",i}'"

/* Checks that `data` is a prefix of the numbered lines. */
static bool is_prefix(struct sp_case *t, const unsigned char *data, size_t len, const char *what)
{
	char want[32];

	for (size_t i = 0; i < len; i += LINE) {
		size_t n = len - i < LINE ? len - i : LINE;

		snprintf(want, sizeof(want), "%07zu\n", i / LINE);
		if (memcmp(want, data + i, n) != 0)
			return SP_CHECK_BYTES(t, want, n, data + i, n, "%s: line %zu", what,
					      i / LINE);
	}
	return SP_CHECK(t, true, "%s is a prefix", what);
}

void exec_output_burst(struct sp_case *t)
{
	const long long lines = 4 * 1024 * 1024 / LINE;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	uint64_t cap = sp_case_capabilities(t)->output_cap;

	if (cap && cap < (uint64_t)lines * LINE) {
		sp_skip(t, "output_cap is %llu, below the 4 MiB of this burst",
			(unsigned long long)cap);
		return;
	}
	SP_REQUIRE(sandbox && sp_sh(t, sandbox, &result, LINES_SHELL, lines));
	SP_CHECK_INT(t, lines * LINE, (long long)result.stdout_bytes.len, "bytes of a 4 MiB burst");
	is_prefix(t, result.stdout_bytes.data, result.stdout_bytes.len, "the burst");
	SP_CHECK(t, !result.stdout_cut, "nothing was cut");
}

void exec_output_slow_reader(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	const long long lines = 256 * 1024 / LINE;
	struct sp_exit ended;
	struct sp_fifo done;

	if (sp_case_capabilities(t)->unread_bound < (uint64_t)lines * LINE) {
		sp_skip(t, "unread_bound is below the 256 KiB that this case leaves unread");
		return;
	}
	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "slow", &place) &&
		   sp_fifo_make(&place, "done", &done));
	SP_REQUIRE(sp_spawn(t, sandbox, &child, LINES_SHELL "; echo written >%s", lines,
			    done.path));
	/* The command is through, and nobody has read a byte. */
	SP_REQUIRE(sp_fifo_take(&done) && sp_spawned_wait(&child, &ended));
	SP_CHECK_INT(t, 0, ended.code, "code of a command whose output nobody read");
	SP_REQUIRE(sp_spawned_read(&child, SP_STDOUT, SP_BUF_COMMAND, &bytes));
	SP_CHECK_INT(t, lines * LINE, (long long)bytes.len,
		     "bytes kept for a reader that came after the end");
	is_prefix(t, bytes.data, bytes.len, "what was kept");
}

void exec_cap_prefix(struct sp_case *t)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	uint64_t cap = sp_case_capabilities(t)->output_cap;
	long long lines = (long long)(cap / LINE) + 16 * 1024;

	SP_REQUIRE(sandbox &&
		   sp_sh(t, sandbox, &result, LINES_SHELL "; echo E >&2; exit 5", lines));
	SP_CHECK(t, result.stdout_cut, "stdout is reported as cut");
	SP_CHECK(t, result.stdout_bytes.len <= cap,
		 "no more than the cap of %llu bytes is kept, but %zu were",
		 (unsigned long long)cap, result.stdout_bytes.len);
	SP_CHECK(t, result.stdout_bytes.len + 4 > cap,
		 "the cap of %llu bytes is used, but only %zu were kept", (unsigned long long)cap,
		 result.stdout_bytes.len);
	is_prefix(t, result.stdout_bytes.data, result.stdout_bytes.len, "what is kept");
	SP_CHECK_BYTES(t, "E\n", 2, result.stderr_bytes.data, result.stderr_bytes.len,
		       "the other stream has a cap of its own");
	SP_CHECK(t, !result.stderr_cut, "stderr is not reported as cut");
	SP_CHECK_INT(t, 5, result.exit_code, "the code of a command that wrote too much");
}

void exec_cap_in_bytes(struct sp_case *t)
{
	/* Each row starts so that one character stands across the cap. */
	static const struct {
		const char *name;
		const char *octal;
		size_t width;
	} rows[] = {
		{ "two-byte characters", "\\303\\251", 2 },
		{ "three-byte characters", "\\342\\202\\254", 3 },
		{ "four-byte characters", "\\360\\237\\230\\200", 4 },
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	uint64_t cap = sp_case_capabilities(t)->output_cap;
	bool utf8 = sp_case_capabilities(t)->output == SP_OUTPUT_UTF8;

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
		const char *pad = (cap % rows[i].width) ? "" : "x";

		/* Fifteen doublings make a block of 32,768 characters; bytes are fast. */
		SP_REQUIRE(sp_sh(t, sandbox, &result,
				 "LC_ALL=C; printf '%s'; b=$(printf '%s'); "
				 "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do b=$b$b; done; "
				 "i=0; while [ $i -lt %llu ]; do printf %%s \"$b\"; i=$((i+1)); "
				 "done",
				 pad, rows[i].octal,
				 (unsigned long long)(cap / (32768 * rows[i].width) + 2)));
		SP_REQUIRE(SP_CHECK(t, result.stdout_cut, "%s: the output is longer than the cap",
				    rows[i].name));
		SP_REQUIRE(SP_CHECK(t, result.stdout_bytes.len <= cap,
				    "%s: at most %llu bytes are kept, but %zu were", rows[i].name,
				    (unsigned long long)cap, result.stdout_bytes.len));
		SP_REQUIRE(SP_CHECK(t, result.stdout_bytes.len + rows[i].width > cap,
				    "%s: the cap is used up to its last whole character, but %zu "
				    "bytes were kept",
				    rows[i].name, result.stdout_bytes.len));
		if (utf8)
			SP_REQUIRE(SP_CHECK(t,
					    sp_utf8_valid((char *)result.stdout_bytes.data,
							  result.stdout_bytes.len),
					    "%s: what is kept ends at a character", rows[i].name));
	}
}
