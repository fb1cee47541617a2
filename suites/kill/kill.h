/* SPDX-License-Identifier: MIT */
/* The kill suite: killing, aborting, signalling and destroying reach what they promise. */
#ifndef SUITE_KILL_H
#define SUITE_KILL_H

#include <sandproof/case.h>

/* Its cases and clauses; README.md has the clauses in prose. Static. */
extern const struct sp_suite sp_suite_kill;

#endif
