/* SPDX-License-Identifier: MIT */
#include <cli/spec.h>

#include <string.h>
#include <sys/un.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/options.h>
#include <cli/text.h>
#include <redact/redact.h>
#include <runner/runner.h>

/* Words of a driver's command line. */
#define MAX_WORDS 256
#define SPEC_CEILING (128 * 1024)

#define PROVIDER (1u << SP_SUBJECT_PROVIDER)
#define STORE (1u << SP_SUBJECT_STORE)
#define LOCK (1u << SP_SUBJECT_LOCK)
#define JOURNAL (1u << SP_SUBJECT_JOURNAL)
#define ENSURE (1u << SP_SUBJECT_ENSURE)
#define PLATFORM (1u << SP_SUBJECT_PLATFORM)
/* Nobody but Render has a platform that can be reached. */
#define EVERY (PROVIDER | STORE | LOCK | JOURNAL | ENSURE)

/*
 * What follows the scheme's colon; `rest` is NULL without one. Each fills the spec or says what
 * is wrong.
 */
typedef int (*parse_fn)(const char *rest, struct cli_spec *spec, struct sp_error *err);

static int parse_bare(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_local(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_render(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_driver(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_socket(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_tcp(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_plugin(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_sqlite(const char *rest, struct cli_spec *spec, struct sp_error *err);
static int parse_postgres(const char *rest, struct cli_spec *spec, struct sp_error *err);

/* Every scheme: which kinds it can be, how it is written, and how it is read. */
static const struct row {
	const char *name;
	enum cli_scheme scheme;
	unsigned kinds;
	const char *form;
	const char *meaning;
	parse_fn parse;
} rows[] = {
	{ "bash", CLI_BASH, PROVIDER | PLATFORM, "bash",
	  "our fake of Render's API, started for the run", parse_bare },
	{ "local", CLI_LOCAL, PROVIDER, "local, local:poll, local:bare",
	  "processes of this machine, no isolation; :poll without background processes, :bare "
	  "without kill and signals",
	  parse_local },
	{ "render", CLI_RENDER, PROVIDER | PLATFORM, "render",
	  "the live service (RENDER_API_KEY, RENDER_WORKSPACE_ID); it bills", parse_render },
	{ "render", CLI_RENDER, 0, "render:URL, render:unix:PATH",
	  "the same API elsewhere, e.g. `sandproof fake-api`", parse_render },
	{ "memory", CLI_MEMORY, STORE | LOCK, "memory", "inside the process", parse_bare },
	{ "sqlite", CLI_SQLITE, STORE | LOCK, "sqlite, sqlite:PATH",
	  "a file, without PATH in a temporary folder", parse_sqlite },
	{ "postgres", CLI_POSTGRES, STORE | LOCK, "postgres:CONNINFO, postgres:@FILE",
	  "a server, its connection text given or read from FILE", parse_postgres },
	{ "ours", CLI_OURS, JOURNAL | ENSURE, "ours", "our own library", parse_bare },
	{ "driver", CLI_DRIVER, EVERY, "driver:COMMAND…",
	  "a program that speaks the driver protocol on stdio; words as in argv, no shell",
	  parse_driver },
	{ "driver+unix", CLI_DRIVER_UNIX, EVERY, "driver+unix:PATH",
	  "the same on a Unix socket, e.g. under a debugger", parse_socket },
	{ "driver+tcp", CLI_DRIVER_TCP, EVERY, "driver+tcp:127.0.0.1:PORT",
	  "the same on a loopback port", parse_tcp },
	{ "plugin", CLI_PLUGIN, EVERY, "plugin:FILE.so, plugin:FILE.so:CONFIG",
	  "a shared object in this process", parse_plugin },
};

void cli_spec_done(struct cli_spec *spec)
{
	for (size_t i = 0; i < spec->n_words; i++)
		free(spec->words[i]);
	free(spec->words);
	free(spec->target);
	free(spec->config);
	*spec = (struct cli_spec)CLI_SPEC_INIT;
}

static int keep(char **field, const char *text, struct sp_error *err)
{
	*field = strdup(text);
	return *field ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

static int parse_bare(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	(void)spec;
	return rest ? sp_error_set(err, SP_INVALID, "takes nothing after its name, not \":%s\"",
				   rest) :
		      0;
}

static int parse_local(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	if (!rest)
		return 0;
	if (!strcmp(rest, "bare"))
		return keep(&spec->target, rest, err);
	if (strcmp(rest, "poll"))
		return sp_error_set(err, SP_INVALID,
				    "has the variants local:poll and local:bare; \"%s\" is none",
				    rest);
	spec->scheme = CLI_LOCAL_POLL;
	return 0;
}

static int check_socket_path(const char *path, struct sp_error *err)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (!*path)
		return sp_error_set(err, SP_INVALID, "needs the path of a socket");
	if (strlen(path) > room)
		return sp_error_set(
			err, SP_INVALID,
			"has a socket path of %zu bytes; a Unix socket takes %zu: use a "
			"shorter path",
			strlen(path), room);
	return 0;
}

/* Length of the port and nothing else after ':', 1 to 65535. */
static bool is_port(const char *text)
{
	uint64_t port;

	return !cli_parse_number("", text, 1, 65535, &port, NULL);
}

/*
 * True when what stands before '/', '?', '#' or the end is a host on this machine, with or
 * without port.
 */
static bool is_loopback(const char *authority)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]" };
	size_t len = strcspn(authority, "/?#");

	for (size_t i = 0; i < SP_COUNT(hosts); i++) {
		size_t n = strlen(hosts[i]);
		char *port SP_FREE = NULL;

		if (len < n || strncmp(authority, hosts[i], n))
			continue;
		if (len == n)
			return true;
		port = strndup(authority + n + 1, len - n - 1);
		if (authority[n] == ':' && port && is_port(port))
			return true;
	}
	return false;
}

static int parse_render(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	int rc = 0;

	if (!rest)
		return 0;
	if (!strncmp(rest, "unix:", 5))
		rc = check_socket_path(rest + 5, err);
	else if (!strncmp(rest, "http://", 7))
		rc = is_loopback(rest + 7)
			     ? 0
			     : sp_error_set(err, SP_INVALID,
					    "speaks plain http only on loopback: a key "
					    "would be readable on the way; use https");
	else if (strncmp(rest, "https://", 8) || !rest[8] || strchr("/?#", rest[8]))
		rc = sp_error_set(err, SP_INVALID,
				  "needs https://HOST…, http://127.0.0.1:PORT/v1 or unix:PATH");
	return rc ? rc : keep(&spec->target, rest, err);
}

/*
 * Reads one word as an argv would be written: blanks part words, quotes and backslashes keep them
 * together.
 */
static const char *read_word(const char *at, struct sp_buf *word, struct sp_error *err)
{
	char quote = '\0';

	for (; *at && (quote || (*at != ' ' && *at != '\t' && *at != '\n')); at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"') {
			quote = quote ? '\0' : *at;
			continue;
		}
		if (*at == '\\' && quote != '\'' && at[1])
			at++;
		sp_buf_addc(word, *at);
	}
	if (!quote)
		return at;
	sp_error_set(err, SP_INVALID, "has a quote (%c) that is not closed", quote);
	return NULL;
}

static int add_word(struct cli_spec *spec, const char *word, struct sp_error *err)
{
	char **grown;

	if (spec->n_words == MAX_WORDS)
		return sp_error_set(err, SP_INVALID, "has more than %d words", MAX_WORDS);
	grown = reallocarray(spec->words, spec->n_words + 2, sizeof(*grown));
	if (!grown)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	spec->words = grown;
	spec->words[spec->n_words + 1] = NULL;
	if (keep(&spec->words[spec->n_words], word, err))
		return SP_INTERNAL;
	spec->n_words++;
	return 0;
}

static int parse_driver(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	const char *at = rest ? rest : "";

	for (at += strspn(at, " \t\n"); *at; at += strspn(at, " \t\n")) {
		struct sp_buf word SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SPEC_CEILING);
		int rc;

		at = read_word(at, &word, err);
		if (!at)
			return SP_INVALID;
		rc = word.error ? sp_error_set(err, SP_INVALID, "has a word that is too long") :
				  add_word(spec, sp_buf_str(&word), err);
		if (rc)
			return rc;
	}
	if (!spec->n_words || !*spec->words[0])
		return sp_error_set(err, SP_INVALID, "needs a command: driver:node my-driver.mjs");
	return 0;
}

static int parse_socket(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	int rc = check_socket_path(rest ? rest : "", err);

	return rc ? rc : keep(&spec->target, rest, err);
}

static int parse_tcp(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	const char *colon = rest ? strrchr(rest, ':') : NULL;

	if (!colon || !is_loopback(rest) || !is_port(colon + 1) || strpbrk(rest, "/?#"))
		return sp_error_set(
			err, SP_INVALID,
			"needs a loopback address with its port: driver+tcp:127.0.0.1:PORT");
	return keep(&spec->target, rest, err);
}

static int parse_plugin(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	const char *end = rest ? strstr(rest, ".so:") : NULL;
	size_t len = rest ? strlen(rest) : 0;

	if (end && end > rest) {
		spec->target = strndup(rest, (size_t)(end - rest) + 3);
		return spec->target ? keep(&spec->config, end + 4, err) :
				      sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	if (len < 4 || strcmp(rest + len - 3, ".so"))
		return sp_error_set(err, SP_INVALID, "needs a shared object: plugin:FILE.so");
	return keep(&spec->target, rest, err);
}

static int parse_sqlite(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	if (!rest)
		return 0;
	if (!*rest)
		return sp_error_set(
			err, SP_INVALID,
			"needs a path after its colon; without colon it uses a temporary "
			"folder");
	return keep(&spec->target, rest, err);
}

static int parse_postgres(const char *rest, struct cli_spec *spec, struct sp_error *err)
{
	if (!rest || !*rest || !strcmp(rest, "@"))
		return sp_error_set(
			err, SP_INVALID,
			"needs a connection text or its file: postgres:host=/run/postgresql "
			"dbname=x, or postgres:@FILE");
	spec->from_file = *rest == '@';
	return keep(&spec->target, rest + spec->from_file, err);
}

static const struct row *find_row(enum sp_subject_kind kind, const char *name, size_t len)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		if (rows[i].kinds & 1u << kind && strlen(rows[i].name) == len &&
		    !strncmp(rows[i].name, name, len))
			return &rows[i];
	return NULL;
}

static int unknown_scheme(enum sp_subject_kind kind, const char *text, struct sp_error *err)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = { NULL, 0 };
	char *word SP_FREE = strndup(text, strcspn(text, ":")), *near SP_FREE = NULL;
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		if (!(rows[i].kinds & 1u << kind))
			continue;
		cli_list_add(&names, rows[i].name);
		sp_buf_addf(&all, "%s%s", all.len ? ", " : "", rows[i].name);
	}
	near = word ? sp_nearest(word, names.items, names.len) : NULL;
	return sp_error_set(err, SP_INVALID,
			    "unknown %s \"%.80s\"; %s: %s (see `sandproof help providers`)",
			    sp_subject_kind_name(kind), word ? word : "",
			    near && *near ? "the nearest" : "there are",
			    near && *near ? near : sp_buf_str(&all));
}

int cli_spec_parse(enum sp_subject_kind kind, const char *text, struct cli_spec *ret_spec,
		   struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	struct sp_error why = SP_ERROR_INIT;
	const char *colon = strchr(text, ':');
	const struct row *row = find_row(kind, text, colon ? (size_t)(colon - text) : strlen(text));
	int rc;

	if (sp_redact_spec_has_secret(text))
		return sp_error_set(err, SP_INVALID,
				    "the %s SPEC holds a password or userinfo, which every process "
				    "of this machine could read: put it into the environment "
				    "(RENDER_API_KEY, PGPASSWORD, --driver-env NAME) or a file "
				    "(postgres:@FILE)",
				    sp_subject_kind_name(kind));
	if (!row)
		return unknown_scheme(kind, text, err);
	spec.scheme = row->scheme;
	rc = row->parse(colon ? colon + 1 : NULL, &spec, &why);
	if (rc)
		return sp_error_set(err, rc, "%s SPEC \"%.120s\": %s %s",
				    sp_subject_kind_name(kind), text, row->name, why.message);
	*ret_spec = spec;
	spec = (struct cli_spec)CLI_SPEC_INIT;
	return 0;
}

void cli_spec_help(enum sp_subject_kind kind, struct sp_buf *out)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		size_t start = out->len;
		/* The second form of a scheme has no kinds of its own. */
		unsigned kinds = rows[i].kinds ? rows[i].kinds : rows[i - 1].kinds;

		if (!(kinds & 1u << kind))
			continue;
		sp_buf_addf(out, "  %s", rows[i].form);
		cli_text_pad(out, start, 42);
		sp_buf_addf(out, "%s\n", rows[i].meaning);
	}
}
