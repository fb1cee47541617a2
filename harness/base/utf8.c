/* SPDX-License-Identifier: MIT */
#include <base/utf8.h>

#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

/*
 * Length of a character by its first byte, and the range of the second one,
 * which alone decides about overlongs, surrogates and the upper end (Unicode,
 * table 3-7). 0: no character starts so.
 */
static size_t lead(unsigned char byte, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xBF;
	if (byte < 0x80)
		return 1;
	if (byte < 0xC2 || byte > 0xF4)
		return 0;
	if (byte < 0xE0)
		return 2;
	if (byte == 0xE0)
		*ret_low = 0xA0;
	else if (byte == 0xED)
		*ret_high = 0x9F;
	else if (byte == 0xF0)
		*ret_low = 0x90;
	else if (byte == 0xF4)
		*ret_high = 0x8F;
	return byte < 0xF0 ? 3 : 4;
}

/*
 * Reads one character: its length with `*ret_need` equal to it; or less than
 * `*ret_need` for the longest part that could still have become a character.
 */
static size_t step(const unsigned char *text, size_t len, size_t *ret_need)
{
	unsigned char low, high;
	size_t need = lead(text[0], &low, &high);
	size_t i;

	*ret_need = need ? need : SIZE_MAX;
	for (i = 1; i < need && i < len; i++) {
		if (text[i] < low || text[i] > high)
			break;
		low = 0x80;
		high = 0xBF;
	}
	return i;
}

/* Length of the ASCII run at the start, eight bytes at a time: most text is nothing else. */
static size_t ascii_run(const void *text, size_t len)
{
	const unsigned char *bytes = text;
	size_t n = 0;

	for (; len - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + n, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	while (n < len && bytes[n] < 0x80)
		n++;
	return n;
}

size_t sp_utf8_next(const char *text, size_t len, bool *ret_valid)
{
	size_t need;
	size_t got = step((const unsigned char *)text, len, &need);

	*ret_valid = got == need;
	return got;
}

bool sp_utf8_valid(const char *text, size_t len)
{
	bool valid = true;

	for (size_t at = ascii_run(text, len); at < len && valid;) {
		at += sp_utf8_next(text + at, len - at, &valid);
		if (valid)
			at += ascii_run(text + at, len - at);
	}
	return valid;
}

size_t sp_utf8_cut(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max && ((unsigned char)text[max] & 0xC0) == 0x80)
		max--;
	return max;
}

size_t sp_utf8_count(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xC0) != 0x80;
	return n;
}

/*
 * Takes bytes to the held head until it is a character, is none, or the
 * data ends; returns how many.
 */
static size_t decode_held(struct sp_utf8_decoder *decoder, const unsigned char *data, size_t len,
			  struct sp_buf *out)
{
	size_t used = 0;

	while (decoder->n_held) {
		size_t need, got;

		if (used == len)
			return used;
		decoder->held[decoder->n_held] = data[used];
		got = step(decoder->held, decoder->n_held + 1, &need);
		if (got <= decoder->n_held) {
			/* The new byte does not belong to the head: it is read again as a start. */
			sp_buf_adds(out, REPLACEMENT);
			decoder->n_held = 0;
			return used;
		}
		used++;
		decoder->n_held++;
		if (got == need) {
			sp_buf_add(out, decoder->held, got);
			decoder->n_held = 0;
		}
	}
	return used;
}

int sp_utf8_decode(struct sp_utf8_decoder *decoder, const void *data, size_t len,
		   struct sp_buf *out)
{
	const unsigned char *bytes = data;
	size_t at = decode_held(decoder, bytes, len, out);
	size_t from = at;

	while (at < len) {
		size_t need;
		size_t got = step(bytes + at, len - at, &need);

		if (got == need) {
			at += got;
			at += ascii_run(bytes + at, len - at);
			continue;
		}
		/* Well-formed runs are added in one piece. */
		sp_buf_add(out, bytes + from, at - from);
		if (need != SIZE_MAX && at + got == len) {
			memcpy(decoder->held, bytes + at, got);
			decoder->n_held = got;
			return out->error;
		}
		sp_buf_adds(out, REPLACEMENT);
		at += got;
		from = at;
	}
	if (at > from)
		sp_buf_add(out, bytes + from, at - from);
	return out->error;
}

int sp_utf8_finish(struct sp_utf8_decoder *decoder, struct sp_buf *out)
{
	if (decoder->n_held)
		sp_buf_adds(out, REPLACEMENT);
	decoder->n_held = 0;
	return out->error;
}
