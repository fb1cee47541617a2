/* SPDX-License-Identifier: MIT */
#include <cli/registry.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <cli/fake.h>
#include <cli/spec.h>
#include <control/control.h>
#include <fakes/faulty/faulty.h>
#include <fakes/render-api/server.h>
#include <providers/local/local.h>
#include <providers/render/http/http.h>
#include <providers/render/render.h>
#include <suites/exec/exec.h>
#include <suites/kill/kill.h>

/*
 * Against our own references a grace has to be long enough to be seen, no longer: cases prove the
 * order, never the length.
 */
#define OWN_GRACE_MS 50
/* A sandbox of the fake is there within a few milliseconds. */
#define OWN_POLL_MS 2

/* ---- What there is ---- */

static const struct sp_suite *const suites[] = { &sp_suite_kill, &sp_suite_exec };

static const char *const planned_suites[] = {
	"store", "lock", "ensure", "journal", "env", "snapshot", "fs", "lifecycle", "network",
	"caps", "platform",
};

const struct sp_suite *const *cli_suites(size_t *ret_len)
{
	*ret_len = SP_COUNT(suites);
	return suites;
}

const char *cli_suite_planned(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(planned_suites); i++)
		if (!strcmp(planned_suites[i], name))
			return planned_suites[i];
	return NULL;
}

const struct sp_fault *const *cli_faults(size_t *ret_len)
{
	return sp_faults(ret_len);
}

const struct sp_fault *cli_fault_find(const char *id)
{
	return sp_fault_find(id);
}

const char *cli_fault_seam_name(enum sp_fault_seam seam)
{
	switch (seam) {
	case SP_FAULT_RENDER_STEP:
		return "render-step";
	case SP_FAULT_TRANSPORT:
		return "transport";
	case SP_FAULT_PROVIDER:
		return "provider";
	case SP_FAULT_STORE:
		return "store";
	case SP_FAULT_LOCK:
		return "lock";
	case SP_FAULT_JOURNAL_STEP:
		return "journal-step";
	}
	return "unknown";
}

bool cli_fault_is_contract(const struct sp_fault *fault)
{
	return fault->seam != SP_FAULT_RENDER_STEP && fault->seam != SP_FAULT_TRANSPORT;
}

/* What stands in for a scheme that is not built yet; NULL: it is built. */
static const char *instead_of(enum cli_scheme scheme)
{
	switch (scheme) {
	case CLI_BASH:
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
	case CLI_RENDER:
		return NULL;
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
		return "a client of Render's API in any language can be tried against `sandproof "
		       "fake-api` meanwhile";
	case CLI_PLUGIN:
		return "a provider in C can be added to harness/cli/registry.c meanwhile";
	case CLI_MEMORY:
	case CLI_SQLITE:
	case CLI_POSTGRES:
		return "no suite needs a store or lock yet";
	}
	return NULL;
}

int cli_spec_check(enum sp_subject_kind kind, const char *text, struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	const char *instead;
	int rc = cli_spec_parse(kind, text, &spec, err);

	if (rc)
		return rc;
	instead = instead_of(spec.scheme);
	return instead ? sp_error_set(err, SP_UNSUPPORTED, "%s %.*s is not built yet; %s",
				      sp_subject_kind_name(kind), (int)strcspn(text, ":"), text,
				      instead) :
			 0;
}

const char *cli_spec_default(enum sp_subject_kind kind)
{
	static const char *const defaults[SP_SUBJECT_KIND_MAX_] = {
		[SP_SUBJECT_PROVIDER] = "bash",
		[SP_SUBJECT_STORE] = "sqlite",
	};
	const char *spec = defaults[kind];

	return spec && !cli_spec_check(kind, spec, NULL) ? spec : NULL;
}

bool cli_spec_is_live(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, NULL) &&
	       spec.scheme == CLI_RENDER &&
	       (!spec.target || !strncmp(spec.target, "https://", 8));
}

bool cli_spec_is_render(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, NULL) &&
	       (spec.scheme == CLI_RENDER || spec.scheme == CLI_BASH);
}

/* ---- A run's back ends ---- */

/* A workspace that was made for one worker, with its key. */
struct workspace {
	char *id;
	char *api_key;
};

struct cli_registry {
	struct cli_registry_options options;
	struct cli_spec spec;
	bool prepared;
	/* Every sandbox has namespaces of its own: asked once, when a fault depends on it. */
	bool isolated;
	/* For bash only. */
	struct cli_fake fake;
	/* Made in the supervisor; workers inherit the table. */
	struct workspace *workspaces;
	size_t n_workspaces;
};

struct cli_registry *cli_registry_new(const struct cli_registry_options *options)
{
	struct cli_registry *registry = calloc(1, sizeof(*registry));

