/* SPDX-License-Identifier: MIT */
/* The `fs` suite: files are what was written, and no failure looks like absence. */
#ifndef SUITE_FS_H
#define SUITE_FS_H

#include <sandproof/case.h>

extern const struct sp_suite sp_suite_fs;

#endif
