/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

#include <stdlib.h>
#include <errno.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <reports/index.h>

/* Names of one reason that are listed. */
#define NAMES_MAX 200

/* ---- Faults that cases were shown to catch ---- */

static void add_names(struct sp_buf *buf, const char *words, size_t max)
{
	size_t n = 0;

	for (; *words; n++) {
		size_t len = strcspn(words, " ");
		struct sp_buf word SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		if (n < max) {
			sp_buf_add(&word, words, len);
			sp_buf_adds(buf, n ? "<br><code>" : "<code>");
			sp_html_text(buf, sp_buf_str(&word));
			sp_buf_inherit(buf, &word);
			sp_buf_adds(buf, "</code>");
		}
		words += len;
		words += strspn(words, " ");
	}
	if (n > max)
		sp_buf_addf(buf, "<br><span class=soft>and %zu more</span>", n - max);
}

static void add_defect(struct sp_buf *buf, const struct sp_model_defect *d)
{
	bool caught = !strcmp(d->status, "caught"), green = !strcmp(d->status, "green");
	const char *class = caught ? "p" : green ? "f" : "s";

	sp_buf_addf(buf, "<tr class=row><td class=\"v %s\"><i>%s</i>%s<td><code>", class,
		    caught  ? "✓"
		    : green ? "✗"
			    : "○",
		    caught  ? "caught"
		    : green ? "not seen"
			    : "skipped");
	sp_html_text(buf, d->id);
	sp_buf_adds(buf, "</code><td>");
	add_names(buf, d->caught_by, 4);
	sp_buf_adds(buf, "<td class=why>");
	sp_html_line(buf, d->evidence, 200);
	sp_buf_addc(buf, '\n');
}

void sp_html_defects(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	if (!m->n_defects)
		return;
	sp_html_open(h, "defects", "Defects proven", m->n_defects);
	sp_buf_addf(buf,
		    "<p class=soft>Faults that were put in on purpose, to show that cases are able "
		    "to fail: %zu of "
		    "%zu were caught.</p><div class=panel><div class=scroll tabindex=0><table "
		    "class=cs><thead><tr>"
		    "<th scope=col>outcome</th><th scope=col>fault</th><th scope=col>caught by</th>"
		    "<th scope=col>what was seen</th></tr></thead><tbody>\n",
		    sp_model_caught(m), m->n_defects);
	for (size_t i = 0; i < m->n_defects; i++) {
		add_defect(buf, &m->defects[i]);
		sp_out_pass(&h->out);
	}
	sp_buf_adds(buf, "</tbody></table></div></div>");
	sp_html_close(h);
}

/* ---- Skips by reason ---- */

/* Cells of one reason, linked by index + 1; 0 ends a list. */
struct reasons {
	struct sp_index texts;
	size_t *first, *last, *counts;
	size_t *next;
};

static void reasons_done(struct reasons *r)
{
	sp_index_done(&r->texts);
	free(r->first);
	free(r->last);
	free(r->counts);
	free(r->next);
}

static bool is_skip(const struct sp_result_case *c)
{
	return c && (c->verdict == SP_SKIP || c->verdict == SP_XFAIL);
}

static bool collect(const struct sp_model *m, struct reasons *r)
{
	size_t n = m->n_rows * m->n_subjects, skips = 0;

	for (size_t i = 0; i < n; i++)
		skips += is_skip(m->cells[i]);
	r->first = calloc(skips + 1, sizeof(size_t));
	r->last = calloc(skips + 1, sizeof(size_t));
	r->counts = calloc(skips + 1, sizeof(size_t));
	r->next = calloc(n + 1, sizeof(size_t));
	if (!r->first || !r->last || !r->counts || !r->next)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at;

		if (!is_skip(m->cells[i]))
			continue;
		at = sp_index_put(&r->texts, m->cells[i]->message, NULL);
		if (at == SP_INDEX_NONE)
			return false;
		if (r->counts[at]++)
			r->next[r->last[at]] = i + 1;
		else
			r->first[at] = i + 1;
		r->last[at] = i;
	}
	return true;
}

static void add_group(struct sp_html *h, const struct reasons *r, size_t reason)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;
	size_t n = 0;

	sp_buf_addf(buf, "<details class=group><summary><b>%zu</b>", r->counts[reason]);
	sp_html_badge(buf, m->cells[r->first[reason] - 1]->verdict);
	sp_buf_addc(buf, ' ');
	sp_html_line(buf, *r->texts.keys[reason] ? r->texts.keys[reason] : "no reason", 400);
	sp_buf_adds(buf, "</summary><ul class=ids>");
	for (size_t at = r->first[reason]; at && n < NAMES_MAX; at = r->next[at - 1], n++) {
		sp_buf_adds(buf, "<li><code>");
		sp_html_text(buf, m->rows[(at - 1) / m->n_subjects].id);
		sp_buf_adds(buf, "</code>");
		if (m->n_subjects > 1) {
			sp_buf_adds(buf, " <span class=soft>");
			sp_html_line(buf, m->subjects[(at - 1) % m->n_subjects].label, 60);
			sp_buf_adds(buf, "</span>");
		}
	}
	if (r->counts[reason] > n)
		sp_buf_addf(buf, "<li class=soft>and %zu more", r->counts[reason] - n);
	sp_buf_adds(buf, "</ul></details>\n");
	sp_out_pass(&h->out);
}

