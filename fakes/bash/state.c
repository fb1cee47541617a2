/* SPDX-License-Identifier: MIT */
#include <fakes/bash/engine.h>

#include <string.h>

static const char *const names[FAKE_STATE_MAX_] = {
	[FAKE_CREATING] = "creating",	  [FAKE_RUNNING] = "running",
	[FAKE_SUSPENDING] = "suspending", [FAKE_SUSPENDED] = "suspended",
	[FAKE_RESUMING] = "resuming",	  [FAKE_ERRORED] = "errored",
	[FAKE_TERMINATED] = "terminated",
};

const char *fake_state_name(enum fake_state state)
{
	return (unsigned)state < FAKE_STATE_MAX_ ? names[state] : "unknown";
}

int fake_state_from_name(const char *name)
{
	for (int state = 0; name && state < FAKE_STATE_MAX_; state++)
		if (!strcmp(names[state], name))
			return state;
	return -1;
}
