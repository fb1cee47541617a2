/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

#include <string.h>

/* Of one case; the dialogue has a budget of the whole page besides. */
#define FIELD_MAX (16 * 1024)
#define DIALOGUE_MAX (48 * 1024)
/* A case whose dialogue is no longer than this is shown unfolded, if it is among the first. */
#define UNFOLDED 3

bool sp_html_is_finding(enum sp_verdict verdict)
{
	return sp_verdict_is_bad(verdict) || verdict == SP_WARN;
}

static void add_chip(struct sp_buf *buf, const char *before, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(buf, "<span class=chip>%s", before);
	sp_html_line(buf, text, 80);
	sp_buf_adds(buf, "</span>");
}

static void add_head(struct sp_html *h, const struct sp_result_case *c, const char *label)
{
	struct sp_buf *buf = &h->out.buf;

	sp_buf_addf(buf, "<header><span class=\"chip v %s\"><i>%s</i>%s</span><h3><code>",
		    sp_html_class(c->verdict), sp_html_sign(c->verdict),
		    sp_html_verdict(c->verdict));
	sp_html_line(buf, c->id, 200);
	sp_buf_adds(buf, "</code></h3>");
	add_chip(buf, "", label);
	sp_buf_adds(buf, "<span class=chip>");
	sp_html_line(buf, c->suite, 40);
	sp_buf_addc(buf, ' ');
	sp_html_line(buf, c->clause, 40);
	sp_buf_addf(buf, ", %s</span></header>",
		    c->level && !strcmp(c->level, "SHOULD") ? "SHOULD" : "MUST");
}

static void add_side(struct sp_buf *buf, const char *class, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(buf, "<div class=%s><span class=lab>%s</span>", class, label);
	(void)sp_html_pre(buf, text, FIELD_MAX);
	sp_buf_adds(buf, "</div>");
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n' || !text[1];
	return lines;
}

static void add_dialogue(struct sp_html *h, const char *text, bool open)
{
	struct sp_buf *buf = &h->out.buf;
	size_t max = DIALOGUE_MAX < h->dialogue_left ? DIALOGUE_MAX : h->dialogue_left;

	if (!text || !*text)
		return;
	if (!max) {
		h->dialogues_omitted++;
		return;
	}
	sp_buf_addf(buf, "<details%s><summary>Dialogue, %zu lines</summary>", open ? " open" : "",
		    count_lines(text));
	h->dialogue_left -= sp_html_pre(buf, text, max);
	sp_buf_adds(buf, "</details>");
}

static void add_rest(struct sp_buf *buf, const struct sp_result_case *c)
{
	if (c->rerun && *c->rerun) {
		sp_buf_adds(buf, "<div class=again>");
		(void)sp_html_pre(buf, c->rerun, FIELD_MAX);
		sp_buf_adds(buf, "<button class=\"copy js-only\" type=button>Copy</button></div>");
	}
	sp_buf_adds(buf, "<p class=at>");
	if (c->file && *c->file) {
		sp_buf_adds(buf, "<code>");
		sp_html_line(buf, c->file, 200);
		sp_buf_addf(buf, ":%d</code> · ", c->line);
	}
	sp_html_duration(buf, c->duration_ms);
	sp_buf_addf(buf, " · worker %d", c->worker);
	if (c->attempt > 1)
		sp_buf_addf(buf, " · attempt %d", c->attempt);
	sp_buf_adds(buf, "</p>");
}

static void add_card(struct sp_html *h, size_t row, size_t subject, bool open)
{
	const struct sp_result_case *c = sp_model_cell(&h->model, row, subject);
	struct sp_buf *buf = &h->out.buf;

	sp_buf_addf(buf, "<article class=\"card %s\" id=f%zu-%zu>", sp_html_class(c->verdict), row,
		    subject);
	add_head(h, c, h->model.subjects[subject].label);
	sp_buf_adds(buf, "<p class=said>");
	sp_html_line(buf, c->message && *c->message ? c->message : "no message", 2000);
	sp_buf_adds(buf, "</p>");
	if ((c->expected && *c->expected) || (c->actual && *c->actual)) {
		sp_buf_adds(buf, "<div class=two>");
		add_side(buf, "want", "Expected", c->expected);
		add_side(buf, "got", "Actual", c->actual);
		sp_buf_adds(buf, "</div>");
	}
	add_dialogue(h, c->dialogue, open);
	add_rest(buf, c);
	sp_buf_adds(buf, "</article>\n");
	sp_out_pass(&h->out);
}

static void add_cards(struct sp_html *h, bool bad, size_t *shown)
{
	const struct sp_model *m = &h->model;

	for (size_t row = 0; row < m->n_rows; row++)
		for (size_t s = 0; s < m->n_subjects; s++) {
			const struct sp_result_case *c = sp_model_cell(m, row, s);

			if (c && sp_html_is_finding(c->verdict) &&
			    sp_verdict_is_bad(c->verdict) == bad)
				add_card(h, row, s, ++*shown <= UNFOLDED);
		}
}

static void add_leak(struct sp_buf *buf, const struct sp_result_leak *leak)
{
	sp_buf_adds(buf,
		    "<article class=\"card k\"><header><span class=\"chip v k\"><i>◇</i>leak</span>"
		    "<h3><code>");
	sp_html_line(buf, leak->id && *leak->id ? leak->id : "the whole run", 200);
	sp_buf_adds(buf, "</code></h3>");
	add_chip(buf, "", leak->kind);
	sp_buf_adds(buf, "</header><p class=said>");
	sp_html_line(buf, leak->message, 2000);
	sp_buf_adds(buf, "</p></article>\n");
}

static void add_leaks(struct sp_html *h)
{
	const struct sp_results_set *set = h->model.judged.set;

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *run = &set->runs[i];

		for (size_t l = 0; sp_judged_has(&h->model.judged, run) && l < run->n_leaks; l++) {
			add_leak(&h->out.buf, &run->leaks[l]);
			sp_out_pass(&h->out);
		}
	}
}

void sp_html_failures(struct sp_html *h)
{
	size_t shown = 0;

	sp_html_open(h, "failures", h->n_findings ? "Findings" : "No findings",
		     h->n_findings ? h->n_findings : SIZE_MAX);
	if (!h->n_findings)
		sp_buf_adds(
		    &h->out.buf,
		    "<p class=soft>Nothing failed, nothing was warned about, and nothing was "
		    "left behind.</p>");
	add_cards(h, true, &shown);
	add_leaks(h);
	add_cards(h, false, &shown);
	if (h->dialogues_omitted)
		sp_buf_addf(&h->out.buf,
			    "<p class=\"note w\">The dialogues of %zu more cases would have made "
			    "this page too "
			    "large; they are in the results file.</p>",
			    h->dialogues_omitted);
	sp_html_close(h);
}
