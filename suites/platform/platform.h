/* SPDX-License-Identifier: MIT */
/*
 * The `platform` suite: the facts about the service on which our fake stands, measured again. A
 * deviation is an error of the set-up, "platform changed", and never a failure of the provider.
 */
#ifndef SUITE_PLATFORM_H
#define SUITE_PLATFORM_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_platform;

#endif
