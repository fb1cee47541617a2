/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/clock.h>

#include "commands.h"
#include "sentinel.h"

/* ---- Small parts ---- */

uint64_t reader_deadline(const struct reader *reader)
{
	uint32_t ms = reader->steps.first_byte_ms(reader->first_byte_asked, reader->seen);
	uint64_t now = sp_now();

	/* The limit is stretched like every other, from the moment the waiting began. */
	return ms == UINT32_MAX ? 0 : sp_deadline_ms(ms) - (now - reader->last_byte);
}

int reader_stalled(const struct reader *reader, struct sp_error *err)
{
	return sp_error_set(err, SP_TIMED_OUT,
			    "no byte of run %.200s within %u ms (journal %.150s from byte %llu)",
			    reader->run.run_id, reader->first_byte_asked, reader->run.journal,
			    (unsigned long long)reader->from);
}

int reader_fail(struct reader *reader, enum sp_code code, struct sp_error *err, const char *format,
		...)
{
	char message[SP_ERROR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	sp_error_set(&reader->fatal, code, "%s", message);
	if (err)
		*err = reader->fatal;
	return code;
}

void reader_take_chunk(struct reader *reader, struct sp_bytes *chunk, size_t known)
{
	sp_bytes_done(&reader->chunk);
	reader->chunk = *chunk;
	reader->chunk_at = known;
	*chunk = (struct sp_bytes)SP_BYTES_INIT;
	if (reader->chunk.len == known)
		return;
	reader->seen = true;
	reader->last_byte = sp_now();
}

void anchor_add(struct anchor *anchor, const void *data, size_t len)
{
	size_t keep;

	if (!len)
		return;
	anchor->end += len;
	if (len >= ANCHOR_MAX) {
		memcpy(anchor->bytes, (const char *)data + len - ANCHOR_MAX, ANCHOR_MAX);
		anchor->len = ANCHOR_MAX;
		return;
	}
	keep = ANCHOR_MAX - len < anchor->len ? ANCHOR_MAX - len : anchor->len;
	memmove(anchor->bytes, anchor->bytes + anchor->len - keep, keep);
	memcpy(anchor->bytes + keep, data, len);
	anchor->len = keep + len;
}

/* ---- Bounded reads ---- */

int reader_await(struct reader *reader, struct race **race, struct sp_error *err)
{
	int rc;

	if (!*race)
		return sp_error_set(err, SP_INTERNAL, "no memory or thread for a read");
	rc = race_wait(*race, reader->steps.race_abort ? reader->cancel : NULL,
		       reader_deadline(reader));
	if (!rc)
		return 0;
	race_abort(*race);
	/* close() gives it the time to come back; the caller does not wait for it now. */
	reader->abandoned = race_drop(reader->abandoned);
	reader->abandoned = SP_TAKE(*race);
	return rc == SP_UNAVAILABLE ? reader_stalled(reader, err)
				    : sp_cancel_check(reader->cancel, err);
}

int reader_decode(struct reader *reader, const struct race_result *result,
		  struct sp_bytes *ret_bytes, struct sp_error *err)
{
	if (result->rc) {
		if (err)
			*err = result->err;
		return result->rc;
	}
	if (result->exec.exit_code)
		return journal_bad_code("a bounded read of the journal", &result->exec, err);
	return reader->steps.decode_read((const char *)result->exec.stdout_bytes.data,
					 result->exec.stdout_bytes.len, result->exec.stdout_cut,
					 ret_bytes, err);
}

int reader_read_at(struct reader *reader, uint64_t from, uint64_t max, struct sp_bytes *ret_bytes,
		   bool *ret_cut, struct sp_error *err)
{
	struct sp_journal_words words = journal_run_words(&reader->run);
	struct race *race = race_exec(&reader->sandbox,
				      reader->steps.compose_poll(&words, from, max));
	int rc = reader_await(reader, &race, err);

	if (rc)
		return rc;
	rc = reader_decode(reader, race_result(race), ret_bytes, err);
	*ret_cut = race_result(race)->exec.stdout_cut;
	race_drop(race);
	return rc;
}

int reader_read_range(struct reader *reader, uint64_t from, size_t len, struct sp_bytes *ret_bytes,
		      struct sp_error *err)
{
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(len);

	while (all.len < len) {
		struct sp_bytes piece SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		uint64_t left = len - all.len, max = reader->steps.read_max;
		bool cut;
		int rc = reader_read_at(reader, from + all.len, left < max ? left : max, &piece,
					&cut, err);

		if (rc)
			return rc;
		if (!piece.len)
			break;
		sp_buf_add(&all, piece.data, piece.len);
	}
	return sp_buf_take_bytes(&all, ret_bytes)
		       ? sp_error_set(err, SP_INTERNAL, "no memory for a line")
		       : 0;
}

int reader_check_anchor(struct reader *reader, const struct anchor *anchor, size_t overlap,
			const struct sp_bytes *data, struct sp_error *err)
{
	const unsigned char *expected = anchor->bytes + anchor->len - overlap;

	if (!reader->steps.verify_place || !overlap)
		return 0;
	if (data->len < overlap)
		return reader_fail(reader, SP_CONFLICT, err,
				   "the journal of run %.200s was cut or removed: it ends before "
				   "byte %llu, "
				   "up to which it was read",
				   reader->run.run_id, (unsigned long long)anchor->end);
	if (memcmp(data->data, expected, overlap))
		return reader_fail(reader, SP_CONFLICT, err,
				   "the journal of run %.200s was replaced: the bytes before byte "
				   "%llu "
				   "are not the ones that were read",
				   reader->run.run_id, (unsigned long long)anchor->end);
	return 0;
}

/* ---- The last sentinel counts ---- */

/* Whether a tail of the journal holds another exit, scanned line by line. */
struct later {
	struct reader *reader;
	struct sp_buf carry;
};

static bool is_exit_line(const struct reader *reader, const char *line, size_t len)
{
	size_t at;
	int code;

	return reader->steps.parse_sentinel(line, len, reader->run.nonce, &code) ||
	       reader->steps.fused_sentinel(line, len, reader->run.nonce, &at, &code);
}

static bool scan(struct later *later, const struct sp_bytes *data)
{
	const char *text = (const char *)data->data, *end = text + data->len, *newline;

	while ((newline = memchr(text, '\n', (size_t)(end - text)))) {
		sp_buf_add(&later->carry, text, (size_t)(newline - text));
		text = newline + 1;
		if (is_exit_line(later->reader, sp_buf_str(&later->carry), later->carry.len))
			return true;
		sp_buf_clear(&later->carry);
	}
	sp_buf_add(&later->carry, text, (size_t)(end - text));
	return false;
}

/* How long the journal is now; UINT64_MAX where the sandbox cannot tell. */
static uint64_t size_now(struct reader *reader)
{
	struct sp_journal_words words = journal_run_words(&reader->run);
	struct race *race = race_exec(&reader->sandbox, sp_journal_compose_size(&words));
	const struct race_result *result;
	uint64_t size = UINT64_MAX;
	unsigned long long told;

	if (reader_await(reader, &race, NULL))
		return size;
	result = race_result(race);
	if (!result->rc && !result->exec.exit_code && result->exec.stdout_bytes.data &&
	    sscanf((const char *)result->exec.stdout_bytes.data, "%20llu", &told) == 1)
		size = told;
	race_drop(race);
	return size;
}

/*
 * Reads on behind a sentinel, up to the first read that comes back short: who waits for an empty
 * one waits for ever behind a background child that keeps writing. One that writes faster than is
 * read here never lets a read come back short: what it writes after the exit was seen is not looked
 * at. A journal that cannot be read any more does not take the exit away: only an abort is an error
 * here.
 */
static int find_later(struct reader *reader, uint64_t from, bool *ret_found, struct sp_error *err)
{
	struct later later = { reader, SP_BUF_INIT((size_t)reader->line_ceiling) };
	uint64_t end = 0;
	int rc = 0;

	*ret_found = false;
	for (bool more = true; more && !rc && !*ret_found;) {
		struct sp_bytes data SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		bool cut = false;

		if (reader_read_at(reader, from, reader->steps.read_max, &data, &cut, NULL))
			rc = sp_cancel_check(reader->cancel, err);
		more = data.len && (cut || data.len == reader->steps.read_max);
		from += data.len;
		if (data.len)
			*ret_found = scan(&later, &data);
		if (more && !end)
			end = size_now(reader);
		more = more && from < end;
	}
	sp_buf_done(&later.carry);
	return rc;
}

static int is_superseded(struct reader *reader, uint64_t end, bool *ret, struct sp_error *err)
{
	*ret = false;
	if (!reader->steps.last_sentinel ||
	    (reader->quiet && reader->chunk_at == reader->chunk.len))
		return 0;
	return find_later(reader, end, ret, err);
}

/* ---- Lines ---- */

/* Bytes of the next line that are in the chunk, 0 while it is not complete. */
static size_t complete(struct reader *reader)
{
	size_t left = reader->chunk.len - reader->chunk_at;

	return left ? reader->steps.line_end(reader->chunk.data + reader->chunk_at, left) : 0;
}

static int too_long(struct reader *reader, struct sp_error *err)
{
	return reader_fail(reader, SP_PROTOCOL, err,
			   "the line at byte %llu of the journal of run %.200s is longer than the "
			   "ceiling of %llu bytes",
			   (unsigned long long)reader->position, reader->run.run_id,
			   (unsigned long long)reader->line_ceiling);
}

/* Moves the rest of the chunk to the carry: it waits for its newline there. */
static int keep_rest(struct reader *reader, struct sp_error *err)
{
	size_t left = reader->chunk.len - reader->chunk_at;

	if (left && left + reader->carry.len > reader->line_ceiling)
		return too_long(reader, err);
	if (left && sp_buf_add(&reader->carry, reader->chunk.data + reader->chunk_at, left))
		return sp_error_set(err, SP_INTERNAL, "no memory for a line");
	reader->chunk_at = reader->chunk.len;
	return 0;
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "no memory for a line");
}

