/* SPDX-License-Identifier: MIT */
/*
 * What a worker shares with the supervisor by memory, so that it outlives a
 * crash or a hang: whether a call of the subject is being made, and what the
 * case did so far.
 */
#ifndef SP_RUNNER_SHARED_H
#define SP_RUNNER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <base/buf.h>
#include <sandproof/error.h>

/* Bytes of dialogue that are kept; older lines make room. */
#define SP_DIALOGUE_MAX (24 * 1024)
/* Longest single line of it. */
#define SP_DIALOGUE_LINE 2048

struct sp_shared {
	/* Calls of the subject that have not returned, on all threads. */
	atomic_int in_call;
	/* Those of them that are inside a plugin. */
	atomic_int in_plugin;
	/* Those of them that make what outlives the run; see making.h. */
	atomic_int making;
	/*
	 * Static name of the call that was entered last. Valid in both processes, since
	 * neither executes another program.
	 */
	_Atomic(const char *) call;
	/* Why its calls did not return when the case's time was up; empty: nobody can tell. */
	char stuck[SP_ERROR_TEXT];
	/*
	 * Dialogue of the running case. Written by the worker only, read by the
	 * supervisor once the worker is dead.
	 */
	size_t dialogue_len;
	/* Lines were dropped at the front. */
	bool dialogue_cut;
	char dialogue[SP_DIALOGUE_MAX];
};

/* Maps one page set that a forked child shares; NULL without memory. */
struct sp_shared *sp_shared_new(void);
void sp_shared_free(struct sp_shared *shared);
/* Forgets the dialogue and the calls of the case before. */
void sp_shared_reset(struct sp_shared *shared);
/* Appends one line, cut at SP_DIALOGUE_LINE; the caller holds whatever lock its threads need. */
void sp_shared_note(struct sp_shared *shared, const char *line, size_t len);
/* Appends the dialogue to `out`, with a first line that says so when older lines were dropped. */
void sp_shared_dialogue(const struct sp_shared *shared, struct sp_buf *out);

#endif
