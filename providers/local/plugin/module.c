/* SPDX-License-Identifier: MIT */
/*
 * The local provider as a plugin: the same sources, found through dlopen. What passes as
 * `--provider local` has to pass as `--provider plugin:build/plugins/plugin_local.so`.
 */
#include <stdlib.h>
#include <string.h>

#include <providers/local/local.h>
#include <sandproof/plugin.h>

/* As the program opens its own: long enough to be seen, no longer. */
#define GRACE_MS 50
#define UNREAD_BOUND (1 << 20)

static int open_provider(const char *config, struct sp_provider *ret_provider, struct sp_error *err)
{
	struct sp_local_options options = SP_LOCAL_OPTIONS_INIT;

	if (config && strcmp(config, "poll") && strcmp(config, "bare"))
		return sp_error_set(err, SP_INVALID, "local takes poll or bare, not \"%s\"",
				    config);
	options.poll_only = config && !strcmp(config, "poll");
	options.bare = config && !strcmp(config, "bare");
	options.kill_grace_ms = GRACE_MS;
	options.unread_bound = UNREAD_BOUND;
	return sp_local_open(&options, ret_provider, err);
}

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "local",
	    .open_provider = open_provider,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
