/* SPDX-License-Identifier: MIT */
#include <reports/tap.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <reports/judged.h>
#include <reports/out.h>
#include <reports/xml.h>

#define TEXT_CEILING ((size_t)64 << 20)
/* Evidence of one point; the results file holds all of it. */
#define TEXT_MAX (64 * 1024)
#define DIRECTIVE_MAX 300

void sp_tap_begin(struct sp_buf *buf)
{
	sp_buf_adds(buf, "TAP version 14\n");
}

/* One line of description or of a directive's reason: '#' and '\' are special there. */
static void add_inline(struct sp_buf *buf, const char *text, size_t max)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	size_t len;

	text = text ? text : "";
	sp_xml_clean(&clean, text, strcspn(text, "\r\n"));
	len = sp_utf8_cut(sp_buf_str(&clean), clean.len, max);
	sp_buf_inherit(buf, &clean);
	for (const char *p = sp_buf_str(&clean); p < sp_buf_str(&clean) + len; p++) {
		if (*p == '#' || *p == '\\')
			sp_buf_addc(buf, '\\');
		sp_buf_addc(buf, *p == '\t' ? ' ' : *p);
	}
}

/* A member of the YAML block. A JSON string is a YAML one. */
static void add_yaml(struct sp_buf *buf, const char *name, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	size_t len;

	if (!text || !*text)
		return;
	sp_xml_clean(&clean, text, strlen(text));
	len = sp_utf8_cut(sp_buf_str(&clean), clean.len, TEXT_MAX);
	sp_buf_inherit(buf, &clean);
	sp_buf_addf(buf, "  %s: ", name);
	sp_buf_add_json(buf, sp_buf_str(&clean), len);
	sp_buf_addc(buf, '\n');
	if (len < clean.len)
		sp_buf_addf(buf, "  %s_cut: %zu\n", name, clean.len - len);
}

/* The dialogue as a literal block, line by line as it was. */
static void add_literal(struct sp_buf *buf, const char *name, const char *text)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	const char *at;
	size_t left;

	if (!text || !*text)
		return;
	/* Blanks before the first line would set the block's indentation, and not every reader
	 * knows the sign against that. */
	if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') {
		add_yaml(buf, name, text);
		return;
	}
	sp_xml_clean(&clean, text, strlen(text));
	sp_buf_inherit(buf, &clean);
	at = sp_buf_str(&clean);
	left = sp_utf8_cut(at, clean.len, TEXT_MAX);
	sp_buf_addf(buf, "  %s: |\n", name);
	while (left) {
		size_t line = strcspn(at, "\r\n");

		line = line < left ? line : left;
		sp_buf_adds(buf, "    ");
		sp_buf_add(buf, at, line);
		sp_buf_addc(buf, '\n');
		line += line < left;
		at += line;
		left -= line;
	}
	if (at < sp_buf_str(&clean) + clean.len)
		sp_buf_addf(buf, "    [%zu more bytes]\n",
			    (size_t)(sp_buf_str(&clean) + clean.len - at));
}

static void add_block(struct sp_buf *buf, const struct sp_result_case *c)
{
	sp_buf_adds(buf, "  ---\n");
	add_yaml(buf, "message", c->message);
	sp_buf_addf(buf, "  severity: %s\n",
		    c->verdict == SP_ERROR  ? "error"
		    : c->verdict == SP_WARN ? "warning"
					    : "fail");
	add_yaml(buf, "clause", c->clause);
	add_yaml(buf, "level", c->level);
	add_yaml(buf, "subject", c->subject);
	add_yaml(buf, "expected", c->expected);
	add_yaml(buf, "actual", c->actual);
	if (c->file && *c->file) {
		add_yaml(buf, "file", c->file);
		sp_buf_addf(buf, "  line: %d\n", c->line);
	}
	sp_buf_addf(buf, "  duration_ms: %lld\n", (long long)c->duration_ms);
	add_yaml(buf, "rerun", c->rerun);
	add_literal(buf, "dialogue", c->dialogue);
	sp_buf_adds(buf, "  ...\n");
}

