/* SPDX-License-Identifier: MIT */
#include <suites/caps/caps.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(caps, SP_SUBJECT_PROVIDER, "C", 4, 1)
