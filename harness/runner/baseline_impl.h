/* SPDX-License-Identifier: MIT */
/* The list of known failures from inside. */
#ifndef SP_RUNNER_BASELINE_IMPL_H
#define SP_RUNNER_BASELINE_IMPL_H

#include "baseline.h"

/* One entry; texts are owned. */
struct sp_entry {
	unsigned line;
	char *pattern, *message, *reason, *link, *expiry;
	/* Found by bind(): cases it matches, and whether it excuses nothing. */
	size_t n_matches;
	bool stale;
};

struct sp_baseline {
	char *path;
	/* The file as it was, by line. */
	char **lines;
	size_t n_lines;
	struct sp_entry *entries;
	size_t n_entries;
	struct sp_baseline_problem *problems;
	size_t n_problems;
	/* Cases that there are; borrowed from the suites. */
	const struct sp_case_def **cases;
	size_t n_cases;
};

/* True when an entry is of a case, by its id or a former one. */
bool sp_entry_matches(const struct sp_entry *entry, const struct sp_case_def *def);
/* True when a failure begins as the entry says. */
bool sp_entry_fits(const struct sp_entry *entry, const char *message);
/* The entry that is in force for a case, or NULL. */
const struct sp_entry *sp_entry_of(const struct sp_baseline *baseline,
				   const struct sp_case_def *def);
/* "2026-11-30" of a day. */
void sp_format_day(int64_t ms, char ret_day[11]);

#endif
