/* SPDX-License-Identifier: MIT */
#include <suites/journal/journal.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(journal, SP_SUBJECT_JOURNAL, "J", 18, 90)

/* Where nothing can be followed these are skips that name what is declared false. */
Test(journal, cases_that_follow_need_background_and_kill)
{
	const unsigned both = SP_NEED_SPAWN | SP_NEED_KILL;

	for (size_t i = 0; i < sp_suite_journal.n_cases; i++)
		if (!strncmp(sp_suite_journal.cases[i].id, "journal.follow.", 15))
			cr_expect_eq(sp_suite_journal.cases[i].needs & both, both,
				     "%s would run without them", sp_suite_journal.cases[i].id);
}
