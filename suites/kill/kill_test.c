/* SPDX-License-Identifier: MIT */
#include <suites/kill/kill.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(kill, SP_SUBJECT_PROVIDER, "K", 17, 35)

/* What overwrites files could be the host's, unless the back end itself says that it holds them. */
Test(kill, cases_that_overwrite_files_need_control)
{
	unsigned found = 0;

	for (size_t i = 0; i < sp_suite_kill.n_cases; i++) {
		const struct sp_case_def *def = &sp_suite_kill.cases[i];

		if (strcmp(def->id, "kill.limit.rewritten") &&
		    strcmp(def->id, "kill.limit.aimed") &&
		    strcmp(def->id, "kill.limit.half-written"))
			continue;
		cr_expect(def->needs & SP_NEED_CONTROL, "%s would run without control", def->id);
		found++;
	}
	cr_expect_eq(found, 3u);
}
