/* SPDX-License-Identifier: MIT */
/*
 * Cancellation: one object that carries an abort with its reason and a
 * deadline. Whichever comes first wins and stays: the call then ends with
 * SP_ABORTED (message = the reason) or SP_TIMED_OUT, never with both.
 *
 * All functions are thread-safe. A NULL cancel is allowed wherever a call
 * takes one and means "never".
 */
#ifndef SANDPROOF_CANCEL_H
#define SANDPROOF_CANCEL_H

#include <stddef.h>
#include <stdint.h>

#include <sandproof/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque and counted by reference. */
struct sp_cancel;

/* A new cancel with one reference, or NULL when memory or descriptors are short. */
struct sp_cancel *sp_cancel_new(void);
/* Takes one more reference and returns `cancel`. */
struct sp_cancel *sp_cancel_ref(struct sp_cancel *cancel);
/* Drops a reference (NULL is fine) and returns NULL. */
struct sp_cancel *sp_cancel_unref(struct sp_cancel *cancel);

/*
 * Sets the deadline, an absolute CLOCK_MONOTONIC time in nanoseconds; 0
 * removes it. Ignored once the cancel has fired.
 */
void sp_cancel_set_deadline(struct sp_cancel *cancel, uint64_t monotonic_ns);

/* Aborts with a reason (copied, at most SP_ERROR_TEXT bytes). The first abort or deadline wins. */
void sp_cancel_abort(struct sp_cancel *cancel, const char *reason);

/*
 * 0 while nothing has fired, else SP_ABORTED or SP_TIMED_OUT with `err`
 * (may be NULL) filled.
 */
int sp_cancel_check(struct sp_cancel *cancel, struct sp_error *err);

/*
 * A descriptor that becomes readable when the cancel fires, by abort or by
 * deadline; for poll loops. Owned by the cancel; never read from it. -1 for
 * NULL.
 */
int sp_cancel_fd(struct sp_cancel *cancel);

/* Called once when the cancel fires, on the thread that noticed it; must not block. */
typedef void (*sp_cancel_fn)(void *arg);

/*
 * Registers a watcher. If the cancel has fired already, `fn` runs before this
 * returns. A deadline is noticed by sp_cancel_check() or by whoever polls the
 * descriptor and then checks. Returns 0 or SP_INTERNAL; `ret_id` names the
 * watcher for sp_cancel_unwatch().
 */
int sp_cancel_watch(struct sp_cancel *cancel, sp_cancel_fn fn, void *arg, uint64_t *ret_id);
/*
 * Removes a watcher; when it returns, `fn` is not running and will not
 * run. Unknown ids are ignored.
 */
void sp_cancel_unwatch(struct sp_cancel *cancel, uint64_t id);

/* Number of watchers now registered: lets a case prove that listeners are removed. */
size_t sp_cancel_watchers(struct sp_cancel *cancel);

/* Number of references held: lets a case prove that a finished call kept none. */
size_t sp_cancel_refs(struct sp_cancel *cancel);

#ifdef __cplusplus
}
#endif
#endif
