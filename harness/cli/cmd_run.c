/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <cli/console.h>
#include <cli/coverage.h>
#include <cli/listeners.h>
#include <cli/live.h>
#include <cli/plan.h>
#include <cli/skip.h>
#include <cli/suggest.h>
#include <cli/text.h>

#define O(field_, name_, value_, kind_, ...)                                                       \
	CLI_OPTION(struct run_args, field_, name_, value_, kind_, __VA_ARGS__)

static const struct cli_option options[] = {
	O(provider, "provider", "SPEC", CLI_TEXT,
	  "the provider under test (default bash); see `sandproof help providers`"),
	O(store, "store", "SPEC", CLI_TEXT, "the instance store under test"),
	O(lock, "lock", "SPEC", CLI_TEXT, "the lock service under test (default: the store's own)"),
	O(journal, "journal", "SPEC", CLI_TEXT, "a journal implementation (default: ours)"),
	O(ensure, "ensure", "SPEC", CLI_TEXT, "an ensure implementation (default: ours)"),
	CLI_FILTER_OPTIONS(struct run_args),
	O(last_failed, "last-failed", NULL, CLI_FLAG,
	  "only the cases that failed in the last run, against its subjects unless others are "
	  "named"),
	O(jobs, "jobs", "N", CLI_NUMBER,
	  "workers at once (default: cores; 1 against a live service)", .min = 1, .max = 256),
	O(repeat, "repeat", "N", CLI_NUMBER, "run each case N times; it fails if any attempt fails",
	  .min = 1, .max = 1000000),
	O(seed, "seed", "N", CLI_NUMBER, "seed of the run's random choices", .min = 0,
	  .max = UINT64_C(9007199254740991)),
	O(fail_fast, "fail-fast", NULL, CLI_FLAG, "stop after the first failure"),
	O(fail_on_skip, "fail-on-skip", NULL, CLI_FLAG, "exit 1 when a case was skipped"),
	O(min_executed, "min-executed", "N", CLI_NUMBER, "exit 1 when fewer cases ran", .min = 0,
	  .max = 1000000),
	O(gated, "gated", NULL, CLI_FLAG,
	  "missing credentials are one named skip a suite and exit 0, not exit 3"),
	O(reports, "report", "FORMAT=PATH", CLI_LIST,
	  "write a report, e.g. junit=out/junit.xml; PATH - is standard output"),
	O(results, "results", "PATH", CLI_TEXT,
	  "where results.ndjson goes (default: the state directory)"),
	O(options, "option", "K=V", CLI_LIST,
	  "set kill_grace_ms, unread_bound, output_cap, private_dir, plan, snapshot_kind, poll_ms, "
	  "start_timeout_ms, case_deadline_ms, grace_ms or rounds"),
	O(control, "control", "URL", CLI_TEXT,
	  "control_url of a fake API, its token in SANDPROOF_CONTROL_TOKEN; off: cases get none"),
	O(defect, "defect", "ID", CLI_TEXT,
	  "apply one fault, to see which cases catch it; see `sandproof list --faults`"),
	O(baseline, "baseline", "FILE", CLI_TEXT,
	  "known failures; see `sandproof baseline --help`"),
	CLI_SUITE_PLUGIN_OPTION(struct run_args),
	O(driver_env, "driver-env", "NAME", CLI_LIST,
	  "a variable of ours that drivers get too; they get no other but PATH, HOME and the like"),
	O(coverage, "coverage", "DIR", CLI_TEXT,
	  "collect the coverage of plugins that were built with it; for lcov and gcovr"),
	O(profile, "profile", "P", CLI_TEXT,
	  "full (the default), or live-core: few cases, for a service that bills"),
	O(trace, "trace", NULL, CLI_FLAG,
	  "keep every dialogue with a driver, secrets masked, in a file that the run names; "
	  "`sandproof replay` plays it again"),
	O(budget, "budget", "LIMITS", CLI_TEXT,
	  "sandboxes=N,requests=N,seconds=N: stop when any of them is used up; what is left is an "
	  "error"),
};