/* Takes a line of `n` bytes of the chunk, and what was carried, with its newline. */
static int cut_line(struct reader *reader, size_t n, struct sp_bytes *ret_line,
		    struct sp_error *err)
{
	size_t len = reader->carry.len + n;
	unsigned char *text;

	if (len > reader->line_ceiling + 1)
		return too_long(reader, err);
	text = malloc(len + 1);
	if (!text)
		return no_memory(err);
	memcpy(text, sp_buf_str(&reader->carry), reader->carry.len);
	memcpy(text + reader->carry.len, reader->chunk.data + reader->chunk_at, n);
	text[len] = '\0';
	*ret_line = (struct sp_bytes){ text, len };
	reader->chunk_at += n;
	if (reader->carry.size > SP_BUF_EVENT / 16)
		sp_buf_done(&reader->carry);
	else
		sp_buf_clear(&reader->carry);
	return 0;
}

/* ---- From a line to what is delivered ---- */

static void drop_newline(struct sp_bytes *line)
{
	if (line->len && line->data[line->len - 1] == '\n')
		line->data[--line->len] = '\0';
}

static void deliver_exit(struct reader *reader, int code, struct sp_journal_line *line)
{
	line->is_exit = true;
	line->exit_code = code;
	reader->over = true;
}

/* Splits an unterminated line from its sentinel, which waits in `pending`. */
static int split(struct reader *reader, struct sp_journal_line *line, size_t at, int code,
		 struct sp_error *err)
{
	struct sp_journal_line *exit = &reader->pending;

