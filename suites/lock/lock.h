/* SPDX-License-Identifier: MIT */
/* The lock suite: one holder a key, and a holder that lost it is told. */
#ifndef SUITE_LOCK_H
#define SUITE_LOCK_H

#include <sandproof/case.h>

/* For the registry. */
extern const struct sp_suite sp_suite_lock;

#endif
