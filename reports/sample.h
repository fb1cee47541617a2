/* SPDX-License-Identifier: MIT */
/* Results for the tests of reports: every verdict, and texts that want to break out of whatever
 * they are put in. */
#ifndef SP_REPORTS_SAMPLE_H
#define SP_REPORTS_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <results/results.h>

#define SAMPLE_CASE(id_, clause_, level_, verdict_, message_, ...)                                 \
	{                                                                                          \
		.id = (char *)id_, .suite = (char *)"kill", .clause = (char *)clause_,             \
		.level = (char *)level_, .subject = (char *)"bash", .verdict = verdict_,           \
		.message = (char *)message_, .duration_ms = 12, .start = 1796036400100,            \
		.attempt = 1, .file = (char *)"suites/kill/kill.c", .line = 42,                    \
		.tags = (char *)"quick slow", __VA_ARGS__                                          \
	}

/* First line of a run. */
#define SAMPLE_RUN                                                                                 \
	{                                                                                          \
		.schema_version = 1, .program_version = (char *)"0.1.0",                           \
		.suite_version = (char *)"1",                                                      \
		.requirements_sha256 = (char *)"0123456789abcdef0123456789abcdef0123456789abcdef"  \
					       "0123456789abcdef",                                 \
		.subjects = (char *)"provider=bash", .host = (char *)"host", .seed = 7,            \
		.start = 1796036400000, .jobs = 2,                                                 \
		.clauses = (char *)"kill:K1 kill:K2 kill:K3 kill:K4",                              \
	}

/* One case of each verdict, in the order of their numbers. */
SP_UNUSED static struct sp_result_case sample_cases[SP_VERDICT_MAX_] = {
    [SP_PASS] = SAMPLE_CASE("kill.a.pass", "K1", "MUST", SP_PASS, "", .worker = 1),
    [SP_FAIL] = SAMPLE_CASE("kill.b.fail", "K2", "MUST", SP_FAIL, "it lives\nstill",
			    .expected = (char *)"nothing", .actual = (char *)"pid 7",
			    .dialogue = (char *)"exec \"a\"\n  -> code 0\n",
			    .rerun = (char *)"sandproof run --case kill.b.fail"),
    [SP_WARN] = SAMPLE_CASE("kill.c.warn", "K1", "SHOULD", SP_WARN, "slow to die", ),
    [SP_SKIP] = SAMPLE_CASE("kill.d.skip", "K3", "MUST", SP_SKIP, "needs control", ),
    [SP_XFAIL] = SAMPLE_CASE("kill.e.xfail", "K2", "MUST", SP_XFAIL,
			     "known failure: #7 (list:3)\nit lives", ),
    [SP_XPASS] = SAMPLE_CASE("kill.f.xpass", "K2", "MUST", SP_XPASS,
			     "passes, and list:4 lists it: remove that line", ),
    [SP_ERROR] = SAMPLE_CASE("kill.g.error", "K2", "MUST", SP_ERROR, "no disk left", ),
};

/* What a case left behind. */
SP_UNUSED static struct sp_result_leak sample_leaks[] = {
    {(char *)"kill.a.pass", (char *)"process", (char *)"pid 9 (sh) was left"},
};

/* Texts that are put into every field. */
SP_UNUSED static const char *const sample_hostile[] = {
    "a\x01"
    "b\x0b"
    "c\x1f\x7f",
    "\x1b[31;1mred\x1b[0m \x1b]0;title\a \x1b",
    "a\xff\xc3( \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xef\xbf\xbe\xef\xbf\xbf",
    "]]> <![CDATA[ --> <!-- </pre></script><script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1> \" ' ` onmouseover=window.broken=1 &amp; &#0;",
    "# SKIP no \\# # TODO\nok 99 - forged\n  ---\n  forged: yes\n  ...\nBail out! forged\n1..0",
    "| a | b |\n```\n</details>\n# forged\n``` ``",
    "\r\n\t lines \xe2\x80\xa8 of \xc2\x85 all \xe2\x80\xae kinds",
    "  blanks first\n\ttab",
    "%s%n%d ${HOME} $(id) `id` {{x}}",
};
#define SAMPLE_N_HOSTILE (sizeof(sample_hostile) / sizeof(sample_hostile[0]))

/* A case whose every text is `text`. */
static inline struct sp_result_case sample_hostile_case(const char *text, enum sp_verdict verdict)
{
	char *t = (char *)text;

	return (struct sp_result_case){
	    .id = t,
	    .suite = t,
	    .subject = t,
	    .clause = t,
	    .level = t,
	    .verdict = verdict,
	    .message = t,
	    .file = t,
	    .line = 1,
	    .tags = t,
	    .expected = t,
	    .actual = t,
	    .dialogue = t,
	    .rerun = t,
	    .attempt = 1,
	    .start = 1796036400000,
	    .duration_ms = 3,
	};
}

/* A set of one run in memory, and a folder for what is made of it. */
struct sample {
	struct sp_results run;
	struct sp_results_set set;
	char *dir;
	char path[256];
};

/* Opens it around cases; the folder is new. */
static inline void sample_open(struct sample *s, struct sp_result_case *cases, size_t n_cases)
{
	struct sp_error err = SP_ERROR_INIT;

	*s = (struct sample){
	    .run = {.run = SAMPLE_RUN,
		    .cases = cases,
		    .n_cases = n_cases,
		    .complete = true,
		    .end = {.duration_ms = 500, .exit_code = 1},
		    .source = "results.ndjson"},
	};
	for (size_t i = 0; i < n_cases; i++)
		s->run.end.passed += cases[i].verdict == SP_PASS;
	s->set = (struct sp_results_set){.runs = &s->run, .n_runs = 1};
	if (sp_tmp_dir("report-", &s->dir, &err))
		abort();
	snprintf(s->path, sizeof(s->path), "%s/report", s->dir);
}

/* Removes the folder. */
static inline void sample_close(struct sample *s)
{
	sp_remove_tree(s->dir);
	free(s->dir);
}

/* What stands in a file now; malloc'ed, NULL when it is not there. */
static inline char *sample_read(const char *path)
{
	struct sp_bytes bytes = SP_BYTES_INIT;

	return sp_read_file(path, (size_t)256 << 20, &bytes, NULL) ? NULL : (char *)bytes.data;
}

#endif
