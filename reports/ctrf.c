/* SPDX-License-Identifier: MIT */
#include <reports/ctrf.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/utf8.h>
#include <reports/judged.h>
#include <reports/out.h>
#include <reports/xml.h>

#define SPEC_VERSION "0.0.0"
#define TEXT_CEILING ((size_t)64 << 20)
/* Evidence of one test, of each kind; the results file holds all of it. */
#define TEXT_MAX (256 * 1024)

enum status { PASSED, FAILED, SKIPPED, STATUS_MAX };

static const char *const status_names[STATUS_MAX] = {"passed", "failed", "skipped"};

static enum status status_of(enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_PASS:
	case SP_WARN:
		return PASSED;
	case SP_SKIP:
	case SP_XFAIL:
		return SKIPPED;
	case SP_FAIL:
	case SP_XPASS:
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		return FAILED;
	}
	return FAILED;
}

/* Text as a JSON string, without terminals' commands and within bounds. */
static void add_text(struct sp_buf *buf, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	size_t len;

	text = text ? text : "";
	sp_xml_clean(&clean, text, strlen(text));
	len = sp_utf8_cut(sp_buf_str(&clean), clean.len, TEXT_MAX);
	if (len < clean.len) {
		size_t more = clean.len - len;

		clean.len = len;
		sp_buf_addf(&clean, "\n[%zu more bytes]", more);
	}
	sp_buf_add_json(buf, sp_buf_str(&clean), clean.len);
	sp_buf_inherit(buf, &clean);
}

static void add_member(struct sp_buf *buf, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(buf, ",\"%s\":", name);
	add_text(buf, text);
}

/* "a b" as ["a","b"]. */
static void add_tags(struct sp_buf *buf, const char *words)
{
	const char *between = ",\"tags\":[";

	for (words = words ? words : ""; *words;) {
		size_t len = strcspn(words, " ");

		if (len) {
			sp_buf_adds(buf, between);
			sp_buf_add_json(buf, words, len);
			between = ",";
		}
		words += len + (words[len] == ' ');
	}
	if (*between == ',' && !between[1])
		sp_buf_addc(buf, ']');
}

static void add_extra(struct sp_buf *buf, const struct sp_result_case *c)
{
	sp_buf_adds(buf, ",\"extra\":{\"clause\":");
	add_text(buf, c->clause);
	add_member(buf, "level", c->level);
	add_member(buf, "subject", c->subject);
	if (c->verdict == SP_WARN)
		sp_buf_adds(buf, ",\"warning\":true");
	if (c->attempt > 1)
		sp_buf_addf(buf, ",\"attempt\":%d", c->attempt);
	add_member(buf, "expected", c->expected);
	add_member(buf, "actual", c->actual);
	add_member(buf, "rerun", c->rerun);
	sp_buf_addc(buf, '}');
}

static void add_case(struct sp_buf *buf, const struct sp_result_case *c, const char *label)
{
	sp_buf_adds(buf, "{\"name\":");
	add_text(buf, c->id && *c->id ? c->id : "unnamed");
	sp_buf_addf(buf,
		    ",\"status\":\"%s\",\"duration\":%lld,\"start\":%lld,\"stop\":%lld,\"suite\":[",
		    status_names[status_of(c->verdict)], (long long)c->duration_ms,
		    (long long)c->start, (long long)(c->start + c->duration_ms));
	if (label) {
		add_text(buf, label);
		sp_buf_addc(buf, ',');
	}
	add_text(buf, c->suite && *c->suite ? c->suite : "unnamed");
	sp_buf_addf(buf, "],\"rawStatus\":\"%s\"", sp_verdict_name(c->verdict));
	add_member(buf, "message", c->message);
	add_member(buf, "trace", c->dialogue);
	add_tags(buf, c->tags);
	if (c->file && *c->file) {
		add_member(buf, "filePath", c->file);
		sp_buf_addf(buf, ",\"line\":%d", c->line);
	}
	sp_buf_addf(buf, ",\"threadId\":\"%d\"", c->worker);
	add_extra(buf, c);
	sp_buf_addc(buf, '}');
}

/* What is no case and fails all the same: a leak, or a run that is not whole. */
static void add_failure(struct sp_buf *buf, const char *prefix, const char *name, const char *suite,
			const char *raw, const char *message)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&whole, "%s%s", prefix, name);
	sp_buf_adds(buf, "{\"name\":");
	add_text(buf, sp_buf_str(&whole));
	sp_buf_inherit(buf, &whole);
	sp_buf_adds(buf, ",\"status\":\"failed\",\"duration\":0,\"suite\":[");
	add_text(buf, suite);
	sp_buf_addf(buf, "],\"rawStatus\":\"%s\"", raw);
	add_member(buf, "message", message);
	sp_buf_addc(buf, '}');
}

/* ---- The summary: it stands before the tests, so it is counted first ---- */

struct summary {
	size_t counts[STATUS_MAX], tests;
	int64_t start, stop;
};

