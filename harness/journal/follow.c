/* SPDX-License-Identifier: MIT */
/*
 * The follow source: one `tail -f`, whose bytes are taken as they come. What it cannot tell is
 * asked for by bounded reads: the bytes of a line that came as U+FFFD, and whether the journal is
 * still the same one (a follower goes on silently when it is cut, and for ever when it is
 * replaced).
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include <base/clock.h>

#include "follower.h"

/* Followers in a row that may end without a byte before it is told. */
#define IDLE_ENDS 3
/*
 * After how many polling intervals of silence the place is verified; the
 * wait doubles up to the second.
 */
#define VERIFY_FIRST 4
#define VERIFY_LAST 64
/* Silence is never shorter than this, even with an interval of 0. */
#define VERIFY_MIN (20 * SP_MS)

static uint64_t first_wait(const struct reader *reader)
{
	uint64_t wait = reader->poll_ms * VERIFY_FIRST * SP_MS;

	return wait < VERIFY_MIN ? VERIFY_MIN : wait;
}

static void verify_later(struct reader *reader, uint64_t wait)
{
	uint64_t most = first_wait(reader) * (VERIFY_LAST / VERIFY_FIRST);

	reader->verify_wait = wait < most ? wait : most;
	reader->verify_at = sp_now() + reader->verify_wait;
}

int reader_follow_start(struct reader *reader, struct sp_error *err)
{
	struct sp_journal_words words = journal_run_words(&reader->run);
	struct race *race = race_spawn(&reader->sandbox,
				       reader->steps.compose_follow(&words, reader->position));
	struct race_result *result;
	int rc = reader_await(reader, &race, err);

	if (rc)
		return rc;
	result = race_result(race);
	rc = result->rc;
	if (rc && err)
		*err = result->err;
	if (!rc) {
		reader->follower = follower_new(result->process);
		result->process = (struct sp_process)SP_PROCESS_INIT;
		if (!reader->follower)
			rc = sp_error_set(err, SP_INTERNAL, "no memory or thread for a follower");
	}
	race_drop(race);
	verify_later(reader, first_wait(reader));
	return rc;
}

/* ---- The place ---- */

/*
 * Proves that the bytes before the position are still there; a read that
 * fails proves nothing either way.
 */
static int verify(struct reader *reader, struct sp_error *err)
{
	struct sp_bytes data SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	const struct anchor *anchor = &reader->anchor;
	bool cut = false;

	if (!reader->steps.verify_place || !anchor->len)
		return 0;
	if (reader_read_at(reader, anchor->end - anchor->len, anchor->len, &data, &cut, NULL))
		return sp_cancel_check(reader->cancel, err);
	return cut ? 0 : reader_check_anchor(reader, anchor, anchor->len, &data, err);
}

/* ---- The follower's end ---- */

/* The end of a follower says nothing about the run: platforms end long streams in good order. */
static int follow_again(struct reader *reader, int why, struct sp_error *err)
{
	bool passing = why == SP_GONE || why == SP_UNKNOWN_OUTCOME || why == SP_UNAVAILABLE;

	reader->follower = follower_close(reader->follower, !reader->steps.kill_follower);
	if (!reader->steps.refollow) {
		reader->over = true;
		return SP_ABORTED;
	}
	if (!passing)
		return why;
	if (++reader->idle_ends >= IDLE_ENDS) {
		reader->idle_ends = 0;
		return why != SP_GONE
			       ? why
			       : sp_error_set(err, SP_PROTOCOL,
					      "the follower of run %.200s ended %d times in a row "
					      "without a byte",
					      reader->run.run_id, IDLE_ENDS);
	}
	race_poll(-1, sp_cancel_fd(reader->cancel), sp_now() + reader->poll_ms * SP_MS);
	return 0;
}

/* Follows from the position again: what was carried comes once more. */
static int restart(struct reader *reader, struct sp_error *err)
{
	int rc = verify(reader, err);

	if (rc)
		return rc;
	sp_buf_clear(&reader->carry);
	return reader_follow_start(reader, err);
}

/* ---- fill ---- */

static int take_bytes(struct reader *reader, struct sp_bytes *bytes, struct sp_error *err)
{
	bool after_silence = sp_now() >= reader->last_byte + first_wait(reader) || !reader->poll_ms;
	int rc = after_silence ? verify(reader, err) : 0;

	reader->idle_ends = 0;
	reader->quiet = false;
	verify_later(reader, first_wait(reader));
	if (rc) {
		sp_bytes_done(bytes);
		return rc;
	}
	reader_take_chunk(reader, bytes, 0);
	return 0;
}

/* Silence: look whether the journal is still there. */
static int on_silence(struct reader *reader, struct sp_error *err)
{
	int rc = verify(reader, err);

	verify_later(reader, 2 * reader->verify_wait);
	reader->quiet = !rc;
	return rc;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static int follow_fill(struct reader *reader, struct sp_error *err)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_cancel *cancel = reader->steps.race_abort ? reader->cancel : NULL;
	uint64_t deadline;
	int rc = reader->follower ? 0 : restart(reader, err);

	while (!rc) {
		rc = follower_pop(reader->follower, &bytes, err);
		if (rc > 0)
			return take_bytes(reader, &bytes, err);
		if (rc < 0)
			return follow_again(reader, rc, err);
		deadline = reader_deadline(reader);
		race_poll(follower_fd(reader->follower), sp_cancel_fd(cancel),
			  sooner(deadline, reader->verify_at));
		rc = sp_cancel_check(cancel, err);
		if (!rc && deadline && sp_now() >= deadline)
			rc = reader_stalled(reader, err);
		if (!rc && sp_now() >= reader->verify_at)
			return on_silence(reader, err);
	}
	return rc;
}

/* ---- The file's own bytes ---- */

static int exact(struct reader *reader, struct sp_bytes *line, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	unsigned char *newline;
	size_t len;
	int rc;

	if (reader->output == SP_OUTPUT_BYTES || !reader->steps.reread_replaced ||
	    !memmem(line->data, line->len, "\xef\xbf\xbd", 3))
		return 0;
	/* Replaced bytes only grow, so the line is within its own length. */
	rc = reader_read_range(reader, reader->position, line->len, &bytes, err);
	if (rc)
		return rc;
	newline = bytes.data ? memchr(bytes.data, '\n', bytes.len) : NULL;
	if (!newline)
		return reader_fail(reader, SP_CONFLICT, err,
				   "the journal of run %.200s changed at byte %llu while it was "
				   "read",
				   reader->run.run_id, (unsigned long long)reader->position);
	len = (size_t)(newline - bytes.data) + 1;
	sp_bytes_done(line);
	bytes.data[len] = '\0';
	*line = (struct sp_bytes){ bytes.data, len };
	bytes = (struct sp_bytes)SP_BYTES_INIT;
	return 0;
}

static void follow_close(struct reader *reader)
{
	reader->follower = follower_close(reader->follower, !reader->steps.kill_follower);
}

const struct source_ops reader_follow_ops = {
	.fill = follow_fill,
	.exact = exact,
	.close = follow_close,
};
