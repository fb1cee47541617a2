/* SPDX-License-Identifier: MIT */
/*
 * The guard: thin tables around a subject's tables. They count the calls that
 * have not returned (in memory that the supervisor sees), write the dialogue,
 * put rows into the ledger, and remember what was made, so that it is removed
 * whatever a case does. They change no argument that the subject can see,
 * with one exception: a sandbox that outlives the run gets a lifetime where it has none, as its
 * fingerprint.
 */
#ifndef SP_RUNNER_GUARD_H
#define SP_RUNNER_GUARD_H

#include <sandproof/subject.h>

#include <redact/redact.h>

#include "ledger.h"
#include "shared.h"

struct sp_guard;

/* What a guard stands on; all borrowed, and outlives it. */
struct sp_guard_options {
	struct sp_shared *shared;
	struct sp_redact *redact;
	struct sp_ledger *ledger;
	/* Bits of 1 << enum sp_subject_kind: tables of plugins, which can crash the worker. */
	unsigned foreign;
	/*
	 * What the back end holds outlives the run: sandboxes without a lifetime get a random
	 * one, and nothing is made whose row cannot be written.
	 */
	bool outlives;
	/* Called when a sandbox was made and when it is gone. May be NULL. */
	void (*made)(void *arg, const char *id);
	void (*gone)(void *arg, const char *id);
	/* The same of the keys of records of a store that is durable. */
	void (*wrote)(void *arg, const char *key);
	void (*forgot)(void *arg, const char *key);
	void *arg;
};

/* A guard around no subject yet; the options are copied. NULL when memory is short. */
struct sp_guard *sp_guard_new(const struct sp_guard_options *options);
/* Frees the guard; the subjects under it are closed before. */
struct sp_guard *sp_guard_free(struct sp_guard *guard);
/*
 * Puts the guard around every table of an open subject, in place. SP_INTERNAL without
 * memory (the subject is as it was).
 */
int sp_guard_subject(struct sp_guard *guard, struct sp_subject *subject, struct sp_error *err);

/* Appends a redacted line to the dialogue. Thread-safe. */
void sp_guard_note(struct sp_guard *guard, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sp_guard_vnote(struct sp_guard *guard, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* What the runner does for itself is no part of the case's dialogue. */
void sp_guard_mute(struct sp_guard *guard, bool mute);

/* Around the wait for another process that is inside the subject. */
void sp_guard_enter_other(struct sp_guard *guard);
void sp_guard_leave_other(struct sp_guard *guard);
/* Name of a call that has not returned, or NULL. */
const char *sp_guard_pending(struct sp_guard *guard);
/*
 * Keeps a handle and its sandbox over the end of the case: sp_guard_drop_handles() and
 * sp_guard_take_sandbox() leave them.
 */
void sp_guard_keep(struct sp_guard *guard, const struct sp_sandbox *sandbox);
/* Releases every handle that a case left open. Only while no call is pending. */
void sp_guard_drop_handles(struct sp_guard *guard);

/* Remembers a sandbox by id, as if the guard had seen its creation. */
void sp_guard_track(struct sp_guard *guard, const char *id);
/*
 * Takes one sandbox that was made and not destroyed, a kept one only with
 * `kept`; malloc'ed id, or NULL.
 */
char *sp_guard_take_sandbox(struct sp_guard *guard, bool kept);
/* Takes the one with this id; `id` may be NULL. */
char *sp_guard_take_named(struct sp_guard *guard, const char *id);
/* Tells that a sandbox that was taken is gone. */
void sp_guard_removed(struct sp_guard *guard, const char *id);
/* Same as taking a sandbox, for snapshots; and telling that one that was taken is deleted. */
char *sp_guard_take_snapshot(struct sp_guard *guard);
void sp_guard_deleted(struct sp_guard *guard, const char *reference);
/*
 * Tells that calls whose outcome nobody knows left nothing: all of the workspace was seen, or
 * removed.
 */
void sp_guard_nothing_unknown(struct sp_guard *guard);
/*
 * The same of keys of records: noting that one may be there, before it is written (false: it was
 * noted already); taking one; and telling that it is not there any more. Whether a key is short
 * enough to be told to the supervisor.
 */
bool sp_guard_can_tell(const char *key);
bool sp_guard_wrote(struct sp_guard *guard, const char *key);
char *sp_guard_take_record(struct sp_guard *guard);
void sp_guard_forgot(struct sp_guard *guard, const char *key);

#endif
