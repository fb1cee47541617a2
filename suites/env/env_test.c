/* SPDX-License-Identifier: MIT */
/*
 * The table itself: ids, clauses and faults are whole. What the cases see is shown by the faults.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <base/files.h>
#include <suites/env/env.h>

static const struct sp_case_def *case_at(size_t i)
{
	return &sp_suite_env.cases[i];
}

Test(env, ids_are_unique_and_ours)
{
	for (size_t i = 0; i < sp_suite_env.n_cases; i++) {
		const char *id = case_at(i)->id;

		cr_assert(strncmp(id, "env.", 4) == 0, "%s does not start with env.", id);
		cr_assert_eq(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-."), strlen(id),
			     "%s has other characters", id);
		for (size_t j = 0; j < i; j++)
			cr_assert_str_neq(id, case_at(j)->id, "%s is there twice", id);
	}
}

Test(env, records_are_complete)
{
	cr_assert_geq(sp_suite_env.n_cases, 30u);
	for (size_t i = 0; i < sp_suite_env.n_cases; i++) {
		const struct sp_case_def *def = case_at(i);

		cr_assert(def->requirement && def->rationale && def->detection && def->run &&
			      def->file && def->line,
			  "%s lacks something", def->id);
		cr_assert(def->faults && def->faults[0], "%s names no fault", def->id);
	}
}

Test(env, every_case_has_a_clause_and_every_clause_a_case)
{
	struct sp_bytes readme = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	unsigned clauses = 0;
	char row[16];

	cr_assert_eq(sp_read_file(SP_SOURCE_DIR "/suites/env/README.md", 1 << 20, &readme, &err), 0,
		     "%s", err.message);
	for (size_t i = 0; i < sp_suite_env.n_cases; i++) {
		snprintf(row, sizeof(row), "| %s |", case_at(i)->clause);
		cr_assert(strstr((char *)readme.data, row), "%s: no clause %s in the README",
			  case_at(i)->id, case_at(i)->clause);
	}
	for (char *line = strstr((char *)readme.data, "\n| E"); line;
	     line = strstr(line + 1, "\n| E")) {
		bool used = false;

		for (size_t i = 0; i < sp_suite_env.n_cases && !used; i++) {
			size_t len = strlen(case_at(i)->clause);

			used =
			    strncmp(line + 3, case_at(i)->clause, len) == 0 && line[3 + len] == ' ';
		}
		cr_assert(used, "clause%.5s has no case", line + 2);
		clauses++;
	}
	cr_assert_eq(clauses, 7u, "the README has 7 clauses, found %u", clauses);
	sp_bytes_done(&readme);
}
