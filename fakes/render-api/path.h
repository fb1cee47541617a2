/* SPDX-License-Identifier: MIT */
#ifndef FAKE_RENDER_API_PATH_H
#define FAKE_RENDER_API_PATH_H

#include <stdbool.h>

/*
 * True for a path that a clean-up would leave as it is: no empty, "." or ".." component (".." may
 * lead a relative path), no trailing slash; "." itself is clean, "" is not.
 */
bool path_is_clean(const char *path);

#endif
