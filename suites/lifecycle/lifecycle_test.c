/* SPDX-License-Identifier: MIT */
#include <suites/lifecycle/lifecycle.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(lifecycle, SP_SUBJECT_PROVIDER, "L", 12, 1)
