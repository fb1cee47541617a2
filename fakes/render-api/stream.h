/* SPDX-License-Identifier: MIT */
/*
 * The event stream of a command. Output is taken from the engine only as
 * the client takes it from us; a client that leaves leaves the command running.
 */
#ifndef FAKE_RENDER_API_STREAM_H
#define FAKE_RENDER_API_STREAM_H

#include <stdint.h>

#include <fakes/render-api/request.h>

/* Starts `text` and makes its stream, kept in request->op. NULL with `err`. */
struct stream *stream_new(struct request *request, const char *text, struct sp_error *err);
/* The answer that carries it; NULL when memory is short, and then the stream is gone. */
struct MHD_Response *stream_response(struct stream *stream);
/* The client left: the command runs on by itself. */
void stream_hangup(struct stream *stream);
/* Sends a comment on every stream that has been silent for too long at `now` (monotonic). */
void stream_keep_alive(struct api *api, uint64_t now);

#endif
