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

/* The last '@' before something ends what may hold one; 0: none. */
static size_t last_at(const char *spec, size_t at, bool (*ends)(char c))
{
	size_t last = 0;

	for (; !ends(spec[at]); at++)
		if (spec[at] == '@')
			last = at;
	return last;
}

static bool ends_url(char c)
{
	return !c || strchr("'\"", c) || isspace((unsigned char)c);
}

/*
 * Whether what stands where a URL has its host may be the beginning of a user and a password that
 * holds what ends an authority: its last colon is followed by no port, or it is a database's URL,
 * whose path holds no '@'.
 */
static bool may_go_on(const char *spec, size_t scheme_end, size_t start)
{
	static const char database[] = "postgresql", alias[] = "postgres";
	size_t end = start, colon = 0;

	for (; !ends_authority(spec[end]); end++)
		if (spec[end] == ':' || spec[end] == ']')
			colon = end;
	if (colon && spec[colon] == ':' &&
	    colon + 1 + strspn(spec + colon + 1, "0123456789,") < end)
		return true;
	return (scheme_end >= strlen(database) &&
		!strncasecmp(spec + scheme_end - strlen(database), database, strlen(database))) ||
	       (scheme_end >= strlen(alias) &&
		!strncasecmp(spec + scheme_end - strlen(alias), alias, strlen(alias)));
}

/* Userinfo of a URL whose "://" stands at `at`. A password may hold '@', so the last one counts. */
static bool find_userinfo(const char *spec, size_t at, struct part *ret)
{
	size_t start = at + 3, last = last_at(spec, start, ends_authority);

	/* One with a '/' in it is refused by whoever reads the URL, and is a password all the same.
	 */
	if (!last && may_go_on(spec, at, start))
		last = last_at(spec, start, ends_url);
	if (!last)
		return false;
	*ret = (struct part){start, last - start};
	return true;
}

/*
 * True when the word that ends before `equals` names a secret, whatever precedes it
 * ("sslpassword", "PGPASSWORD").
 */
static bool is_secret_key(const char *spec, size_t equals)
{
	static const char *const keys[] = {"password", "passwd", "passphrase", "secret",
					   "token",    "apikey", "api_key",    "api-key"};

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
	*ret = (struct part){start, end - start};
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
