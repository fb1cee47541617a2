/* SPDX-License-Identifier: MIT */
#include "sentinel.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>

/* The shortest form; the longest line that is parsed as JSON. */
#define CANONICAL_SIZE 80
#define PARSE_MAX (1024 * 1024)

/*
 * What is trimmed: ASCII white space and what Unicode calls a space, the byte order mark included.
 */
static size_t space_len(const char *text, size_t len, bool at_end)
{
	static const char *const wide[] = {
		"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
		"\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
		"\u2029", "\u202f", "\u205f", "\u3000", "\ufeff",
	};
	unsigned char c;

	if (!len)
		return 0;
	c = (unsigned char)(at_end ? text[len - 1] : text[0]);
	if (c == ' ' || (c >= '\t' && c <= '\r'))
		return 1;
	for (size_t i = 0; c >= 0x80 && i < SP_COUNT(wide); i++) {
		size_t n = strlen(wide[i]);

		if (n <= len && !memcmp(at_end ? text + len - n : text, wide[i], n))
			return n;
	}
	return 0;
}

static void trim(const char **text, size_t *len)
{
	size_t n;

	while ((n = space_len(*text, *len, false))) {
		*text += n;
		*len -= n;
	}
	while ((n = space_len(*text, *len, true)))
		*len -= n;
}

/*
 * A cheap test before the real one: the nonce as it is, or an escape, by which JSON could spell it.
 */
static bool may_be_sentinel(const char *line, size_t len, const char *nonce)
{
	return memmem(line, len, nonce, 32) ||
	       (memchr(line, '\\', len) && memmem(line, len, "\\u00", 4));
}

bool sp_journal_parse_sentinel(const char *line, size_t len, const char *nonce, int *ret_code)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *found;
	int64_t code;

	trim(&line, &len);
	if (!len || line[0] != '{' || !may_be_sentinel(line, len, nonce))
		return false;
	if (sp_json_parse(line, len, PARSE_MAX, &json, NULL))
		return false;
	found = sp_json_str(json, "__nonce");
	if (!found || strcmp(found, nonce) || !sp_json_int(json, "__exit", &code) ||
	    code < INT_MIN || code > INT_MAX)
		return false;
	*ret_code = (int)code;
	return true;
}

/* Reads the code of `{"__exit":N,"__nonce":` at `text`; -1 when it is not the canonical form. */
static int canonical_code(const char *text, size_t len, const char *nonce)
{
	char expected[CANONICAL_SIZE];
	int code = 0, n;
	size_t at = strlen("{\"__exit\":");

	if (len <= at)
		return -1;
	for (; at < len && text[at] >= '0' && text[at] <= '9' && code <= 255; at++)
		code = code * 10 + (text[at] - '0');
	n = snprintf(expected, sizeof(expected), "{\"__exit\":%d,\"__nonce\":\"%s\"}", code, nonce);
	return code <= 255 && (size_t)n == len && !memcmp(expected, text, len) ? code : -1;
}

bool sp_journal_fused_sentinel(const char *line, size_t len, const char *nonce, size_t *ret_at,
			       int *ret_code)
{
	/* One to three digits. */
	size_t shortest = strlen("{\"__exit\":0,\"__nonce\":\"\"}") + 32;

	/* Nearly every line ends otherwise. */
	if (len < shortest || memcmp(line + len - 2 - 32, nonce, 32))
		return false;
	for (size_t n = shortest; n < shortest + 3 && n < len; n++) {
		int code = canonical_code(line + len - n, n, nonce);

		if (code < 0)
			continue;
		*ret_at = len - n;
		*ret_code = code;
		return true;
	}
	return false;
}

/* The last exit in a tail; `*ret_code` may be written without one. */
static bool last_exit(const char *text, size_t len, bool whole, const char *nonce, int *ret_code)
{
	while (len) {
		const char *newline = memrchr(text, '\n', len);
		const char *line = newline ? newline + 1 : text;
		size_t n = len - (size_t)(line - text), at;

		if (whole || newline ? sp_journal_parse_sentinel(line, n, nonce, ret_code) :
				       (*ret_code = canonical_code(line, n, nonce)) >= 0)
			return true;
		if (sp_journal_fused_sentinel(line, n, nonce, &at, ret_code))
			return true;
		if (!newline)
			return false;
		len = (size_t)(newline - text);
	}
	return false;
}

bool sp_journal_find_exit(const char *text, size_t len, bool whole, const char *nonce,
			  int *ret_code)
{
	int code;

	if (!last_exit(text, len, whole, nonce, &code))
		return false;
	*ret_code = code;
	return true;
}