#undef O

/* Everything that lives while a run goes on. */
struct run {
	const struct cli_command *self;
	const struct run_args *args;
	struct run_plan plan;
	struct cli_registry *registry;
	struct cli_console *console;
	/* What each suite cost. */
	struct cli_books *books;
	/* TAP on standard output, or NULL. */
	struct cli_live *live;
	struct cli_listeners listeners;
	char *results_path;
	/* Dialogues with drivers, or NULL. */
	char *trace_path;
	/* The results are nowhere the user asked for. */
	bool temporary;
	/* Why nothing can run, or empty. */
	struct sp_error no_credentials;
	/* Credentials from the environment, ended by NULL. */
	const char *secrets[3];
};

/* What must not stand in any result. */
static void take_secrets(struct run *run)
{
	static const char *const names[] = { "RENDER_API_KEY", "SANDPROOF_CONTROL_TOKEN" };
	size_t n = 0;

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (getenv(names[i]))
			run->secrets[n++] = getenv(names[i]);
}

static struct sp_run_options run_options(struct run *run)
{
	const struct run_args *args = run->args;
	const struct run_plan *plan = &run->plan;
	struct sp_run_options o = SP_RUN_OPTIONS_INIT;

	o.selection = plan->selection;
	o.suites = cli_suites(&o.n_suites);
	o.baseline = plan->baseline;
	o.subjects = plan->subjects;
	o.n_subjects = plan->n_subjects;
	o.open = cli_registry_open;
	o.opener = run->registry;
	o.prepare = cli_registry_prepare;
	o.finish = cli_registry_finish;
	o.backend_pid = cli_registry_backend_pid;
	o.backend_ended = cli_registry_backend_ended;
	o.backend_answers = cli_registry_backend_answers;
	o.workspace = cli_registry_workspace;
	o.commands = cli_registry_commands;
	o.dump = args->coverage ? cli_registry_dump : NULL;
	o.jobs = plan->jobs;
	o.repeat = args->repeat.set ? (unsigned)args->repeat.value : 1;
	o.case_deadline_ms = plan->case_deadline_ms;
	o.grace_ms = plan->grace_ms;
	o.rounds = plan->rounds;
	o.fail_fast = args->fail_fast;
	o.fail_on_skip = args->fail_on_skip;
	o.min_executed = args->min_executed.value;
	o.gated_skip = run->no_credentials.code ? run->no_credentials.message : NULL;
	o.live = plan->live;
	o.outlives = plan->outlives;
	o.results_path = run->results_path;
	o.rerun_prefix = plan->rerun_prefix;
	o.defect = plan->fault ? plan->fault->id : NULL;
	o.pairing_case = "ensure.needs.pairing";
	o.secrets = run->secrets;
	cli_listeners_add(&run->listeners, cli_books_listener(run->books));
	if (run->live)
		cli_listeners_add(&run->listeners, cli_live_listener(run->live));
	cli_listeners_add(&run->listeners, cli_console_listener(run->console));
	o.listener = cli_listeners_as_one(&run->listeners);
	o.budget = cli_books_budget;
	o.budget_arg = run->books;
	o.seed = args->seed.value;
	/* A seed that nobody named is still recorded, so that the run can be repeated. */
	if (!args->seed.set) {
		sp_random(&o.seed, sizeof(o.seed));
		o.seed &= UINT64_C(0x1fffffffffffff);
	}
	return o;
}

/* True for a report that is written while the run goes on. */
static bool is_live(const struct cli_report *report)
{
	return cli_report_is_stdout(report) && !strcmp(report->format->name, "tap");
}

static bool wants_live(const struct run *run)
{
	for (size_t i = 0; i < run->plan.n_reports; i++)
		if (is_live(&run->plan.reports[i]))
			return true;
	return false;
}

/* Ends the live report. 0 or an exit code. */
static int end_live(struct run *run, const struct sp_result_end *end)
{
	int rc = cli_live_done(run->live, !end->interrupted && !access(run->results_path, F_OK));

	run->live = NULL;
	if (!rc)
		return SP_EXIT_OK;
	cli_say("error: cannot write the report to standard output: %s", strerror(-rc));
	return SP_EXIT_HARNESS;
}

