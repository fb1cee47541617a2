/* SPDX-License-Identifier: MIT */
#include "store_faults.h"

#include <stdlib.h>
#include <string.h>

#define KEY_ROOM (SP_KEY_TAKEN + 64)

int store_put_changed(struct fault_store *store, store_in_fn change, const struct sp_record *record,
		      const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record changed = *record;

	change(&changed);
	return sp_store_upsert(&store->inner, &changed, fence, cancel, err);
}

int store_get_changed(struct fault_store *store, store_out_fn change, const char *key,
		      struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found)
		change(ret_record);
	return rc;
}

int store_put_as(struct fault_store *store, store_key_fn map, const struct sp_record *record,
		 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record other = *record;
	char key[KEY_ROOM] = "";

	if (record->key) {
		map(record->key, key, sizeof(key));
		other.key = key;
	}
	return sp_store_upsert(&store->inner, &other, fence, cancel, err);
}

int store_get_as(struct fault_store *store, store_key_fn map, const char *key,
		 struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
		 struct sp_error *err)
{
	char other[KEY_ROOM] = "";
	int rc;

	map(key, other, sizeof(other));
	rc = sp_store_get(&store->inner, other, ret_record, ret_found, cancel, err);
	if (!rc && *ret_found)
		store_set_text(&ret_record->key, key);
	return rc;
}

int store_del_as(struct fault_store *store, store_key_fn map, const char *key,
		 struct sp_cancel *cancel, struct sp_error *err)
{
	char other[KEY_ROOM] = "";

	map(key, other, sizeof(other));
	return sp_store_del(&store->inner, other, cancel, err);
}

bool store_peek(struct fault_store *store, const char *key, struct sp_record *ret_record)
{
	bool found = false;

	return !sp_store_get(&store->inner, key, ret_record, &found, NULL, NULL) && found;
}

void store_set_text(char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	free(*text);
	*text = copy;
}
