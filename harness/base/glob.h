/* SPDX-License-Identifier: MIT */
/* Patterns of case ids and names: '*' and '?', nothing else is special. */
#ifndef SP_BASE_GLOB_H
#define SP_BASE_GLOB_H

#include <stdbool.h>

/*
 * True when the whole of `text` fits: '*' is any text (also none), '?' one UTF-8 character. Time is
 * at most length times length.
 */
bool sp_glob_match(const char *pattern, const char *text);

#endif