static void add_point(struct sp_buf *buf, bool ok, size_t number, const char *before,
		      const char *id, const char *label)
{
	sp_buf_addf(buf, "%s %zu - %s", ok ? "ok" : "not ok", number, before);
	add_inline(buf, id && *id ? id : "unnamed", SIZE_MAX);
	if (label) {
		sp_buf_adds(buf, " [");
		add_inline(buf, label, SIZE_MAX);
		sp_buf_addc(buf, ']');
	}
}

static void add_directive(struct sp_buf *buf, const char *directive, const char *reason)
{
	sp_buf_addf(buf, " # %s ", directive);
	add_inline(buf, reason && *reason ? reason : "no reason", DIRECTIVE_MAX);
	sp_buf_addc(buf, '\n');
}

void sp_tap_case(struct sp_buf *buf, size_t number, const struct sp_result_case *c,
		 const char *label)
{
	bool ok = c->verdict == SP_PASS || c->verdict == SP_WARN || c->verdict == SP_SKIP;

	add_point(buf, ok, number, "", c->id, label);
	switch (c->verdict) {
	case SP_PASS:
		sp_buf_addc(buf, '\n');
		break;
	case SP_SKIP:
		add_directive(buf, "SKIP", c->message);
		break;
	case SP_XFAIL:
		add_directive(buf, "TODO", c->message);
		break;
	case SP_WARN:
	case SP_FAIL:
	case SP_XPASS:
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		sp_buf_addc(buf, '\n');
		add_block(buf, c);
		break;
	}
}

void sp_tap_leak(struct sp_buf *buf, size_t number, const struct sp_result_leak *leak)
{
	add_point(buf, false, number, "leak.", leak->id && *leak->id ? leak->id : "run", NULL);
	sp_buf_adds(buf, "\n  ---\n");
	add_yaml(buf, "message", leak->message);
	sp_buf_adds(buf, "  severity: leak\n");
	add_yaml(buf, "kind", leak->kind);
	sp_buf_adds(buf, "  ...\n");
}

void sp_tap_end(struct sp_buf *buf, size_t points, const char *trouble)
{
	if (trouble) {
		sp_buf_adds(buf, "Bail out! ");
		add_inline(buf, trouble, DIRECTIVE_MAX);
		sp_buf_addc(buf, '\n');
		return;
	}
	sp_buf_addf(buf, "1..%zu%s\n", points, points ? "" : " # no case was selected");
}

/* ---- The report ---- */

static const char *add_run(struct sp_out *out, const struct sp_judged *judged,
			   const struct sp_results *run, size_t *points)
{
	for (size_t i = 0; i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];

		sp_tap_case(&out->buf, ++*points, c, sp_judged_label(judged, run, c->subject));
		sp_out_pass(out);
	}
	for (size_t i = 0; i < run->n_leaks; i++)
		sp_tap_leak(&out->buf, ++*points, &run->leaks[i]);
	return sp_run_trouble(run);
}

int sp_tap_write(const struct sp_results_set *set, const char *path, struct sp_error *err)
{
	struct sp_out out SP_CLEANUP(sp_out_done) = SP_OUT_INIT;
	struct sp_judged judged SP_CLEANUP(sp_judged_done) = {.set = NULL};
	const char *trouble = NULL;
	size_t points = 0;
	int rc = sp_judged_make(set, &judged, err);

	if (!rc)
		rc = sp_out_open(&out, path, err);
	if (rc)
		return rc;
	sp_tap_begin(&out.buf);
	for (size_t i = 0; i < set->n_runs; i++) {
		const char *why = sp_judged_has(&judged, &set->runs[i])
				      ? add_run(&out, &judged, &set->runs[i], &points)
				      : NULL;

		trouble = trouble ? trouble : why;
	}
	sp_tap_end(&out.buf, points, trouble);
	return sp_out_close(&out, err);
}
