/* SPDX-License-Identifier: MIT */
/* The `caps` suite: a declaration is kept both ways: what is true works, what is false refuses. */
#ifndef SUITE_CAPS_H
#define SUITE_CAPS_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_caps;

#endif
