/* SPDX-License-Identifier: MIT */
/*
 * Plugins: a shared object with one exported, versioned entry point. A provider, store, lock,
 * journal or ensure in C is tested in place (`--provider plugin:FILE.so`, `--store`, `--lock`, …);
 * suites of your own are loaded with `--suite-plugin FILE.so`. One file may offer all of them.
 *
 * The tables are the contract's own; there is no second set of types. A plugin links nothing of
 * ours: it is built with
 *
 *     cc -shared -fPIC -Wall -I…/harness/include -o mine.so mine.c
 *
 * and every function that these headers declare (sp_error_set(), sp_cancel_fd(), sp_check(), …) is
 * found in the program that loads it. So the helpers never differ from the program's, and a cancel
 * of the program is a cancel of the plugin. Nothing else of the program is visible to a plugin;
 * what it brings along itself (libcurl, say) it links as usual.
 *
 * What a plugin may rely on: it is loaded at once and whole (RTLD_NOW), its symbols are its own
 * (RTLD_LOCAL), and it is not unloaded. It is loaded in each worker, in other processes of a case,
 * and, for suites, in the program itself; open_…() is called in a worker, several times over, and
 * each instance has a state of its own unless the outside world is shared. A worker is one process
 * that may be killed at any time; stdin is /dev/null, what is printed becomes evidence of a crash.
 *
 * What happens to one that breaks: a file that cannot be loaded, that lacks the entry point, or
 * that was built for a newer version ends the run with exit 3 before anything starts. A crash, an
 * exit() or a hang inside a call of a table is a failure of the running case, and the next case
 * gets a new worker; inside an open_…() or beside all calls it is an error. A required entry that
 * is NULL is answered with SP_UNSUPPORTED, so the cases that need it fail.
 */
#ifndef SANDPROOF_PLUGIN_H
#define SANDPROOF_PLUGIN_H

#include <sandproof/case.h>
#include <sandproof/subject.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_PLUGIN_VERSION 1

/*
 * What a plugin offers; unused entries are NULL. `config` is what followed the file's name in the
 * SPEC ("plugin:mine.so:level=3" gives "level=3"), NULL without it; borrowed for the call. Each
 * open_…() answers 0 with a table whose version is that of these headers, or a negative sp_code
 * with `err` filled; what it opened is closed by the table's own close().
 */
struct sp_plugin {
	/* SP_PLUGIN_VERSION. A program refuses a version that it does not know. */
	unsigned version;
	/* Name for messages, static text. */
	const char *name;
	/* `--provider`. name, capabilities and close are needed to open it at all. */
	int (*open_provider)(const char *config, struct sp_provider *ret_provider,
			     struct sp_error *err);
	/* `--store`. capabilities and close are needed to open it at all; so for a lock. */
	int (*open_store)(const char *config, struct sp_store *ret_store, struct sp_error *err);
	/* `--lock`, and the lock of `--store plugin:…` where no other is named. */
	int (*open_lock)(const char *config, struct sp_lock *ret_lock, struct sp_error *err);
	/* `--journal`; `capabilities` is the declaration of the provider that it stands on. */
	int (*open_journal)(const char *config, const struct sp_capabilities *capabilities,
			    struct sp_journal *ret_journal, struct sp_error *err);
	/* `--ensure`; what it stands on comes with each call. */
	int (*open_ensure)(const char *config, struct sp_ensure *ret_ensure, struct sp_error *err);
	/* `--suite-plugin`: suites, ended by NULL. Static, like everything that they point to. */
	const struct sp_suite *const *suites;
};

/* Name of the entry point. */
#define SP_PLUGIN_ENTRY "sandproof_plugin_v1"

/* Type of the entry point. */
typedef const struct sp_plugin *(*sp_plugin_entry_fn)(unsigned host_version);

/* Makes the entry point visible, also where everything else is hidden (-fvisibility=hidden). */
#define SP_PLUGIN_EXPORT __attribute__((visibility("default")))

/*
 * The entry point, written by the plugin; its name ends in the version of this call itself, which
 * is older than no plugin. Returns static memory, or NULL when the plugin cannot work with a
 * program of `host_version` (its SP_PLUGIN_VERSION). Called once per process, on the loading
 * thread.
 */
SP_PLUGIN_EXPORT const struct sp_plugin *sandproof_plugin_v1(unsigned host_version);

#ifdef __cplusplus
}
#endif
#endif