	if (!registry)
		return NULL;
	registry->options = *options;
	registry->fake = (struct cli_fake)CLI_FAKE_INIT;
	registry->spec = (struct cli_spec)CLI_SPEC_INIT;
	if (options->provider &&
	    cli_spec_parse(SP_SUBJECT_PROVIDER, options->provider, &registry->spec, NULL)) {
		free(registry);
		return NULL;
	}
	return registry;
}

struct cli_registry *cli_registry_free(struct cli_registry *registry)
{
	if (!registry)
		return NULL;
	cli_registry_finish(registry);
	cli_spec_done(&registry->spec);
	free(registry);
	return NULL;
}

static const char *control_url(const struct cli_registry *registry)
{
	return registry->options.control_url ? registry->options.control_url :
					       registry->fake.control_url;
}

static const char *control_token(const struct cli_registry *registry)
{
	return registry->options.control_url ? registry->options.control_token :
					       registry->fake.control_token;
}

static bool has_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

int cli_registry_credentials(const struct cli_registry *registry, struct sp_error *err)
{
	bool key = has_variable("RENDER_API_KEY"), workspace = has_variable("RENDER_WORKSPACE_ID");

	/* With control each worker gets a workspace and a key of its own. */
	if (registry->spec.scheme != CLI_RENDER || registry->options.control_url)
		return 0;
	if (key && workspace)
		return 0;
	if (!key && !workspace)
		return sp_error_set(err, SP_DENIED,
				    "RENDER_API_KEY and RENDER_WORKSPACE_ID are not set");
	return sp_error_set(err, SP_DENIED, "%s is set but %s is not",
			    key ? "RENDER_API_KEY" : "RENDER_WORKSPACE_ID",
			    key ? "RENDER_WORKSPACE_ID" : "RENDER_API_KEY");
}

void cli_registry_finish(void *arg)
{
	struct cli_registry *registry = arg;

	for (size_t i = 0; i < registry->n_workspaces; i++) {
		free(registry->workspaces[i].id);
		free(registry->workspaces[i].api_key);
	}
	free(registry->workspaces);
	registry->workspaces = NULL;
	registry->n_workspaces = 0;
	cli_fake_stop(&registry->fake);
	registry->prepared = false;
}

int cli_registry_workspace(void *arg, int worker, char **ret_workspace, struct sp_error *err)
{
	struct cli_registry *registry = arg;
	char *id SP_FREE = NULL, *key SP_FREE = NULL, *name SP_FREE = NULL;
	struct workspace *grown;
	int rc;

	(void)worker;
	*ret_workspace = NULL;
	if (!control_url(registry))
		return 0;
	rc = sp_control_new_workspace(control_url(registry), control_token(registry), &id, &key,
				      err);
	if (rc)
		return rc;
	name = strdup(id);
	grown = reallocarray(registry->workspaces, registry->n_workspaces + 1, sizeof(*grown));
	if (grown)
		registry->workspaces = grown;
	if (!name || !grown)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	grown[registry->n_workspaces++] = (struct workspace){ SP_TAKE(id), SP_TAKE(key) };
	*ret_workspace = SP_TAKE(name);
	return 0;
}

uint64_t cli_registry_commands(void *arg)
{
	struct cli_registry *registry = arg;
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_census census = SP_CENSUS_INIT;
	uint64_t commands = 0;

	if (!registry->fake.control_url ||
	    sp_control_open(registry->fake.control_url, registry->fake.control_token,
			    registry->fake.workspace_id, &control, NULL))
		return 0;
	if (!control.ops->census(control.self, &census, NULL))
		commands = census.commands_total;
	sp_census_done(&census);
	control.ops->close(control.self);
	return commands;
}

/* Asks the back end; "isolation" among what it cannot hold is plain mode. */
static bool census_isolated(struct sp_control *control)
{
	struct sp_census census = SP_CENSUS_INIT;
	bool isolated = !control->ops->census(control->self, &census, NULL);

	for (size_t i = 0; i < census.n_cannot_hold; i++)
		isolated = isolated && strcmp(census.cannot_hold[i], "isolation");
	sp_census_done(&census);
	return isolated;
}

static bool ask_isolated(struct cli_registry *registry)
{
	struct sp_control control = SP_CONTROL_INIT;
	char *made SP_FREE = NULL;
	const char *workspace = registry->fake.workspace_id;
	bool isolated;

	if (!control_url(registry) || cli_spec_is_live(registry->options.provider))
		return false;
	if (!workspace && cli_registry_workspace(registry, 0, &made, NULL))
		return false;
	if (sp_control_open(control_url(registry), control_token(registry),
			    workspace ? workspace : made, &control, NULL))
		return false;
	isolated = census_isolated(&control);
	control.ops->close(control.self);
	return isolated;
}

