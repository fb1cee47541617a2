/* SPDX-License-Identifier: MIT */
/* Faults of what is answered and of what is left: get, del, aliases, cancels, troubles. */
#include "store_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- get ---- */

STORE_GET(get_throws_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	return !rc && !*ret_found ? sp_error_set(err, SP_NOT_FOUND, "no row") : rc;
}

static const struct fault_store_hooks get_throws = {.get = get_throws_get};
FAULT_WRAP_STORE(wrap_get_throws, get_throws)

STORE_GET(get_invents_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	if (rc || *ret_found)
		return rc;
	*ret_found = true;
	*ret_record = (struct sp_record){.key = strdup(key),
					 .provider = strdup(""),
					 .provider_sandbox_id = strdup(""),
					 .thread_id = strdup("")};
	return 0;
}

static const struct fault_store_hooks get_invents = {.get = get_invents_get};
FAULT_WRAP_STORE(wrap_get_invents, get_invents)

/* ---- upsert ---- */

STORE_PUT(insert_only_put)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (record->key && store_peek(store, record->key, &old))
		return 0;
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static const struct fault_store_hooks insert_only = {.upsert = insert_only_put};
FAULT_WRAP_STORE(wrap_insert_only, insert_only)

STORE_PUT(update_only_put)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (record->key && !store_peek(store, record->key, &old))
		return 0;
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static const struct fault_store_hooks update_only = {.upsert = update_only_put};
FAULT_WRAP_STORE(wrap_update_only, update_only)

/* ---- del ---- */

STORE_DEL(del_nothing_del)
{
	(void)store, (void)key, (void)cancel, (void)err;
	return 0;
}

static const struct fault_store_hooks del_nothing = {.del = del_nothing_del};
FAULT_WRAP_STORE(wrap_del_nothing, del_nothing)

STORE_DEL(del_throws_del)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (!store_peek(store, key, &old))
		return sp_error_set(err, SP_NOT_FOUND, "no row to delete");
	return sp_store_del(&store->inner, key, cancel, err);
}

static const struct fault_store_hooks del_throws = {.del = del_throws_del};
FAULT_WRAP_STORE(wrap_del_throws, del_throws)

/* DELETE … WHERE key LIKE key || '%'; the neighbour that the case made is enough. */
STORE_DEL(del_prefix_del)
{
	char longer[SP_KEY_TAKEN + 2];

	snprintf(longer, sizeof(longer), "%s2", key);
	(void)sp_store_del(&store->inner, longer, cancel, NULL);
	return sp_store_del(&store->inner, key, cancel, err);
}

static const struct fault_store_hooks del_prefix = {.del = del_prefix_del};
FAULT_WRAP_STORE(wrap_del_prefix, del_prefix)

/* The last keys that this instance wrote, with their threads. */
struct written {
	struct written *next;
	char *key, *thread;
};

static void remember(struct fault_store *store, const struct sp_record *record)
{
	struct written *written = calloc(1, sizeof(*written));

	if (!written || !record->key || !record->thread_id) {
		free(written);
		return;
	}
	written->key = strdup(record->key);
	written->thread = strdup(record->thread_id);
	pthread_mutex_lock(&store->lock);
	written->next = store->data;
	store->data = written;
	pthread_mutex_unlock(&store->lock);
}

static void forget_written(struct fault_store *store)
{
	while (store->data) {
		struct written *written = store->data;

		store->data = written->next;
		free(written->key);
		free(written->thread);
		free(written);
	}
}

STORE_PUT(remembering_put)
{
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);

	if (!rc)
		remember(store, record);
	return rc;
}

STORE_DEL(del_thread_del)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	bool found = store_peek(store, key, &old);

	for (struct written *at = store->data; found && at; at = at->next)
		if (!strcmp(at->thread, old.thread_id))
			(void)sp_store_del(&store->inner, at->key, cancel, NULL);
	return sp_store_del(&store->inner, key, cancel, err);
}

static const struct fault_store_hooks del_thread = {
    .upsert = remembering_put, .del = del_thread_del, .close = forget_written};
FAULT_WRAP_STORE(wrap_del_thread, del_thread)

/* A second record finds the first by its thread, and stays when that goes. */
STORE_PUT(keeps_index_put)
{
	struct sp_record index = *record;
	char key[SP_KEY_TAKEN + 64];
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);

	if (rc)
		return rc;
	snprintf(key, sizeof(key), "%.1000s@%.40s", record->key, record->thread_id);
	index.key = key;
	return sp_store_upsert(&store->inner, &index, NULL, cancel, err);
}

