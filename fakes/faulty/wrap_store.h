/* SPDX-License-Identifier: MIT */
/*
 * A store around a store: everything passes through, except what a fault
 * replaces. A hook gets the wrapper's object and reaches the healthy store in
 * `inner`; a NULL hook passes through.
 */
#ifndef FAKE_FAULTY_WRAP_STORE_H
#define FAKE_FAULTY_WRAP_STORE_H

#include <pthread.h>

#include <sandproof/seams.h>

#include "tables.h"

struct fault_store;

/* What one fault replaces. Static. */
struct fault_store_hooks {
	/* Changes the declaration, once. */
	void (*capabilities)(struct sp_store_capabilities *capabilities);
	int (*get)(struct fault_store *store, const char *key, struct sp_record *ret_record,
		   bool *ret_found, struct sp_cancel *cancel, struct sp_error *err);
	int (*upsert)(struct fault_store *store, const struct sp_record *record,
		      const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err);
	int (*del)(struct fault_store *store, const char *key, struct sp_cancel *cancel,
		   struct sp_error *err);
	/* Runs before the healthy store is closed; frees what the fault keeps in `data`. */
	void (*close)(struct fault_store *store);
};

struct fault_store {
	struct sp_store inner;
	const struct fault_store_hooks *hooks;
	struct sp_store_capabilities capabilities;
	/* For the fault's own state. */
	pthread_mutex_t lock;
	void *data;
};

/* Puts the wrapper around `store`, in place. */
int fault_wrap_store(struct sp_store *store, const struct fault_store_hooks *hooks,
		     struct sp_error *err);

/* Defines the wrap function of a fault: static int NAME(struct sp_store *, struct sp_error *). */
#define FAULT_WRAP_STORE(name, hooks)                                                              \
	static int name(struct sp_store *store, struct sp_error *err)                              \
	{                                                                                          \
		return fault_wrap_store(store, &(hooks), err);                                     \
	}

/* One record of a fault whose hooks are called NAME_hooks, with its wrap function before the table.
 */
#define STORE_FAULT(id_, name_, clause_, summary_, sources_, cases_, ...)                          \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "store " clause_, .cases = cases_, .seam = SP_FAULT_STORE,               \
		.wrap_store = wrap_##name_, ##__VA_ARGS__                                          \
	}

#endif
