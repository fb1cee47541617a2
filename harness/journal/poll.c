/* SPDX-License-Identifier: MIT */
/*
 * The poll source: bounded reads in base64, one after another. What is read begins a little before
 * the position, with bytes that are known, so that a journal which was cut or replaced is noticed.
 * A full read is followed at once by the next, which runs while the lines of the first are taken.
 */
#include "reader.h"

#include <string.h>

#include <base/clock.h>

/* Known bytes that the next read begins with; never so many that it could not move on. */
static size_t overlap_of(const struct reader *reader)
{
	uint64_t third = reader->steps.read_max / 3;

	if (!reader->steps.verify_place)
		return 0;
	return reader->anchor.len < third ? reader->anchor.len : (size_t)third;
}

static void start_read(struct reader *reader)
{
	struct sp_journal_words words = journal_run_words(&reader->run);

	reader->poll_overlap = overlap_of(reader);
	reader->poll_from = reader->anchor.end - reader->poll_overlap;
	reader->poll = race_exec(&reader->sandbox,
				 reader->steps.compose_poll(&words, reader->poll_from,
							    reader->steps.read_max));
}

/* Waits for the next poll, or the end of the caller's patience. */
static int pause_before(struct reader *reader, struct sp_error *err)
{
	uint64_t next = sp_now() + reader->poll_ms * SP_MS, deadline = reader_deadline(reader);

	if (deadline && deadline < next)
		next = deadline;
	race_poll(-1, sp_cancel_fd(reader->cancel), next);
	if (deadline && sp_now() >= deadline)
		return reader_stalled(reader, err);
	return sp_cancel_check(reader->cancel, err);
}

/* A cap that is smaller than what was asked for decides how much is asked for from now on. */
static int adapt(struct reader *reader, size_t got, struct sp_error *err)
{
	uint64_t max = got - got % 3;

	if (!max)
		return reader_fail(reader, SP_PROTOCOL, err,
				   "the sandbox cuts output too early for a bounded read of the "
				   "journal");
	reader->steps.read_max = max;
	return 0;
}

static int take_read(struct reader *reader, const struct race_result *result, struct sp_error *err)
{
	struct sp_bytes data SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	size_t overlap = reader->poll_overlap;
	uint64_t asked = reader->steps.read_max;
	bool cut = result->exec.stdout_cut;
	int rc = reader_decode(reader, result, &data, err);

	if (rc && !reader->steps.tell_failed_read) {
		reader->quiet = true;
		return 0;
	}
	if (!rc && cut)
		rc = adapt(reader, data.len, err);
	if (!rc)
		rc = reader_check_anchor(reader, &reader->anchor, overlap, &data, err);
	if (rc)
		return rc;
	/* Without the check a journal that ends before the overlap has nothing new. */
	overlap = data.len < overlap ? data.len : overlap;
	reader->quiet = !cut && data.len < asked;
	anchor_add(&reader->anchor, data.data + overlap, data.len - overlap);
	if (!reader->quiet)
		start_read(reader);
	reader_take_chunk(reader, &data, overlap);
	return 0;
}

static int poll_fill(struct reader *reader, struct sp_error *err)
{
	struct race *race;
	bool started = reader->poll;
	int rc = 0;

	if (!reader->steps.keep_partial && reader->quiet) {
		reader->position += reader->carry.len;
		sp_buf_clear(&reader->carry);
	}
	if (!started && reader->polled)
		rc = pause_before(reader, err);
	if (rc)
		return rc;
	if (!started)
		start_read(reader);
	reader->polled = true;
	race = SP_TAKE(reader->poll);
	rc = reader_await(reader, &race, err);
	if (rc)
		return rc;
	rc = take_read(reader, race_result(race), err);
	race_drop(race);
	return rc;
}

static void poll_close(struct reader *reader)
{
	reader->poll = race_drop(reader->poll);
}

const struct source_ops reader_poll_ops = {
	.fill = poll_fill,
	.close = poll_close,
};
