/* SPDX-License-Identifier: MIT */
/*
 * CTRF JSON: every verdict without loss. CTRF knows five statuses and no other members than its
 * own, so ours stand in `rawStatus` and in `extra`.
 */
#ifndef SP_REPORTS_CTRF_H
#define SP_REPORTS_CTRF_H

#include <results/results.h>

/* The report. SP_IO names the path; "-" is standard output. */
int sp_ctrf_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
