/* SPDX-License-Identifier: MIT */
/* The raw libraries, doing what the stores do: the same statement, the same durability, the values
 * copied out. */
#ifndef CI_BENCH_STORES_H
#define CI_BENCH_STORES_H

#include <sandproof/store.h>

/* One raw connection. Each call does one statement and ends the program when it fails. */
struct bench_raw {
	void *arg;
	void (*upsert)(void *arg);
	void (*get)(void *arg);
	void (*close)(void *arg);
};

/* Our store over a file, and a raw connection to it; the record is borrowed. */
int bench_sqlite_store(const char *path, struct sp_store *ret_store, struct sp_error *err);
void bench_sqlite_raw(const char *path, const struct sp_record *record, struct bench_raw *ret_raw);
/* The same over a server. */
int bench_postgres_store(const char *conninfo, struct sp_store *ret_store, struct sp_error *err);
void bench_postgres_raw(const char *conninfo, const struct sp_record *record,
			struct bench_raw *ret_raw);

#endif
