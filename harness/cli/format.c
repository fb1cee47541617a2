/* SPDX-License-Identifier: MIT */
/* The console's texts, without any state. */
#include <cli/console.h>

#include <string.h>

#include <base/cleanup.h>

/* Foreign text of any length becomes at most this much; the results file holds all of it. */
#define FOREIGN_CEILING (4 * 1024 * 1024)
/* Columns: the verdict, then labels of evidence. */
#define INDENT 6
#define LABEL 11
/* A dialogue's line off a terminal; on one its width counts. */
#define DIALOGUE_COLUMNS 160
/* Cells of the bar. */
#define BAR 20

struct cli_totals cli_totals_of(const struct sp_result_end *end)
{
	return (struct cli_totals){
		.passed = end->passed + end->warned,
		.failed = end->failed + end->errors + end->xpassed,
		.skipped = end->skipped + end->xfailed,
	};
}

/* "3 failed", in an ink only when there are any. */
static void add_count(struct sp_buf *out, const struct cli_style *style, enum cli_ink ink,
		      size_t count, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "%zu %s", count, what);
	cli_text_ink(out, style, count ? ink : CLI_PLAIN, text);
}

void cli_format_totals(struct sp_buf *out, const struct cli_style *style,
		       const struct cli_totals *totals)
{
	add_count(out, style, CLI_GREEN, totals->passed, "passed");
	sp_buf_adds(out, ", ");
	add_count(out, style, CLI_RED, totals->failed, "failed");
	sp_buf_adds(out, ", ");
	add_count(out, style, CLI_YELLOW, totals->skipped, "skipped");
}

void cli_format_duration(struct sp_buf *out, int64_t ms)
{
	long long n = ms < 0 ? 0 : ms;

	if (n < 1000)
		sp_buf_addf(out, "%lld ms", n);
	else if (n < 60000)
		sp_buf_addf(out, "%lld.%lld s", n / 1000, n % 1000 / 100);
	else
		sp_buf_addf(out, "%lld min %lld s", n / 60000, n % 60000 / 1000);
}

/* Foreign text below a label; its further lines stand under the first. */
static void add_field(struct sp_buf *out, const struct cli_style *style, const char *label,
		      const char *text)
{
	struct sp_buf safe SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FOREIGN_CEILING);
	const char *line;

	if (!text || !*text)
		return;
	cli_text_safe(&safe, text);
	sp_buf_addf(out, "%*s", INDENT, "");
	cli_text_ink(out, style, CLI_DIM, label);
	sp_buf_addf(out, "%*s", LABEL - (int)strlen(label), "");
	line = sp_buf_str(&safe);
	for (;;) {
		size_t len = strcspn(line, "\n");

		sp_buf_add(out, line, len);
		sp_buf_addc(out, '\n');
		if (!line[len] || !line[len + 1])
			return;
		line += len + 1;
		sp_buf_addf(out, "%*s", INDENT + LABEL, "");
	}
}

/* Start of the last `max` lines, and how many are left out. */
static const char *last_lines(const char *text, size_t max, size_t *ret_omitted)
{
	size_t lines = 0, omit;

	for (const char *p = text; *p; p++)
		lines += *p == '\n' || !p[1];
	omit = max && lines > max ? lines - max : 0;
	*ret_omitted = omit;
	for (; omit; omit--)
		text = strchr(text, '\n') + 1;
	return text;
}

static void add_dialogue(struct sp_buf *out, const struct cli_style *style, const char *dialogue,
			 size_t max_lines, const char *results_path)
{
	struct sp_buf safe SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FOREIGN_CEILING);
	const char *bar = style->utf8 ? "│ " : "| ", *line;
	size_t columns = style->width > 60 ? style->width - INDENT - 3 : DIALOGUE_COLUMNS;
	size_t omitted;

	if (!dialogue || !*dialogue)
		return;
	cli_text_safe(&safe, dialogue);
	line = last_lines(sp_buf_str(&safe), max_lines, &omitted);
	if (omitted)
		sp_buf_addf(out, "%*s%s(%zu earlier lines are in %s)\n", INDENT, "", bar, omitted,
			    results_path ? results_path : "the results");
	while (*line) {
		size_t len = strcspn(line, "\n");
		char *one SP_FREE = strndup(line, len);

		sp_buf_addf(out, "%*s", INDENT, "");
		cli_text_ink(out, style, CLI_DIM, bar);
		cli_text_cut(out, style, one ? one : "", columns);
		sp_buf_addc(out, '\n');
		line += len + (line[len] == '\n');
	}
}

static enum cli_ink verdict_ink(enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_PASS:
		return CLI_GREEN;
	case SP_WARN:
	case SP_SKIP:
	case SP_XFAIL:
		return CLI_YELLOW;
	case SP_FAIL:
	case SP_XPASS:
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		return CLI_RED;
	}
	return CLI_PLAIN;
}

static const char *verdict_label(enum sp_verdict verdict)
{
	static const char *const labels[SP_VERDICT_MAX_] = {
		[SP_PASS] = "pass",	[SP_FAIL] = "FAIL",   [SP_WARN] = "WARN",
		[SP_SKIP] = "skip",	[SP_XFAIL] = "xfail", [SP_XPASS] = "XPASS",
		[SP_ERROR] = "ERROR",
	};

	return (unsigned)verdict < SP_VERDICT_MAX_ ? labels[verdict] : "?";
}

