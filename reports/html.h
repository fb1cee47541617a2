/* SPDX-License-Identifier: MIT */
/*
 * One self-contained page: no network, readable without scripts, on paper and on a phone. Script
 * and style are in reports/html and become part of the program. A content security policy forbids
 * everything that is not in the page.
 */
#ifndef SP_REPORTS_HTML_H
#define SP_REPORTS_HTML_H

#include <results/results.h>

/* The report. SP_IO names the path; "-" is standard output. */
int sp_html_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
