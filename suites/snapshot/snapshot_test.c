/* SPDX-License-Identifier: MIT */
#include <suites/snapshot/snapshot.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(snapshot, SP_SUBJECT_PROVIDER, "S", 8, 26)
