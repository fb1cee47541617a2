/* SPDX-License-Identifier: MIT */
/* Opens providers. */
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <control/control.h>
#include <providers/driver/driver.h>
#include <providers/local/local.h>
#include <providers/plugin/plugin.h>
#include <providers/render/http/http.h>
#include <providers/render/render.h>
#include <runner/runner.h>

#include "registry_impl.h"

/*
 * Against our own references a grace has to be long enough for a shell to hear its signal, no
 * longer: cases prove the order, never the length. On a busy machine it is stretched as limits are.
 */
#define OWN_GRACE_MS 50
/* So is a bound: more than any pipe on the way holds is enough. */
#define OWN_UNREAD_BOUND (1 << 20)
/* A sandbox of the fake is there within a few milliseconds. */
#define OWN_POLL_MS 2
/* Turns a service that never answers into an error. */
#define CHECK_LIMIT_MS 30000

const char *cli_control_url(const struct cli_registry *registry)
{
	return registry->options.control_url ? registry->options.control_url
					     : registry->fake.control_url;
}

const char *cli_control_token(const struct cli_registry *registry)
{
	return registry->options.control_url ? registry->options.control_token
					     : registry->fake.control_token;
}

/* Key and workspace for an open call; a worker's own where it has one. */
static int find_workspace(const struct cli_registry *registry, const char *workspace,
			  struct sp_render_options *options, struct sp_error *err)
{
	if (!workspace) {
		/* NULL for a real service: the provider then reads the environment. */
		options->token = registry->fake.api_key;
		options->owner_id = registry->fake.workspace_id;
		return 0;
	}
	for (size_t i = 0; i < registry->n_workspaces; i++) {
		if (strcmp(registry->workspaces[i].id, workspace))
			continue;
		options->token = registry->workspaces[i].api_key;
		options->owner_id = workspace;
		return 0;
	}
	return sp_error_set(err, SP_INTERNAL, "the workspace %s was not made by this run",
			    workspace);
}

static uint32_t own_grace(void)
{
	return (uint32_t)sp_scaled_ms(OWN_GRACE_MS);
}

/* Path of a Unix socket in a base URL, or NULL. */
static const char *unix_path(const char *base_url)
{
	return base_url && !strncmp(base_url, "unix:", 5) ? base_url + 5 : NULL;
}

/* Puts a fault of the Render provider in its place; what it needs lives in `steps`. */
static int apply_render_fault(const struct sp_fault *fault, struct sp_render_options *options,
			      struct sp_render_steps *steps, struct sp_error *err)
{
	struct sp_http_options http = SP_HTTP_OPTIONS_INIT;
	int rc;

	if (!fault)
		return 0;
	if (fault->seam == SP_FAULT_RENDER_STEP) {
		*steps = sp_render_steps();
		fault->change_steps(steps);
		options->steps = steps;
	}
	if (fault->seam != SP_FAULT_TRANSPORT)
		return 0;
	http.unix_path = unix_path(options->base_url);
	rc = sp_http_transport_open(&http, &options->transport, err);
	if (rc)
		return rc;
	rc = fault->wrap_transport(&options->transport, err);
	if (rc)
		options->transport.ops->close(options->transport.self);
	return rc;
}

/* The options that the SPEC, --option and the fake decide. */
static int render_options(const struct cli_registry *registry, const char *workspace,
			  struct sp_render_options *options, char **private_dir,
			  struct sp_error *err)
{
	const struct cli_settings *set = &registry->options.settings;
	bool own = registry->spec.scheme == CLI_BASH;

	options->base_url = own ? registry->fake.base_url : registry->spec.target;
	options->kill_grace_ms = set->has_kill_grace ? set->kill_grace_ms
				 : own		     ? own_grace()
						     : UINT32_MAX;
	options->unread_bound = set->unread_bound ? set->unread_bound : own ? OWN_UNREAD_BOUND : 0;
	options->output_cap = set->output_cap;
	options->poll_ms = set->poll_ms ? set->poll_ms : own ? OWN_POLL_MS : 0;
	options->start_timeout_ms = set->start_timeout_ms;
	options->plan = set->plan;
	options->meter = registry->meter;
	options->snapshot_kind = set->snapshot_kind;
	options->snapshot_lifetime_s = SP_RUN_SNAPSHOT_LIFETIME_S;
	options->private_dir = set->private_dir;
	if (!set->private_dir && registry->fake.memory_dir) {
		if (asprintf(private_dir, "%s/tsai", registry->fake.memory_dir) < 0) {
			*private_dir = NULL;
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		}
		options->private_dir = *private_dir;
	}
	return find_workspace(registry, workspace, options, err);
}

