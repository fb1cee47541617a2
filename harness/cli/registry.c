/* SPDX-License-Identifier: MIT */
#include <cli/registry.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/core_file.h>
#include <control/control.h>
#include <fakes/faulty/faulty.h>
#include <fakes/render-api/faults.h>
#include <fakes/render-api/server.h>
#include <providers/plugin/plugin.h>
#include <providers/render/meter.h>
#include <runner/runner.h>
#include <suites/caps/caps.h>
#include <suites/ensure/ensure.h>
#include <suites/env/env.h>
#include <suites/exec/exec.h>
#include <suites/fs/fs.h>
#include <suites/journal/journal.h>
#include <suites/kill/kill.h>
#include <suites/lifecycle/lifecycle.h>
#include <suites/lock/lock.h>
#include <suites/network/network.h>
#include <suites/platform/platform.h>
#include <suites/snapshot/snapshot.h>
#include <suites/store/store.h>

#include "registry_impl.h"

/* ---- What there is ---- */

/* One a line: everybody adds here. */
static const struct sp_suite *const own_suites[] = {
	&sp_suite_platform,
	&sp_suite_kill,
	&sp_suite_exec,
	&sp_suite_lifecycle,
	&sp_suite_fs,
	&sp_suite_env,
	&sp_suite_snapshot,
	&sp_suite_network,
	&sp_suite_caps,
	&sp_suite_journal,
	&sp_suite_store,
	&sp_suite_lock,
	&sp_suite_ensure,
};

/* Ours, then those of --suite-plugin, with the file of each; empty until there is one of them. */
static struct {
	const struct sp_suite **suites;
	const char **files;
	size_t len;
} all;

const struct sp_suite *const *cli_suites(size_t *ret_len)
{
	*ret_len = all.len ? all.len : SP_COUNT(own_suites);
	return all.len ? all.suites : own_suites;
}

const char *cli_suite_file(const struct sp_suite *suite)
{
	for (size_t i = 0; i < all.len; i++)
		if (all.suites[i] == suite)
			return all.files[i];
	return NULL;
}

static int add_suite(const struct sp_suite *suite, const char *file)
{
	const struct sp_suite **suites = reallocarray(all.suites, all.len + 1, sizeof(*suites));
	const char **files;

	if (!suites)
		return SP_INTERNAL;
	all.suites = suites;
	files = reallocarray(all.files, all.len + 1, sizeof(*files));
	if (!files)
		return SP_INTERNAL;
	all.files = files;
	all.suites[all.len] = suite;
	all.files[all.len++] = file;
	return 0;
}

void cli_suites_reset(void)
{
	free(all.suites);
	free(all.files);
	memset(&all, 0, sizeof(all));
}

int cli_suites_add(const char *file, struct sp_error *err)
{
	struct sp_error why = SP_ERROR_INIT;
	const struct sp_plugin *plugin;
	int rc = sp_plugin_probe(file, SP_PLUGIN_SUITES, err);

	if (!rc)
		rc = sp_plugin_load(file, SP_PLUGIN_SUITES, &plugin, err);
	if (rc)
		return rc;
	for (size_t i = 0; !rc && !all.len && i < SP_COUNT(own_suites); i++)
		rc = add_suite(own_suites[i], NULL);
	for (size_t i = 0; !rc && plugin->suites[i]; i++)
		rc = add_suite(plugin->suites[i], file);
	if (rc)
		return sp_error_set(err, SP_INTERNAL, "no memory for the suites of %s", file);
	if (sp_suites_check(all.suites, all.len, &why))
		return sp_error_set(err, SP_PROTOCOL, "the suites of %s cannot be used: %s", file,
				    why.message);
	return 0;
}

bool cli_spec_offers(enum sp_subject_kind kind, const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	/* Whatever else is wrong with a file is told when it is opened. */
	return cli_spec_parse(kind, text, &spec, NULL) || spec.scheme != CLI_PLUGIN ||
	       sp_plugin_probe(spec.target, 0, NULL) ||
	       !sp_plugin_probe(spec.target, 1u << kind, NULL);
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
	case SP_FAULT_JOURNAL:
		return "journal";
	case SP_FAULT_ENSURE:
		return "ensure";
	case SP_FAULT_PLATFORM:
		return "platform";
	}
	return "unknown";
}

