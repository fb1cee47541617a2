/* SPDX-License-Identifier: MIT */
/*
 * What the unit test of every suite holds about its table: ids, records and clauses are whole, and
 * the README's clauses and the cases agree. What the cases see is shown by the faults.
 *
 *	SUITE_TABLE_TESTS(kill, SP_SUBJECT_PROVIDER, "K", 17, 35)
 *
 * For Criterion programs only; one suite a program.
 */
#ifndef SP_WITNESS_SUITE_TEST_H
#define SP_WITNESS_SUITE_TEST_H

#include <criterion/criterion.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <sandproof/case.h>

/* Clauses of the README's table, in its order. */
struct suite_clauses {
	char names[64][8];
	size_t len;
};

/* Rows that begin with "| K". */
static inline void suite_read_clauses(const struct sp_suite *suite, const char *letter,
				      struct suite_clauses *clauses)
{
	struct sp_bytes text SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char path[512], start[8], format[24];

	snprintf(path, sizeof(path), "%s/suites/%s/README.md", SP_SOURCE_DIR, suite->name);
	snprintf(start, sizeof(start), "| %s", letter);
	snprintf(format, sizeof(format), "| %%7[%s0-9] |", letter);
	cr_assert_eq(sp_read_file(path, 1 << 20, &text, &err), 0, "%s: %s", path, err.message);
	for (char *line = (char *)text.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		cr_assert_lt(clauses->len, SP_COUNT(clauses->names),
			     "more clauses than the test holds");
		cr_assert_eq(sscanf(line, format, clauses->names[clauses->len]), 1,
			     "a clause's line reads \"%s1 | text |\", not \"%.40s\"", start, line);
		clauses->len++;
	}
}

/* The suite says what it is, and has at least `least` cases. */
static inline void suite_check_itself(const struct sp_suite *suite, const char *name,
				      enum sp_subject_kind subject, size_t least)
{
	cr_expect_eq(suite->version, SP_SUITE_VERSION);
	cr_expect_str_eq(suite->name, name);
	cr_expect_eq(suite->subject, subject);
	cr_expect_geq(suite->n_cases, least, "%zu cases, of at least %zu", suite->n_cases, least);
	cr_expect_not_null(suite->summary);
	cr_expect_not_null(suite->clauses_version);
}

/* Ids are "suite.group.name", and unique. */
static inline void suite_check_ids(const struct sp_suite *suite)
{
	size_t len = strlen(suite->name);

	for (size_t i = 0; i < suite->n_cases; i++) {
		const char *id = suite->cases[i].id;
		size_t dots = 0;

		cr_expect(!strncmp(id, suite->name, len) && id[len] == '.',
			  "%s begins with the suite's name", id);
		for (const char *c = id; *c; c++) {
			dots += *c == '.';
			cr_expect(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
					  *c == '-' || *c == '.',
				  "%s holds only a-z, 0-9, '-' and '.'", id);
		}
		cr_expect_eq(dots, 2, "%s is suite.group.name", id);
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(id, suite->cases[j].id, "%s is there twice", id);
	}
}

/* Every record says what it demands, why, how it sees the defect, and where it stands. */
static inline void suite_check_records(const struct sp_suite *suite)
{
	char file[128];

	snprintf(file, sizeof(file), "suites/%s/%s.c", suite->name, suite->name);
	for (size_t i = 0; i < suite->n_cases; i++) {
		const struct sp_case_def *def = &suite->cases[i];

		cr_expect_not_null(def->run, "%s has a function", def->id);
		cr_expect(def->requirement && *def->requirement, "%s has a requirement", def->id);
		cr_expect(def->rationale && *def->rationale, "%s has a rationale", def->id);
		cr_expect(def->detection && *def->detection, "%s has a detection", def->id);
		cr_expect(def->faults && def->faults[0], "%s names a fault", def->id);
		cr_expect(def->file && strstr(def->file, file), "%s is in %s", def->id,
			  def->file ? def->file : "(null)");
		cr_expect_gt(def->line, 0, "%s has a line", def->id);
		for (size_t j = 0; j < i; j++)
			cr_expect_neq(def->run, suite->cases[j].run,
				      "%s and %s run the same function", def->id,
				      suite->cases[j].id);
	}
}

/* Every case has a clause of the README, and every clause a case. */
static inline void suite_check_clauses(const struct sp_suite *suite, const char *letter,
				       size_t n_clauses)
{
	struct suite_clauses clauses = { .len = 0 };

	suite_read_clauses(suite, letter, &clauses);
	cr_assert_eq(clauses.len, n_clauses, "the README has %zu clauses, found %zu", n_clauses,
		     clauses.len);
	for (size_t i = 0; i < suite->n_cases; i++) {
		bool found = false;

		for (size_t j = 0; j < clauses.len; j++)
			found = found || !strcmp(clauses.names[j], suite->cases[i].clause);
		cr_expect(found, "clause %s of %s is in README.md", suite->cases[i].clause,
			  suite->cases[i].id);
	}
	for (size_t j = 0; j < clauses.len; j++) {
		bool used = false;

		for (size_t i = 0; i < suite->n_cases; i++)
			used = used || !strcmp(clauses.names[j], suite->cases[i].clause);
		cr_expect(used, "clause %s of README.md has a case", clauses.names[j]);
	}
}

/* The tests of sp_suite_NAME: subject, letter and number of its clauses, least cases. */
#define SUITE_TABLE_TESTS(name, subject, letter, n_clauses, least)                                 \
	Test(name, suite)                                                                          \
	{                                                                                          \
		suite_check_itself(&sp_suite_##name, #name, subject, least);                       \
	}                                                                                          \
	Test(name, ids)                                                                            \
	{                                                                                          \
		suite_check_ids(&sp_suite_##name);                                                 \
	}                                                                                          \
	Test(name, records_are_whole)                                                              \
	{                                                                                          \
		suite_check_records(&sp_suite_##name);                                             \
	}                                                                                          \
	Test(name, clauses_and_cases_agree)                                                        \
	{                                                                                          \
		suite_check_clauses(&sp_suite_##name, letter, n_clauses);                          \
	}

#endif
