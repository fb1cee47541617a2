/* SPDX-License-Identifier: MIT */
/*
 * One cancel for two sources: the caller's and the loss of a lease. A thread
 * waits for either, since a deadline that is set or moved later has no other
 * way to tell; it lives as long as the call, and only where a lease can be lost.
 */
#ifndef SP_ENSURE_WORK_H
#define SP_ENSURE_WORK_H

#include <pthread.h>

#include <sandproof/cancel.h>

struct work {
	/*
	 * Fires with the first of both, the caller's with its code and reason. May be NULL: never.
	 */
	struct sp_cancel *cancel;
	/* Both borrowed. */
	struct sp_cancel *caller, *lost;
	pthread_t thread;
	/* Ends the thread; -1: there is none. */
	int stop;
};

#define WORK_INIT { .stop = -1 }

/* Ties them together. `lost` NULL: the caller's cancel serves as it is. SP_INTERNAL. */
int work_begin(struct work *work, struct sp_cancel *caller, struct sp_cancel *lost,
	       struct sp_error *err);
/* Ends the thread and lets go of everything. */
void work_end(struct work *work);

#endif
