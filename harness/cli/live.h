/* SPDX-License-Identifier: MIT */
/* TAP on standard output while a run goes on: `--report tap=-`. */
#ifndef SP_CLI_LIVE_H
#define SP_CLI_LIVE_H

#include <runner/runner.h>

struct cli_live;

/* Says the version line. NULL without memory. */
struct cli_live *cli_live_new(void);
/* Ends the plan; `complete` false: what came is not all. Returns 0, or -errno of the first failed
 * write. NULL is fine. */
int cli_live_done(struct cli_live *live, bool complete);
/* A listener that tells `live` of results and leaks. */
struct sp_run_listener cli_live_listener(struct cli_live *live);

#endif
