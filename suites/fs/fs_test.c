/* SPDX-License-Identifier: MIT */
#include <suites/fs/fs.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(fs, SP_SUBJECT_PROVIDER, "F", 13, 1)
