/* SPDX-License-Identifier: MIT */
/* A parser of event streams that is fed byte by byte or megabyte by megabyte. */
#ifndef SP_RENDER_SSE_H
#define SP_RENDER_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include <sandproof/error.h>

#include <base/buf.h>

/* Longest name of an event; a longer one is not ours. */
#define SSE_TYPE_MAX 64

struct sse {
	/* The line that has not ended. */
	struct sp_buf line;
	/* Data of the event, its lines joined by LF. */
	struct sp_buf data;
	char type[SSE_TYPE_MAX];
	bool has_data;
	bool has_type;
	/* The event was given out: the next byte begins another one. */
	bool given;
};

/* An empty parser; each of its two buffers may grow to `ceiling`. */
void sse_init(struct sse *sse, size_t ceiling);
void sse_done(struct sse *sse);

/*
 * Takes bytes up to the end of one event. `*ret_used` says how many;
 * `*ret_event` whether `type` and `data` are an event now, valid until the
 * next call. SP_PROTOCOL: a line or an event over the ceiling.
 */
int sse_push(struct sse *sse, const void *bytes, size_t len, size_t *ret_used, bool *ret_event,
	     struct sp_error *err);
/* At the end of the stream: an event without its blank line counts. */
int sse_finish(struct sse *sse, bool *ret_event, struct sp_error *err);

#endif
