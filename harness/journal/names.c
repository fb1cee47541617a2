/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <string.h>
#include <strings.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/sha256.h>
#include <base/utf8.h>
#include <sandproof/error.h>

/* Longest token; a longer one keeps its head and gets a hash. */
#define TOKEN_MAX 200
#define HASH_LEN 16
#define HEAD_LEN (TOKEN_MAX - 1 - HASH_LEN)
/* A run id grows threefold at most. */
#define TOKEN_CEILING (256 * 1024 * 1024)

static const char nonce_prefix[] = "tanstack-ai-sandbox/journal-exit-sentinel/v1:";

static bool is_literal(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-';
}

/* Names that some file systems keep for devices; the token would be literal. */
static bool is_reserved(const char *token)
{
	static const char *const names[] = { "CON", "PRN", "AUX", "NUL" };

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcasecmp(token, names[i]))
			return true;
	return (!strncasecmp(token, "COM", 3) || !strncasecmp(token, "LPT", 3)) &&
	       token[3] >= '1' && token[3] <= '9' && !token[4];
}

static void add_escaped(struct sp_buf *out, const char *text, size_t len, bool all)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!all && is_literal(c))
			sp_buf_addc(out, (char)c);
		else
			sp_buf_addf(out, "_%02x", c);
	}
}

char *sp_journal_encode(const char *run_id, size_t len)
{
	struct sp_buf token SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TOKEN_CEILING);
	char hash[SP_SHA256_HEX];

	if (!len)
		return NULL;
	add_escaped(&token, run_id, len, false);
	if (is_reserved(sp_buf_str(&token))) {
		sp_buf_clear(&token);
		add_escaped(&token, run_id, len, true);
	}
	if (token.len > TOKEN_MAX) {
		if (sp_sha256_hex(run_id, len, hash))
			return NULL;
		token.len = HEAD_LEN;
		sp_buf_addf(&token, "-%.*s", HASH_LEN, hash);
	}
	return sp_buf_take(&token, NULL);
}

/* Length of the name without one of the two endings, 0 without one. */
static size_t token_len(const char *file)
{
	static const char *const endings[] = { SP_JOURNAL_ENDING, SP_JOURNAL_STDERR_ENDING };
	size_t len = strlen(file);

	for (size_t i = 0; i < SP_COUNT(endings); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && !strcmp(file + len - n, endings[i]))
			return len - n;
	}
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

static int unescape(const char *token, size_t len, struct sp_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		if (token[i] != '_') {
			sp_buf_addc(out, token[i]);
			continue;
		}
		if (i + 2 >= len || hex_digit(token[i + 1]) < 0 || hex_digit(token[i + 2]) < 0)
			return SP_INVALID;
		sp_buf_addc(out, (char)(hex_digit(token[i + 1]) << 4 | hex_digit(token[i + 2])));
		i += 2;
	}
	return out->error ? SP_INTERNAL : 0;
}

int sp_journal_decode(const char *file, struct sp_bytes *ret_run_id)
{
	struct sp_buf id SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TOKEN_MAX);
	char *again SP_FREE = NULL;
	size_t len = token_len(file);

	if (!len || len > TOKEN_MAX)
		return SP_INVALID;
	if (unescape(file, len, &id) || !sp_utf8_valid(sp_buf_str(&id), id.len))
		return SP_INVALID;
	/*
	 * A cut name decodes to something else than its run, and several spellings of
	 * one id decode alike: only the id's own name may come back.
	 */
	again = sp_journal_encode(sp_buf_str(&id), id.len);
	if (!again || strlen(again) != len || strncmp(again, file, len))
		return SP_INVALID;
	if (len == TOKEN_MAX && file[HEAD_LEN] == '-' &&
	    strspn(file + HEAD_LEN + 1, "0123456789abcdef") >= HASH_LEN)
		return SP_INVALID;
	return sp_buf_take_bytes(&id, ret_run_id) ? SP_INTERNAL : 0;
}

int sp_journal_nonce(const char *run_id, size_t len, char ret_nonce[33])
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TOKEN_CEILING);
	char hash[SP_SHA256_HEX];

	sp_buf_adds(&text, nonce_prefix);
	if (sp_buf_add(&text, run_id, len) || sp_sha256_hex(text.data, text.len, hash))
		return SP_INTERNAL;
	memcpy(ret_nonce, hash, 32);
	ret_nonce[32] = '\0';
	return 0;
}
