/* SPDX-License-Identifier: MIT */
/* A lock around a lock, and its leases, as wrap_store.h does for stores. */
#ifndef FAKE_FAULTY_WRAP_LOCK_H
#define FAKE_FAULTY_WRAP_LOCK_H

#include <pthread.h>

#include <sandproof/seams.h>

#include "tables.h"

struct fault_lock;
struct fault_lease;

/* What one fault replaces. Static. */
struct fault_lock_hooks {
	/* Changes the declaration, once. */
	void (*capabilities)(struct sp_lock_capabilities *capabilities);
	/* Fills lease->inner; `lease` has lock and key already. */
	int (*acquire)(struct fault_lock *lock, const char *key, struct sp_cancel *cancel,
		       struct fault_lease *lease, struct sp_error *err);
	uint64_t (*fence)(struct fault_lease *lease);
	/* Borrowed, as in the contract. */
	struct sp_cancel *(*lost)(struct fault_lease *lease);
	/* Gives lease->inner back, or does not: what is left in it is given back when the lock is
	 * closed. */
	void (*release)(struct fault_lease *lease);
	/* Runs before the healthy lock is closed; frees what the fault keeps in `data`. */
	void (*close)(struct fault_lock *lock);
};

struct fault_lock {
	struct sp_lock inner;
	const struct fault_lock_hooks *hooks;
	struct sp_lock_capabilities capabilities;
	/* For the fault's own state. */
	pthread_mutex_t lock;
	/* Leases that were released and still hold something. Under `lock`. */
	struct fault_lease *left;
	unsigned count;
	void *data;
};

struct fault_lease {
	struct fault_lease *next;
	struct sp_lease inner;
	struct fault_lock *lock;
	/* The key that the caller named. */
	char *key;
	/* The fault's own; the cancel is unreferenced at the end. */
	struct sp_cancel *cancel;
	uint64_t number;
};

/* Puts the wrapper around `lock`, in place. */
int fault_wrap_lock(struct sp_lock *lock, const struct fault_lock_hooks *hooks,
		    struct sp_error *err);

/* Defines the wrap function of a fault: static int NAME(struct sp_lock *, struct sp_error *). */
#define FAULT_WRAP_LOCK(name, hooks)                                                               \
	static int name(struct sp_lock *lock, struct sp_error *err)                                \
	{                                                                                          \
		return fault_wrap_lock(lock, &(hooks), err);                                       \
	}

/* One record of a fault with its wrap function wrap_NAME(). */
#define LOCK_FAULT(id_, name_, clause_, summary_, sources_, cases_, ...)                           \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "lock " clause_, .cases = cases_, .seam = SP_FAULT_LOCK,                 \
		.wrap_lock = wrap_##name_, ##__VA_ARGS__                                           \
	}

#endif
