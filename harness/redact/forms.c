/* SPDX-License-Identifier: MIT */
#include <redact/forms.h>

#include <stdint.h>
#include <string.h>

#include <base/cleanup.h>

/*
 * A matcher takes the secret and the text and says how much of the text is that form; 0: it is
 * not.
 */
typedef size_t (*match_fn)(const struct redact_secret *secret, const unsigned char *text,
			   size_t len);

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Value of `n` hex digits, or -1. */
static int hex_value(const unsigned char *text, size_t len, size_t n)
{
	int value = 0;

	if (len < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static size_t match_raw(const struct redact_secret *secret, const unsigned char *text, size_t len)
{
	return len >= secret->len && !memcmp(text, secret->bytes, secret->len) ? secret->len : 0;
}

/* One byte as a POSIX shell word spells it: as is, after a backslash, or a quote between quotes. */
static size_t shell_byte(unsigned char byte, const unsigned char *text, size_t len)
{
	if (byte == '\'' && len >= 4 && !memcmp(text, "'\\''", 4))
		return 4;
	if (byte == '\'' && len >= 5 && !memcmp(text, "'\"'\"'", 5))
		return 5;
	if (len >= 2 && text[0] == '\\' && text[1] == byte)
		return 2;
	return len >= 1 && text[0] == byte;
}

static size_t url_byte(unsigned char byte, const unsigned char *text, size_t len)
{
	if (len >= 3 && text[0] == '%' && hex_value(text + 1, len - 1, 2) == byte)
		return 3;
	if (byte == ' ' && len >= 1 && text[0] == '+')
		return 1;
	return len >= 1 && text[0] == byte;
}

/* Matches byte by byte with one of the spellings above. */
static size_t match_bytes(const struct redact_secret *secret, const unsigned char *text, size_t len,
			  size_t (*spell)(unsigned char, const unsigned char *, size_t))
{
	size_t at = 0;

	for (size_t i = 0; i < secret->len; i++) {
		size_t used = spell(secret->bytes[i], text + at, len - at);

		if (!used)
			return 0;
		at += used;
	}
	return at;
}

static size_t match_shell(const struct redact_secret *secret, const unsigned char *text, size_t len)
{
	return match_bytes(secret, text, len, shell_byte);
}

static size_t match_url(const struct redact_secret *secret, const unsigned char *text, size_t len)
{
	return match_bytes(secret, text, len, url_byte);
}

/* Encodes a code point; returns its length. */
static size_t encode_utf8(uint32_t c, unsigned char out[4])
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (unsigned char)(0xc0 | c >> 6);
		out[1] = (unsigned char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (unsigned char)(0xe0 | c >> 12);
		out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (unsigned char)(0xf0 | c >> 18);
	out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (c & 0x3f));
	return 4;
}

/* Decodes \uXXXX, as a pair where it is one; returns the text used, 0 when it is none. */
static size_t json_unicode(const unsigned char *text, size_t len, uint32_t *ret_code)
{
	int high, low;

	if (len < 6 || text[0] != '\\' || text[1] != 'u')
		return 0;
	high = hex_value(text + 2, len - 2, 4);
	if (high < 0)
		return 0;
	*ret_code = (uint32_t)high;
	if (high < 0xd800 || high > 0xdbff)
		return 6;
	if (len < 12 || text[6] != '\\' || text[7] != 'u')
		return 0;
	low = hex_value(text + 8, len - 8, 4);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*ret_code = 0x10000u + (((uint32_t)high - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u);
	return 12;
}

/* The byte that a two-character JSON (or C) escape stands for, or -1. */
static int json_short(unsigned char c)
{
	static const char from[] = "\"\\/'bfnrt", to[] = "\"\\/'\b\f\n\r\t";
	const char *found = c ? strchr(from, c) : NULL;

	return found ? (unsigned char)to[found - from] : -1;
}

/* How much of the secret one JSON spelling at text[0] covers; `*ret_used` is the text's part. */
static size_t json_unit(const struct redact_secret *secret, size_t i, const unsigned char *text,
			size_t len, size_t *ret_used)
{
	unsigned char utf8[4];
	uint32_t code;
	size_t used = json_unicode(text, len, &code);

	if (used) {
		size_t n = encode_utf8(code, utf8);

		if (n <= secret->len - i && !memcmp(secret->bytes + i, utf8, n)) {
			*ret_used = used;
			return n;
		}
	}
	if (len >= 2 && text[0] == '\\' && json_short(text[1]) == secret->bytes[i]) {
		*ret_used = 2;
		return 1;
	}
	*ret_used = 1;
	return len >= 1 && text[0] == secret->bytes[i];
}

static size_t match_json(const struct redact_secret *secret, const unsigned char *text, size_t len)
{
	size_t at = 0, i = 0;

	while (i < secret->len) {
		size_t used, covered = json_unit(secret, i, text + at, len - at, &used);

		if (!covered)
			return 0;
		i += covered;
		at += used;
	}
	return at;
}

/* Pairs of hex digits in either case; dumps put a blank or colon between bytes. */
static size_t match_hex(const struct redact_secret *secret, const unsigned char *text, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; i < secret->len; i++) {
		if (i && at < len && (text[at] == ' ' || text[at] == ':'))
			at++;
		if (hex_value(text + at, len - at, 2) != secret->bytes[i])
			return 0;
		at += 2;
	}
	return at;
}

/* Six bits of either base64 alphabet, or -1. */
static int base64_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/*
 * Six bits of the secret's encoding, beginning at bit `bit` of a stream in
 * which `shift` bytes of something else come first. Bits outside the secret
 * are not in `*ret_mask`.
 */
static int base64_want(const struct redact_secret *secret, size_t shift, size_t bit, int *ret_mask)
{
	int value = 0, mask = 0;

	for (size_t i = 0; i < 6; i++, bit++) {
		size_t byte = bit / 8;
		bool inside = byte >= shift && byte - shift < secret->len;

		mask = mask << 1 | inside;
		value = value << 1 |
			(inside ? secret->bytes[byte - shift] >> (7 - bit % 8) & 1 : 0);
	}
	*ret_mask = mask;
	return value;
}

/*
 * Base64 when the secret begins `shift` bytes into a group of three. The
 * characters at both ends also hold bits of the neighbours; only the secret's bits
 * are compared. base64(1) breaks lines, so newlines between are passed over.
 */
static size_t match_base64(const struct redact_secret *secret, size_t shift,
			   const unsigned char *text, size_t len)
{
	size_t first = shift * 8 / 6, end = (shift + secret->len) * 8, at = 0;

	for (size_t bit = first * 6; bit < end; bit += 6) {
		int mask, want = base64_want(secret, shift, bit, &mask), got;

		while (bit > first * 6 && at < len && (text[at] == '\n' || text[at] == '\r'))
			at++;
		got = at < len ? base64_value(text[at]) : -1;
		if (got < 0 || (got & mask) != want)
			return 0;
		at++;
	}
	return at;
}

static size_t match_base64_0(const struct redact_secret *secret, const unsigned char *text,
			     size_t len)
{
	return match_base64(secret, 0, text, len);
}

static size_t match_base64_1(const struct redact_secret *secret, const unsigned char *text,
			     size_t len)
{
	return match_base64(secret, 1, text, len);
}

static size_t match_base64_2(const struct redact_secret *secret, const unsigned char *text,
			     size_t len)
{
	return match_base64(secret, 2, text, len);
}

/* Plain text first: it is its own spelling in most encodings. */
static const struct {
	const char *name;
	match_fn match;
} forms[] = {
	{ "raw", match_raw },
	{ "shell", match_shell },
	{ "url", match_url },
	{ "json", match_json },
	{ "hex", match_hex },
	{ "base64", match_base64_0 },
	{ "base64", match_base64_1 },
	{ "base64", match_base64_2 },
};

size_t redact_match(const struct redact_secret *secret, const unsigned char *text, size_t len,
		    const char **ret_form)
{
	size_t longest = 0;

	for (size_t i = 0; secret->len && i < SP_COUNT(forms); i++) {
		size_t n = forms[i].match(secret, text, len);

		if (n <= longest)
			continue;
		longest = n;
		if (ret_form)
			*ret_form = forms[i].name;
	}
	return longest;
}

void redact_starts(const struct redact_secret *secret, bool starts[256])
{
	unsigned char first = secret->bytes[0];

	/* The marks with which an escape begins, for any first byte. */
	starts[first] = starts['\''] = starts['\\'] = starts['%'] = starts['+'] = true;
	for (int c = 0; c < 256; c++) {
		if (hex_digit((unsigned char)c) == first >> 4)
			starts[c] = true;
		for (size_t shift = 0; shift < 3; shift++) {
			int value = base64_value((unsigned char)c), mask;
			int want = base64_want(secret, shift, shift * 8 / 6 * 6, &mask);

			if (value >= 0 && (value & mask) == want)
				starts[c] = true;
		}
	}
}

static void add_pair(unsigned char pairs[REDACT_PAIRS], int a, int b)
{
	unsigned pair = (unsigned)a << 8 | (unsigned)b;

	pairs[pair >> 3] |= (unsigned char)(1u << (pair & 7));
}

/* After `a`, the secret's second byte as it is or behind one of the marks that escape it. */
static void add_second(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS], int a)
{
	add_pair(pairs, a, secret->bytes[1]);
	add_pair(pairs, a, '\\');
	add_pair(pairs, a, '%');
	add_pair(pairs, a, '\'');
	add_pair(pairs, a, '+');
}

