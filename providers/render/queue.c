/* SPDX-License-Identifier: MIT */
/*
 * One queue a handle, in order of arrival: command starts share a turn, env
 * writes have it alone. So a command sees every env_set() that came before
 * it, and none half written.
 */
#include "internal.h"

static bool may_go(const struct render_sandbox *sandbox, uint64_t ticket, bool alone)
{
	return sandbox->serving == ticket && !sandbox->writing && (!alone || !sandbox->starting);
}

int render_queue_enter(struct render_sandbox *sandbox, bool alone, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	uint64_t ticket;
	int rc = 0;

	pthread_mutex_lock(&sandbox->lock);
	ticket = sandbox->next_ticket++;
	/* Who gave up still has to let those behind pass, so it waits for its number and then leaves it. */
	while (!may_go(sandbox, ticket, alone) && !(rc && sandbox->serving == ticket)) {
		int woken = wake_wait(&sandbox->turns, &sandbox->lock, rc ? NULL : cancel, NULL,
				      rc ? NULL : err);

		if (woken)
			rc = woken;
	}
	sandbox->serving++;
	if (!rc && alone)
		sandbox->writing = true;
	else if (!rc)
		sandbox->starting++;
	wake_all(&sandbox->turns);
	pthread_mutex_unlock(&sandbox->lock);
	return rc;
}

void render_queue_leave(struct render_sandbox *sandbox, bool alone)
{
	pthread_mutex_lock(&sandbox->lock);
	if (alone)
		sandbox->writing = false;
	else
		sandbox->starting--;
	wake_all(&sandbox->turns);
	pthread_mutex_unlock(&sandbox->lock);
}