static const struct fault_store_hooks keeps_index = {.upsert = keeps_index_put};
FAULT_WRAP_STORE(wrap_keeps_index, keeps_index)

#define TOMBSTONES_MAX 64

/* Keys that were deleted by any instance of this process. */
static struct {
	pthread_mutex_t lock;
	char *keys[TOMBSTONES_MAX];
	size_t len;
} tombstones_of_all = {.lock = PTHREAD_MUTEX_INITIALIZER};

STORE_PUT(tombstones_put)
{
	bool dead = false;

	pthread_mutex_lock(&tombstones_of_all.lock);
	for (size_t i = 0; record->key && i < tombstones_of_all.len; i++)
		dead = dead || !strcmp(tombstones_of_all.keys[i], record->key);
	pthread_mutex_unlock(&tombstones_of_all.lock);
	return dead ? 0 : sp_store_upsert(&store->inner, record, fence, cancel, err);
}

STORE_DEL(tombstones_del)
{
	pthread_mutex_lock(&tombstones_of_all.lock);
	if (tombstones_of_all.len < TOMBSTONES_MAX)
		tombstones_of_all.keys[tombstones_of_all.len++] = strdup(key);
	pthread_mutex_unlock(&tombstones_of_all.lock);
	return sp_store_del(&store->inner, key, cancel, err);
}

static void tombstones_close(struct fault_store *store)
{
	(void)store;
	pthread_mutex_lock(&tombstones_of_all.lock);
	while (tombstones_of_all.len)
		free(tombstones_of_all.keys[--tombstones_of_all.len]);
	pthread_mutex_unlock(&tombstones_of_all.lock);
}

static const struct fault_store_hooks tombstones = {
    .upsert = tombstones_put, .del = tombstones_del, .close = tombstones_close};
FAULT_WRAP_STORE(wrap_tombstones, tombstones)

/* A time-to-live, counted in reads. */
#define READS_TO_LIVE 20

STORE_GET(expires_get)
{
	size_t *reads = store->data ? store->data : (store->data = calloc(1, sizeof(*reads)));

	if (reads && ++*reads > READS_TO_LIVE) {
		(void)sp_store_del(&store->inner, key, cancel, NULL);
		*reads = 0;
	}
	return sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
}

static void free_data(struct fault_store *store)
{
	free(store->data);
	store->data = NULL;
}

static const struct fault_store_hooks expires = {.get = expires_get, .close = free_data};
FAULT_WRAP_STORE(wrap_expires, expires)

/* ---- aliases ---- */

/* The struct that the caller gave, texts and all, as it is now. */
STORE_PUT(keeps_texts_put)
{
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);
	struct sp_record *kept = malloc(sizeof(*kept));

	if (!rc && kept) {
		free(store->data);
		*kept = *record;
		store->data = kept;
	} else {
		free(kept);
	}
	return rc;
}

STORE_GET(keeps_texts_get)
{
	const struct sp_record *kept = store->data;

	if (!kept || strcmp(kept->key, key))
		return sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
	*ret_found = true;
	*ret_record = (struct sp_record){.key = strdup(kept->key),
					 .provider = strdup(kept->provider),
					 .provider_sandbox_id = strdup(kept->provider_sandbox_id),
					 .thread_id = strdup(kept->thread_id),
					 .updated_at = kept->updated_at};
	store_set_text(&ret_record->latest_snapshot_id, kept->latest_snapshot_id);
	store_set_text(&ret_record->latest_run_id, kept->latest_run_id);
	return 0;
}

static const struct fault_store_hooks keeps_texts = {
    .upsert = keeps_texts_put, .get = keeps_texts_get, .close = free_data};
FAULT_WRAP_STORE(wrap_keeps_texts, keeps_texts)

/* The record that was handed out is the stored one: its text is looked at again. */
STORE_GET(hands_out_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
	const char *handed = store->data;

	if (rc || !*ret_found)
		return rc;
	if (handed)
		store_set_text(&ret_record->provider_sandbox_id, handed);
	else
		store->data = ret_record->provider_sandbox_id;
	return 0;
}

static const struct fault_store_hooks hands_out = {.get = hands_out_get};
FAULT_WRAP_STORE(wrap_hands_out, hands_out)

