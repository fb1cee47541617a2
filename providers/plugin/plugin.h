/* SPDX-License-Identifier: MIT */
/*
 * The loading side of plugins (sandproof/plugin.h is the plugin's side): finds the entry point,
 * checks versions, opens subjects, and asks a child first where a broken file must not take the
 * program with it.
 */
#ifndef SP_PLUGIN_LOADER_H
#define SP_PLUGIN_LOADER_H

#include <sandproof/plugin.h>

/* What is wanted of a plugin: bits of 1 << enum sp_subject_kind, and this one for suites. */
#define SP_PLUGIN_SUITES (1u << SP_SUBJECT_KIND_MAX_)

/*
 * Loads a file into this process, once, and for its life. `path` is a path even without a slash.
 * SP_IO: it cannot be loaded; SP_UNSUPPORTED: no entry point, another version, or it offers not all
 * of `wanted`. Whoever must not crash with it calls sp_plugin_probe() before.
 */
int sp_plugin_load(const char *path, unsigned wanted, const struct sp_plugin **ret_plugin,
		   struct sp_error *err);

/*
 * Loads it in a child alone, and answers what sp_plugin_load() answered there. SP_IO also when
 * loading it crashed, ended the process, or took longer than a limit.
 */
int sp_plugin_probe(const char *path, unsigned wanted, struct sp_error *err);

/*
 * Opens the plugin's table of `kind` into `subject`, where what it stands on is open already.
 * Errors of loading, what open_…() answered, and SP_PROTOCOL for a table that cannot be used.
 */
int sp_plugin_open(enum sp_subject_kind kind, const char *path, const char *config,
		   struct sp_subject *subject, struct sp_error *err);

/*
 * Runs the destructors of all plugins of this process, once, for one that is about to end without
 * them: that writes the counters of those that were built with coverage.
 */
void sp_plugin_finish(void);

#endif
