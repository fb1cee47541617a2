/* SPDX-License-Identifier: MIT */
/* Three statements, each a transaction of its own. */
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <providers/stores/limits.h>

#include "db.h"

enum {
	COLUMN_PROVIDER = 0,
	COLUMN_SANDBOX,
	COLUMN_SNAPSHOT,
	COLUMN_THREAD,
	COLUMN_RUN,
	COLUMN_UPDATED,
};

struct sqlite_store {
	struct sqlite_db db;
	sqlite3_stmt *get, *upsert, *del;
};

static const struct sp_store_capabilities *capabilities(void *self)
{
	static const struct sp_store_capabilities declared = {
	    .version = SP_STORE_CAPABILITIES_VERSION,
	    .durable = true,
	    .multi_process = true,
	    .fence = true,
	};

	(void)self;
	return &declared;
}

/* Tokens are unsigned, SQLite's numbers are signed: moved, so that the order stays. */
static sqlite3_int64 signed_fence(uint64_t fence)
{
	return (sqlite3_int64)(fence ^ UINT64_C(1) << 63);
}

/* A statement is left clean for the next call, and holds nobody's memory. */
static int finish(sqlite3_stmt *stmt, int rc)
{
	int reset = sqlite3_reset(stmt);

	sqlite3_clear_bindings(stmt);
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return reset;
	return rc;
}

/* A file that was moved or deleted takes writes that nobody will ever see. */
static int check_place(struct sqlite_db *db)
{
	int moved = 0;

	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved ? SQLITE_READONLY_DBMOVED : SQLITE_OK;
}

/* ---- get ---- */

struct get {
	struct sqlite_store *store;
	const char *key;
	struct sp_record record;
	bool found;
	/* Name of the column that holds what it must not, or NULL. */
	const char *damaged;
};

/* A text of the current row, copied; false without memory. */
static bool take_text(struct get *get, int column, const char *name, char **ret_text)
{
	sqlite3_stmt *stmt = get->store->get;
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	size_t len = (size_t)sqlite3_column_bytes(stmt, column);

	if (!text)
		return sqlite3_column_type(stmt, column) == SQLITE_NULL;
	if (strlen(text) != len || !sp_utf8_valid(text, len))
		get->damaged = name;
	*ret_text = strdup(text);
	return *ret_text != NULL;
}

static bool take_row(struct get *get)
{
	struct sp_record *r = &get->record;

	r->updated_at = sqlite3_column_int64(get->store->get, COLUMN_UPDATED);
	r->key = strdup(get->key);
	return r->key && take_text(get, COLUMN_PROVIDER, "provider", &r->provider) &&
	       take_text(get, COLUMN_SANDBOX, "sandbox_id", &r->provider_sandbox_id) &&
	       take_text(get, COLUMN_SNAPSHOT, "snapshot_id", &r->latest_snapshot_id) &&
	       take_text(get, COLUMN_THREAD, "thread_id", &r->thread_id) &&
	       take_text(get, COLUMN_RUN, "run_id", &r->latest_run_id);
}

static int try_get(struct sqlite_db *db, void *arg)
{
	struct get *get = arg;
	sqlite3_stmt *stmt = get->store->get;
	int rc;

	(void)db;
	sqlite3_bind_text(stmt, 1, get->key, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	get->found = rc == SQLITE_ROW;
	if (get->found && !take_row(get)) {
		(void)finish(stmt, rc);
		return SQLITE_NOMEM;
	}
	return finish(stmt, rc);
}

static int get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
	       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sqlite_store *store = self;
	struct get get = {.store = store, .key = key, .record = SP_RECORD_INIT};
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = sqlite_db_run(&store->db, try_get, &get, "reading a record", cancel, err);
	if (!rc && get.damaged)
		rc = sp_error_set(err, SP_PROTOCOL,
				  "the record of this key is damaged (%s) in %s; write it again or "
				  "delete it",
				  get.damaged, store->db.path);
	if (rc) {
		sp_record_done(&get.record);
		return rc;
	}
	if (get.found)
		*ret_record = get.record;
	*ret_found = get.found;
	return 0;
}

