/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "value.h"

struct drv_stream *drv_stream_of(struct drv_streams *streams, size_t dialogue, const char *process,
				 const char *name)
{
	struct drv_stream *at = streams->first;

	while (at &&
	       (at->dialogue != dialogue || strcmp(at->process, process) || strcmp(at->name, name)))
		at = at->next;
	if (at)
		return at;
	at = calloc(1, sizeof(*at));
	if (!at)
		return NULL;
	at->dialogue = dialogue;
	at->process = strdup(process);
	at->name = strdup(name);
	at->ahead = (struct sp_buf)DRV_BUF_INIT;
	at->next = streams->first;
	streams->first = at;
	return at->process && at->name ? at : NULL;
}

void drv_streams_forget(struct drv_streams *streams, size_t dialogue, const char *process)
{
	for (struct drv_stream *at = streams->first; at; at = at->next) {
		if (at->dialogue != dialogue || strcmp(at->process, process))
			continue;
		sp_buf_clear(&at->ahead);
		at->ended = at->given_up = false;
	}
}

bool drv_stream_add(struct drv_stream *stream, bool actual, const char *data, size_t len)
{
	struct sp_buf *ahead = &stream->ahead;
	size_t both = 0;

	if (stream->given_up)
		return true;
	if (ahead->len && stream->actual_is_ahead != actual) {
		both = ahead->len < len ? ahead->len : len;
		if (memcmp(ahead->data, data, both) != 0)
			return false;
		sp_buf_consume(ahead, both);
	}
	if (both == len)
		return true;
	stream->actual_is_ahead = actual;
	return !sp_buf_add(ahead, data + both, len - both);
}

size_t drv_stream_missing(const struct drv_stream *stream)
{
	return stream->given_up || stream->actual_is_ahead ? 0 : stream->ahead.len;
}

size_t drv_stream_spare(const struct drv_stream *stream)
{
	return stream->given_up || !stream->actual_is_ahead ? 0 : stream->ahead.len;
}

void drv_streams_done(struct drv_streams *streams)
{
	while (streams->first) {
		struct drv_stream *next = streams->first->next;

		sp_buf_done(&streams->first->ahead);
		free(streams->first->process);
		free(streams->first->name);
		free(streams->first);
		streams->first = next;
	}
}
