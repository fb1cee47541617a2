/* SPDX-License-Identifier: MIT */
/*
 * Walks over the members of one JSON object that the scanner of base/json.h has accepted, without a
 * tree: lines of results come by the hundred thousand and are flat.
 */
#ifndef SP_RESULTS_FLAT_H
#define SP_RESULTS_FLAT_H

#include <stdbool.h>
#include <stddef.h>

/* One member: its name as it stands between the quotes, and its value as it stands. */
struct sp_flat {
	const char *name;
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* First byte after the object's "{" or the array's "["; NULL when the text is no such thing. */
const char *sp_flat_open(const char *text, size_t len, char bracket);
/* Next member from `*at` on; false at the end of the object. */
bool sp_flat_member(const char **at, struct sp_flat *ret);
/* Next element of an array, with an empty name; false at its end. */
bool sp_flat_element(const char **at, struct sp_flat *ret);
/* Writes the text that a JSON string (with its quotes) stands for to `to`, which has room for `len`
 * bytes; returns its length. */
size_t sp_flat_text(const char *value, size_t len, char *to);

#endif
