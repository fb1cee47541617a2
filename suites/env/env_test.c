/* SPDX-License-Identifier: MIT */
#include <suites/env/env.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(env, SP_SUBJECT_PROVIDER, "E", 7, 30)
