/* SPDX-License-Identifier: MIT */
/* The report formats, by name. Everything is made from a results file, also from one that was cut
 * off. */
#ifndef SP_REPORTS_H
#define SP_REPORTS_H

#include <results/results.h>

struct sp_report_format {
	/* As in --report NAME=PATH. */
	const char *name;
	/* One line for help texts. */
	const char *summary;
	/*
	 * Writes one report of all runs to `path` ("-": standard output) under a temporary name,
	 * then renames. SP_IO names the path.
	 */
	int (*write)(const struct sp_results_set *set, const char *path, struct sp_error *err);
};

/* All formats; static. */
const struct sp_report_format *sp_report_formats(size_t *ret_len);
/* One by name, or NULL. */
const struct sp_report_format *sp_report_format_find(const char *name);

#endif
