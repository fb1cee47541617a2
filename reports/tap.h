/* SPDX-License-Identifier: MIT */
/*
 * TAP 14, as a report and line by line while a run goes on. The plan comes last, since nobody knows
 * beforehand what will be left behind: a leak is a test point of its own.
 */
#ifndef SP_REPORTS_TAP_H
#define SP_REPORTS_TAP_H

#include <base/buf.h>
#include <results/results.h>

/* Appends the version line. */
void sp_tap_begin(struct sp_buf *buf);
/* Appends point `number` (from 1) for a case; `label` names its subject where there are several, or
 * is NULL. */
void sp_tap_case(struct sp_buf *buf, size_t number, const struct sp_result_case *c,
		 const char *label);
/* Appends a point for something that was left behind. */
void sp_tap_leak(struct sp_buf *buf, size_t number, const struct sp_result_leak *leak);
/* Appends the plan of `points` points; `trouble` (what is missing) makes it a bail out, NULL is
 * none. */
void sp_tap_end(struct sp_buf *buf, size_t points, const char *trouble);

/* The report. SP_IO names the path; "-" is standard output. */
int sp_tap_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
