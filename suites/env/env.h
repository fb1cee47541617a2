/* SPDX-License-Identifier: MIT */
/* The env suite: variables and secrets. */
#ifndef SUITE_ENV_ENV_H
#define SUITE_ENV_ENV_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_env;

#endif
