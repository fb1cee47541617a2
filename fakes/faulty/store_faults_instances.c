/* SPDX-License-Identifier: MIT */
/* Faults that show between instances, threads and processes, and after their end. */
#include "store_faults.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- caches ---- */

/* What one instance has read or written. */
struct cached {
	struct cached *next;
	char *key;
	bool found;
	struct sp_record record;
};

static void copy_record(const struct sp_record *from, struct sp_record *to)
{
	store_set_text(&to->key, from->key);
	store_set_text(&to->provider, from->provider);
	store_set_text(&to->provider_sandbox_id, from->provider_sandbox_id);
	store_set_text(&to->latest_snapshot_id, from->latest_snapshot_id);
	store_set_text(&to->thread_id, from->thread_id);
	store_set_text(&to->latest_run_id, from->latest_run_id);
	to->updated_at = from->updated_at;
}

static struct cached *cached_of(struct fault_store *store, const char *key, bool make)
{
	struct cached *at = store->data;

	while (at && strcmp(at->key, key))
		at = at->next;
	if (at || !make)
		return at;
	at = calloc(1, sizeof(*at));
	if (!at)
		return NULL;
	at->key = strdup(key);
	at->next = store->data;
	store->data = at;
	return at;
}

static void free_cached(struct fault_store *store)
{
	while (store->data) {
		struct cached *at = store->data;

		store->data = at->next;
		sp_record_done(&at->record);
		free(at->key);
		free(at);
	}
}

STORE_GET(caches_get)
{
	struct cached *cached = cached_of(store, key, false);
	int rc;

	if (cached) {
		*ret_found = cached->found;
		if (cached->found)
			copy_record(&cached->record, ret_record);
		return 0;
	}
	rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
	cached = rc ? NULL : cached_of(store, key, true);
	if (cached && *ret_found)
		copy_record(ret_record, &cached->record);
	if (cached)
		cached->found = *ret_found;
	return rc;
}

STORE_PUT(caches_put)
{
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);
	struct cached *cached = rc ? NULL : cached_of(store, record->key, true);

	if (cached)
		copy_record(record, &cached->record);
	if (cached)
		cached->found = true;
	return rc;
}

STORE_DEL(caches_del)
{
	int rc = sp_store_del(&store->inner, key, cancel, err);
	struct cached *cached = rc ? NULL : cached_of(store, key, true);

	if (cached)
		cached->found = false;
	return rc;
}

static const struct fault_store_hooks caches = {
    .get = caches_get, .upsert = caches_put, .del = caches_del, .close = free_cached};
FAULT_WRAP_STORE(wrap_caches, caches)

/* Told first, written with the next call. What is left at the end is lost. */
STORE_PUT(behind_put)
{
	struct cached *waiting = store->data;

	(void)fence;
	if (waiting)
		(void)sp_store_upsert(&store->inner, &waiting->record, NULL, cancel, err);
	free_cached(store);
	waiting = cached_of(store, record->key, true);
	if (waiting)
		copy_record(record, &waiting->record);
	return 0;
}

STORE_GET(behind_get)
{
	struct cached *waiting = store->data;

	if (waiting)
		(void)sp_store_upsert(&store->inner, &waiting->record, NULL, cancel, err);
	free_cached(store);
	return sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
}

static const struct fault_store_hooks behind = {
    .get = behind_get, .upsert = behind_put, .close = free_cached};
FAULT_WRAP_STORE(wrap_behind, behind)

/* ---- the whole file ---- */

#define IMAGE_MAX 64

/* Keys that any instance of this process wrote: what the file holds. */
static struct {
	pthread_mutex_t lock;
	char *keys[IMAGE_MAX];
	const struct fault_store *by[IMAGE_MAX];
	size_t len;
} image = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Writes back what this instance knows; what others wrote meanwhile is not in it. */
STORE_PUT(image_put)
{
	int rc;

	pthread_mutex_lock(&image.lock);
	for (size_t i = 0; i < image.len; i++)
		if (image.by[i] != store && strcmp(image.keys[i], record->key))
			(void)sp_store_del(&store->inner, image.keys[i], cancel, NULL);
	if (image.len < IMAGE_MAX) {
		image.keys[image.len] = strdup(record->key);
		image.by[image.len++] = store;
	}
	rc = sp_store_upsert(&store->inner, record, fence, cancel, err);
	pthread_mutex_unlock(&image.lock);
	return rc;
}

static void image_close(struct fault_store *store)
{
	(void)store;
	pthread_mutex_lock(&image.lock);
	while (image.len)
		free(image.keys[--image.len]);
	pthread_mutex_unlock(&image.lock);
}

