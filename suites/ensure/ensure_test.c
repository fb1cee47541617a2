/* SPDX-License-Identifier: MIT */
#include <suites/ensure/ensure.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(ensure, SP_SUBJECT_ENSURE, "N", 14, 60)
