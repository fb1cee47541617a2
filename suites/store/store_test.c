/* SPDX-License-Identifier: MIT */
#include <suites/store/store.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(store, SP_SUBJECT_STORE, "S", 13, 1)
