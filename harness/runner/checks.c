/* SPDX-License-Identifier: MIT */
/* What a case says: checks, skips, errors, notes. The first failure is the verdict. */
#include "case_impl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>

#include "evidence.h"
#include "worker.h"

#define TEXT_CEILING (2UL * 1024 * 1024)

static char *redacted_copy(struct sp_case *t, const char *text, size_t max)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

	sp_show_plain(&out, t->redact, text, max);
	return sp_buf_take(&out, NULL);
}

/*
 * The names of sp_case_unique() are another's in each run. A message is what lists of
 * known failures compare, so they become "r~" there; expected, actual and dialogue keep them.
 */
static char *steady(struct sp_case *t, char *message)
{
	const char *run_id = sp_worker_run_id(t->worker);
	size_t len = run_id ? strlen(run_id) : 0;
	char *from = message, *to = message;

	while (message && len && *from) {
		size_t digits = 0, more = 0;

		if (*from == 'r' && !strncmp(from + 1, run_id, len) && from[1 + len] == 'p')
			digits = strspn(from + len + 2, "0123456789");
		if (digits && from[len + 2 + digits] == 'n')
			more = strspn(from + len + 3 + digits, "0123456789");
		if (more && from[len + 3 + digits + more] == 'e') {
			*to++ = 'r';
			*to++ = '~';
			from += len + 4 + digits + more;
		} else {
			*to++ = *from++;
		}
	}
	if (message && len)
		*to = '\0';
	return message;
}

/* What fails for want of room in our own folder is laid to nobody else. */
static bool lacks_room(enum sp_verdict verdict, const char *message, struct sp_buf *out)
{
	struct sp_error full = SP_ERROR_INIT;

	if ((verdict != SP_FAIL && verdict != SP_WARN) || !sp_tmp_room(sp_tmp_root(), &full))
		return false;
	sp_buf_addf(out, "%s; so this proves nothing: %s", full.message, message);
	return true;
}

/* Decides, or adds to the dialogue when something else decided before. */
static void decide(struct sp_case *t, enum sp_verdict verdict, struct sp_where where,
		   const char *message, const char *expected, const char *actual)
{
	struct sp_buf full SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	bool first;

	if (lacks_room(verdict, message, &full)) {
		verdict = SP_ERROR;
		message = sp_buf_str(&full);
	}
	pthread_mutex_lock(&t->lock);
	first = !t->decided;
	if (first) {
		t->decided = true;
		t->verdict = verdict;
		t->where = where;
		t->message = steady(t, redacted_copy(t, message, SP_MESSAGE_MAX));
		/* Expected and actual come redacted. */
		t->expected = expected ? strdup(expected) : NULL;
		t->actual = actual ? strdup(actual) : NULL;
	}
	pthread_mutex_unlock(&t->lock);
	if (verdict == SP_SKIP)
		return;
	sp_guard_note(t->guard, "%s%s at %s:%d: %s", first ? "" : "also ", sp_verdict_name(verdict),
		      where.file ? where.file : "?", where.line, message);
	if (!first && expected && actual)
		sp_guard_note(t->guard, "  expected %s, actual %s", expected, actual);
}

void sp_case_blame(struct sp_case *t, const struct sp_error *cause)
{
	const struct sp_where here = { t->def->file, t->def->line };
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	char *noticed = NULL;

	sp_buf_adds(&text, cause->message);
	if (*cause->detail)
		sp_buf_addf(&text, "; its last words: %s", cause->detail);
	pthread_mutex_lock(&t->lock);
	/* What the case made of it is the consequence; the place stays where it was noticed. */
	if (t->decided && t->verdict != SP_SKIP)
		noticed = t->message;
	else
		free(t->message);
	t->message = NULL;
	t->where = noticed ? t->where : here;
	if (noticed)
		sp_buf_addf(&text, " (noticed as: %s)", noticed);
	t->decided = true;
	t->verdict = SP_FAIL;
	t->message = steady(t, redacted_copy(t, sp_buf_str(&text), SP_MESSAGE_MAX));
	pthread_mutex_unlock(&t->lock);
	sp_guard_note(t->guard, "fail: %s", sp_buf_str(&text));
	free(noticed);
}

void sp_case_decide(struct sp_case *t, enum sp_verdict verdict, struct sp_where where,
		    const char *message)
{
	decide(t, verdict, where, message, NULL, NULL);
}

/*
 * Records a check. `expected` and `actual` are redacted; NULL ones are
 * told by the words of the check.
 */
static bool record(struct sp_case *t, bool holds, struct sp_where where, const char *expected,
		   const char *actual, const char *what, va_list args)
{
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_buf shown SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

	pthread_mutex_lock(&t->lock);
	t->checks++;
	pthread_mutex_unlock(&t->lock);
	sp_buf_vaddf(&words, what, args);
	if (holds) {
		sp_guard_note(t->guard, "holds: %s", sp_buf_str(&words));
		return true;
	}
	if (!expected) {
		sp_show_plain(&shown, t->redact, sp_buf_str(&words), SP_EVIDENCE_MAX);
		expected = sp_buf_str(&shown);
		actual = "it does not hold";
	}
	decide(t, t->def->level == SP_MUST ? SP_FAIL : SP_WARN, where, sp_buf_str(&words), expected,
	       actual);
	return false;
}

