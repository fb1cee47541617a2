/* SPDX-License-Identifier: MIT */
/* The store suite: instance stores keep what they acknowledged, whole and apart. */
#ifndef SUITE_STORE_H
#define SUITE_STORE_H

#include <sandproof/case.h>

/* For the registry. */
extern const struct sp_suite sp_suite_store;

#endif
