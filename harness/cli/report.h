/* SPDX-License-Identifier: MIT */
/* FORMAT=PATH of the command line. */
#ifndef SP_CLI_REPORT_H
#define SP_CLI_REPORT_H

#include <reports/reports.h>

struct cli_report {
	const struct sp_report_format *format;
	/* "-" is standard output. Borrowed. */
	const char *path;
};

/*
 * Reads FORMAT=PATH; without `path_required` FORMAT alone is FORMAT=-.
 * SP_INVALID: unknown format or no path.
 */
int cli_report_parse(const char *text, bool path_required, struct cli_report *ret_report,
		     struct sp_error *err);
/* True when the report goes to standard output. */
bool cli_report_is_stdout(const struct cli_report *report);

#endif
