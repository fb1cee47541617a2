/* SPDX-License-Identifier: MIT */
/* Questions about one run that one or two commands answer. */
#include "internal.h"

#include <base/clock.h>

#include "commands.h"

/* A run and what every question needs. */
struct asked {
	const struct journal *journal;
	struct sp_sandbox *sandbox;
	struct journal_options options;
	struct journal_run run;
	struct sp_journal_words words;
};

static void asked_done(struct asked *asked)
{
	journal_options_done(&asked->options);
	journal_run_done(&asked->run);
}

static int ask(const struct journal *journal, struct sp_sandbox *sandbox, const char *run_id,
	       const struct sp_journal_options *given, struct asked *ret, struct sp_error *err)
{
	int rc;

	ret->journal = journal;
	ret->sandbox = sandbox;
	rc = journal_options_make(given, &ret->options, err);
	if (!rc)
		rc = journal_run_make(journal, &ret->options, run_id, &ret->run, err);
	ret->words = journal_run_words(&ret->run);
	return rc;
}

/* The command that reads the tail, behind a look at the place if that was not made yet. */
static char *tail_command(const struct asked *asked, bool of_stderr, bool looks, uint64_t max)
{
	const struct sp_journal_steps *steps = &asked->journal->steps;
	struct sp_journal_words place = asked->words;
	char *read = of_stderr ? steps->compose_stderr(&asked->words, max) :
				 steps->compose_probe(&asked->words, max);

	if (!looks)
		return read;
	if (of_stderr)
		place.journal = asked->words.stderr_file;
	return sp_journal_compose_both(steps->compose_look(&place, 0), read, false);
}

/* What a tail's code says; a look tells an absent file, a folder and one that cannot be read. */
static int tail_code(const struct asked *asked, bool of_stderr, bool looks,
		     const struct sp_exec_result *result, struct sp_error *err)
{
	const struct sp_journal_words *words = &asked->words;

	if (!result->exit_code)
		return 0;
	return looks ? journal_look_code(&asked->run,
					 of_stderr ? words->stderr_file : words->journal, result,
					 err) :
		       journal_bad_code("reading the tail", result, err);
}

/*
 * Reads at most the last `*max` bytes of a file; it is looked at before, since whoever opens a FIFO
 * stands there. A cap would leave the head of a tail, which is not its end: then less is asked for,
 * and `*max` says how much. `*ret_there` is false where there is no file.
 */
static int read_tail(struct asked *asked, bool of_stderr, bool looks, uint64_t *max,
		     struct sp_bytes *ret_bytes, bool *ret_there, struct sp_error *err)
{
	const struct sp_journal_steps *steps = &asked->journal->steps;

	for (looks = looks && steps->look_first;; *max /= 2) {
		struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
		int rc = journal_exec(asked->sandbox, tail_command(asked, of_stderr, looks, *max),
				      asked->options.cancel, &result, err);

		if (!rc)
			rc = tail_code(asked, of_stderr, looks, &result, err);
		if (rc)
			return rc;
		*ret_there = result.exit_code != SP_JOURNAL_ABSENT;
		if (!result.stdout_cut)
			return steps->decode_read((const char *)result.stdout_bytes.data,
						  result.stdout_bytes.len, false, ret_bytes, err);
		if (*max < 2)
			return sp_error_set(err, SP_PROTOCOL,
					    "the sandbox cuts output after %zu bytes: no room for "
					    "a "
					    "tail",
					    result.stdout_bytes.len);
	}
}

/* What is known of the exit after a tail was read. */
struct seen {
	bool there, found, more;
	int code;
};

/* Looks for the exit in the last `max` bytes; seen->more: something else fills them all. */
static int find_exit(struct asked *asked, bool looks, uint64_t max, struct seen *seen,
		     struct sp_error *err)
{
	struct sp_bytes tail SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	int rc = read_tail(asked, false, looks, &max, &tail, &seen->there, err);

	if (rc || !seen->there)
		return rc;
	seen->more = tail.len >= max;
	seen->found = asked->journal->steps.find_exit((const char *)tail.data, tail.len,
						      !seen->more, asked->run.nonce, &seen->code);
	return 0;
}

/* Looks for the last exit in as much of the journal as a sandbox can be asked to look through. */
static int search_exit(struct asked *asked, bool *ret_found, int *ret_code, struct sp_error *err)
{
	const struct sp_journal_steps *steps = &asked->journal->steps;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_bytes line SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	int rc = journal_exec(asked->sandbox,
			      sp_journal_compose_search(&asked->words, asked->run.nonce,
							JOURNAL_SEARCH),
			      asked->options.cancel, &result, err);

	if (!rc && result.exit_code)
		rc = journal_bad_code("searching the journal", &result, err);
	if (!rc)
		rc = steps->decode_read((const char *)result.stdout_bytes.data,
					result.stdout_bytes.len, false, &line, err);
	if (!rc && line.len)
		*ret_found = steps->find_exit((const char *)line.data, line.len, true,
					      asked->run.nonce, ret_code);
	return rc;
}

