/* SPDX-License-Identifier: MIT */
/*
 * Plugins: one exported, versioned entry point. A provider in C is tested in
 * place (`plugin:FILE.so`); a suite of your own is loaded with
 * `--suite-plugin FILE.so`.
 */
#ifndef SANDPROOF_PLUGIN_H
#define SANDPROOF_PLUGIN_H

#include <sandproof/case.h>
#include <sandproof/subject.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_PLUGIN_VERSION 1

/* What a plugin offers; unused entries are NULL. */
struct sp_plugin {
	unsigned version;
	/* Name for messages. */
	const char *name;
	/*
	 * Opens the plugin's provider, store or lock; `config` is what
	 * followed the file's name, or NULL.
	 */
	int (*open_provider)(const char *config, struct sp_provider *ret_provider,
			     struct sp_error *err);
	int (*open_store)(const char *config, struct sp_store *ret_store, struct sp_error *err);
	int (*open_lock)(const char *config, struct sp_lock *ret_lock, struct sp_error *err);
	/* Suites, ended by NULL. */
	const struct sp_suite *const *suites;
};

/* The symbol that the plugin exports; called once a load, on the loading thread. */
#define SP_PLUGIN_ENTRY "sandproof_plugin_v1"
/* Its type. Returns static memory, or NULL when the host's version is not supported. */
typedef const struct sp_plugin *(*sp_plugin_entry_fn)(unsigned host_version);

#ifdef __cplusplus
}
#endif
#endif
