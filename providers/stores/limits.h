/* SPDX-License-Identifier: MIT */
/* What our stores and locks take: the same for every back end, so that changing one for another
 * changes no answer. */
#ifndef SP_STORES_LIMITS_H
#define SP_STORES_LIMITS_H

#include <sandproof/store.h>

/* Longest key in bytes: what a B-tree page of every back end holds. */
#define SP_STORES_KEY_MAX 2048
/* Longest text of any other field in bytes. */
#define SP_STORES_VALUE_MAX (256 * 1024)

/* SP_INVALID for a key that is missing, empty, too long (the limit is named) or not UTF-8. */
int sp_stores_check_key(const char *key, struct sp_error *err);
/* The same for every field of a record; required ones must be there. */
int sp_stores_check_record(const struct sp_record *record, struct sp_error *err);

#endif
