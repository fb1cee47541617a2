/* SPDX-License-Identifier: MIT */
/*
 * A journal of a gigabyte passes through here, so whole quads go by table: a look-up gives two
 * digits, and one test is for eight. What a line end splits is put together by hand.
 */
#include "decode.h"

#include <endian.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

/* Marks a pair that is not two digits; no value of twelve bits reaches it. */
#define BAD 0x8000u

/* The twelve bits of two digits, by the two bytes as they lie in memory. */
static uint16_t pairs[65536];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_pairs(void)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < SP_COUNT(pairs); i++)
		pairs[i] = BAD;
	for (size_t i = 0; i < 64 * 64; i++) {
		unsigned char two[2] = { (unsigned char)digits[i / 64],
					 (unsigned char)digits[i % 64] };
		uint16_t at;

		memcpy(&at, two, sizeof(at));
		pairs[at] = (uint16_t)i;
	}
}

static unsigned pair(const unsigned char *text)
{
	uint16_t at;

	memcpy(&at, text, sizeof(at));
	return pairs[at];
}

/* The 24 bits of four digits, or something above them. */
static uint32_t quad(const unsigned char *text)
{
	unsigned a = pair(text), b = pair(text + 2);

	return (a | b) & BAD ? UINT32_MAX : a << 12 | b;
}

/* Writes four bytes, of which the next call overwrites the last: there is always room for it. */
static unsigned char *put(unsigned char *out, uint32_t bits)
{
	uint32_t bytes = htobe32(bits << 8);

	memcpy(out, &bytes, sizeof(bytes));
	return out + 3;
}

/* Decodes eight digits at a time, as long as there are eight in a row. */
static unsigned char *decode_run(const unsigned char **text, const unsigned char *end,
				 unsigned char *out)
{
	const unsigned char *from = *text;

	while (end - from >= 8) {
		unsigned a = pair(from), b = pair(from + 2), c = pair(from + 4), d = pair(from + 6);
		uint64_t bytes;

		if ((a | b | c | d) & BAD)
			break;
		bytes = htobe64(((uint64_t)(a << 12 | b) << 24 | (c << 12 | d)) << 16);
		memcpy(out, &bytes, sizeof(bytes));
		out += 6;
		from += 8;
	}
	*text = from;
	return out;
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
static size_t padded(unsigned char four[4], unsigned char out[4])
{
	size_t n = four[3] != '=' ? 0 : four[2] != '=' ? 2 : 1;

	if (!n)
		return 0;
	memset(four + n + 1, 'A', 3 - n);
	if (quad(four) == UINT32_MAX)
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
		*out = decode_run(&text, end, *out);
		n = gather(&text, end, four);
		if (n < 4)
			return !n || cut ? 0 : not_base64((size_t)(text - start), err);
		bits = quad(four);
		if (bits != UINT32_MAX) {
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
	unsigned char *data SP_FREE = malloc(len / 4 * 3 + 16), *end = data;
	int rc;

	if (!data)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_once(&once, make_pairs);
	rc = decode((const unsigned char *)text, len, cut, &end, err);
	if (rc)
		return rc;
	*end = '\0';
	*ret_bytes = (struct sp_bytes){ data, (size_t)(end - data) };
	data = NULL;
	return 0;
}
