/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <providers/local/local.h>
#include <runner/runner.h>

#define N_CASES 200

static void empty_case(struct sp_case *t)
{
	SP_CHECK(t, true, "nothing");
}

static const char *const no_faults[] = { NULL };

static int open_local(void *opener, enum sp_subject_kind kind, const char *spec,
		      const char *workspace SP_UNUSED, struct sp_subject *ret_subject,
		      struct sp_error *err)
{
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;
	struct sp_subject subject = SP_SUBJECT_INIT;

	(void)spec;
	subject.kind = kind;
	options.base_dir = opener;
	int rc = sp_local_open(&options, &subject.provider, err);
	if (rc == 0)
		*ret_subject = subject;
	return rc;
}

/* The same case under many names: a run of it costs what the runner costs. */
static void fill(struct sp_case_def *cases, char (*ids)[32])
{
	for (size_t i = 0; i < N_CASES; i++) {
		snprintf(ids[i], sizeof(ids[i]), "bench.empty.n%zu", i);
		cases[i] = (struct sp_case_def){
			.id = ids[i],
			.requirement = "Nothing.",
			.clause = "B1",
			.needs = SP_NEED_NO_SANDBOX,
			.faults = no_faults,
			.rationale = "",
			.detection = "",
			.limits = "",
			.run = empty_case,
			SP_CASE_HERE,
		};
	}
}

static uint64_t run_cases(const struct sp_suite *suite, char *dir, size_t n)
{
	const struct sp_suite *suites[] = { suite };
	struct sp_filter filter = { 0 };
	struct sp_run_subject subject = { SP_SUBJECT_PROVIDER, "local", "local" };
	struct sp_run_options options = SP_RUN_OPTIONS_INIT;
	struct sp_result_end end = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	char *results SP_FREE = NULL;

	if (asprintf(&results, "%s/results.ndjson", dir) < 0)
		bench_die("no memory", NULL);
	if (sp_select(suites, 1, &filter, &options.selection, &err) < 0)
		bench_die("select", &err);
	options.selection.len = n;
	options.subjects = &subject;
	options.n_subjects = 1;
	options.open = open_local;
	options.opener = dir;
	options.results_path = results;
	options.rerun_prefix = "bench";
	uint64_t start = sp_now();
	int code = sp_run_cases(&options, &end, &err);
	uint64_t took = sp_now() - start;
	if (code != SP_EXIT_OK || end.passed != n)
		bench_die("a run of empty cases", &err);
	options.selection.len = N_CASES;
	sp_selection_done(&options.selection);
	return took;
}

void bench_empty(struct bench *bench)
{
	static struct sp_case_def cases[N_CASES];
	static char ids[N_CASES][32];
	struct sp_suite suite = {
		.version = SP_SUITE_VERSION,
		.name = "bench",
		.summary = "Cases that do nothing.",
		.subject = SP_SUBJECT_PROVIDER,
		.cases = cases,
		.n_cases = N_CASES,
		.clauses_version = "1",
	};
	struct sp_error err = SP_ERROR_INIT;
	char *dir SP_FREE = NULL;

	fill(cases, ids);
	if (sp_tmp_dir("bench-", &dir, &err) < 0)
		bench_die("temporary folder", &err);
	/* What the start and the end of a run cost is not the case's. */
	uint64_t one = run_cases(&suite, dir, 1);
	uint64_t all = run_cases(&suite, dir, N_CASES);
	sp_remove_tree(dir);
	double each = (double)(all > one ? all - one : 0) / (N_CASES - 1);
	bench_print("an empty case", each / (double)bench->bare_ns, "x", 2);
}
