/* SPDX-License-Identifier: MIT */
/* The table of cases and the table of clauses agree, and every record is whole. */
#include <criterion/criterion.h>

#include <ctype.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>

#include "lifecycle.h"

static const struct sp_case_def *record(size_t i)
{
	return &sp_suite_lifecycle.cases[i];
}

/* Clauses of the README's table, in its order: lines that begin with "| L". */
struct clauses {
	char names[64][8];
	size_t len;
};

static void read_clauses(struct clauses *clauses)
{
	struct sp_bytes text SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc =
		sp_read_file(SP_SOURCE_DIR "/suites/lifecycle/README.md", 1024 * 1024, &text, &err);

	cr_assert_eq(rc, 0, "README.md: %s", err.message);
	for (char *line = (char *)text.data; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, "| L", 3) != 0)
			continue;
		cr_assert_lt(clauses->len, SP_COUNT(clauses->names),
			     "more clauses than the test holds");
		cr_assert_eq(sscanf(line, "| %7[L0-9] |", clauses->names[clauses->len]), 1,
			     "a clause's line reads \"| L1 | text |\", not \"%.40s\"", line);
		clauses->len++;
	}
}

static bool in_readme(const struct clauses *clauses, const char *name)
{
	for (size_t i = 0; i < clauses->len; i++)
		if (!strcmp(clauses->names[i], name))
			return true;
	return false;
}

Test(lifecycle, suite)
{
	cr_expect_eq(sp_suite_lifecycle.version, SP_SUITE_VERSION);
	cr_expect_str_eq(sp_suite_lifecycle.name, "lifecycle");
	cr_expect_eq(sp_suite_lifecycle.subject, SP_SUBJECT_PROVIDER);
	cr_expect_gt(sp_suite_lifecycle.n_cases, 0);
	cr_expect_not_null(sp_suite_lifecycle.summary);
	cr_expect_not_null(sp_suite_lifecycle.clauses_version);
}

Test(lifecycle, ids)
{
	for (size_t i = 0; i < sp_suite_lifecycle.n_cases; i++) {
		const char *id = record(i)->id;
		size_t dots = 0;

		cr_expect_eq(strncmp(id, "lifecycle.", 10), 0, "%s begins with the suite's name",
			     id);
		for (const char *c = id; *c; c++) {
			dots += *c == '.';
			cr_expect(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
					  *c == '-' || *c == '.',
				  "%s holds only a-z, 0-9, '-' and '.'", id);
		}
		cr_expect_eq(dots, 2, "%s is suite.group.name", id);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(id, record(j)->id, "ids are unique");
	}
}

/* Every record says what it demands, why, how it sees the defect, and where it stands. */
Test(lifecycle, records_are_whole)
{
	for (size_t i = 0; i < sp_suite_lifecycle.n_cases; i++) {
		const struct sp_case_def *def = record(i);

		cr_expect_not_null(def->run, "%s has a function", def->id);
		cr_expect(def->requirement && *def->requirement, "%s has a requirement", def->id);
		cr_expect(def->rationale && *def->rationale, "%s has a rationale", def->id);
		cr_expect(def->detection && *def->detection, "%s has a detection", def->id);
		cr_expect(def->faults && def->faults[0], "%s names a fault", def->id);
		cr_expect(def->file && strstr(def->file, "suites/lifecycle/lifecycle.c"),
			  "%s is in %s", def->id, def->file ? def->file : "(null)");
		cr_expect_gt(def->line, 0, "%s has a line", def->id);
		for (size_t j = 0; j < i; j++)
			cr_expect_neq(def->run, record(j)->run, "%s and %s run the same function",
				      def->id, record(j)->id);
	}
}

Test(lifecycle, clauses_and_cases_agree)
{
	struct clauses clauses = { .len = 0 };

	read_clauses(&clauses);
	cr_assert_gt(clauses.len, 0, "README.md has a table of clauses");
	for (size_t i = 0; i < sp_suite_lifecycle.n_cases; i++)
		cr_expect(in_readme(&clauses, record(i)->clause), "clause %s of %s is in README.md",
			  record(i)->clause, record(i)->id);
	for (size_t i = 0; i < clauses.len; i++) {
		size_t n = 0;

		for (size_t j = 0; j < sp_suite_lifecycle.n_cases; j++)
			n += !strcmp(clauses.names[i], record(j)->clause);
		cr_expect_gt(n, 0, "clause %s of README.md has a case", clauses.names[i]);
	}
}
