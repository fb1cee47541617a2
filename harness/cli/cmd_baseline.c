/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/registry.h>
#include <cli/select.h>
#include <cli/text.h>
#include <runner/baseline.h>

#define TEXT_CEILING ((size_t)64 << 20)
#define DEFAULT_FILE "sandproof.baseline"
/* Long enough to mend something, short enough to be asked again. */
#define DEFAULT_DAYS 90
#define HEAD                                                                                       \
	"# Known failures, for `sandproof run --baseline FILE`. One line an entry:\n"              \
	"# PATTERN | how the message begins | reason | link | last day (YYYY-MM-DD)\n"

struct baseline_args {
	struct cli_list suite_plugins;
	const char *file;
	struct cli_number days;
};

static const struct cli_option options[] = {
    CLI_OPTION(struct baseline_args, file, "baseline", "FILE", CLI_TEXT,
	       "the list to update (default: " DEFAULT_FILE ")"),
    CLI_OPTION(struct baseline_args, days, "days", "N", CLI_NUMBER,
	       "days until a new entry expires (default: 90)", .min = 1, .max = 3650),
    CLI_SUITE_PLUGIN_OPTION(struct baseline_args),
};

/* The list as it is; one that is not there begins with a head. */
static int read_list(const char *path, struct sp_baseline **ret, struct sp_error *err)
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);
	int rc = 0;

	if (access(path, F_OK) && errno == ENOENT)
		rc = sp_write_file(path, HEAD, strlen(HEAD), 0644, err);
	if (!rc)
		rc = sp_baseline_read(path, ret, err);
	return rc ? rc : sp_baseline_bind(*ret, suites, n, sp_wall_ms(), err);
}

static int write_list(const char *path, const struct sp_baseline *list,
		      const struct sp_results_set *set, const struct baseline_args *args,
		      struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_baseline_changes changes = {.kept = 0};
	unsigned days = args->days.set ? (unsigned)args->days.value : DEFAULT_DAYS;
	int rc;

	if (sp_baseline_update(list, set, sp_wall_ms(), days, &text, &changes))
		return sp_error_set(err, SP_INTERNAL, "no memory for the baseline");
	rc = sp_write_file(path, sp_buf_str(&text), text.len, 0644, err);
	if (rc)
		return rc;
	printf("%s: %zu added, %zu changed, %zu removed, %zu kept\n", path, changes.added,
	       changes.changed, changes.removed, changes.kept);
	if (!changes.added && !changes.changed && !changes.removed && !changes.kept)
		puts("nothing to list: only failures and warnings of runs without a fault are; an "
		     "error is never excused");
	if (changes.added)
		puts("say in each new line why the failure is known, and where that is tracked");
	return 0;
}

static int update(const struct cli_command *self, const struct cli_list *words,
		  const struct baseline_args *args)
{
	struct sp_results_set set SP_CLEANUP(sp_results_set_done) = SP_RESULTS_SET_INIT;
	const char *path = args->file ? args->file : DEFAULT_FILE;
	struct sp_baseline *list = NULL;
	struct sp_error err = SP_ERROR_INIT;
	int rc = cli_load_suites(&args->suite_plugins, &err);

	for (size_t i = 1; !rc && i < words->len; i++)
		rc = sp_results_add(&set, words->items[i], &err);
	if (!rc)
		rc = read_list(path, &list, &err);
	if (!rc)
		rc = write_list(path, list, &set, args, &err);
	sp_baseline_free(list);
	return rc ? cli_fail(self, &err) : SP_EXIT_OK;
}

static int run_baseline(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	struct baseline_args args = {.file = NULL};
	struct sp_error err = SP_ERROR_INIT;
	int code = 0;

	if (!cli_begin(self, argc, argv, &args, &words, &code))
		return code;
	if (words.len >= 2 && !strcmp(words.items[0], "update")) {
		code = update(self, &words, &args);
	} else {
		(void)sp_error_set(&err, SP_INVALID, "use: baseline update RESULTS…");
		code = cli_fail(self, &err);
	}
	cli_list_done(&args.suite_plugins);
	return code;
}

const struct cli_command cli_baseline_command = {
    .name = "baseline",
    .synopsis = "update RESULTS… [--baseline FILE] [--days N]",
    .summary = "keep a list of known failures",
    .details = "Writes the shortest list of known failures that is true after a run. `sandproof "
	       "run --baseline FILE` "
	       "runs listed cases all the same: one that fails as listed is xfail (counted as "
	       "skipped), one that "
	       "passes is xpass (counted as failed). Whatever makes the list untrue fails the run "
	       "and says what to "
	       "change: a pass, another message, an expired line, a pattern of more than 20 cases, "
	       "two lines for "
	       "one case, a line of no case. Errors of the harness are never excused.\n\n"
	       "A line is PATTERN | MESSAGE | REASON | LINK | EXPIRY: a glob over case ids, how "
	       "the failure's first "
	       "line begins, why it is known, where it is tracked, and the last day on which it "
	       "holds; the last two "
	       "may be left out. Comments and lines that are still true stay as they are.",
    .options = options,
    .n_options = SP_COUNT(options),
    .examples =
	"  sandproof run --provider local --baseline local.baseline --results out/results.ndjson\n"
	"  sandproof baseline update out/results.ndjson --baseline local.baseline\n",
    .run = run_baseline,
};
