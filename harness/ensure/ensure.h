/* SPDX-License-Identifier: MIT */
/*
 * Our own ensure: the implementation behind struct sp_ensure_ops.
 *
 * Choices where the contract leaves one, beyond what sandproof/ensure.h says:
 * - The age of a record is counted from its last ensure, since a record holds no other time.
 * - The sandbox of an expired record, and its snapshot, are removed before a new one is made. If
 * that
 *   fails, its error is the answer and the record stays, so that nothing is ever without a record.
 * - A failing env_set() after a resume is the answer; the record and the sandbox stay.
 * - A snapshot that is gone for good, under a sandbox that is, leaves nothing to come back to: a
 * new sandbox is
 *   made. Every other error of restore() is the answer.
 * - An upsert that fails after a resume is the answer and the sandbox lives on; one that fails
 * after a
 *   create or restore removes what was made.
 * - destroy() works under the same lock as ensure(), and not under the caller's cancel, which may
 * have fired.
 *   It deletes the record's snapshot as well.
 * - A lease that is lost is SP_UNAVAILABLE: whoever has the lock now decides, and asking again is
 * safe.
 */
#ifndef SP_ENSURE_OWN_H
#define SP_ENSURE_OWN_H

#include <sandproof/ensure.h>

#define SP_ENSURE_SETTINGS_VERSION 1

struct sp_ensure_settings {
	unsigned version;
	/* Wall clock in milliseconds since 1970; NULL: the machine's. */
	int64_t (*now_ms)(void *arg);
	void *now_arg;
	/*
	 * Called at the first ensure() in which a store that outlives or is shared beyond the
	 * process stands beside a lock that excludes only within it. NULL: one line on standard
	 * error.
	 */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

#define SP_ENSURE_SETTINGS_INIT { .version = SP_ENSURE_SETTINGS_VERSION }

/* Opens our ensure; `settings` may be NULL and is copied. It keeps nothing between calls. */
int sp_ensure_open(const struct sp_ensure_settings *settings, struct sp_ensure *ret_ensure,
		   struct sp_error *err);

/*
 * Why these two should not stand together where several processes (or instances) ensure, as one
 * sentence; NULL: they may. Static text.
 */
const char *sp_ensure_pairing(struct sp_store *store, struct sp_lock *lock);

#endif
