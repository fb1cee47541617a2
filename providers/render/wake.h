/* SPDX-License-Identifier: MIT */
/* Waiting for a change of state under a lock, so that a cancel can end the wait. */
#ifndef SP_RENDER_WAKE_H
#define SP_RENDER_WAKE_H

#include <pthread.h>

#include <sandproof/cancel.h>

struct wake_waiter;

/* Those who wait; zeroed is empty. Guarded by the lock that is passed along. */
struct wake_list {
	struct wake_waiter *first;
};

/*
 * Gives up the lock until wake_all() or until one of two cancels (either may
 * be NULL) fires, and takes it again. 0 says only that something may have changed. With
 * `err`, an abort's code is the answer.
 */
int wake_wait(struct wake_list *list, pthread_mutex_t *lock, struct sp_cancel *one,
	      struct sp_cancel *two, struct sp_error *err);
/* Wakes everybody; called with the lock held. */
void wake_all(struct wake_list *list);

#endif
