/* SPDX-License-Identifier: MIT */
#include "baseline.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>

#include "baseline_impl.h"

#define DAY_MS INT64_C(86400000)
/* Beginning of a message that tells one failure from another and does not run into pids and paths.
 */
#define PREFIX_MAX 80

struct update {
	const struct sp_baseline *baseline;
	/* Last result of each case of the baseline, or NULL. */
	const struct sp_result_case **results;
	struct sp_buf *text;
	struct sp_baseline_changes changes;
	char expiry[11];
};

/* ---- What the results say ---- */

static bool has_failed(const struct sp_result_case *c)
{
	return c->verdict == SP_FAIL;
}

static bool has_passed(const struct sp_result_case *c)
{
	return c->verdict == SP_PASS || c->verdict == SP_XPASS;
}

static size_t find_case(const struct sp_baseline *b, const char *id)
{
	for (size_t i = 0; i < b->n_cases; i++)
		if (!strcmp(b->cases[i]->id, id))
			return i;
	return b->n_cases;
}

static void collect(struct update *u, const struct sp_results_set *set)
{
	for (size_t i = 0; i < set->n_runs; i++)
		for (size_t c = 0; c < set->runs[i].n_cases; c++) {
			const struct sp_result_case *result = &set->runs[i].cases[c];
			size_t at = find_case(u->baseline, result->id);

			/* A run with a fault fails on purpose. */
			if (at < u->baseline->n_cases && !set->runs[i].run.defect)
				u->results[at] = result;
		}
}

/* ---- Lines ---- */

static void add_field(struct sp_buf *text, const char *field)
{
	for (; *field; field++) {
		if (*field == '|' || *field == '\\')
			sp_buf_addc(text, '\\');
		sp_buf_addc(text, *field);
	}
}

/* How a message begins: of its first line, whole words. */
static char *prefix_of(const char *message)
{
	size_t line = 0, len;
	char *prefix;

	while ((unsigned char)message[line] >= ' ')
		line++;
	len = sp_utf8_cut(message, line, PREFIX_MAX);
	if (len < line)
		while (len && message[len] != ' ')
			len--;
	if (!len)
		len = sp_utf8_cut(message, line, PREFIX_MAX);
	while (len && message[len - 1] == ' ')
		len--;
	prefix = strndup(message, len);
	return prefix;
}

static void add_entry(struct update *u, const char *pattern, const char *message,
		      const char *reason, const char *link, const char *expiry)
{
	char *prefix SP_FREE = prefix_of(message ? message : "");

	add_field(u->text, pattern);
	sp_buf_adds(u->text, " | ");
	add_field(u->text, prefix && *prefix ? prefix : "no message");
	sp_buf_adds(u->text, " | ");
	add_field(u->text, reason);
	if (*link || *expiry) {
		sp_buf_adds(u->text, " | ");
		add_field(u->text, link);
	}
	if (*expiry)
		sp_buf_addf(u->text, " | %s", expiry);
	sp_buf_addc(u->text, '\n');
}

/* ---- One entry ---- */

/* True when all that is known of an entry's cases is what it says. */
static bool still_true(const struct update *u, const struct sp_entry *e)
{
	for (size_t i = 0; i < u->baseline->n_cases; i++) {
		const struct sp_result_case *c = u->results[i];

		if (!c || !sp_entry_matches(e, u->baseline->cases[i]))
			continue;
		if (has_passed(c) || (has_failed(c) && !sp_entry_fits(e, c->message)))
			return false;
	}
	return true;
}

/* An entry that is no longer true becomes one of each of its cases that still fails. */
static void replace_entry(struct update *u, const struct sp_entry *e)
{
	const struct sp_baseline *b = u->baseline;
	size_t made = 0;

	for (size_t i = 0; i < b->n_cases; i++) {
		const struct sp_result_case *c = u->results[i];

		if (!sp_entry_matches(e, b->cases[i]) || (c && has_passed(c)))
			continue;
		/* One that fails as it did, or of which nothing is known, keeps its message. */
		add_entry(u, b->cases[i]->id, c && has_failed(c) ? c->message : e->message,
			  e->reason, e->link, e->expiry);
		made++;
	}
	if (made)
		u->changes.changed++;
	else
		u->changes.removed++;
}

/* Expired ones stay: setting another day is for people. */
static bool is_lost(const struct update *u, const struct sp_entry *e)
{
	const struct sp_entry *other = u->baseline->entries;

	if (!e->n_matches)
		return true;
	/* One of a pair that lists the same pattern. */
	for (; other < e; other++)
		if (!strcmp(other->pattern, e->pattern))
			return true;
	return false;
}

static void update_entry(struct update *u, const struct sp_entry *e, const char *line)
{
	if (is_lost(u, e)) {
		u->changes.removed++;
	} else if (e->n_matches <= SP_BASELINE_MAX_MATCHES && still_true(u, e)) {
		sp_buf_addf(u->text, "%s\n", line);
		u->changes.kept++;
	} else {
		replace_entry(u, e);
	}
}

static const struct sp_entry *entry_at(const struct sp_baseline *b, unsigned line)
{
	for (size_t i = 0; i < b->n_entries; i++)
		if (b->entries[i].line == line)
			return &b->entries[i];
	return NULL;
}

static bool is_listed(const struct sp_baseline *b, const struct sp_case_def *def)
{
	for (size_t i = 0; i < b->n_entries; i++)
		if (b->entries[i].n_matches && sp_entry_matches(&b->entries[i], def))
			return true;
	return false;
}

static void add_new(struct update *u)
{
	const struct sp_baseline *b = u->baseline;

	for (size_t i = 0; i < b->n_cases; i++) {
		const struct sp_result_case *c = u->results[i];

		if (!c || !has_failed(c) || is_listed(b, b->cases[i]))
			continue;
		add_entry(u, b->cases[i]->id, c->message, "not looked into yet", "", u->expiry);
		u->changes.added++;
	}
}

int sp_baseline_update(const struct sp_baseline *baseline, const struct sp_results_set *results,
		       int64_t now_ms, unsigned days, struct sp_buf *ret_text,
		       struct sp_baseline_changes *ret_changes)
{
	const struct sp_result_case **last SP_FREE = calloc(baseline->n_cases + 1, sizeof(*last));
	struct update u = {.baseline = baseline, .results = last, .text = ret_text};

	if (!last)
		return SP_INTERNAL;
	sp_format_day(now_ms + (int64_t)days * DAY_MS, u.expiry);
	collect(&u, results);
	for (size_t i = 0; i < baseline->n_lines; i++) {
		const struct sp_entry *e = entry_at(baseline, (unsigned)i + 1);

		if (e)
			update_entry(&u, e, baseline->lines[i]);
		else
			sp_buf_addf(ret_text, "%s\n", baseline->lines[i]);
	}
	add_new(&u);
	*ret_changes = u.changes;
	return ret_text->error;
}
