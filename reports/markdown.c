/* SPDX-License-Identifier: MIT */
#include <reports/markdown.h>

#include <errno.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <reports/index.h>
#include <reports/model.h>
#include <reports/out.h>
#include <reports/xml.h>

#define TEXT_CEILING ((size_t)64 << 20)
/* Of one failure; a summary is for reading. */
#define TEXT_MAX 4000
/* Room for what is said about what was left out. */
#define TAIL 400

/* ---- Foreign text never stands where Markdown would read it ---- */

static size_t longest_run(const char *text, size_t len, char c)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < len; i++) {
		run = text[i] == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void add_ticks(struct sp_buf *buf, size_t n)
{
	while (n--)
		sp_buf_addc(buf, '`');
}

/* One line as a code span that also fits in a table's cell. */
static void add_code(struct sp_buf *buf, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	const char *at;
	size_t len, ticks;
	bool blank;

	text = text && *text ? text : "-";
	sp_xml_clean(&clean, text, strcspn(text, "\r\n"));
	sp_buf_inherit(buf, &clean);
	at = sp_buf_str(&clean);
	len = sp_utf8_cut(at, clean.len, 300);
	ticks = longest_run(at, len, '`') + 1;
	blank = ticks > 1 || !len;
	add_ticks(buf, ticks);
	sp_buf_adds(buf, blank ? " " : "");
	for (size_t i = 0; i < len; i++) {
		if (at[i] == '|')
			sp_buf_addc(buf, '\\');
		sp_buf_addc(buf, at[i]);
	}
	sp_buf_adds(buf, blank ? " " : "");
	add_ticks(buf, ticks);
}

/* Lines in a fence that none of them ends; of a long text the end is shown. */
static void add_fence(struct sp_buf *buf, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	const char *at;
	size_t len, ticks;

	sp_xml_clean(&clean, text, strlen(text));
	sp_buf_inherit(buf, &clean);
	at = sp_buf_str(&clean);
	len = clean.len;
	if (len > TEXT_MAX) {
		const char *from = memchr(at + len - TEXT_MAX, '\n', TEXT_MAX);

		from = from ? from + 1 : at + len - TEXT_MAX;
		while (((unsigned char)*from & 0xc0) == 0x80)
			from++;
		len -= (size_t)(from - at);
		at = from;
	}
	ticks = longest_run(at, len, '`') + 1;
	ticks = ticks < 3 ? 3 : ticks;
	add_ticks(buf, ticks);
	sp_buf_adds(buf, "text\n");
	if (len < clean.len)
		sp_buf_addf(buf, "[%zu bytes before this]\n", clean.len - len);
	sp_buf_add(buf, at, len);
	if (len && at[len - 1] != '\n')
		sp_buf_addc(buf, '\n');
	add_ticks(buf, ticks);
	sp_buf_addc(buf, '\n');
}

/* ---- Head ---- */

static const char *symbol(enum sp_verdict verdict)
{
	static const char *const symbols[SP_VERDICT_MAX_] = {
	    [SP_PASS] = "✅",	   [SP_FAIL] = "❌",  [SP_WARN] = "⚠️", [SP_SKIP] = "⏭️",
	    [SP_XFAIL] = "☑️", [SP_XPASS] = "❗", [SP_ERROR] = "💥",
	};

	return (unsigned)verdict < SP_VERDICT_MAX_ ? symbols[verdict] : "";
}

static void add_headline(struct sp_buf *buf, const struct sp_model *m)
{
	const struct sp_result_end *t = &m->total;
	size_t failed = t->failed + t->errors + t->xpassed;
	bool good = !failed && !t->interrupted && !t->leaks;
	/* Nothing that ran is nothing that passed. */
	enum sp_verdict mark = !good ? SP_FAIL : sp_result_executed(t) ? SP_PASS : SP_SKIP;

	sp_buf_addf(buf, "## %s sandproof: %zu failed, %zu passed, %zu skipped", symbol(mark),
		    failed, t->passed + t->warned, t->skipped + t->xfailed);
	if (t->leaks)
		sp_buf_addf(buf, ", %zu leaked", t->leaks);
	sp_buf_adds(buf, "\n\n");
	if (t->interrupted)
		sp_buf_adds(buf, "> **Incomplete:** a run was cut off or interrupted; not every "
				 "case has a result.\n\n");
	if (m->mixed)
		sp_buf_adds(
		    buf, "> **Mixed:** these runs were judged by different requirement sets.\n\n");
	if (m->n_defects)
		sp_buf_addf(buf,
			    "**Faults put in on purpose:** %zu of %zu were caught by a case "
			    "(`sandproof report html=report.html RESULTS` lists them).\n\n",
			    sp_model_caught(m), m->n_defects);
}

static void add_subjects(struct sp_buf *buf, const struct sp_model *m)
{
	if (!m->n_subjects)
		return;
	sp_buf_adds(buf,
		    "| subject | failed | errors | passed | warned | skipped | leaks | time |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < m->n_subjects; i++) {
		const struct sp_model_subject *s = &m->subjects[i];
		const size_t *n = s->counts;

		sp_buf_adds(buf, "| ");
		add_code(buf, s->label);
		sp_buf_addf(buf, " | %zu | %zu | %zu | %zu | %zu | %zu | %lld.%lld s |\n",
			    n[SP_FAIL] + n[SP_XPASS], n[SP_ERROR], n[SP_PASS], n[SP_WARN],
			    n[SP_SKIP] + n[SP_XFAIL], s->leaks, (long long)(s->busy_ms / 1000),
			    (long long)(s->busy_ms % 1000 / 100));
	}
	sp_buf_addc(buf, '\n');
}

/* ---- Failures ---- */

static void add_labelled(struct sp_buf *buf, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	sp_buf_addf(buf, "%s\n\n", label);
	add_fence(buf, text);
	sp_buf_addc(buf, '\n');
}

static void add_failure(struct sp_buf *buf, const struct sp_result_case *c, const char *label)
{
	sp_buf_addf(buf, "### %s ", symbol(c->verdict));
	add_code(buf, c->id);
	sp_buf_addf(buf, "\n\n%s · ", sp_verdict_name(c->verdict));
	add_code(buf, label);
	sp_buf_adds(buf, " · clause ");
	add_code(buf, c->clause);
	sp_buf_addf(buf, " (%s)\n\n", c->level && !strcmp(c->level, "SHOULD") ? "SHOULD" : "MUST");
	add_labelled(buf, "**What happened**", c->message);
	add_labelled(buf, "**Expected**", c->expected);
	add_labelled(buf, "**Actual**", c->actual);
	if (c->dialogue && *c->dialogue) {
		sp_buf_adds(buf, "<details><summary>Dialogue</summary>\n\n");
		add_fence(buf, c->dialogue);
		sp_buf_adds(buf, "\n</details>\n\n");
	}
	add_labelled(buf, "**Run again**", c->rerun);
}

/* What is written within a limit: each piece whole or not at all. */
struct budget {
	struct sp_out *out;
	size_t left, omitted;
};

static void add_piece(struct budget *b, const struct sp_buf *piece)
{
	sp_buf_inherit(&b->out->buf, piece);
	if (b->omitted || piece->len > b->left) {
		b->omitted++;
		return;
	}
	b->left -= piece->len;
	sp_buf_add(&b->out->buf, sp_buf_str(piece), piece->len);
	sp_out_pass(b->out);
}

/* The bad ones first, warnings after them. */
static void add_failures(struct budget *b, const struct sp_model *m, bool bad)
{
	for (size_t i = 0; i < m->n_rows * m->n_subjects; i++) {
		struct sp_buf piece SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
		const struct sp_result_case *c = m->cells[i];

		if (!c || (bad ? !sp_verdict_is_bad(c->verdict) : c->verdict != SP_WARN))
			continue;
		if (!b->omitted)
			add_failure(&piece, c, m->subjects[i % m->n_subjects].label);
		add_piece(b, &piece);
	}
}

static void add_leaks(struct budget *b, const struct sp_model *m)
{
	const struct sp_results_set *set = m->judged.set;

	for (size_t i = 0; i < set->n_runs; i++) {
		const struct sp_results *run = &set->runs[i];

		for (size_t l = 0; sp_judged_has(&m->judged, run) && l < run->n_leaks; l++) {
			struct sp_buf piece SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

			sp_buf_adds(&piece, "- 💧 left behind by ");
			add_code(&piece, run->leaks[l].id);
			sp_buf_adds(&piece, ": ");
			add_code(&piece, run->leaks[l].message);
			sp_buf_adds(&piece, "\n");
			add_piece(b, &piece);
		}
	}
}

/* ---- Skips ---- */

static void add_skips(struct budget *b, const struct sp_model *m)
{
	struct sp_index reasons SP_CLEANUP(sp_index_done) = SP_INDEX_INIT;
	struct sp_buf piece SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	size_t *counts SP_FREE = calloc(m->n_rows * m->n_subjects + 1, sizeof(*counts));

	for (size_t i = 0; counts && i < m->n_rows * m->n_subjects; i++) {
		const struct sp_result_case *c = m->cells[i];
		size_t at = SP_INDEX_NONE;

		if (c && (c->verdict == SP_SKIP || c->verdict == SP_XFAIL))
			at = sp_index_put(&reasons, c->message, NULL);
		else
			continue;
		if (at == SP_INDEX_NONE)
			sp_out_fail(b->out, ENOMEM);
		else
			counts[at]++;
	}
	if (!counts)
		sp_out_fail(b->out, ENOMEM);
	if (!reasons.len)
		return;
	sp_buf_adds(
	    &piece,
	    "\n<details><summary>Skipped, by reason</summary>\n\n| cases | reason |\n|--:|---|\n");
	for (size_t i = 0; i < reasons.len && piece.len < b->left; i++) {
		sp_buf_addf(&piece, "| %zu | ", counts[i]);
		add_code(&piece, reasons.keys[i]);
		sp_buf_adds(&piece, " |\n");
	}
	sp_buf_adds(&piece, "\n</details>\n");
	add_piece(b, &piece);
}

int sp_markdown_write_below(const struct sp_results_set *set, const char *path, size_t max,
			    struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct budget b = {.out = &out};
	int rc = sp_model_make(set, &m, err);

	if (!rc)
		rc = sp_out_open(&out, path, err);
	if (rc)
		return rc;
	add_headline(&out.buf, &m);
	add_subjects(&out.buf, &m);
	b.left = out.buf.len + TAIL < max ? max - out.buf.len - TAIL : 0;
	add_failures(&b, &m, true);
	add_leaks(&b, &m);
	add_failures(&b, &m, false);
	if (b.omitted)
		sp_buf_addf(
		    &out.buf,
		    "\n> %zu more findings did not fit into this summary; the results file and the "
		    "other "
		    "reports have all of them (`sandproof report html=report.html RESULTS`).\n",
		    b.omitted);
	else
		add_skips(&b, &m);
	return sp_out_close(&out, err);
}

int sp_markdown_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	return sp_markdown_write_below(set, path, SP_MARKDOWN_MAX_BYTES, err);
}