/* ---- cancels and troubles ---- */

STORE_GET(no_cancel_get)
{
	(void)cancel;
	return sp_store_get(&store->inner, key, ret_record, ret_found, NULL, err);
}

STORE_PUT(no_cancel_put)
{
	(void)cancel;
	return sp_store_upsert(&store->inner, record, fence, NULL, err);
}

STORE_DEL(no_cancel_del)
{
	(void)cancel;
	return sp_store_del(&store->inner, key, NULL, err);
}

static const struct fault_store_hooks no_cancel = {
    .get = no_cancel_get, .upsert = no_cancel_put, .del = no_cancel_del};
FAULT_WRAP_STORE(wrap_no_cancel, no_cancel)

/* signal?.throwIfAborted(), and then a query that knows no signal. */
STORE_PUT(door_cancel_put)
{
	int rc = sp_cancel_check(cancel, err);

	return rc ? rc : sp_store_upsert(&store->inner, record, fence, NULL, err);
}

static const struct fault_store_hooks door_cancel = {.upsert = door_cancel_put};
FAULT_WRAP_STORE(wrap_door_cancel, door_cancel)

/* catch {} */
STORE_PUT(swallows_put)
{
	int rc = sp_store_upsert(&store->inner, record, fence, cancel, err);

	return rc == SP_INVALID || rc == SP_CONFLICT ? rc : 0;
}

static const struct fault_store_hooks swallows = {.upsert = swallows_put};
FAULT_WRAP_STORE(wrap_swallows, swallows)

/* A replacement is tried with no patience at all, and told as done. */
STORE_PUT(gives_up_put)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_cancel *none;

	if (!record->key || !store_peek(store, record->key, &old))
		return sp_store_upsert(&store->inner, record, fence, cancel, err);
	none = sp_cancel_new();
	sp_cancel_abort(none, "no patience");
	(void)sp_store_upsert(&store->inner, record, fence, none, NULL);
	sp_cancel_unref(none);
	return 0;
}

static const struct fault_store_hooks gives_up = {.upsert = gives_up_put};
FAULT_WRAP_STORE(wrap_gives_up, gives_up)

/* One bad row, and nothing is read any more. */
STORE_GET(spreads_get)
{
	int rc;

	if (store->data)
		return sp_error_set(err, SP_PROTOCOL, "unexpected token in JSON");
	rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);
	if (rc == SP_PROTOCOL)
		store->data = calloc(1, 1);
	return rc;
}

static const struct fault_store_hooks spreads = {.get = spreads_get, .close = free_data};
FAULT_WRAP_STORE(wrap_spreads, spreads)

STORE_GET(damage_read_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	if (rc != SP_PROTOCOL)
		return rc;
	*ret_found = true;
	*ret_record = (struct sp_record){.key = strdup(key),
					 .provider = strdup("fake"),
					 .provider_sandbox_id = strdup("\xef\xbf\xbd"),
					 .thread_id = strdup("")};
	return 0;
}

static const struct fault_store_hooks damage_read = {.get = damage_read_get};
FAULT_WRAP_STORE(wrap_damage_read, damage_read)

/* ---- JSON.parse(x) ?? {} ---- */

static const struct sp_store_capabilities *empty_capabilities(void *self)
{
	static const struct sp_store_capabilities declared = SP_STORE_CAPABILITIES_INIT;

	(void)self;
	return &declared;
}

static int empty_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)key, (void)ret_record, (void)cancel, (void)err;
	*ret_found = false;
	return 0;
}

static int empty_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)record, (void)fence, (void)cancel, (void)err;
	return 0;
}

static int empty_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)key, (void)cancel, (void)err;
	return 0;
}

static void empty_close(void *self)
{
	(void)self;
}

/* What cannot be opened reads as a store without records. */
static int wrap_unreadable(struct sp_store *store, struct sp_error *err)
{
	static const struct sp_store_ops empty = {.version = SP_STORE_VERSION,
						  .capabilities = empty_capabilities,
						  .get = empty_get,
						  .upsert = empty_upsert,
						  .del = empty_del,
						  .close = empty_close};

	(void)err;
	if (!store->ops)
		*store = (struct sp_store){&empty, NULL};
	return 0;
}

