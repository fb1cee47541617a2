/* SPDX-License-Identifier: MIT */
#include <reports/html.h>

#include <errno.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/sha256.h>
#include <reports/html_parts.h>

/* All dialogues together: a page of this size still opens. */
#define DIALOGUES_MAX ((size_t)8 << 20)

#define MARK                                                                                       \
	"<svg viewBox=\"0 0 24 24\" aria-hidden=true><path d=\"M12 1.8 3.4 5v6.4c0 5.2 3.5 9 8.6 " \
	"10.8 5.1-1.8 8.6-5.6 8.6-10.8V5z\" fill=none stroke=currentColor stroke-width=1.8 "       \
	"stroke-linejoin=round /><path d=\"m8 11.8 2.9 2.9 5.2-5.6\" fill=none "                   \
	"stroke=currentColor "                                                                     \
	"stroke-width=2 stroke-linecap=round stroke-linejoin=round /></svg>"

/* ---- Head ---- */

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* 'sha256-…' of the script, as a policy wants it: base64 of the bytes. */
static void add_script_hash(struct sp_html *h)
{
	struct sp_buf *buf = &h->out.buf;
	char hex[SP_SHA256_HEX];
	unsigned char bytes[32];

	if (sp_sha256_hex(sp_html_js, strlen(sp_html_js), hex)) {
		sp_out_fail(&h->out, ENOMEM);
		return;
	}
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
	sp_buf_adds(buf, "'sha256-");
	sp_buf_add_base64(buf, bytes, sizeof(bytes));
	sp_buf_adds(buf, "'");
}

static size_t n_failed(const struct sp_html *h)
{
	return h->counts[SP_FAIL] + h->counts[SP_ERROR] + h->counts[SP_XPASS];
}

/* What the whole came to, in one sentence. */
static void add_sentence(const struct sp_html *h, struct sp_buf *buf)
{
	const struct sp_result_end *total = &h->model.total;
	const char *what = h->model.n_subjects > 1 ? "results" : "cases";
	size_t failed = n_failed(h), ran = h->n_results - h->counts[SP_SKIP];

	if (failed)
		sp_buf_addf(buf, "%zu of %zu %s failed", failed, h->n_results, what);
	else if (sp_html_is_proof(h))
		sp_buf_addf(buf, "%zu of %zu faults caught", sp_model_caught(&h->model),
			    h->model.n_defects);
	else if (!h->n_results)
		sp_buf_adds(buf, "Nothing was run");
	else if (total->interrupted)
		sp_buf_addf(buf, "Incomplete: %zu %s, none failed", h->n_results, what);
	else if (!ran)
		sp_buf_addf(buf, "All %zu %s were skipped", h->n_results, what);
	else if (total->leaks)
		sp_buf_addf(buf, "None of %zu %s failed, %zu left something behind", ran, what,
			    total->leaks);
	else if (h->counts[SP_WARN] || h->counts[SP_XFAIL])
		sp_buf_addf(buf, "None of %zu %s failed", ran, what);
	else
		sp_buf_addf(buf, "All %zu %s that ran passed", ran, what);
}

static void add_head(struct sp_html *h)
{
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
			 "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
			 "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
			 "base-uri 'none'; "
			 "form-action 'none'; style-src 'unsafe-inline'; script-src ");
	add_script_hash(h);
	sp_buf_adds(buf, "\"><meta name=color-scheme content=\"light dark\"><title>sandproof: ");
	add_sentence(h, buf);
	sp_buf_adds(buf, "</title>\n<style>");
	sp_buf_adds(buf, sp_html_css);
	sp_buf_addf(buf, "</style></head>\n<body><a class=skip href=#%s>To the findings</a>\n",
		    sp_html_is_proof(h) ? "defects" : "failures");
}

static void add_note(struct sp_buf *buf, bool given, const char *text)
{
	if (given)
		sp_buf_addf(buf, "<p class=\"note w\">%s</p>", text);
}

