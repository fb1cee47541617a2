/* SPDX-License-Identifier: MIT */
/* The store's table over a driver. */
#include "client.h"

#include <string.h>

static const struct sp_store_capabilities *store_capabilities(void *self)
{
	return &((struct sp_driver *)self)->store;
}

static int store_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_driver *driver = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	const cJSON *record;
	int rc = drv_check_text("the key", key, err);

	if (rc)
		return rc;
	drv_open(&params, "key", key);
	rc = drv_call_for(driver, "store/get", &params, cancel, &result, err);
	if (rc)
		return rc;
	record = cJSON_GetObjectItemCaseSensitive(result, "record");
	if (cJSON_IsNull(record)) {
		*ret_found = false;
		return 0;
	}
	if (drv_get_record(record, ret_record, err))
		return drv_nonsense(driver, "store/get", err);
	*ret_found = true;
	return 0;
}

static int check_record(const struct sp_record *record, struct sp_error *err)
{
	const struct {
		const char *what, *text;
	} rows[] = {
	    {"the key", record->key},
	    {"provider", record->provider},
	    {"provider_sandbox_id", record->provider_sandbox_id},
	    {"latest_snapshot_id", record->latest_snapshot_id},
	    {"thread_id", record->thread_id},
	    {"latest_run_id", record->latest_run_id},
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++)
		rc = drv_check_text(rows[i].what, rows[i].text, err);
	return rc;
}

static int store_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	int rc = check_record(record, err);

	if (rc)
		return rc;
	drv_open(&params, NULL, NULL);
	drv_put_record(&params, "record", record);
	if (fence)
		drv_put_uint(&params, "fence", *fence);
	return drv_call_plain(self, "store/upsert", &params, cancel, err);
}

static int store_del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	int rc = drv_check_text("the key", key, err);

	if (rc)
		return rc;
	drv_open(&params, "key", key);
	return drv_call_plain(self, "store/delete", &params, cancel, err);
}

static int store_copies(void *self, const char *key, bool *ret_put, bool *ret_got,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_driver *driver = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	bool put, got;
	int rc = drv_check_text("the key", key, err);

	if (rc)
		return rc;
	drv_open(&params, "key", key);
	rc = drv_call_for(driver, "store/copies", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_bool(result, "put", &put, err) || drv_get_bool(result, "got", &got, err))
		return drv_nonsense(driver, "store/copies", err);
	*ret_put = put;
	*ret_got = got;
	return 0;
}

static void store_close(void *self)
{
	sp_driver_unref(self);
}

static const struct sp_store_ops store_ops = {
    .version = SP_STORE_VERSION,
    .capabilities = store_capabilities,
    .get = store_get,
    .upsert = store_upsert,
    .del = store_del,
    .close = store_close,
    .copies = store_copies,
};

int sp_driver_store(struct sp_driver *driver, struct sp_store *ret_store, struct sp_error *err)
{
	if (!driver->has_store)
		return drv_not_offered(driver, "store", err);
	*ret_store = (struct sp_store){&store_ops, sp_driver_ref(driver)};
	return 0;
}
