/* SPDX-License-Identifier: MIT */
#include <cli/plan_scope.h>

#include <string.h>

#include <base/cleanup.h>
#include <cli/suggest.h>

static bool has_subject(const struct run_plan *plan, enum sp_subject_kind kind)
{
	return cli_plan_spec(plan, kind) != NULL;
}

/* A lock that was named needs no store. */
unsigned plan_kinds_needed(const struct run_plan *plan, enum sp_subject_kind kind)
{
	switch (kind) {
	case SP_SUBJECT_LOCK:
		return has_subject(plan, kind) ? 1u << kind : 1u << SP_SUBJECT_STORE;
	case SP_SUBJECT_STORE:
		return 1u << SP_SUBJECT_STORE;
	case SP_SUBJECT_ENSURE:
		return 1u << SP_SUBJECT_PROVIDER | 1u << SP_SUBJECT_STORE;
	case SP_SUBJECT_PROVIDER:
	case SP_SUBJECT_JOURNAL:
	case SP_SUBJECT_PLATFORM:
	case SP_SUBJECT_KIND_MAX_:
		return 1u << SP_SUBJECT_PROVIDER;
	}
	return 0;
}

bool plan_serves(const struct run_plan *plan, const struct sp_suite *suite)
{
	unsigned needed = plan_kinds_needed(plan, suite->subject);

	for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		if (needed & 1u << kind && !has_subject(plan, kind))
			return false;
	/* Only some providers have a platform that can be reached. */
	if (suite->subject == SP_SUBJECT_PLATFORM)
		return !cli_spec_check(SP_SUBJECT_PLATFORM, cli_plan_provider(plan), NULL);
	/* A store that is a plugin need not bring a lock, and then there is none to be judged. */
	return suite->subject != SP_SUBJECT_LOCK || has_subject(plan, SP_SUBJECT_LOCK) ||
	       cli_spec_offers(SP_SUBJECT_LOCK, cli_plan_spec(plan, SP_SUBJECT_STORE));
}

/* ---- Words that take cases, of another run ---- */

/* Adds what a suite waits for: "a store; name one: --store SPEC". */
static void add_missing(const struct run_plan *plan, const struct sp_suite *suite,
			struct sp_buf *out)
{
	unsigned needed = plan_kinds_needed(plan, suite->subject);

	for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		const char *name = sp_subject_kind_name(kind);

		if (!(needed & 1u << kind) || has_subject(plan, kind))
			continue;
		sp_buf_addf(out, "a %s; name one: --%s SPEC", name, name);
		return;
	}
	if (suite->subject == SP_SUBJECT_LOCK)
		sp_buf_adds(out, "a lock, and this store brings none; name one: --lock SPEC");
	else
		sp_buf_adds(out, "a provider with a platform behind it: bash or render");
}

static bool word_is_served(const struct run_plan *plan, enum sp_topic topic, const char *word)
{
	for (size_t i = 0; i < plan->n_suites; i++) {
		const struct sp_suite *suite = plan->suites[i];

		if (topic == SP_TOPIC_SUITE && !strcmp(suite->name, word))
			return true;
		for (size_t c = 0; c < suite->n_cases; c++)
			if (sp_topic_fits(topic, word, suite, &suite->cases[c]))
				return true;
	}
	return false;
}

static int check_words(const struct run_plan *plan, enum sp_topic topic, const char *const *words,
		       size_t n, struct sp_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		const struct sp_suite *suite;

		if (word_is_served(plan, topic, words[i]) ||
		    !cli_word_fits(topic, words[i], &suite))
			continue;
		add_missing(plan, suite, &text);
		return sp_error_set(err, SP_INVALID,
				    "nothing of this run matches --%s \"%.80s\": the suite %s "
				    "needs %s",
				    cli_topic_name(topic), words[i], suite->name,
				    sp_buf_str(&text));
	}
	return 0;
}

int plan_check_served(const struct run_plan *plan, const struct sp_filter *filter,
		      struct sp_error *err)
{
	int rc = check_words(plan, SP_TOPIC_SUITE, filter->suites, filter->n_suites, err);

	if (!rc)
		rc = check_words(plan, SP_TOPIC_CASE, filter->cases, filter->n_cases, err);
	return rc ? rc : check_words(plan, SP_TOPIC_TAG, filter->tags, filter->n_tags, err);
}

/* ---- Subjects that no case is about ---- */

/* Kinds that cases of a suite are about, or stand on. */
static unsigned kinds_used(const struct run_plan *plan, const struct sp_suite *suite)
{
	unsigned used = plan_kinds_needed(plan, suite->subject) | 1u << suite->subject;

	return suite->subject == SP_SUBJECT_ENSURE ? used | 1u << SP_SUBJECT_LOCK : used;
}

char *plan_unjudged(const struct run_plan *plan, unsigned named, const struct sp_filter *filter)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_selection all = { NULL, NULL, 0 };
	struct sp_filter whole = *filter;

	whole.shard = whole.n_shards = 0;
	/* A filter that takes nothing is somebody else's to tell. */
	if (!sp_select(plan->suites, plan->n_suites, &whole, &all, NULL)) {
		for (size_t i = 0; i < all.len; i++)
			named &= ~kinds_used(plan, all.suites[i]);
		for (size_t i = 0; i < plan->n_subjects; i++)
			if (named & 1u << plan->subjects[i].kind)
				sp_buf_addf(&text, "%s%s %s", text.len ? ", " : "",
					    sp_subject_kind_name(plan->subjects[i].kind),
					    plan->shown[i]);
	}
	sp_selection_done(&all);
	return text.len ? sp_buf_take(&text, NULL) : strdup("");
}