bool cli_fault_is_contract(const struct sp_fault *fault)
{
	return fault->seam != SP_FAULT_RENDER_STEP && fault->seam != SP_FAULT_TRANSPORT &&
	       fault->seam != SP_FAULT_PLATFORM;
}

/* What stands in for a scheme that is not built yet, for this kind; NULL: it is built. */
static const char *instead_of(enum sp_subject_kind kind, enum cli_scheme scheme)
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
		if (kind == SP_SUBJECT_ENSURE || kind == SP_SUBJECT_PLATFORM)
			return "the driver protocol has no such kind (PROTOCOL.md says why); put "
			       "its provider and store behind the driver";
		return NULL;
	case CLI_PLUGIN:
		return NULL;
	case CLI_MEMORY:
	case CLI_SQLITE:
	case CLI_POSTGRES:
		return cli_store_lacks(scheme);
	case CLI_OURS:
		return kind == SP_SUBJECT_JOURNAL ? cli_journal_lacks() : cli_ensure_lacks();
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
	instead = instead_of(kind, spec.scheme);
	return instead ? sp_error_set(err, SP_UNSUPPORTED, "%s %.*s is not built yet; %s",
				      sp_subject_kind_name(kind), (int)strcspn(text, ":"), text,
				      instead) :
			 0;
}

const char *cli_spec_default(enum sp_subject_kind kind)
{
	/* By kind, the best first: a program without SQLite still has a store. */
	static const struct {
		enum sp_subject_kind kind;
		const char *spec;
	} defaults[] = {
		{ SP_SUBJECT_PROVIDER, "bash" },  { SP_SUBJECT_STORE, "sqlite" },
		{ SP_SUBJECT_STORE, "memory" },   { SP_SUBJECT_JOURNAL, "ours" },
		{ SP_SUBJECT_ENSURE, "ours" },
	};

	for (size_t i = 0; i < SP_COUNT(defaults); i++)
		if (defaults[i].kind == kind && !cli_spec_check(kind, defaults[i].spec, NULL))
			return defaults[i].spec;
	return NULL;
}

static bool is_scheme(enum sp_subject_kind kind, const char *text, bool attached)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	if (cli_spec_parse(kind, text, &spec, NULL))
		return false;
	return spec.scheme == CLI_DRIVER_UNIX || spec.scheme == CLI_DRIVER_TCP ||
	       (!attached && spec.scheme == CLI_DRIVER);
}

bool cli_spec_is_driver(enum sp_subject_kind kind, const char *text)
{
	return is_scheme(kind, text, false);
}

bool cli_spec_is_attached(enum sp_subject_kind kind, const char *text)
{
	return is_scheme(kind, text, true);
}

bool cli_spec_is_live(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, NULL) &&
	       spec.scheme == CLI_RENDER &&
	       (!spec.target || !strncmp(spec.target, "https://", 8));
}

bool cli_spec_outlives(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, NULL) && spec.scheme == CLI_RENDER;
}

bool cli_spec_is_render(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, NULL) &&
	       (spec.scheme == CLI_RENDER || spec.scheme == CLI_BASH);
}

/* ---- A run's back ends ---- */

struct cli_registry *cli_registry_new(const struct cli_registry_options *options)
{
	struct cli_registry *registry = calloc(1, sizeof(*registry));

	if (!registry)
		return NULL;
	registry->options = *options;
	registry->meter = sp_meter_new();
	if (registry->meter) {
		registry->meter->max_requests = options->max_requests;
		registry->meter->max_sandboxes = options->max_sandboxes;
	}
	registry->fake = (struct cli_fake)CLI_FAKE_INIT;
	registry->spec = (struct cli_spec)CLI_SPEC_INIT;
	if (options->provider &&
	    cli_spec_parse(SP_SUBJECT_PROVIDER, options->provider, &registry->spec, NULL)) {
		sp_meter_free(registry->meter);
		free(registry);
		return NULL;
	}
	/* Workers as well: the key is in the environment of all of them. */
	if (registry->spec.scheme == CLI_RENDER)
		sp_no_core_file();
	return registry;
}