/* Number of the largest group that is not shown yet; its count is cleared by the caller. */
static size_t largest(const size_t *order, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (order[i] > order[best])
			best = i;
	return best;
}

void sp_html_skips(struct sp_html *h)
{
	struct reasons r SP_CLEANUP(reasons_done) = {.texts = SP_INDEX_INIT};
	size_t *order SP_FREE = NULL, shown;

	if (!h->counts[SP_SKIP] && !h->counts[SP_XFAIL])
		return;
	if (collect(&h->model, &r))
		order = calloc(r.texts.len, sizeof(*order));
	if (!order) {
		sp_out_fail(&h->out, ENOMEM);
		return;
	}
	memcpy(order, r.counts, r.texts.len * sizeof(*order));
	sp_html_open(h, "skips", "Skipped, by reason", h->counts[SP_SKIP] + h->counts[SP_XFAIL]);
	sp_buf_adds(&h->out.buf, "<div class=panel>");
	shown = r.texts.len < NAMES_MAX ? r.texts.len : NAMES_MAX;
	for (size_t i = 0; i < shown; i++) {
		size_t at = largest(order, r.texts.len);

		add_group(h, &r, at);
		order[at] = 0;
	}
	if (shown < r.texts.len)
		sp_buf_addf(&h->out.buf, "<p class=\"group soft\">and %zu more reasons</p>",
			    r.texts.len - shown);
	sp_buf_adds(&h->out.buf, "</div>");
	sp_html_close(h);
}

/* ---- What was run ---- */

static void add_fact(struct sp_buf *buf, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(buf, "<dt>%s<dd>", name);
	sp_html_line(buf, text, 400);
	sp_buf_addc(buf, '\n');
}

static void add_run(struct sp_html *h, const struct sp_results *run)
{
	struct sp_buf *buf = &h->out.buf;
	const char *trouble = sp_run_trouble(run);
	char stamp[32] = "";

	sp_wall_format(run->run.start, stamp, sizeof(stamp));
	sp_buf_adds(buf, "<div class=run><dl class=runs>");
	add_fact(buf, "subjects", run->run.subjects);
	add_fact(buf, "fault applied", run->run.defect);
	add_fact(buf, "started", stamp);
	sp_buf_adds(buf, "<dt>took<dd>");
	sp_html_duration(buf, run->end.duration_ms);
	sp_buf_addf(buf, ", %u job%s", run->run.jobs, run->run.jobs == 1 ? "" : "s");
	if (run->end.commands)
		sp_buf_addf(buf, ", %llu commands", (unsigned long long)run->end.commands);
	if (trouble)
		sp_buf_addf(buf, "<dd class=\"v w\">%s", trouble);
	else
		sp_buf_addf(buf, "<dt>exit code<dd>%d", run->end.exit_code);
	sp_buf_addf(buf, "<dt>seed<dd>%llu\n", (unsigned long long)run->run.seed);
	add_fact(buf, "host", run->run.host);
	add_fact(buf, "sandproof", run->run.program_version);
	sp_buf_adds(buf, "<dt>requirements<dd>version ");
	sp_html_line(buf, run->run.suite_version, 40);
	sp_buf_adds(buf, ", SHA-256 <code>");
	sp_html_line(buf, run->run.requirements_sha256, 80);
	sp_buf_adds(buf, "</code>\n");
	add_fact(buf, "results", run->source);
	sp_buf_adds(buf, "</dl></div>");
	sp_out_pass(&h->out);
}

void sp_html_runs(struct sp_html *h)
{
	const struct sp_results_set *set = h->model.judged.set;
	size_t n = 0;

	for (size_t i = 0; i < set->n_runs; i++)
		n += sp_judged_has(&h->model.judged, &set->runs[i]);
	sp_html_open(h, "runs", n == 1 ? "Run" : "Runs", n == 1 ? SIZE_MAX : n);
	sp_buf_adds(&h->out.buf, "<div class=\"panel pad\">");
	for (size_t i = 0; i < set->n_runs; i++)
		if (sp_judged_has(&h->model.judged, &set->runs[i]))
			add_run(h, &set->runs[i]);
	sp_buf_adds(&h->out.buf, "</div>");
	sp_html_close(h);
}
