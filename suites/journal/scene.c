/* SPDX-License-Identifier: MIT */
#include "scene.h"

#include <stdarg.h>
#include <stdio.h>

/* Between two polls where each of them is a request that counts. */
#define POLL_COUNTED_MS 500

/* Longest file that a case compares whole. */
#define FETCH_MAX (4 * 1024 * 1024)

/* ---- The scene ---- */

bool scene_set_run(struct scene *s, const char *run_id)
{
	const char *token;

	s->run = run_id ? run_id : sp_case_format(s->t, "run-%s", sp_case_unique(s->t));
	token = journal_token(s->t, s->run);
	s->file = sp_case_format(s->t, "%s/%s.ndjson", s->dir, token);
	s->err_file = sp_case_format(s->t, "%s/%s.err", s->dir, token);
	return !sp_case_failed(s->t);
}

static bool open_in(struct sp_case *t, struct scene *s, bool in_memory)
{
	/* What live runs and their cases stand at. */
	const struct sp_place_options options = {
		.stock = SP_STOCK_FIFO("go") SP_STOCK_ANSWERER("run"),
		.in_memory = in_memory,
	};

	s->t = t;
	s->journal = &sp_case_subject(t)->journal;
	s->sandbox = sp_case_sandbox(t);
	if (!s->sandbox || !sp_place_open_with(t, s->sandbox, "journal", &options, &s->place))
		return false;
	s->dir = sp_place_path(&s->place, "j");
	s->options = (struct sp_journal_options)SP_JOURNAL_OPTIONS_INIT;
	s->options.dir = s->dir;
	s->options.poll_ms = 0;
	s->options.first_byte_ms = UINT32_MAX;
	s->options.cancel = sp_case_cancel(t);
	return scene_set_run(s, NULL);
}

bool scene_open(struct sp_case *t, struct scene *s)
{
	return open_in(t, s, false);
}

bool scene_open_live(struct sp_case *t, struct scene *s)
{
	return open_in(t, s, true);
}

void scene_done(struct scene *s)
{
	sp_place_close(&s->place);
}

struct sp_cancel *scene_cancel(struct sp_case *t)
{
	struct sp_cancel *cancel = sp_cancel_new();

	if (!cancel)
		sp_case_error(t, SP_HERE, "no memory for a cancel");
	return cancel;
}

void scene_cancel_done(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

/* ---- Files ---- */

/* As the format of printf(1), in single quotes. */
static void add_printf_word(const unsigned char *data, size_t len, struct sp_buf *out)
{
	sp_buf_addc(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (data[i] >= ' ' && data[i] < 0x7f && !strchr("%\\'", data[i]))
			sp_buf_addc(out, (char)data[i]);
		else
			sp_buf_addf(out, "\\%03o", data[i]);
	}
	sp_buf_addc(out, '\'');
}

bool scene_append(struct scene *s, const char *file, const void *data, size_t len)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_adds(&command, "mkdir -p ");
	sp_buf_add_shell(&command, s->options.dir);
	sp_buf_adds(&command, " && printf ");
	add_printf_word(data, len, &command);
	sp_buf_adds(&command, " >> ");
	sp_buf_add_shell(&command, file);
	return sp_sh_ok(s->t, s->sandbox, "%s", sp_buf_str(&command));
}

bool scene_write(struct scene *s, const char *format, ...)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&text, format, args);
	va_end(args);
	return scene_append(s, s->file, sp_buf_str(&text), text.len);
}

bool scene_fetch(struct scene *s, const char *file, struct sp_bytes *ret_bytes)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(FETCH_MAX);
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	size_t n = 0;

	sp_buf_adds(&command, "base64 < ");
	sp_buf_add_shell(&command, file);
	if (!sp_sh(s->t, s->sandbox, &result, "%s", sp_buf_str(&command)) ||
	    !SP_CHECK_INT(s->t, 0, result.exit_code, "code of reading %s", file))
		return false;
	for (size_t i = 0; i < result.stdout_bytes.len; i++)
		if (result.stdout_bytes.data[i] != '\n')
			result.stdout_bytes.data[n++] = result.stdout_bytes.data[i];
	if (sp_buf_add_unbase64(&bytes, (char *)result.stdout_bytes.data, n) ||
	    sp_buf_take_bytes(&bytes, ret_bytes))
		return SP_CHECK(s->t, false, "the sandbox's base64 of %s can be read", file);
	return true;
}