/* Reports what there is, also after an interrupt. 0 or an exit code. */
static int write_reports(struct run *run)
{
	struct sp_results_set set SP_CLEANUP(sp_results_set_done) = SP_RESULTS_SET_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int code = SP_EXIT_OK;

	if (access(run->results_path, F_OK))
		return run->plan.n_reports ? SP_EXIT_HARNESS : SP_EXIT_OK;
	if (!run->plan.n_reports)
		return SP_EXIT_OK;
	if (sp_results_add(&set, run->results_path, &err))
		return cli_fail(run->self, &err);
	for (size_t i = 0; i < run->plan.n_reports; i++) {
		const struct cli_report *report = &run->plan.reports[i];

		if (is_live(report))
			continue;
		if (!report->format->write(&set, report->path, &err)) {
			if (!cli_report_is_stdout(report))
				cli_console_note(run->console, "%s: %s", report->format->name,
						 report->path);
			continue;
		}
		(void)cli_fail(run->self, &err);
		code = SP_EXIT_HARNESS;
	}
	return code;
}

/* The stronger of two exit codes (design: 130, 3, 1, 5, 4, 2, 0). */
static int stronger(int a, int b)
{
	static const int order[] = { SP_EXIT_INTERRUPTED, SP_EXIT_HARNESS,  SP_EXIT_FAILED,
				     SP_EXIT_LEAKED,	  SP_EXIT_NOTHING_RAN, SP_EXIT_USAGE };

	for (size_t i = 0; i < SP_COUNT(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return SP_EXIT_OK;
}

/* A fault that could hurt this machine is a named skip wherever it cannot be contained. */
static int run_cases(struct run *run, struct sp_result_end *end, struct sp_error *err)
{
	struct sp_run_options o = run_options(run);
	char reason[SP_ERROR_TEXT];

	if (!run->plan.fault || !run->plan.fault->reaches_outside || o.gated_skip)
		return sp_run_cases(&o, end, err);
	if (cli_registry_prepare(run->registry, err))
		return SP_EXIT_HARNESS;
	if (cli_registry_permits(run->registry))
		return sp_run_cases(&o, end, err);
	snprintf(
		reason, sizeof(reason),
		"the fault %s can reach outside its sandbox; it runs only where sandboxes have pid "
		"and mount namespaces of their own",
		run->plan.fault->id);
	return cli_skip_all(&o, reason, end, err);
}

/* Beside the results where they are kept, else in the state directory. */
static int name_trace(struct run *run, struct sp_error *err)
{
	char *dir SP_FREE = cli_state_dir();
	int n;

	if (!run->args->trace)
		return 0;
	if (run->args->results)
		n = asprintf(&run->trace_path, "%s.trace", run->args->results);
	else if (!dir || sp_mkdirs(dir, 0700))
		return sp_error_set(err, SP_IO, "no place for the trace; name one with --results");
	else
		n = asprintf(&run->trace_path, "%s/trace-%d.ndjson", dir, (int)getpid());
	if (n < 0) {
		run->trace_path = NULL;
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	/* Workers append: what an earlier run left there is not of this one. */
	(void)unlink(run->trace_path);
	return 0;
}

static int open_run(struct run *run, struct sp_error *err)
{
	int traced = name_trace(run, err);
	struct cli_registry_options options = {
		.provider = cli_plan_provider(&run->plan),
		.store = cli_plan_spec(&run->plan, SP_SUBJECT_STORE),
		.lock = cli_plan_spec(&run->plan, SP_SUBJECT_LOCK),
		.journal = cli_plan_spec(&run->plan, SP_SUBJECT_JOURNAL),
		.ensure = cli_plan_spec(&run->plan, SP_SUBJECT_ENSURE),
		.settings = run->plan.settings,
		.control_url = run->plan.no_control ? NULL : run->args->control,
		.no_control = run->plan.no_control,
		.control_token = getenv("SANDPROOF_CONTROL_TOKEN"),
		.max_requests = run->plan.budget.requests,
		.max_sandboxes = run->plan.budget.sandboxes,
		.fault = run->plan.fault,
		.driver_env = (const char *const *)run->args->driver_env.items,
		.n_driver_env = run->args->driver_env.len,
		.trace_path = run->trace_path,
		.share_drivers = true,
	};
	FILE *stream = run->plan.report_on_stdout ? stderr : stdout;
	int rc = 0;

	if (traced)
		return traced;
	take_secrets(run);
	if (run->args->coverage)
		rc = cli_coverage_begin(run->args->coverage, err);
	if (rc)
		return rc;
	run->registry = cli_registry_new(&options);
	if (!run->registry)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = cli_registry_credentials(run->registry, &run->no_credentials);
	if (rc && !run->args->gated)
		return sp_error_set(err, rc, "%s (--gated makes that a named skip)",
				    run->no_credentials.message);
	if (run->args->results)
		run->results_path = strdup(run->args->results);
	else
		rc = cli_state_results_path(&run->results_path, err);
	if (rc && rc != SP_DENIED)
		return rc;
	run->temporary = !run->args->results;
	struct cli_console_options console = {
		.stream = stream,
		.style = cli_style_of(stream),
		.subjects = run->plan.subjects_text,
		.defect = run->plan.fault ? run->plan.fault->id : NULL,
		.results_path =
			run->args->results ? run->args->results : "the results (--results PATH)",
	};

	run->live = wants_live(run) ? cli_live_new() : NULL;
	run->console = cli_console_new(&console);
	run->books = cli_books_new(run->registry, &run->plan.budget);
	return run->console && run->books && run->results_path ? 0 :
						   sp_error_set(err, SP_INTERNAL, "out of memory");
}

static void close_run(struct run *run)
{
	cli_console_free(run->console);
	cli_books_free(run->books);
	cli_registry_free(run->registry);
	if (run->results_path && run->temporary)
		(void)unlink(run->results_path);
	free(run->results_path);
	free(run->trace_path);
}

/* Where the counters are; none is what a forgotten flag of the compiler looks like. */
static int end_coverage(struct run *run)
{
	const char *dir = run->args->coverage;
	struct sp_error err = SP_ERROR_INIT;
	size_t n = 0;

	if (!dir)
		return SP_EXIT_OK;
	if (cli_coverage_end(dir, &n, &err)) {
		(void)cli_fail(run->self, &err);
		return SP_EXIT_HARNESS;
	}
	if (n)
		cli_console_note(run->console, "coverage: %s (%zu file%s; lcov -c -d %s)", dir, n,
				 n == 1 ? "" : "s", dir);
	else
		cli_console_note(run->console,
				 "coverage: nothing in %s; build the plugin with --coverage", dir);
	return SP_EXIT_OK;
}

/* Why a run without a failure is exit 1. */
static void note_minimum(struct run *run, const struct sp_result_end *end)
{
	size_t ran = sp_result_executed(end), least = (size_t)run->args->min_executed.value;

	if (ran < least)
		cli_console_note(run->console, "%zu case%s ran, and --min-executed asks for %zu",
				 ran, ran == 1 ? "" : "s", least);
	if (run->args->fail_on_skip && end->skipped)
		cli_console_note(run->console, "--fail-on-skip: %zu case%s skipped",
				 (size_t)end->skipped, end->skipped == 1 ? " was" : "s were");
}

/* Without credentials each suite is one skip, whatever number of cases the run would have had. */
static void note_untried(struct run *run, const struct sp_result_end *end)
{
	const struct cli_filter_args *filter = &run->args->filter;

	if (!run->no_credentials.code)
		return;
	cli_console_note(run->console,
			 "nothing was asked of the service: %zu case%s did not run, and each of "
			 "their %zu suite%s is one skip",
			 run->plan.selection.len, run->plan.selection.len == 1 ? "" : "s",
			 (size_t)end->skipped, end->skipped == 1 ? "" : "s");
	if (!filter->suites.len && !filter->cases.len && !filter->tags.len && !filter->shard)
		cli_cost_print(run->args->profile, run->console);
}

static int execute(struct run *run)
{
	struct sp_result_end end = { .passed = 0 };
	struct sp_error err = SP_ERROR_INIT;
	int code = open_run(run, &err) ? SP_EXIT_HARNESS : SP_EXIT_OK;

	if (code) {
		(void)cli_fail(run->self, &err);
		return code;
	}
	if (run->plan.unjudged && *run->plan.unjudged)
		cli_say("note: no case that was asked for is about %s", run->plan.unjudged);
	code = run_cases(run, &end, &err);
	if (err.code)
		cli_console_note(run->console, "error: %s", err.message);
	code = stronger(code, end_live(run, &end));
	code = stronger(code, write_reports(run));
	code = stronger(code, end_coverage(run));
	if (run->args->results)
		cli_console_note(run->console, "results: %s", run->results_path);
	if (run->trace_path)
		cli_console_note(run->console, "trace: %s", run->trace_path);
	cli_state_remember(run->results_path, run->plan.subjects, run->plan.n_named);
	cli_books_print(run->books, run->console);
	note_untried(run, &end);
	note_minimum(run, &end);
	cli_console_summary(run->console, &end);
	if (cli_console_error(run->console)) {
		cli_say("error: cannot write to %s: %s",
			run->plan.report_on_stdout ? "standard error" : "standard output",
			strerror(cli_console_error(run->console)));
		code = stronger(code, SP_EXIT_HARNESS);
	}
	return code;
}

static int run_planned(struct run *run)
{
	struct sp_error err = SP_ERROR_INIT;
	int code;

	if (cli_plan_make(run->args, &run->plan, &err)) {
		code = cli_fail(run->self, &err);
	} else if (run->plan.nothing_failed) {
		puts("nothing failed in the last run\n0 passed, 0 failed, 0 skipped");
		code = SP_EXIT_NOTHING_RAN;
	} else {
		code = execute(run);
		close_run(run);
	}
	cli_plan_done(&run->plan);
	return code;
}

static int run_run(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = { NULL, 0 };
	struct run_args args = { .provider = NULL };
	struct run run = { .self = self, .args = &args };
	int code = 0;

	/* A reader that goes away must not take the supervisor with it: sandboxes would stay. */
	signal(SIGPIPE, SIG_IGN);
	/* A limit on the size of files is an error of a write, for the same reason. */
	signal(SIGXFSZ, SIG_IGN);
	if (cli_begin(self, argc, argv, &args, &words, &code))
		code = cli_loose_word(self, &words) ? SP_EXIT_USAGE : run_planned(&run);
	cli_filter_done(&args.filter);
	cli_list_done(&args.suite_plugins);
	cli_list_done(&args.reports);
	cli_list_done(&args.options);
	cli_list_done(&args.driver_env);
	return code;
}

const struct cli_command cli_run_command = {
	.name = "run",
	.synopsis = "[--provider SPEC] [--suite S]… [--case GLOB]… [OPTION]…",
	.summary = "run the suites against a provider, a store or a lock",
	.details =
		"Runs every suite whose subject is named, case by case, each in a worker process, "
		"and tells for every failure the clause, what was expected, what happened, the "
		"dialogue, and the command that runs this one case again. Without a subject it "
		"runs against our own fake and an SQLite store, which need no account and no "
		"network.",
	.options = options,
	.n_options = SP_COUNT(options),
	.examples = "  sandproof run\n"
		    "  sandproof run --provider local --suite kill --jobs 4\n"
		    "  sandproof run --case 'kill.*' --report junit=out/junit.xml --results "
		    "out/results.ndjson\n"
		    "  sandproof run --store sqlite\n"
		    "  sandproof run --provider render --gated\n"
		    "  sandproof run --defect kill-leader-only\n"
		    "\nThe exit code says what happened: `sandproof help exit-codes`.\n",
	.run = run_run,
};
