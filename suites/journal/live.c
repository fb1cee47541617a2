/* SPDX-License-Identifier: MIT */
/* J8, J9: lines arrive while they are written, by following and by polling. Gates, not clocks. */
#include "cases.h"
#include "scene.h"

#define LINES 10

/*
 * A line is written only after the one before it was read and answered at a FIFO, which the run
 * keeps open: else it could meet the end that the answer before it left. A filter that holds lines
 * back stands still here, and the case's limit says so.
 */
static void causal(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct reader r READER = READER_INIT;
	struct sp_fifo go;
	uint64_t at = 0;

	SP_REQUIRE(scene_open_live(t, &s) && sp_fifo_make(&s.place, "go", &go));
	SP_REQUIRE(producer_start(
		&s, &p,
		sp_case_format(t,
			       "exec 3<>%s; i=1; while [ $i -le %d ]; do echo \"line $i\"; "
			       "read -r x <&3; i=$((i+1)); done; exit 3",
			       go.path, LINES)));
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	for (int i = 1; i <= LINES; i++) {
		const char *line = sp_case_format(t, "line %d", i);

		at += strlen(line) + 1;
		SP_REQUIRE(reader_take(&r, line, strlen(line), at, SP_HERE,
				       "a line before the next is written"));
		SP_REQUIRE(sp_fifo_put(&go, "go"));
	}
	reader_take_exit(&r, 3, at + strlen(journal_mark(t, s.run, 3)) + 1, SP_HERE,
			 "after the last line");
}

void journal_poll_causal(struct sp_case *t)
{
	causal(t, SP_JOURNAL_POLL);
}

void journal_follow_causal(struct sp_case *t)
{
	causal(t, SP_JOURNAL_FOLLOW);
}

static void before_file(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct producer p PRODUCER = PRODUCER_INIT;
	struct reader r READER = READER_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && reader_open(&s, &r, 0, strategy) && reader_ask(&r));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "a reader that came before the journal waits for it"));
	SP_REQUIRE(!sp_case_failed(t) && producer_start(&s, &p, "echo late; exit 6"));
	SP_REQUIRE(
		reader_check_line(&r, reader_answer(&r), "late", 4, 5, SP_HERE, "the first line"));
	reader_take_exit(&r, 6, 5 + strlen(journal_mark(t, s.run, 6)) + 1, SP_HERE,
			 "the run's end");
}

void journal_poll_before_file(struct sp_case *t)
{
	before_file(t, SP_JOURNAL_POLL);
}

void journal_follow_before_file(struct sp_case *t)
{
	before_file(t, SP_JOURNAL_FOLLOW);
}

/* ---- The reader's own end ---- */

/* A run that stands at an answerer after its first line, and a reader that has had that line. */
struct quiet {
	struct scene s;
	struct sp_answerer run;
	struct producer p;
	struct relay relay;
	struct reader r;
};

#define QUIET_INIT                                                                                 \
	{                                                                                          \
		.s = SCENE_INIT, .p = PRODUCER_INIT, .relay = RELAY_INIT, .r = READER_INIT         \
	}
#define QUIET SP_CLEANUP(quiet_done)

static void quiet_done(struct quiet *q)
{
	reader_done(&q->r);
	relay_done(&q->relay);
	producer_done(&q->p);
	scene_done(&q->s);
}

/* Between two polls, where an abort may not wait for the next one. */
#define AN_HOUR (3600 * 1000)

static bool quiet_open(struct sp_case *t, struct quiet *q, enum sp_journal_strategy strategy,
		       uint32_t poll_ms, const struct relay_hooks *hooks)
{
	struct sp_journal_options options;

	if (!scene_open_live(t, &q->s) || !sp_answerer_make(&q->s.place, "run", &q->run) ||
	    !producer_start(&q->s, &q->p,
			    sp_case_format(t, "echo one; %s; echo two; exit 5", q->run.shell)) ||
	    !sp_answerer_await(&q->run))
		return false;
	relay_open(t, q->s.sandbox, hooks, &q->relay);
	options = q->s.options;
	options.strategy = strategy;
	options.poll_ms = poll_ms;
	return reader_open_with(&q->s, &q->r, &q->relay.sandbox, 0, &options) &&
	       reader_take(&q->r, "one", 3, 4, SP_HERE, "the line of a run that is quiet now");
}

