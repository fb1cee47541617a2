/* SPDX-License-Identifier: MIT */
#include <reports/reports.h>

#include <string.h>

#include <base/cleanup.h>
#include <reports/badge.h>
#include <reports/clauses.h>
#include <reports/ctrf.h>
#include <reports/html.h>
#include <reports/junit.h>
#include <reports/markdown.h>
#include <reports/tap.h>

static const struct sp_report_format formats[] = {
    {"junit", "JUnit XML for CI systems", sp_junit_write},
    {"tap", "TAP 14, live on standard output", sp_tap_write},
    {"ctrf", "CTRF JSON", sp_ctrf_write},
    {"markdown", "summary for a pull request or a CI step", sp_markdown_write},
    {"html", "one self-contained page", sp_html_write},
    {"badge", "SVG badge", sp_badge_write},
    {"clauses", "clause coverage by subject, as a table", sp_clauses_write},
    {"clauses-json", "clause coverage by subject, as JSON", sp_clauses_json_write},
};

const struct sp_report_format *sp_report_formats(size_t *ret_len)
{
	*ret_len = SP_COUNT(formats);
	return formats;
}

const struct sp_report_format *sp_report_format_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}
