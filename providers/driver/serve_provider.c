/* SPDX-License-Identifier: MIT */
/* Methods of the provider, on the driver's side. */
#include "server.h"

#include <string.h>

static int need(struct serve_call *call, struct sp_provider **ret, struct sp_error *err)
{
	*ret = call->serve->offer->provider;
	return *ret ? 0 : sp_error_set(err, SP_UNSUPPORTED, "this driver offers no provider");
}

/* What create and restore are called with; the environment is freed by the caller. */
static int read_create(cJSON *params, struct sp_create_options *options, struct drv_env *env,
		       struct sp_error *err)
{
	int network = SP_NETWORK_DEFAULT;
	uint64_t lifetime = 0;
	int rc = drv_get_text_opt(params, "id", &options->id, err);

	if (!rc)
		rc = drv_get_text_opt(params, "workspace", &options->workspace, err);
	if (!rc)
		rc = drv_get_text_opt(params, "adapter_name", &options->adapter_name, err);
	if (!rc)
		rc = drv_get_word(params, "network", drv_networks, network, &network, err);
	if (!rc)
		rc = drv_get_uint_opt(params, "lifetime_s", &lifetime, err);
	if (!rc && lifetime > UINT32_MAX)
		rc = sp_error_set(err, SP_INVALID, "lifetime_s is too large");
	if (!rc)
		rc = drv_get_env_opt(params, "env", env, err);
	options->network = (enum sp_network)network;
	options->lifetime_s = (uint32_t)lifetime;
	options->env = env->items;
	options->n_env = env->len;
	return rc;
}

static int make(struct serve_call *call, cJSON *params, bool restore, struct sp_buf *result,
		struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct drv_env env SP_CLEANUP(drv_env_done) = DRV_ENV_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_provider *provider;
	const char *snapshot = NULL;
	int rc = need(call, &provider, err);

	if (!rc && restore)
		rc = drv_get_text(params, "snapshot", &snapshot, err);
	if (!rc)
		rc = read_create(params, &options, &env, err);
	if (rc)
		return rc;
	options.cancel = call->cancel;
	rc = restore ? sp_provider_restore(provider, snapshot, &options, &sandbox, err)
		     : sp_provider_create(provider, &options, &sandbox, err);
	return rc ? rc : serve_put_sandbox(call->serve, &sandbox, result, err);
}

static int create(struct serve_call *call, cJSON *params, struct sp_buf *result,
		  struct sp_error *err)
{
	return make(call, params, false, result, err);
}

static int restore(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	return make(call, params, true, result, err);
}

static int resume(struct serve_call *call, cJSON *params, struct sp_buf *result,
		  struct sp_error *err)
{
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_provider *provider;
	const char *id = NULL;
	int rc = need(call, &provider, err);

	if (!rc)
		rc = drv_get_text(params, "id", &id, err);
	if (!rc)
		rc = sp_provider_resume(provider, id, &sandbox, call->cancel, err);
	if (rc)
		return rc;
	if (sandbox.ops)
		return serve_put_sandbox(call->serve, &sandbox, result, err);
	drv_put_bool(result, "gone", true);
	return 0;
}

static int destroy(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct sp_provider *provider;
	const char *id = NULL;
	int rc = need(call, &provider, err);

	(void)result;
	if (!rc)
		rc = drv_get_text(params, "id", &id, err);
	return rc ? rc : sp_provider_destroy(provider, id, call->cancel, err);
}

static int snapshot_delete(struct serve_call *call, cJSON *params, struct sp_buf *result,
			   struct sp_error *err)
{
	struct sp_provider *provider;
	const char *id = NULL;
	int rc = need(call, &provider, err);

	(void)result;
	if (!rc)
		rc = drv_get_text(params, "snapshot", &id, err);
	return rc ? rc : sp_provider_snapshot_delete(provider, id, call->cancel, err);
}

static int list(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct sp_id_list ids SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_provider *provider;
	int rc = need(call, &provider, err);

	(void)params;
	if (!rc)
		rc = sp_provider_list(provider, &ids, call->cancel, err);
	if (rc)
		return rc;
	drv_put_open(result, "ids", '[');
	for (size_t i = 0; i < ids.len; i++)
		drv_put_text(result, NULL, ids.ids[i]);
	sp_buf_addc(result, ']');
	return 0;
}

const struct serve_method serve_provider_methods[] = {
    {"provider/create", create},
    {"provider/resume", resume},
    {"provider/restore", restore},
    {"provider/destroy", destroy},
    {"provider/snapshot_delete", snapshot_delete},
    {"provider/list", list},
    {NULL, NULL},
};
