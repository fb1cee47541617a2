/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

#include <string.h>

/* ---- Subjects by clauses ---- */

/* Link to the card of the worst case of a clause. */
static void add_link(struct sp_html *h, size_t clause, size_t subject,
		     const struct sp_model_mark *mark)
{
	const struct sp_model_clause *c = &h->model.clauses[clause];

	for (size_t row = c->first; row < c->first + c->n; row++)
		if (sp_model_cell(&h->model, row, subject) == mark->witness) {
			sp_buf_addf(&h->out.buf, "<a href=#f%zu-%zu>", row, subject);
			return;
		}
}

static void add_title(struct sp_buf *buf, const struct sp_model_mark *mark)
{
	const char *between = "";

	sp_buf_adds(buf, " title=\"");
	for (size_t i = 0; i < SP_VERDICT_MAX_; i++) {
		enum sp_verdict verdict = sp_html_order[i];

		if (!mark->counts[verdict])
			continue;
		sp_buf_addf(buf, "%s%zu %s", between, mark->counts[verdict],
			    sp_html_verdict(verdict));
		between = ", ";
	}
	sp_buf_addc(buf, '"');
}

/* Cases with the worst verdict, of all cases of the clause. */
static void add_share(struct sp_buf *buf, const struct sp_model_mark *mark)
{
	if (mark->counts[mark->worst] == mark->n)
		sp_buf_addf(buf, "<small>%zu</small>", mark->n);
	else
		sp_buf_addf(buf, "<small>%zu/%zu</small>", mark->counts[mark->worst], mark->n);
}

static void add_mark(struct sp_html *h, size_t clause, size_t subject)
{
	struct sp_model_mark mark = sp_model_mark(&h->model, clause, subject);
	struct sp_buf *buf = &h->out.buf;
	bool link = mark.n && sp_html_is_finding(mark.worst);

	if (!mark.n) {
		sp_buf_adds(buf, "<td class=soft title=\"not selected\">·");
		return;
	}
	sp_buf_addf(buf, "<td class=\"v %s\"", sp_html_class(mark.worst));
	add_title(buf, &mark);
	sp_buf_addc(buf, '>');
	if (link)
		add_link(h, clause, subject, &mark);
	sp_buf_adds(buf, sp_html_sign(mark.worst));
	add_share(buf, &mark);
	sp_buf_adds(buf, link ? "</a>" : "");
}

static void add_key(struct sp_buf *buf)
{
	sp_buf_adds(buf, "<ul class=key>");
	for (size_t i = 0; i < SP_VERDICT_MAX_; i++) {
		sp_buf_adds(buf, "<li>");
		sp_html_badge(buf, sp_html_order[i]);
	}
	sp_buf_adds(
	    buf,
	    "<li>· not selected<li>The number: cases with the worst verdict, of all cases of the "
	    "clause.</ul>");
}

static void add_subject_heads(struct sp_html *h)
{
	for (size_t s = 0; s < h->model.n_subjects; s++) {
		sp_buf_adds(&h->out.buf, "<th scope=col><code>");
		sp_html_line(&h->out.buf, h->model.subjects[s].label, 60);
		sp_buf_adds(&h->out.buf, "</code></th>");
	}
}

/* One subject: a table would be one column, so each clause is a tile. */
static void add_tile(struct sp_html *h, size_t clause)
{
	struct sp_model_mark mark = sp_model_mark(&h->model, clause, 0);
	struct sp_buf *buf = &h->out.buf;
	bool link = mark.n && sp_html_is_finding(mark.worst);

	if (!mark.n) {
		sp_buf_adds(buf, "<li class=soft title=\"not selected\">");
		sp_html_line(buf, h->model.clauses[clause].clause, 80);
		sp_buf_adds(buf, " ·");
		return;
	}
	sp_buf_addf(buf, "<li class=\"v %s\"", sp_html_class(mark.worst));
	add_title(buf, &mark);
	sp_buf_addc(buf, '>');
	if (link)
		add_link(h, clause, 0, &mark);
	sp_html_line(buf, h->model.clauses[clause].clause, 80);
	sp_buf_addf(buf, " %s", sp_html_sign(mark.worst));
	add_share(buf, &mark);
	sp_buf_adds(buf, link ? "</a>" : "");
}

