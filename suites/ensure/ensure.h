/* SPDX-License-Identifier: MIT */
/* The ensure suite: one live sandbox for a key, whoever asks, and nothing orphaned. */
#ifndef SUITE_ENSURE_H
#define SUITE_ENSURE_H

#include <sandproof/case.h>

/* Its cases and clauses; README.md has the clauses in prose. Static. */
extern const struct sp_suite sp_suite_ensure;

#endif
