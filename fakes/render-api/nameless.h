/* SPDX-License-Identifier: MIT */
/* Files that nobody has to remove. */
#ifndef FAKE_RENDER_API_NAMELESS_H
#define FAKE_RENDER_API_NAMELESS_H

/*
 * A new empty file below the folder `dir` that has no name there: a descriptor for reading
 * and writing, or -1 with errno.
 */
int nameless_open(const char *dir);

#endif
