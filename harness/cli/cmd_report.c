/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <string.h>

#include <base/cleanup.h>
#include <cli/report.h>
#include <cli/text.h>
#include <reports/reports.h>

static const struct sp_report_format *find(const char *name, size_t len)
{
	char *copy SP_FREE = strndup(name, len);

	return copy ? sp_report_format_find(copy) : NULL;
}

static int unknown_format(const char *text, struct sp_error *err)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = { NULL, 0 };
	size_t n;
	const struct sp_report_format *formats = sp_report_formats(&n);
	char *word SP_FREE = strndup(text, strcspn(text, "=")), *near SP_FREE = NULL;

	for (size_t i = 0; i < n; i++)
		cli_list_add(&names, formats[i].name);
	near = word ? sp_nearest(word, names.items, names.len) : NULL;
	return sp_error_set(
		err, SP_INVALID, "unknown report format \"%.80s\"%s%s", word ? word : "",
		near && *near ? "; the nearest: " : "; there is junit", near ? near : "");
}

int cli_report_parse(const char *text, bool path_required, struct cli_report *ret_report,
		     struct sp_error *err)
{
	const char *equals = strchr(text, '=');
	const struct sp_report_format *format =
		find(text, equals ? (size_t)(equals - text) : strlen(text));

	if (!format)
		return unknown_format(text, err);
	if (equals ? !equals[1] : path_required)
		return sp_error_set(
			err, SP_INVALID,
			"the report %s needs a path: %s=PATH, or %s=- for standard output",
			format->name, format->name, format->name);
	if (!format->write)
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"the report format %s (%s) is not built yet; use junit=PATH, or "
			"read the results file",
			format->name, format->summary);
	*ret_report = (struct cli_report){ format, equals ? equals + 1 : "-" };
	return 0;
}

bool cli_report_is_stdout(const struct cli_report *report)
{
	return !strcmp(report->path, "-");
}

static int write_report(const struct cli_command *self, const struct cli_list *words)
{
	struct sp_results_set set SP_CLEANUP(sp_results_set_done) = SP_RESULTS_SET_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct cli_report report;
	int rc = cli_report_parse(words->items[0], false, &report, &err);

	for (size_t i = 1; !rc && i < words->len; i++)
		rc = sp_results_add(&set, words->items[i], &err);
	if (!rc)
		rc = report.format->write(&set, report.path, &err);
	return rc ? cli_fail(self, &err) : SP_EXIT_OK;
}

static int run_report(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code = 0;

	if (!cli_begin(self, argc, argv, NULL, &words, &code))
		return code;
	if (words.len < 2) {
		(void)sp_error_set(&err, SP_INVALID, "name a format and a results file");
		return cli_fail(self, &err);
	}
	return write_report(self, &words);
}

const struct cli_command cli_report_command = {
	.name = "report",
	.synopsis = "FORMAT[=PATH] RESULTS",
	.summary = "make a report from the results of a run",
	.details = "Makes a report from a results file, also from one that was cut off. Without "
		   "PATH, or with the path -, it goes to standard output. Built now: junit.",
	.examples = "  sandproof report junit=out/junit.xml out/results.ndjson\n"
		    "  sandproof report junit out/results.ndjson | xmllint --format -\n",
	.run = run_report,
};