int journal_probe(void *self, struct sp_sandbox *sandbox, const char *run_id,
		  const struct sp_journal_options *options, enum sp_journal_state *ret_state,
		  int *ret_exit_code, struct sp_error *err)
{
	struct asked asked SP_CLEANUP(asked_done) = { .journal = NULL };
	struct seen seen = { .there = true };
	int rc = ask(self, sandbox, run_id, options, &asked, err);

	if (!rc)
		rc = find_exit(&asked, true, JOURNAL_TAIL, &seen, err);
	/* What a background child wrote behind the exit. */
	if (!rc && !seen.found && seen.more)
		rc = find_exit(&asked, false, JOURNAL_TAIL_WIDE, &seen, err);
	/* However much that is, within reason. A sandbox without such a grep answers nothing. */
	if (!rc && !seen.found && seen.more)
		rc = search_exit(&asked, &seen.found, &seen.code, err);
	if (rc)
		return rc;
	*ret_state = seen.found ? SP_JOURNAL_FINISHED :
		     seen.there ? SP_JOURNAL_PRODUCING :
				  SP_JOURNAL_UNKNOWN;
	if (seen.found)
		*ret_exit_code = seen.code;
	return 0;
}

int journal_stderr_tail(void *self, struct sp_sandbox *sandbox, const char *run_id, size_t max,
			const struct sp_journal_options *options, struct sp_bytes *ret_bytes,
			struct sp_error *err)
{
	struct asked asked SP_CLEANUP(asked_done) = { .journal = NULL };
	uint64_t asked_max = max;
	bool there;
	int rc = ask(self, sandbox, run_id, options, &asked, err);

	if (!rc && (!max || max > JOURNAL_POSITION_MAX))
		rc = sp_error_set(err, SP_INVALID, "a tail has at least one byte");
	return rc ? rc : read_tail(&asked, true, true, &asked_max, ret_bytes, &there, err);
}

/* ---- attach ---- */

/* What the last probe said. */
enum answer { ANSWER_NO, ANSWER_YES, ANSWER_FAILED };

static enum answer exists(struct asked *asked, struct sp_error *err)
{
	const struct journal *journal = asked->journal;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = journal_exec(asked->sandbox, journal->steps.compose_exists(&asked->words),
			      asked->options.cancel, &result, err);

	if (!rc && result.exit_code > 1)
		rc = journal_bad_code("the probe for the journal", &result, err);
	if (rc)
		return journal->steps.attach_fails_closed ? ANSWER_FAILED : ANSWER_YES;
	return result.exit_code ? ANSWER_NO : ANSWER_YES;
}

/* What the records say, once. Records that cannot tell leave it to waiting. */
static int ask_record(const struct asked *asked, sp_journal_record_fn record, void *arg,
		      struct sp_error *err)
{
	enum sp_journal_record answer;

	if (!record || record(arg, asked->run.run_id, &answer))
		return 0;
	switch (answer) {
	case SP_RECORD_OPEN:
		return 0;
	case SP_RECORD_ABSENT:
		return sp_error_set(err, SP_NOT_FOUND,
				    "there is no run %.200s and no journal of it",
				    asked->run.run_id);
	case SP_RECORD_TERMINAL:
		return sp_error_set(err, SP_CONFLICT,
				    "run %.200s is over and its journal is not there any more",
				    asked->run.run_id);
	}
	return 0;
}

static int no_journal(const struct asked *asked, enum answer last, const struct sp_error *why,
		      struct sp_error *err)
{
	unsigned ms = asked->options.first_byte_ms;
	int rc;

	if (last == ANSWER_NO)
		return sp_error_set(err, SP_TIMED_OUT,
				    "no journal of run %.200s within %u ms: the probe answered "
				    "\"no\"",
				    asked->run.run_id, ms);
	rc = sp_error_set(err, SP_TIMED_OUT,
			  "no journal of run %.200s within %u ms: the probe could not run",
			  asked->run.run_id, ms);
	sp_error_set_detail(err, why->message);
	return rc;
}

/* Milliseconds between two probes, not beyond the end. */
static uint32_t step_ms(const struct asked *asked, uint64_t deadline)
{
	uint32_t ms = asked->options.poll_ms == UINT32_MAX ? JOURNAL_ATTACH_POLL_MS :
							      asked->options.poll_ms;
	int left = sp_until_ms(deadline);

	return left >= 0 && (uint32_t)left < ms ? (uint32_t)left : ms;
}

int journal_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
		   sp_journal_record_fn record, void *arg,
		   const struct sp_journal_options *options, struct sp_error *err)
{
	struct asked asked SP_CLEANUP(asked_done) = { .journal = NULL };
	struct sp_error why = SP_ERROR_INIT;
	int rc = ask(self, sandbox, run_id, options, &asked, err);
	uint32_t bound = asked.options.first_byte_ms;
	uint64_t deadline = bound == UINT32_MAX ? 0 : sp_deadline_ms(bound);
	enum answer last;

	for (bool first = true; !rc; first = false) {
		rc = sp_cancel_check(asked.options.cancel, err);
		if (rc)
			break;
		last = exists(&asked, &why);
		if (last == ANSWER_YES)
			return 0;
		if (first)
			rc = ask_record(&asked, record, arg, err);
		if (!rc && deadline && sp_now() >= deadline)
			rc = no_journal(&asked, last, &why, err);
		if (!rc)
			journal_pause(step_ms(&asked, deadline), asked.options.cancel);
	}
	return rc;
}
