/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <string.h>
#include <strings.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/sha256.h>

/* Longest token; a longer one keeps its head and a part of a digest. */
#define TOKEN_MAX 200
#define TOKEN_HEAD 183
#define TOKEN_HASH 16
#define NONCE_LEN 32
#define NONCE_PREFIX "tanstack-ai-sandbox/journal-exit-sentinel/v1:"
#define NAMES_CEILING (64 * 1024)

static bool stays(char c)
{
	return c && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", c);
}

static void escape(const char *text, bool all, struct sp_buf *out)
{
	for (const char *c = text; *c; c++) {
		if (!all && stays(*c))
			sp_buf_addc(out, *c);
		else
			sp_buf_addf(out, "_%02x", (unsigned char)*c);
	}
}

/* Names that one widespread file system keeps for devices. */
static bool is_reserved(const char *token)
{
	static const char *const words[] = { "CON", "PRN", "AUX", "NUL" };

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (!strcasecmp(token, words[i]))
			return true;
	return strlen(token) == 4 && token[3] >= '1' && token[3] <= '9' &&
	       (!strncasecmp(token, "COM", 3) || !strncasecmp(token, "LPT", 3));
}

static const char *digest(struct sp_case *t, const char *text, char hex[SP_SHA256_HEX])
{
	if (sp_sha256_hex(text, strlen(text), hex)) {
		sp_case_error(t, SP_HERE, "a digest could not be computed");
		hex[0] = '\0';
	}
	return hex;
}

const char *journal_token(struct sp_case *t, const char *run_id)
{
	struct sp_buf token SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NAMES_CEILING);
	char hex[SP_SHA256_HEX];

	escape(run_id, false, &token);
	if (is_reserved(sp_buf_str(&token))) {
		sp_buf_clear(&token);
		escape(run_id, true, &token);
	}
	if (token.len <= TOKEN_MAX)
		return sp_case_format(t, "%s", sp_buf_str(&token));
	return sp_case_format(t, "%.*s-%.*s", TOKEN_HEAD, sp_buf_str(&token), TOKEN_HASH,
			      digest(t, run_id, hex));
}

const char *journal_nonce(struct sp_case *t, const char *run_id)
{
	char hex[SP_SHA256_HEX];
	const char *text = sp_case_format(t, "%s%s", NONCE_PREFIX, run_id);

	return sp_case_format(t, "%.*s", NONCE_LEN, digest(t, text, hex));
}

const char *journal_mark(struct sp_case *t, const char *run_id, int code)
{
	return sp_case_format(t, "{\"__exit\":%d,\"__nonce\":\"%s\"}", code,
			      journal_nonce(t, run_id));
}

static void add_path(const char *dir, const char *token, const char *ending, struct sp_buf *out)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NAMES_CEILING);

	sp_buf_addf(&path, "%s/%s.%s", dir, token, ending);
	sp_buf_add_shell(out, sp_buf_str(&path));
}

const char *journal_form(struct sp_case *t, const char *dir, const char *run_id,
			 const char *command)
{
	struct sp_buf form SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	const char *token = journal_token(t, run_id);

	sp_buf_adds(&form, "mkdir -p ");
	sp_buf_add_shell(&form, dir);
	sp_buf_addf(&form,
		    " && { ( %s ); printf '{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' \"$?\"; } >> ",
		    command, journal_nonce(t, run_id));
	add_path(dir, token, "ndjson", &form);
	sp_buf_adds(&form, " 2>> ");
	add_path(dir, token, "err", &form);
	return sp_case_format(t, "%s", sp_buf_str(&form));
}
