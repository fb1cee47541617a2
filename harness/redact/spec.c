/* SPDX-License-Identifier: MIT */
/* Secrets inside a SPEC: the userinfo of a URL, and key=value pairs whose key says so. */
#include <redact/redact.h>

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include <base/cleanup.h>

/* A SPEC is a word of a command line; this is far above any honest one. */
#define SPEC_CEILING (1024 * 1024)

/* Part of a SPEC that must not be shown. */
struct part {
	size_t start, len;
};

/* Ends of the authority of a URL. */
static bool ends_authority(char c)
{
	return !c || strchr("/?#'\"", c) || isspace((unsigned char)c);
}

/* Userinfo of a URL whose "://" stands at `at`. A password may hold '@', so the last one counts. */
static bool find_userinfo(const char *spec, size_t at, struct part *ret)
{
	size_t start = at + 3, end = start, last = 0;

	for (; !ends_authority(spec[end]); end++)
		if (spec[end] == '@')
			last = end;
	if (!last)
		return false;
	*ret = (struct part){ start, last - start };
	return true;
}

/*
 * True when the word that ends before `equals` names a secret, whatever precedes it
 * ("sslpassword", "PGPASSWORD").
 */
static bool is_secret_key(const char *spec, size_t equals)
{
	static const char *const keys[] = { "password", "passwd", "passphrase", "secret",
					    "token",	"apikey", "api_key",	"api-key" };

	while (equals && spec[equals - 1] == ' ')
		equals--;
	for (size_t i = 0; i < SP_COUNT(keys); i++) {
		size_t len = strlen(keys[i]);

		if (equals >= len && !strncasecmp(spec + equals - len, keys[i], len))
			return true;
	}
	return false;
}

/*
 * The value after the '=' at `equals`; quoted values run to their quote. Empty values hold
 * nothing.
 */
static bool find_value(const char *spec, size_t equals, struct part *ret)
{
	size_t start = equals + 1, end;

	while (spec[start] == ' ')
		start++;
	end = start;
	if (spec[start] == '\'' || spec[start] == '"') {
		for (end = ++start; spec[end] && spec[end] != spec[start - 1]; end++)
			if (spec[end] == '\\' && spec[end + 1])
				end++;
	} else {
		while (spec[end] && spec[end] != '&' && !isspace((unsigned char)spec[end]))
			end++;
	}
	*ret = (struct part){ start, end - start };
	return end > start;
}

static bool find_secret(const char *spec, size_t from, struct part *ret)
{
	for (size_t i = from; spec[i]; i++) {
		if (!strncmp(spec + i, "://", 3) && find_userinfo(spec, i, ret))
			return true;
		if (spec[i] == '=' && is_secret_key(spec, i) && find_value(spec, i, ret))
			return true;
	}
	return false;
}

bool sp_redact_spec_has_secret(const char *spec)
{
	struct part part;

	return find_secret(spec, 0, &part);
}

char *sp_redact_spec(const char *spec)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SPEC_CEILING);
	struct part part;
	size_t at = 0;

	while (find_secret(spec, at, &part)) {
		sp_buf_add(&out, spec + at, part.start - at);
		sp_buf_adds(&out, "[redacted]");
		at = part.start + part.len;
	}
	sp_buf_adds(&out, spec + at);
	return sp_buf_take(&out, NULL);
}
