/* SPDX-License-Identifier: MIT */
/* The parts of the HTML report; private to it. */
#ifndef SP_REPORTS_HTML_PARTS_H
#define SP_REPORTS_HTML_PARTS_H

#include <reports/model.h>
#include <reports/out.h>

/* Embedded files, ended by a NUL. */
extern const char sp_html_css[], sp_html_js[];

/* What the parts share. */
struct sp_html {
	struct sp_out out;
	struct sp_model model;
	/* Bytes of dialogue that may still be shown, and cases whose dialogue was left out. */
	size_t dialogue_left, dialogues_omitted;
	/* Cases by verdict over all subjects, and those that are shown as failures (leaks and
	 * warnings included). */
	size_t counts[SP_VERDICT_MAX_];
	size_t n_findings, n_results;
};

/* ---- Pieces, in html_text.c ---- */

/* Foreign text as content; NULL is nothing. */
void sp_html_text(struct sp_buf *buf, const char *text);
/* First line of foreign text, cut. */
void sp_html_line(struct sp_buf *buf, const char *text, size_t max);
/* Foreign text as a <pre>, of a long one head and tail; returns the bytes shown. */
size_t sp_html_pre(struct sp_buf *buf, const char *text, size_t max);
/* "850 ms", "3.2 s", "2 min 5 s". */
void sp_html_duration(struct sp_buf *buf, int64_t ms);
/* Class of a verdict: one letter. */
const char *sp_html_class(enum sp_verdict verdict);
/* Its sign, which tells it without colour. */
const char *sp_html_sign(enum sp_verdict verdict);
/* Its name as people say it. */
const char *sp_html_verdict(enum sp_verdict verdict);
/* <span class="v f"><i>✗</i>fail</span> */
void sp_html_badge(struct sp_buf *buf, enum sp_verdict verdict);
/* A bar of verdicts by their share. */
void sp_html_bar(struct sp_buf *buf, const size_t counts[SP_VERDICT_MAX_]);
/* Its legend: a list of signs and numbers. */
void sp_html_legend(struct sp_buf *buf, const size_t counts[SP_VERDICT_MAX_], size_t leaks);
/* Verdicts from bad to good, for bars and legends. */
extern const enum sp_verdict sp_html_order[SP_VERDICT_MAX_];

/* True when faults were proven and no case has a result. */
bool sp_html_is_proof(const struct sp_html *h);

/* ---- Sections; each appends nothing when there is nothing to say ---- */

/* True when a result has a card among the failures. */
bool sp_html_is_finding(enum sp_verdict verdict);
void sp_html_failures(struct sp_html *h);
void sp_html_matrix(struct sp_html *h);
void sp_html_defects(struct sp_html *h);
void sp_html_skips(struct sp_html *h);
void sp_html_timeline(struct sp_html *h);
void sp_html_durations(struct sp_html *h);
void sp_html_cases(struct sp_html *h);
void sp_html_runs(struct sp_html *h);

/* Opens a section with its heading; `count` is shown beside it unless SIZE_MAX. */
void sp_html_open(struct sp_html *h, const char *id, const char *title, size_t count);
void sp_html_close(struct sp_html *h);

#endif
