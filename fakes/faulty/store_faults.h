/* SPDX-License-Identifier: MIT */
/* What the faults of the store suite share: records that are changed on their way, and keys that
 * are. */
#ifndef FAKE_FAULTY_STORE_FAULTS_H
#define FAKE_FAULTY_STORE_FAULTS_H

#include "wrap.h"
#include "wrap_store.h"

/* Changes a record before it is stored: a copy of the struct, whose texts are still the caller's.
 */
typedef void (*store_in_fn)(struct sp_record *record);
/* Changes a record that was read; its texts are owned by it. */
typedef void (*store_out_fn)(struct sp_record *record);
/* Writes the key that is used instead (a text of at most SP_KEY_TAKEN + 64 bytes). */
typedef void (*store_key_fn)(const char *key, char *out, size_t size);

/* upsert() of a changed record, and get() whose record is changed. */
int store_put_changed(struct fault_store *store, store_in_fn change, const struct sp_record *record,
		      const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err);
int store_get_changed(struct fault_store *store, store_out_fn change, const char *key,
		      struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
		      struct sp_error *err);
/* The three calls under another key; a record that is read carries the key that was asked for. */
int store_put_as(struct fault_store *store, store_key_fn map, const struct sp_record *record,
		 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err);
int store_get_as(struct fault_store *store, store_key_fn map, const char *key,
		 struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
		 struct sp_error *err);
int store_del_as(struct fault_store *store, store_key_fn map, const char *key,
		 struct sp_cancel *cancel, struct sp_error *err);
/* Reads below the fault; false without a record or with an error. */
bool store_peek(struct fault_store *store, const char *key, struct sp_record *ret_record);
/* Replaces an owned text; NULL clears it. */
void store_set_text(char **text, const char *value);

/* Defines hooks NAME and wrap_NAME() of a fault that stores what NAME_in() made of the record. */
#define STORE_IN_FAULT(name)                                                                       \
	static int name##_put(struct fault_store *store, const struct sp_record *record,           \
			      const uint64_t *fence, struct sp_cancel *cancel,                     \
			      struct sp_error *err)                                                \
	{                                                                                          \
		return store_put_changed(store, name##_in, record, fence, cancel, err);            \
	}                                                                                          \
	static const struct fault_store_hooks name = {.upsert = name##_put};                       \
	FAULT_WRAP_STORE(wrap_##name, name)

/* Same, of a fault that answers what NAME_out() made of the record. */
#define STORE_OUT_FAULT(name)                                                                      \
	static int name##_get(struct fault_store *store, const char *key,                          \
			      struct sp_record *ret_record, bool *ret_found,                       \
			      struct sp_cancel *cancel, struct sp_error *err)                      \
	{                                                                                          \
		return store_get_changed(store, name##_out, key, ret_record, ret_found, cancel,    \
					 err);                                                     \
	}                                                                                          \
	static const struct fault_store_hooks name = {.get = name##_get};                          \
	FAULT_WRAP_STORE(wrap_##name, name)

/* Same, of a fault that uses the key that NAME_key() made. */
#define STORE_KEY_FAULT(name)                                                                      \
	static int name##_put(struct fault_store *store, const struct sp_record *record,           \
			      const uint64_t *fence, struct sp_cancel *cancel,                     \
			      struct sp_error *err)                                                \
	{                                                                                          \
		return store_put_as(store, name##_key, record, fence, cancel, err);                \
	}                                                                                          \
	static int name##_get(struct fault_store *store, const char *key,                          \
			      struct sp_record *ret_record, bool *ret_found,                       \
			      struct sp_cancel *cancel, struct sp_error *err)                      \
	{                                                                                          \
		return store_get_as(store, name##_key, key, ret_record, ret_found, cancel, err);   \
	}                                                                                          \
	static int name##_del(struct fault_store *store, const char *key,                          \
			      struct sp_cancel *cancel, struct sp_error *err)                      \
	{                                                                                          \
		return store_del_as(store, name##_key, key, cancel, err);                          \
	}                                                                                          \
	static const struct fault_store_hooks name = {                                             \
	    .get = name##_get, .upsert = name##_put, .del = name##_del};                           \
	FAULT_WRAP_STORE(wrap_##name, name)

/* The head of a hook. */
#define STORE_GET(name)                                                                            \
	static int name(struct fault_store *store, const char *key, struct sp_record *ret_record,  \
			bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
#define STORE_PUT(name)                                                                            \
	static int name(struct fault_store *store, const struct sp_record *record,                 \
			const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
#define STORE_DEL(name)                                                                            \
	static int name(struct fault_store *store, const char *key, struct sp_cancel *cancel,      \
			struct sp_error *err)

#endif
