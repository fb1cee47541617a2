/* SPDX-License-Identifier: MIT */
/*
 * The forms in which a secret can leave, as matchers: each reads the text
 * and accepts every spelling of its encoding (upper and lower hex, escaped
 * or not), so nothing depends on which encoder was at work.
 */
#ifndef SP_REDACT_FORMS_H
#define SP_REDACT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* A secret as bytes. Borrowed. */
struct redact_secret {
	const unsigned char *bytes;
	size_t len;
};

/*
 * Length of the longest form of the secret that starts at text[0], or 0;
 * `*ret_form` (may be NULL) names it.
 */
size_t redact_match(const struct redact_secret *secret, const unsigned char *text, size_t len,
		    const char **ret_form);

/* Marks in `starts` every byte with which some form of the secret can begin. */
void redact_starts(const struct redact_secret *secret, bool starts[256]);

/* Bytes of a bitmap over all pairs of bytes. */
#define REDACT_PAIRS (65536 / 8)

/* Marks every pair of bytes with which some form of the secret (at least two bytes) can begin. */
void redact_pairs(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS]);

#endif
