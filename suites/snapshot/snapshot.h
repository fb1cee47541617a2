/* SPDX-License-Identifier: MIT */
/* The snapshot suite: what a snapshot holds, what it must not hold, and what comes back of it. */
#ifndef SUITE_SNAPSHOT_SNAPSHOT_H
#define SUITE_SNAPSHOT_SNAPSHOT_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_snapshot;

#endif
