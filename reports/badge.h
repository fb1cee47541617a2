/* SPDX-License-Identifier: MIT */
/* An SVG badge: "sandproof | 136 passed". */
#ifndef SP_REPORTS_BADGE_H
#define SP_REPORTS_BADGE_H

#include <results/results.h>

/* The report. SP_IO names the path; "-" is standard output. */
int sp_badge_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
