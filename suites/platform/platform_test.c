/* SPDX-License-Identifier: MIT */
#include <suites/platform/platform.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(platform, SP_SUBJECT_PLATFORM, "P", 10, 14)

/* Live there is no control, and nobody can be asked to fall asleep. */
Test(platform, facts_about_sleep_need_control)
{
	size_t found = 0;

	for (size_t i = 0; i < sp_suite_platform.n_cases; i++) {
		const struct sp_case_def *def = &sp_suite_platform.cases[i];

		if (strncmp(def->id, "platform.asleep.", 16))
			continue;
		cr_expect(def->needs & SP_NEED_CONTROL, "%s would run without control", def->id);
		found++;
	}
	cr_expect_eq(found, 4u);
}
