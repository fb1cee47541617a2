/* SPDX-License-Identifier: MIT */
/*
 * A call of the sandbox on a thread of its own, so that an abort or a limit can be answered while
 * the provider still hangs in it. What is abandoned is kept alive until the provider comes back.
 */
#ifndef SP_JOURNAL_RACE_H
#define SP_JOURNAL_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include <sandproof/sandbox.h>

/* One call. Counted: one reference is the caller's, one the thread's. */
struct race;

/* What the call left; owned by the race, valid once it is done. */
struct race_result {
	int rc;
	struct sp_error err;
	/* Of race_exec(). */
	struct sp_exec_result exec;
	/* Of race_spawn(). Whoever wants to keep it takes it; one that nobody took is killed. */
	struct sp_process process;
};

/* Starts exec of a command, which is freed. NULL without memory or threads. */
struct race *race_exec(struct sp_sandbox *sandbox, char *command);
/* Starts spawn of a command, which is freed. */
struct race *race_spawn(struct sp_sandbox *sandbox, char *command);
/* Readable once the call is done. */
int race_fd(const struct race *race);
/* The result, or NULL while the call runs. */
struct race_result *race_result(struct race *race);
/*
 * Waits until it is done: 0; SP_ABORTED or SP_TIMED_OUT of `cancel` (may be NULL); SP_UNAVAILABLE
 * once the absolute time has come (0: never). The call goes on meanwhile.
 */
int race_wait(struct race *race, struct sp_cancel *cancel, uint64_t deadline);
/* Asks the call to end: its own cancel is aborted. */
void race_abort(struct race *race);
/*
 * Aborts what still runs, gives it a moment to come back, and drops the caller's
 * reference. NULL is fine; returns NULL.
 */
struct race *race_drop(struct race *race);

/* Waits for one of two descriptors (-1: none) or an absolute time (0: never). */
void race_poll(int a, int b, uint64_t deadline);

#endif
