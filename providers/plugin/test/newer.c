/* SPDX-License-Identifier: MIT */
/* A plugin that was built for a later version of the interface. */
#include <sandproof/plugin.h>

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION + 1,
	    .name = "newer",
	};

	(void)host_version;
	return &plugin;
}
