/* SPDX-License-Identifier: MIT */
/* Which suites a run's subjects serve, and which of its subjects no case is about. */
#ifndef SP_CLI_PLAN_SCOPE_H
#define SP_CLI_PLAN_SCOPE_H

#include <cli/plan.h>

/* Kinds of subject (bits) that a suite of this kind stands on. */
unsigned plan_kinds_needed(const struct run_plan *plan, enum sp_subject_kind kind);
/* True when the subjects that a suite stands on are there. */
bool plan_serves(const struct run_plan *plan, const struct sp_suite *suite);
/*
 * SP_INVALID for a word of the filter that takes cases, but of suites alone that are not of this
 * run; the message names the subject that they need.
 */
int plan_check_served(const struct run_plan *plan, const struct sp_filter *filter,
		      struct sp_error *err);
/*
 * What was named (bits of `named`) and is judged by no case of the filter, whatever the shard:
 * "store sqlite, lock memory", malloc'ed, "" for nothing; NULL without memory.
 */
char *plan_unjudged(const struct run_plan *plan, unsigned named, const struct sp_filter *filter);

#endif
