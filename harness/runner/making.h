/* SPDX-License-Identifier: MIT */
/*
 * A worker that is told to end (TERM) inside a call which makes something that outlives the run
 * ends when that call has been answered and told: before, nobody knows what is to be removed.
 */
#ifndef SP_RUNNER_MAKING_H
#define SP_RUNNER_MAKING_H

#include "shared.h"

/* Once, in a worker; whoever handled TERM before ends the worker as ever. `shared` is borrowed. */
void sp_making_watch(struct sp_shared *shared);
/*
 * Such a call begins. What comes back is for sp_making_end(), after the worker has told what was
 * made; NULL, which is fine there, without `outlives`.
 */
struct sp_shared *sp_making_begin(struct sp_shared *shared, bool outlives);
/* A cleanup function: the call ended, and the worker with it if it was told to. */
void sp_making_end(struct sp_shared **making);

#endif
