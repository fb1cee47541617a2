/* SPDX-License-Identifier: MIT */
/* Running one command and comparing all that it left, exactly. */
#ifndef SUITE_EXEC_RUN_H
#define SUITE_EXEC_RUN_H

#include <witness/shell.h>

/* What a command must leave. Text with a length, since output may hold NULs. */
struct expected {
	const char *out;
	/* 0 with `out` set: strlen(out). */
	size_t out_len;
	const char *err;
	int code;
};

/* exec() must answer 0 with exactly this. False after a recorded failure. */
bool exec_gives(struct sp_case *t, const struct sp_exec_options *options,
		const struct expected *expected, struct sp_where where, const char *what);
/* Same, for a plain command in the case's sandbox. */
bool command_gives(struct sp_case *t, const char *command, const struct expected *expected,
		   struct sp_where where, const char *what);
/* Options for one command with the case's cancel. */
struct sp_exec_options exec_options(struct sp_case *t, const char *command);

#endif
