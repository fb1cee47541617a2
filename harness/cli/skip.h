/* SPDX-License-Identifier: MIT */
/* A run in which nothing may run. */
#ifndef SP_CLI_SKIP_H
#define SP_CLI_SKIP_H

#include <runner/runner.h>

/*
 * Writes the results of a run that is one named skip a suite, and tells the
 * listener. Returns SP_EXIT_NOTHING_RAN, or SP_EXIT_HARNESS with `err`.
 */
int cli_skip_all(const struct sp_run_options *options, const char *reason,
		 struct sp_result_end *ret_end, struct sp_error *err);

#endif
