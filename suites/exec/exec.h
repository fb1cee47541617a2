/* SPDX-License-Identifier: MIT */
/*
 * The `exec` suite: commands run as told, and their output, code and
 * environment are told as they were.
 */
#ifndef SUITE_EXEC_H
#define SUITE_EXEC_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_exec;

#endif
