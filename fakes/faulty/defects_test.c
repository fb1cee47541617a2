/* SPDX-License-Identifier: MIT */
/*
 * The table of defects against the list of what is known, against the faults, in both directions,
 * and against the tests that it names.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "defects.h"
#include "faulty.h"

#define IDS_CEILING (64 * 1024)
#define SOURCE_MAX (1024 * 1024)

/* All entries there are, by the digits of their ids: "a-b" stands for all from a to b. */
static const struct {
	const char *prefix;
	unsigned digits;
	const char *numbers;
} known[] = {
	{ "contract:C", 1,
	  "3 6-7 12 15 18 21 23-24 26-33 35-37 43-45 48-49 51 53-58 60-62 65 67 69 73-74 76-77 "
	  "79-81 86 88-94 96 99-104 106-112 114-123 125-126 128-129 133-134 137-150 153 156 "
	  "160-163 166-170 173 175 177-182 184-187 190-191 194-208 211-216 218-223 225-226 "
	  "229-230 232-233 235 237-256 258-279 283-284 286-287" },
	{ "field:K", 2, "1 3-9 11-19 22-24" },
	{ "field:X", 2, "3-4 6 8-12 14-15 17-22 24-27 29 32-34" },
	{ "field:E", 2, "1 3 5-6 8-11 14 16" },
	{ "field:F", 2, "1-4 7 9 11 14-15 17 19-22" },
	{ "field:S", 2, "2-5 7-10 14-16 19-22" },
	{ "field:L", 2, "1-4 6-11 14-15 17 22-25" },
	{ "field:T", 2, "1-3 5-15 17" },
	{ "field:J", 2, "1 3-6 9-16 18-19" },
	{ "field:N", 2, "1-6 10-12 14" },
	{ "render:", 1, "1-35" },
};

static struct defect_table table;

static void read_table(void)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(defects_read(defects_text(), &table, &err), 0, "%s", err.message);
}

static void free_table(void)
{
	defects_done(&table);
}

TestSuite(defects, .init = read_table, .fini = free_table);

/* The known ids, joined by spaces. */
static char *known_ids(void)
{
	struct sp_buf ids = SP_BUF_INIT(IDS_CEILING);

	for (size_t i = 0; i < SP_COUNT(known); i++) {
		for (const char *at = known[i].numbers; *at;) {
			char *end;
			unsigned long from = strtoul(at, &end, 10), to = from;

			if (*end == '-')
				to = strtoul(end + 1, &end, 10);
			for (; from <= to; from++)
				sp_buf_addf(&ids, "%s%s%0*lu", ids.len ? " " : "",
					    known[i].prefix, (int)known[i].digits, from);
			at = end + (*end == ' ');
		}
	}
	cr_assert_eq(ids.error, 0);
	return sp_buf_take(&ids, NULL);
}

Test(defects, every_known_entry_is_in_the_table_and_no_other)
{
	char *ids SP_FREE = known_ids(), *copy SP_FREE = strdup(ids), *at = copy, *id;
	size_t n = 0;

	for (; (id = strsep(&at, " ")); n++)
		cr_expect(defects_find(&table, id), "%s is not in the table", id);
	for (size_t i = 0; i < table.len; i++)
		cr_expect(defect_has_word(ids, table.entries[i].id), "line %zu: %s is no known id",
			  table.entries[i].line, table.entries[i].id);
	cr_expect_eq(table.len, n, "%zu entries, and %zu are known", table.len, n);
}

Test(defects, every_entry_is_placed)
{
	for (size_t i = 0; i < table.len; i++)
		cr_expect(defect_is_placed(&table.entries[i]), "line %zu: %s is not placed",
			  table.entries[i].line, table.entries[i].id);
}

static bool names_source(const struct sp_fault *fault, const char *id)
{
	for (const char *const *source = fault->sources; *source; source++)
		if (!strcmp(*source, id))
			return true;
	return false;
}

Test(defects, faults_of_an_entry_name_it_as_their_source)
{
	for (size_t i = 0; i < table.len; i++) {
		const struct defect *entry = &table.entries[i];
		char *copy SP_FREE = strdup(entry->placed[DEFECT_FAULT]
						    ? entry->placed[DEFECT_FAULT]
						    : "");
		char *at = copy, *id;

		while (*copy && (id = strsep(&at, " "))) {
			const struct sp_fault *fault = sp_fault_find(id);

			cr_expect(fault, "%s: there is no fault %s", entry->id, id);
			cr_expect(!fault || names_source(fault, entry->id),
				  "%s is placed at the fault %s, which does not name it", entry->id,
				  id);
		}
	}
}

