/* SPDX-License-Identifier: MIT */
#include <reports/reports.h>

#include <string.h>

#include <base/cleanup.h>
#include <reports/junit.h>

static const struct sp_report_format formats[] = {
	{ "junit", "JUnit XML for CI systems", sp_junit_write },
	{ "tap", "TAP 14", NULL },
	{ "ctrf", "CTRF JSON", NULL },
	{ "markdown", "summary for a pull request", NULL },
	{ "html", "one self-contained page", NULL },
	{ "badge", "SVG badge", NULL },
	{ "clauses", "verdicts by clause", NULL },
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
