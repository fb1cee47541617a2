/* SPDX-License-Identifier: MIT */
/* Faults of fences. */
#include "store_faults.h"

#include <stdlib.h>
#include <string.h>

STORE_PUT(ignores_fence_put)
{
	(void)fence;
	return sp_store_upsert(&store->inner, record, NULL, cancel, err);
}

static const struct fault_store_hooks ignores_fence = {.upsert = ignores_fence_put};
FAULT_WRAP_STORE(wrap_ignores_fence, ignores_fence)

/* The last fence that this instance saw, of any key. */
struct last {
	bool known;
	uint64_t fence;
};

static struct last *last_of(struct fault_store *store)
{
	if (!store->data)
		store->data = calloc(1, sizeof(struct last));
	return store->data;
}

static void free_last(struct fault_store *store)
{
	free(store->data);
	store->data = NULL;
}

static int older(struct sp_error *err)
{
	return sp_error_set(err, SP_CONFLICT, "a newer holder has written");
}

STORE_PUT(must_grow_put)
{
	struct last *last = last_of(store);
	int rc;

	if (fence && last && last->known && *fence <= last->fence)
		return older(err);
	rc = sp_store_upsert(&store->inner, record, fence, cancel, err);
	if (!rc && fence && last)
		*last = (struct last){true, *fence};
	return rc;
}

static const struct fault_store_hooks must_grow = {.upsert = must_grow_put, .close = free_last};
FAULT_WRAP_STORE(wrap_must_grow, must_grow)

/* One counter for all keys. */
STORE_PUT(one_for_all_put)
{
	struct last *last = last_of(store);
	int rc;

	if (fence && last && last->known && *fence < last->fence)
		return older(err);
	rc = sp_store_upsert(&store->inner, record, fence, cancel, err);
	if (!rc && fence && last)
		*last = (struct last){true, *fence};
	return rc;
}

static const struct fault_store_hooks one_for_all = {.upsert = one_for_all_put, .close = free_last};
FAULT_WRAP_STORE(wrap_one_for_all, one_for_all)

/* The fence is compared here and never stored. */
STORE_PUT(in_memory_put)
{
	struct last *last = last_of(store);
	int rc;

	if (fence && last && last->known && *fence < last->fence)
		return older(err);
	rc = sp_store_upsert(&store->inner, record, NULL, cancel, err);
	if (!rc && fence && last)
		*last = (struct last){true, *fence};
	return rc;
}

static const struct fault_store_hooks in_memory = {.upsert = in_memory_put, .close = free_last};
FAULT_WRAP_STORE(wrap_in_memory, in_memory)

STORE_PUT(is_32_bit_put)
{
	uint64_t narrow = fence ? *fence & UINT32_MAX : 0;

	return sp_store_upsert(&store->inner, record, fence ? &narrow : NULL, cancel, err);
}

static const struct fault_store_hooks is_32_bit = {.upsert = is_32_bit_put};
FAULT_WRAP_STORE(wrap_is_32_bit, is_32_bit)

STORE_PUT(is_signed_put)
{
	uint64_t moved = fence ? *fence ^ UINT64_C(1) << 63 : 0;

	return sp_store_upsert(&store->inner, record, fence ? &moved : NULL, cancel, err);
}

static const struct fault_store_hooks is_signed = {.upsert = is_signed_put};
FAULT_WRAP_STORE(wrap_is_signed, is_signed)

/* An upsert without one writes a row without one. */
STORE_PUT(forgets_put)
{
	if (!fence && record->key)
		(void)sp_store_del(&store->inner, record->key, cancel, NULL);
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static const struct fault_store_hooks forgets = {.upsert = forgets_put};
FAULT_WRAP_STORE(wrap_forgets, forgets)

static void declares_none_capabilities(struct sp_store_capabilities *capabilities)
{
	capabilities->fence = false;
}

static const struct fault_store_hooks declares_none = {
    .capabilities = declares_none_capabilities,
};
FAULT_WRAP_STORE(wrap_declares_none, declares_none)

static const struct sp_fault faults[] = {
    STORE_FAULT("store-ignores-fence", ignores_fence, "S8", "Fences are ignored.",
		FAULT_LIST("contract:C284"), FAULT_LIST("store.fence.older")),
    STORE_FAULT("store-fence-must-grow", must_grow, "S8",
		"A fence equal to the last one is refused.", FAULT_LIST("contract:C284"),
		FAULT_LIST("store.fence.older")),
    STORE_FAULT("store-one-fence-for-all", one_for_all, "S8", "All keys share one fence.",
		FAULT_LIST("contract:C284"), FAULT_LIST("store.fence.apart")),
    STORE_FAULT("store-fence-in-memory", in_memory, "S8",
		"Fences are kept by the instance and never stored.", FAULT_LIST("contract:C284"),
		FAULT_LIST("store.fence.second")),
    STORE_FAULT("store-fence-is-32-bit", is_32_bit, "S8", "Fences are kept in 32 bits.",
		FAULT_LIST("contract:C284"), FAULT_LIST("store.fence.wide")),
    STORE_FAULT("store-fence-is-signed", is_signed, "S8", "Fences are compared as signed numbers.",
		FAULT_LIST("contract:C284"), FAULT_LIST("store.fence.wide")),
    STORE_FAULT("store-forgets-fence", forgets, "S8",
		"An upsert without a fence wipes out the one that was.",
		FAULT_LIST("contract:C284"), FAULT_LIST("store.fence.none")),
    STORE_FAULT("store-declares-no-fence", declares_none, "S8",
		"Fences are declared away and taken nevertheless.", FAULT_LIST("contract:C261"),
		FAULT_LIST("store.fence.refused")),
};

FAULT_TABLE(fault_store_fence, faults);