int cli_registry_prepare(void *arg, struct sp_error *err)
{
	struct cli_registry *registry = arg;
	const struct sp_fault *fault = registry->options.fault;
	int rc = 0;

	if (registry->prepared)
		return 0;
	if (registry->options.provider && registry->spec.scheme == CLI_BASH)
		rc = cli_fake_start(&registry->fake, NULL, err);
	registry->prepared = !rc;
	registry->isolated = !rc && fault && fault->reaches_outside && ask_isolated(registry);
	return rc;
}

bool cli_registry_permits(const struct cli_registry *registry)
{
	const struct sp_fault *fault = registry->options.fault;

	return !fault || !fault->reaches_outside || registry->isolated;
}

/* ---- Opening ---- */

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
	options->kill_grace_ms = set->has_kill_grace ? set->kill_grace_ms :
				 own		     ? OWN_GRACE_MS :
						       UINT32_MAX;
	options->unread_bound = set->unread_bound;
	options->output_cap = set->output_cap;
	options->poll_ms = set->poll_ms ? set->poll_ms : own ? OWN_POLL_MS : 0;
	options->start_timeout_ms = set->start_timeout_ms;
	options->plan = set->plan;
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
	if (control_url(registry) && workspace)
		rc = sp_control_open(control_url(registry), control_token(registry), workspace,
				     &subject->control, err);
	return rc;
}

static int open_local(struct cli_registry *registry, struct sp_subject *subject,
		      struct sp_error *err)
{
	const struct cli_settings *set = &registry->options.settings;
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;

	options.poll_only = registry->spec.scheme == CLI_LOCAL_POLL;
	options.kill_grace_ms = set->has_kill_grace ? set->kill_grace_ms : OWN_GRACE_MS;
	options.unread_bound = set->unread_bound;
	options.output_cap = set->output_cap;
	return sp_local_open(&options, &subject->provider, err);
}

static int open_provider(struct cli_registry *registry, const char *workspace,
			 struct sp_subject *subject, struct sp_error *err)
{
	switch (registry->spec.scheme) {
	case CLI_BASH:
	case CLI_RENDER:
		return open_render(registry, workspace, subject, err);
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
		return open_local(registry, subject, err);
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
	case CLI_PLUGIN:
	case CLI_MEMORY:
	case CLI_SQLITE:
	case CLI_POSTGRES:
		break;
	}
	return cli_spec_check(SP_SUBJECT_PROVIDER, registry->options.provider, err);
}

int cli_registry_open(void *arg, enum sp_subject_kind kind, const char *spec, const char *workspace,
		      struct sp_subject *ret_subject, struct sp_error *err)
{
	struct cli_registry *registry = arg;
	const struct sp_fault *fault = registry->options.fault;
	struct sp_subject subject = SP_SUBJECT_INIT;
	int rc = cli_spec_check(kind, spec, err);

	if (rc)
		return rc;
	if (!registry->options.provider || strcmp(spec, registry->options.provider) ||
	    (kind != SP_SUBJECT_PROVIDER && kind != SP_SUBJECT_PLATFORM))
		return sp_error_set(err, SP_UNSUPPORTED, "this run has no %s \"%s\"",
				    sp_subject_kind_name(kind), spec);
	if (!cli_registry_permits(registry))
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"the fault %s can reach outside its sandbox and runs only where "
			"sandboxes have pid and mount namespaces of their own",
			fault->id);
	subject.kind = kind;
	rc = open_provider(registry, workspace, &subject, err);
	if (!rc && fault && fault->seam == SP_FAULT_PROVIDER)
		rc = fault->wrap_provider(&subject.provider, err);
	if (rc) {
		sp_subject_done(&subject);
		return rc;
	}
	*ret_subject = subject;
	return 0;
}

/* ---- The fake API server ---- */

int cli_serve_fake(const struct cli_serve_options *options, struct sp_error *err)
{
	static const char *const eras[] = { "A", "B", "C" };
	static const enum fake_era values[] = { FAKE_ERA_A, FAKE_ERA_B, FAKE_ERA_C };
	struct fake_api_options api = {
		.listen = options->listen,
		.era = FAKE_ERA_C,
		.faults = options->faults,
		.n_faults = options->n_faults,
		.json = options->json,
		.die_with_parent = options->die_with_parent,
	};
	bool known = !options->era;

	for (size_t i = 0; options->era && i < SP_COUNT(eras); i++) {
		if (strcmp(options->era, eras[i]))
			continue;
		api.era = values[i];
		known = true;
	}
	if (!known)
		return sp_error_set(err, SP_INVALID, "--era takes A, B or C, not \"%s\"",
				    options->era);
	return fake_api_run(&api, err);
}
