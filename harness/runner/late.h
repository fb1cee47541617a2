/* SPDX-License-Identifier: MIT */
/*
 * A case whose time is up, seen from inside its worker: what its calls wait for is asked of the
 * back end while it can still be asked, since they may never return.
 */
#ifndef SP_RUNNER_LATE_H
#define SP_RUNNER_LATE_H

#include "case_impl.h"

/* A watch over one case; where the back end can tell nothing there is no thread. */
struct sp_late {
	struct sp_case *t;
	pthread_t thread;
	/* An event that ends the watch, or -1. */
	int stop;
};

/* Begins: from here on the case's own cancel is waited for. */
void sp_late_start(struct sp_late *late, struct sp_case *t);
/* Ends, whether it fired or not. */
void sp_late_stop(struct sp_late *late);

#endif