bool scene_check_file(struct scene *s, const char *file, const char *text, struct sp_where where,
		      const char *what)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	return scene_fetch(s, file, &bytes) &&
	       sp_check_bytes(s->t, text, strlen(text), bytes.data, bytes.len, where, "%s", what);
}

/* ---- Runs ---- */

/* The subject's own start(). */
static bool start_run(struct scene *s, struct producer *p, const char *command)
{
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	p->s = s;
	sp_case_note(s->t, "start: %.300s", command);
	rc = s->journal->ops->start(s->journal->self, s->sandbox, s->run, command, &s->options,
				    &process, &err);
	if (!SP_CHECK_OK(s->t, rc, &err, "start answers"))
		return false;
	sp_spawned_take(s->t, &p->child, &process);
	return true;
}

bool producer_start(struct scene *s, struct producer *p, const char *command)
{
	if (sp_case_capabilities(s->t)->background_processes)
		return start_run(s, p, command);
	p->s = s;
	p->options = (struct sp_exec_options)SP_EXEC_OPTIONS_INIT;
	p->options.command = journal_form(s->t, s->options.dir, s->run, command);
	p->call = sp_call_exec(s->t, s->sandbox, &p->options);
	return p->call != NULL;
}

bool producer_await(struct producer *p)
{
	struct sp_call_result *result;
	struct sp_exit exit;

	if (!p->call)
		return sp_spawned_wait(&p->child, &exit);
	result = sp_call_join(p->call);
	return SP_CHECK_OK(p->s->t, result->rc, &result->err,
			   "the command that writes the journal");
}

void producer_done(struct producer *p)
{
	sp_call_done(&p->call);
	sp_spawned_done(&p->child);
}

bool scene_run(struct scene *s, const char *command)
{
	struct producer p PRODUCER = PRODUCER_INIT;

	return start_run(s, &p, command) && producer_await(&p);
}

/* ---- Readers ---- */

uint32_t scene_poll_ms(const struct scene *s)
{
	return sp_counted(s->t) ? POLL_COUNTED_MS : 0;
}

bool reader_open_with(struct scene *s, struct reader *r, struct sp_sandbox *sandbox, uint64_t from,
		      const struct sp_journal_options *options)
{
	struct sp_journal_options own = *options;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	r->s = s;
	r->cancel = scene_cancel(s->t);
	if (!r->cancel)
		return false;
	own.cancel = r->cancel;
	rc = s->journal->ops->read(s->journal->self, sandbox, s->run, from, &own, &r->reader, &err);
	return SP_CHECK_OK(s->t, rc, &err, "read opens a reader at byte %llu",
			   (unsigned long long)from);
}

bool reader_open(struct scene *s, struct reader *r, uint64_t from,
		 enum sp_journal_strategy strategy)
{
	struct sp_journal_options options = s->options;

	options.strategy = strategy;
	/* A follower verifies what it delivers only where its pauses are short. */
	if (strategy == SP_JOURNAL_POLL)
		options.poll_ms = scene_poll_ms(s);
	relay_open(s->t, s->sandbox, NULL, &r->relay);
	return reader_open_with(s, r, &r->relay.sandbox, from, &options);
}

static void abort_reader(void *arg)
{
	sp_cancel_abort(arg, "the case's limit, or its end");
}

static int run_next(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct reader *r = arg;
	uint64_t watch = 0;
	int rc = sp_cancel_watch(cancel, abort_reader, r->cancel, &watch);

	if (rc)
		return sp_error_set(&result->err, SP_INTERNAL, "no memory for a watcher");
	rc = r->reader.ops->next(r->reader.self, &r->line, &r->end, &result->err);
	sp_cancel_unwatch(cancel, watch);
	return rc;
}

struct sp_call *reader_ask(struct reader *r)
{
	sp_call_done(&r->pending);
	sp_journal_line_done(&r->line);
	r->end = false;
	if (r->settled && r->relay.t)
		relay_bound(&r->relay, r->cancel);
	r->pending = sp_call_start(r->s->t, run_next, r);
	return r->pending;
}

