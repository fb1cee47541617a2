/* SPDX-License-Identifier: MIT */
/* Opens what a plugin offers, and looks at what it gave before anybody calls it. */
#include "plugin.h"

#include <stddef.h>

static int unusable(const char *path, enum sp_subject_kind kind, const char *why,
		    struct sp_error *err)
{
	return sp_error_set(err, SP_PROTOCOL, "the plugin %s opened a %s that cannot be used: %s",
			    path, sp_subject_kind_name(kind), why);
}

/* A table that is there, of our version, with what nobody can do without. */
static int check_table(const char *path, enum sp_subject_kind kind, const unsigned *version,
		       unsigned known, struct sp_error *err)
{
	if (!version)
		return unusable(path, kind, "it answered 0 and left no table", err);
	if (*version == known)
		return 0;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "the plugin %s opened a %s whose table has version %u, and this "
			    "program knows version %u: build both from the same headers",
			    path, sp_subject_kind_name(kind), *version, known);
}

static int check_declaration(const char *path, enum sp_subject_kind kind, const unsigned *version,
			     unsigned known, struct sp_error *err)
{
	if (version && *version == known)
		return 0;
	return unusable(path, kind,
			version ? "its capabilities have a version that this program does not know"
				: "its capabilities are NULL",
			err);
}

#define VERSION_OF(pointer) ((pointer) ? &(pointer)->version : NULL)

static int check_provider(const char *path, struct sp_provider *provider, struct sp_error *err)
{
	const struct sp_provider_ops *ops = provider->ops;
	int rc = check_table(path, SP_SUBJECT_PROVIDER, VERSION_OF(ops), SP_PROVIDER_VERSION, err);

	if (rc)
		return rc;
	if (!ops->name || !ops->capabilities || !ops->close)
		return unusable(path, SP_SUBJECT_PROVIDER,
				"its table lacks name, capabilities or close", err);
	return check_declaration(path, SP_SUBJECT_PROVIDER,
				 VERSION_OF(ops->capabilities(provider->self)),
				 SP_CAPABILITIES_VERSION, err);
}

static int check_store(const char *path, struct sp_store *store, struct sp_error *err)
{
	const struct sp_store_ops *ops = store->ops;
	int rc = check_table(path, SP_SUBJECT_STORE, VERSION_OF(ops), SP_STORE_VERSION, err);

	if (rc)
		return rc;
	if (!ops->capabilities || !ops->close)
		return unusable(path, SP_SUBJECT_STORE, "its table lacks capabilities or close",
				err);
	return check_declaration(path, SP_SUBJECT_STORE, VERSION_OF(ops->capabilities(store->self)),
				 SP_STORE_CAPABILITIES_VERSION, err);
}

static int check_lock(const char *path, struct sp_lock *lock, struct sp_error *err)
{
	const struct sp_lock_ops *ops = lock->ops;
	int rc = check_table(path, SP_SUBJECT_LOCK, VERSION_OF(ops), SP_LOCK_VERSION, err);

	if (rc)
		return rc;
	if (!ops->capabilities || !ops->close)
		return unusable(path, SP_SUBJECT_LOCK, "its table lacks capabilities or close",
				err);
	return check_declaration(path, SP_SUBJECT_LOCK, VERSION_OF(ops->capabilities(lock->self)),
				 SP_LOCK_CAPABILITIES_VERSION, err);
}

static int check(const char *path, enum sp_subject_kind kind, struct sp_subject *opened,
		 struct sp_error *err)
{
	switch (kind) {
	case SP_SUBJECT_PROVIDER:
		return check_provider(path, &opened->provider, err);
	case SP_SUBJECT_STORE:
		return check_store(path, &opened->store, err);
	case SP_SUBJECT_LOCK:
		return check_lock(path, &opened->lock, err);
	case SP_SUBJECT_JOURNAL:
		return check_table(path, kind, VERSION_OF(opened->journal.ops), SP_JOURNAL_VERSION,
				   err);
	case SP_SUBJECT_ENSURE:
		return check_table(path, kind, VERSION_OF(opened->ensure.ops), SP_ENSURE_VERSION,
				   err);
	case SP_SUBJECT_PLATFORM:
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
	return 0;
}

static int call_open(const struct sp_plugin *plugin, enum sp_subject_kind kind, const char *config,
		     const struct sp_subject *under, struct sp_subject *opened,
		     struct sp_error *err)
{
	struct sp_provider provider = under->provider;

	switch (kind) {
	case SP_SUBJECT_PROVIDER:
		return plugin->open_provider(config, &opened->provider, err);
	case SP_SUBJECT_STORE:
		return plugin->open_store(config, &opened->store, err);
	case SP_SUBJECT_LOCK:
		return plugin->open_lock(config, &opened->lock, err);
	case SP_SUBJECT_JOURNAL:
		return plugin->open_journal(config, sp_provider_capabilities(&provider),
					    &opened->journal, err);
	case SP_SUBJECT_ENSURE:
		return plugin->open_ensure(config, &opened->ensure, err);
	case SP_SUBJECT_PLATFORM:
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
	return sp_error_set(err, SP_UNSUPPORTED, "no plugin offers a %s",
			    sp_subject_kind_name(kind));
}

/* An answer that is no code, or says nothing, is told as what it is. */
static int check_answer(const char *path, int rc, struct sp_error *err)
{
	if (rc > 0)
		return sp_error_set(err, SP_PROTOCOL,
				    "the plugin %s answered %d to opening, which is neither 0 nor "
				    "a negative sp_code",
				    path, rc);
	if (rc && err && !err->code)
		return sp_error_set(err, (enum sp_code)rc,
				    "the plugin %s could not open and did not say why", path);
	return rc;
}

static void take_over(enum sp_subject_kind kind, struct sp_subject *opened,
		      struct sp_subject *subject)
{
	switch (kind) {
	case SP_SUBJECT_PROVIDER:
		subject->provider = opened->provider;
		break;
	case SP_SUBJECT_STORE:
		subject->store = opened->store;
		break;
	case SP_SUBJECT_LOCK:
		subject->lock = opened->lock;
		break;
	case SP_SUBJECT_JOURNAL:
		subject->journal = opened->journal;
		break;
	case SP_SUBJECT_ENSURE:
		subject->ensure = opened->ensure;
		break;
	case SP_SUBJECT_PLATFORM:
	case SP_SUBJECT_KIND_MAX_:
		break;
	}
}

int sp_plugin_open(enum sp_subject_kind kind, const char *path, const char *config,
		   struct sp_subject *subject, struct sp_error *err)
{
	struct sp_subject opened = SP_SUBJECT_INIT;
	const struct sp_plugin *plugin;
	int rc = sp_plugin_load(path, 1u << kind, &plugin, err);

	if (rc)
		return rc;
	rc = check_answer(path, call_open(plugin, kind, config, subject, &opened, err), err);
	if (rc)
		return rc;
	rc = check(path, kind, &opened, err);
	if (rc)
		sp_subject_done(&opened);
	else
		take_over(kind, &opened, subject);
	return rc;
}
