/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>
#include <ci/bench_stores.h>

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <providers/stores/sqlite/sqlite.h>

struct raw {
	sqlite3 *db;
	sqlite3_stmt *upsert, *get;
	const struct sp_record *record;
};

int bench_sqlite_store(const char *path, struct sp_store *ret_store, struct sp_error *err)
{
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;

	options.path = path;
	return sp_sqlite_store_open(&options, ret_store, err);
}

static void raw_upsert(void *arg)
{
	struct raw *raw = arg;
	const struct sp_record *r = raw->record;
	const char *texts[] = {
	    r->key,	  r->provider,	   r->provider_sandbox_id, r->latest_snapshot_id,
	    r->thread_id, r->latest_run_id};

	for (int i = 0; i < 6; i++)
		sqlite3_bind_text(raw->upsert, i + 1, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int64(raw->upsert, 7, r->updated_at);
	if (sqlite3_step(raw->upsert) != SQLITE_DONE)
		bench_die(sqlite3_errmsg(raw->db), NULL);
	sqlite3_reset(raw->upsert);
	sqlite3_clear_bindings(raw->upsert);
}

static void raw_get(void *arg)
{
	struct raw *raw = arg;

	sqlite3_bind_text(raw->get, 1, raw->record->key, -1, SQLITE_STATIC);
	if (sqlite3_step(raw->get) != SQLITE_ROW)
		bench_die(sqlite3_errmsg(raw->db), NULL);
	for (int i = 0; i < 5; i++)
		free(strdup((const char *)sqlite3_column_text(raw->get, i)));
	(void)sqlite3_column_int64(raw->get, 5);
	sqlite3_reset(raw->get);
	sqlite3_clear_bindings(raw->get);
}

static void raw_close(void *arg)
{
	struct raw *raw = arg;

	sqlite3_finalize(raw->upsert);
	sqlite3_finalize(raw->get);
	sqlite3_close(raw->db);
	free(raw);
}

void bench_sqlite_raw(const char *path, const struct sp_record *record, struct bench_raw *ret_raw)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (!raw || sqlite3_open(path, &raw->db) ||
	    sqlite3_exec(raw->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(
		raw->db,
		"INSERT INTO records(key, provider, sandbox_id, snapshot_id, thread_id, run_id, "
		"updated_at, fence) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT(key) DO "
		"UPDATE SET provider = excluded.provider, sandbox_id = excluded.sandbox_id, "
		"snapshot_id = excluded.snapshot_id, thread_id = excluded.thread_id, "
		"run_id = excluded.run_id, updated_at = excluded.updated_at, "
		"fence = coalesce(excluded.fence, fence) WHERE excluded.fence IS NULL "
		"OR records.fence IS NULL OR excluded.fence >= records.fence",
		-1, &raw->upsert, NULL) ||
	    sqlite3_prepare_v2(raw->db,
			       "SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, "
			       "updated_at FROM records WHERE key = ?1",
			       -1, &raw->get, NULL))
		bench_die("raw sqlite", NULL);
	raw->record = record;
	*ret_raw = (struct bench_raw){raw, raw_upsert, raw_get, raw_close};
}
