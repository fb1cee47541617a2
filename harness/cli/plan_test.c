/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <cli/plan.h>

static const struct {
	const char *text;
	/* NULL: accepted. */
	const char *says;
} option_rows[] = {
	{ "kill_grace_ms=0", NULL },
	{ "kill_grace_ms=2000", NULL },
	{ "unread_bound=1048576", NULL },
	{ "output_cap=8388608", NULL },
	{ "rounds=20", NULL },
	{ "grace_ms=50", NULL },
	{ "case_deadline_ms=10000", NULL },
	{ "poll_ms=5", NULL },
	{ "start_timeout_ms=5", NULL },
	{ "private_dir=/dev/mine", NULL },
	{ "plan=starter", NULL },
	{ "kill_grace_ms", "needs a value" },
	{ "kill_grace_ms=", "takes a number" },
	{ "kill_grace_ms=2s", "takes a number" },
	{ "kill_grace_ms=-1", "takes a number" },
	{ "rounds=0", "from 1 to" },
	{ "kill_grace=5", "the nearest: kill_grace_ms" },
	{ "nonsense=5", "has no key \"nonsense\"" },
	{ "=5", "has no key" },
	{ "private_dir=dev", "absolute path" },
	{ "private_dir=", "without value" },
	{ "plan=", "without value" },
};

Test(plan, options)
{
	for (size_t i = 0; i < SP_COUNT(option_rows); i++) {
		struct run_plan plan = { .n_subjects = 0 };
		struct sp_error err = SP_ERROR_INIT;
		int rc = cli_plan_option(option_rows[i].text, &plan, &err);
		const char *says = option_rows[i].says;

		cr_expect_eq(rc, says ? SP_INVALID : 0, "%s: %s", option_rows[i].text, err.message);
		cr_expect(!says || strstr(err.message, says), "%s said \"%s\", not \"%s\"",
			  option_rows[i].text, err.message, says);
	}
}

Test(plan, options_arrive)
{
	struct run_plan plan = { .n_subjects = 0 };
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(cli_plan_option("kill_grace_ms=0", &plan, &err), 0);
	cr_assert_eq(cli_plan_option("rounds=7", &plan, &err), 0);
	cr_assert_eq(cli_plan_option("case_deadline_ms=9", &plan, &err), 0);
	cr_expect(plan.settings.has_kill_grace && plan.settings.kill_grace_ms == 0);
	cr_expect_eq(plan.rounds, 7);
	cr_expect_eq(plan.case_deadline_ms, 9);
}

/* One row of arguments and what the plan answers. */
static const char *one_tag[] = { "live-core" };

