/* SPDX-License-Identifier: MIT */
/*
 * A reader: lines, positions and the exit, above a source of bytes (poll.c, follow.c). Its bytes
 * are the rest of the last line (`carry`) and what has not been looked at yet (`chunk`); their
 * first byte is at `position` of the file.
 */
#ifndef SP_JOURNAL_READER_H
#define SP_JOURNAL_READER_H

#include "internal.h"
#include "race.h"

/* Bytes that are kept to prove that a journal is still the same one. */
#define ANCHOR_MAX 64

/* The last bytes before a position, as they were read. */
struct anchor {
	uint64_t end;
	size_t len;
	unsigned char bytes[ANCHOR_MAX];
};

struct reader;

/* Where bytes come from. */
struct source_ops {
	/*
	 * Waits for more: 0 with a new chunk, or 0 with `quiet` set, which says that
	 * everything there is was delivered. SP_ABORTED or SP_TIMED_OUT exactly when the caller's
	 * cancel has fired; other codes are errors.
	 */
	int (*fill)(struct reader *reader, struct sp_error *err);
	/*
	 * Replaces a line (with its newline) by the file's own bytes where
	 * they may differ. May be NULL.
	 */
	int (*exact)(struct reader *reader, struct sp_bytes *line, struct sp_error *err);
	void (*close)(struct reader *reader);
};

struct reader {
	const struct source_ops *ops;
	struct sp_journal_steps steps;
	struct sp_sandbox sandbox;
	struct journal_run run;
	struct sp_cancel *cancel;
	enum sp_output output;
	uint32_t first_byte_asked, poll_ms;
	uint64_t line_ceiling;
	bool until_end;

	/* Where the reader began, and where the next line does. */
	uint64_t from, position;
	struct sp_buf carry;
	struct sp_bytes chunk;
	size_t chunk_at;
	/* A line that was taken and could not be looked at again yet. */
	struct sp_bytes held;
	struct anchor anchor;

	/* A byte has come; when the last one came, or the reader was opened. */
	bool seen;
	uint64_t last_byte;
	/* Nothing more was there when the source last looked. */
	bool quiet;
	/* The exit was delivered. */
	bool over;
	/* A sentinel behind an unterminated line, to be delivered next. */
	struct sp_journal_line pending;
	/* Ends the reader for good. */
	struct sp_error fatal;

	/*
	 * Of poll.c: the read under way, where it began, its known bytes;
	 * whether one was made before.
	 */
	struct race *poll;
	uint64_t poll_from;
	size_t poll_overlap;
	bool polled;
	/* A read that an abort left behind. */
	struct race *abandoned;

	/*
	 * Of follow.c: the follower, how often it ended without a byte, and when
	 * the place is verified again.
	 */
	struct follower *follower;
	unsigned idle_ends;
	uint64_t verify_at;
	uint64_t verify_wait;
};

/* When the next byte must have come; 0: never. */
uint64_t reader_deadline(const struct reader *reader);
/* The error of a first byte that did not come. */
int reader_stalled(const struct reader *reader, struct sp_error *err);
/* Ends the reader with an error that every later call repeats. */
int reader_fail(struct reader *reader, enum sp_code code, struct sp_error *err, const char *format,
		...) __attribute__((format(printf, 4, 5)));
/* Hands over a new chunk, which is taken; its first `known` bytes were read before. */
void reader_take_chunk(struct reader *reader, struct sp_bytes *chunk, size_t known);
/* Adds what was read up to now. */
void anchor_add(struct anchor *anchor, const void *data, size_t len);

/*
 * Waits for a call: 0; SP_ABORTED or SP_TIMED_OUT of the reader's cancel (the call is then
 * abandoned); an error when the first byte is due. `*race` is dropped unless the answer is 0.
 */
int reader_await(struct reader *reader, struct race **race, struct sp_error *err);
/*
 * One bounded read of at most `max` bytes from `from` on, raced. `*ret_cut`:
 * the provider dropped the rest.
 */
int reader_read_at(struct reader *reader, uint64_t from, uint64_t max, struct sp_bytes *ret_bytes,
		   bool *ret_cut, struct sp_error *err);
/*
 * The bytes from `from` on, `len` of them unless the journal is shorter, in as
 * many reads as the cap asks for.
 */
int reader_read_range(struct reader *reader, uint64_t from, size_t len, struct sp_bytes *ret_bytes,
		      struct sp_error *err);
/* Judges what a bounded read answered. */
int reader_decode(struct reader *reader, const struct race_result *result,
		  struct sp_bytes *ret_bytes, struct sp_error *err);
/* Fails the reader unless `data` begins with the bytes that were read before. */
int reader_check_anchor(struct reader *reader, const struct anchor *anchor, size_t overlap,
			const struct sp_bytes *data, struct sp_error *err);

/* The two sources. */
extern const struct source_ops reader_poll_ops;
extern const struct source_ops reader_follow_ops;
/* Starts the follower; what spawn answers. */
int reader_follow_start(struct reader *reader, struct sp_error *err);

#endif
