/* SPDX-License-Identifier: MIT */
#include <cli/suggest.h>

#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <cli/registry.h>
#include <cli/select.h>
#include <cli/text.h>

static const enum sp_topic topics[] = { SP_TOPIC_SUITE, SP_TOPIC_CASE, SP_TOPIC_TAG };

const char *cli_topic_name(enum sp_topic topic)
{
	switch (topic) {
	case SP_TOPIC_SUITE:
		return "suite";
	case SP_TOPIC_CASE:
		return "case";
	case SP_TOPIC_TAG:
		return "tag";
	}
	return "";
}

static const struct sp_suite *find_suite(const char *name, size_t len)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	for (size_t i = 0; i < n; i++)
		if (strlen(suites[i]->name) == len && !strncmp(suites[i]->name, name, len))
			return suites[i];
	return NULL;
}

bool cli_word_fits(enum sp_topic topic, const char *word, const struct sp_suite **ret_suite)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);
	/* A suite without cases is still a suite. */
	const struct sp_suite *found =
		topic == SP_TOPIC_SUITE ? find_suite(word, strlen(word)) : NULL;

	for (size_t i = 0; i < n && !found; i++)
		for (size_t c = 0; c < suites[i]->n_cases && !found; c++)
			if (sp_topic_fits(topic, word, suites[i], &suites[i]->cases[c]))
				found = suites[i];
	if (found && ret_suite)
		*ret_suite = found;
	return found != NULL;
}

static void add_option(struct sp_buf *out, const char *option, const char *value)
{
	sp_buf_addf(out, "--%s ", option);
	cli_text_word(out, value);
}

/* "exec,fs" as words of their own, where each of them is one. */
static bool add_parts(enum sp_topic topic, const char *word, struct sp_buf *out)
{
	char *copy SP_FREE = strdup(word), *rest = copy;
	struct sp_buf said SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!copy || !strchr(word, ','))
		return false;
	for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ",")) {
		if (!cli_word_fits(topic, part, NULL))
			return false;
		sp_buf_addc(&said, ' ');
		add_option(&said, cli_topic_name(topic), part);
	}
	sp_buf_addf(out, "; one at a time:%s", sp_buf_str(&said));
	return true;
}

/* "it is a suite: --suite exec", for a word that is something else than it was given for. */
static bool add_other(const enum sp_topic *than, const char *word, struct sp_buf *out)
{
	static const char *const what[] = { "a suite", "of cases", "a tag" };

	for (size_t i = 0; i < SP_COUNT(topics); i++) {
		if ((than && topics[i] == *than) || !cli_word_fits(topics[i], word, NULL))
			continue;
		sp_buf_addf(out, "; it is %s: ", what[topics[i]]);
		add_option(out, cli_topic_name(topics[i]), word);
		return true;
	}
	return false;
}

/* Each clause once, in the order of the cases. */
static void add_clauses(const struct sp_suite *suite, struct sp_buf *out)
{
	struct cli_list said SP_CLEANUP(cli_list_done) = { NULL, 0 };

	sp_buf_addf(out, "; the clauses of %s:", suite->name);
	for (size_t i = 0; i < suite->n_cases; i++) {
		const char *clause = suite->cases[i].clause;
		bool twice = false;

		for (size_t k = 0; k < said.len && !twice; k++)
			twice = !strcmp(said.items[k], clause);
		if (twice || cli_list_add(&said, clause))
			continue;
		sp_buf_addf(out, "%s %s", said.len > 1 ? "," : "", clause);
	}
}

void cli_suggest_family(const char *word, struct sp_buf *out)
{
	size_t len = strcspn(word, ".: ");
	const struct sp_suite *suite = word[len] ? find_suite(word, len) : NULL;

	if (suite && word[len] == '.')
		sp_buf_addf(out, "; see `sandproof list --suite %s`", suite->name);
	else if (suite)
		add_clauses(suite, out);
}

/* Names of the topic that look like the word. */
static bool add_near(enum sp_topic topic, const char *word, struct sp_buf *out)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);
	char *near SP_FREE = sp_topic_nearest(suites, n, topic, word);

	if (near && *near)
		sp_buf_addf(out, "; the nearest: %s", near);
	return near && *near;
}

static int unknown_word(enum sp_topic topic, const char *word, struct sp_error *err)
{
	struct sp_buf hint SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!add_parts(topic, word, &hint) && !add_other(&topic, word, &hint) &&
	    !add_near(topic, word, &hint)) {
		if (topic == SP_TOPIC_CASE)
			cli_suggest_family(word, &hint);
		if (!hint.len)
			sp_buf_adds(&hint, "; see `sandproof list`");
	}
	if (topic == SP_TOPIC_SUITE)
		return sp_error_set(err, SP_INVALID, "unknown suite \"%.80s\"%s", word,
				    sp_buf_str(&hint));
	return sp_error_set(err, SP_INVALID, "no %s matches \"%.80s\"%s", cli_topic_name(topic),
			    word, sp_buf_str(&hint));
}

int cli_check_words(enum sp_topic topic, const struct cli_list *words, struct sp_error *err)
{
	for (size_t i = 0; i < words->len; i++)
		if (!cli_word_fits(topic, words->items[i], NULL))
			return unknown_word(topic, words->items[i], err);
	return 0;
}

static bool has_option(const struct cli_command *self, const char *name)
{
	for (size_t i = 0; i < self->n_options; i++)
		if (!strcmp(self->options[i].name, name))
			return true;
	return false;
}

static bool is_spec(enum sp_subject_kind kind, const char *word)
{
	return !cli_spec_check(kind, word, NULL);
}

/* "--suite kill" for "kil"; the first of those that are near. */
static void suggest_near(const struct cli_command *self, const char *word, struct sp_buf *out)
{
	const char *option = "suite";
	char *near SP_FREE = NULL;
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	if (has_option(self, option)) {
		near = sp_topic_nearest(suites, n, SP_TOPIC_SUITE, word);
	} else if (has_option(self, "defect")) {
		option = "defect";
		near = cli_nearest_fault(word);
	}
	if (!near || !*near)
		return;
	near[strcspn(near, ",")] = '\0';
	sp_buf_adds(out, "; the nearest: ");
	add_option(out, option, near);
}

static void suggest_option(const struct cli_command *self, const char *word, struct sp_buf *out)
{
	const char *option = NULL, *what = NULL;

	if (has_option(self, "suite") && add_other(NULL, word, out))
		return;
	if (has_option(self, "provider") && is_spec(SP_SUBJECT_PROVIDER, word)) {
		option = "provider";
		what = "provider";
	} else if (has_option(self, "store") && is_spec(SP_SUBJECT_STORE, word)) {
		option = "store";
		what = "store";
	} else if (has_option(self, "defect") && cli_fault_find(word)) {
		option = "defect";
		what = "fault";
	}
	if (!option) {
		suggest_near(self, word, out);
		return;
	}
	sp_buf_addf(out, "; it is a %s: ", what);
	add_option(out, option, word);
}

bool cli_loose_word(const struct cli_command *self, const struct cli_list *words)
{
	struct sp_buf hint SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!words->len)
		return false;
	suggest_option(self, words->items[0], &hint);
	cli_say("error: \"%s\" is one argument too many%s", words->items[0], sp_buf_str(&hint));
	fprintf(stderr, "see `sandproof %s --help`\n", self->name);
	return true;
}
