/* SPDX-License-Identifier: MIT */
/*
 * Holds and failures of a workspace: what control arranges for a step, and what a step finds
 * arranged.
 */
#ifndef FAKE_RENDER_API_HOLD_H
#define FAKE_RENDER_API_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <sandproof/control.h>

struct workspace;
struct hold;

TAILQ_HEAD(hold_list, hold);
TAILQ_HEAD(failure_list, failure);
TAILQ_HEAD(hold_waiter_list, hold_waiter);

/* One that waits until something stands at a hold; part of what waits. */
struct hold_waiter {
	TAILQ_ENTRY(hold_waiter) entry;
	struct hold *hold;
	/* Called once: true when something stands there, false when the hold is gone. */
	void (*tell)(void *arg, bool held);
	void *arg;
};

/* Arranges a hold; its id, or 0 when memory is short. `sandbox_id` NULL: any sandbox. */
uint64_t hold_arm(struct workspace *workspace, enum sp_control_step step,
		  enum sp_control_when when, const char *sandbox_id);
struct hold *hold_find(struct workspace *workspace, uint64_t id);
size_t hold_count(const struct workspace *workspace);
/* `waiter->tell` runs at once when something stands there already. */
void hold_await(struct hold *hold, struct hold_waiter *waiter);
void hold_waiter_cancel(struct hold_waiter *waiter);
/* Lets go what stands there, or cancels the hold; frees it. */
void hold_release(struct workspace *workspace, struct hold *hold);
void hold_release_all(struct workspace *workspace);

/* True when a hold waits for this. */
bool hold_is_armed(const struct workspace *workspace, enum sp_control_step step,
		   enum sp_control_when when, const char *sandbox_id);
/*
 * Stands at a hold if one waits for this: returns it, and `go` is called when it is released. NULL:
 * go on.
 */
struct hold *hold_reach(struct workspace *workspace, enum sp_control_step step,
			enum sp_control_when when, const char *sandbox_id, void (*go)(void *arg),
			void *arg);
/* What stood there went away; NULL is fine. */
void hold_leave(struct hold *hold);

/* How a step is made to fail: `how` is an enum sp_control_how, or -1 for not at all. */
struct failure_plan {
	int how;
	int status;
};

/* Nothing fails. */
#define FAILURE_NONE { .how = -1 }

/* The nth occurrence from now on fails (0: each). 0 or -ENOMEM. */
int failure_add(struct workspace *workspace, enum sp_control_step step, unsigned nth,
		struct failure_plan plan);
void failure_clear(struct workspace *workspace, enum sp_control_step step);
void failure_clear_all(struct workspace *workspace);
/* A step occurs: counts it and says how it has to fail, switches of the server included. */
struct failure_plan failure_take(struct workspace *workspace, enum sp_control_step step);

#endif
