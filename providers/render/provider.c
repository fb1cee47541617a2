/* SPDX-License-Identifier: MIT */
/* The provider: what makes, finds and removes sandboxes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char *provider_name(void *self SP_UNUSED)
{
	return "render";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return &((struct render_core *)self)->capabilities;
}

/* From the new id to a handle that takes commands and has its environment. */
static int bring_up(struct render_core *core, const char *id, bool restored,
		    const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		    struct sp_error *err)
{
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	int rc = sp_cancel_check(options->cancel, err);

	if (!rc)
		rc = render_wait_ready(core, id, true, options->cancel, err);
	if (!rc)
		rc = render_sandbox_open(core, id, restored, options->cancel, &sandbox, err);
	if (!rc && options->n_env)
		rc = render_env_set(sandbox.self, options->env, options->n_env, options->cancel,
				    err);
	/* The abort that came last still counts: after this there is a caller who owns it. */
	if (!rc)
		rc = sp_cancel_check(options->cancel, err);
	if (rc)
		sp_sandbox_done(&sandbox);
	else
		*ret_sandbox = sandbox;
	return rc;
}

/* The first error stays the answer; an id that could not be ended is named with it. */
static void take_back(struct render_core *core, const char *id, int rc, struct sp_error *err)
{
	struct sp_cancel *limit;
	struct sp_error inner = SP_ERROR_INIT;

	if ((rc == SP_ABORTED || rc == SP_TIMED_OUT) && !core->steps.terminate_aborted_create)
		return;
	limit = sp_cancel_new();
	if (limit)
		sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	if (render_terminate(core, id, limit, &inner)) {
		char words[SP_ERROR_TEXT];

		snprintf(words, sizeof(words), "sandbox %s " SP_MAY_BE_THERE ": %.300s", id,
			 inner.message);
		sp_error_set_detail(err, words);
	}
	sp_cancel_unref(limit);
}

/* A new sandbox, empty or (`snapshot` not NULL) from a snapshot. */
static int make(struct render_core *core, const char *snapshot,
		const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		struct sp_error *err)
{
	char *id SP_FREE = NULL;
	int rc = 0;

	if (core->steps.names_before_merge)
		rc = render_check_names(core, options->env, options->n_env, err);
	if (rc)
		return rc;
	if (!core->steps.may_start(options->cancel))
		return sp_cancel_check(options->cancel, err);
	rc = render_post_create(core, snapshot, options, &id, err);
	if (rc)
		return rc;
	rc = bring_up(core, id, snapshot != NULL, options, ret_sandbox, err);
	if (rc)
		take_back(core, id, rc, err);
	return rc;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	return make(self, NULL, options, ret_sandbox, err);
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options,
			    struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	char *snapshot SP_FREE = NULL;
	int rc = render_snapshot_id(snapshot_id, &snapshot, err);

	return rc ? rc : make(self, snapshot, options, ret_sandbox, err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = self;
	struct sp_error inner = SP_ERROR_INIT;
	int rc = sp_cancel_check(cancel, &inner);

	if (!rc)
		rc = render_wait_ready(core, id, false, cancel, &inner);
	if (!rc)
		rc = render_sandbox_open(core, id, false, cancel, ret_sandbox, &inner);
	if (rc == SP_GONE) {
		*ret_sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
		return 0;
	}
	if (rc && err)
		*err = inner;
	return rc;
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
	struct render_core *core = self;

	render_join_released(core, true);
	render_core_unref(core);
}

static const struct sp_provider_ops provider_ops = {
    .version = SP_PROVIDER_VERSION,
    .name = provider_name,
    .capabilities = provider_capabilities,
    .create = provider_create,
    .resume = provider_resume,
    .restore = provider_restore,
    .destroy = provider_destroy,
    .snapshot_delete = render_snapshot_delete,
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
	*ret_provider = (struct sp_provider){&provider_ops, core};
	return 0;
}

struct sp_platform sp_render_platform(struct sp_provider *provider)
{
	if (!provider || provider->ops != &provider_ops)
		return (struct sp_platform)SP_PLATFORM_INIT;
	return (struct sp_platform){&render_platform_ops, provider->self};
}

int sp_render_check(struct sp_provider *provider, struct sp_cancel *cancel, struct sp_error *err)
{
	if (!provider || provider->ops != &provider_ops)
		return sp_error_set(err, SP_UNSUPPORTED, "not a Render provider");
	return render_check(provider->self, cancel, err);
}