struct cli_registry *cli_registry_free(struct cli_registry *registry)
{
	if (!registry)
		return NULL;
	cli_registry_finish(registry);
	cli_spec_done(&registry->spec);
	sp_meter_free(registry->meter);
	free(registry);
	return NULL;
}

struct cli_usage cli_registry_usage(const struct cli_registry *registry)
{
	struct sp_meter *meter = registry->meter;
	struct cli_usage usage = { .used_up = false };

	if (!meter)
		return usage;
	usage.sandboxes = atomic_load(&meter->sandboxes);
	usage.requests = atomic_load(&meter->requests);
	usage.refused = atomic_load(&meter->refused);
	usage.paced = atomic_load(&meter->paced);
	usage.used_up = sp_meter_used_up(meter);
	return usage;
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
	if (!cli_control_url(registry))
		return 0;
	rc = sp_control_new_workspace(cli_control_url(registry), cli_control_token(registry), &id,
				      &key, err);
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

pid_t cli_registry_backend_pid(void *arg)
{
	return ((struct cli_registry *)arg)->fake.child.pid;
}

void cli_registry_backend_ended(void *arg, struct sp_error *err)
{
	cli_fake_ended(&((struct cli_registry *)arg)->fake, err);
}

int cli_registry_backend_answers(void *arg, struct sp_error *err)
{
	return cli_fake_answers(&((struct cli_registry *)arg)->fake, err);
}

uint64_t cli_registry_commands(void *arg)
{
	struct cli_registry *registry = arg;
	struct sp_control control = SP_CONTROL_INIT;
	struct sp_census census = SP_CENSUS_INIT;
	uint64_t commands = 0;

	if (!registry->fake.control_url || registry->fake.hung ||
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

	if (!cli_control_url(registry) || cli_spec_is_live(registry->options.provider))
		return false;
	if (!workspace && cli_registry_workspace(registry, 0, &made, NULL))
		return false;
	if (sp_control_open(cli_control_url(registry), cli_control_token(registry),
			    workspace ? workspace : made, &control, NULL))
		return false;
	isolated = census_isolated(&control);
	control.ops->close(control.self);
	return isolated;
}

/* A file that cannot be loaded is told once, before anything starts. */
static int probe_plugins(struct cli_registry *registry, struct sp_error *err)
{
	const struct cli_registry_options *o = &registry->options;
	const char *const named[SP_SUBJECT_KIND_MAX_] = {
		[SP_SUBJECT_PROVIDER] = o->provider, [SP_SUBJECT_STORE] = o->store,
		[SP_SUBJECT_LOCK] = o->lock,	     [SP_SUBJECT_JOURNAL] = o->journal,
		[SP_SUBJECT_ENSURE] = o->ensure,
	};

	for (unsigned kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++) {
		struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
		int rc = named[kind] ? cli_spec_parse(kind, named[kind], &spec, err) : 0;

		if (!rc && spec.scheme == CLI_PLUGIN)
			rc = sp_plugin_probe(spec.target, 1u << kind, err);
		if (rc)
			return rc;
	}
	registry->lock_apart = o->store && !o->lock && !cli_spec_offers(SP_SUBJECT_LOCK, o->store);
	return 0;
}

int cli_registry_prepare(void *arg, struct sp_error *err)
{
	struct cli_registry *registry = arg;
	const struct sp_fault *fault = registry->options.fault;
	int rc = 0;

	if (registry->prepared)
		return 0;
	rc = probe_plugins(registry, err);
	if (rc)
		return rc;
	if (registry->options.provider && registry->spec.scheme == CLI_BASH)
		rc = registry->options.shared_folder ?
			     cli_fake_share(&registry->fake, registry->options.shared_folder, err) :
			     cli_fake_start(&registry->fake, NULL, err);
	else if (registry->options.provider && registry->spec.scheme == CLI_RENDER)
		rc = cli_check_render(registry, err);
	registry->prepared = !rc;
	registry->isolated = !rc && fault && fault->reaches_outside && ask_isolated(registry);
	return rc;
}

bool cli_registry_permits(const struct cli_registry *registry)
{
	const struct sp_fault *fault = registry->options.fault;

	return !fault || !fault->reaches_outside || registry->isolated;
}

void cli_registry_dump(void *arg)
{
	(void)arg;
	sp_plugin_finish();
}

/* ---- Opening ---- */

/* SPEC of a kind in this run, or NULL. A lock that is not named is the store's own. */
static const char *spec_of(const struct cli_registry *registry, enum sp_subject_kind kind)
{
	const struct cli_registry_options *o = &registry->options;

	switch (kind) {
	case SP_SUBJECT_PROVIDER:
	case SP_SUBJECT_PLATFORM:
		return o->provider;
	case SP_SUBJECT_STORE:
		return o->store;
	case SP_SUBJECT_LOCK:
		return o->lock ? o->lock : registry->lock_apart ? "memory" : o->store;
	case SP_SUBJECT_JOURNAL:
		return o->journal ? o->journal : cli_spec_default(kind);
	case SP_SUBJECT_ENSURE:
		return o->ensure ? o->ensure : cli_spec_default(kind);
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
	return NULL;
}

static int need_spec(const struct cli_registry *registry, enum sp_subject_kind kind,
		     struct sp_error *err)
{
	const char *spec = spec_of(registry, kind);

	return spec ? 0 :
		      sp_error_set(err, SP_UNSUPPORTED, "this run has no %s; name one with --%s",
				   sp_subject_kind_name(kind), sp_subject_kind_name(kind));
}

/* The parts of a subject that stands on others, from the ground up. */
static int open_parts(struct cli_registry *registry, enum sp_subject_kind kind, const char *spec,
		      const char *workspace, struct sp_subject *subject, struct sp_error *err)
{
	bool ensure = kind == SP_SUBJECT_ENSURE;
	bool provider = ensure || kind == SP_SUBJECT_PROVIDER || kind == SP_SUBJECT_PLATFORM ||
			kind == SP_SUBJECT_JOURNAL;
	int rc = 0;

	if (provider)
		rc = need_spec(registry, SP_SUBJECT_PROVIDER, err);
	if (!rc && provider)
		rc = cli_open_provider(registry, workspace, subject, err);
	if (!rc && ensure)
		rc = need_spec(registry, SP_SUBJECT_STORE, err);
	if (!rc && (ensure || kind == SP_SUBJECT_STORE))
		rc = cli_open_store(registry, spec_of(registry, SP_SUBJECT_STORE), subject, err);
	if (!rc && (ensure || kind == SP_SUBJECT_LOCK))
		rc = cli_open_lock(registry, spec_of(registry, SP_SUBJECT_LOCK), subject, err);
	if (!rc && kind == SP_SUBJECT_JOURNAL)
		rc = cli_open_journal(registry, spec, subject, err);
	if (!rc && ensure)
		rc = cli_open_ensure(registry, spec, subject, err);
	return rc;
}

int cli_registry_open(void *arg, enum sp_subject_kind kind, const char *spec, const char *workspace,
		      struct sp_subject *ret_subject, struct sp_error *err)
{
	struct cli_registry *registry = arg;
	const char *own = spec_of(registry, kind);
	struct sp_subject subject = SP_SUBJECT_INIT;
	int rc = cli_spec_check(kind, spec, err);

	if (rc)
		return rc;
	if (!own || strcmp(spec, own))
		return sp_error_set(err, SP_UNSUPPORTED, "this run has no %s \"%s\"",
				    sp_subject_kind_name(kind), spec);
	if (!cli_registry_permits(registry))
		return sp_error_set(
			err, SP_UNSUPPORTED,
			"the fault %s can reach outside its sandbox and runs only where "
			"sandboxes have pid and mount namespaces of their own",
			registry->options.fault->id);
	subject.kind = kind;
	rc = open_parts(registry, kind, spec, workspace, &subject, err);
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

bool cli_fake_has_fault(const char *name)
{
	return api_fault_from_name(name) >= 0;
}

void cli_fake_list_faults(struct sp_buf *out)
{
	api_faults_list(out);
}