static void add_escapes(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS])
{
	unsigned char first = secret->bytes[0];

	add_pair(pairs, '\\', first);
	add_pair(pairs, '\\', 'u');
	for (int c = 0; c < 256; c++) {
		if (json_short((unsigned char)c) == first)
			add_pair(pairs, '\\', c);
		if (hex_digit((unsigned char)c) == first >> 4)
			add_pair(pairs, '%', c);
	}
	if (first == ' ')
		add_second(secret, pairs, '+');
	if (first == '\'') {
		add_pair(pairs, '\'', '\\');
		add_pair(pairs, '\'', '"');
	}
}

static void add_hex(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS])
{
	unsigned char first = secret->bytes[0];

	for (int a = 0; a < 256; a++) {
		if (hex_digit((unsigned char)a) != first >> 4)
			continue;
		for (int b = 0; b < 256; b++)
			if (hex_digit((unsigned char)b) == (first & 15))
				add_pair(pairs, a, b);
	}
}

/* Six bits of an encoding and which of them are the secret's. */
struct sextet {
	int want, mask;
};

static bool is_sextet(const struct sextet *sextet, int c)
{
	int got = base64_value((unsigned char)c);

	return got >= 0 && (got & sextet->mask) == sextet->want;
}

static void add_base64(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS])
{
	for (size_t shift = 0; shift < 3; shift++) {
		size_t bit = shift * 8 / 6 * 6;
		struct sextet first, second;

		first.want = base64_want(secret, shift, bit, &first.mask);
		second.want = base64_want(secret, shift, bit + 6, &second.mask);
		for (int a = 0; a < 256; a++) {
			if (!is_sextet(&first, a))
				continue;
			/* base64(1) may break the line here. */
			add_pair(pairs, a, '\n');
			add_pair(pairs, a, '\r');
			for (int b = 0; b < 256; b++)
				if (is_sextet(&second, b))
					add_pair(pairs, a, b);
		}
	}
}

void redact_pairs(const struct redact_secret *secret, unsigned char pairs[REDACT_PAIRS])
{
	add_second(secret, pairs, secret->bytes[0]);
	add_escapes(secret, pairs);
	add_hex(secret, pairs);
	add_base64(secret, pairs);
}
