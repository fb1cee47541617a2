/* SPDX-License-Identifier: MIT */
/*
 * ROUNDS: patience counted in completed round trips, never in seconds. "Still
 * pending after N rounds" means that N harmless commands went through the
 * same sandbox meanwhile; a slow machine makes the rounds slow too. Where requests
 * count they run inside two commands.
 */
#ifndef SP_WITNESS_ROUNDS_H
#define SP_WITNESS_ROUNDS_H

#include <witness/call.h>

/*
 * Whether each command may be a request that somebody counts: there is no control, and the sandbox
 * is a service's, since those of this machine are never suspended.
 */
bool sp_counted(struct sp_case *t);

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