static const struct sp_fault faults[] = {
    STORE_FAULT("store-get-throws", get_throws, "S1",
		"get() of a key without a record is an error.", FAULT_LIST("contract:C179"),
		FAULT_LIST("store.get.absent")),
    STORE_FAULT("store-get-invents", get_invents, "S1",
		"get() of a key without a record gives an empty record.",
		FAULT_LIST("contract:C179"), FAULT_LIST("store.get.absent")),
    STORE_FAULT("store-insert-only", insert_only, "S3",
		"An upsert of a key that is there does nothing.", FAULT_LIST("field:T13"),
		FAULT_LIST("store.replace.values")),
    STORE_FAULT("store-update-only", update_only, "S3",
		"An upsert of a key that is not there does nothing.", FAULT_LIST("field:T13"),
		FAULT_LIST("store.replace.values")),
    STORE_FAULT("store-delete-does-nothing", del_nothing, "S5",
		"del() answers and deletes nothing.", FAULT_LIST("field:T15"),
		FAULT_LIST("store.delete.gone")),
    STORE_FAULT("store-delete-throws", del_throws, "S5",
		"del() of a key without a record is an error.", FAULT_LIST("contract:C180"),
		FAULT_LIST("store.delete.absent")),
    STORE_FAULT("store-deletes-by-prefix", del_prefix, "S5", "del() takes longer keys along.",
		FAULT_LIST("field:T07"), FAULT_LIST("store.delete.others")),
    STORE_FAULT("store-deletes-by-thread", del_thread, "S5",
		"del() deletes every record of the same thread.", FAULT_LIST("field:T12"),
		FAULT_LIST("store.delete.others")),
    STORE_FAULT("store-keeps-index", keeps_index, "S5",
		"A side index keeps what the main record has lost.", FAULT_LIST("field:T12"),
		FAULT_LIST("store.delete.traces")),
    STORE_FAULT("store-tombstones", tombstones, "S5",
		"A key that was deleted can never be written again.", FAULT_LIST("field:T11"),
		FAULT_LIST("store.delete.gone", "store.second.late")),
    STORE_FAULT("store-expires", expires, "S6", "Records have a time-to-live, counted in reads.",
		FAULT_LIST("field:T10"), FAULT_LIST("store.keep.untouched")),
    STORE_FAULT("store-keeps-the-callers-texts", keeps_texts, "S6",
		"The store keeps the struct that the caller gave.", FAULT_LIST("contract:C181"),
		FAULT_LIST("store.alias.input")),
    STORE_FAULT("store-hands-out-its-own", hands_out, "S6",
		"get() hands out the stored text itself.", FAULT_LIST("contract:C181", "field:T03"),
		FAULT_LIST("store.alias.output")),
    STORE_FAULT("store-ignores-cancel", no_cancel, "S6", "No call looks at its cancel.",
		FAULT_LIST("field:T15"), FAULT_LIST("store.cancel.before")),
    STORE_FAULT("store-cancel-at-the-door", door_cancel, "S13",
		"An upsert looks at its cancel before it begins and never again.",
		FAULT_LIST("field:T15"), FAULT_LIST("store.trouble.locked"),
		.hangs = "Data that is locked holds every other call too, so that there is none "
			 "whose rounds could be counted."),
    STORE_FAULT("store-swallows-failures", swallows, "S13",
		"An upsert that failed is told as done.", FAULT_LIST("field:T15"),
		FAULT_LIST("store.trouble.locked", "store.trouble.down", "store.trouble.full",
			   "store.trouble.read-only")),
    STORE_FAULT("store-gives-up-silently", gives_up, "S13",
		"A replacement that was not carried out at once is told as done.",
		FAULT_LIST("field:T15"), FAULT_LIST("store.trouble.waits")),
    STORE_FAULT("store-damage-spreads", spreads, "S12", "After one damaged record every get fails.",
		FAULT_LIST("field:T08"), FAULT_LIST("store.damage.one")),
    STORE_FAULT("store-damage-is-read", damage_read, "S12",
		"A damaged record is read with its bytes replaced.", FAULT_LIST("field:T08"),
		FAULT_LIST("store.damage.one")),
    STORE_FAULT("store-unreadable-is-empty", unreadable, "S12",
		"What cannot be opened is taken for an empty store.", FAULT_LIST("field:T17"),
		FAULT_LIST("store.damage.foreign", "store.damage.newer")),
};

FAULT_TABLE(fault_store_answers, faults);
