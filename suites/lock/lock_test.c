/* SPDX-License-Identifier: MIT */
#include <suites/lock/lock.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(lock, SP_SUBJECT_LOCK, "L", 8, 1)
