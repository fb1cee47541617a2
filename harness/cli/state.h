/* SPDX-License-Identifier: MIT */
/* What is kept between runs: the results of the last one, in the state directory. */
#ifndef SP_CLI_STATE_H
#define SP_CLI_STATE_H

#include <cli/options.h>
#include <runner/runner.h>

/*
 * "$XDG_STATE_HOME/sandproof", "~/.local/state/sandproof", or a folder of this user below the
 * temporary one. Malloc'ed, NULL without memory. Not made.
 */
char *cli_state_dir(void);

/*
 * A new path for the results of a run that named none, in the state directory (made if needed) or
 * else in the temporary folder. Malloc'ed. SP_IO names the place.
 */
int cli_state_results_path(char **ret_path, struct sp_error *err);

/* SPECs by kind of subject; NULL: none. */
struct cli_specs {
	char *by_kind[SP_SUBJECT_KIND_MAX_];
};
void cli_specs_done(struct cli_specs *specs);

/*
 * Keeps a copy of these results as the last run's, and the SPECs that it was given; failing to is
 * no error.
 */
void cli_state_remember(const char *results_path, const struct sp_run_subject *subjects,
			size_t n_subjects);
/* Reads those SPECs; all NULL where there are none. SP_INTERNAL without memory. */
int cli_state_last_specs(struct cli_specs *ret_specs, struct sp_error *err);

/* Owned ids of the cases that failed or were errors in the last run. */
struct cli_ids {
	char **items;
	size_t len;
};
void cli_ids_done(struct cli_ids *ids);

/* Reads them. SP_INVALID when there is no last run. */
int cli_state_last_failed(struct cli_ids *ret_ids, struct sp_error *err);

#endif