struct sp_call_result *reader_answer(struct reader *r)
{
	struct sp_call_result *result = sp_call_join(r->pending);

	if (!result)
		return NULL;
	if (result->rc)
		sp_case_note(r->s->t, "next: %s: %s", sp_code_name(result->rc),
			     result->err.message);
	else if (r->end)
		sp_case_note(r->s->t, "next: the end");
	else
		sp_case_note(r->s->t, "next: %zu bytes \"%.100s\" up to %llu%s", r->line.text.len,
			     r->line.text.data ? (char *)r->line.text.data : "",
			     (unsigned long long)r->line.end_position,
			     r->line.is_exit ? ", the exit" : "");
	return result;
}

struct sp_call_result *reader_next(struct reader *r)
{
	return reader_ask(r) ? reader_answer(r) : NULL;
}

/* A line of either kind came. */
static bool check_came(struct reader *r, struct sp_call_result *result, struct sp_where where,
		       const char *what)
{
	struct sp_case *t = r->s->t;

	return result &&
	       sp_check_ok(t, result->rc, &result->err, where, "%s: next answers", what) &&
	       sp_check(t, !r->end, where, "%s: a line comes, not the end", what);
}

bool reader_check_line(struct reader *r, struct sp_call_result *result, const void *text,
		       size_t len, uint64_t end, struct sp_where where, const char *what)
{
	struct sp_case *t = r->s->t;

	return check_came(r, result, where, what) &&
	       sp_check(t, !r->line.is_exit, where,
			"%s: an ordinary line comes, not the exit (code %d)", what,
			r->line.exit_code) &&
	       sp_check_bytes(t, text, len, r->line.text.data, r->line.text.len, where,
			      "%s: the line", what) &&
	       sp_check_int(t, (long long)end, (long long)r->line.end_position, where,
			    "%s: the byte after the line", what);
}

bool reader_take(struct reader *r, const void *text, size_t len, uint64_t end,
		 struct sp_where where, const char *what)
{
	return reader_check_line(r, reader_next(r), text, len, end, where, what);
}

bool reader_take_exit(struct reader *r, int code, uint64_t end, struct sp_where where,
		      const char *what)
{
	struct sp_case *t = r->s->t;

	return check_came(r, reader_next(r), where, what) &&
	       sp_check(t, r->line.is_exit, where, "%s: the exit comes, not the line \"%.100s\"",
			what, r->line.text.data ? (char *)r->line.text.data : "") &&
	       sp_check_int(t, code, r->line.exit_code, where, "%s: the exit's code", what) &&
	       sp_check_int(t, (long long)end, (long long)r->line.end_position, where,
			    "%s: the byte after the exit", what);
}

bool reader_take_all(struct reader *r, const void *content, size_t len, uint64_t from, int code,
		     struct sp_where where, const char *what)
{
	const char *start = content, *newline;
	size_t at = from;

	while (at < len && (newline = memchr(start + at, '\n', len - at))) {
		size_t next = (size_t)(newline - start) + 1;

		if (!reader_take(r, start + at, next - 1 - at, next, where, what))
			return false;
		at = next;
	}
	return code < 0 ||
	       reader_take_exit(r, code, len + strlen(journal_mark(r->s->t, r->s->run, code)) + 1,
				where, what);
}

/* What reader_first() does on a thread. */
struct first {
	struct reader *r;
	struct sp_sandbox *sandbox;
	uint64_t from;
	struct sp_journal_options options;
};

static int run_first(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct first *first = arg;
	struct reader *r = first->r;
	struct scene *s = r->s;
	uint64_t watch = 0;
	int rc = sp_cancel_watch(cancel, abort_reader, r->cancel, &watch);

	if (rc)
		return sp_error_set(&result->err, SP_INTERNAL, "no memory for a watcher");
	rc = s->journal->ops->read(s->journal->self, first->sandbox, s->run, first->from,
				   &first->options, &r->reader, &result->err);
	if (!rc)
		rc = r->reader.ops->next(r->reader.self, &r->line, &r->end, &result->err);
	sp_cancel_unwatch(cancel, watch);
	return rc;
}

