/* SPDX-License-Identifier: MIT */
/*
 * The queue of a handle (item 12): command starts pass together, env writes
 * alone, all in the order in which they came. A kill never stands in it.
 */
#include "internal.h"

static void append(struct render_sandbox *sandbox, struct render_turn *turn)
{
	struct render_turn **end = &sandbox->first_turn;

	while (*end)
		end = &(*end)->next;
	*end = turn;
}

static void take_out(struct render_sandbox *sandbox, struct render_turn *turn)
{
	struct render_turn **at = &sandbox->first_turn;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	wake_all(&sandbox->changed);
}

int render_queue_enter(struct render_sandbox *sandbox, bool alone, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct render_turn turn = {NULL};
	int rc = 0;

	if (!sandbox->core->steps.one_queue)
		return 0;
	pthread_mutex_lock(&sandbox->lock);
	append(sandbox, &turn);
	while (!rc &&
	       (sandbox->first_turn != &turn || sandbox->writing || (alone && sandbox->starting)))
		rc = wake_wait(&sandbox->changed, &sandbox->lock, cancel, NULL, err);
	take_out(sandbox, &turn);
	if (!rc && alone)
		sandbox->writing = true;
	else if (!rc)
		sandbox->starting++;
	pthread_mutex_unlock(&sandbox->lock);
	return rc;
}

void render_queue_leave(struct render_sandbox *sandbox, bool alone)
{
	if (!sandbox->core->steps.one_queue)
		return;
	pthread_mutex_lock(&sandbox->lock);
	if (alone)
		sandbox->writing = false;
	else
		sandbox->starting--;
	wake_all(&sandbox->changed);
	pthread_mutex_unlock(&sandbox->lock);
}
