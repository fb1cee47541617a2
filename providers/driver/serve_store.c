/* SPDX-License-Identifier: MIT */
/* Methods of stores and locks, on the driver's side. */
#include "server.h"

static int need_store(struct serve_call *call, struct sp_store **ret, struct sp_error *err)
{
	*ret = call->serve->offer->store;
	return *ret ? 0 : sp_error_set(err, SP_UNSUPPORTED, "this driver offers no store");
}

static int get(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_store *store;
	const char *key = NULL;
	bool found = false;
	int rc = need_store(call, &store, err);

	if (!rc)
		rc = drv_get_text(params, "key", &key, err);
	if (!rc)
		rc = sp_store_get(store, key, &record, &found, call->cancel, err);
	if (rc)
		return rc;
	if (found) {
		drv_put_record(result, "record", &record);
	} else {
		drv_put_key(result, "record");
		sp_buf_adds(result, "null");
	}
	return 0;
}

static int upsert(struct serve_call *call, cJSON *params, struct sp_buf *result,
		  struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_store *store;
	uint64_t fence = 0;
	int rc = need_store(call, &store, err);

	(void)result;
	if (!rc)
		rc = drv_get_record(cJSON_GetObjectItemCaseSensitive(params, "record"), &record,
				    err);
	if (!rc)
		rc = drv_get_uint_opt(params, "fence", &fence, err);
	return rc ? rc
		  : sp_store_upsert(store, &record,
				    cJSON_HasObjectItem(params, "fence") ? &fence : NULL,
				    call->cancel, err);
}

static int del(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct sp_store *store;
	const char *key = NULL;
	int rc = need_store(call, &store, err);

	(void)result;
	if (!rc)
		rc = drv_get_text(params, "key", &key, err);
	return rc ? rc : sp_store_del(store, key, call->cancel, err);
}

/* The lost signal is watched from the answer on, so that nobody hears of a lease before it. */
static int put_lease(struct serve_call *call, struct sp_lease *lease, struct sp_buf *result,
		     struct sp_error *err)
{
	struct serve_handle *handle = serve_handle_new(call->serve, SERVE_LEASE);

	if (!handle) {
		sp_lease_done(lease);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	handle->lease = *lease;
	handle->cancel = sp_lease_lost(lease);
	call->made_lease = handle;
	drv_put_text(result, "lease", handle->name);
	drv_put_uint(result, "fence", sp_lease_fence(lease));
	return 0;
}

static int acquire(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct sp_lock *lock = call->serve->offer->lock;
	struct sp_lease lease = SP_LEASE_INIT;
	const char *key = NULL;
	int rc = drv_get_text(params, "key", &key, err);

	if (!rc && !lock)
		rc = sp_error_set(err, SP_UNSUPPORTED, "this driver offers no lock");
	if (!rc)
		rc = sp_lock_acquire(lock, key, call->cancel, &lease, err);
	return rc ? rc : put_lease(call, &lease, result, err);
}

static int release(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_LEASE, &handle, err);

	(void)result;
	if (rc)
		return rc;
	serve_handle_close(call, handle);
	/* Given back before the answer says so: this call's use is the last one. */
	call->handle = NULL;
	serve_handle_put(handle);
	return 0;
}

const struct serve_method serve_store_methods[] = {
    {"store/get", get},	       {"store/upsert", upsert},  {"store/delete", del},
    {"lock/acquire", acquire}, {"lock/release", release}, {NULL, NULL},
};