	exit->text.data = (unsigned char *)strdup((char *)line->text.data + at);
	if (!exit->text.data)
		return no_memory(err);
	exit->text.len = line->text.len - at;
	exit->end_position = line->end_position;
	exit->exit_code = code;
	exit->is_exit = true;
	line->text.data[at] = '\0';
	line->end_position -= line->text.len - at + 1;
	line->text.len = at;
	line->unterminated = true;
	return 0;
}

/* Finds out whether a line (without its newline) is or holds the exit. */
static int judge(struct reader *reader, struct sp_journal_line *line, struct sp_error *err)
{
	const char *text = (const char *)line->text.data, *nonce = reader->run.nonce;
	bool whole, fused, superseded;
	size_t at = 0, len = line->text.len;
	int code = 0, rc;

	whole = reader->steps.parse_sentinel(text, len, nonce, &code);
	fused = !whole && reader->steps.fused_sentinel(text, len, nonce, &at, &code);
	if (!whole && !fused)
		return 0;
	rc = is_superseded(reader, line->end_position, &superseded, err);
	if (rc || superseded)
		return rc;
	if (fused)
		return split(reader, line, at, code, err);
	deliver_exit(reader, code, line);
	return 0;
}

/* A line was taken: place it, judge it, move on. */
static int place_line(struct reader *reader, struct sp_bytes *taken, struct sp_journal_line *line,
		      struct sp_error *err)
{
	int rc = reader->ops->exact ? reader->ops->exact(reader, taken, err) : 0;

	if (rc) {
		/* The same call may be made again. */
		reader->held = *taken;
		*taken = (struct sp_bytes)SP_BYTES_INIT;
		return rc;
	}
	line->end_position = reader->steps.end_position(reader->position, taken->data, taken->len,
							reader->from);
	if (reader->ops == &reader_follow_ops)
		anchor_add(&reader->anchor, taken->data, taken->len);
	reader->position += taken->len;
	line->text = *taken;
	*taken = (struct sp_bytes)SP_BYTES_INIT;
	drop_newline(&line->text);
	return judge(reader, line, err);
}

