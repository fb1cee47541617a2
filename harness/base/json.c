/* SPDX-License-Identifier: MIT */
#include <base/json.h>

#include <stdlib.h>
#include <string.h>

#include <base/utf8.h>

/* 2^53: beyond it a double no longer holds every integer. */
#define MAX_INTEGER "9007199254740992"
#define MAX_DOUBLE 9007199254740992.0
/* cJSON copies a number into a buffer of 64 bytes. */
#define MAX_NUMBER 63

/* A key of an open object, as it stands in the text. */
struct key {
	uint32_t offset;
	uint32_t len;
};

struct scan {
	const char *text;
	size_t len;
	size_t at;
	int depth;
	/* Keys of all open objects, those of the innermost one last. */
	struct key *keys;
	size_t n_keys;
	size_t size_keys;
	struct sp_error *err;
};

/* The text itself is never quoted: it may hold anything, secrets too. */
static int refuse(struct scan *s, size_t at, const char *reason)
{
	return sp_error_set(s->err, SP_PROTOCOL, "not acceptable JSON at byte %zu: %s", at, reason);
}

static int peek(const struct scan *s)
{
	return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static void skip_space(struct scan *s)
{
	while (s->at < s->len && memchr(" \t\r\n", s->text[s->at], 4))
		s->at++;
}

/* Value of four hex digits at `text`, or -1. */
static int hex4(const char *text, size_t len)
{
	int v = 0;

	if (len < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9' ? c - '0' :
			    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 :
						   -1;

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

/* Steps over one \u escape, or a pair of them; `s->at` is at the backslash. */
static int scan_unicode(struct scan *s)
{
	size_t start = s->at;
	int unit = hex4(s->text + start + 2, s->len - start - 2);
	int low = -1;

	if (unit < 0)
		return refuse(s, start, "\\u needs four hex digits");
	if (!unit)
		return refuse(s, start, "an escaped NUL");
	s->at += 6;
	if (unit < 0xD800 || unit > 0xDFFF)
		return 0;
	if (unit < 0xDC00 && s->len - s->at >= 6 && s->text[s->at] == '\\' &&
	    s->text[s->at + 1] == 'u')
		low = hex4(s->text + s->at + 2, 4);
	if (low < 0xDC00 || low > 0xDFFF)
		return refuse(s, start, "a lone surrogate");
	s->at += 6;
	return 0;
}

static int scan_escape(struct scan *s)
{
	if (s->at + 1 >= s->len)
		return refuse(s, s->at, "the text ends within an escape");
	if (s->text[s->at + 1] == 'u')
		return scan_unicode(s);
	if (!memchr("\"\\/bfnrt", s->text[s->at + 1], 8))
		return refuse(s, s->at, "an unknown escape");
	s->at += 2;
	return 0;
}

/* Characters that a string may hold and that are no escape: nearly all there is. */
static const bool plain[256] = {
	[' ' ... '!'] = true, ['#' ... '['] = true, [']' ... 0x7f] = true,
};

static int scan_string(struct scan *s)
{
	size_t start = s->at++;

	for (;;) {
		int c;
		bool valid;
		size_t step;
		int rc;

		while (s->at < s->len && plain[(unsigned char)s->text[s->at]])
			s->at++;
		c = peek(s);
		if (c < 0)
			return refuse(s, start, "a string without its end");
		if (c == '"')
			break;
		if (c < 0x20)
			return refuse(s, s->at, "a control character in a string");
		if (c == '\\') {
			rc = scan_escape(s);
			if (rc)
				return rc;
			continue;
		}
		step = sp_utf8_next(s->text + s->at, s->len - s->at, &valid);
		if (!valid)
			return refuse(s, s->at, "not valid UTF-8");
		s->at += step;
	}
	s->at++;
	return 0;
}

static size_t scan_digits(struct scan *s)
{
	size_t start = s->at;

	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return s->at - start;
}

/* Decimal exponent after 'e', saturated. */
static long parse_exponent(const char *text, size_t len)
{
	bool negative = len && *text == '-';
	long v = 0;

	for (size_t i = len && (*text == '-' || *text == '+'); i < len; i++)
		if (v < 100000)
			v = v * 10 + (text[i] - '0');
	return negative ? -v : v;
}

/*
 * True when the number, which is well-formed, lies beyond 2^53. Done on the
 * digits, since a double has rounded already and strtod() asks the locale.
 */
static bool beyond_exact(const char *text, size_t len)
{
	char digits[16] = "0000000000000000";
	bool fraction = false;
	bool integer = true;
	/* Where the point stands after the first digit that counts: 0.DIGITS * 10^point. */
	long point = 0;
	size_t n = 0;

	for (size_t i = *text == '-'; i < len; i++) {
		if (text[i] == '.') {
			fraction = true;
			integer = false;
		} else if (text[i] == 'e' || text[i] == 'E') {
			integer = false;
			if (n)
				point += parse_exponent(text + i + 1, len - i - 1);
			break;
		} else if (!n && text[i] == '0') {
			point -= fraction;
		} else {
			point += !fraction;
			if (n < sizeof(digits))
				digits[n] = text[i];
			n++;
		}
	}
	if (!n || point != 16)
		return n && point > 16;
	/* A fraction may round up to the limit, so only an integer may be equal to it. */
	return memcmp(digits, MAX_INTEGER, 16) >= (integer ? 1 : 0);
}

static int scan_number(struct scan *s)
{
	size_t start = s->at;

	s->at += peek(s) == '-';
	if (peek(s) == '0')
		s->at++;
	else if (!scan_digits(s))
		return refuse(s, start, "not a value");
	if (peek(s) == '.') {
		s->at++;
		if (!scan_digits(s))
			return refuse(s, start, "a number without digits after its point");
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		s->at += peek(s) == '-' || peek(s) == '+';
		if (!scan_digits(s))
			return refuse(s, start, "a number without digits in its exponent");
	}
	if (s->at - start > MAX_NUMBER)
		return refuse(s, start, "a number of more than 63 characters");
	if (beyond_exact(s->text + start, s->at - start))
		return refuse(s, start, "a number beyond 2^53");
	return 0;
}

static int scan_word(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if (s->len - s->at >= n && !memcmp(s->text + s->at, words[i], n)) {
			s->at += n;
			return 0;
		}
	}
	return refuse(s, s->at, s->at < s->len ? "not a value" : "the text ends too early");
}

/* Next UTF-16 unit or raw byte (told apart by bit 16) of a key's inside; -1 at its end. */
static int key_unit(const char *text, size_t len, size_t *at)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	char c;

	if (*at >= len)
		return -1;
	c = text[(*at)++];
	if (c != '\\')
		return (unsigned char)c;
	c = text[(*at)++];
	if (c != 'u')
		return to[strchr(from, c) - from];
	*at += 4;
	return 0x10000 | hex4(text + *at - 4, 4);
}

/* Next byte of the UTF-8 form of a key; `queue` holds what one escape yields. */
struct key_reader {
	const char *text;
	size_t len;
	size_t at;
	unsigned char queue[4];
	size_t n_queue;
	size_t at_queue;
};

static int key_byte(struct key_reader *r)
{
	int unit;
	unsigned v;

	if (r->at_queue < r->n_queue)
		return r->queue[r->at_queue++];
	unit = key_unit(r->text, r->len, &r->at);
	if (unit < 0x10000)
		return unit;
	v = (unsigned)unit & 0xFFFF;
	if (v >= 0xD800 && v <= 0xDBFF) {
		unsigned low = (unsigned)key_unit(r->text, r->len, &r->at) & 0xFFFF;

		v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
	}
	r->at_queue = 0;
	r->n_queue = 0;
	if (v < 0x80)
		return (int)v;
	if (v < 0x800) {
		r->queue[r->n_queue++] = (unsigned char)(0xC0 | v >> 6);
	} else {
		if (v < 0x10000) {
			r->queue[r->n_queue++] = (unsigned char)(0xE0 | v >> 12);
		} else {
			r->queue[r->n_queue++] = (unsigned char)(0xF0 | v >> 18);
			r->queue[r->n_queue++] = (unsigned char)(0x80 | (v >> 12 & 63));
		}
		r->queue[r->n_queue++] = (unsigned char)(0x80 | (v >> 6 & 63));
	}
	r->queue[r->n_queue++] = (unsigned char)(0x80 | (v & 63));
	return r->queue[r->at_queue++];
}

/* Order of two keys by the bytes that they stand for, however they are escaped. */
static int compare_keys(const void *a, const void *b, void *text)
{
	const struct key *left = a, *right = b;
	struct key_reader l = { .text = (const char *)text + left->offset, .len = left->len };
	struct key_reader r = { .text = (const char *)text + right->offset, .len = right->len };

	for (;;) {
		int x = key_byte(&l), y = key_byte(&r);

		if (x != y)
			return x < y ? -1 : 1;
		if (x < 0)
			return 0;
	}
}

static int push_key(struct scan *s, size_t offset, size_t len)
{
	if (s->n_keys == s->size_keys) {
		size_t size = s->size_keys ? 2 * s->size_keys : 64;
		struct key *keys = reallocarray(s->keys, size, sizeof(*keys));

		if (!keys)
			return sp_error_set(s->err, SP_INTERNAL, "no memory to read JSON");
		s->keys = keys;
		s->size_keys = size;
	}
	s->keys[s->n_keys++] = (struct key){ (uint32_t)offset, (uint32_t)len };
	return 0;
}

/*
 * Steps over the closing bracket, looks for equal keys among those from
 * `first` on, and forgets them. Sorting keeps hostile input cheap.
 */
static int close_nested(struct scan *s, size_t first)
{
	struct key *keys = s->keys + first;
	size_t n = s->n_keys - first;

	s->n_keys = first;
	s->depth--;
	s->at++;
	if (n < 2)
		return 0;
	qsort_r(keys, n, sizeof(*keys), compare_keys, (void *)s->text);
	for (size_t i = 1; i < n; i++)
		if (!compare_keys(&keys[i - 1], &keys[i], (void *)s->text))
			return refuse(s,
				      keys[i - 1].offset > keys[i].offset ? keys[i - 1].offset :
									    keys[i].offset,
				      "a key that its object has already");
	return 0;
}

static int scan_value(struct scan *s);

static int scan_member(struct scan *s)
{
	size_t start;
	int rc;

	skip_space(s);
	start = s->at;
	if (peek(s) != '"')
		return refuse(s, start, "a key in quotes was expected");
	rc = scan_string(s);
	if (!rc)
		rc = push_key(s, start + 1, s->at - start - 2);
	if (rc)
		return rc;
	skip_space(s);
	if (peek(s) != ':')
		return refuse(s, s->at, "':' was expected");
	s->at++;
	return scan_value(s);
}

/* Scans an object or array, from its opening bracket on. */
static int scan_nested(struct scan *s, char close)
{
	size_t first = s->n_keys;
	size_t start = s->at++;

	if (++s->depth > SP_JSON_DEPTH)
		return refuse(s, start, "nested too deeply");
	skip_space(s);
	if (peek(s) != close) {
		for (;;) {
			int rc = close == '}' ? scan_member(s) : scan_value(s);

			if (rc)
				return rc;
			skip_space(s);
			if (peek(s) != ',')
				break;
			s->at++;
		}
	}
	if (peek(s) != close)
		return refuse(s, s->at, s->at < s->len ? "',' or the closing bracket was expected" :
							 "the text ends too early");
	return close_nested(s, first);
}

static int scan_value(struct scan *s)
{
	skip_space(s);
	switch (peek(s)) {
	case '{':
		return scan_nested(s, '}');
	case '[':
		return scan_nested(s, ']');
	case '"':
		return scan_string(s);
	case '-':
	case '0' ... '9':
		return scan_number(s);
	default:
		return scan_word(s);
	}
}

int sp_json_scan(const char *text, size_t len, size_t max_len, struct sp_error *err)
{
	struct scan s = { .text = text, .len = len, .err = err };
	int rc;

	if (len > max_len || len > UINT32_MAX)
		return sp_error_set(err, SP_PROTOCOL,
				    "a JSON text of %zu bytes; at most %zu are accepted", len,
				    max_len < UINT32_MAX ? max_len : UINT32_MAX);
	rc = scan_value(&s);
	if (!rc) {
		skip_space(&s);
		if (s.at < len)
			rc = refuse(&s, s.at, "something follows the value");
	}
	free(s.keys);
	return rc;
}

int sp_json_parse(const char *text, size_t len, size_t max_len, cJSON **ret_json,
		  struct sp_error *err)
{
	int rc = sp_json_scan(text, len, max_len, err);
	cJSON *json;

	if (rc)
		return rc;
	json = cJSON_ParseWithLength(text, len);
	if (!json)
		return sp_error_set(err, SP_INTERNAL, "no memory to read JSON of %zu bytes", len);
	*ret_json = json;
	return 0;
}

const char *sp_json_str(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

bool sp_json_int(const cJSON *object, const char *name, int64_t *ret)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	int64_t value;

	if (!cJSON_IsNumber(item) || item->valuedouble > MAX_DOUBLE ||
	    item->valuedouble < -MAX_DOUBLE)
		return false;
	value = (int64_t)item->valuedouble;
	if ((double)value != item->valuedouble)
		return false;
	*ret = value;
	return true;
}

bool sp_json_bool(const cJSON *object, const char *name, bool *ret)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsBool(item))
		return false;
	*ret = cJSON_IsTrue(item);
	return true;
}

void sp_json_done(cJSON **json)
{
	cJSON_Delete(*json);
	*json = NULL;
}
