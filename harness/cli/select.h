/* SPDX-License-Identifier: MIT */
/* The filters that `run` and `list` share, and names of things for people. */
#ifndef SP_CLI_SELECT_H
#define SP_CLI_SELECT_H

#include <cli/options.h>
#include <runner/runner.h>

struct cli_filter_args {
	struct cli_list suites;
	struct cli_list cases;
	struct cli_list tags;
	/* "I/N". */
	const char *shard;
};

void cli_filter_done(struct cli_filter_args *args);

/* Rows of the option table for a struct with a `filter` of that type. */
#define CLI_FILTER_OPTIONS(type_)                                                                  \
	CLI_OPTION(type_, filter.suites, "suite", "S", CLI_LIST, "only this suite"),               \
	CLI_OPTION(type_, filter.cases, "case", "GLOB", CLI_LIST,                                  \
		   "only cases whose id or clause (kill:K1) matches; * is any text"),              \
	CLI_OPTION(type_, filter.tags, "tag", "T", CLI_LIST, "only cases with this tag"),          \
	CLI_OPTION(type_, filter.shard, "shard", "I/N", CLI_TEXT,                                  \
		   "only the I-th of N parts (from 1)")

/*
 * Fills the runner's filter (borrowed from `args`). SP_INVALID for a shard that is none, and
 * for a word that takes no case of any suite.
 */
int cli_filter_make(const struct cli_filter_args *args, struct sp_filter *ret_filter,
		    struct sp_error *err);

/* The row of --suite-plugin for a struct with a `suite_plugins` list. */
#define CLI_SUITE_PLUGIN_OPTION(type_)                                                             \
	CLI_OPTION(type_, suite_plugins, "suite-plugin", "FILE.so", CLI_LIST,                      \
		   "suites of your own, beside ours (see sandproof/plugin.h)")
/* Loads them, in the order given; see cli_suites_add(). */
int cli_load_suites(const struct cli_list *files, struct sp_error *err);

/* Ids of faults that look like the word, as sp_nearest() tells them; malloc'ed, or NULL. */
char *cli_nearest_fault(const char *id);
/* SP_INVALID: no such fault, with the nearest. */
int cli_unknown_fault(const char *id, struct sp_error *err);

/* Name of one bit of enum sp_need ("control"), or NULL. */
const char *cli_need_name(unsigned bit);
/* "MUST" or "SHOULD". */
const char *cli_level_name(enum sp_level level);

#endif
