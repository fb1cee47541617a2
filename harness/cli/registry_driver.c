/* SPDX-License-Identifier: MIT */
/* Drivers of this process: who shares which. */
#include "registry_impl.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <providers/driver/driver.h>

struct cli_driver {
	struct cli_driver *next;
	char *spec;
	struct sp_driver *driver;
	/* Subjects that use it, by kind, and how many. */
	unsigned kinds;
	size_t users;
	/*
	 * A subject that used it was closed: it keeps what that one left, so nobody else gets it.
	 */
	bool retired;
};

/* What one subject uses: its health. */
struct use {
	struct cli_registry *registry;
	/* Provider, store, lock and journal at most. */
	struct cli_driver *drivers[4];
	size_t len;
};

static void drop(struct cli_registry *registry, struct cli_driver *entry)
{
	struct cli_driver **at = &registry->drivers;

	entry->retired = true;
	if (--entry->users)
		return;
	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	sp_driver_unref(entry->driver);
	free(entry->spec);
	free(entry);
}

/* ---- Health ---- */

static int check(void *self, bool *ret_gone, struct sp_error *err)
{
	struct use *use = self;
	int rc = 0;

	*ret_gone = false;
	for (size_t i = 0; i < use->len; i++) {
		bool gone = false;

		if (rc)
			(void)sp_driver_check(use->drivers[i]->driver, &gone, NULL);
		else
			rc = sp_driver_check(use->drivers[i]->driver, &gone, err);
		*ret_gone = *ret_gone || gone;
	}
	return rc;
}

static bool stuck(void *self, struct sp_error *ret_why)
{
	struct use *use = self;

	for (size_t i = 0; i < use->len; i++)
		if (sp_driver_stuck(use->drivers[i]->driver, ret_why))
			return true;
	return false;
}

static void close_use(void *self)
{
	struct use *use = self;

	while (use->len)
		drop(use->registry, use->drivers[--use->len]);
	free(use);
}

static const struct sp_health_ops health_ops = {
    .version = SP_HEALTH_VERSION,
    .check = check,
    .stuck = stuck,
    .close = close_use,
};

/* The subject's use, made when there is none. */
static struct use *use_of(struct cli_registry *registry, struct sp_subject *subject)
{
	struct use *use = subject->health.self;

	if (use)
		return use;
	use = calloc(1, sizeof(*use));
	if (!use)
		return NULL;
	use->registry = registry;
	subject->health = (struct sp_health){&health_ops, use};
	return use;
}

/* ---- Opening ---- */

/* In the worker's own temporary folder, and gone with it. */
static int shared_folder(const struct cli_registry *registry, char **ret_path, struct sp_error *err)
{
	int rc;

	if (!registry->options.share_drivers)
		return 0;
	if (asprintf(ret_path, "%s/sandproof-shared", sp_tmp_root()) < 0) {
		*ret_path = NULL;
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	rc = sp_mkdirs(*ret_path, 0700);
	return rc ? sp_error_set_errno(err, -rc, "%s cannot be made", *ret_path) : 0;
}

/* What it said on standard error explains more than how it ended. */
static void add_last_words(struct sp_error *err)
{
	struct sp_error plain = *err;

	if (*plain.detail)
		sp_error_set(err, plain.code, "%s; its last words: %s", plain.message,
			     plain.detail);
}

void cli_driver_options(const struct cli_spec *spec, struct sp_driver_options *options)
{
	options->argv = (const char *const *)spec->words;
	options->unix_path = spec->scheme == CLI_DRIVER_UNIX ? spec->target : NULL;
	options->tcp = spec->scheme == CLI_DRIVER_TCP ? spec->target : NULL;
}

static struct cli_driver *start(struct cli_registry *registry, const char *text,
				const char *workspace, struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
	struct cli_driver *entry = NULL;
	char *folder SP_FREE = NULL;
	const char **names SP_FREE = calloc(registry->options.n_driver_env + 1, sizeof(*names));

	if (cli_spec_parse(SP_SUBJECT_PROVIDER, text, &spec, err) ||
	    shared_folder(registry, &folder, err))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry || !names || !(entry->spec = strdup(text))) {
		free(entry);
		sp_error_set(err, SP_INTERNAL, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < registry->options.n_driver_env; i++)
		names[i] = registry->options.driver_env[i];
	cli_driver_options(&spec, &options);
	options.env_names = names;
	options.workspace = workspace;
	options.shared_folder = folder;
	options.start_ms = registry->options.settings.start_timeout_ms;
	options.trace_path = registry->options.trace_path;
	if (!sp_driver_open(&options, &entry->driver, err)) {
		entry->next = registry->drivers;
		registry->drivers = entry;
		return entry;
	}
	if (err)
		add_last_words(err);
	free(entry->spec);
	free(entry);
	return NULL;
}

/* One that runs and that this kind of subject does not use yet. */
static struct cli_driver *find(struct cli_registry *registry, const char *spec, unsigned kind)
{
	struct cli_driver *at = registry->drivers;

	while (at && (at->retired || at->kinds & kind || strcmp(at->spec, spec)))
		at = at->next;
	return at;
}

int cli_driver_of(struct cli_registry *registry, const char *spec, const char *workspace,
		  struct sp_subject *subject, struct sp_driver **ret_driver, struct sp_error *err)
{
	struct use *use = use_of(registry, subject);
	struct cli_driver *entry;

	if (!use || use->len == SP_COUNT(use->drivers))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (size_t i = 0; i < use->len; i++) {
		if (strcmp(use->drivers[i]->spec, spec))
			continue;
		*ret_driver = use->drivers[i]->driver;
		return 0;
	}
	entry = find(registry, spec, 1u << subject->kind);
	if (!entry)
		entry = start(registry, spec, workspace, err);
	if (!entry)
		return err && err->code ? err->code : SP_INTERNAL;
	entry->kinds |= 1u << subject->kind;
	entry->users++;
	use->drivers[use->len++] = entry;
	*ret_driver = entry->driver;
	return 0;
}
