/* SPDX-License-Identifier: MIT */
#include <base/buf.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/utf8.h>

static int latch(struct sp_buf *buf, int error)
{
	if (!buf->error)
		buf->error = error;
	return buf->error;
}

void sp_buf_inherit(struct sp_buf *buf, const struct sp_buf *part)
{
	if (part->error)
		latch(buf, part->error);
}

void sp_buf_done(struct sp_buf *buf)
{
	free(buf->data);
	*buf = (struct sp_buf)SP_BUF_INIT(buf->ceiling);
}

void sp_buf_clear(struct sp_buf *buf)
{
	buf->len = 0;
	buf->error = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

const char *sp_buf_str(const struct sp_buf *buf)
{
	return buf->data ? buf->data : "";
}

/* Makes room for `len` more bytes and the NUL. */
static int grow(struct sp_buf *buf, size_t len)
{
	size_t need, size;
	char *data;

	if (buf->error)
		return buf->error;
	/* A ceiling of SIZE_MAX would leave no room for the NUL. */
	if (buf->ceiling == SIZE_MAX || buf->len > buf->ceiling || len > buf->ceiling - buf->len)
		return latch(buf, -ENOBUFS);
	need = buf->len + len + 1;
	if (need <= buf->size)
		return 0;
	size = buf->size < 32 ? 64 : buf->size > SIZE_MAX / 2 ? SIZE_MAX : buf->size * 2;
	if (size > buf->ceiling + 1)
		size = buf->ceiling + 1;
	if (size < need)
		size = need;
	data = realloc(buf->data, size);
	if (!data)
		return latch(buf, -ENOMEM);
	data[buf->len] = '\0';
	buf->data = data;
	buf->size = size;
	return 0;
}

char *sp_buf_reserve(struct sp_buf *buf, size_t len)
{
	return grow(buf, len) ? NULL : buf->data + buf->len;
}

int sp_buf_add(struct sp_buf *buf, const void *data, size_t len)
{
	char *to = sp_buf_reserve(buf, len);

	if (!to)
		return buf->error;
	if (len)
		memcpy(to, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int sp_buf_adds(struct sp_buf *buf, const char *text)
{
	return sp_buf_add(buf, text, strlen(text));
}

int sp_buf_addc(struct sp_buf *buf, char c)
{
	return sp_buf_add(buf, &c, 1);
}

int sp_buf_vaddf(struct sp_buf *buf, const char *format, va_list args)
{
	size_t room = buf->data ? buf->size - buf->len : 0;
	va_list again;
	int len;

	if (buf->error)
		return buf->error;
	va_copy(again, args);
	len = vsnprintf(buf->data ? buf->data + buf->len : NULL, room, format, args);
	/* A first try that did not fit leaves a cut text behind the end. */
	if (buf->data)
		buf->data[buf->len] = (size_t)len < room ? buf->data[buf->len] : '\0';
	if (len < 0) {
		latch(buf, -EINVAL);
	} else if (!grow(buf, (size_t)len)) {
		if ((size_t)len >= room)
			vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
		buf->len += (size_t)len;
	} else if (buf->data) {
		buf->data[buf->len] = '\0';
	}
	va_end(again);
	return buf->error;
}

int sp_buf_addf(struct sp_buf *buf, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = sp_buf_vaddf(buf, format, args);
	va_end(args);
	return rc;
}

void sp_buf_consume(struct sp_buf *buf, size_t len)
{
	if (len > buf->len)
		len = buf->len;
	if (!len)
		return;
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len);
	buf->data[buf->len] = '\0';
}

char *sp_buf_take(struct sp_buf *buf, size_t *ret_len)
{
	int error = grow(buf, 0);
	char *data;

	if (error) {
		sp_buf_done(buf);
		buf->error = error;
		return NULL;
	}
	data = buf->data;
	/* What is taken is kept longer than what grows. */
	if (buf->size - buf->len > 4096)
		data = realloc(data, buf->len + 1);
	if (!data)
		data = buf->data;
	if (ret_len)
		*ret_len = buf->len;
	buf->data = NULL;
	sp_buf_done(buf);
	return data;
}

int sp_buf_take_bytes(struct sp_buf *buf, struct sp_bytes *ret_bytes)
{
	size_t len;
	char *data = sp_buf_take(buf, &len);

	if (!data)
		return buf->error;
	ret_bytes->data = (unsigned char *)data;
	ret_bytes->len = len;
	return 0;
}

int sp_buf_add_shell(struct sp_buf *buf, const char *text)
{
	sp_buf_addc(buf, '\'');
	for (;;) {
		size_t plain = strcspn(text, "'");

		sp_buf_add(buf, text, plain);
		text += plain;
		if (!*text)
			break;
		sp_buf_adds(buf, "'\\''");
		text++;
	}
	return sp_buf_addc(buf, '\'');
}

/* The escape of one ASCII character of a JSON string, or NULL when it stands for itself. */
static const char *json_escape(unsigned char c, char scratch[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	default:
		if (c >= 0x20)
			return NULL;
		snprintf(scratch, 8, "\\u%04x", c);
		return scratch;
	}
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Nonzero when one of eight bytes is not plain (see sp_json_plain()); exact about the first one. */
static uint64_t not_plain(uint64_t bytes)
{
	uint64_t quote = bytes ^ EACH('"'), backslash = bytes ^ EACH('\\');
	uint64_t low = (bytes - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1)) | bytes;

	return low & EACH(0x80);
}

size_t sp_json_plain(const char *text, size_t len)
{
	size_t n = 0;

	for (; len - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
		uint64_t bytes;

		memcpy(&bytes, text + n, sizeof(bytes));
		if (not_plain(bytes))
			break;
	}
	while (n < len && (unsigned char)text[n] - 0x20u < 0x60 && text[n] != '"' &&
	       text[n] != '\\')
		n++;
	return n;
}

int sp_buf_add_json(struct sp_buf *buf, const char *text, size_t len)
{
	size_t at = 0;
	size_t from = 0;

	sp_buf_addc(buf, '"');
	while (at < len) {
		char scratch[8];
		bool valid;
		size_t step = sp_json_plain(text + at, len - at);

		if (step) {
			at += step;
			continue;
		}
		step = sp_utf8_next(text + at, len - at, &valid);
		const char *instead = valid ? json_escape((unsigned char)text[at], scratch) :
					      "\xEF\xBF\xBD";

		if (instead) {
			sp_buf_add(buf, text + from, at - from);
			sp_buf_adds(buf, instead);
			from = at + step;
		}
		at += step;
	}
	if (at > from)
		sp_buf_add(buf, text + from, at - from);
	return sp_buf_addc(buf, '"');
}

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int sp_buf_add_base64(struct sp_buf *buf, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	char *to;

	if (len > SIZE_MAX / 2)
		return latch(buf, -ENOBUFS);
	to = sp_buf_reserve(buf, (len + 2) / 3 * 4);
	if (!to)
		return buf->error;
	/* Whole groups first, without a question: much output goes this way. */
	size_t at = 0;

	for (; len - at >= 3; at += 3) {
		unsigned v = (unsigned)bytes[at] << 16 | (unsigned)bytes[at + 1] << 8 |
			     bytes[at + 2];

		*to++ = base64_digits[v >> 18];
		*to++ = base64_digits[v >> 12 & 63];
		*to++ = base64_digits[v >> 6 & 63];
		*to++ = base64_digits[v & 63];
	}
	for (; at < len; at += 3) {
		size_t n = len - at < 3 ? len - at : 3;
		unsigned v = (unsigned)bytes[at] << 16;

		v |= n > 1 ? (unsigned)bytes[at + 1] << 8 : 0;
		v |= n > 2 ? bytes[at + 2] : 0;
		*to++ = base64_digits[v >> 18];
		*to++ = base64_digits[v >> 12 & 63];
		*to++ = n > 1 ? base64_digits[v >> 6 & 63] : '=';
		*to++ = n > 2 ? base64_digits[v & 63] : '=';
	}
	buf->len = (size_t)(to - buf->data);
	buf->data[buf->len] = '\0';
	return 0;
}

/* Value of each digit, -1 for what is none. */
static const signed char base64_values[256] = {
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 62, -1, -1, -1, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
	-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1,
	-1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
};

static int base64_value(char c)
{
	return base64_values[(unsigned char)c];
}

/* Decodes one group of four characters to `ret`; returns the number of bytes, or -1. */
static int base64_group(const char *text, bool last, unsigned char ret[3])
{
	int n = last && text[3] == '=' ? (text[2] == '=' ? 1 : 2) : 3;
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		int digit = i <= n ? base64_value(text[i]) : 0;

		if (digit < 0)
			return -1;
		v = v << 6 | (unsigned)digit;
	}
	/* Bits that no byte holds must be zero, so that each text has one meaning. */
	if (n < 3 && (v & (n == 1 ? 0xFFFF : 0xFF)))
		return -1;
	ret[0] = (unsigned char)(v >> 16);
	ret[1] = (unsigned char)(v >> 8);
	ret[2] = (unsigned char)v;
	return n;
}

/* Decodes groups of four digits; how many characters were taken before one that is none. */
static size_t unbase64_groups(const char *text, size_t len, unsigned char *to)
{
	size_t at = 0;

	for (; at + 4 <= len; at += 4) {
		int v = base64_value(text[at]) * (1 << 18) |
			base64_value(text[at + 1]) * (1 << 12) |
			base64_value(text[at + 2]) * (1 << 6) | base64_value(text[at + 3]);

		/* -1 anywhere makes it negative. */
		if (v < 0)
			break;
		*to++ = (unsigned char)(v >> 16);
		*to++ = (unsigned char)(v >> 8);
		*to++ = (unsigned char)v;
	}
	return at;
}

int sp_buf_add_unbase64(struct sp_buf *buf, const char *text, size_t len)
{
	size_t done;
	unsigned char last[3] = { 0 };
	char *to;
	int n;

	if (buf->error)
		return buf->error;
	if (len % 4)
		return -EINVAL;
	if (!len)
		return 0;
	to = sp_buf_reserve(buf, len / 4 * 3 - (text[len - 1] == '=') - (text[len - 2] == '='));
	if (!to)
		return buf->error;
	done = unbase64_groups(text, len - 4, (unsigned char *)to);
	n = done == len - 4 ? base64_group(text + done, true, last) : -1;
	if (n < 0) {
		buf->data[buf->len] = '\0';
		return -EINVAL;
	}
	buf->len += done / 4 * 3;
	return sp_buf_add(buf, last, (size_t)n);
}

int sp_buf_add_url(struct sp_buf *buf, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";

	while (*text) {
		size_t n = strspn(text, plain);

		sp_buf_add(buf, text, n);
		text += n;
		if (*text)
			sp_buf_addf(buf, "%%%02X", (unsigned char)*text++);
	}
	return buf->error;
}