static const struct {
	const char *remark;
	struct run_args args;
	int code;
	const char *says;
} plan_rows[] = {
	{ "the default", { .provider = NULL }, 0, NULL },
	{ "a provider", { .provider = "local" }, 0, NULL },
	{ "unknown provider", { .provider = "bsh" }, SP_INVALID, "the nearest: bash" },
	{ "a driver", { .provider = "driver:x" }, 0, NULL },
	{ "a driver's fault inside our provider",
	  { .provider = "driver:x", .defect = "kill-leader-only" }, SP_INVALID,
	  "--provider bash" },
	{ "a driver as ensure", { .provider = "local", .store = "memory", .ensure = "driver:x" },
	  SP_UNSUPPORTED, "the driver protocol has no such kind" },
	{ "a journal of another driver", { .provider = "driver:x", .journal = "driver:y" },
	  SP_INVALID, "the same SPEC" },
	{ "a journal of the same driver", { .provider = "driver:x", .journal = "driver:x" }, 0,
	  NULL },
	{ "a store", { .store = "memory" }, 0, NULL },
	{ "a lock alone", { .lock = "memory" }, 0, NULL },
	{ "unknown store", { .store = "memry" }, SP_INVALID, "the nearest: memory" },
	{ "a fault of stores without one", { .provider = "local", .defect = "store-merges" },
	  SP_INVALID, "--store" },
	{ "a fault of stores", { .store = "memory", .defect = "store-merges" }, 0, NULL },
	{ "a baseline that is not there", { .baseline = "/nowhere/x" }, SP_IO, "/nowhere/x" },
	{ "coverage", { .coverage = "x" }, SP_INVALID, "this run has none" },
	{ "coverage of a plugin", { .provider = "plugin:x.so", .coverage = "x" }, 0, NULL },
	{ "a trace of no driver", { .trace = true }, SP_INVALID, "--trace" },
	{ "a trace", { .store = "driver:x", .trace = true }, 0, NULL },
	{ "a profile", { .profile = "full" }, 0, NULL },
	{ "live-core", { .profile = "live-core" }, 0, NULL },
	{ "live-core and a tag", { .profile = "live-core", .filter = { .tags = { one_tag, 1 } } },
	  SP_INVALID, "leave --tag out" },
	{ "no profile", { .profile = "half" }, SP_INVALID, "full or live-core" },
	{ "a budget", { .budget = "sandboxes=3,seconds=60" }, 0, NULL },
	{ "a budget of nobody", { .provider = "local", .budget = "requests=3" }, SP_INVALID,
	  "--provider render" },
	{ "a budget of time", { .provider = "local", .budget = "seconds=3" }, 0, NULL },
	{ "a budget twice", { .budget = "seconds=3,seconds=4" }, SP_INVALID, "seconds=4" },
	{ "a budget of 0", { .budget = "seconds=0" }, SP_INVALID, "seconds=0" },
	{ "no budget", { .budget = "sandboxes=3,secs=60" }, SP_INVALID, "secs=60" },
	{ "an empty budget", { .budget = "sandboxes=3," }, SP_INVALID, "--budget takes" },
	{ "a typing error beats a missing feature", { .provider = "driver:x", .budget = "x" },
	  SP_INVALID, "--budget takes" },
	{ "a fault", { .defect = "no-such-fault" }, SP_INVALID, "unknown fault" },
	{ "control without a fake", { .control = "unix:/x" }, SP_INVALID, "goes with --provider" },
	{ "control withheld", { .control = "off" }, 0, NULL },
	{ "control nowhere", { .provider = "render:unix:/x", .control = "x" }, SP_INVALID,
	  "control_url" },
	{ "control without token", { .provider = "render:unix:/x", .control = "unix:/x" },
	  SP_INVALID, "SANDPROOF_CONTROL_TOKEN" },
	{ "a shard", { .filter = { .shard = "1/2" } }, 0, NULL },
	{ "shard 0", { .filter = { .shard = "0/2" } }, SP_INVALID, "--shard takes I/N" },
	{ "shard beyond", { .filter = { .shard = "3/2" } }, SP_INVALID, "--shard takes I/N" },
	{ "no shard", { .filter = { .shard = "1" } }, SP_INVALID, "--shard takes I/N" },
};

