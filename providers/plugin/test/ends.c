/* SPDX-License-Identifier: MIT */
/* A suite whose case is killed with what it wrote, alone or with its whole run. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sandproof/plugin.h>

static void ended(struct sp_case *t)
{
	struct sp_record record = {
	    .key = (char *)sp_case_unique(t),
	    .provider = (char *)"p",
	    .provider_sandbox_id = (char *)"i",
	    .thread_id = (char *)"t",
	};
	const char *whom = getenv("ENDS_KILLED");
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(sp_case_store(t), &record, NULL, sp_case_cancel(t), &err);

	SP_CHECK_OK(t, rc, &err, "an upsert");
	/* A worker is its run's child. */
	kill(whom && !strcmp(whom, "run") ? getppid() : getpid(), SIGKILL);
	pause();
}

static const struct sp_case_def cases[] = {
    {
	.id = "ends.killed.writer",
	SP_CASE_HERE,
	.clause = "E1",
	.level = SP_MUST,
	.requirement = "A case that is killed ends.",
	.rationale = "Its record is in somebody's store.",
	.detection = "Writes a record and ends its process or its run.",
	.run = ended,
    },
};

static const struct sp_clause_text texts[] = {{"E1", "What is killed ends."}, {NULL, NULL}};

static const struct sp_suite suite = {
    .version = SP_SUITE_VERSION,
    .name = "ends",
    .summary = "ends",
    .subject = SP_SUBJECT_STORE,
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
	    .name = "ends",
	    .suites = suites,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
