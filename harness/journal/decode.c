/* SPDX-License-Identifier: MIT */
/*
 * A journal of a gigabyte passes through here, so whole quads go by table: four look-ups, one test.
 * What a line end splits is put together by hand.
 */
#include "decode.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

/* Marks a byte that is no digit; no sum of digits reaches it. */
#define BAD UINT32_C(0x80000000)

/* Each digit at its place in the 24 bits of a quad. */
static uint32_t places[4][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_places(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < 4; i++) {
		for (size_t c = 0; c < 256; c++)
			places[i][c] = BAD;
		for (size_t v = 0; v < 64; v++)
			places[i][(unsigned char)digits[v]] = (uint32_t)v << (18 - 6 * i);
	}
}

static uint32_t quad(const unsigned char *text)
{
	return places[0][text[0]] | places[1][text[1]] | places[2][text[2]] | places[3][text[3]];
}

static unsigned char *put(unsigned char *out, uint32_t bits)
{
	out[0] = (unsigned char)(bits >> 16);
	out[1] = (unsigned char)(bits >> 8);
	out[2] = (unsigned char)bits;
	return out + 3;
}

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Takes the next four bytes that are no white space; fewer at the end. */
static size_t gather(const unsigned char **text, const unsigned char *end, unsigned char four[4])
{
	size_t n = 0;

	while (*text < end && n < 4) {
		if (!is_space(**text))
			four[n++] = **text;
		(*text)++;
	}
	return n;
}

/* A last quad with one or two '='; how many bytes it stands for, 0 when it is none. */
static size_t padded(unsigned char four[4], unsigned char out[3])
{
	size_t n = four[3] != '=' ? 0 : four[2] != '=' ? 2 : 1;

	if (!n)
		return 0;
	memset(four + n + 1, 'A', 3 - n);
	if (quad(four) & BAD)
		return 0;
	put(out, quad(four));
	return n;
}

static int not_base64(size_t at, struct sp_error *err)
{
	return sp_error_set(err, SP_PROTOCOL,
			    "a bounded read of the journal is no base64 at byte %zu", at);
}

/* Decodes the whole quads; what is padded, cut or wrong ends it. */
static int decode(const unsigned char *text, size_t len, bool cut, unsigned char **out,
		  struct sp_error *err)
{
	const unsigned char *start = text, *end = text + len;
	unsigned char four[4];
	uint32_t bits;
	size_t n;

	for (;;) {
		while (end - text >= 4 && !((bits = quad(text)) & BAD)) {
			*out = put(*out, bits);
			text += 4;
		}
		n = gather(&text, end, four);
		if (n < 4)
			return !n || cut ? 0 : not_base64((size_t)(text - start), err);
		bits = quad(four);
		if (!(bits & BAD)) {
			*out = put(*out, bits);
			continue;
		}
		n = padded(four, *out);
		*out += n;
		if (!n || gather(&text, end, four))
			return not_base64((size_t)(text - start), err);
		return 0;
	}
}

int sp_journal_decode_read(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
			   struct sp_error *err)
{
	unsigned char *data SP_FREE = malloc(len / 4 * 3 + 4), *end = data;
	int rc;

	if (!data)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_once(&once, make_places);
	rc = decode((const unsigned char *)text, len, cut, &end, err);
	if (rc)
		return rc;
	*end = '\0';
	*ret_bytes = (struct sp_bytes){ data, (size_t)(end - data) };
	data = NULL;
	return 0;
}
