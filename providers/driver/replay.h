/* SPDX-License-Identifier: MIT */
/*
 * Plays the client's part of a trace to a driver again, and tells where it answers otherwise. The
 * process must ignore SIGPIPE.
 */
#ifndef SP_DRIVER_REPLAY_H
#define SP_DRIVER_REPLAY_H

#include "driver.h"

/*
 * One answer that is not as in the trace: the line with the answer, from 1; where in it
 * ("result.exit_code"); and both sides as JSON, a code's name, or words.
 */
typedef void (*sp_replay_differs_fn)(void *arg, size_t line, const char *method, const char *at,
				     const char *expected, const char *actual);

struct sp_replay_options {
	/*
	 * Who plays the driver's part of dialogues with a provider (or a journal), a store, a lock;
	 * NULL: such dialogues are left out. A lock that is not named is the store's own.
	 */
	const struct sp_driver_options *provider, *store, *lock;
	/* Milliseconds that an answer may take; 0: 30,000. Stretched by SANDPROOF_TIME_SCALE. */
	uint32_t limit_ms;
	sp_replay_differs_fn differs;
	/* One line of what else is worth knowing. */
	void (*note)(void *arg, const char *text);
	void *arg;
};

/* What was played; zeroed to begin with. */
struct sp_replay_counts {
	size_t dialogues, requests, differences;
};

/*
 * 0 when everything was played, also with differences; counts up to there in any case. SP_PROTOCOL
 * or SP_IO: the trace cannot be used ("PATH:LINE: …"); SP_INVALID: it has no dialogue for what is
 * named; or what went wrong with the driver, with its last words as detail.
 */
int sp_replay(const char *trace, const struct sp_replay_options *options,
	      struct sp_replay_counts *counts, struct sp_error *err);

#endif
