/* SPDX-License-Identifier: MIT */
/* What somebody meant who mistyped a name. */
#ifndef SP_BASE_NEAREST_H
#define SP_BASE_NEAREST_H

#include <stddef.h>

/*
 * Up to three names of `names` nearest to `word`, joined by ", "; malloc'ed, "" when none is near.
 */
char *sp_nearest(const char *word, const char *const *names, size_t n_names);

#endif
