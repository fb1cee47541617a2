/* SPDX-License-Identifier: MIT */
/*
 * The output of a follower, read by a thread of its own into a few buffers, so that a reader can
 * wait for bytes and for an abort at once, and a slow reader makes the follower stand still.
 */
#ifndef SP_JOURNAL_FOLLOWER_H
#define SP_JOURNAL_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include <sandproof/process.h>

struct follower;

/*
 * Takes over the process; NULL without memory or threads (the process is then killed and released).
 */
struct follower *follower_new(struct sp_process process);
/* Readable when bytes may have come since follower_pop() found none. */
int follower_fd(const struct follower *follower);
/*
 * Takes the oldest bytes: 1 with bytes, 0 when there are none yet, else the end: SP_GONE after the
 * end of the output, or what read answered, with `err` filled.
 */
int follower_pop(struct follower *follower, struct sp_bytes *ret_bytes, struct sp_error *err);
/*
 * Kills the follower (unless `leave`), gives it a moment to end, and frees what is
 * ours. NULL is fine; returns NULL.
 */
struct follower *follower_close(struct follower *follower, bool leave);

#endif
