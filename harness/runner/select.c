/* SPDX-License-Identifier: MIT */
#include <runner/runner.h>

#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/glob.h>
#include <base/nearest.h>

#include "names.h"

/* A suite from a foreign plugin is checked like ours before anything of it is used. */
static int check_case(const struct sp_suite *suite, const struct sp_case_def *def,
		      struct sp_error *err)
{
	size_t len = strlen(suite->name);

	if (!def->id || strncmp(def->id, suite->name, len) || def->id[len] != '.')
		return sp_error_set(err, SP_INVALID,
				    "suite %s: the id of case %s has to begin with \"%s.\"",
				    suite->name, def->id ? def->id : "(none)", suite->name);
	if (!def->requirement || !def->clause || !def->run)
		return sp_error_set(err, SP_INVALID,
				    "case %s: requirement, clause and function are required",
				    def->id);
	return 0;
}

static int check_suite(const struct sp_suite *suite, struct sp_error *err)
{
	int rc = 0;

	if (!suite)
		return sp_error_set(err, SP_INVALID, "a suite is NULL");

	if (suite->version != SP_SUITE_VERSION)
		return sp_error_set(err, SP_INVALID,
				    "a suite has version %u and this program knows version %u",
				    suite->version, SP_SUITE_VERSION);
	if (!suite->name || !*suite->name || !suite->clauses_version)
		return sp_error_set(err, SP_INVALID, "a suite has no name or no clauses_version");
	if ((unsigned)suite->subject >= SP_SUBJECT_KIND_MAX_)
		return sp_error_set(err, SP_INVALID, "suite %s: there is no kind of subject %u",
				    suite->name, (unsigned)suite->subject);
	if (!suite->summary || (suite->n_cases && !suite->cases))
		return sp_error_set(err, SP_INVALID, "suite %s: summary and cases are required",
				    suite->name);
	for (size_t i = 0; !rc && i < suite->n_cases; i++)
		rc = check_case(suite, &suite->cases[i], err);
	return rc;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Every id and alias names one case, or a baseline and a re-run line would name two; and every name
 * one suite.
 */
static int check_unique(const struct sp_name_list *ids, const char *what, struct sp_error *err)
{
	const char **sorted SP_FREE = calloc(ids->len + 1, sizeof(*sorted));

	if (!sorted)
		return sp_error_set(err, SP_INTERNAL, "no memory");
	memcpy(sorted, ids->names, ids->len * sizeof(*sorted));
	qsort(sorted, ids->len, sizeof(*sorted), compare_texts);
	for (size_t i = 1; i < ids->len; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			return sp_error_set(err, SP_INVALID,
					    "the %s %s is there twice; names, ids and aliases "
					    "have to be unique",
					    what, sorted[i]);
	return 0;
}

static const char *const topic_names[] = { "suite", "case", "tag" };

static bool any_equal(const char *const *names, const char *word)
{
	for (; names && *names; names++)
		if (!strcmp(*names, word))
			return true;
	return false;
}

static bool any_match(const char *const *names, const char *glob)
{
	for (; names && *names; names++)
		if (sp_glob_match(glob, *names))
			return true;
	return false;
}

/* "kill:K1"; only a word with a colon, or "k*1" would be of clauses as well. */
static bool clause_matches(const char *glob, const struct sp_suite *suite,
			   const struct sp_case_def *def)
{
	struct sp_buf clause SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!strchr(glob, ':'))
		return false;
	sp_buf_addf(&clause, "%s:%s", suite->name, def->clause);
	return sp_glob_match(glob, sp_buf_str(&clause));
}

bool sp_topic_fits(enum sp_topic topic, const char *word, const struct sp_suite *suite,
		   const struct sp_case_def *def)
{
	switch (topic) {
	case SP_TOPIC_SUITE:
		return !strcmp(suite->name, word);
	case SP_TOPIC_CASE:
		return sp_glob_match(word, def->id) || any_match(def->aliases, word) ||
		       clause_matches(word, suite, def);
	case SP_TOPIC_TAG:
		return any_equal(def->tags, word);
	}
	return false;
}

static bool list_fits(enum sp_topic topic, const char *const *words, size_t n,
		      const struct sp_suite *suite, const struct sp_case_def *def)
{
	for (size_t i = 0; i < n; i++)
		if (sp_topic_fits(topic, words[i], suite, def))
			return true;
	return n == 0;
}

/* What a word of a topic could have been meant to be. */
static int collect(const struct sp_suite *const *suites, size_t n_suites, enum sp_topic topic,
		   struct sp_name_list *ret)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n_suites; i++) {
		if (topic == SP_TOPIC_SUITE)
			rc = sp_name_list_add(ret, suites[i]->name);
		for (size_t c = 0; !rc && topic != SP_TOPIC_SUITE && c < suites[i]->n_cases; c++) {
			const struct sp_case_def *def = &suites[i]->cases[c];

			if (topic == SP_TOPIC_CASE)
				rc = sp_name_list_add(ret, def->id);
			rc = rc ? rc
				: sp_name_list_add_all(ret, topic == SP_TOPIC_CASE ? def->aliases
										: def->tags);
		}
	}
	return rc;
}

char *sp_topic_nearest(const struct sp_suite *const *suites, size_t n_suites, enum sp_topic topic,
		       const char *word)
{
	struct sp_name_list names SP_CLEANUP(sp_name_list_done) = { 0 };

	return collect(suites, n_suites, topic, &names) ?
		       NULL :
		       sp_nearest(word, names.names, names.len);
}

