/* SPDX-License-Identifier: MIT */
#include <ensure/canonical.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>

#define UNDEFINED "undefined"
/* As long as the word, so that offsets stay. */
#define STAND_IN "null     "

/* Reads a text that the scanner has accepted: nothing here checks the grammar again. */
struct reader {
	const char *at;
	enum sp_undefined undefined;
	int error;
};

/* ---- Numbers, as ECMAScript's Number::toString prints them ---- */

/* The fewest digits that read back as the same number. Returns the exponent of the first digit. */
static int shortest(double value, char ret_digits[20])
{
	char text[40];
	size_t n = 0;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *p = text; *p != 'e'; p++)
		if (*p != '.')
			ret_digits[n++] = *p;
	ret_digits[n] = '\0';
	return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* `point` is where the decimal point stands, counted in digits from the first. */
static void add_positional(struct sp_buf *out, const char *digits, int point)
{
	int n = (int)strlen(digits);

	if (point <= 0)
		sp_buf_addf(out, "0.%.*s%s", -point, "000000", digits);
	else if (point >= n)
		sp_buf_addf(out, "%s%.*s", digits, point - n, "000000000000000000000");
	else
		sp_buf_addf(out, "%.*s.%s", point, digits, digits + point);
}

static void add_number(struct sp_buf *out, const char *text)
{
	double value = strtod(text, NULL);
	char digits[20];
	int exponent;

	/* Minus zero has no sign there. */
	if (value == 0) {
		sp_buf_addc(out, '0');
		return;
	}
	if (value < 0)
		sp_buf_addc(out, '-');
	exponent = shortest(value < 0 ? -value : value, digits);
	if (exponent >= -6 && exponent <= 20)
		add_positional(out, digits, exponent + 1);
	else
		sp_buf_addf(out, "%c%s%se%+d", digits[0], digits[1] ? "." : "", digits + 1,
			    exponent);
}

/* ---- Texts ---- */

static unsigned hex4(const char *text)
{
	char digits[5] = { text[0], text[1], text[2], text[3], 0 };

	return (unsigned)strtoul(digits, NULL, 16);
}

static void add_utf8(struct sp_buf *out, unsigned c)
{
	if (c < 0x80) {
		sp_buf_addc(out, (char)c);
	} else if (c < 0x800) {
		sp_buf_addc(out, (char)(0xC0 | c >> 6));
		sp_buf_addc(out, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		sp_buf_addc(out, (char)(0xE0 | c >> 12));
		sp_buf_addc(out, (char)(0x80 | (c >> 6 & 63)));
		sp_buf_addc(out, (char)(0x80 | (c & 63)));
	} else {
		sp_buf_addc(out, (char)(0xF0 | c >> 18));
		sp_buf_addc(out, (char)(0x80 | (c >> 12 & 63)));
		sp_buf_addc(out, (char)(0x80 | (c >> 6 & 63)));
		sp_buf_addc(out, (char)(0x80 | (c & 63)));
	}
}

/* Reads what stands after a backslash. */
static void read_escape(struct reader *r, struct sp_buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *plain = strchr(from, *r->at);
	unsigned c;

	if (plain && *r->at != 'u') {
		sp_buf_addc(out, to[plain - from]);
		r->at++;
		return;
	}
	c = hex4(r->at + 1);
	r->at += 5;
	if (c >= 0xD800 && c < 0xDC00) {
		c = 0x10000 + ((c - 0xD800) << 10) + (hex4(r->at + 2) - 0xDC00);
		r->at += 6;
	}
	add_utf8(out, c);
}

/* Reads a text, its escapes resolved. */
static void read_text(struct reader *r, struct sp_buf *out)
{
	for (r->at++; *r->at != '"';) {
		if (*r->at != '\\') {
			sp_buf_addc(out, *r->at++);
			continue;
		}
		r->at++;
		read_escape(r, out);
	}
	r->at++;
}

static void add_text(struct reader *r, struct sp_buf *out)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_CANONICAL_MAX);

	read_text(r, &text);
	sp_buf_add_json(out, sp_buf_str(&text), text.len);
	r->error = r->error ? r->error : text.error;
}

/* ---- Values ---- */

struct member {
	struct sp_buf key;
	struct sp_buf value;
};

struct members {
	struct member *items;
	size_t len;
};

static void members_done(struct members *members)
{
	for (size_t i = 0; i < members->len; i++) {
		sp_buf_done(&members->items[i].key);
		sp_buf_done(&members->items[i].value);
	}
	free(members->items);
}

/* UTF-16 sorts what needs two units (first bytes F0 to F4) before U+E000 to U+FFFF (EE and EF). */
static int weight(char c)
{
	unsigned char byte = (unsigned char)c;

	if (byte >= 0xF0)
		return byte - 2;
	return byte >= 0xEE ? byte + 8 : byte;
}

static int by_units(const void *a, const void *b)
{
	const struct sp_buf *x = &((const struct member *)a)->key;
	const struct sp_buf *y = &((const struct member *)b)->key;
	size_t n = x->len < y->len ? x->len : y->len;

	for (size_t i = 0; i < n; i++)
		if (x->data[i] != y->data[i])
			return weight(x->data[i]) - weight(y->data[i]);
	return (x->len > y->len) - (x->len < y->len);
}

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static void add_value(struct reader *r, struct sp_buf *out);

