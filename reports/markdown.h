/* SPDX-License-Identifier: MIT */
/* A summary in GitHub's Markdown, small enough for a CI step summary. */
#ifndef SP_REPORTS_MARKDOWN_H
#define SP_REPORTS_MARKDOWN_H

#include <results/results.h>

/* GitHub drops a step summary of more than 1 MiB as a whole. */
#define SP_MARKDOWN_MAX_BYTES ((size_t)1000 * 1000)

/* The report, cut at a case's end below SP_MARKDOWN_MAX_BYTES. SP_IO names the path; "-" is
 * standard output. */
int sp_markdown_write(const struct sp_results_set *set, const char *path, struct sp_error *err);
/* Same with another limit. */
int sp_markdown_write_below(const struct sp_results_set *set, const char *path, size_t max,
			    struct sp_error *err);

#endif
