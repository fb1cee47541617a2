/* SPDX-License-Identifier: MIT */
/*
 * An example of a store as a plugin, with nothing but libc: it keeps its promises
 * as long as it is open. README.md says how it is built and judged. Replace the tree by your
 * database; what then becomes true (durable, multi_process, fence) is declared and so asked for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <sandproof/plugin.h>

#include "utf8.h"

struct shelf {
	/* Guards the tree: every call may be made from any thread. */
	pthread_mutex_t lock;
	/* Of struct sp_record, by key. */
	void *root;
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct sp_record *)a)->key, ((const struct sp_record *)b)->key);
}

static void free_record(void *record)
{
	sp_record_done(record);
	free(record);
}

/* ---- what may be kept ---- */

static int check_key(const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_cancel_check(cancel, err);

	if (!rc && (!key || !*key))
		rc = sp_error_set(err, SP_INVALID, "the key is empty");
	return rc ? rc : utf8_check("the key", key, SP_KEY_TAKEN, err);
}

static int check_record(const struct sp_record *r, struct sp_error *err)
{
	const struct {
		const char *name, *text;
		bool optional;
	} fields[] = {
	    {"provider", r->provider, false},
	    {"provider_sandbox_id", r->provider_sandbox_id, false},
	    {"latest_snapshot_id", r->latest_snapshot_id, true},
	    {"thread_id", r->thread_id, false},
	    {"latest_run_id", r->latest_run_id, true},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int rc = 0;

		if (fields[i].text)
			rc = utf8_check(fields[i].name, fields[i].text, SP_VALUE_TAKEN, err);
		else if (!fields[i].optional)
			rc = sp_error_set(err, SP_INVALID, "%s is missing", fields[i].name);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- records: in and out go copies ---- */

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

/* What could not be copied whole is freed. */
static int copy_record(const struct sp_record *from, struct sp_record *ret_record,
		       struct sp_error *err)
{
	struct sp_record to = SP_RECORD_INIT;

	to.updated_at = from->updated_at;
	if (copy_text(&to.key, from->key) && copy_text(&to.provider, from->provider) &&
	    copy_text(&to.provider_sandbox_id, from->provider_sandbox_id) &&
	    copy_text(&to.latest_snapshot_id, from->latest_snapshot_id) &&
	    copy_text(&to.thread_id, from->thread_id) &&
	    copy_text(&to.latest_run_id, from->latest_run_id)) {
		*ret_record = to;
		return 0;
	}
	sp_record_done(&to);
	return sp_error_set(err, SP_INTERNAL, "no memory for a record");
}

static int shelf_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct shelf *shelf = self;
	const struct sp_record wanted = {.key = (char *)key};
	struct sp_record **found;
	int rc = check_key(key, cancel, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&shelf->lock);
	found = tfind(&wanted, &shelf->root, by_key);
	if (found)
		rc = copy_record(*found, ret_record, err);
	pthread_mutex_unlock(&shelf->lock);
	if (!rc)
		*ret_found = found != NULL;
	return rc;
}

/* Puts `fresh` where its key is, and gives what was there before. */
static int put(struct shelf *shelf, struct sp_record *fresh, struct sp_error *err)
{
	struct sp_record **at, *before;

	pthread_mutex_lock(&shelf->lock);
	at = tsearch(fresh, &shelf->root, by_key);
	before = at && *at != fresh ? *at : NULL;
	if (before)
		*at = fresh;
	pthread_mutex_unlock(&shelf->lock);
	if (before)
		free_record(before);
	return at ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a record");
}

static int shelf_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record *fresh;
	int rc = check_key(record->key, cancel, err);

	if (!rc)
		rc = check_record(record, err);
	if (!rc && fence)
		rc = sp_error_set(err, SP_UNSUPPORTED, "this store takes no fence");
	if (rc)
		return rc;
	fresh = malloc(sizeof(*fresh));
	if (!fresh)
		return sp_error_set(err, SP_INTERNAL, "no memory for a record");
	rc = copy_record(record, fresh, err);
	if (rc) {
		free(fresh);
		return rc;
	}
	rc = put(self, fresh, err);
	if (rc)
		free_record(fresh);
	return rc;
}

static int shelf_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct shelf *shelf = self;
	const struct sp_record wanted = {.key = (char *)key};
	struct sp_record **found, *gone;
	int rc = check_key(key, cancel, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&shelf->lock);
	found = tfind(&wanted, &shelf->root, by_key);
	gone = found ? *found : NULL;
	if (gone)
		tdelete(gone, &shelf->root, by_key);
	pthread_mutex_unlock(&shelf->lock);
	if (gone)
		free_record(gone);
	return 0;
}

/* ---- the store ---- */

static const struct sp_store_capabilities *shelf_capabilities(void *self)
{
	static const struct sp_store_capabilities declared = {
	    .version = SP_STORE_CAPABILITIES_VERSION,
	    .durable = false,
	    .multi_process = false,
	    .fence = false,
	};

	(void)self;
	return &declared;
}

static void shelf_close(void *self)
{
	struct shelf *shelf = self;

	tdestroy(shelf->root, free_record);
	pthread_mutex_destroy(&shelf->lock);
	free(shelf);
}

static const struct sp_store_ops shelf_ops = {
    .version = SP_STORE_VERSION,
    .capabilities = shelf_capabilities,
    .get = shelf_get,
    .upsert = shelf_upsert,
    .del = shelf_del,
    .close = shelf_close,
};

/* `config` is what follows the file's name in the SPEC: plugin:./store.so:CONFIG. */
static int open_store(const char *config, struct sp_store *ret_store, struct sp_error *err)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));

	(void)config;
	if (!shelf)
		return sp_error_set(err, SP_INTERNAL, "no memory for a store");
	pthread_mutex_init(&shelf->lock, NULL);
	*ret_store = (struct sp_store){&shelf_ops, shelf};
	return 0;
}

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "shelf",
	    .open_store = open_store,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