/* An abort ends the reader in silence, and nothing else. */
static bool quiet_abort(struct quiet *q)
{
	struct sp_case *t = q->s.t;
	struct sp_call_result *result;

	if (!reader_ask(&q->r) ||
	    !SP_CHECK(t, sp_rounds_pending(t, q->s.sandbox, q->r.pending),
		      "a reader of a quiet run waits") ||
	    sp_case_failed(t))
		return false;
	sp_cancel_abort(q->r.cancel, "enough");
	result = reader_answer(&q->r);
	return result &&
	       SP_CHECK_OK(t, result->rc, &result->err,
			   "an aborted reader answers without an error") &&
	       SP_CHECK(t, q->r.end, "an aborted reader says the end, not a line");
}

/* The run and its files are as they were. */
static void quiet_check_run(struct quiet *q)
{
	struct scene *s = &q->s;

	SP_REQUIRE(sp_answerer_check(&q->run, SP_HERE, "the run, after its reader ended"));
	SP_REQUIRE(scene_check_state(s, SP_JOURNAL_PRODUCING, 0, SP_HERE,
				     "the run, after its reader ended"));
	SP_REQUIRE(sp_answerer_end(&q->run) && producer_await(&q->p));
	SP_REQUIRE(scene_check_file(
		s, s->file, sp_case_format(s->t, "one\ntwo\n%s\n", journal_mark(s->t, s->run, 5)),
		SP_HERE, "the journal of a run whose reader ended"));
	scene_check_file(s, s->err_file, "", SP_HERE, "its stderr file");
}

void journal_poll_abort(struct sp_case *t)
{
	struct quiet q QUIET = QUIET_INIT;

	SP_REQUIRE(quiet_open(t, &q, SP_JOURNAL_POLL, AN_HOUR, NULL) && quiet_abort(&q));
	quiet_check_run(&q);
}

void journal_follow_abort(struct sp_case *t)
{
	struct quiet q QUIET = QUIET_INIT;

	SP_REQUIRE(quiet_open(t, &q, SP_JOURNAL_FOLLOW, AN_HOUR, NULL) && relay_used(&q.relay) &&
		   quiet_abort(&q));
	reader_done(&q.r);
	SP_REQUIRE(relay_check_ended(&q.relay, SP_HERE, "the follower in the sandbox has ended"));
	quiet_check_run(&q);
}

static int refuse_kill(struct relay_process *process, int signal, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	(void)process, (void)signal, (void)cancel;
	return sp_error_set(err, SP_UNAVAILABLE, "the case refuses this kill");
}

void journal_follow_kill_fails(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .kill = refuse_kill };
	struct quiet q QUIET = QUIET_INIT;

	SP_REQUIRE(quiet_open(t, &q, SP_JOURNAL_FOLLOW, AN_HOUR, &hooks) && relay_used(&q.relay) &&
		   quiet_abort(&q));
	reader_done(&q.r);
	quiet_check_run(&q);
}

/* ---- A stream that ends ---- */

/* The first follower's stream is closed in good order after its first bytes, as platforms do after
 * some hours. */
static int end_early(struct relay_process *process, enum sp_stream stream, void *buffer, size_t max,
		     size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	bool first = process->next == NULL;

	if (first && stream == SP_STDOUT && atomic_fetch_add(&process->count, 1)) {
		*ret_len = 0;
		return 0;
	}
	return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
}

void journal_follow_stream_ends(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .read = end_early };
	struct quiet q QUIET = QUIET_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(quiet_open(t, &q, SP_JOURNAL_FOLLOW, 0, &hooks) && relay_used(&q.relay));
	SP_REQUIRE(reader_ask(&q.r));
	/* It may go on by another command, or answer an error: the run is alive. */
	(void)sp_rounds_done(t, q.s.sandbox, q.r.pending);
	SP_REQUIRE(!sp_case_failed(t) && sp_answerer_end(&q.run));
	result = reader_answer(&q.r);
	SP_REQUIRE(result != NULL);
	if (result->rc) {
		SP_CHECK(t, result->err.message[0], "the error has words");
		return;
	}
	SP_REQUIRE(reader_check_line(&q.r, result, "two", 3, 8, SP_HERE, "after the stream's end"));
	reader_take_exit(&q.r, 5, 8 + strlen(journal_mark(t, q.s.run, 5)) + 1, SP_HERE,
			 "the run's own end");
}

/* ---- Deadlines ---- */

static void first_byte(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_options options;
	struct reader r READER = READER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(scene_open_live(t, &s) &&
		   sp_sh_ok(t, s.sandbox, "mkdir %s && : > %s", s.dir, s.file));
	options = s.options;
	options.strategy = strategy;
	/* Every command takes longer, and there may be many. */
	options.first_byte_ms = 1;
	rc = reader_first_refused(&s, &r, s.sandbox, 0, &options, &err);
	SP_REQUIRE(SP_CHECK(t, rc || !r.end, "a deadline is an error, not a quiet end"));
	SP_CHECK_CODE(t, SP_TIMED_OUT, rc, &err, "no first byte within the deadline");
}

