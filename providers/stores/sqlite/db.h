/* SPDX-License-Identifier: MIT */
/* One connection: opening and schema, statements that are kept, waiting for others, errors in our
 * words. */
#ifndef SP_STORES_SQLITE_DB_H
#define SP_STORES_SQLITE_DB_H

#include <pthread.h>
#include <sqlite3.h>

#include "sqlite.h"

/* "SPst" in the file's header: whose file it is. */
#define SQLITE_APPLICATION 0x53507374

/* A connection; its calls are made with `lock` held. */
struct sqlite_db {
	pthread_mutex_t lock;
	sqlite3 *handle;
	char *path;
	uint64_t busy_ns;
};

/* Opens the file, waits for whoever has it, brings its schema up. Free it in any case. */
int sqlite_db_open(const struct sp_sqlite_options *options, struct sqlite_db *ret_db,
		   struct sp_error *err);
/* Closes and frees; the statements are finalized before. */
void sqlite_db_done(struct sqlite_db *db);

/* Prepares a statement that is kept. */
int sqlite_db_prepare(struct sqlite_db *db, const char *sql, sqlite3_stmt **ret_stmt,
		      struct sp_error *err);

/* One attempt of something, with the lock held: SQLITE_OK, or SQLite's code. Called again while
 * that is BUSY. */
typedef int (*sqlite_attempt_fn)(struct sqlite_db *db, void *arg);
/*
 * Makes attempts until one is not told that the file is busy, the cancel fires or the patience of
 * the options ends; others use the connection between attempts. 0 or an sp_code; `what` begins the
 * message.
 */
int sqlite_db_run(struct sqlite_db *db, sqlite_attempt_fn attempt, void *arg, const char *what,
		  struct sp_cancel *cancel, struct sp_error *err);
/* Runs a constant text; SQLITE_OK or SQLite's code. */
int sqlite_db_exec(struct sqlite_db *db, const char *sql);

/* Milliseconds since this machine started, the same in all its processes; and which start that was.
 */
int64_t sqlite_now_ms(void);
const char *sqlite_boot_id(void);

#endif
