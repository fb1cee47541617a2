/* SPDX-License-Identifier: MIT */
/* Numbers by text: the n-th text that was put in has the number n. */
#ifndef SP_REPORTS_INDEX_H
#define SP_REPORTS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_index {
	/* Texts by number; borrowed from whoever put them in. */
	const char **keys;
	size_t len;
	/* Private: numbers + 1 by hash, and the hashes' upper halves. */
	uint32_t *slots, *marks;
	size_t size;
};
#define SP_INDEX_INIT                                                                              \
	{                                                                                          \
		.keys = NULL                                                                       \
	}
#define SP_INDEX_NONE ((size_t)-1)

/* Number of a text (NULL is ""), put in if it is not there; `*ret_new` (may be NULL) says which.
 * SP_INDEX_NONE without memory. */
size_t sp_index_put(struct sp_index *index, const char *key, bool *ret_new);
/* Number of a text, or SP_INDEX_NONE. */
size_t sp_index_find(const struct sp_index *index, const char *key);
void sp_index_done(struct sp_index *index);

#endif