/* A sentinel whose newline never came ends the run as well, once nothing more is there. */
static bool is_unended_exit(const struct reader *reader)
{
	int code;

	return reader->carry.len && reader->quiet && reader->chunk_at == reader->chunk.len &&
	       reader->steps.parse_sentinel(sp_buf_str(&reader->carry), reader->carry.len,
					    reader->run.nonce, &code);
}

/* Everything that was there has been looked at, and the caller wants no more than that. */
static bool is_at_end(const struct reader *reader)
{
	return reader->until_end && reader->quiet && reader->chunk_at == reader->chunk.len;
}

/* The rest of a journal that is read up to its end. */
static int take_rest(struct reader *reader, struct sp_journal_line *line, struct sp_error *err)
{
	int rc;

	reader->over = true;
	if (!reader->carry.len)
		return 1;
	rc = cut_line(reader, 0, &line->text, err);
	if (rc)
		return rc;
	reader->position += line->text.len;
	line->end_position = reader->position;
	line->unterminated = true;
	return 1;
}

/* One try: 1 with a line, or at the end; 0 when more bytes are needed; else an error. */
static int try_line(struct reader *reader, struct sp_journal_line *line, struct sp_error *err)
{
	struct sp_bytes taken SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	size_t n;
	int rc;

	if (reader->held.data) {
		taken = reader->held;
		reader->held = (struct sp_bytes)SP_BYTES_INIT;
		rc = 0;
	} else {
		n = complete(reader);
		if (!n && !is_unended_exit(reader)) {
			rc = keep_rest(reader, err);
			return rc || !is_at_end(reader) ? rc : take_rest(reader, line, err);
		}
		rc = cut_line(reader, n, &taken, err);
	}
	if (!rc)
		rc = place_line(reader, &taken, line, err);
	return rc ? rc : 1;
}

static int next_line(struct reader *reader, struct sp_journal_line *line, struct sp_error *err)
{
	for (;;) {
		int rc = reader->fatal.code;

		if (rc) {
			if (err)
				*err = reader->fatal;
			return rc;
		}
		rc = sp_cancel_check(reader->cancel, err);
		if (!rc)
			rc = try_line(reader, line, err);
		if (!rc)
			rc = reader->ops->fill(reader, err);
		if (rc)
			return rc > 0 ? 0 : rc;
	}
}

static int reader_next(void *self, struct sp_journal_line *ret_line, bool *ret_end,
		       struct sp_error *err)
{
	struct reader *reader = self;
	struct sp_journal_line line = SP_JOURNAL_LINE_INIT;
	int rc = 0;

	*ret_end = false;
	if (reader->pending.is_exit) {
		*ret_line = reader->pending;
		reader->pending = (struct sp_journal_line)SP_JOURNAL_LINE_INIT;
		reader->over = true;
		return 0;
	}
	if (reader->over) {
		*ret_end = true;
		return 0;
	}
	rc = next_line(reader, &line, err);
	if (!rc && !line.text.data) {
		*ret_end = true;
		return 0;
	}
	if (!rc) {
		*ret_line = line;
		return 0;
	}
	sp_journal_line_done(&line);
	if (reader->steps.quiet_abort && sp_cancel_check(reader->cancel, NULL)) {
		*ret_end = true;
		return 0;
	}
	return rc;
}

static void reader_close(void *self)
{
	struct reader *reader = self;

	reader->ops->close(reader);
	race_drop(reader->abandoned);
	journal_run_done(&reader->run);
	sp_buf_done(&reader->carry);
	sp_bytes_done(&reader->chunk);
	sp_bytes_done(&reader->held);
	sp_journal_line_done(&reader->pending);
	sp_cancel_unref(reader->cancel);
	free(reader);
}

static const struct sp_journal_reader_ops reader_ops = {
	.version = SP_JOURNAL_READER_VERSION,
	.next = reader_next,
	.close = reader_close,
};

/* ---- Opening ---- */

/* The look at the place, and with it the first read where reads are commands of their own. */
static char *first_command(struct reader *reader)
{
	struct sp_journal_words words = journal_run_words(&reader->run);
	char *look = reader->steps.compose_look(&words, reader->from);

	if (reader->ops != &reader_poll_ops)
		return look;
	return sp_journal_compose_both(look,
				       reader->steps.compose_poll(&words, reader->from,
								  reader->steps.read_max),
				       reader->from);
}