static int no_match(const struct sp_suite *const *suites, size_t n_suites, enum sp_topic topic,
		    const char *word, struct sp_error *err)
{
	char *near SP_FREE = sp_topic_nearest(suites, n_suites, topic, word);

	if (near && *near)
		return sp_error_set(err, SP_INVALID, "no %s matches \"%s\"; nearest: %s",
				    topic_names[topic], word, near);
	return sp_error_set(err, SP_INVALID, "no %s matches \"%s\"; see `sandproof list`",
			    topic_names[topic], word);
}

static bool word_matches_any(const struct sp_suite *const *suites, size_t n_suites,
			     enum sp_topic topic, const char *word)
{
	for (size_t i = 0; i < n_suites; i++) {
		/* A suite without cases is still a suite. */
		if (topic == SP_TOPIC_SUITE && !strcmp(suites[i]->name, word))
			return true;
		for (size_t c = 0; c < suites[i]->n_cases; c++)
			if (sp_topic_fits(topic, word, suites[i], &suites[i]->cases[c]))
				return true;
	}
	return false;
}

static int check_words(const struct sp_suite *const *suites, size_t n_suites, enum sp_topic topic,
		       const char *const *words, size_t n, struct sp_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!word_matches_any(suites, n_suites, topic, words[i]))
			return no_match(suites, n_suites, topic, words[i], err);
	return 0;
}

/* FNV-1a: the shard of a case stays the same when others come and go. */
static uint64_t stable_hash(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	/* The low bits of FNV are weak for short differences. */
	return hash ^ hash >> 32;
}

static bool in_shard(const struct sp_filter *filter, const struct sp_case_def *def)
{
	return !filter->n_shards || stable_hash(def->id) % filter->n_shards == filter->shard - 1;
}

static bool selected(const struct sp_filter *filter, const struct sp_suite *suite,
		     const struct sp_case_def *def)
{
	return list_fits(SP_TOPIC_SUITE, filter->suites, filter->n_suites, suite, def) &&
	       list_fits(SP_TOPIC_CASE, filter->cases, filter->n_cases, suite, def) &&
	       list_fits(SP_TOPIC_TAG, filter->tags, filter->n_tags, suite, def);
}

int sp_suites_check(const struct sp_suite *const *suites, size_t n_suites, struct sp_error *err)
{
	struct sp_name_list names SP_CLEANUP(sp_name_list_done) = { 0 };
	struct sp_name_list ids SP_CLEANUP(sp_name_list_done) = { 0 };
	int rc = 0;

	for (size_t i = 0; !rc && i < n_suites; i++)
		rc = check_suite(suites[i], err);
	if (rc)
		return rc;
	if (collect(suites, n_suites, SP_TOPIC_SUITE, &names) ||
	    collect(suites, n_suites, SP_TOPIC_CASE, &ids))
		return sp_error_set(err, SP_INTERNAL, "no memory");
	rc = check_unique(&ids, "case id", err);
	return rc ? rc : check_unique(&names, "suite name", err);
}

static int check_input(const struct sp_suite *const *suites, size_t n_suites,
		       const struct sp_filter *filter, struct sp_error *err)
{
	int rc;

	if (filter->n_shards && (filter->shard < 1 || filter->shard > filter->n_shards))
		return sp_error_set(err, SP_INVALID,
				    "shard %u of %u does not exist; the first is 1", filter->shard,
				    filter->n_shards);
	rc = sp_suites_check(suites, n_suites, err);
	if (!rc)
		rc = check_words(suites, n_suites, SP_TOPIC_SUITE, filter->suites, filter->n_suites,
				 err);
	if (!rc)
		rc = check_words(suites, n_suites, SP_TOPIC_CASE, filter->cases, filter->n_cases,
				 err);
	if (!rc)
		rc = check_words(suites, n_suites, SP_TOPIC_TAG, filter->tags, filter->n_tags, err);
	return rc;
}

int sp_select(const struct sp_suite *const *suites, size_t n_suites, const struct sp_filter *filter,
	      struct sp_selection *ret_selection, struct sp_error *err)
{
	struct sp_selection selection SP_CLEANUP(sp_selection_done) = { 0 };
	size_t total = 0, matched = 0;
	int rc = check_input(suites, n_suites, filter, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n_suites; i++)
		total += suites[i]->n_cases;
	selection.cases = calloc(total + 1, sizeof(*selection.cases));
	selection.suites = calloc(total + 1, sizeof(*selection.suites));
	if (!selection.cases || !selection.suites)
		return sp_error_set(err, SP_INTERNAL, "no memory for the selection");
	for (size_t i = 0; i < n_suites; i++) {
		for (size_t c = 0; c < suites[i]->n_cases; c++) {
			const struct sp_case_def *def = &suites[i]->cases[c];

			if (!selected(filter, suites[i], def))
				continue;
			matched++;
			if (!in_shard(filter, def))
				continue;
			selection.cases[selection.len] = def;
			selection.suites[selection.len++] = suites[i];
		}
	}
	/* Each word matched something, but no case matched all of them. An empty shard is fine. */
	if (!matched)
		return sp_error_set(err, SP_INVALID, "no case fits all filters together");
	*ret_selection = selection;
	memset(&selection, 0, sizeof(selection));
	return 0;
}

void sp_selection_done(struct sp_selection *selection)
{
	free(selection->cases);
	free(selection->suites);
	memset(selection, 0, sizeof(*selection));
}
