/* SPDX-License-Identifier: MIT */
/*
 * An example of a suite of one's own, in the same words as ours: what a team asks of the clock and
 * the temporary folder in its sandboxes. README.md says how it is built and run; `sandproof list
 * --suite-plugin FILE.so --suite clock` lists it.
 *
 * Each case says what must hold (requirement), why (rationale), how it sees the violation
 * (detection), and reaches at least one check; see sandproof/case.h for all that a case can ask.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sandproof/plugin.h>

/* Runs a command that has to end with 0; NULL ends the case, else the caller frees the output. */
static char *output_of(struct sp_case *t, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_error err = SP_ERROR_INIT;
	char *text = NULL;

	if (!sandbox)
		return NULL;
	options.command = command;
	options.cancel = sp_case_cancel(t);
	if (SP_CHECK_OK(t, sp_sandbox_exec(sandbox, &options, &result, &err), &err,
			"exec answers") &&
	    SP_CHECK_INT(t, 0, result.exit_code, "the command ends with 0"))
		text = strdup(result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "");
	sp_exec_result_done(&result);
	return text;
}

static void clock_is_ours(struct sp_case *t)
{
	long long before = (long long)time(NULL), there;
	char *text = output_of(t, "date +%s");

	if (!text)
		return;
	there = strtoll(text, NULL, 10);
	/* Both ends are looked at after and before, so a slow machine changes nothing. */
	SP_CHECK(t, before <= there && there <= (long long)time(NULL),
		 "the sandbox's clock is between our two looks at ours");
	free(text);
}

static void zone_is_utc(struct sp_case *t)
{
	char *text = output_of(t, "date +%z");

	if (!text)
		return;
	SP_CHECK_STR(t, "+0000\n", text, "the zone of the sandbox");
	free(text);
}

static void temporary_folder(struct sp_case *t)
{
	char *text = output_of(t, "f=$(mktemp) && echo kept >\"$f\" && cat \"$f\" && rm \"$f\"");

	if (!text)
		return;
	SP_CHECK_STR(t, "kept\n", text, "what was written into a temporary file");
	free(text);
}

static const struct sp_case_def cases[] = {
    {
	.id = "clock.now.is-ours",
	SP_CASE_HERE,
	.clause = "C1",
	.level = SP_MUST,
	.requirement = "A sandbox's clock shows the time.",
	.rationale = "Tokens and certificates that are checked in a sandbox are refused "
		     "where its clock is wrong.",
	.detection = "Asks for the time, and compares it with ours before and after.",
	.limits = "A clock that is off by less than a second is not seen.",
	.tags = (const char *const[]){"quick", NULL},
	.run = clock_is_ours,
    },
    {
	.id = "clock.zone.utc",
	SP_CASE_HERE,
	.clause = "C2",
	.level = SP_SHOULD,
	.requirement = "A sandbox's time zone is UTC.",
	.rationale = "Logs of sandboxes are put beside one another.",
	.detection = "Asks for the zone.",
	.tags = (const char *const[]){"quick", NULL},
	.run = zone_is_utc,
    },
    {
	.id = "clock.tmp.works",
	SP_CASE_HERE,
	.clause = "C3",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH,
	.tools = (const char *const[]){"mktemp", NULL},
	.requirement = "Temporary files can be made, written, read and removed.",
	.rationale = "Every build tool does.",
	.detection = "Does so.",
	.run = temporary_folder,
    },
};

static const struct sp_clause_text texts[] = {
    {"C1", "The clock of a sandbox shows the time."},
    {"C2", "Its time zone is UTC."},
    {"C3", "Temporary files work."},
    {NULL, NULL},
};

static const struct sp_suite suite = {
    .version = SP_SUITE_VERSION,
    .name = "clock",
    .summary = "what a team asks of the clock and of temporary files",
    .subject = SP_SUBJECT_PROVIDER,
    .cases = cases,
    .n_cases = sizeof(cases) / sizeof(cases[0]),
    .clauses_version = "1",
    .texts = texts,
};

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_suite *const suites[] = {&suite, NULL};
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "clock",
	    .suites = suites,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
