/* SPDX-License-Identifier: MIT */
#include <suites/exec/exec.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(exec, SP_SUBJECT_PROVIDER, "X", 14, 1)
