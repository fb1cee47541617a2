/* SPDX-License-Identifier: MIT */
#include <reports/clauses.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <reports/model.h>
#include <reports/out.h>
#include <reports/xml.h>

/* Verdicts in the order in which they are told. */
static const enum sp_verdict told[] = {SP_FAIL,	 SP_ERROR, SP_XPASS, SP_WARN,
				       SP_XFAIL, SP_SKIP,  SP_PASS};

struct tally {
	size_t by[SP_EXERCISE_MAX_];
};

static struct tally tally_of(const struct sp_model *m, size_t subject)
{
	struct tally tally = {.by = {0}};

	for (size_t i = 0; i < m->n_clauses; i++)
		tally.by[sp_model_mark(m, i, subject).exercise]++;
	return tally;
}

static int open_both(const struct sp_results_set *set, const char *path, struct sp_model *m,
		     struct sp_out *out, struct sp_error *err)
{
	int rc = sp_model_make(set, m, err);

	return rc ? rc : sp_out_open(out, path, err);
}

/* ---- The table ---- */

/* "exercised: 1 fail, 5 pass" */
static void add_mark(struct sp_buf *buf, const struct sp_model_mark *mark)
{
	const char *between = ": ";

	sp_buf_adds(buf, sp_exercise_name(mark->exercise));
	for (size_t i = 0; i < SP_COUNT(told); i++) {
		if (!mark->counts[told[i]])
			continue;
		sp_buf_addf(buf, "%s%zu %s", between, mark->counts[told[i]],
			    sp_verdict_name(told[i]));
		between = ", ";
	}
}

static size_t columns(const char *text, size_t len)
{
	return sp_utf8_count(text, len);
}

/* Appends a cell and fills it up; the last one of a line stays as it is. */
static void add_cell(struct sp_buf *line, const char *text, size_t width, bool last)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	size_t used;

	sp_xml_clean(&clean, text, strlen(text));
	used = columns(sp_buf_str(&clean), clean.len);
	sp_buf_adds(line, sp_buf_str(&clean));
	sp_buf_inherit(line, &clean);
	if (!last)
		sp_buf_addf(line, "%*s", (int)(width > used ? width - used : 0) + 2, "");
}

/* Widths of the first column and of every subject's one. */
struct widths {
	size_t name, mark;
};

static void widen(size_t *width, size_t to)
{
	if (to > *width)
		*width = to;
}

/* An error of a text that is measured is one of `buf`, which it is for. */
static struct widths measure(const struct sp_model *m, struct sp_buf *buf)
{
	struct widths w = {.name = strlen("clause"), .mark = 0};

	for (size_t i = 0; i < m->n_subjects; i++)
		widen(&w.mark, columns(m->subjects[i].label, strlen(m->subjects[i].label)));
	for (size_t i = 0; i < m->n_clauses; i++) {
		widen(&w.name, strlen(m->clauses[i].suite) + 1 + strlen(m->clauses[i].clause));
		for (size_t s = 0; s < m->n_subjects; s++) {
			struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
			struct sp_model_mark mark = sp_model_mark(m, i, s);

			add_mark(&text, &mark);
			widen(&w.mark, text.len);
			sp_buf_inherit(buf, &text);
		}
	}
	return w;
}

static void add_clause_line(struct sp_buf *buf, const struct sp_model *m, size_t clause,
			    const struct widths *w)
{
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&name, "%s:%s", m->clauses[clause].suite, m->clauses[clause].clause);
	add_cell(buf, sp_buf_str(&name), w->name, !m->n_subjects);
	sp_buf_inherit(buf, &name);
	for (size_t s = 0; s < m->n_subjects; s++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_model_mark mark = sp_model_mark(m, clause, s);

		add_mark(&text, &mark);
		add_cell(buf, sp_buf_str(&text), w->mark, s + 1 == m->n_subjects);
		sp_buf_inherit(buf, &text);
	}
	sp_buf_addc(buf, '\n');
}

/* A header alone would leave the reader to guess. */
static void add_nothing(struct sp_buf *buf, const struct sp_model *m)
{
	sp_buf_adds(buf, "no case has a result here, so no clause is covered");
	if (m->n_defects)
		sp_buf_addf(buf,
			    ": this is a proof by `sandproof prove`, with %zu of %zu faults "
			    "caught. `sandproof report html=PATH` shows it",
			    sp_model_caught(m), m->n_defects);
	sp_buf_adds(buf, "; clauses are covered by results of `sandproof run`\n");
}

