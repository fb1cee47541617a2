/* SPDX-License-Identifier: MIT */
#include "wrap_store.h"

#include <stdlib.h>

static const struct sp_store_capabilities *capabilities(void *self)
{
	return &((struct fault_store *)self)->capabilities;
}

static int get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
	       struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_store *store = self;

	if (store->hooks->get)
		return store->hooks->get(store, key, ret_record, ret_found, cancel, err);
	return sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
}

static int upsert(void *self, const struct sp_record *record, const uint64_t *fence,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_store *store = self;

	if (store->hooks->upsert)
		return store->hooks->upsert(store, record, fence, cancel, err);
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static int del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_store *store = self;

	if (store->hooks->del)
		return store->hooks->del(store, key, cancel, err);
	return sp_store_del(&store->inner, key, cancel, err);
}

static void close_store(void *self)
{
	struct fault_store *store = self;

	if (store->hooks->close)
		store->hooks->close(store);
	sp_store_done(&store->inner);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

static const struct sp_store_ops ops = {
    .version = SP_STORE_VERSION,
    .capabilities = capabilities,
    .get = get,
    .upsert = upsert,
    .del = del,
    .close = close_store,
};

int fault_wrap_store(struct sp_store *store, const struct fault_store_hooks *hooks,
		     struct sp_error *err)
{
	const struct sp_store_capabilities *declared = sp_store_capabilities(store);
	struct fault_store *faulty = calloc(1, sizeof(*faulty));

	if (!faulty || !declared) {
		free(faulty);
		return sp_error_set(err, SP_INTERNAL, "no memory or no declaration for a fault");
	}
	faulty->inner = *store;
	faulty->hooks = hooks;
	faulty->capabilities = *declared;
	if (hooks->capabilities)
		hooks->capabilities(&faulty->capabilities);
	pthread_mutex_init(&faulty->lock, NULL);
	*store = (struct sp_store){&ops, faulty};
	return 0;
}
