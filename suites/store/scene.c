/* SPDX-License-Identifier: MIT */
#include <suites/store/scene.h>

struct sp_record store_record(struct sp_case *t, const char *key)
{
	return (struct sp_record){
	    .key = (char *)key,
	    .provider = (char *)"fake",
	    .provider_sandbox_id = (char *)"sb-1",
	    .latest_snapshot_id = (char *)"snap-1",
	    .thread_id = (char *)sp_case_format(t, "thread-of-%s", key),
	    .latest_run_id = (char *)"run-1",
	    .updated_at = 1,
	};
}

struct sp_record store_version(struct sp_case *t, const char *key, unsigned n)
{
	struct sp_record record = store_record(t, key);

	record.provider = (char *)sp_case_format(t, "fake-%u", n);
	record.provider_sandbox_id = (char *)sp_case_format(t, "sb-%u", n);
	record.latest_snapshot_id = (char *)sp_case_format(t, "snap-%u", n);
	record.latest_run_id = (char *)sp_case_format(t, "run-%u", n);
	record.updated_at = n;
	return record;
}

bool store_put(struct sp_case *t, struct sp_store *store, const struct sp_record *record)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(store, record, NULL, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "upsert of the key %.200s", record->key);
}

bool store_delete(struct sp_case *t, struct sp_store *store, const char *key)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_del(store, key, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "delete of the key %.200s", key);
}

bool store_same(struct sp_case *t, const struct sp_record *expected, const struct sp_record *actual)
{
	const char *key = expected->key;

	return SP_CHECK_STR(t, key, actual->key, "key of the record") &&
	       SP_CHECK_STR(t, expected->provider, actual->provider, "provider of %.200s", key) &&
	       SP_CHECK_STR(t, expected->provider_sandbox_id, actual->provider_sandbox_id,
			    "sandbox id of %.200s", key) &&
	       SP_CHECK_STR(t, expected->latest_snapshot_id, actual->latest_snapshot_id,
			    "optional snapshot id of %.200s", key) &&
	       SP_CHECK_STR(t, expected->thread_id, actual->thread_id, "thread id of %.200s",
			    key) &&
	       SP_CHECK_STR(t, expected->latest_run_id, actual->latest_run_id,
			    "optional run id of %.200s", key) &&
	       SP_CHECK_INT(t, expected->updated_at, actual->updated_at, "updated_at of %.200s",
			    key);
}

bool store_holds(struct sp_case *t, struct sp_store *store, const struct sp_record *record)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;
	int rc = sp_store_get(store, record->key, &got, &found, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "get of the key %.200s", record->key) &&
	       SP_CHECK(t, found, "the key %.200s has a record", record->key) &&
	       store_same(t, record, &got);
}

bool store_lacks(struct sp_case *t, struct sp_store *store, const char *key)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = true;
	int rc = sp_store_get(store, key, &got, &found, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "get of a key without a record") &&
	       SP_CHECK(t, !found, "the key %.200s has no record", key);
}

bool store_keeps(struct sp_case *t, struct sp_store *store, const struct sp_record *record)
{
	return store_put(t, store, record) && store_holds(t, store, record);
}

void store_expect(struct sp_case *t, const char *prefix, unsigned from, unsigned to)
{
	for (unsigned n = from; n < to; n++)
		sp_case_own_record(t, sp_case_format(t, "%s-%u", prefix, n));
}

struct sp_store *store_second(struct sp_case *t)
{
	struct sp_subject *second = sp_case_second(t);

	return second ? &second->store : NULL;
}
