/* SPDX-License-Identifier: MIT */
/* The journal suite: what a run printed is read whole, by anybody, from any byte, once. */
#ifndef SUITE_JOURNAL_H
#define SUITE_JOURNAL_H

#include <sandproof/case.h>

/* Its cases and clauses; README.md has the clauses in prose. Static. */
extern const struct sp_suite sp_suite_journal;

#endif
