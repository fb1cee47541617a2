/* SPDX-License-Identifier: MIT */
#include <runner/runner.h>

#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/sha256.h>

#define ALL_CEILING (64UL * 1024 * 1024)

/* Each text with its length before it, so that no two sets of texts have one form. */
static void add(struct sp_buf *buf, const char *text)
{
	sp_buf_addf(buf, "%zu:%s", strlen(text), text);
}

void sp_requirements_digest(const struct sp_suite *const *suites, size_t n_suites, char ret_hex[65])
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ALL_CEILING);

	add(&buf, SP_REQUIREMENTS_VERSION);
	for (size_t i = 0; i < n_suites; i++) {
		add(&buf, suites[i]->name);
		add(&buf, suites[i]->clauses_version);
		for (size_t c = 0; c < suites[i]->n_cases; c++) {
			const struct sp_case_def *def = &suites[i]->cases[c];

			add(&buf, def->id);
			add(&buf, def->clause);
			add(&buf, def->level == SP_MUST ? "MUST" : "SHOULD");
			add(&buf, def->requirement);
		}
	}
	if (buf.error || sp_sha256_hex(sp_buf_str(&buf), buf.len, ret_hex))
		memset(ret_hex, 0, 65);
}

/* "suite:clause" once, whatever the number of its cases. */
static void add_clauses(struct sp_buf *buf, const struct sp_suite *suite)
{
	for (size_t c = 0; c < suite->n_cases; c++) {
		const char *clause = suite->cases[c].clause;
		size_t before = 0;

		while (before < c && strcmp(suite->cases[before].clause, clause))
			before++;
		if (before == c)
			sp_buf_addf(buf, "%s%s:%s", buf->len ? " " : "", suite->name, clause);
	}
}

void sp_run_requirements(const struct sp_run_options *o, char ret_hex[65], struct sp_buf *clauses)
{
	const struct sp_suite **own SP_FREE = calloc(o->selection.len + 1, sizeof(*own));
	const struct sp_suite *const *suites = o->suites ? o->suites : own;
	size_t n = o->suites ? o->n_suites : 0;

	/* Cases come suite by suite. */
	for (size_t i = 0; !o->suites && own && i < o->selection.len; i++)
		if (!n || own[n - 1] != o->selection.suites[i])
			own[n++] = o->selection.suites[i];
	sp_requirements_digest(suites, n, ret_hex);
	for (size_t i = 0; i < n; i++)
		add_clauses(clauses, suites[i]);
}
