/* SPDX-License-Identifier: MIT */
/* What most cases do with a lock: hold it, ask for it on another thread, look whether it is held.
 */
#ifndef SUITE_LOCK_SCENE_H
#define SUITE_LOCK_SCENE_H

#include <base/cleanup.h>
#include <sandproof/case.h>
#include <witness/call.h>

/* struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT; gives it back at the end of the scope. */
#define LOCK_LEASE SP_CLEANUP(sp_lease_done)

/* A caller on a thread of its own that wants a key. */
struct lock_asker {
	struct sp_lock *lock;
	const char *key;
	/* Filled when the call has answered 0; owned by the case. */
	struct sp_lease lease;
};

/* Acquires; false after a recorded failure. */
bool lock_take(struct sp_case *t, struct sp_lock *lock, const char *key,
	       struct sp_lease *ret_lease);
/* Starts an acquire on a thread; the asker is borrowed until the call is joined. */
struct sp_call *lock_ask(struct sp_case *t, struct lock_asker *asker);
/* Joins and checks that it was given. */
bool lock_given(struct sp_case *t, struct sp_call *call, const char *what);
/*
 * Checks that a call is still waiting after N ROUNDS, each of which takes and gives back another
 * key of `lock`: time enough for an answer that ought not to come.
 */
bool lock_still_waits(struct sp_case *t, struct sp_lock *lock, struct sp_call *call,
		      const char *what);
/* Waits until the signal of a lease has fired; false at the case's limit. */
bool lock_await_lost(struct sp_case *t, struct sp_lease *lease);
/* A second instance's lock, or NULL after a recorded error. */
struct sp_lock *lock_second(struct sp_case *t);

#endif
