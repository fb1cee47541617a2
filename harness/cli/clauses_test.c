/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <cli/clauses.h>
#include <cli/registry.h>

/* Every case's clause has its sentence, and nothing else has one. */
Test(clauses, every_case_has_one)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < suites[i]->n_cases; j++)
			cr_expect_not_null(
				cli_clause_text(suites[i]->name, suites[i]->cases[j].clause),
				"%s has the clause %s, of which suites/%s/README.md says nothing",
				suites[i]->cases[j].id, suites[i]->cases[j].clause,
				suites[i]->name);
	cr_expect_null(cli_clause_text("kill", "K999"));
	cr_expect_null(cli_clause_text("nothing", "K1"));
}