void journal_poll_first_byte(struct sp_case *t)
{
	first_byte(t, SP_JOURNAL_POLL);
}

void journal_follow_first_byte(struct sp_case *t)
{
	first_byte(t, SP_JOURNAL_FOLLOW);
}

/* Shortest deadline that is tried, and how often it is doubled for a slow machine. */
#define GAP_MS 50
#define GAP_TRIES 8

/* Opens a reader that gets its first line in time; the deadline that this took, or 0. */
static uint32_t open_in_time(struct scene *s, struct reader *r, struct sp_journal_options *options)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options->first_byte_ms = GAP_MS;
	for (int i = 0; i < GAP_TRIES; i++, options->first_byte_ms *= 2) {
		reader_done(r);
		rc = reader_first(s, r, s->sandbox, 0, options, &err);
		if (!rc && SP_CHECK(s->t, !r->end, "the first line in time is a line, not the end"))
			return options->first_byte_ms;
		if (!rc || !SP_CHECK_CODE(s->t, SP_TIMED_OUT, rc, &err,
					  "a first line that did not come in time"))
			return 0;
	}
	SP_CHECK(s->t, false, "a line that is there comes within %u ms",
		 options->first_byte_ms / 2);
	return 0;
}

/*
 * The deadline is for the first byte. That it has passed is told by another reader, which had the
 * same one and nothing to read; the first reader is older and must still wait.
 */
static void later_gaps(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct sp_journal_options options;
	struct reader r READER = READER_INIT;
	struct reader other READER = READER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *run;
	int rc;

	SP_REQUIRE(scene_open_live(t, &s) && scene_write(&s, "one\n"));
	options = s.options;
	options.strategy = strategy;
	SP_REQUIRE(open_in_time(&s, &r, &options) && reader_ask(&r));
	run = s.run;
	SP_REQUIRE(scene_set_run(&s, NULL) && sp_sh_ok(t, s.sandbox, ": > %s", s.file));
	rc = reader_first(&s, &other, s.sandbox, 0, &options, &err);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_TIMED_OUT, rc, &err, "the reader that has nothing to read"));
	SP_REQUIRE(SP_CHECK(t, sp_call_pending(r.pending),
			    "the reader that had its first byte still waits"));
	SP_REQUIRE(scene_set_run(&s, run) && scene_write(&s, "two\n"));
	reader_check_line(&r, reader_answer(&r), "two", 3, 8, SP_HERE, "the line after a long gap");
}

void journal_poll_later_gaps(struct sp_case *t)
{
	later_gaps(t, SP_JOURNAL_POLL);
}

void journal_follow_later_gaps(struct sp_case *t)
{
	later_gaps(t, SP_JOURNAL_FOLLOW);
}

/* ---- What is declared ---- */

void journal_declared_strategy(struct sp_case *t)
{
	const struct sp_capabilities *declared = sp_case_capabilities(t);
	struct scene s SCENE = SCENE_INIT;
	struct relay relay RELAY = RELAY_INIT;
	struct reader r READER = READER_INIT;
	struct sp_journal_options options;
	struct sp_journal_reader forced = SP_JOURNAL_READER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_journal_line line = SP_JOURNAL_LINE_INIT;
	bool end = false;
	int rc;

	SP_REQUIRE(SP_CHECK_INT(
		t, declared->background_processes && declared->killable_processes, declared->follow,
		"follow is declared where background and kill are, and only there"));
	SP_REQUIRE(scene_open(t, &s) && scene_write(&s, "one\n"));
	relay_open(t, s.sandbox, NULL, &relay);
	SP_REQUIRE(reader_open_with(&s, &r, &relay.sandbox, 0, &s.options));
	SP_REQUIRE(reader_take(&r, "one", 3, 4, SP_HERE, "a reader that chooses for itself"));
	SP_REQUIRE(relay_used(&relay));
	SP_REQUIRE(SP_CHECK_INT(
		t, declared->follow, atomic_load(&relay.spawns) > 0,
		"a reader that chooses for itself follows exactly where it is declared"));
	options = s.options;
	options.strategy = SP_JOURNAL_FOLLOW;
	rc = s.journal->ops->read(s.journal->self, s.sandbox, s.run, 0, &options, &forced, &err);
	if (!rc)
		rc = forced.ops->next(forced.self, &line, &end, &err);
	if (declared->follow)
		SP_CHECK_OK(t, rc, &err, "following where it is declared");
	else
		SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err, "following where it is not declared");
	sp_bytes_done(&line.text);
	if (forced.ops)
		forced.ops->close(forced.self);
}
