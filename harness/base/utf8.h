/* SPDX-License-Identifier: MIT */
/* UTF-8: checking, cutting at characters, and decoding a stream piece by piece. */
#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include <base/buf.h>

/*
 * True when all `len` bytes are well-formed UTF-8 (no overlongs, no
 * surrogates, nothing above U+10FFFF).
 */
bool sp_utf8_valid(const char *text, size_t len);
/* Longest prefix of at most `max` bytes of well-formed `text` that ends at a character. */
size_t sp_utf8_cut(const char *text, size_t len, size_t max);
/* Number of code points of well-formed text. */
size_t sp_utf8_count(const char *text, size_t len);

/*
 * Length of the first character of `len` (at least 1) bytes, with `*ret_valid` true; or, with
 * `*ret_valid` false, of the maximal ill-formed part that one U+FFFD stands for. A character that
 * is cut off by the end of the text is ill-formed.
 */
size_t sp_utf8_next(const char *text, size_t len, bool *ret_valid);

/* Keeps the head of a character between two pieces. */
struct sp_utf8_decoder {
	unsigned char held[4];
	size_t n_held;
};

/*
 * Appends `data` to `out` as valid UTF-8: each maximal ill-formed part becomes one U+FFFD; a split
 * character waits. Returns 0 or the buffer's error.
 */
int sp_utf8_decode(struct sp_utf8_decoder *decoder, const void *data, size_t len,
		   struct sp_buf *out);
/* At the end of the stream: a held head becomes U+FFFD. */
int sp_utf8_finish(struct sp_utf8_decoder *decoder, struct sp_buf *out);

#endif