static const struct fault_store_hooks writes_image = {.upsert = image_put, .close = image_close};
FAULT_WRAP_STORE(wrap_writes_image, writes_image)

/* ---- the end of an instance ---- */

STORE_PUT(noting_put)
{
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);

	if (!rc)
		(void)cached_of(store, record->key, true);
	return rc;
}

static void forgets_close(struct fault_store *store)
{
	for (struct cached *at = store->data; at; at = at->next)
		(void)sp_store_del(&store->inner, at->key, NULL, NULL);
	free_cached(store);
}

static const struct fault_store_hooks forgets = {.upsert = noting_put, .close = forgets_close};
FAULT_WRAP_STORE(wrap_forgets, forgets)

static void volatile_capabilities(struct sp_store_capabilities *capabilities)
{
	capabilities->durable = false;
}

static const struct fault_store_hooks declares_volatile = {
    .capabilities = volatile_capabilities,
};
FAULT_WRAP_STORE(wrap_declares_volatile, declares_volatile)

/* ---- threads ---- */

/* Only the thread that wrote first is served; the others are told so and lose. */
STORE_PUT(others_lose_put)
{
	pthread_t *first;

	pthread_mutex_lock(&store->lock);
	first = store->data;
	if (!first && (first = malloc(sizeof(*first)))) {
		*first = pthread_self();
		store->data = first;
	}
	pthread_mutex_unlock(&store->lock);
	if (first && !pthread_equal(*first, pthread_self()))
		return 0;
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static void free_first(struct fault_store *store)
{
	free(store->data);
	store->data = NULL;
}

static const struct fault_store_hooks others_lose = {.upsert = others_lose_put,
						     .close = free_first};
FAULT_WRAP_STORE(wrap_others_lose, others_lose)

/* Reads of this process that have ended. */
static atomic_uint reads;

/* Half of the fields, then the rest, not before somebody has read in between (or the call is given
 * up). */
STORE_PUT(two_steps_put)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_record half = *record;
	unsigned before;
	int rc;

	if (!record->key || !store_peek(store, record->key, &old))
		return sp_store_upsert(&store->inner, record, fence, cancel, err);
	half.provider = old.provider;
	half.latest_run_id = old.latest_run_id;
	rc = sp_store_upsert(&store->inner, &half, fence, cancel, err);
	/* One that began before the half record was there does not count: two have to end. */
	before = atomic_load(&reads);
	while (!rc && atomic_load(&reads) < before + 2 && !sp_cancel_check(cancel, NULL)) {
		struct pollfd fd = {.fd = sp_cancel_fd(cancel), .events = POLLIN};

		(void)poll(&fd, 1, 1);
	}
	return rc ? rc : sp_store_upsert(&store->inner, record, fence, cancel, err);
}

STORE_GET(two_steps_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	atomic_fetch_add(&reads, 1);
	return rc;
}

static const struct fault_store_hooks two_steps = {.get = two_steps_get, .upsert = two_steps_put};
FAULT_WRAP_STORE(wrap_two_steps, two_steps)

static const struct sp_fault faults[] = {
    STORE_FAULT("store-caches-reads", caches, "S9",
		"An instance answers from what it has seen before.",
		FAULT_LIST("contract:C259", "field:T14"),
		FAULT_LIST("store.second.reads", "store.process.reads", "store.process.torn")),
    STORE_FAULT("store-writes-behind", behind, "S11",
		"An upsert is told as done and carried out with the next call.",
		FAULT_LIST("field:T15"),
		FAULT_LIST("store.second.reads", "store.process.apart", "store.crash.between")),
    STORE_FAULT("store-writes-its-image", writes_image, "S9",
		"An instance writes back the whole file as it knows it.", FAULT_LIST("field:T14"),
		FAULT_LIST("store.second.commute")),
    STORE_FAULT("store-forgets-on-close", forgets, "S9",
		"What an instance wrote is gone when it is closed.", FAULT_LIST("field:T10"),
		FAULT_LIST("store.reopen.keeps")),
    STORE_FAULT("store-declares-volatile", declares_volatile, "S9",
		"A durable store declares that it is not.", FAULT_LIST("contract:C261"),
		FAULT_LIST("store.reopen.volatile")),
    STORE_FAULT("store-other-threads-lose", others_lose, "S10",
		"Upserts of other threads than the first are told as done and dropped.",
		FAULT_LIST("field:T14"), FAULT_LIST("store.threads.apart")),
    STORE_FAULT("store-writes-in-two-steps", two_steps, "S10",
		"A replacement is two writes, and readers see the first.", FAULT_LIST("field:T14"),
		FAULT_LIST("store.threads.torn")),
};

FAULT_TABLE(fault_store_instances, faults);
