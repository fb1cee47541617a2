/* SPDX-License-Identifier: MIT */
/*
 * GATE: the case stands at one chosen step of the back end and opens it by
 * hand; so a race has one order. Needs control.
 */
#ifndef SP_WITNESS_GATE_H
#define SP_WITNESS_GATE_H

#include <base/cleanup.h>
#include <sandproof/case.h>

struct sp_gate {
	struct sp_case *t;
	uint64_t hold;
	/* Set and not yet opened. */
	bool shut;
};

#define SP_GATE_INIT { NULL, 0, false }
/*
 * struct sp_gate gate SP_GATE = SP_GATE_INIT; leaving the scope opens it. Declare it
 * *after* the calls that stand at it.
 */
#define SP_GATE SP_CLEANUP(sp_gate_done)

/*
 * Shuts the gate for the next occurrence of `step` in this sandbox. False after a recorded error.
 */
bool sp_gate_shut(struct sp_case *t, struct sp_sandbox *sandbox, enum sp_control_step step,
		  enum sp_control_when when, struct sp_gate *gate);
/* Same for a sandbox that is yet to be made: of any in the workspace. */
bool sp_gate_shut_any(struct sp_case *t, enum sp_control_step step, enum sp_control_when when,
		      struct sp_gate *gate);
/*
 * Waits until something stands at it. False after a recorded failure: the step was never reached.
 */
bool sp_gate_await(struct sp_gate *gate);
/* Opens it. False after a recorded error. */
bool sp_gate_open(struct sp_gate *gate);
/* See SP_GATE. */
void sp_gate_done(struct sp_gate *gate);

#endif
