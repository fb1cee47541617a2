/* SPDX-License-Identifier: MIT */
/*
 * ROUNDS: patience counted in completed round trips, never in seconds. "Still
 * pending after N rounds" means that N harmless commands went through the
 * same sandbox meanwhile; a slow machine makes the rounds slow too. Without
 * control most of them run inside one exec, since a live service counts requests.
 */
#ifndef SP_WITNESS_ROUNDS_H
#define SP_WITNESS_ROUNDS_H

#include <witness/call.h>

/* Runs the case's number of rounds. False after a recorded failure. */
bool sp_rounds(struct sp_case *t, struct sp_sandbox *sandbox);

/*
 * True when the call is still pending after all rounds; false as soon as it is
 * done (nothing is recorded then), or after a recorded failure.
 */
bool sp_rounds_pending(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call);

/*
 * True when the call is done within the rounds. Not for proofs of a hang: a call that a
 * healthy provider completes only a little later must be joined instead.
 */
bool sp_rounds_done(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_call *call);

#endif