static void count_run(struct summary *s, const struct sp_results *run)
{
	int64_t stop = run->run.start + run->end.duration_ms;

	for (size_t i = 0; i < run->n_cases; i++)
		s->counts[status_of(run->cases[i].verdict)]++;
	s->counts[FAILED] += run->n_leaks + (sp_run_trouble(run) != NULL);
	s->tests += run->n_cases + run->n_leaks + (sp_run_trouble(run) != NULL);
	if (!s->start || run->run.start < s->start)
		s->start = run->run.start;
	if (stop > s->stop)
		s->stop = stop;
}

static void add_summary(struct sp_buf *buf, const struct sp_judged *judged)
{
	const struct sp_results_set *set = judged->set;
	struct summary s = {.tests = 0};

	for (size_t i = 0; i < set->n_runs; i++)
		if (sp_judged_has(judged, &set->runs[i]))
			count_run(&s, &set->runs[i]);
	sp_buf_addf(buf,
		    "\"summary\":{\"tests\":%zu,\"passed\":%zu,\"failed\":%zu,\"skipped\":%zu,"
		    "\"pending\":0,\"other\":0,\"start\":%lld,\"stop\":%lld}",
		    s.tests, s.counts[PASSED], s.counts[FAILED], s.counts[SKIPPED],
		    (long long)s.start, (long long)s.stop);
}

/* What was judged, by what: one object a run. */
static void add_runs(struct sp_buf *buf, const struct sp_judged *judged)
{
	const struct sp_results_set *set = judged->set;
	const char *between = "";

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_result_run *run = &set->runs[i].run;

		if (!sp_judged_has(judged, &set->runs[i]))
			continue;
		sp_buf_addf(buf, "%s{\"subjects\":", between);
		add_text(buf, run->subjects);
		add_member(buf, "sandproof_version", run->program_version);
		add_member(buf, "suite_version", run->suite_version);
		add_member(buf, "requirements_sha256", run->requirements_sha256);
		add_member(buf, "host", run->host);
		add_member(buf, "defect", run->defect);
		sp_buf_addf(buf, ",\"seed\":\"%llu\",\"complete\":%s}",
			    (unsigned long long)run->seed,
			    sp_run_trouble(&set->runs[i]) ? "false" : "true");
		between = ",";
	}
}

static void add_head(struct sp_buf *buf, const struct sp_judged *judged)
{
	const struct sp_results_set *set = judged->set;
	const char *version = set->n_runs ? set->runs[0].run.program_version : "";
	char stamp[32] = "";

	sp_wall_format(set->n_runs ? set->runs[0].run.start : 0, stamp, sizeof(stamp));
	sp_buf_adds(buf, "{\"reportFormat\":\"CTRF\",\"specVersion\":\"" SPEC_VERSION "\"");
	add_member(buf, "timestamp", stamp);
	sp_buf_adds(buf,
		    ",\"generatedBy\":\"sandproof\",\"results\":{\"tool\":{\"name\":\"sandproof\"");
	add_member(buf, "version", version);
	sp_buf_adds(buf, "},");
	add_summary(buf, judged);
	sp_buf_adds(buf, ",\"environment\":{\"extra\":{\"runs\":[");
	add_runs(buf, judged);
	sp_buf_adds(buf, "]}},\"tests\":[");
}

static void add_run(struct sp_out *out, const struct sp_judged *judged,
		    const struct sp_results *run, const char **between)
{
	const char *trouble = sp_run_trouble(run);

	for (size_t i = 0; i < run->n_cases; i++, *between = ",\n") {
		sp_buf_adds(&out->buf, *between);
		add_case(&out->buf, &run->cases[i],
			 sp_judged_label(judged, run, run->cases[i].subject));
		sp_out_pass(out);
	}
	for (size_t i = 0; i < run->n_leaks; i++, *between = ",\n") {
		const struct sp_result_leak *leak = &run->leaks[i];
		const char *subject = NULL, *suite = sp_leak_suite(run, leak, &subject);

		sp_buf_adds(&out->buf, *between);
		add_failure(&out->buf, "leak.", leak->id && *leak->id ? leak->id : "run", suite,
			    "leak", leak->message);
		sp_out_pass(out);
	}
	if (trouble) {
		sp_buf_adds(&out->buf, *between);
		add_failure(&out->buf, "run.", "complete", "run", "error", trouble);
		*between = ",\n";
	}
}

int sp_ctrf_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_judged judged SP_CLEANUP(sp_judged_done) = {.set = NULL};
	const char *between = "\n";
	int rc = sp_judged_make(set, &judged, err);

	if (!rc)
		rc = sp_out_open(&out, path, err);
	if (rc)
		return rc;
	add_head(&out.buf, &judged);
	for (size_t i = 0; i < set->n_runs; i++)
		if (sp_judged_has(&judged, &set->runs[i]))
			add_run(&out, &judged, &set->runs[i], &between);
	sp_buf_adds(&out.buf, "\n]}}\n");
	return sp_out_close(&out, err);
}
