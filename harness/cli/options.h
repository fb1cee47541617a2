/* SPDX-License-Identifier: MIT */
/*
 * Options by table: one row an option, from which parsing, checking and the
 * help text are made. Values land in a struct of the subcommand's own.
 */
#ifndef SP_CLI_OPTIONS_H
#define SP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <base/buf.h>
#include <sandproof/error.h>

/* Texts in the order given. Borrowed from argv; the array is freed by cli_list_done(). */
struct cli_list {
	const char **items;
	size_t len;
};

/* A number that may not have been given. */
struct cli_number {
	bool set;
	uint64_t value;
};

enum cli_option_kind {
	/* bool; given once or more. */
	CLI_FLAG = 0,
	/* const char *; given at most once. */
	CLI_TEXT,
	/* struct cli_list; given any number of times. */
	CLI_LIST,
	/* struct cli_number; given at most once, decimal, from min to max. */
	CLI_NUMBER,
};

struct cli_option {
	/* Without its dashes. */
	const char *name;
	/* Placeholder of the value in the help text; NULL for a flag. */
	const char *value;
	const char *help;
	enum cli_option_kind kind;
	/* Where the value goes in the subcommand's struct. */
	size_t offset;
	uint64_t min, max;
	/* Left out of the help text. */
	bool hidden;
};

/* Rows: CLI_OPTION(struct run_args, jobs, "jobs", "N", CLI_NUMBER, "…", .min = 1, .max = 512). */
#define CLI_OPTION(type_, field_, name_, value_, kind_, help_, ...)                                \
	{                                                                                          \
		.name = name_, .value = value_, .kind = kind_, .help = help_,                      \
		.offset = offsetof(type_, field_), ##__VA_ARGS__                                   \
	}

/* What cli_parse() answers besides 0 and a negative sp_code. */
#define CLI_WANTS_HELP 1

/*
 * Reads argv[0] to argv[argc - 1] (the subcommand's name is not among them).
 * "--x=y" and "--x y" are the same; "--" ends the options; what is no option
 * goes to `words`. "-h" and "--help" give CLI_WANTS_HELP at once. SP_INVALID
 * names the option and, where it is unknown, the nearest ones.
 */
int cli_parse(const struct cli_option *options, size_t n_options, int argc, char **argv, void *args,
	      struct cli_list *words, struct sp_error *err);

/*
 * Reads a decimal number from `min` to `max`, nothing before or after it.
 * `what` names it in the message.
 */
int cli_parse_number(const char *what, const char *text, uint64_t min, uint64_t max,
		     uint64_t *ret_value, struct sp_error *err);

/* Adds to a list; 0 or SP_INTERNAL without memory. */
int cli_list_add(struct cli_list *list, const char *text);
/* Frees the array and clears the list. */
void cli_list_done(struct cli_list *list);

/* Appends the help text of the options, two columns, wrapped at `width`. */
void cli_options_help(const struct cli_option *options, size_t n_options, unsigned width,
		      struct sp_buf *out);

#endif
