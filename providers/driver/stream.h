/* SPDX-License-Identifier: MIT */
/*
 * The output of a process, read twice: which bytes come with which read is the pipe's matter, so
 * what is compared is the stream, and the side that is behind reads again.
 */
#ifndef SP_DRIVER_STREAM_H
#define SP_DRIVER_STREAM_H

#include <base/buf.h>

struct drv_stream {
	struct drv_stream *next;
	size_t dialogue;
	/* As traced. */
	char *process, *name;
	/* What one side has and the other has not. */
	struct sp_buf ahead;
	bool actual_is_ahead;
	/* The new driver told the end. */
	bool ended;
	/* They differ, which was told, or are masked: nothing more is compared. */
	bool given_up;
};

/* All of a replay; zeroed to begin with. */
struct drv_streams {
	struct drv_stream *first;
};

/* Made when it is new; NULL without memory. */
struct drv_stream *drv_stream_of(struct drv_streams *streams, size_t dialogue, const char *process,
				 const char *name);
/* The handle stands for another process from here on. */
void drv_streams_forget(struct drv_streams *streams, size_t dialogue, const char *process);
/* More of one side. False: it is not what the other one has. */
bool drv_stream_add(struct drv_stream *stream, bool actual, const char *data, size_t len);
/* Bytes by which the trace is ahead. */
size_t drv_stream_missing(const struct drv_stream *stream);
/* Bytes by which the new driver is ahead. */
size_t drv_stream_spare(const struct drv_stream *stream);
void drv_streams_done(struct drv_streams *streams);

#endif
