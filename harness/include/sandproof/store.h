/* SPDX-License-Identifier: MIT */
/* Instance stores and locks (sandbox-contract 2.1 and 4.4). */
#ifndef SANDPROOF_STORE_H
#define SANDPROOF_STORE_H

#include <sandproof/cancel.h>
#include <sandproof/capabilities.h>
#include <sandproof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which sandbox belongs to a key. NULL in an optional field means that the
 * field is absent, which is neither empty nor null.
 *
 * Texts are UTF-8 and kept byte-exact: nothing is normalised, folded, trimmed or cut. A key has at
 * least one byte; whatever else it looks like (a path, a pattern, SQL), it is only text. Text that
 * is not UTF-8 is SP_INVALID. Every store and lock takes keys of up to SP_KEY_TAKEN
 * bytes and other texts of up to SP_VALUE_TAKEN bytes; a longer one is
 * either kept whole or SP_INVALID with the limit in the message.
 */
struct sp_record {
	char *key;
	char *provider;
	char *provider_sandbox_id;
	/* Optional. */
	char *latest_snapshot_id;
	char *thread_id;
	/* Optional. */
	char *latest_run_id;
	/* Milliseconds since 1970, any signed 64-bit value. */
	int64_t updated_at;
};

/* Bytes of a key that every store and lock takes. */
#define SP_KEY_TAKEN 1024
/* Bytes of any other text that every store takes. */
#define SP_VALUE_TAKEN (64 * 1024)

#define SP_RECORD_INIT { NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/* Frees the texts and clears the struct. */
void sp_record_done(struct sp_record *record);

#define SP_STORE_VERSION 1

struct sp_store_ops {
	unsigned version;
	/* The declaration; lives as long as the store. */
	const struct sp_store_capabilities *(*capabilities)(void *self);
	/*
	 * Looks a key up. 0 with `*ret_found` false when there is none; the caller owns the record.
	 */
	int (*get)(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		   struct sp_cancel *cancel, struct sp_error *err);
	/*
	 * Replaces the whole record of record->key: a field absent now is absent
	 * afterwards. With `fence`: SP_CONFLICT when an upsert with a higher one was
	 * acknowledged before; del() forgets that with the record, an upsert without a fence does
	 * not look at it. Without fences the last writer wins, also after a del(). Acknowledged
	 * means durable where declared. A record that is damaged in the store is SP_PROTOCOL for
	 * get() and is replaced by upsert(); other keys are not touched by it.
	 */
	int (*upsert)(void *self, const struct sp_record *record, const uint64_t *fence,
		      struct sp_cancel *cancel, struct sp_error *err);
	/* Removes a key; a missing one is fine. */
	int (*del)(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err);
	/* Closes the store. */
	void (*close)(void *self);
	/*
	 * Optional, for a store in another language, whose caller's memory is not ours: does there
	 * what such a caller can do. Writes a record under `key`, which nobody uses, and deletes it
	 * in the end; `*ret_put` says whether a change of the object that was handed over, and
	 * `*ret_got` whether one of the object that was got, left the record as it was.
	 */
	int (*copies)(void *self, const char *key, bool *ret_put, bool *ret_got,
		      struct sp_cancel *cancel, struct sp_error *err);
};

/* A reference to a store: two pointers, copied freely; close it once. Thread-safe. */
struct sp_store {
	const struct sp_store_ops *ops;
	void *self;
};

#define SP_STORE_INIT { NULL, NULL }

/*
 * The calls as functions: each looks at the reference, its version and the entry first (SP_INVALID,
 * SP_UNSUPPORTED), then calls it. The declaration is NULL for a store that cannot be asked.
 */
const struct sp_store_capabilities *sp_store_capabilities(struct sp_store *store);
int sp_store_get(struct sp_store *store, const char *key, struct sp_record *ret_record,
		 bool *ret_found, struct sp_cancel *cancel, struct sp_error *err);
int sp_store_upsert(struct sp_store *store, const struct sp_record *record, const uint64_t *fence,
		    struct sp_cancel *cancel, struct sp_error *err);
int sp_store_del(struct sp_store *store, const char *key, struct sp_cancel *cancel,
		 struct sp_error *err);
int sp_store_copies(struct sp_store *store, const char *key, bool *ret_put, bool *ret_got,
		    struct sp_cancel *cancel, struct sp_error *err);
/* Closes and clears; an empty reference is fine. */
void sp_store_done(struct sp_store *store);

#define SP_LEASE_VERSION 1

struct sp_lease_ops {
	unsigned version;
	/* Fencing token: grows with each holder of the key; 0 where tokens are not offered. */
	uint64_t (*fence)(void *self);
	/*
	 * Fires when the lease is lost; borrowed, lives as long as the lease.
	 * Never fires without `lease`.
	 */
	struct sp_cancel *(*lost)(void *self);
	/* Gives the lock back and frees the lease; a lost one is fine and frees nobody else's. */
	void (*release)(void *self);
};

/* A held lock; release it once. */
struct sp_lease {
	const struct sp_lease_ops *ops;
	void *self;
};

#define SP_LEASE_INIT { NULL, NULL }

/* The calls as functions, as for stores; of an empty lease the token is 0 and the signal NULL. */
uint64_t sp_lease_fence(struct sp_lease *lease);
struct sp_cancel *sp_lease_lost(struct sp_lease *lease);
/* Gives the lock back and clears; an empty lease is fine. */
void sp_lease_done(struct sp_lease *lease);

#define SP_LOCK_VERSION 1

struct sp_lock_ops {
	unsigned version;
	/* The declaration; lives as long as the lock service. */
	const struct sp_lock_capabilities *(*capabilities)(void *self);
	/*
	 * Waits until the caller is the one holder of `key` (text as is). Not re-entrant: the
	 * holder itself waits as everybody does. SP_ABORTED, SP_TIMED_OUT, SP_UNAVAILABLE.
	 */
	int (*acquire)(void *self, const char *key, struct sp_cancel *cancel,
		       struct sp_lease *ret_lease, struct sp_error *err);
	/* Closes the service; leases are released before. */
	void (*close)(void *self);
};

/* A reference to a lock service: two pointers, copied freely; close it once. Thread-safe. */
struct sp_lock {
	const struct sp_lock_ops *ops;
	void *self;
};

#define SP_LOCK_INIT { NULL, NULL }

/* The calls as functions, as for stores. */
const struct sp_lock_capabilities *sp_lock_capabilities(struct sp_lock *lock);
int sp_lock_acquire(struct sp_lock *lock, const char *key, struct sp_cancel *cancel,
		    struct sp_lease *ret_lease, struct sp_error *err);
/* Closes and clears; an empty reference is fine. */
void sp_lock_done(struct sp_lock *lock);

#ifdef __cplusplus
}
#endif
#endif
