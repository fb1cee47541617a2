/* SPDX-License-Identifier: MIT */
/*
 * The table itself: ids, clauses and faults are whole. What the cases see is shown by the faults.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <base/files.h>
#include <suites/kill/kill.h>

static const struct sp_case_def *case_at(size_t i)
{
	return &sp_suite_kill.cases[i];
}

Test(kill, ids_are_unique_and_ours)
{
	for (size_t i = 0; i < sp_suite_kill.n_cases; i++) {
		const char *id = case_at(i)->id;

		cr_assert(strncmp(id, "kill.", 5) == 0, "%s does not start with kill.", id);
		cr_assert_eq(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-."), strlen(id),
			     "%s has other characters", id);
		for (size_t j = 0; j < i; j++)
			cr_assert_str_neq(id, case_at(j)->id, "%s is there twice", id);
	}
}

Test(kill, records_are_complete)
{
	cr_assert_geq(sp_suite_kill.n_cases, 35u);
	for (size_t i = 0; i < sp_suite_kill.n_cases; i++) {
		const struct sp_case_def *def = case_at(i);

		cr_assert(def->requirement && def->rationale && def->detection && def->run &&
				  def->file && def->line,
			  "%s lacks something", def->id);
		cr_assert(def->faults && def->faults[0], "%s names no fault", def->id);
	}
}

Test(kill, every_case_has_a_clause_and_every_clause_a_case)
{
	struct sp_bytes readme = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	unsigned clauses = 0;
	char row[16];

	cr_assert_eq(sp_read_file(SP_SOURCE_DIR "/suites/kill/README.md", 1 << 20, &readme, &err),
		     0, "%s", err.message);
	for (size_t i = 0; i < sp_suite_kill.n_cases; i++) {
		snprintf(row, sizeof(row), "| %s |", case_at(i)->clause);
		cr_assert(strstr((char *)readme.data, row), "%s: no clause %s in the README",
			  case_at(i)->id, case_at(i)->clause);
	}
	for (char *line = strstr((char *)readme.data, "\n| K"); line;
	     line = strstr(line + 1, "\n| K")) {
		bool used = false;

		for (size_t i = 0; i < sp_suite_kill.n_cases && !used; i++) {
			size_t len = strlen(case_at(i)->clause);

			used = strncmp(line + 3, case_at(i)->clause, len) == 0 &&
			       line[3 + len] == ' ';
		}
		cr_assert(used, "clause%.5s has no case", line + 2);
		clauses++;
	}
	cr_assert_eq(clauses, 17u, "the README has 17 clauses, found %u", clauses);
	sp_bytes_done(&readme);
}

/* What overwrites files could be the host's, unless the back end itself says that it holds them. */
Test(kill, cases_that_overwrite_files_need_control)
{
	unsigned found = 0;

	for (size_t i = 0; i < sp_suite_kill.n_cases; i++) {
		const struct sp_case_def *def = case_at(i);

		if (strcmp(def->id, "kill.limit.rewritten") &&
		    strcmp(def->id, "kill.limit.aimed") &&
		    strcmp(def->id, "kill.limit.half-written"))
			continue;
		cr_expect(def->needs & SP_NEED_CONTROL, "%s would run without control", def->id);
		found++;
	}
	cr_expect_eq(found, 3u);
}