int reader_first(struct scene *s, struct reader *r, struct sp_sandbox *sandbox, uint64_t from,
		 const struct sp_journal_options *options, struct sp_error *err)
{
	struct first first = { r, sandbox, from, *options };
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	r->s = s;
	r->cancel = scene_cancel(s->t);
	first.options.cancel = r->cancel;
	if (r->cancel && r->relay.t)
		relay_bound(&r->relay, r->cancel);
	call = r->cancel ? sp_call_start(s->t, run_first, &first) : NULL;
	result = sp_call_join(call);
	if (!result)
		return sp_error_set(err, SP_INTERNAL, "no thread for a reader");
	*err = result->err;
	return result->rc;
}

int reader_first_refused(struct scene *s, struct reader *r, struct sp_sandbox *sandbox,
			 uint64_t from, const struct sp_journal_options *options,
			 struct sp_error *err)
{
	relay_open(s->t, sandbox, NULL, &r->relay);
	return reader_first(s, r, &r->relay.sandbox, from, options, err);
}

bool reader_check_refused(struct reader *r, int rc, const struct sp_error *err,
			  struct sp_where where, const char *what)
{
	struct sp_case *t = r->s->t;

	if (rc == 0)
		return sp_check(t, false, where, "%s: an error, not %s", what,
				r->end		  ? "the end"
				: r->line.is_exit ? "an exit"
						  : "a line");
	sp_case_note(t, "refused: %s: %s", sp_code_name(rc), err->message);
	return sp_check(t, rc != SP_ABORTED && rc != SP_TIMED_OUT, where,
			"%s: an error that says what is wrong, not \"%s\"", what,
			sp_code_name(rc)) &&
	       sp_check(t, err->message[0], where, "%s: the error has words", what);
}

bool reader_check_error(struct reader *r, struct sp_where where, const char *what)
{
	struct sp_call_result *result;

	r->settled = true;
	result = reader_next(r);
	return result && reader_check_refused(r, result->rc, &result->err, where, what);
}

bool scene_check_refused(struct scene *s, uint64_t from, enum sp_journal_strategy strategy,
			 struct sp_where where, const char *what)
{
	struct reader r READER = READER_INIT;
	struct sp_journal_options options = s->options;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.strategy = strategy;
	rc = reader_first_refused(s, &r, s->sandbox, from, &options, &err);
	return r.cancel && reader_check_refused(&r, rc, &err, where, what);
}

void reader_done(struct reader *r)
{
	sp_call_done(&r->pending);
	if (r->reader.ops)
		r->reader.ops->close(r->reader.self);
	r->reader = (struct sp_journal_reader)SP_JOURNAL_READER_INIT;
	sp_journal_line_done(&r->line);
	relay_done(&r->relay);
	r->cancel = sp_cancel_unref(r->cancel);
}

bool scene_reads(struct scene *s, enum sp_journal_strategy strategy, const void *content,
		 size_t len, int code, struct sp_where where, const char *what)
{
	struct reader r READER = READER_INIT;

	r.settled = true;
	return reader_open(s, &r, 0, strategy) &&
	       reader_take_all(&r, content, len, 0, code, where, what);
}

/* ---- State ---- */

const char *scene_state_name(enum sp_journal_state state)
{
	switch (state) {
	case SP_JOURNAL_PRODUCING:
		return "producing";
	case SP_JOURNAL_FINISHED:
		return "finished";
	case SP_JOURNAL_UNKNOWN:
		return "unknown";
	}
	return "no state at all";
}

bool scene_check_state(struct scene *s, enum sp_journal_state state, int code,
		       struct sp_where where, const char *what)
{
	enum sp_journal_state found = SP_JOURNAL_UNKNOWN;
	struct sp_error err = SP_ERROR_INIT;
	int found_code = -1;
	int rc = s->journal->ops->probe(s->journal->self, s->sandbox, s->run, &s->options, &found,
					&found_code, &err);

	if (!sp_check_ok(s->t, rc, &err, where, "%s: probe answers", what) ||
	    !sp_check_str(s->t, scene_state_name(state), scene_state_name(found), where,
			  "%s: what the probe says", what))
		return false;
	return state != SP_JOURNAL_FINISHED ||
	       sp_check_int(s->t, code, found_code, where, "%s: the code that the probe tells",
			    what);
}
