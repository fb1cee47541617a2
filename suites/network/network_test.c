/* SPDX-License-Identifier: MIT */
#include <suites/network/network.h>
#include <witness/suite_test.h>

SUITE_TABLE_TESTS(network, SP_SUBJECT_PROVIDER, "N", 4, 1)