Test(defects, sources_of_a_fault_are_entries_that_name_it_or_sections)
{
	size_t len;
	const struct sp_fault *const *faults = sp_faults(&len);

	for (size_t i = 0; i < len; i++) {
		for (const char *const *source = faults[i]->sources; *source; source++) {
			const struct defect *entry = defects_find(&table, *source);
			/* Ids after the first share its prefix: "contract:1.2 1.3". */
			const char *section = strncmp(*source, "contract:", 9) ? *source
									       : *source + 9;

			if (entry)
				cr_expect(defect_has_word(entry->placed[DEFECT_FAULT],
							  faults[i]->id),
					  "%s names %s, where it is not placed", faults[i]->id,
					  *source);
			else
				cr_expect(defect_has_word(table.sections, section) ||
						  defect_has_word(table.sections, *source),
					  "%s has the unknown source %s", faults[i]->id, *source);
		}
	}
}

Test(defects, the_same_entry_is_another_that_is_shown)
{
	for (size_t i = 0; i < table.len; i++) {
		const struct defect *entry = &table.entries[i], *other;

		if (!entry->placed[DEFECT_SAME])
			continue;
		other = defects_find(&table, entry->placed[DEFECT_SAME]);
		cr_expect(other && (other->placed[DEFECT_FAULT] || other->placed[DEFECT_TEST]),
			  "%s is the same as %s, which is shown nowhere", entry->id,
			  entry->placed[DEFECT_SAME]);
	}
}

/* True when FILE:SUITE.NAME is a test of this tree. */
static bool is_test(const char *word)
{
	const char *colon = strchr(word, ':'), *dot = colon ? strchr(colon, '.') : NULL;
	struct sp_bytes source = SP_BYTES_INIT;
	char path[512], head[256];
	bool found = false;

	if (!dot)
		return false;
	snprintf(path, sizeof(path), "%s/%.*s", SP_SOURCE_DIR, (int)(colon - word), word);
	snprintf(head, sizeof(head), "Test(%.*s, %s", (int)(dot - colon - 1), colon + 1, dot + 1);
	if (!sp_read_file(path, SOURCE_MAX, &source, NULL))
		found = memmem(source.data, source.len, head, strlen(head));
	sp_bytes_done(&source);
	return found;
}

Test(defects, tests_that_are_named_are_there)
{
	for (size_t i = 0; i < table.len; i++) {
		char *copy SP_FREE = strdup(table.entries[i].placed[DEFECT_TEST]
						    ? table.entries[i].placed[DEFECT_TEST]
						    : "");
		char *at = copy, *word;

		while (*copy && (word = strsep(&at, " ")))
			cr_expect(is_test(word), "%s: there is no test %s", table.entries[i].id,
				  word);
	}
}

/* "Hard to model" is no reason: a reason is a sentence about the contract. */
Test(defects, reasons_are_sentences)
{
	for (size_t i = 0; i < table.len; i++) {
		const char *reason = table.entries[i].placed[DEFECT_OUTSIDE];
		size_t len = reason ? strlen(reason) : 0;

		if (!reason)
			continue;
		cr_expect(len > 40 && reason[len - 1] == '.', "%s: \"%s\"", table.entries[i].id,
			  reason);
	}
}

static const struct {
	const char *remark, *text, *message;
} refused[] = {
	{ "no words", "contract:C3\n", "line 1" },
	{ "no id", " | words\n", "has no" },
	{ "an id without its source", "C3 | words\n", "has no id" },
	{ "an id twice", "a:1 | x\na:1 | y\n", "line 2" },
	{ "a placement without an entry", "\tfault x\n", "belongs to no entry" },
	{ "an unknown kind", "a:1 | x\n\tmaybe y\n", "line 2" },
	{ "a kind twice", "a:1 | x\n\tfault y\n\tfault z\n", "line 3" },
	{ "a kind without words", "a:1 | x\n\tfault\n", "nothing after" },
	{ "a continuation of nothing", "a:1 | x\n\t\ty\n", "continues nothing" },
	{ "two ways at once", "a:1 | x\n\tfault y\n\toutside z\n", "two ways" },
};

Test(defects_format, what_is_not_understood_is_refused_by_line)
{
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		struct defect_table wrong;
		struct sp_error err = SP_ERROR_INIT;
		int rc = defects_read(refused[i].text, &wrong, &err);

		cr_expect_eq(rc, SP_INVALID, "%s: %d", refused[i].remark, rc);
		cr_expect(strstr(err.message, refused[i].message), "%s: \"%s\"", refused[i].remark,
			  err.message);
		defects_done(&wrong);
	}
}

Test(defects_format, lines_are_continued_and_an_entry_without_placement_is_told)
{
	struct defect_table two;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(defects_read("# a comment\n\na:1 | x y\n\tfault b\n\t\tc d\n\ttest e:f.g\n"
				  "a:2 | z\n",
				  &two, &err),
		     0, "%s", err.message);
	cr_expect_eq(two.len, 2u);
	cr_expect_str_eq(two.entries[0].words, "x y");
	cr_expect_str_eq(two.entries[0].placed[DEFECT_FAULT], "b c d");
	cr_expect_str_eq(two.entries[0].placed[DEFECT_TEST], "e:f.g");
	cr_expect(defect_is_placed(&two.entries[0]));
	cr_expect(!defect_is_placed(&two.entries[1]));
	defects_done(&two);
}
