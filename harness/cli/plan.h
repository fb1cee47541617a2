/* SPDX-License-Identifier: MIT */
/*
 * What a run is going to do, worked out and checked from its command line before anything starts.
 */
#ifndef SP_CLI_PLAN_H
#define SP_CLI_PLAN_H

#include <cli/registry.h>
#include <cli/report.h>
#include <cli/select.h>
#include <cli/state.h>
#include <cli/usage.h>

/* The options of `run` as they were given. */
struct run_args {
	const char *provider, *store, *lock, *journal, *ensure;
	struct cli_filter_args filter;
	struct cli_list suite_plugins;
	struct cli_number jobs, repeat, seed, min_executed;
	const char *baseline;
	struct cli_list reports;
	const char *results;
	struct cli_list options;
	struct cli_list driver_env;
	const char *control;
	const char *defect;
	const char *coverage;
	bool gated;
	const char *profile;
	bool fail_on_skip, fail_fast, last_failed, trace;
	const char *budget;
};

/* What was made of them. */
struct run_plan {
	/* Subjects that were named or taken by default. */
	struct sp_run_subject subjects[SP_SUBJECT_KIND_MAX_];
	size_t n_subjects;
	/* The first of them; what follows from these (a store's own lock) comes after. */
	size_t n_named;
	/* Redacted SPECs, as a command line takes them. */
	char *shown[SP_SUBJECT_KIND_MAX_];
	/* Of a journal or ensure: the SPEC and what it stands on, for results; else NULL. */
	char *over[SP_SUBJECT_KIND_MAX_];
	/* "provider bash" and so on. */
	char *subjects_text;
	/* Suites whose subject is there. */
	const struct sp_suite **suites;
	size_t n_suites;
	struct sp_selection selection;
	/* Subjects that were named and that no selected case is about, in words; "": none. */
	char *unjudged;
	/* --last-failed found nothing that failed. */
	bool nothing_failed;
	struct cli_ids last_failed;
	struct cli_specs last_specs;
	struct cli_settings settings;
	/* 0: the defaults. */
	uint64_t case_deadline_ms, grace_ms;
	unsigned rounds;
	struct cli_budget budget;
	const struct sp_fault *fault;
	/* Known failures, bound to all suites; NULL: none. */
	struct sp_baseline *baseline;
	struct cli_report *reports;
	size_t n_reports;
	/* A report goes to standard output, so the console must not. */
	bool report_on_stdout;
	bool live;
	/* What the provider's back end holds outlives the run. */
	bool outlives;
	/* --control off. */
	bool no_control;
	unsigned jobs;
	/* Start of the command that runs one case again. */
	char *rerun_prefix;
};

/*
 * Makes the plan. `args` is borrowed for its life. SP_INVALID: usage;
 * SP_UNSUPPORTED: something that is not built yet. Free it in any case.
 */
int cli_plan_make(const struct run_args *args, struct run_plan *ret_plan, struct sp_error *err);
/* Frees and clears. */
void cli_plan_done(struct run_plan *plan);
/* SPEC of a kind, or NULL when none takes part; the second is short for the provider's. */
const char *cli_plan_spec(const struct run_plan *plan, enum sp_subject_kind kind);
const char *cli_plan_provider(const struct run_plan *plan);

/* Reads one --option K=V into the plan; SP_INVALID names the nearest keys or the range. */
int cli_plan_option(const char *text, struct run_plan *plan, struct sp_error *err);

#endif
