/* SPDX-License-Identifier: MIT */
/* Several listeners of one run, told one after another. */
#ifndef SP_CLI_LISTENERS_H
#define SP_CLI_LISTENERS_H

#include <stddef.h>

#include <runner/runner.h>

#define CLI_LISTENERS_MAX 4

/* In the order in which they are told; what one does not listen to stays NULL. Zeroed: nobody. */
struct cli_listeners {
	struct sp_run_listener list[CLI_LISTENERS_MAX];
	size_t len;
};

/* At most CLI_LISTENERS_MAX of them, before the run starts. */
void cli_listeners_add(struct cli_listeners *all, struct sp_run_listener listener);
/* One that tells all of them; `all` is borrowed as long as the run goes on. */
struct sp_run_listener cli_listeners_as_one(struct cli_listeners *all);

#endif
