/* SPDX-License-Identifier: MIT */
/*
 * The run's stdout is redirected and never piped (a pipe breaks with its
 * reader), and every read silences its stderr, since some platforms fold it
 * into stdout. Bounded reads are base64; the follow read has no filter, which would
 * hold lines back.
 */
#include "commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *text(const char *format, ...)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_BUF_COMMAND);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&out, format, args);
	va_end(args);
	return sp_buf_take(&out, NULL);
}

char *sp_journal_quote(const char *plain)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_add_shell(&out, plain);
	return sp_buf_take(&out, NULL);
}

/*
 * A comment, a here-document or a last backslash would swallow the wrapper that follows on the same
 * line, and the run would never look finished.
 */
static bool swallows(const char *command)
{
	size_t len = strlen(command);

	return strchr(command, '#') || strstr(command, "<<") ||
	       (len && command[len - 1] == '\\');
}

char *sp_journal_compose_start(const struct sp_journal_words *words, const char *command,
			       const char *nonce)
{
	return text("mkdir -p %s && { ( %s%s); printf '{\"__exit\":%%d,\"__nonce\":\"%s\"}\\n' "
		    "\"$?\"; } >> %s 2>> %s",
		    words->dir, command, swallows(command) ? "\n" : " ", nonce, words->journal,
		    words->stderr_file);
}

char *sp_journal_compose_prepare(const struct sp_journal_words *words)
{
	return text("mkdir -p %s && test -w %s || exit 1; test -e %s || exit 0; "
		    "test -f %s || exit 3; test ! -s %s || exit 5",
		    words->dir, words->dir, words->journal, words->journal, words->journal);
}

char *sp_journal_compose_look(const struct sp_journal_words *words, uint64_t from)
{
	const char *j = words->journal;

	if (!from)
		return text("test -e %s || exit 1; test -f %s || exit 3; test -r %s || exit 4", j,
			    j, j);
	return text("test -e %s || exit 1; test -f %s || exit 3; test -r %s || exit 4; "
		    "tail -c +%" PRIu64 " %s 2>/dev/null | head -c 1 | base64",
		    j, j, j, from, j);
}

char *sp_journal_compose_both(char *look, char *read, bool apart)
{
	char *both = look && read ? text("%s && %s%s", look, apart ? "echo . && " : "", read) :
				    NULL;

	free(look);
	free(read);
	return both;
}

char *sp_journal_compose_follow(const struct sp_journal_words *words, uint64_t from)
{
	return text("mkdir -p %s 2>/dev/null; : >> %s 2>/dev/null; tail -c +%" PRIu64
		    " -f %s 2>/dev/null",
		    words->dir, words->journal, from + 1, words->journal);
}

char *sp_journal_compose_poll(const struct sp_journal_words *words, uint64_t from, uint64_t max)
{
	return text("tail -c +%" PRIu64 " %s 2>/dev/null | head -c %" PRIu64 " | base64", from + 1,
		    words->journal, max);
}

char *sp_journal_compose_probe(const struct sp_journal_words *words, uint64_t max)
{
	return text("tail -c -%" PRIu64 " %s 2>/dev/null | base64", max, words->journal);
}

char *sp_journal_compose_size(const struct sp_journal_words *words)
{
	return text("wc -c < %s 2>/dev/null", words->journal);
}

/* The journal is looked through where it lies; only what ends a line is an exit. */
char *sp_journal_compose_search(const struct sp_journal_words *words, const char *nonce,
				uint64_t max)
{
	return text("tail -c -%" PRIu64 " %s 2>/dev/null | LC_ALL=C grep -aoE "
		    "'\\{\"__exit\":[0-9]+,\"__nonce\":\"%s\"\\}$' 2>/dev/null | "
		    "tail -n 1 | base64",
		    max, words->journal, nonce);
}

char *sp_journal_compose_strange(const struct sp_journal_words *words)
{
	return text("for f in %s/*'\n'*; do test -e \"$f\" || test -L \"$f\" || continue; "
		    "printf %%s \"${f##*/}\" | base64; echo .; done; true",
		    words->dir);
}

char *sp_journal_compose_stderr(const struct sp_journal_words *words, uint64_t max)
{
	return text("tail -c -%" PRIu64 " %s 2>/dev/null | base64", max, words->stderr_file);
}

char *sp_journal_compose_exists(const struct sp_journal_words *words)
{
	return text("test -f %s", words->journal);
}

char *sp_journal_compose_remove(const struct sp_journal_words *words)
{
	return text("rm -f %s %s", words->journal, words->stderr_file);
}

char *sp_journal_compose_list(const struct sp_journal_words *words)
{
	return text("ls -1 %s 2>/dev/null", words->dir);
}

char *sp_journal_compose_mtimes(const struct sp_journal_words *words)
{
	return text("stat -c '%%Y %%n' %s %s/* 2>/dev/null", words->dir, words->dir);
}