static void add_heading(struct sp_buf *out, const struct cli_style *style,
			const struct sp_result_case *result)
{
	const char *label = verdict_label(result->verdict);
	struct sp_buf place SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cli_text_ink(out, style, verdict_ink(result->verdict), label);
	sp_buf_addf(out, "%*s", INDENT - (int)strlen(label), "");
	cli_text_ink(out, style, CLI_BOLD, result->id ? result->id : "(no case)");
	sp_buf_addf(&place, "  %s %s, %s", result->suite ? result->suite : "",
		    result->clause ? result->clause : "", result->level ? result->level : "");
	cli_text_ink(out, style, CLI_DIM, sp_buf_str(&place));
	sp_buf_addc(out, '\n');
}

void cli_format_result(struct sp_buf *out, const struct cli_style *style,
		       const struct sp_result_case *result, const char *requirement,
		       size_t max_lines, const char *results_path)
{
	struct sp_buf place SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_heading(out, style, result);
	add_field(out, style, "must", requirement);
	add_field(out, style, "but", result->message);
	add_field(out, style, "expected", result->expected);
	add_field(out, style, "actual", result->actual);
	if (result->file && *result->file) {
		sp_buf_addf(&place, "%s:%d", result->file, result->line);
		add_field(out, style, "at", sp_buf_str(&place));
	}
	add_dialogue(out, style, result->dialogue, max_lines, results_path);
	add_field(out, style, "again", result->rerun);
}

void cli_format_leak(struct sp_buf *out, const struct cli_style *style,
		     const struct sp_result_leak *leak)
{
	cli_text_ink(out, style, CLI_YELLOW, "LEAK");
	sp_buf_addf(out, "%*s", INDENT - 4, "");
	cli_text_ink(out, style, CLI_BOLD, leak->id && *leak->id ? leak->id : "(whole run)");
	sp_buf_addf(out, "  %s: ", leak->kind ? leak->kind : "");
	cli_text_safe(out, leak->message ? leak->message : "");
	sp_buf_addc(out, '\n');
}

/* ---- The block on a terminal ---- */

/* A running clock: a unit that does not change from one frame to the next. */
static void add_clock(struct sp_buf *out, int64_t ms)
{
	if (ms < 60000)
		sp_buf_addf(out, "%lld.%lld s", (long long)ms / 1000, (long long)ms % 1000 / 100);
	else
		cli_format_duration(out, ms);
}

/* What is left if the rest takes as long as what is done, in whole seconds. */
static void add_estimate(struct sp_buf *out, int64_t elapsed_ms, size_t done, size_t total)
{
	int64_t left = elapsed_ms * (int64_t)(total - done) / (int64_t)done / 1000 + 1;

	if (left < 60)
		sp_buf_addf(out, ", about %lld s left", (long long)left);
	else
		sp_buf_addf(out, ", about %lld min left", (long long)(left + 59) / 60);
}

/* Appends a finished line so that it never wraps: what does not fit goes. */
static void add_line(struct sp_buf *out, const struct cli_style *style, enum cli_ink ink,
		     const struct sp_buf *line)
{
	struct sp_buf cut SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cli_text_cut(&cut, style, sp_buf_str(line), style->width ? style->width - 1 : 79);
	cli_text_ink(out, style, ink, sp_buf_str(&cut));
	sp_buf_addc(out, '\n');
}

static void add_running(struct sp_buf *out, const struct cli_style *style,
			const struct cli_running *running)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&line, "  %-44s ", running->id);
	add_clock(&line, running->elapsed_ms);
	if (running->slow)
		sp_buf_adds(&line, "  slow");
	add_line(out, style, running->slow ? CLI_YELLOW : CLI_DIM, &line);
}

static void add_bar(struct sp_buf *out, const struct cli_style *style, size_t done, size_t total)
{
	size_t cells = total ? done * BAR / total : 0;

	for (size_t i = 0; i < BAR; i++)
		sp_buf_adds(out, i < cells ? (style->utf8 ? "━" : "#") :
					     (style->utf8 ? "╌" : "."));
}

size_t cli_format_progress(struct sp_buf *out, const struct cli_style *style,
			   const struct cli_progress *progress)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct cli_totals *totals = &progress->totals;
	size_t done = totals->passed + totals->failed + totals->skipped;

	for (size_t i = 0; i < progress->n_running; i++)
		add_running(out, style, &progress->running[i]);
	sp_buf_adds(&line, "  ");
	add_bar(&line, style, done, progress->total);
	sp_buf_addf(&line, "  %zu/%zu", done, progress->total);
	if (totals->failed)
		sp_buf_addf(&line, ", %zu failed", totals->failed);
	if (totals->skipped)
		sp_buf_addf(&line, ", %zu skipped", totals->skipped);
	sp_buf_adds(&line, "  ");
	add_clock(&line, progress->elapsed_ms);
	/* An estimate from a handful of cases would only jump about. */
	if (done >= 5 && progress->elapsed_ms >= 1000 && done < progress->total)
		add_estimate(&line, progress->elapsed_ms, done, progress->total);
	add_line(out, style, totals->failed ? CLI_RED : CLI_CYAN, &line);
	return progress->n_running + 1;
}
