/* SPDX-License-Identifier: MIT */
/* The provider's table over a driver. */
#include "client.h"

#include <stdlib.h>
#include <string.h>

void drv_open(struct sp_buf *params, const char *name, const char *text)
{
	sp_buf_addc(params, '{');
	if (name)
		drv_put_text(params, name, text);
}

int drv_call_for(struct sp_driver *driver, const char *method, struct sp_buf *params,
		 struct sp_cancel *cancel, cJSON **ret_result, struct sp_error *err)
{
	sp_buf_addc(params, '}');
	return drv_call(driver, method, params, cancel, ret_result, err);
}

int drv_call_plain(struct sp_driver *driver, const char *method, struct sp_buf *params,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	return drv_call_for(driver, method, params, cancel, NULL, err);
}

static const char *provider_name(void *self)
{
	return ((struct sp_driver *)self)->provider_name;
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return &((struct sp_driver *)self)->provider;
}

static int put_create(struct sp_buf *params, const struct sp_create_options *options,
		      struct sp_error *err)
{
	int rc = drv_check_text("the id", options->id, err);

	if (!rc)
		rc = drv_check_text("the workspace", options->workspace, err);
	if (!rc)
		rc = drv_check_text("the adapter's name", options->adapter_name, err);
	if (rc)
		return rc;
	drv_put_text(params, "id", options->id);
	drv_put_text(params, "workspace", options->workspace);
	drv_put_text(params, "network", drv_networks[options->network]);
	if (options->lifetime_s)
		drv_put_uint(params, "lifetime_s", options->lifetime_s);
	drv_put_text(params, "adapter_name", options->adapter_name);
	return drv_put_env(params, "env", options->env, options->n_env, err);
}

static int make(struct sp_driver *driver, const char *method, struct sp_buf *params,
		const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		struct sp_error *err)
{
	cJSON *result DRV_RESULT;
	int rc = put_create(params, options, err);

	if (!rc)
		rc = drv_call_for(driver, method, params, options->cancel, &result, err);
	return rc ? rc : drv_make_sandbox(driver, method, result, ret_sandbox, err);
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;

	drv_open(&params, NULL, NULL);
	return make(self, "provider/create", &params, options, ret_sandbox, err);
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			    struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	int rc = drv_check_text("the snapshot's id", snapshot_id, err);

	if (rc)
		return rc;
	drv_open(&params, "snapshot", snapshot_id);
	return make(self, "provider/restore", &params, options, ret_sandbox, err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_driver *driver = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	bool gone = false;
	int rc = drv_check_text("the sandbox's id", id, err);

	if (rc)
		return rc;
	drv_open(&params, "id", id);
	rc = drv_call_for(driver, "provider/resume", &params, cancel, &result, err);
	if (rc)
		return rc;
	rc = drv_get_bool_opt(result, "gone", &gone, err);
	if (rc)
		return drv_nonsense(driver, "provider/resume", err);
	if (!gone)
		return drv_make_sandbox(driver, "provider/resume", result, ret_sandbox, err);
	*ret_sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
	return 0;
}

static int call_with_id(struct sp_driver *driver, const char *method, const char *name,
			const char *id, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;
	int rc = drv_check_text("the id", id, err);

	if (rc)
		return rc;
	drv_open(&params, name, id);
	return drv_call_plain(driver, method, &params, cancel, err);
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	return call_with_id(self, "provider/destroy", "id", id, cancel, err);
}

static int provider_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
				    struct sp_error *err)
{
	return call_with_id(self, "provider/snapshot_delete", "snapshot", snapshot_id, cancel, err);
}

static int read_id(cJSON *json, void *item, struct sp_error *err)
{
	char **id = item;

	if (!cJSON_IsString(json))
		return sp_error_set(err, SP_PROTOCOL, "its member \"ids\" is not of texts");
	*id = strdup(json->valuestring);
	return *id ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

static int read_ids(const cJSON *result, struct sp_id_list *list, struct sp_error *err)
{
	void *ids = NULL;
	int rc = drv_get_list(result, "ids", sizeof(*list->ids), read_id, &ids, &list->len, err);

	list->ids = ids;
	return rc;
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc;

	drv_open(&params, NULL, NULL);
	rc = drv_call_for(self, "provider/list", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (read_ids(result, &list, err))
		return drv_nonsense(self, "provider/list", err);
	*ret_list = list;
	list = (struct sp_id_list)SP_ID_LIST_INIT;
	return 0;
}

static void provider_close(void *self)
{
	sp_driver_unref(self);
}

static const struct sp_provider_ops provider_ops = {
    .version = SP_PROVIDER_VERSION,
    .name = provider_name,
    .capabilities = provider_capabilities,
    .create = provider_create,
    .resume = provider_resume,
    .restore = provider_restore,
    .destroy = provider_destroy,
    .snapshot_delete = provider_snapshot_delete,
    .list = provider_list,
    .close = provider_close,
};

/* What a driver offers, for the message about what it does not. */
int drv_not_offered(const struct sp_driver *driver, const char *kind, struct sp_error *err)
{
	struct sp_buf offer SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct {
		bool has;
		const char *name;
	} rows[] = {
	    {driver->has_provider, "provider"},
	    {driver->has_store, "store"},
	    {driver->has_lock, "lock"},
	    {driver->has_journal, "journal"},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (rows[i].has)
			sp_buf_addf(&offer, "%s%s", offer.len ? ", " : "", rows[i].name);
	return sp_error_set(err, SP_UNSUPPORTED,
			    "the driver offers no %s; its answer to initialize has %s", kind,
			    offer.len ? sp_buf_str(&offer) : "none of the kinds");
}

int sp_driver_provider(struct sp_driver *driver, struct sp_provider *ret_provider,
		       struct sp_error *err)
{
	if (!driver->has_provider)
		return drv_not_offered(driver, "provider", err);
	*ret_provider = (struct sp_provider){&provider_ops, sp_driver_ref(driver)};
	return 0;
}
