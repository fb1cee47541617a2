/* SPDX-License-Identifier: MIT */
#include <results/flat.h>

#include <string.h>

/* Everything here stands on the scanner: brackets match, strings end, escapes are whole. */

static const char *skip_space(const char *at)
{
	while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
		at++;
	return at;
}

/* From the opening quote to behind the closing one. */
static const char *skip_string(const char *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		if (*at == '"') {
			at = skip_string(at);
			continue;
		}
		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		at++;
	} while (depth || !strchr(",}] \t\r\n", *at));
	return at;
}

const char *sp_flat_open(const char *text, size_t len, char bracket)
{
	const char *at = skip_space(text);

	return at < text + len && *at == bracket ? at + 1 : NULL;
}

/* Behind white space and the comma before the next element; NULL at the closing bracket. */
static const char *next(const char *at)
{
	at = skip_space(at);
	if (*at == ',')
		at = skip_space(at + 1);
	return *at == '}' || *at == ']' ? NULL : at;
}

bool sp_flat_element(const char **at, struct sp_flat *ret)
{
	const char *value = next(*at);

	if (!value)
		return false;
	*at = skip_value(value);
	*ret = (struct sp_flat){.name = "", .value = value, .value_len = (size_t)(*at - value)};
	return true;
}

bool sp_flat_member(const char **at, struct sp_flat *ret)
{
	const char *name = next(*at), *end, *value;

	if (!name)
		return false;
	end = skip_string(name);
	value = skip_space(skip_space(end) + 1);
	*at = skip_value(value);
	*ret = (struct sp_flat){name + 1, (size_t)(end - name) - 2, value, (size_t)(*at - value)};
	return true;
}

static unsigned hex4(const char *at)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		unsigned c = (unsigned char)at[i];

		value = value << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return value;
}

static char *put_utf8(char *to, unsigned code)
{
	if (code < 0x80) {
		*to++ = (char)code;
		return to;
	}
	if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*to++ = (char)(0xe0 | code >> 12);
		} else {
			*to++ = (char)(0xf0 | code >> 18);
			*to++ = (char)(0x80 | (code >> 12 & 63));
		}
		*to++ = (char)(0x80 | (code >> 6 & 63));
	}
	*to++ = (char)(0x80 | (code & 63));
	return to;
}

/* One escape; `*at` is behind the backslash. No escape is shorter than what it stands for. */
static char *put_escape(char *to, const char **at)
{
	static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	unsigned code;

	if (**at != 'u') {
		*to++ = meant[strchr(from, *(*at)++) - from];
		return to;
	}
	code = hex4(*at + 1);
	*at += 5;
	if (code >= 0xd800 && code < 0xdc00) {
		code = 0x10000 + ((code - 0xd800) << 10) + (hex4(*at + 2) - 0xdc00);
		*at += 6;
	}
	return put_utf8(to, code);
}

size_t sp_flat_text(const char *value, size_t len, char *to)
{
	const char *at = value + 1, *end = value + len - 1;
	char *start = to;

	while (at < end) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		size_t plain = (size_t)((escape ? escape : end) - at);

		memcpy(to, at, plain);
		to += plain;
		at += plain;
		if (escape) {
			at++;
			to = put_escape(to, &at);
		}
	}
	return (size_t)(to - start);
}
