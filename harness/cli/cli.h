/* SPDX-License-Identifier: MIT */
/* The subcommands, and what they share: dispatch, help, messages. */
#ifndef SP_CLI_H
#define SP_CLI_H

#include <cli/options.h>
#include <runner/runner.h>

struct cli_command {
	const char *name;
	/* What follows the name in the usage line. */
	const char *synopsis;
	/* One line for the list of subcommands. */
	const char *summary;
	const struct cli_option *options;
	size_t n_options;
	/* Prose between usage and options, and ready-to-run lines after them; may be NULL. */
	const char *details;
	const char *examples;
	/*
	 * Runs with argv[0] the first word after the name; returns the
	 * exit code.
	 */
	int (*run)(const struct cli_command *self, int argc, char **argv);
};

/* Runs the suites against a provider. */
extern const struct cli_command cli_run_command;
/* Lists cases or faults. */
extern const struct cli_command cli_list_command;
/* Explains a case, a clause or a fault. */
extern const struct cli_command cli_show_command;
/* Shows that cases can fail. */
extern const struct cli_command cli_prove_command;
/* Makes a report from results. */
extern const struct cli_command cli_report_command;
/* Reads and sweeps journals by hand. */
extern const struct cli_command cli_journal_command;
/* Updates a list of known failures. */
extern const struct cli_command cli_baseline_command;
/* Writes a new project. */
extern const struct cli_command cli_init_command;
/* Serves the stand-in for Render's API. */
extern const struct cli_command cli_fake_api_command;
/* Removes what killed runs left behind. */
extern const struct cli_command cli_sweep_command;
/* Offers a provider, store or lock over the driver protocol. */
extern const struct cli_command cli_serve_command;
/* Plays a recorded dialogue to a driver again. */
extern const struct cli_command cli_replay_command;
/* Says what this machine can do. */
extern const struct cli_command cli_doctor_command;
/* Prints a completion script. */
extern const struct cli_command cli_completion_command;
/* Explains a command or a topic. */
extern const struct cli_command cli_help_command;

/* All subcommands in the order of the help text. */
const struct cli_command *const *cli_commands(size_t *ret_len);
/* One by name, or NULL. */
const struct cli_command *cli_command_find(const char *name);

/* The whole program; returns its exit code. */
int cli_main(int argc, char **argv);
/* How the program was called, for lines that can be pasted; "sandproof" before cli_main(). */
const char *cli_program(void);

/* The help text of the program, or of one subcommand. */
void cli_print_help(void);
void cli_print_command_help(const struct cli_command *command);

/*
 * Parses a subcommand's arguments. True: go on. False: `*ret_exit` is the
 * exit code (0 after --help, 2 after a message).
 */
bool cli_begin(const struct cli_command *self, int argc, char **argv, void *args,
	       struct cli_list *words, int *ret_exit);

/* Says an error and gives the exit code for it: SP_INVALID is usage (2), everything else 3. */
int cli_fail(const struct cli_command *self, const struct sp_error *err);

/* Refuses more than `max` words; true when it did, with the message said. */
bool cli_too_many_words(const struct cli_command *self, const struct cli_list *words, size_t max);

/* Prints a buffer on stdout; 0, or 3 when it could not be made or written. */
int cli_print(const struct sp_buf *out);

#endif