/* Each check is a function of its own arguments that ends in a va_list. */
#define RECORD(t, holds, where, expected, actual, what)                                            \
	({                                                                                         \
		va_list args_;                                                                     \
		bool held_;                                                                        \
		va_start(args_, what);                                                             \
		held_ = record(t, holds, where, expected, actual, what, args_);                    \
		va_end(args_);                                                                     \
		held_;                                                                             \
	})

bool sp_check(struct sp_case *t, bool condition, struct sp_where where, const char *what, ...)
{
	return RECORD(t, condition, where, NULL, NULL, what);
}

bool sp_check_int(struct sp_case *t, long long expected, long long actual, struct sp_where where,
		  const char *what, ...)
{
	char e[32], a[32];

	snprintf(e, sizeof(e), "%lld", expected);
	snprintf(a, sizeof(a), "%lld", actual);
	return RECORD(t, expected == actual, where, e, a, what);
}

bool sp_check_str(struct sp_case *t, const char *expected, const char *actual,
		  struct sp_where where, const char *what, ...)
{
	struct sp_buf e SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf a SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	bool holds = expected && actual ? !strcmp(expected, actual) : expected == actual;

	if (!holds) {
		size_t e_len = expected ? strlen(expected) : 0;
		size_t a_len = actual ? strlen(actual) : 0;
		size_t at = sp_first_difference(t->redact, expected ? expected : "", e_len,
						actual ? actual : "", a_len);

		sp_show_around(&e, t->redact, expected, e_len, at, SP_EVIDENCE_MAX);
		sp_show_around(&a, t->redact, actual, a_len, at, SP_EVIDENCE_MAX);
	}
	return RECORD(t, holds, where, sp_buf_str(&e), sp_buf_str(&a), what);
}

bool sp_check_bytes(struct sp_case *t, const void *expected, size_t expected_len,
		    const void *actual, size_t actual_len, struct sp_where where, const char *what,
		    ...)
{
	struct sp_buf e SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf a SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	bool holds = expected_len == actual_len &&
		     (!expected_len || !memcmp(expected, actual, expected_len));

	if (!holds) {
		const void *e_data = expected ? expected : "";
		const void *a_data = actual ? actual : "";
		size_t at = sp_first_difference(t->redact, e_data, expected_len, a_data,
						actual_len);

		sp_buf_addf(&e, "%zu bytes, ", expected_len);
		sp_show_around(&e, t->redact, e_data, expected_len, at, SP_EVIDENCE_MAX / 4);
		sp_buf_addf(&a, "%zu bytes, first difference at byte %zu, ", actual_len, at);
		sp_show_around(&a, t->redact, a_data, actual_len, at, SP_EVIDENCE_MAX / 4);
	}
	return RECORD(t, holds, where, sp_buf_str(&e), sp_buf_str(&a), what);
}

/* "gone: the sandbox is terminated (its own words)". */
static void show_code(struct sp_case *t, int rc, const struct sp_error *err, struct sp_buf *out)
{
	if (!rc) {
		sp_buf_adds(out, "0 (ok)");
		return;
	}
	sp_buf_adds(out, sp_code_name(rc));
	if (err && err->message[0]) {
		sp_buf_adds(out, ": ");
		sp_show_plain(out, t->redact, err->message, SP_ERROR_TEXT);
	}
	if (err && err->detail[0]) {
		sp_buf_adds(out, " (");
		sp_show_plain(out, t->redact, err->detail, SP_ERROR_TEXT);
		sp_buf_adds(out, ")");
	}
	if (err && err->http_status)
		sp_buf_addf(out, " [HTTP %d]", err->http_status);
}

bool sp_check_ok(struct sp_case *t, int rc, const struct sp_error *err, struct sp_where where,
		 const char *what, ...)
{
	struct sp_buf a SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	show_code(t, rc, err, &a);
	return RECORD(t, rc == 0, where, "0 (ok)", sp_buf_str(&a), what);
}

bool sp_check_code(struct sp_case *t, int expected, int rc, const struct sp_error *err,
		   struct sp_where where, const char *what, ...)
{
	struct sp_buf a SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	show_code(t, rc, err, &a);
	return RECORD(t, rc == expected, where, expected ? sp_code_name(expected) : "0 (ok)",
		      sp_buf_str(&a), what);
}

void sp_skip(struct sp_case *t, const char *reason, ...)
{
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_where where = { t->def->file, t->def->line };
	va_list args;

	va_start(args, reason);
	sp_buf_vaddf(&words, reason, args);
	va_end(args);
	if (words.len)
		decide(t, SP_SKIP, where, sp_buf_str(&words), NULL, NULL);
	else
		decide(t, SP_ERROR, where, "the case was skipped without a reason", NULL, NULL);
}

void sp_case_error(struct sp_case *t, struct sp_where where, const char *what, ...)
{
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	va_list args;

	va_start(args, what);
	sp_buf_vaddf(&words, what, args);
	va_end(args);
	decide(t, SP_ERROR, where, sp_buf_str(&words), NULL, NULL);
}

void sp_case_note(struct sp_case *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sp_guard_vnote(t->guard, format, args);
	va_end(args);
}

bool sp_case_failed(struct sp_case *t)
{
	bool decided;

	pthread_mutex_lock(&t->lock);
	decided = t->decided;
	pthread_mutex_unlock(&t->lock);
	return decided;
}
