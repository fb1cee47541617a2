/* SPDX-License-Identifier: MIT */
/* What most cases do with a store: make a record, put it, look whether it is held exactly. */
#ifndef SUITE_STORE_SCENE_H
#define SUITE_STORE_SCENE_H

#include <base/cleanup.h>
#include <sandproof/case.h>

/* struct sp_record got STORE_RECORD = SP_RECORD_INIT; */
#define STORE_RECORD SP_CLEANUP(sp_record_done)

/* A record with every field set, with texts of constants and the case: change the copy's pointers,
 * free nothing. */
struct sp_record store_record(struct sp_case *t, const char *key);
/* The same as version `n`: every field but the key and the thread tells the number. */
struct sp_record store_version(struct sp_case *t, const char *key, unsigned n);
/* Upserts without a fence; false after a recorded failure. */
bool store_put(struct sp_case *t, struct sp_store *store, const struct sp_record *record);
/* Deletes; false after a recorded failure. */
bool store_delete(struct sp_case *t, struct sp_store *store, const char *key);
/* Checks that get() of the record's key answers exactly this record. */
bool store_holds(struct sp_case *t, struct sp_store *store, const struct sp_record *record);
/* Checks that get() of the key answers that there is none. */
bool store_lacks(struct sp_case *t, struct sp_store *store, const char *key);
/* Puts a record and checks that it is held. */
bool store_keeps(struct sp_case *t, struct sp_store *store, const struct sp_record *record);
/* Checks two records field by field, absent being different from every text. */
bool store_same(struct sp_case *t, const struct sp_record *expected,
		const struct sp_record *actual);
/*
 * Tells the runner of PREFIX-FROM to PREFIX-(TO-1), which other processes are about to write, so
 * that it deletes them as it does what this one writes, whatever becomes of the case.
 */
void store_expect(struct sp_case *t, const char *prefix, unsigned from, unsigned to);
/* A second instance's store, or NULL after a recorded error. */
struct sp_store *store_second(struct sp_case *t);

#endif