/* ---- upsert ---- */

struct upsert {
	struct sqlite_store *store;
	const struct sp_record *record;
	const uint64_t *fence;
	/* The stored fence is higher. */
	bool refused;
};

static int try_upsert(struct sqlite_db *db, void *arg)
{
	struct upsert *upsert = arg;
	const struct sp_record *r = upsert->record;
	sqlite3_stmt *stmt = upsert->store->upsert;
	int rc = check_place(db);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(stmt, 1, r->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, r->provider, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, r->provider_sandbox_id, -1, SQLITE_STATIC);
	/* NULL binds as null: absent. */
	sqlite3_bind_text(stmt, 4, r->latest_snapshot_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 5, r->thread_id, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 6, r->latest_run_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 7, r->updated_at);
	if (upsert->fence)
		sqlite3_bind_int64(stmt, 8, signed_fence(*upsert->fence));
	rc = finish(stmt, sqlite3_step(stmt));
	upsert->refused = rc == SQLITE_OK && !sqlite3_changes(db->handle);
	return rc;
}

static int upsert(void *self, const struct sp_record *record, const uint64_t *fence,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sqlite_store *store = self;
	struct upsert upsert = {.store = store, .record = record, .fence = fence};
	int rc = sp_stores_check_record(record, err);

	if (!rc)
		rc =
		    sqlite_db_run(&store->db, try_upsert, &upsert, "writing a record", cancel, err);
	if (!rc && upsert.refused)
		rc = sp_error_set(err, SP_CONFLICT,
				  "the record was written under a newer lock; this holder has lost "
				  "it");
	return rc;
}

/* ---- del ---- */

struct del {
	struct sqlite_store *store;
	const char *key;
};

static int try_del(struct sqlite_db *db, void *arg)
{
	struct del *del = arg;
	int rc = check_place(db);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(del->store->del, 1, del->key, -1, SQLITE_STATIC);
	return finish(del->store->del, sqlite3_step(del->store->del));
}

static int del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sqlite_store *store = self;
	struct del del = {.store = store, .key = key};
	int rc = sp_stores_check_key(key, err);

	return rc ? rc : sqlite_db_run(&store->db, try_del, &del, "deleting a record", cancel, err);
}

/* ---- opening ---- */

static void close_store(void *self)
{
	struct sqlite_store *store = self;

	sqlite3_finalize(store->get);
	sqlite3_finalize(store->upsert);
	sqlite3_finalize(store->del);
	sqlite_db_done(&store->db);
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

static int prepare(struct sqlite_store *store, struct sp_error *err)
{
	int rc = sqlite_db_prepare(&store->db,
				   "SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, "
				   "updated_at FROM records WHERE key = ?1",
				   &store->get, err);

	if (!rc)
		rc = sqlite_db_prepare(
		    &store->db,
		    "INSERT INTO records(key, provider, sandbox_id, snapshot_id, thread_id, "
		    "run_id, updated_at, fence) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
		    "ON CONFLICT(key) DO UPDATE SET provider = excluded.provider, "
		    "sandbox_id = excluded.sandbox_id, snapshot_id = excluded.snapshot_id, "
		    "thread_id = excluded.thread_id, run_id = excluded.run_id, "
		    "updated_at = excluded.updated_at, fence = coalesce(excluded.fence, fence) "
		    "WHERE excluded.fence IS NULL OR records.fence IS NULL "
		    "OR excluded.fence >= records.fence",
		    &store->upsert, err);
	if (!rc)
		rc = sqlite_db_prepare(&store->db, "DELETE FROM records WHERE key = ?1",
				       &store->del, err);
	return rc;
}

int sp_sqlite_store_open(const struct sp_sqlite_options *options, struct sp_store *ret_store,
			 struct sp_error *err)
{
	struct sqlite_store *store = calloc(1, sizeof(*store));
	int rc;

	if (!store)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = sqlite_db_open(options, &store->db, err);
	if (!rc)
		rc = prepare(store, err);
	if (rc) {
		close_store(store);
		return rc;
	}
	*ret_store = (struct sp_store){&ops, store};
	return 0;
}