static void add_tiles(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<div class=\"panel pad tiles\">");
	for (size_t i = 0; i < m->n_suites; i++) {
		const struct sp_model_suite *suite = &m->suites[i];

		sp_buf_adds(buf, "<h3>");
		sp_html_line(buf, suite->suite, 80);
		sp_buf_adds(buf, "</h3><ul>");
		for (size_t c = suite->first; c < suite->first + suite->n; c++)
			add_tile(h, c);
		sp_buf_adds(buf, "</ul>\n");
		sp_out_pass(&h->out);
	}
	sp_buf_adds(buf, "</div>");
}

static void add_table(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<div class=panel><div class=scroll tabindex=0><table class=mx><thead><tr>"
			 "<th scope=col>clause</th>");
	add_subject_heads(h);
	sp_buf_adds(buf, "</tr></thead>\n");
	for (size_t i = 0; i < m->n_suites; i++) {
		const struct sp_model_suite *suite = &m->suites[i];

		sp_buf_adds(buf, "<tbody><tr><th class=g scope=rowgroup>");
		sp_html_line(buf, suite->suite, 80);
		sp_buf_addf(buf, "</th><td class=g colspan=%zu></td></tr>\n", m->n_subjects);
		for (size_t c = suite->first; c < suite->first + suite->n; c++) {
			sp_buf_adds(buf, "<tr><th scope=row>");
			sp_html_line(buf, m->clauses[c].clause, 80);
			sp_buf_adds(buf, "</th>");
			for (size_t s = 0; s < m->n_subjects; s++)
				add_mark(h, c, s);
			sp_buf_addc(buf, '\n');
			sp_out_pass(&h->out);
		}
		sp_buf_adds(buf, "</tbody>");
	}
	sp_buf_adds(buf, "</table></div></div>");
}

void sp_html_matrix(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	if (!m->n_clauses || !m->n_subjects)
		return;
	sp_html_open(h, "matrix", m->n_subjects > 1 ? "Clauses by subject" : "Clauses",
		     m->n_clauses);
	if (m->n_subjects > 1)
		add_table(h);
	else
		add_tiles(h);
	add_key(buf);
	sp_html_close(h);
}

/* ---- All cases ---- */

static void add_chips(struct sp_html *h)
{
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<div class=\"filter js-only\">");
	for (size_t i = 0; i < SP_VERDICT_MAX_; i++) {
		enum sp_verdict verdict = sp_html_order[i];

		if (h->counts[verdict])
			sp_buf_addf(
			    buf,
			    "<button type=button class=%s data-v=%s aria-pressed=false>%s %s "
			    "<small>%zu</small></button>",
			    sp_html_class(verdict), sp_html_class(verdict), sp_html_sign(verdict),
			    sp_html_verdict(verdict), h->counts[verdict]);
	}
	sp_buf_adds(buf, "<output id=count role=status></output></div>");
}

/* One subject: a line a case with its reason. */
static void add_single(struct sp_html *h, size_t row)
{
	const struct sp_result_case *c = sp_model_cell(&h->model, row, 0);
	struct sp_buf *buf = &h->out.buf;
	bool reason = c && c->message && *c->message && c->verdict != SP_PASS;

	if (!c)
		return;
	sp_buf_addf(buf, "<tr class=row><td class=\"v %s\"><i>%s</i>%s<td class=name>",
		    sp_html_class(c->verdict), sp_html_sign(c->verdict),
		    sp_html_verdict(c->verdict));
	if (sp_html_is_finding(c->verdict))
		sp_buf_addf(buf, "<a href=#f%zu-0>", row);
	sp_buf_adds(buf, "<code>");
	sp_html_text(buf, h->model.rows[row].id);
	sp_buf_adds(buf, sp_html_is_finding(c->verdict) ? "</code></a>" : "</code>");
	if (reason) {
		sp_buf_adds(buf, "<br><span class=why>");
		sp_html_line(buf, c->message, 240);
		sp_buf_adds(buf, "</span>");
	}
	sp_buf_adds(buf, "<td class=opt>");
	sp_html_line(buf, c->clause, 40);
	sp_buf_adds(buf, "<td class=num>");
	sp_html_duration(buf, c->duration_ms);
	sp_buf_addc(buf, '\n');
}

