/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/report.h>
#include <cli/text.h>
#include <reports/reports.h>

static const struct sp_report_format *find(const char *name, size_t len)
{
	size_t n;
	const struct sp_report_format *formats = sp_report_formats(&n);

	for (size_t i = 0; i < n; i++)
		if (!strncmp(formats[i].name, name, len) && !formats[i].name[len])
			return &formats[i];
	return NULL;
}

static int unknown_format(const char *text, struct sp_error *err)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = {NULL, 0};
	size_t n;
	const struct sp_report_format *formats = sp_report_formats(&n);
	char *word SP_FREE = strndup(text, strcspn(text, "=")), *near SP_FREE = NULL;

	for (size_t i = 0; i < n; i++)
		cli_list_add(&names, formats[i].name);
	near = word ? sp_nearest(word, names.items, names.len) : NULL;
	return sp_error_set(err, SP_INVALID, "unknown report format \"%.80s\"%s%s",
			    word ? word : "",
			    near && *near ? "; the nearest: " : "; see `sandproof report --help`",
			    near ? near : "");
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
	*ret_report = (struct cli_report){format, equals ? equals + 1 : "-"};
	return 0;
}

bool cli_report_is_stdout(const struct cli_report *report)
{
	return !strcmp(report->path, "-");
}

/* Words before the first results file. */
struct report_args {
	bool json;
	bool mixed;
};

static const struct cli_option options[] = {
    CLI_OPTION(struct report_args, json, "json", NULL, CLI_FLAG,
	       "clauses as JSON instead of a table"),
    CLI_OPTION(struct report_args, mixed, "mixed", NULL, CLI_FLAG,
	       "merge results of different requirement sets; the report says so"),
};

/* A word that names a format, alone or before a '='. "a/b=c" is a file. */
static bool is_format(const char *word)
{
	size_t len = strcspn(word, "=");

	return find(word, len) || (word[len] && !memchr(word, '/', len) && access(word, F_OK));
}

/* What is to be made, and of what. */
struct job {
	struct cli_report reports[16];
	size_t n_reports;
	struct sp_results_set set;
};

static int parse_reports(const struct report_args *args, const struct cli_list *words,
			 struct job *job, struct sp_error *err)
{
	size_t on_stdout = 0;

	while (job->n_reports < words->len &&
	       (!job->n_reports || is_format(words->items[job->n_reports]))) {
		struct cli_report *report = &job->reports[job->n_reports];
		int rc;

		if (job->n_reports == SP_COUNT(job->reports))
			return sp_error_set(err, SP_INVALID, "at most %zu reports at once",
					    SP_COUNT(job->reports));
		rc = cli_report_parse(words->items[job->n_reports], false, report, err);
		if (rc)
			return rc;
		if (args->json && !strcmp(report->format->name, "clauses"))
			report->format = sp_report_format_find("clauses-json");
		on_stdout += cli_report_is_stdout(report);
		job->n_reports++;
	}
	if (on_stdout > 1)
		return sp_error_set(err, SP_INVALID, "only one report can go to standard output");
	if (job->n_reports == words->len)
		return sp_error_set(err, SP_INVALID, "name a format and at least one results file");
	return 0;
}

/* The same run given twice is a slip; it is told, so that nobody takes it for a second run. */
static int add_results(struct sp_results_set *set, const char *path, struct sp_error *err)
{
	size_t before = set->n_runs, copies;
	int rc = sp_results_add(set, path, err);

	copies = rc ? 0 : sp_results_drop_copies(set, before);
	if (copies)
		cli_say("note: %zu run%s of %s %s given already and count%s once", copies,
			copies == 1 ? "" : "s", path, copies == 1 ? "was" : "were",
			copies == 1 ? "s" : "");
	return rc;
}

static int read_results(const struct report_args *args, const struct cli_list *words,
			struct job *job, struct sp_error *err)
{
	int rc = 0;

	for (size_t i = job->n_reports; !rc && i < words->len; i++)
		rc = add_results(&job->set, words->items[i], err);
	if (!rc && !args->mixed)
		rc = sp_results_same_requirements(&job->set, err);
	return rc;
}

/* A proof of faults holds no result of a case, and most reports are made of nothing else. */
static bool is_proof_alone(const struct sp_results_set *set)
{
	size_t defects = 0;

	for (size_t i = 0; i < set->n_runs; i++) {
		if (set->runs[i].n_cases)
			return false;
		defects += set->runs[i].n_defects;
	}
	return defects;
}

/* Formats that tell it themselves. */
static bool tells_of_proof(const struct sp_report_format *format)
{
	static const char *const names[] = {"html", "markdown", "clauses"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(format->name, names[i]))
			return true;
	return false;
}

static void warn_of_proof(const struct cli_command *self, const struct job *job)
{
	for (size_t i = 0; i < job->n_reports && is_proof_alone(&job->set); i++)
		if (!tells_of_proof(job->reports[i].format))
			fprintf(stderr,
				"sandproof %s: %s has no case to show: this is a proof by "
				"`sandproof prove`. `sandproof report html=PATH` shows it; cases "
				"are in results of `sandproof run`\n",
				self->name, job->reports[i].format->name);
}

/* Every report that can be made is made. */
static int write_reports(const struct cli_command *self, const struct job *job)
{
	int code = SP_EXIT_OK;

	for (size_t i = 0; i < job->n_reports; i++) {
		struct sp_error err = SP_ERROR_INIT;

		if (job->reports[i].format->write(&job->set, job->reports[i].path, &err)) {
			(void)cli_fail(self, &err);
			code = SP_EXIT_HARNESS;
		}
	}
	return code;
}

static int run_report(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	struct report_args args = {.json = false};
	struct job job = {.set = SP_RESULTS_SET_INIT};
	struct sp_error err = SP_ERROR_INIT;
	int code = 0;

	if (!cli_begin(self, argc, argv, &args, &words, &code))
		return code;
	if (words.len < 2) {
		(void)sp_error_set(&err, SP_INVALID, "name a format and at least one results file");
		return cli_fail(self, &err);
	}
	if (parse_reports(&args, &words, &job, &err) || read_results(&args, &words, &job, &err))
		code = cli_fail(self, &err);
	else
		code = write_reports(self, &job);
	if (!code)
		warn_of_proof(self, &job);
	sp_results_set_done(&job.set);
	return code;
}

const struct cli_command cli_report_command = {
    .name = "report",
    .synopsis = "FORMAT[=PATH]… RESULTS… [--json] [--mixed]",
    .summary = "make reports from the results of runs",
    .details =
	"Makes reports from results files, also from ones that were cut off: junit, tap, ctrf, "
	"markdown, html, badge, clauses. Several files (shards, subjects) become one report with a "
	"matrix; they must have been judged by one requirement set. Without PATH, or with the path "
	"-, "
	"a report goes to standard output. Runs with a fault applied count as proof, not as "
	"results, "
	"beside runs without one.",
    .options = options,
    .n_options = SP_COUNT(options),
    .examples = "  sandproof report junit=out/junit.xml html=out/report.html out/results.ndjson\n"
		"  sandproof report clauses --json bash.ndjson local.ndjson\n"
		"  sandproof report markdown results.ndjson >>\"$GITHUB_STEP_SUMMARY\"\n",
    .run = run_report,
};
