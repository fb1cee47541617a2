/* SPDX-License-Identifier: MIT */
#include "evidence.h"

#include <stdbool.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>

/*
 * Values beyond this are named by their length alone: to redact them whole
 * would cost more than they tell.
 */
#define WHOLE_MAX (1024UL * 1024)
/* Redaction may lengthen. */
#define REDACTED_CEILING (4 * WHOLE_MAX)
/* Bytes behind what is shown: a character that its end would cut, and a sign that more comes. */
#define MORE 8

static void add_byte(struct sp_buf *out, unsigned char c)
{
	if (c == '\n')
		sp_buf_adds(out, "\\n");
	else if (c == '\t')
		sp_buf_adds(out, "\\t");
	else if (c == '"' || c == '\\')
		sp_buf_addf(out, "\\%c", c);
	else
		sp_buf_addf(out, "\\x%02x", c);
}

/* Length of the printable character at the start, 0 when the first byte needs an escape. */
static size_t printable(const char *text, size_t len)
{
	unsigned char c = (unsigned char)*text;

	if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
		return 0;
	if (c < 0x80)
		return 1;
	for (size_t n = 2; n <= 4 && n <= len; n++)
		if (sp_utf8_valid(text, n))
			return n;
	return 0;
}

/* `all`: length of the whole, of which the end need not be there. */
static void add_quoted(struct sp_buf *out, const char *text, size_t len, size_t max, size_t all)
{
	size_t at = 0;

	sp_buf_addc(out, '"');
	while (at < len && at < max) {
		size_t n = printable(text + at, len - at);

		if (n)
			sp_buf_add(out, text + at, n);
		else
			add_byte(out, (unsigned char)text[at]);
		at += n ? n : 1;
	}
	sp_buf_addc(out, '"');
	if (at < len)
		sp_buf_addf(out, "... (%zu bytes in all)", all);
}

static bool redacted(struct sp_redact *redact, const void *data, size_t len, struct sp_buf *ret)
{
	if (len > WHOLE_MAX)
		return false;
	if (redact)
		sp_redact_text(redact, data, len, ret);
	else
		sp_buf_add(ret, data, len);
	return !ret->error;
}

/* The first `most` bytes of it and a little more: what is never shown need not be redacted. */
static bool redacted_head(struct sp_redact *redact, const void *data, size_t len, size_t most,
			  struct sp_buf *ret, size_t *ret_rest)
{
	size_t seen = most < len ? most : len;

	if (len > WHOLE_MAX)
		return false;
	if (redact)
		sp_redact_head(redact, data, len, most, ret, &seen);
	else
		sp_buf_add(ret, data, seen);
	*ret_rest = len - seen;
	return !ret->error;
}

void sp_show_around(struct sp_buf *out, struct sp_redact *redact, const void *data, size_t len,
		    size_t at, size_t max)
{
	struct sp_buf head SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REDACTED_CEILING);
	size_t from = at > max / 4 ? at - max / 4 : 0, rest;

	if (!data) {
		sp_buf_adds(out, "NULL");
		return;
	}
	if (!redacted_head(redact, data, len, from + max + MORE, &head, &rest)) {
		sp_buf_addf(out, "(%zu bytes)", len);
		return;
	}
	if (from > head.len)
		from = head.len;
	if (from)
		sp_buf_addf(out, "from byte %zu: ...", from);
	add_quoted(out, sp_buf_str(&head) + from, head.len - from, max, head.len - from + rest);
}

void sp_show(struct sp_buf *out, struct sp_redact *redact, const void *data, size_t len, size_t max)
{
	sp_show_around(out, redact, data, len, 0, max);
}

size_t sp_first_difference(struct sp_redact *redact, const void *a, size_t a_len, const void *b,
			   size_t b_len)
{
	struct sp_buf ra SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REDACTED_CEILING);
	struct sp_buf rb SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REDACTED_CEILING);
	size_t at = 0;

	if (!redacted(redact, a, a_len, &ra) || !redacted(redact, b, b_len, &rb))
		return 0;
	while (at < ra.len && at < rb.len && ra.data[at] == rb.data[at])
		at++;
	return at;
}

void sp_show_plain(struct sp_buf *out, struct sp_redact *redact, const char *text, size_t max)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REDACTED_CEILING);
	struct sp_buf valid SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(REDACTED_CEILING);
	struct sp_utf8_decoder decoder = { { 0 }, 0 };
	size_t keep;

	if (!redacted(redact, text, strlen(text), &whole))
		return;
	sp_utf8_decode(&decoder, sp_buf_str(&whole), whole.len, &valid);
	sp_utf8_finish(&decoder, &valid);
	keep = sp_utf8_cut(sp_buf_str(&valid), valid.len, max);
	sp_buf_add(out, sp_buf_str(&valid), keep);
	if (keep < valid.len)
		sp_buf_adds(out, "...");
}
