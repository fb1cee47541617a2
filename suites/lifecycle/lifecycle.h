/* SPDX-License-Identifier: MIT */
/*
 * The `lifecycle` suite: sandboxes are made, found, woken and removed, and
 * nobody's is lost or doubled.
 */
#ifndef SUITE_LIFECYCLE_H
#define SUITE_LIFECYCLE_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_lifecycle;

#endif
