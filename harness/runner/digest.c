/* SPDX-License-Identifier: MIT */
#include <runner/runner.h>

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
