/* SPDX-License-Identifier: MIT */
#include <cli/clauses.h>

#include <stddef.h>
#include <string.h>

#include <base/cleanup.h>

static const struct {
	const char *suite;
	const char *clause;
	const char *text;
} clauses[] = {
#include <clauses.inc>
};

const char *cli_clause_text(const char *suite, const char *clause)
{
	for (size_t i = 0; i < SP_COUNT(clauses); i++)
		if (!strcmp(clauses[i].suite, suite) && !strcmp(clauses[i].clause, clause))
			return clauses[i].text;
	return NULL;
}
