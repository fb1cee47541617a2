/* SPDX-License-Identifier: MIT */
/* A whole run: what has to be there before the supervisor, and what is to be done after it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "supervisor.h"
#include "workdir.h"

#define MAX_JOBS 256
#define RUN_ID_LENGTH 8

/* What a run holds while it goes on. */
struct run {
	const struct sp_run_options *options;
	struct sp_tally *tally;
	struct sp_ledger *ledger;
	struct sp_supervisor *supervisor;
	bool prepared;
	struct sp_workdir workdir;
	char id[RUN_ID_LENGTH + 1];
};

/* One named skip a suite; nothing is opened. */
static void skip_gated(struct run *run)
{
	const struct sp_selection *selection = &run->options->selection;

	for (size_t i = 0; i < selection->len; i++) {
		struct sp_result_case result = { .verdict = SP_SKIP, .worker = -1 };

		if (i && selection->suites[i] == selection->suites[i - 1])
			continue;
		result.message = (char *)run->options->gated_skip;
		result.start = sp_wall_ms();
		sp_tally_attempt(run->tally, i, &result, true);
	}
}

static unsigned worker_count(const struct sp_run_options *o)
{
	unsigned jobs = o->live || !o->jobs ? 1 : o->jobs;

	if (jobs > o->selection.len)
		jobs = (unsigned)o->selection.len;
	return jobs > MAX_JOBS ? MAX_JOBS : jobs;
}

static const char *shown_of(const struct sp_run_options *o, enum sp_subject_kind kind)
{
	for (size_t i = 0; i < o->n_subjects; i++)
		if (o->subjects[i].kind == kind)
			return o->subjects[i].shown;
	return NULL;
}

/* Where things outlive us nothing is made without a ledger; elsewhere everything dies with us. */
static int open_ledger(struct run *run, struct sp_error *err)
{
	const struct sp_run_options *o = run->options;
	struct sp_buf subjects SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error why = SP_ERROR_INIT;

	for (size_t i = 0; i < o->n_subjects; i++)
		sp_buf_addf(&subjects, "%s%s=%s", i ? " " : "",
			    sp_subject_kind_name(o->subjects[i].kind), o->subjects[i].shown);
	if (!sp_ledger_open(sp_buf_str(&subjects), shown_of(o, SP_SUBJECT_PROVIDER), o->outlives,
			    &run->ledger, &why))
		return sp_ledger_store(run->ledger, shown_of(o, SP_SUBJECT_STORE))
			   ? sp_error_set(err, SP_IO, "the ledger cannot be written")
			   : 0;
	if (!o->outlives) {
		fprintf(stderr, "sandproof: this run has no ledger: %s\n", why.message);
		return 0;
	}
	if (err)
		*err = why;
	return why.code;
}

static int open_run(struct run *run, struct sp_error *err)
{
	const struct sp_run_options *o = run->options;
	struct sp_supervisor_options options = { .run = o, .tally = run->tally };
	int rc = sp_workdir_make(&run->workdir, err);

	if (!rc)
		rc = open_ledger(run, err);
	if (!rc && o->prepare) {
		rc = o->prepare(o->opener, err);
		run->prepared = !rc;
	}
	if (rc)
		return rc;
	sp_random_id(run->id, RUN_ID_LENGTH);
	options.ledger = run->ledger;
	options.dir = run->workdir.path;
	options.run_id = run->id;
	options.jobs = worker_count(o);
	return sp_supervisor_open(&options, &run->supervisor, err);
}

static void close_run(struct run *run)
{
	const struct sp_run_options *o = run->options;
	/* Back ends of our own end with us, whatever was begun in them. */
	bool clean = !run->supervisor ||
		     (!sp_supervisor_left(run->supervisor) &&
		      (!o->outlives || !sp_ledger_open_rows(run->ledger)));

	size_t records = run->supervisor ? sp_supervisor_records(run->supervisor) : 0;

	sp_supervisor_close(run->supervisor);
	/* A prepare that failed half-way has cleaned up after itself. */
	if (o->finish && run->prepared)
		o->finish(o->opener);
	if (!clean && run->ledger && (o->outlives || records))
		fprintf(stderr, "sandproof: something is left; `sandproof sweep` shows what (%s)\n",
			sp_ledger_path(run->ledger));
	sp_ledger_close(run->ledger, clean);
	sp_workdir_remove(&run->workdir);
}

/*
 * From before the first file is made until the last is removed only the supervisor hears of an
 * interrupt; one that comes earlier waits for it.
 */
static void hold_interrupts(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

int sp_run_cases(const struct sp_run_options *options, struct sp_result_end *ret_end,
		 struct sp_error *err)
{
	struct run run = { .options = options, .workdir = SP_WORKDIR_INIT };
	struct sp_error own = SP_ERROR_INIT;
	bool interrupted = false;
	uint64_t commands = 0;
	sigset_t signals;
	int rc, code;

	err = err ? err : &own;
	hold_interrupts(&signals);
	if (sp_tally_open(options, worker_count(options), &run.tally, err)) {
		sigprocmask(SIG_SETMASK, &signals, NULL);
		memset(ret_end, 0, sizeof(*ret_end));
		return ret_end->exit_code = SP_EXIT_HARNESS;
	}
	if (options->listener.started)
		options->listener.started(options->listener.arg, &options->selection,
					  worker_count(options));
	if (options->gated_skip) {
		skip_gated(&run);
		rc = 0;
	} else if (!options->selection.len) {
		rc = 0;
	} else {
		rc = open_run(&run, err);
	}
	if (!rc && run.supervisor) {
		rc = sp_supervisor_run(run.supervisor, err);
		interrupted = sp_supervisor_interrupted(run.supervisor);
	}
	if (!rc && options->commands && run.prepared)
		commands = options->commands(options->opener);
	close_run(&run);
	code = sp_tally_close(run.tally, rc, interrupted, commands, ret_end, err);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	return code;
}
