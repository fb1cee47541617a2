/* SPDX-License-Identifier: MIT */
/*
 * Memory for the texts of results: they come by the hundred thousand, most of
 * them are equal, and all of them go at once.
 */
#ifndef SP_RESULTS_TEXTS_H
#define SP_RESULTS_TEXTS_H

#include <stddef.h>

struct sp_texts;

/* NULL without memory. */
struct sp_texts *sp_texts_new(void);
/* Frees every text; NULL is fine. */
void sp_texts_free(struct sp_texts *texts);

/*
 * Room for one text of at most `max` bytes, or NULL without memory. What was written there is
 * kept by the next sp_texts_keep(), and lost by the next sp_texts_reserve().
 */
char *sp_texts_reserve(struct sp_texts *texts, size_t max);
/*
 * Keeps the first `len` bytes of the reserved room, ended by a NUL. A short text that was kept
 * before is not kept twice. NULL without memory.
 */
char *sp_texts_keep(struct sp_texts *texts, size_t len);
/* Both in one, for a text that is elsewhere. */
char *sp_texts_add(struct sp_texts *texts, const char *text, size_t len);

#endif