static int open_render(struct cli_registry *registry, const char *workspace,
		       struct sp_subject *subject, struct sp_error *err)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	char *private_dir SP_FREE = NULL;
	struct sp_render_steps steps;
	int rc = render_options(registry, workspace, &options, &private_dir, err);

	if (!rc)
		rc = apply_render_fault(registry->options.fault, &options, &steps, err);
	if (rc)
		return rc;
	rc = sp_render_open(&options, &subject->provider, err);
	if (rc && options.transport.ops)
		options.transport.ops->close(options.transport.self);
	if (rc)
		return rc;
	subject->platform = sp_render_platform(&subject->provider);
	if (!workspace)
		workspace = registry->fake.workspace_id;
	if (cli_control_url(registry) && workspace && !registry->options.no_control)
		rc = sp_control_open(cli_control_url(registry), cli_control_token(registry),
				     workspace, &subject->control, err);
	return rc;
}

/* Puts what was asked before the words of an error. */
static int explain(const struct cli_registry *registry, int rc, struct sp_error *err)
{
	char words[SP_ERROR_TEXT];

	if (!rc || !err)
		return rc;
	snprintf(words, sizeof(words), "%.350s%s%.100s", err->message, *err->detail ? ": " : "",
		 err->detail);
	return sp_error_set(err, (enum sp_code)rc, "provider %s: %s", registry->options.provider,
			    words);
}

int cli_check_render(struct cli_registry *registry, struct sp_error *err)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_cancel *limit = sp_cancel_new();
	struct sp_provider provider = { NULL, NULL };
	char *private_dir SP_FREE = NULL;
	char *workspace SP_FREE = NULL;
	int rc = limit ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");

	/* With control a workspace of its own, so that control is asked as well. */
	if (!rc)
		rc = cli_registry_workspace(registry, 0, &workspace, err);
	if (!rc)
		rc = render_options(registry, workspace, &options, &private_dir, err);
	if (!rc)
		rc = sp_render_open(&options, &provider, err);
	if (!rc) {
		sp_cancel_set_deadline(limit, sp_deadline_ms(CHECK_LIMIT_MS));
		rc = sp_render_check(&provider, limit, err);
		provider.ops->close(provider.self);
	}
	sp_cancel_unref(limit);
	return explain(registry, rc, err);
}

static int open_local(struct cli_registry *registry, struct sp_subject *subject,
		      struct sp_error *err)
{
	const struct cli_settings *set = &registry->options.settings;
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;

	options.poll_only = registry->spec.scheme == CLI_LOCAL_POLL;
	options.bare = registry->spec.target != NULL;
	options.kill_grace_ms = set->has_kill_grace ? set->kill_grace_ms : own_grace();
	options.unread_bound = set->unread_bound ? set->unread_bound : OWN_UNREAD_BOUND;
	options.output_cap = set->output_cap;
	return sp_local_open(&options, &subject->provider, err);
}

static int open_driver(struct cli_registry *registry, const char *workspace,
		       struct sp_subject *subject, struct sp_error *err)
{
	struct sp_driver *driver;
	int rc = cli_driver_of(registry, registry->options.provider, workspace, subject, &driver,
			       err);

	return rc ? rc : sp_driver_provider(driver, &subject->provider, err);
}

static int open_scheme(struct cli_registry *registry, const char *workspace,
		       struct sp_subject *subject, struct sp_error *err)
{
	switch (registry->spec.scheme) {
	case CLI_BASH:
	case CLI_RENDER:
		return open_render(registry, workspace, subject, err);
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
		return open_local(registry, subject, err);
	case CLI_PLUGIN:
		return sp_plugin_open(SP_SUBJECT_PROVIDER, registry->spec.target,
				      registry->spec.config, subject, err);
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
		return open_driver(registry, workspace, subject, err);
	case CLI_MEMORY:
	case CLI_SQLITE:
	case CLI_POSTGRES:
	case CLI_OURS:
		break;
	}
	return cli_spec_check(SP_SUBJECT_PROVIDER, registry->options.provider, err);
}

int cli_open_provider(struct cli_registry *registry, const char *workspace,
		      struct sp_subject *subject, struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = open_scheme(registry, workspace, subject, err);

	if (!rc && fault && fault->seam == SP_FAULT_PROVIDER)
		rc = fault->wrap_provider(&subject->provider, err);
	if (!rc && fault && fault->seam == SP_FAULT_PLATFORM && subject->platform.ops)
		rc = fault->wrap_platform(&subject->platform, err);
	return rc;
}