static struct member *new_member(struct reader *r, struct members *members)
{
	struct member *grown = reallocarray(members->items, members->len + 1, sizeof(*grown));

	if (!grown) {
		r->error = -ENOMEM;
		return NULL;
	}
	members->items = grown;
	grown[members->len] = (struct member){ SP_BUF_INIT(SP_CANONICAL_MAX),
					       SP_BUF_INIT(2 * SP_CANONICAL_MAX) };
	return &grown[members->len++];
}

/* Reads "key": value, up to what follows it. */
static void read_member(struct reader *r, struct members *members)
{
	struct member *member = new_member(r, members);

	if (!member)
		return;
	read_text(r, &member->key);
	skip_space(r);
	r->at++;
	skip_space(r);
	if (strncmp(r->at, UNDEFINED, strlen(UNDEFINED)) == 0) {
		r->at += strlen(UNDEFINED);
		sp_buf_adds(&member->value, UNDEFINED);
		if (r->undefined == SP_UNDEFINED_DROPPED) {
			sp_buf_done(&member->key);
			sp_buf_done(&member->value);
			members->len--;
		}
	} else {
		add_value(r, &member->value);
	}
	skip_space(r);
}

/* Reads all of an object. */
static void read_members(struct reader *r, struct members *members)
{
	for (r->at++, skip_space(r); !r->error && *r->at != '}';) {
		r->at += *r->at == ',';
		skip_space(r);
		read_member(r, members);
	}
	r->at++;
}

static void add_object(struct reader *r, struct sp_buf *out)
{
	struct members members SP_CLEANUP(members_done) = { NULL, 0 };

	read_members(r, &members);
	if (members.len)
		qsort(members.items, members.len, sizeof(*members.items), by_units);
	sp_buf_addc(out, '{');
	for (size_t i = 0; i < members.len; i++) {
		struct member *member = &members.items[i];

		if (i)
			sp_buf_addc(out, ',');
		sp_buf_add_json(out, sp_buf_str(&member->key), member->key.len);
		sp_buf_addc(out, ':');
		sp_buf_add(out, sp_buf_str(&member->value), member->value.len);
		r->error = r->error ? r->error : member->key.error;
		r->error = r->error ? r->error : member->value.error;
	}
	sp_buf_addc(out, '}');
}

static void add_array(struct reader *r, struct sp_buf *out)
{
	sp_buf_addc(out, '[');
	for (r->at++, skip_space(r); !r->error && *r->at != ']'; skip_space(r)) {
		if (*r->at == ',') {
			sp_buf_addc(out, ',');
			r->at++;
			skip_space(r);
		}
		add_value(r, out);
	}
	r->at++;
	sp_buf_addc(out, ']');
}

static void add_value(struct reader *r, struct sp_buf *out)
{
	size_t len;

	if (*r->at == '{') {
		add_object(r, out);
	} else if (*r->at == '[') {
		add_array(r, out);
	} else if (*r->at == '"') {
		add_text(r, out);
	} else {
		len = strcspn(r->at, ",]} \t\r\n");
		if (strchr("-0123456789", *r->at))
			add_number(out, r->at);
		else
			sp_buf_add(out, r->at, len);
		r->at += len;
	}
}

/* ---- The whole ---- */

/*
 * A copy in which the word is null where it stands for a member, so that
 * the scanner takes it for JSON.
 */
static char *masked(const char *text)
{
	char *copy = strdup(text);
	bool quoted = false;
	char before = 0;

	for (char *at = copy; at && *at; at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && before == ':' &&
			 strncmp(at, UNDEFINED, strlen(UNDEFINED)) == 0)
			memcpy(at, STAND_IN, strlen(STAND_IN));
		if (!strchr(" \t\r\n", *at))
			before = *at;
	}
	return copy;
}

static int scan(const char *what, const char *text, struct sp_error *err)
{
	struct sp_error own = SP_ERROR_INIT;
	char *copy SP_FREE = masked(text);
	size_t len = strlen(text);

	if (!copy)
		return sp_error_set(err, SP_INTERNAL, "no memory for the %s", what);
	if (sp_json_scan(copy, len, SP_CANONICAL_MAX, &own))
		return sp_error_set(err, SP_INVALID, "the %s is not the JSON it has to be: %s",
				    what, own.message);
	if (copy[strspn(copy, " \t\r\n")] != '{')
		return sp_error_set(err, SP_INVALID, "the %s has to be a JSON object", what);
	return 0;
}

int sp_canonical_object(const char *what, const char *text, enum sp_undefined undefined,
			struct sp_buf *out, struct sp_error *err)
{
	struct reader r = { text, undefined, 0 };
	int rc = scan(what, text, err);

	if (rc)
		return rc;
	skip_space(&r);
	add_value(&r, out);
	if (r.error || out->error)
		return sp_error_set(err, SP_INTERNAL, "no memory for the %s", what);
	return 0;
}

bool sp_canonical_has(const char *text, const char *member)
{
	struct members members SP_CLEANUP(members_done) = { NULL, 0 };
	struct reader r = { text, SP_UNDEFINED_KEPT, 0 };

	skip_space(&r);
	read_members(&r, &members);
	for (size_t i = 0; i < members.len; i++)
		if (strcmp(sp_buf_str(&members.items[i].key), member) == 0)
			return true;
	return false;
}