static void add_facts(struct sp_html *h)
{
	const struct sp_results_set *set = h->model.judged.set;
	const struct sp_result_run *run = &set->runs[0].run;
	struct sp_buf *buf = &h->out.buf;
	char stamp[32] = "";

	sp_wall_format(run->start, stamp, sizeof(stamp));
	sp_buf_addf(buf,
		    "<div class=facts><span>%zu subject%s</span><span>%zu case%s</span>"
		    "<span>%zu clause%s</span><span>%.10s %.5s UTC</span><span>",
		    h->model.n_subjects, h->model.n_subjects == 1 ? "" : "s", h->model.n_rows,
		    h->model.n_rows == 1 ? "" : "s", h->model.n_clauses,
		    h->model.n_clauses == 1 ? "" : "s", stamp,
		    strlen(stamp) > 11 ? stamp + 11 : "");
	sp_html_duration(buf, h->model.total.duration_ms);
	sp_buf_adds(buf, "</span><span>requirement set ");
	sp_html_line(buf, run->suite_version, 40);
	sp_buf_adds(buf, " · <code>");
	sp_html_line(buf, run->requirements_sha256, 12);
	sp_buf_adds(buf, "</code></span></div>");
}

/* What the sign before the headline says. */
static enum sp_verdict outcome(const struct sp_html *h)
{
	const struct sp_result_end *total = &h->model.total;

	if (n_failed(h))
		return SP_FAIL;
	/* What nobody saw comes first. */
	if (sp_html_is_proof(h))
		return strcmp(h->model.defects[0].status, "green") ? SP_PASS : SP_FAIL;
	return total->interrupted || total->leaks || !h->n_results ? SP_WARN : SP_PASS;
}

static void add_cards(struct sp_html *h)
{
	struct sp_buf *buf = &h->out.buf;

	if (h->model.n_subjects < 2)
		return;
	sp_buf_adds(buf, "<ul class=cards>");
	for (size_t i = 0; i < h->model.n_subjects; i++) {
		const struct sp_model_subject *s = &h->model.subjects[i];
		size_t failed = s->counts[SP_FAIL] + s->counts[SP_ERROR] + s->counts[SP_XPASS];
		enum sp_verdict worst = failed ? SP_FAIL : s->counts[SP_WARN] ? SP_WARN : SP_PASS;

		sp_buf_adds(buf, "<li><h3><code>");
		sp_html_line(buf, s->label, 80);
		sp_buf_addf(buf,
			    "</code><span class=\"v %s\">%s<span class=vh>%s</span></span></h3>",
			    sp_html_class(worst), sp_html_sign(worst), sp_html_verdict(worst));
		sp_html_bar(buf, s->counts);
		sp_html_legend(buf, s->counts, s->leaks);
		sp_buf_adds(buf, "</li>\n");
	}
	sp_buf_adds(buf, "</ul>");
}

static void add_top(struct sp_html *h)
{
	const struct sp_results_set *set = h->model.judged.set;
	const struct sp_result_end *total = &h->model.total;
	struct sp_buf *buf = &h->out.buf;
	enum sp_verdict verdict = outcome(h);

	sp_buf_adds(
	    buf,
	    "<div class=\"wrap top\"><div class=brand>" MARK "<span>sandproof</span>"
	    "<div class=\"act js-only\"><button type=button id=help title=\"Keys "
	    "(?)\">Keys</button>"
	    "<button type=button id=theme title=\"Light or dark (t)\">Dark</button></div></div>");
	sp_buf_addf(buf, "<h1><span class=\"v %s\">%s</span> ", sp_html_class(verdict),
		    sp_html_sign(verdict));
	add_sentence(h, buf);
	sp_buf_adds(buf, "</h1>");
	if (set->n_runs)
		add_facts(h);
	add_note(buf, sp_html_is_proof(h),
		 "This is a proof by sandproof prove: faults were put in on purpose, and no result "
		 "of a case is in it. Results of sandproof run have cases and clauses.");
	add_note(buf, total->interrupted,
		 "A run was cut off or interrupted: not every case has a result.");
	add_note(buf, h->model.mixed,
		 "These runs were judged by different requirement sets, and merged all the same.");
	add_note(
	    buf, set->n_runs && h->model.judged.faults_only,
	    "A fault was applied on purpose: these failures show that cases are able to fail.");
	sp_buf_adds(buf, "<div class=total>");
	sp_html_bar(buf, h->counts);
	sp_html_legend(buf, h->counts, total->leaks);
	sp_buf_adds(buf, "</div>");
	add_cards(h);
	sp_buf_adds(buf, "</div>\n");
}

