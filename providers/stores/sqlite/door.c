/* SPDX-License-Identifier: MIT */
/* The back door: a connection of its own, and the file itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "db.h"

/* A record's texts and some. */
#define RAW_CEILING (2UL * 1024 * 1024)

struct door {
	struct sqlite_db db;
	bool on[SP_TROUBLE_MAX_];
	/* The file may be left in trouble by a process that is killed. */
	bool own_file;
	/* Where the real file waits while a foreign one stands in its place. */
	char *aside;
};

/* ---- looking ---- */

struct query {
	const char *sql, *key;
	/* Takes the current row. */
	int (*row)(sqlite3_stmt *stmt, void *arg);
	void *arg;
};

static int try_query(struct sqlite_db *db, void *arg)
{
	struct query *query = arg;
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db->handle, query->sql, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, query->key, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW && query->row)
		rc = query->row(stmt, query->arg);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int query(struct door *door, struct query query, const char *what, struct sp_error *err)
{
	return sqlite_db_run(&door->db, try_query, &query, what, NULL, err);
}

static int take_count(sqlite3_stmt *stmt, void *arg)
{
	*(uint64_t *)arg = (uint64_t)sqlite3_column_int64(stmt, 0);
	return SQLITE_DONE;
}

static int count(void *self, const char *prefix, uint64_t *ret_count, struct sp_error *err)
{
	struct query q = {.sql = "SELECT (SELECT count(*) FROM records "
				 "WHERE substr(key, 1, length(?1)) = ?1) + "
				 "(SELECT count(*) FROM leases "
				 "WHERE substr(key, 1, length(?1)) = ?1)",
			  .key = prefix,
			  .row = take_count,
			  .arg = ret_count};

	return query(self, q, "counting", err);
}

/* "[type:value]" of each column: nothing reads like something else. */
static int take_raw(sqlite3_stmt *stmt, void *arg)
{
	static const char *const types[] = {"?", "integer", "float", "text", "blob", "null"};
	struct sp_buf *out = arg;

	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		int type = sqlite3_column_type(stmt, i);
		const char *text = (const char *)sqlite3_column_text(stmt, i);

		sp_buf_addf(out, "[%s %s:%s]", sqlite3_column_name(stmt, i),
			    types[type > 0 && type < 6 ? type : 0], text ? text : "");
	}
	return SQLITE_DONE;
}

static int raw(void *self, const char *key, char **ret_text, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(RAW_CEILING);
	struct query q = {.sql = "SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, "
				 "updated_at FROM records WHERE key = ?1",
			  .key = key,
			  .row = take_raw,
			  .arg = &out};
	int rc = query(self, q, "reading a row", err);

	if (!rc && !out.len)
		rc = sp_error_set(err, SP_NOT_FOUND, "there is no row of this key");
	if (rc)
		return rc;
	*ret_text = sp_buf_take(&out, NULL);
	return *ret_text ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

/* ---- damage ---- */

static int damage(void *self, const char *key, enum sp_damage how, struct sp_error *err)
{
	static const char *const sql[SP_DAMAGE_MAX_] = {
	    [SP_DAMAGE_GARBAGE] = "UPDATE records SET sandbox_id = CAST(x'fffe80' AS TEXT) "
				  "WHERE key = ?1",
	};
	struct query q = {.key = key};

	if ((unsigned)how >= SP_DAMAGE_MAX_ || !sql[how])
		return sp_error_set(err, SP_UNSUPPORTED, "strict tables take no such value");
	q.sql = sql[how];
	return query(self, q, "damaging a row", err);
}

static int expire(void *self, const char *key, struct sp_error *err)
{
	struct query q = {.sql = "DELETE FROM leases WHERE key = ?1", .key = key};
	struct door *door = self;
	int rc = query(door, q, "taking a lease away", err);

	if (!rc && !sqlite3_changes(door->db.handle))
		rc = sp_error_set(err, SP_NOT_FOUND, "nobody holds this key");
	return rc;
}

/* ---- trouble ---- */

static int try_exec(struct sqlite_db *db, void *arg)
{
	return sqlite_db_exec(db, arg);
}

static int exec(struct door *door, const char *sql, const char *what, struct sp_error *err)
{
	return sqlite_db_run(&door->db, try_exec, (void *)sql, what, NULL, err);
}

static int move_aside(struct door *door, struct sp_error *err)
{
	if (!door->aside && asprintf(&door->aside, "%s.aside", door->db.path) < 0) {
		door->aside = NULL;
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	if (rename(door->db.path, door->aside))
		return sp_error_set_errno(err, errno, "%s cannot be moved", door->db.path);
	return sp_write_file(door->db.path, "null", 4, 0600, err);
}

static int foreign(struct door *door, bool begin, struct sp_error *err)
{
	if (begin)
		return move_aside(door, err);
	return rename(door->aside, door->db.path)
		   ? sp_error_set_errno(err, errno, "%s cannot be put back", door->db.path)
		   : 0;
}

static int newer(struct door *door, bool begin, struct sp_error *err)
{
	return exec(door, begin ? "PRAGMA user_version = 1000" : "PRAGMA user_version = 2",
		    "changing the version", err);
}

/* A killed process ends no trouble: what would stay is kept from data that somebody needs. */
static int check_own(const struct door *door, struct sp_error *err)
{
	return door->own_file ? 0
			      : sp_error_set(err, SP_UNSUPPORTED,
					     "a run that is killed would leave the file so, and "
					     "this one is not the run's own");
}

static int trouble(void *self, enum sp_trouble kind, bool begin, struct sp_error *err)
{
	struct door *door = self;
	int rc = SP_UNSUPPORTED;

	if ((unsigned)kind >= SP_TROUBLE_MAX_ || door->on[kind] == begin)
		return sp_error_set(err, SP_INVALID, "that trouble has begun or ended already");
	switch (kind) {
	case SP_TROUBLE_LOCKED:
		rc = exec(door, begin ? "BEGIN EXCLUSIVE" : "ROLLBACK", "locking", err);
		break;
	case SP_TROUBLE_FOREIGN:
		rc = check_own(door, err);
		rc = rc ? rc : foreign(door, begin, err);
		break;
	case SP_TROUBLE_NEWER:
		rc = check_own(door, err);
		rc = rc ? rc : newer(door, begin, err);
		break;
	case SP_TROUBLE_DOWN:
	case SP_TROUBLE_MAX_:
		return sp_error_set(err, SP_UNSUPPORTED, "a file knows no such trouble");
	}
	if (!rc)
		door->on[kind] = begin;
	return rc;
}

static void close_door(void *self)
{
	struct door *door = self;

	for (int kind = 0; kind < SP_TROUBLE_MAX_; kind++)
		if (door->on[kind])
			(void)trouble(door, (enum sp_trouble)kind, false, NULL);
	sqlite_db_done(&door->db);
	free(door->aside);
	free(door);
}

static const struct sp_backdoor_ops ops = {
    .version = SP_BACKDOOR_VERSION,
    .count = count,
    .raw = raw,
    .damage = damage,
    .trouble = trouble,
    .expire = expire,
    .close = close_door,
};

int sp_sqlite_backdoor_open(const struct sp_sqlite_options *options, struct sp_backdoor *ret_door,
			    struct sp_error *err)
{
	struct door *door = calloc(1, sizeof(*door));
	int rc;

	if (!door)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	door->own_file = options->own_file;
	rc = sqlite_db_open(options, &door->db, err);
	if (rc) {
		close_door(door);
		return rc;
	}
	*ret_door = (struct sp_backdoor){&ops, door};
	return 0;
}