static void add_totals(struct sp_buf *buf, const struct sp_model *m)
{
	sp_buf_addc(buf, '\n');
	if (!m->n_subjects)
		add_nothing(buf, m);
	for (size_t s = 0; s < m->n_subjects; s++) {
		struct tally tally = tally_of(m, s);

		add_cell(buf, m->subjects[s].label, 0, true);
		sp_buf_addf(buf,
			    ": %zu of %zu clauses exercised, %zu skipped, %zu could not be judged, "
			    "%zu not selected\n",
			    tally.by[SP_EXERCISED], m->n_clauses, tally.by[SP_SKIPPED],
			    tally.by[SP_COULD_NOT], tally.by[SP_NOT_SELECTED]);
	}
	if (m->mixed)
		sp_buf_adds(buf, "these runs were judged by different requirement sets\n");
	if (m->total.interrupted)
		sp_buf_adds(buf, "a run was cut off or interrupted: not every case has a result\n");
}

int sp_clauses_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct widths w;
	int rc = open_both(set, path, &m, &out, err);

	if (rc)
		return rc;
	w = measure(&m, &out.buf);
	add_cell(&out.buf, "clause", w.name, !m.n_subjects);
	for (size_t s = 0; s < m.n_subjects; s++)
		add_cell(&out.buf, m.subjects[s].label, w.mark, s + 1 == m.n_subjects);
	sp_buf_addc(&out.buf, '\n');
	for (size_t i = 0; i < m.n_clauses; i++) {
		add_clause_line(&out.buf, &m, i, &w);
		sp_out_pass(&out);
	}
	add_totals(&out.buf, &m);
	return sp_out_close(&out, err);
}

/* ---- JSON ---- */

static void add_text(struct sp_buf *buf, const char *text)
{
	sp_buf_add_json(buf, text ? text : "", text ? strlen(text) : 0);
}

static void add_reason(struct sp_buf *buf, const struct sp_model_mark *mark)
{
	if (mark->exercise != SP_SKIPPED && mark->exercise != SP_COULD_NOT)
		return;
	sp_buf_adds(buf, ", \"reason\": ");
	add_text(buf, mark->witness->message);
}

static void add_clause_json(struct sp_buf *buf, const struct sp_model *m, size_t clause,
			    size_t subject)
{
	const struct sp_model_clause *c = &m->clauses[clause];
	struct sp_model_mark mark = sp_model_mark(m, clause, subject);
	const char *between = "";

	sp_buf_adds(buf, "{\"suite\": ");
	add_text(buf, c->suite);
	sp_buf_adds(buf, ", \"clause\": ");
	add_text(buf, c->clause);
	sp_buf_addf(buf, ", \"state\": \"%s\", \"cases\": {", sp_exercise_name(mark.exercise));
	for (int v = 0; v < SP_VERDICT_MAX_; v++) {
		if (!mark.counts[v])
			continue;
		sp_buf_addf(buf, "%s\"%s\": %zu", between, sp_verdict_name((enum sp_verdict)v),
			    mark.counts[v]);
		between = ", ";
	}
	sp_buf_addc(buf, '}');
	if (mark.n)
		sp_buf_addf(buf, ", \"worst\": \"%s\"", sp_verdict_name(mark.worst));
	add_reason(buf, &mark);
	sp_buf_addc(buf, '}');
}

static void add_subject_json(struct sp_out *out, const struct sp_model *m, size_t subject)
{
	struct sp_buf *buf = &out->buf;
	struct tally tally = tally_of(m, subject);

	sp_buf_adds(buf, "{\"subject\": ");
	add_text(buf, m->subjects[subject].label);
	sp_buf_addf(buf,
		    ", \"exercised\": %zu, \"skipped\": %zu, \"could_not\": %zu, "
		    "\"not_selected\": %zu, \"clauses\": [",
		    tally.by[SP_EXERCISED], tally.by[SP_SKIPPED], tally.by[SP_COULD_NOT],
		    tally.by[SP_NOT_SELECTED]);
	for (size_t i = 0; i < m->n_clauses; i++) {
		sp_buf_adds(buf, i ? ",\n  " : "\n  ");
		add_clause_json(buf, m, i, subject);
		sp_out_pass(out);
	}
	sp_buf_adds(buf, "]}");
}

int sp_clauses_json_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	int rc = open_both(set, path, &m, &out, err);

	if (rc)
		return rc;
	sp_buf_addf(&out.buf,
		    "{\"schema_version\": %d, \"suite_version\": ", SP_CLAUSES_SCHEMA_VERSION);
	add_text(&out.buf, set->n_runs ? set->runs[0].run.suite_version : "");
	sp_buf_adds(&out.buf, ", \"requirements_sha256\": ");
	add_text(&out.buf, set->n_runs ? set->runs[0].run.requirements_sha256 : "");
	sp_buf_addf(&out.buf, ", \"mixed\": %s, \"complete\": %s, \"subjects\": [",
		    m.mixed ? "true" : "false", m.total.interrupted ? "false" : "true");
	for (size_t s = 0; s < m.n_subjects; s++) {
		sp_buf_adds(&out.buf, s ? ",\n " : "\n ");
		add_subject_json(&out, &m, s);
	}
	sp_buf_adds(&out.buf, "\n]}\n");
	return sp_out_close(&out, err);
}
