/* SPDX-License-Identifier: MIT */
/* Readers over real processes, by both strategies. */
#include "test_fixture.h"

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

/* Puts N plus the sentinel's length in the place of "@N" in a text; malloc'ed. */
static char *with_sentinel(const char *text, const char *run_id)
{
	char *sentinel SP_FREE = fixture_sentinel(run_id, 0), *made = NULL, *rest = NULL;
	const char *at = strchr(text, '@');
	unsigned long base = at ? strtoul(at + 1, &rest, 10) : 0;

	if (!at)
		return strdup(text);
	cr_assert(asprintf(&made, "%.*s%zu%s", (int)(at - text), text,
			   base + strlen(sentinel) + 1, rest) > 0);
	return made;
}

Test(journal_reader, runs)
{
	static const struct {
		const char *id, *command;
		const char *expected;
	} rows[] = {
		{ "two", "printf 'a\\nbc\\n'", "2 a\n5 bc\n@5 exit 0\nend\n" },
		{ "code", "exit 7", "@0 exit 7\nend\n" },
		{ "apart", "echo out; echo err >&2", "4 out\n@4 exit 0\nend\n" },
		{ "empty lines", "printf '\\n\\nx\\n'", "1 \n2 \n4 x\n@4 exit 0\nend\n" },
		{ "unterminated", "printf 'a\\npart'", "2 a\n6 ~part\n@6 exit 0\nend\n" },
		{ "forged", "printf '{\"__exit\":0}\\n{\"__exit\":0}'; exit 3",
		  "13 {\"__exit\":0}\n25 ~{\"__exit\":0}\n@25 exit 3\nend\n" },
		{ "comment", "echo hi # no more", "3 hi\n@3 exit 0\nend\n" },
		{ "'; touch pwned; '", "echo \"it's\"", "5 it's\n@5 exit 0\nend\n" },
	};
	struct fixture f;

	fixture_open(&f, NULL);
	for (size_t i = 0; i < 2 * SP_COUNT(rows); i++) {
		const char *id = rows[i / 2].id;
		char *expected SP_FREE = with_sentinel(rows[i / 2].expected, id);
		char *found SP_FREE = NULL;
		struct sp_error err = SP_ERROR_INIT;

		if (i % 2 == 0)
			cr_expect_eq(start(&f, id, rows[i / 2].command, &err), 0, "%s: %s", id,
				     err.message);
		found = fixture_read_all(&f, id, 0, fixture_both[i % 2]);
		cr_expect_str_eq(found, expected, "%s by %s:\n%sexpected\n%s", id,
				 fixture_strategy(fixture_both[i % 2]), found, expected);
	}
	fixture_close(&f);
}