Test(plan, arguments)
{
	unsetenv("SANDPROOF_CONTROL_TOKEN");
	for (size_t i = 0; i < SP_COUNT(plan_rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct run_plan plan;
		int rc = cli_plan_make(&plan_rows[i].args, &plan, &err);
		const char *says = plan_rows[i].says;

		cr_expect_eq(rc, plan_rows[i].code, "%s: %s (%s), expected %s", plan_rows[i].remark,
			     sp_code_name(rc), err.message, sp_code_name(plan_rows[i].code));
		cr_expect(!says || strstr(err.message, says), "%s: \"%s\" does not say \"%s\"",
			  plan_rows[i].remark, err.message, says);
		cli_plan_done(&plan);
	}
}

static int plan_with(struct cli_list *list, const char *item, struct run_args *args,
		     struct sp_error *err)
{
	struct run_plan plan;
	int rc;

	cli_list_add(list, item);
	rc = cli_plan_make(args, &plan, err);
	cli_plan_done(&plan);
	cli_list_done(list);
	return rc;
}

static const struct {
	const char *list;
	const char *item;
	int code;
	const char *says;
} list_rows[] = {
	{ "suite", "kill", 0, "" },
	{ "suite", "kil", SP_INVALID, "the nearest: kill" },
	{ "suite", "platform", 0, "" },
	{ "case", "kill.*", 0, "" },
	{ "case", "kill.nonsense-that-is-nowhere", SP_INVALID, "kill.nonsense-that-is-nowhere" },
	{ "tag", "no-such-tag", SP_INVALID, "no-such-tag" },
	{ "report", "junit=/tmp/x.xml", 0, "" },
	{ "report", "junit", SP_INVALID, "needs a path" },
	{ "report", "junit=", SP_INVALID, "needs a path" },
	{ "report", "junitt=x", SP_INVALID, "the nearest: junit" },
	{ "report", "html=x", 0, "" },
	{ "option", "rounds=3", 0, "" },
	{ "option", "rounds", SP_INVALID, "needs a value" },
	{ "driver-env", "X", SP_INVALID, "no driver" },
	{ "suite-plugin", "x.so", SP_IO, "x.so cannot be loaded" },
};

Test(plan, lists)
{
	for (size_t i = 0; i < SP_COUNT(list_rows); i++) {
		struct run_args args = { .provider = NULL };
		struct cli_list *lists[] = { &args.filter.suites, &args.filter.cases,
					     &args.filter.tags,	  &args.reports,
					     &args.options,	  &args.driver_env,
					     &args.suite_plugins };
		static const char *const names[] = { "suite",	    "case",   "tag",
						     "report",	    "option", "driver-env",
						     "suite-plugin" };
		struct sp_error err = SP_ERROR_INIT;
		int rc = 1;

		for (size_t j = 0; j < SP_COUNT(names); j++)
			if (!strcmp(names[j], list_rows[i].list))
				rc = plan_with(lists[j], list_rows[i].item, &args, &err);
		cr_expect_eq(rc, list_rows[i].code, "--%s %s: %s (%s)", list_rows[i].list,
			     list_rows[i].item, sp_code_name(rc), err.message);
		cr_expect_not_null(strstr(err.message, list_rows[i].says), "--%s %s said \"%s\"",
				   list_rows[i].list, list_rows[i].item, err.message);
	}
}

Test(plan, the_line_that_runs_one_case_again)
{
	struct run_args args = { .provider = "render:https://api.example.com/v1" };
	struct sp_error err = SP_ERROR_INIT;
	struct run_plan plan;

	cli_list_add(&args.options, "private_dir=/dev/with blank");
	cr_assert_eq(cli_plan_make(&args, &plan, &err), 0, "%s", err.message);
	cr_expect_str_eq(plan.rerun_prefix,
			 "sandproof run --provider render:https://api.example.com/v1 --option "
			 "'private_dir=/dev/with blank'");
	cr_expect_str_eq(plan.subjects_text, "provider render:https://api.example.com/v1");
	cr_expect(plan.live);
	cr_expect_eq(plan.jobs, 1, "a live run has one job, not %u", plan.jobs);
	cli_plan_done(&plan);
	cli_list_done(&args.options);
}

Test(plan, only_suites_whose_subject_is_there)
{
	struct run_args args = { .provider = "local" };
	struct sp_error err = SP_ERROR_INIT;
	struct run_plan plan;

	cr_assert_eq(cli_plan_make(&args, &plan, &err), 0, "%s", err.message);
	/* The provider, and our journal, which stands on it; no store. */
	cr_expect_eq(plan.n_subjects, 2);
	for (size_t i = 0; i < plan.n_suites; i++)
		cr_expect(plan.suites[i]->subject == SP_SUBJECT_PROVIDER ||
				  plan.suites[i]->subject == SP_SUBJECT_JOURNAL,
			  "%s", plan.suites[i]->name);
	cli_plan_done(&plan);
}

/* Merged results of two providers must not share a subject; the command line takes the SPEC. */
Test(plan, a_journal_is_named_with_what_it_stands_on)
{
	struct run_args args = { .provider = "local", .store = "memory", .journal = "ours" };
	struct sp_error err = SP_ERROR_INIT;
	const char *journal = "", *ensure = "";
	struct run_plan plan;

	cr_assert_eq(cli_plan_make(&args, &plan, &err), 0, "%s", err.message);
	for (size_t i = 0; i < plan.n_subjects; i++) {
		if (plan.subjects[i].kind == SP_SUBJECT_JOURNAL)
			journal = plan.subjects[i].shown;
		if (plan.subjects[i].kind == SP_SUBJECT_ENSURE)
			ensure = plan.subjects[i].shown;
	}
	cr_expect_str_eq(journal, "ours over local");
	cr_expect_str_eq(ensure, "ours over local, memory");
	cr_expect_str_eq(plan.rerun_prefix,
			 "sandproof run --provider local --store memory --journal ours");
	cli_plan_done(&plan);
}
