/* SPDX-License-Identifier: MIT */
#include "baseline.h"

#include <errno.h>
#include <unistd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/glob.h>
#include <base/utf8.h>

#include "baseline_impl.h"

#define FILE_MAX (16UL * 1024 * 1024)

/* ---- Reading ---- */

static int malformed(const char *path, unsigned line, const char *what, struct sp_error *err)
{
	return sp_error_set(err, SP_INVALID,
			    "%s, line %u: %s; a line is PATTERN | MESSAGE | REASON | LINK | EXPIRY",
			    path, line, what);
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "no memory for the baseline");
}

/* Takes one field off the line, without blanks around it and with its escapes undone; NULL without
 * memory. */
static char *take_field(const char **at)
{
	char *field = malloc(strlen(*at) + 1), *to = field;
	const char *from = *at + strspn(*at, " \t");

	if (!field)
		return NULL;
	for (; *from && *from != '|'; from++) {
		if (*from == '\\' && (from[1] == '|' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*at = *from ? from + 1 : from;
	while (to > field && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	*to = '\0';
	return field;
}

static bool is_day(const char *text)
{
	static const char shape[] = "dddd-dd-dd";
	size_t i;

	for (i = 0; shape[i]; i++)
		if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return !text[i] && strcmp(text + 5, "01-01") >= 0 && strcmp(text + 5, "12-31") <= 0 &&
	       strcmp(text + 8, "01") >= 0 && strcmp(text + 8, "31") <= 0;
}

static void entry_done(struct sp_entry *e)
{
	free(e->pattern);
	free(e->message);
	free(e->reason);
	free(e->link);
	free(e->expiry);
}

static int check_entry(const char *path, const struct sp_entry *e, const char *rest,
		       struct sp_error *err)
{
	if (!e->pattern || !e->message || !e->reason || !e->link || !e->expiry)
		return no_memory(err);
	if (!*e->pattern)
		return malformed(path, e->line, "the pattern is missing", err);
	if (!*e->message)
		return malformed(
		    path, e->line,
		    "the message is missing: without it every failure would be excused", err);
	if (!*e->reason)
		return malformed(path, e->line, "the reason is missing", err);
	if (*e->expiry && !is_day(e->expiry))
		return malformed(path, e->line, "the expiry is no day (YYYY-MM-DD)", err);
	if (*rest)
		return malformed(path, e->line, "there are more than five fields", err);
	return 0;
}

static int read_entry(struct sp_baseline *b, unsigned line, const char *text, struct sp_error *err)
{
	struct sp_entry *grown = reallocarray(b->entries, b->n_entries + 1, sizeof(*grown));
	struct sp_entry e = {.line = line};
	int rc;

	if (!grown)
		return no_memory(err);
	b->entries = grown;
	e.pattern = take_field(&text);
	e.message = take_field(&text);
	e.reason = take_field(&text);
	e.link = take_field(&text);
	e.expiry = take_field(&text);
	rc = check_entry(b->path, &e, text, err);
	if (rc)
		entry_done(&e);
	else
		grown[b->n_entries++] = e;
	return rc;
}

static int add_line(struct sp_baseline *b, const char *text, size_t len, struct sp_error *err)
{
	char **grown = reallocarray(b->lines, b->n_lines + 1, sizeof(*grown));
	const char *first;

	if (!grown)
		return no_memory(err);
	b->lines = grown;
	if (len && text[len - 1] == '\r')
		len--;
	grown[b->n_lines] = strndup(text, len);
	if (!grown[b->n_lines])
		return no_memory(err);
	b->n_lines++;
	first = grown[b->n_lines - 1] + strspn(grown[b->n_lines - 1], " \t");
	return !*first || *first == '#' ? 0 : read_entry(b, (unsigned)b->n_lines, first, err);
}

static int read_lines(struct sp_baseline *b, const char *text, size_t len, struct sp_error *err)
{
	int rc = 0;

	if (!sp_utf8_valid(text, len) || memchr(text, '\0', len))
		return sp_error_set(err, SP_INVALID, "%s is not a text in UTF-8", b->path);
	while (!rc && len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		rc = add_line(b, text, line, err);
		line += end != NULL;
		text += line;
		len -= line;
	}
	return rc;
}

int sp_baseline_read(const char *path, struct sp_baseline **ret_baseline, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_baseline *b;
	int rc = sp_read_file(path, FILE_MAX, &bytes, err);

	if (rc && access(path, F_OK) && errno == ENOENT)
		return sp_error_set_errno(err, ENOENT,
					  "there is no list %.300s; `baseline update RESULTS` "
					  "makes one",
					  path);
	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (b)
		b->path = strdup(path);
	rc =
	    b && b->path ? read_lines(b, (const char *)bytes.data, bytes.len, err) : no_memory(err);
	if (rc)
		sp_baseline_free(b);
	else
		*ret_baseline = b;
	return rc;
}

void sp_baseline_free(struct sp_baseline *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n_lines; i++)
		free(b->lines[i]);
	for (size_t i = 0; i < b->n_entries; i++)
		entry_done(&b->entries[i]);
	for (size_t i = 0; i < b->n_problems; i++)
		free((char *)b->problems[i].message);
	free(b->problems);
	free(b->cases);
	free(b->entries);
	free(b->lines);
	free(b->path);
	free(b);
}

/* ---- Holding it against what there is ---- */

bool sp_entry_matches(const struct sp_entry *e, const struct sp_case_def *def)
{
	if (sp_glob_match(e->pattern, def->id))
		return true;
	for (const char *const *alias = def->aliases; alias && *alias; alias++)
		if (sp_glob_match(e->pattern, *alias))
			return true;
	return false;
}

bool sp_entry_fits(const struct sp_entry *e, const char *message)
{
	return message && !strncmp(message, e->message, strlen(e->message));
}

const struct sp_entry *sp_entry_of(const struct sp_baseline *b, const struct sp_case_def *def)
{
	for (size_t i = 0; i < b->n_entries; i++)
		if (!b->entries[i].stale && sp_entry_matches(&b->entries[i], def))
			return &b->entries[i];
	return NULL;
}

void sp_format_day(int64_t ms, char ret_day[11])
{
	char stamp[32] = "";

	sp_wall_format(ms, stamp, sizeof(stamp));
	memcpy(ret_day, stamp, 10);
	ret_day[10] = '\0';
}

__attribute__((format(printf, 3, 4))) static int
add_problem(struct sp_baseline *b, struct sp_entry *e, const char *format, ...)
{
	struct sp_baseline_problem *grown =
	    reallocarray(b->problems, b->n_problems + 1, sizeof(*grown));
	char *message = NULL;
	va_list args;
	int n;

	e->stale = true;
	if (!grown)
		return -1;
	b->problems = grown;
	va_start(args, format);
	n = vasprintf(&message, format, args);
	va_end(args);
	if (n < 0)
		return -1;
	grown[b->n_problems++] = (struct sp_baseline_problem){e->line, e->pattern, message};
	return 0;
}

static int collect_cases(struct sp_baseline *b, const struct sp_suite *const *suites,
			 size_t n_suites)
{
	size_t n = 0;

	for (size_t i = 0; i < n_suites; i++)
		n += suites[i]->n_cases;
	b->cases = calloc(n + 1, sizeof(*b->cases));
	for (size_t i = 0; b->cases && i < n_suites; i++)
		for (size_t c = 0; c < suites[i]->n_cases; c++)
			b->cases[b->n_cases++] = &suites[i]->cases[c];
	return b->cases ? 0 : -1;
}

/* The entry before this one that is of one of its cases, or NULL. */
static const struct sp_entry *earlier(const struct sp_baseline *b, const struct sp_entry *e)
{
	for (const struct sp_entry *other = b->entries; other < e; other++)
		for (size_t c = 0; !other->stale && c < b->n_cases; c++)
			if (sp_entry_matches(e, b->cases[c]) &&
			    sp_entry_matches(other, b->cases[c]))
				return other;
	return NULL;
}

static int bind_entry(struct sp_baseline *b, struct sp_entry *e, const char *today)
{
	const struct sp_entry *other;

	for (size_t c = 0; c < b->n_cases; c++)
		e->n_matches += sp_entry_matches(e, b->cases[c]);
	if (!e->n_matches)
		return add_problem(
		    b, e,
		    "%s:%u lists \"%s\", and no case of any suite is of that name: remove the "
		    "line, or write the new name (`sandproof list`)",
		    b->path, e->line, e->pattern);
	if (e->n_matches > SP_BASELINE_MAX_MATCHES)
		return add_problem(
		    b, e,
		    "%s:%u lists \"%s\", which are %zu cases, and at most %d may stand behind one "
		    "line: list those that fail (`sandproof baseline update RESULTS`)",
		    b->path, e->line, e->pattern, e->n_matches, SP_BASELINE_MAX_MATCHES);
	if (*e->expiry && strcmp(today, e->expiry) > 0)
		return add_problem(
		    b, e,
		    "%s:%u lists \"%s\" until %s, which is over: mend the provider and remove the "
		    "line, or set another day and say why",
		    b->path, e->line, e->pattern, e->expiry);
	other = earlier(b, e);
	if (other)
		return add_problem(
		    b, e,
		    "%s:%u lists a case that line %u lists already (\"%s\"): remove one of "
		    "the two",
		    b->path, e->line, other->line, other->pattern);
	return 0;
}

int sp_baseline_bind(struct sp_baseline *b, const struct sp_suite *const *suites, size_t n_suites,
		     int64_t now_ms, struct sp_error *err)
{
	char today[11];
	int rc = collect_cases(b, suites, n_suites);

	sp_format_day(now_ms, today);
	for (size_t i = 0; !rc && i < b->n_entries; i++)
		rc = bind_entry(b, &b->entries[i], today);
	return rc ? no_memory(err) : 0;
}

const struct sp_baseline_problem *sp_baseline_problems(const struct sp_baseline *b, size_t *ret_len)
{
	*ret_len = b->n_problems;
	return b->problems;
}

const char *sp_baseline_path(const struct sp_baseline *b)
{
	return b->path;
}

/* ---- Judging ---- */

/* The failure's own message stays: it follows what the list says of it, on a line of its own. */
static enum sp_verdict judge_failure(const struct sp_baseline *b, const struct sp_entry *e,
				     const char *message, struct sp_buf *out)
{
	if (sp_entry_fits(e, message)) {
		sp_buf_addf(out, "known failure: %s%s%s%s (%s:%u)\n%s", e->reason,
			    *e->link ? " <" : "", e->link, *e->link ? ">" : "", b->path, e->line,
			    message);
		return SP_XFAIL;
	}
	sp_buf_addf(
	    out,
	    "%s\nThis case is listed with another failure: %s:%u expects a message that begins "
	    "with \"%s\". "
	    "If this one is known too, change the line (`sandproof baseline update RESULTS`).",
	    message ? message : "", b->path, e->line, e->message);
	return SP_FAIL;
}

enum sp_verdict sp_baseline_judge(const struct sp_baseline *b, const struct sp_case_def *def,
				  enum sp_verdict verdict, const char *message,
				  struct sp_buf *message_out)
{
	const struct sp_entry *e = sp_entry_of(b, def);

	if (!e)
		return verdict;
	switch (verdict) {
	case SP_FAIL:
	case SP_WARN:
		return judge_failure(b, e, message, message_out);
	case SP_PASS:
		sp_buf_addf(message_out,
			    "passes, and %s:%u lists it as failing (\"%s\"): remove that line "
			    "(`sandproof baseline update RESULTS`)",
			    b->path, e->line, e->pattern);
		return SP_XPASS;
	case SP_SKIP:
	case SP_XFAIL:
	case SP_XPASS:
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		return verdict;
	}
	return verdict;
}
