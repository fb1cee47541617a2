/* SPDX-License-Identifier: MIT */
/* Records in a balanced tree under one lock; in and out go copies. */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

#include "limits.h"
#include "memory.h"

struct row {
	/* First, so that a bare key can be looked up. */
	const char *key;
	struct sp_record record;
	bool fenced;
	uint64_t fence;
};

struct memory_store {
	pthread_mutex_t lock;
	void *root;
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

static void free_entry(void *arg)
{
	struct row *entry = arg;

	sp_record_done(&entry->record);
	free(entry);
}

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static int copy_record(const struct sp_record *from, struct sp_record *ret_to, struct sp_error *err)
{
	struct sp_record to = {.updated_at = from->updated_at};
	bool whole = copy_text(&to.key, from->key) && copy_text(&to.provider, from->provider) &&
		     copy_text(&to.provider_sandbox_id, from->provider_sandbox_id) &&
		     copy_text(&to.latest_snapshot_id, from->latest_snapshot_id) &&
		     copy_text(&to.thread_id, from->thread_id) &&
		     copy_text(&to.latest_run_id, from->latest_run_id);

	if (!whole) {
		sp_record_done(&to);
		return sp_error_set(err, SP_INTERNAL, "no memory for a record");
	}
	*ret_to = to;
	return 0;
}

static const struct sp_store_capabilities *capabilities(void *self)
{
	static const struct sp_store_capabilities declared = {
	    .version = SP_STORE_CAPABILITIES_VERSION,
	    .fence = true,
	};

	(void)self;
	return &declared;
}

static struct row *find(struct memory_store *store, const char *key)
{
	const struct row wanted = {.key = key};
	struct row **found = tfind(&wanted, &store->root, by_key);

	return found ? *found : NULL;
}

static int get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
	       struct sp_cancel *cancel, struct sp_error *err)
{
	struct memory_store *store = self;
	struct row *entry;
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&store->lock);
	entry = find(store, key);
	if (entry)
		rc = copy_record(&entry->record, ret_record, err);
	pthread_mutex_unlock(&store->lock);
	if (!rc)
		*ret_found = entry != NULL;
	return rc;
}

static int insert(struct memory_store *store, struct sp_record *copy, const uint64_t *fence,
		  struct sp_error *err)
{
	struct row *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return sp_error_set(err, SP_INTERNAL, "no memory for a record");
	entry->key = copy->key;
	entry->record = *copy;
	entry->fenced = fence != NULL;
	entry->fence = fence ? *fence : 0;
	if (!tsearch(entry, &store->root, by_key)) {
		free(entry);
		return sp_error_set(err, SP_INTERNAL, "no memory for a record");
	}
	*copy = (struct sp_record)SP_RECORD_INIT;
	return 0;
}

static int replace(struct row *entry, struct sp_record *copy, const uint64_t *fence,
		   struct sp_error *err)
{
	struct sp_record old = entry->record;

	if (fence && entry->fenced && *fence < entry->fence)
		return sp_error_set(
		    err, SP_CONFLICT,
		    "the record was written under a newer lock; this holder has lost it");
	entry->key = copy->key;
	entry->record = *copy;
	*copy = old;
	if (fence) {
		entry->fenced = true;
		entry->fence = *fence;
	}
	return 0;
}

static int upsert(void *self, const struct sp_record *record, const uint64_t *fence,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record copy SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct memory_store *store = self;
	struct row *entry;
	int rc = sp_stores_check_record(record, err);

	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (!rc)
		rc = copy_record(record, &copy, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&store->lock);
	entry = find(store, copy.key);
	rc = entry ? replace(entry, &copy, fence, err) : insert(store, &copy, fence, err);
	pthread_mutex_unlock(&store->lock);
	return rc;
}

static int del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct memory_store *store = self;
	struct row *entry;
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&store->lock);
	entry = find(store, key);
	if (entry) {
		tdelete(entry, &store->root, by_key);
		free_entry(entry);
	}
	pthread_mutex_unlock(&store->lock);
	return 0;
}

static void close_store(void *self)
{
	struct memory_store *store = self;

	tdestroy(store->root, free_entry);
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

int sp_memory_store_open(struct sp_store *ret_store, struct sp_error *err)
{
	struct memory_store *store = calloc(1, sizeof(*store));

	if (!store)
		return sp_error_set(err, SP_INTERNAL, "no memory for a store");
	pthread_mutex_init(&store->lock, NULL);
	*ret_store = (struct sp_store){&ops, store};
	return 0;
}
