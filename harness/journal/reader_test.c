/* SPDX-License-Identifier: MIT */
/* Readers over real processes, by both strategies. */
#include "names.h"
#include "test_fixture.h"

static const enum sp_journal_strategy both[] = { SP_JOURNAL_POLL, SP_JOURNAL_FOLLOW };

static const char *strategy_name(enum sp_journal_strategy strategy)
{
	return strategy == SP_JOURNAL_POLL ? "poll" : "follow";
}

/* Everything that a reader gives, one line a row: end position, kind, text. */
static char *read_all(struct fixture *f, const char *run_id, uint64_t from,
		      enum sp_journal_strategy strategy)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	struct sp_journal_options options = f->options;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool end = false;
	int rc;

	options.strategy = strategy;
	rc = f->journal.ops->read(f->journal.self, &f->sandbox, run_id, from, &options, &reader, &err);
	while (!rc && !end) {
		struct sp_journal_line line SP_CLEANUP(sp_journal_line_done) = SP_JOURNAL_LINE_INIT;

		rc = reader.ops->next(reader.self, &line, &end, &err);
		if (rc || end)
			break;
		sp_buf_addf(&out, "%llu ", (unsigned long long)line.end_position);
		if (line.is_exit)
			sp_buf_addf(&out, "exit %d\n", line.exit_code);
		else
			sp_buf_addf(&out, "%s%.*s\n", line.unterminated ? "~" : "",
				    (int)line.text.len, (char *)line.text.data);
	}
	if (rc)
		sp_buf_addf(&out, "%s\n", sp_code_name(rc));
	if (reader.ops)
		reader.ops->close(reader.self);
	return sp_buf_take(&out, NULL);
}

static int start(struct fixture *f, const char *run_id, const char *command, struct sp_error *err)
{
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_exit exit;
	int rc = f->journal.ops->start(f->journal.self, &f->sandbox, run_id, command, &f->options,
				       &process, err);

	if (rc)
		return rc;
	rc = sp_process_wait(&process, &exit, f->options.cancel, err);
	sp_process_done(&process);
	return rc ? rc : exit.code;
}

/* Text of the sentinel of a run. */
static char *sentinel(const char *run_id, int code)
{
	char nonce[33], *text = NULL;

	cr_assert_eq(sp_journal_nonce(run_id, strlen(run_id), nonce), 0);
	cr_assert(asprintf(&text, "{\"__exit\":%d,\"__nonce\":\"%s\"}", code, nonce) > 0);
	return text;
}

Test(journal_reader, runs)
{
	static const struct {
		const char *id, *command;
		/* @N: N plus the length of the sentinel with its newline. */
		const char *expected;
	} rows[] = {
		{ "two", "printf 'a\\nbc\\n'", "2 a\n5 bc\n@5 exit 0\n" },
		{ "code", "exit 7", "@0 exit 7\n" },
		{ "apart", "echo out; echo err >&2", "4 out\n@4 exit 0\n" },
		{ "empty lines", "printf '\\n\\nx\\n'", "1 \n2 \n4 x\n@4 exit 0\n" },
		{ "unterminated", "printf 'a\\npart'", "2 a\n6 ~part\n@6 exit 0\n" },
		{ "forged", "printf '{\"__exit\":0}\\n{\"__exit\":0}'; exit 3",
		  "13 {\"__exit\":0}\n25 ~{\"__exit\":0}\n@25 exit 3\n" },
		{ "comment", "echo hi # no more", "3 hi\n@3 exit 0\n" },
		{ "'; touch pwned; '", "echo \"it's\"", "5 it's\n@5 exit 0\n" },
	};
	struct fixture f;

	fixture_open(&f, NULL, 0);
	for (size_t i = 0; i < 2 * SP_COUNT(rows); i++) {
		const char *id = rows[i / 2].id, *at = strchr(rows[i / 2].expected, '@');
		char *exit SP_FREE = sentinel(id, 0), *expected SP_FREE = NULL, *rest = NULL;
		struct sp_error err = SP_ERROR_INIT;
		char *found SP_FREE = NULL;
		unsigned long base = strtoul(at + 1, &rest, 10);

		cr_assert(asprintf(&expected, "%.*s%zu%s", (int)(at - rows[i / 2].expected),
				   rows[i / 2].expected, base + strlen(exit) + 1, rest) > 0);
		if (i % 2 == 0)
			cr_expect_eq(start(&f, id, rows[i / 2].command, &err), 0, "%s: %s", id,
				     err.message);
		found = read_all(&f, id, 0, both[i % 2]);
		cr_expect_str_eq(found, expected, "%s by %s:\n%sexpected\n%s", id,
				 strategy_name(both[i % 2]), found, expected);
	}
	fixture_close(&f);
}
