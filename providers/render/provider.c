/* SPDX-License-Identifier: MIT */
/* The provider: makes, finds and removes sandboxes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char *provider_name(void *self)
{
	(void)self;
	return "render";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return &((struct render_core *)self)->capabilities;
}

static void unref_cancel(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

/* Removes what a failed create made; by its own clock, since the caller's has usually run out. */
static void undo(struct render_core *core, const char *id)
{
	struct sp_cancel *limit SP_CLEANUP(unref_cancel) = sp_cancel_new();

	if (!core->steps.terminate_aborted_create)
		return;
	sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	(void)render_terminate(core, id, limit, NULL);
}

static int make_ready(struct render_core *core, const char *id,
		      const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		      struct sp_error *err)
{
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	int rc = render_wait_ready(core, id, options->cancel, err);

	if (!rc)
		rc = render_sandbox_open(core, id, options->cancel, &sandbox, err);
	if (!rc && options->n_env)
		rc = render_env_set(sandbox.self, options->env, options->n_env, options->cancel, err);
	if (!rc)
		rc = sp_cancel_check(options->cancel, err);
	if (rc) {
		sp_sandbox_done(&sandbox);
		return rc;
	}
	*ret_sandbox = sandbox;
	return 0;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct render_core *core = self;
	char *id SP_FREE = NULL;
	int rc = core->steps.may_start(options->cancel) ? 0 : sp_cancel_check(options->cancel, err);

	/* Secrets are not part of the create call: the service would show them to every command for ever. */
	if (!rc)
		rc = render_check_names(core, options->env, options->n_env, err);
	if (!rc)
		rc = render_post_create(core, options, &id, err);
	if (rc)
		return rc;
	rc = make_ready(core, id, options, ret_sandbox, err);
	if (rc)
		undo(core, id);
	return rc;
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = self;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	int rc = render_wait_ready(core, id, cancel, err);

	if (!rc)
		rc = render_sandbox_open(core, id, cancel, &sandbox, err);
	if (rc && rc != SP_GONE)
		return rc;
	*ret_sandbox = sandbox;
	return 0;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	return render_terminate(self, id, cancel, err);
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	return render_list(self, cancel, ret_list, err);
}

static void provider_close(void *self)
{
	render_join_released(self, true);
	render_core_unref(self);
}

static const struct sp_provider_ops provider_ops = {
	.version = SP_PROVIDER_VERSION,
	.name = provider_name,
	.capabilities = provider_capabilities,
	.create = provider_create,
	.resume = provider_resume,
	.destroy = provider_destroy,
	.list = provider_list,
	.close = provider_close,
};

int sp_render_open(const struct sp_render_options *options, struct sp_provider *ret_provider,
		   struct sp_error *err)
{
	struct render_core *core;
	int rc = render_core_new(options, &core, err);

	if (rc)
		return rc;
	ret_provider->ops = &provider_ops;
	ret_provider->self = core;
	return 0;
}

struct sp_platform sp_render_platform(struct sp_provider *provider)
{
	if (!provider || provider->ops != &provider_ops)
		return (struct sp_platform)SP_PLATFORM_INIT;
	return (struct sp_platform){ &render_platform_ops, provider->self };
}
