/* SPDX-License-Identifier: MIT */
/* The guard around stores, locks and leases. */
#include "guard_impl.h"

#include <stdlib.h>

#define ENTRY(table, prefix, name) .name = (table)->name ? prefix##_##name : NULL

/* ---- stores ---- */

struct guarded_store {
	struct sp_guard *guard;
	struct sp_store inner;
	struct sp_store_ops ops;
};

static const struct sp_store_capabilities *store_capabilities(void *self)
{
	struct guarded_store *w = self;
	const char *before = sp_guard_look(w->guard, "store.capabilities");
	const struct sp_store_capabilities *declared = w->inner.ops->capabilities(w->inner.self);

	sp_guard_looked(w->guard, "store.capabilities", before);
	return declared;
}

static int store_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_store *w = self;
	int rc = SP_GUARDED(w->guard, "store.get",
			    w->inner.ops->get(w->inner.self, key, ret_record, ret_found, cancel,
					      err));

	sp_guard_note(w->guard, "get %s -> %s", key ? key : "NULL",
		      rc ? sp_code_name(rc) : *ret_found ? "found" : "none");
	return rc;
}

/* A record of one that is durable stays when nobody deletes it, and so is noted before it is there.
 */
static bool keeps(struct guarded_store *w, const char *key)
{
	const struct sp_store_capabilities *declared =
	    w->inner.ops->capabilities ? store_capabilities(w) : NULL;

	return key && *key && declared && declared->durable;
}

static int store_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_store *w = self;
	bool noted = record && keeps(w, record->key) && sp_guard_wrote(w->guard, record->key);
	int rc;

	rc = SP_GUARDED(w->guard, "store.upsert",
			w->inner.ops->upsert(w->inner.self, record, fence, cancel, err));
	/* Whatever else it answered, it may be there. */
	if (noted && rc == SP_INVALID)
		sp_guard_forgot(w->guard, record->key);
	sp_guard_note(w->guard, "upsert %s%s -> %s", record && record->key ? record->key : "NULL",
		      fence ? " with a fence" : "", rc ? sp_code_name(rc) : "ok");
	return rc;
}

static int store_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_store *w = self;
	int rc = SP_GUARDED(w->guard, "store.del",
			    w->inner.ops->del(w->inner.self, key, cancel, err));

	if (!rc && keeps(w, key))
		sp_guard_forgot(w->guard, key);
	sp_guard_note(w->guard, "del %s -> %s", key ? key : "NULL", rc ? sp_code_name(rc) : "ok");
	return rc;
}

static int store_copies(void *self, const char *key, bool *ret_put, bool *ret_got,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_store *w = self;
	int rc = SP_GUARDED(w->guard, "store.copies",
			    w->inner.ops->copies(w->inner.self, key, ret_put, ret_got, cancel,
						 err));

	sp_guard_note(w->guard, "copies %s -> %s", key ? key : "NULL",
		      rc ? sp_code_name(rc) : "ok");
	return rc;
}

static void store_close(void *self)
{
	struct guarded_store *w = self;

	sp_guard_enter(w->guard, "store.close");
	w->inner.ops->close(w->inner.self);
	sp_guard_leave(w->guard, "store.close");
	free(w);
}

int sp_guard_store(struct sp_guard *guard, struct sp_store *store, struct sp_error *err)
{
	const struct sp_store_ops *in = store->ops;
	struct guarded_store *w;

	if (!in || in->version != SP_STORE_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	w->guard = guard;
	w->inner = *store;
	w->ops = (struct sp_store_ops){
		.version = SP_STORE_VERSION,
		ENTRY(in, store, capabilities),
		ENTRY(in, store, get),
		ENTRY(in, store, upsert),
		ENTRY(in, store, del),
		ENTRY(in, store, close),
		ENTRY(in, store, copies),
	};
	*store = (struct sp_store){ &w->ops, w };
	return 0;
}

/* ---- leases ---- */

struct guarded_lease {
	struct sp_guard *guard;
	struct sp_guard_link link;
	struct sp_lease inner;
	struct sp_lease_ops ops;
};

static uint64_t lease_fence(void *self)
{
	struct guarded_lease *w = self;

	return w->inner.ops->fence(w->inner.self);
}

static struct sp_cancel *lease_lost(void *self)
{
	struct guarded_lease *w = self;

	return w->inner.ops->lost(w->inner.self);
}

static void lease_release(void *self)
{
	struct guarded_lease *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_lease in = w->inner;

	sp_guard_unlink(guard, &w->link);
	free(w);
	sp_guard_enter(guard, "lease.release");
	in.ops->release(in.self);
	sp_guard_leave(guard, "lease.release");
	sp_guard_note(guard, "release");
}

static int guard_lease(struct sp_guard *guard, struct sp_lease *lease, struct sp_error *err)
{
	struct guarded_lease *w;

	if (!lease->ops || lease->ops->version != SP_LEASE_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w) {
		lease->ops->release(lease->self);
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	}
	w->guard = guard;
	w->inner = *lease;
	w->ops = (struct sp_lease_ops){
		.version = SP_LEASE_VERSION,
		ENTRY(lease->ops, lease, fence),
		ENTRY(lease->ops, lease, lost),
		ENTRY(lease->ops, lease, release),
	};
	sp_guard_link(guard, &w->link, lease_release, w);
	*lease = (struct sp_lease){ &w->ops, w };
	return 0;
}

/* ---- locks ---- */

struct guarded_lock {
	struct sp_guard *guard;
	struct sp_lock inner;
	struct sp_lock_ops ops;
};

static const struct sp_lock_capabilities *lock_capabilities(void *self)
{
	struct guarded_lock *w = self;
	const char *before = sp_guard_look(w->guard, "lock.capabilities");
	const struct sp_lock_capabilities *declared = w->inner.ops->capabilities(w->inner.self);

	sp_guard_looked(w->guard, "lock.capabilities", before);
	return declared;
}

static int lock_acquire(void *self, const char *key, struct sp_cancel *cancel,
			struct sp_lease *ret_lease, struct sp_error *err)
{
	struct guarded_lock *w = self;
	struct sp_lease lease = SP_LEASE_INIT;
	int rc = SP_GUARDED(w->guard, "lock.acquire",
			    w->inner.ops->acquire(w->inner.self, key, cancel, &lease, err));

	sp_guard_note(w->guard, "acquire %s -> %s", key ? key : "NULL",
		      rc ? sp_code_name(rc) : "held");
	if (!rc)
		rc = guard_lease(w->guard, &lease, err);
	if (!rc)
		*ret_lease = lease;
	return rc;
}

static void lock_close(void *self)
{
	struct guarded_lock *w = self;

	sp_guard_enter(w->guard, "lock.close");
	w->inner.ops->close(w->inner.self);
	sp_guard_leave(w->guard, "lock.close");
	free(w);
}

int sp_guard_lock(struct sp_guard *guard, struct sp_lock *lock, struct sp_error *err)
{
	const struct sp_lock_ops *in = lock->ops;
	struct guarded_lock *w;

	if (!in || in->version != SP_LOCK_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	w->guard = guard;
	w->inner = *lock;
	w->ops = (struct sp_lock_ops){
		.version = SP_LOCK_VERSION,
		ENTRY(in, lock, capabilities),
		ENTRY(in, lock, acquire),
		ENTRY(in, lock, close),
	};
	*lock = (struct sp_lock){ &w->ops, w };
	return 0;
}