static void add_link(struct sp_buf *buf, bool given, const char *id, const char *name, size_t count)
{
	if (!given)
		return;
	sp_buf_addf(buf, "<li><a href=#%s>%s", id, name);
	if (count != SIZE_MAX)
		sp_buf_addf(buf, " <span class=n>%zu</span>", count);
	sp_buf_adds(buf, "</a>");
}

static void add_nav(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;
	size_t skips = h->counts[SP_SKIP] + h->counts[SP_XFAIL];

	sp_buf_adds(buf, "<nav aria-label=Sections><div class=wrap><ul>");
	add_link(buf, !sp_html_is_proof(h), "failures", "Findings", h->n_findings);
	add_link(buf, m->n_clauses && m->n_subjects, "matrix", "Clauses", m->n_clauses);
	add_link(buf, m->n_defects, "defects", "Defects", m->n_defects);
	add_link(buf, skips, "skips", "Skips", skips);
	add_link(buf, h->n_results, "timeline", "Timeline", SIZE_MAX);
	add_link(buf, h->n_results, "durations", "Durations", SIZE_MAX);
	add_link(buf, m->n_rows, "cases", "Cases", m->n_rows);
	add_link(buf, true, "runs", "Runs", SIZE_MAX);
	sp_buf_adds(
	    buf, "</ul><div class=\"search js-only\"><label class=vh for=search>Search cases and "
		 "findings</label>"
		 "<input type=search id=search placeholder=\"Search cases ( / )\" autocomplete=off "
		 "spellcheck=false></div></div></nav>\n<main class=wrap>\n");
}

static void add_foot(struct sp_html *h)
{
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(
	    buf, "</main>\n<footer><div class=wrap>Made by sandproof " SP_VERSION
		 " from the results alone. "
		 "<span class=js-only>Press <kbd>?</kbd> for keys.</span></div></footer>\n"
		 "<dialog id=keys aria-labelledby=keyst><h3 id=keyst>Keys</h3><dl>"
		 "<dt><kbd>/</kbd><dd>search<dt><kbd>Esc</kbd><dd>clear search and filter"
		 "<dt><kbd>j</kbd> <kbd>k</kbd><dd>next, previous "
		 "finding<dt><kbd>o</kbd><dd>unfold its dialogue"
		 "<dt><kbd>t</kbd><dd>light or dark<dt><kbd>?</kbd><dd>this list</dl>"
		 "<form method=dialog><button autofocus>Close</button></form></dialog>\n<script>");
	sp_buf_adds(buf, sp_html_js);
	sp_buf_adds(buf, "</script></body></html>\n");
}

/* ---- The page ---- */

static void count(struct sp_html *h)
{
	const struct sp_model *m = &h->model;

	for (size_t i = 0; i < m->n_rows * m->n_subjects; i++) {
		if (!m->cells[i])
			continue;
		h->counts[m->cells[i]->verdict]++;
		h->n_results++;
		h->n_findings += sp_html_is_finding(m->cells[i]->verdict);
	}
	h->n_findings += m->total.leaks;
}

static void add_page(struct sp_html *h)
{
	add_head(h);
	add_top(h);
	add_nav(h);
	if (!sp_html_is_proof(h))
		sp_html_failures(h);
	sp_html_matrix(h);
	sp_html_defects(h);
	sp_html_skips(h);
	sp_html_timeline(h);
	sp_html_durations(h);
	sp_html_cases(h);
	sp_html_runs(h);
	add_foot(h);
}

static void html_done(struct sp_html *h)
{
	sp_out_done(&h->out);
	sp_model_done(&h->model);
}

int sp_html_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_html h SP_CLEANUP(html_done) = {.out = SP_OUT_INIT,
						  .dialogue_left = DIALOGUES_MAX};
	int rc = sp_model_make(set, &h.model, err);

	if (!rc)
		rc = sp_out_open(&h.out, path, err);
	if (rc)
		return rc;
	count(&h);
	add_page(&h);
	return sp_out_close(&h.out, err);
}