/* Takes the look's answer away from before the first read's; its length, without the dot's line. */
static size_t split_first(struct reader *reader, struct sp_exec_result *exec, char **ret_look)
{
	const char *all = (const char *)exec->stdout_bytes.data;
	const char *dot = reader->from && reader->ops == &reader_poll_ops && all ?
				  strstr(all, ".\n") :
				  NULL;
	size_t len = dot ? (size_t)(dot - all) : reader->from ? exec->stdout_bytes.len : 0;

	*ret_look = strndup(all ? all : "", len);
	if (dot) {
		exec->stdout_bytes.len -= len + 2;
		memmove(exec->stdout_bytes.data, dot + 2, exec->stdout_bytes.len + 1);
	}
	return len;
}

/* The byte before where the reader begins; there is one, unless the journal ends before. */
static int take_before(struct reader *reader, struct sp_exec_result *exec, struct sp_error *err)
{
	struct sp_bytes before SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char *look SP_FREE = NULL;
	size_t len = split_first(reader, exec, &look);
	int rc = look ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");

	if (!rc && !exec->exit_code)
		rc = reader->steps.decode_read(look, len, false, &before, err);
	if (!rc && reader->from && !before.len)
		rc = sp_error_set(err, SP_CONFLICT,
				  "the journal of run %.200s ends before byte %llu, from which it "
				  "was to "
				  "be read",
				  reader->run.run_id, (unsigned long long)reader->from);
	if (!rc)
		anchor_add(&reader->anchor, before.data, before.len);
	return rc;
}

/* Looks at the place: what is there, and whether it reaches up to where the reader begins. */
static int look_first(struct reader *reader, struct sp_error *err)
{
	struct race *race = race_exec(&reader->sandbox, first_command(reader));
	struct race_result *result;
	int rc = reader_await(reader, &race, err);

	if (rc)
		return rc;
	result = race_result(race);
	if (result->rc && err)
		*err = result->err;
	rc = result->rc ? result->rc : journal_look_code(&reader->run, reader->run.journal,
						     &result->exec, err);
	if (!rc)
		rc = take_before(reader, &result->exec, err);
	/* What was read with it is the first poll; an absent journal had nothing to read. */
	reader->polled = !rc && reader->ops == &reader_poll_ops;
	if (reader->polled && !result->exec.exit_code) {
		reader->poll_from = reader->from;
		reader->poll = race;
		return 0;
	}
	race_drop(race);
	return rc;
}

static int begin(struct reader *reader, struct sp_error *err)
{
	int rc = reader->steps.look_first ? look_first(reader, err) : 0;

	reader->anchor.end = reader->from;
	if (!rc && reader->ops == &reader_follow_ops)
		rc = reader_follow_start(reader, err);
	return rc;
}

static int make(const struct journal *journal, struct sp_sandbox *sandbox,
		const struct journal_options *options, uint64_t from, struct reader **ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	bool follow = journal->steps.strategy(options->strategy, journal->can_follow) ==
		      SP_JOURNAL_FOLLOW;

	if (!reader)
		return SP_INTERNAL;
	*reader = (struct reader){
		.ops = follow ? &reader_follow_ops : &reader_poll_ops,
		.steps = journal->steps,
		.sandbox = *sandbox,
		.cancel = sp_cancel_ref(options->cancel),
		.output = journal->output,
		.first_byte_asked = options->first_byte_ms,
		.poll_ms = options->poll_ms == UINT32_MAX ? JOURNAL_POLL_MS : options->poll_ms,
		.line_ceiling = options->line_ceiling,
		.until_end = options->until_end,
		.from = from,
		.position = from,
		.carry = SP_BUF_INIT((size_t)options->line_ceiling + 1),
		.last_byte = sp_now(),
	};
	*ret = reader;
	return 0;
}

int journal_read(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
		 const struct sp_journal_options *given, struct sp_journal_reader *ret_reader,
		 struct sp_error *err)
{
	const struct journal *journal = self;
	struct journal_options options SP_CLEANUP(journal_options_done) = { .dir = NULL };
	struct reader *reader;
	int rc = journal_options_make(given, &options, err);

	if (!rc && from > JOURNAL_POSITION_MAX)
		rc = sp_error_set(err, SP_INVALID, "a position of a journal is below 2^53");
	/* A follower that nobody can end would stay in the sandbox. */
	if (!rc && options.strategy == SP_JOURNAL_FOLLOW && journal->cannot_follow)
		rc = sp_error_set(err, SP_UNSUPPORTED,
				  "following needs background processes that can be killed; read "
				  "by polling");
	if (rc)
		return rc;
	if (make(journal, sandbox, &options, from, &reader))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = journal_run_make(journal, &options, run_id, &reader->run, err);
	if (!rc)
		rc = begin(reader, err);
	if (rc) {
		reader_close(reader);
		return rc;
	}
	*ret_reader = (struct sp_journal_reader){ &reader_ops, reader };
	return 0;
}