/* Several subjects: a line a case, a cell a subject. */
static void add_multiple(struct sp_html *h, size_t row)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	sp_buf_adds(buf, "<tr class=row><th scope=row><code>");
	sp_html_text(buf, m->rows[row].id);
	sp_buf_adds(buf, "</code>");
	for (size_t s = 0; s < m->n_subjects; s++) {
		const struct sp_result_case *c = sp_model_cell(m, row, s);

		if (!c) {
			sp_buf_adds(buf, "<td class=soft>·");
			continue;
		}
		sp_buf_addf(buf, "<td class=\"v %s\" title=%s>", sp_html_class(c->verdict),
			    sp_html_verdict(c->verdict));
		if (sp_html_is_finding(c->verdict))
			sp_buf_addf(buf, "<a href=#f%zu-%zu>", row, s);
		sp_buf_addf(buf, "%s<small>%lld</small>", sp_html_sign(c->verdict),
			    (long long)c->duration_ms);
		if (sp_html_is_finding(c->verdict))
			sp_buf_adds(buf, "</a>");
	}
	sp_buf_addc(buf, '\n');
}

static void add_suite(struct sp_html *h, const struct sp_model_suite *suite)
{
	const struct sp_model *m = &h->model;
	const struct sp_model_clause *first = &m->clauses[suite->first];
	struct sp_buf *buf = &h->out.buf;
	size_t columns = m->n_subjects > 1 ? m->n_subjects + 1 : 4, cases = 0;

	for (size_t c = 0; c < suite->n; c++)
		cases += first[c].n;
	if (!cases)
		return;
	sp_buf_addf(buf, "<tbody><tr><th class=g scope=rowgroup colspan=%zu>", columns);
	sp_html_line(buf, suite->suite, 80);
	sp_buf_addf(buf, " <span class=soft>%zu</span></th></tr>\n", cases);
	for (size_t c = 0; c < suite->n; c++)
		for (size_t row = first[c].first; row < first[c].first + first[c].n; row++) {
			if (m->n_subjects > 1)
				add_multiple(h, row);
			else
				add_single(h, row);
			sp_out_pass(&h->out);
		}
	sp_buf_adds(buf, "</tbody>");
}

void sp_html_cases(struct sp_html *h)
{
	const struct sp_model *m = &h->model;
	struct sp_buf *buf = &h->out.buf;

	if (!m->n_rows)
		return;
	sp_html_open(h, "cases", "All cases", m->n_rows);
	add_chips(h);
	sp_buf_adds(buf, "<div class=panel><div class=scroll tabindex=0>");
	if (m->n_subjects > 1) {
		sp_buf_adds(buf, "<table class=\"mx cs\"><thead><tr><th scope=col>case, and "
				 "milliseconds</th>");
		add_subject_heads(h);
		sp_buf_adds(buf, "</tr></thead>\n");
	} else {
		sp_buf_adds(buf, "<table class=\"cs one\"><thead><tr><th scope=col>verdict</th>"
				 "<th scope=col>case</th><th scope=col>clause</th>"
				 "<th scope=col class=num>time</th></tr></thead>\n");
	}
	for (size_t i = 0; i < m->n_suites; i++)
		add_suite(h, &m->suites[i]);
	sp_buf_adds(buf, "</table></div></div>");
	if (m->n_subjects > 1)
		sp_buf_adds(buf, "<ul class=key><li>The number beside a sign: milliseconds.</ul>");
	sp_html_close(h);
}
