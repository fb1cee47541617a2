/* SPDX-License-Identifier: MIT */
/* From a file's name to its table of what it offers. */
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

#include "loaded.h"

/* What is loaded stays, and its entry point is called once. */
struct loaded {
	struct loaded *next;
	void *handle;
	const struct sp_plugin *plugin;
};

static struct loaded *all_loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A name alone would be looked for among the system's libraries. */
static int open_file(const char *path, void **ret_handle, struct sp_error *err)
{
	char *whole SP_FREE = realpath(path, NULL);

	if (!whole)
		return sp_error_set(err, SP_IO, "the plugin %s cannot be loaded: %s", path,
				    strerror(errno));
	*ret_handle = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
	if (*ret_handle)
		return 0;
	return sp_error_set(err, SP_IO,
			    "the plugin %s cannot be loaded: %.300s (it finds the functions of "
			    "sandproof/*.h here, and has to link whatever else it needs)",
			    path, dlerror());
}

static int call_entry(const char *path, void *handle, const struct sp_plugin **ret_plugin,
		      struct sp_error *err)
{
	void *symbol = dlsym(handle, SP_PLUGIN_ENTRY);
	sp_plugin_entry_fn entry;
	const struct sp_plugin *plugin;

	if (!symbol)
		return sp_error_set(
		    err, SP_UNSUPPORTED,
		    "%s is no plugin of sandproof: it exports no function " SP_PLUGIN_ENTRY
		    " (see sandproof/plugin.h)",
		    path);
	/* The one conversion that POSIX asks for and ISO C does not know. */
	memcpy(&entry, &symbol, sizeof(entry));
	plugin = entry(SP_PLUGIN_VERSION);
	if (!plugin)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the plugin %s does not work with version %u of the plugin "
				    "interface, which this program has",
				    path, SP_PLUGIN_VERSION);
	if (plugin->version != SP_PLUGIN_VERSION)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the plugin %s has version %u of the plugin interface, and "
				    "this program knows version %u: build both from the same "
				    "headers",
				    path, plugin->version, SP_PLUGIN_VERSION);
	*ret_plugin = plugin;
	return 0;
}

static const struct sp_plugin *find(const void *handle)
{
	for (const struct loaded *at = all_loaded; at; at = at->next)
		if (at->handle == handle)
			return at->plugin;
	return NULL;
}

void sp_plugin_each(void (*fn)(void *handle))
{
	for (const struct loaded *at = all_loaded; at; at = at->next)
		fn(at->handle);
}

/* Under the lock. */
static int load(const char *path, const struct sp_plugin **ret_plugin, struct sp_error *err)
{
	struct loaded *made;
	void *handle;
	int rc = open_file(path, &handle, err);

	if (rc)
		return rc;
	*ret_plugin = find(handle);
	if (*ret_plugin)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sp_error_set(err, SP_INTERNAL, "no memory for a plugin");
	rc = call_entry(path, handle, ret_plugin, err);
	if (rc) {
		free(made);
		return rc;
	}
	*made = (struct loaded){all_loaded, handle, *ret_plugin};
	all_loaded = made;
	return 0;
}

static bool offers(const struct sp_plugin *plugin, enum sp_subject_kind kind)
{
	switch (kind) {
	case SP_SUBJECT_PROVIDER:
		return plugin->open_provider;
	case SP_SUBJECT_STORE:
		return plugin->open_store;
	case SP_SUBJECT_LOCK:
		return plugin->open_lock;
	case SP_SUBJECT_JOURNAL:
		return plugin->open_journal;
	case SP_SUBJECT_ENSURE:
		return plugin->open_ensure;
	case SP_SUBJECT_KIND_MAX_:
		return plugin->suites && plugin->suites[0];
	case SP_SUBJECT_PLATFORM:
		break;
	}
	return false;
}

static int check_offers(const char *path, const struct sp_plugin *plugin, unsigned wanted,
			struct sp_error *err)
{
	for (unsigned kind = 0; kind <= SP_SUBJECT_KIND_MAX_; kind++)
		if (wanted & 1u << kind && !offers(plugin, (enum sp_subject_kind)kind))
			return sp_error_set(err, SP_UNSUPPORTED, "the plugin %s offers no %s", path,
					    kind == SP_SUBJECT_KIND_MAX_
						? "suite"
						: sp_subject_kind_name((enum sp_subject_kind)kind));
	return 0;
}

int sp_plugin_load(const char *path, unsigned wanted, const struct sp_plugin **ret_plugin,
		   struct sp_error *err)
{
	const struct sp_plugin *plugin = NULL;
	int rc;

	pthread_mutex_lock(&lock);
	rc = load(path, &plugin, err);
	pthread_mutex_unlock(&lock);
	if (!rc)
		rc = check_offers(path, plugin, wanted, err);
	if (!rc)
		*ret_plugin = plugin;
	return rc;
}
