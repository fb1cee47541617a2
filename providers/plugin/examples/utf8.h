/* SPDX-License-Identifier: MIT */
/* What a text of a store or lock may be; of the examples. */
#ifndef EXAMPLE_UTF8_H
#define EXAMPLE_UTF8_H

#include <string.h>

#include <sandproof/error.h>

/* Bytes of the character at `s` (ended by NUL), 0 where none begins. */
static inline size_t utf8_character(const unsigned char *s)
{
	/* The second byte's bounds say no to longer spellings, surrogates and what is too high. */
	unsigned char low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80;
	unsigned char high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
	size_t len = 0;

	if (*s < 0x80)
		return 1;
	if (*s >= 0xc2 && *s <= 0xf4)
		len = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	if (len && (s[1] < low || s[1] > high))
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* 0, or SP_INVALID for a text (called `name`) that is longer than `limit` bytes or not UTF-8. */
static inline int utf8_check(const char *name, const char *text, size_t limit, struct sp_error *err)
{
	const unsigned char *at = (const unsigned char *)text;

	if (strlen(text) > limit)
		return sp_error_set(err, SP_INVALID, "%s is longer than %zu bytes", name, limit);
	while (*at) {
		size_t len = utf8_character(at);

		if (!len)
			return sp_error_set(err, SP_INVALID, "%s is not UTF-8", name);
		at += len;
	}
	return 0;
}

#endif
