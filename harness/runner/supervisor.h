/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: hands out cases, one at a time to each worker, and turns
 * crashes, hangs and interrupts into verdicts. States and absolute deadlines;
 * the one place that waits for processes, and it never waits for one thing
 * alone.
 */
#ifndef SP_RUNNER_SUPERVISOR_H
#define SP_RUNNER_SUPERVISOR_H

#include <runner/runner.h>

#include "ledger.h"
#include "tally.h"

struct sp_supervisor;

/* What it stands on; borrowed. */
struct sp_supervisor_options {
	const struct sp_run_options *run;
	struct sp_tally *tally;
	struct sp_ledger *ledger;
	/* The run's private folder. */
	const char *dir;
	const char *run_id;
	/* Workers at once. */
	unsigned jobs;
};

/*
 * Takes SIGINT, SIGTERM, SIGHUP and SIGCHLD for itself and becomes the parent
 * of orphans. Children that are there already are somebody else's and are
 * left alone.
 */
int sp_supervisor_open(const struct sp_supervisor_options *options,
		       struct sp_supervisor **ret_supervisor, struct sp_error *err);
/*
 * Runs all cases, or until an interrupt; every worker has ended then. SP_IO and the
 * like: no worker could be started.
 */
int sp_supervisor_run(struct sp_supervisor *supervisor, struct sp_error *err);
/* A signal ended the run. */
bool sp_supervisor_interrupted(const struct sp_supervisor *supervisor);
/* Sandboxes and records that nobody removed; the records among them. */
size_t sp_supervisor_left(const struct sp_supervisor *supervisor);
size_t sp_supervisor_records(const struct sp_supervisor *supervisor);
/* Gives the signals back and frees it. */
void sp_supervisor_close(struct sp_supervisor *supervisor);

#endif
