/* SPDX-License-Identifier: MIT */
/*
 * The sweep of one ledger: ends what it names, and what a call with an unknown outcome made if that
 * can be told beyond doubt. A stranger's sandbox is never ended: whatever is not sure is left to
 * the short lifetime that everything of a run has.
 */
#ifndef SP_RUNNER_SWEEP_H
#define SP_RUNNER_SWEEP_H

#include <sandproof/platform.h>
#include <sandproof/provider.h>
#include <sandproof/store.h>

#include "ledger.h"

/* What became of the rows. */
struct sp_sweep_counts {
	/* Ended now, or (without `end`) to be ended. */
	size_t ended;
	/* Not there any more. */
	size_t gone;
	/* Nobody can tell, or not with these credentials. */
	size_t left;
	/* Should have been ended, and was not. */
	size_t failed;
};

struct sp_sweep_options {
	const struct sp_book *book;
	/* Both borrowed; a platform without a table: unknown outcomes are left. */
	struct sp_provider *provider;
	struct sp_platform *platform;
	/* False: only tells what would be done. */
	bool end;
	/* Wall clock in milliseconds, for lifetimes that have passed. */
	int64_t now_ms;
	/* Says a line, without its line feed. */
	void (*say)(void *arg, const char *line);
	void *arg;
	struct sp_cancel *cancel;
};

/* The same of the records that the book names, in their store; `provider` and `platform` are not
 * looked at. */
void sp_sweep_records(const struct sp_sweep_options *options, struct sp_store *store,
		      struct sp_sweep_counts *ret_counts);
/* Sweeps. Every row is tried, whatever became of the others. */
void sp_sweep_book(const struct sp_sweep_options *options, struct sp_sweep_counts *ret_counts);

#endif
