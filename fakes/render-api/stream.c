/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/stream.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <fakes/render-api/json_out.h>

/* One event's output. Escaped it grows at most sixfold. */
#define PIECE 4096
/* A piece, the one read ahead of it, and the terminal event. */
#define OUT_CEILING (16 * PIECE)
/* Memory that the daemon sets aside for an answer made by a callback; it hardly uses it. */
#define BLOCK 1024

enum stream_phase {
	/* The command may still speak. */
	STREAM_LIVE = 0,
	/* It has ended, and something stands before its terminal event. */
	STREAM_HELD,
	/* The terminal event is written; all that is left is sending. */
	STREAM_TOLD,
	/* After the rest is sent the answer ends. */
	STREAM_OVER,
	/* After the rest is sent the connection breaks. */
	STREAM_CUT,
};

struct stream {
	/* Place among the idle ones, by the time of the last byte. */
	TAILQ_ENTRY(stream) entry;
	uint64_t last_sent;
	struct request *request;
	struct sandbox *sandbox;
	struct fake_command *command;
	enum stream_phase phase;
	/* Cut after the first output instead of at the end. */
	bool cut_early;
	/* Written and not yet sent; memory only while there is something. */
	struct sp_buf out;
	size_t sent;
};

static void on_wake(void *arg)
{
	struct stream *stream = arg;

	if (stream->phase == STREAM_LIVE)
		request_resume(stream->request);
}

static void touch(struct stream *stream, uint64_t now)
{
	struct stream_list *list = &stream->request->api->streams;

	stream->last_sent = now;
	TAILQ_REMOVE(list, stream, entry);
	TAILQ_INSERT_TAIL(list, stream, entry);
}

struct stream *stream_new(struct request *request, const char *text, struct sp_error *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		sp_error_set(err, SP_INTERNAL, "out of memory");
		return NULL;
	}
	if (fake_command_start(request->sandbox->handle, text, on_wake, stream, &stream->command,
			       err)) {
		free(stream);
		return NULL;
	}
	sandbox_use(request->sandbox);
	stream->sandbox = request->sandbox;
	stream->request = request_ref(request);
	stream->out.ceiling = OUT_CEILING;
	stream->cut_early = request->failure.how == SP_FAIL_CUT;
	stream->last_sent = sp_now();
	TAILQ_INSERT_TAIL(&request->api->streams, stream, entry);
	request->op = stream;
	return stream;
}

/* What is in hand goes with the connection: the reader is told of the cut at its very next look. */
static void cut(struct stream *stream)
{
	stream->phase = STREAM_CUT;
	sp_buf_clear(&stream->out);
	stream->sent = 0;
	/* The daemon may look again late; the client is to see it now. */
	if (stream->request && stream->request->peer)
		shutdown(stream->request->peer->fd, SHUT_RDWR);
}

static void drop_command(struct stream *stream)
{
	if (!stream->command)
		return;
	fake_command_drop(SP_TAKE(stream->command));
	sandbox_unuse(stream->sandbox);
}

void stream_hangup(struct stream *stream)
{
	drop_command(stream);
	stream->phase = STREAM_CUT;
	sp_buf_clear(&stream->out);
	stream->sent = 0;
}

static void stream_free(void *arg)
{
	struct stream *stream = arg;

	drop_command(stream);
	TAILQ_REMOVE(&stream->request->api->streams, stream, entry);
	stream->request->op = NULL;
	request_unref(stream->request);
	sp_buf_done(&stream->out);
	free(stream);
}

static void add_event(struct stream *stream, const char *event)
{
	sp_buf_addf(&stream->out, "event: %s\ndata: ", event);
}

static void add_output(struct stream *stream, enum sp_stream from, const char *data, size_t len)
{
	add_event(stream, "output");
	/* The engine gives whole characters, so no event splits one. */
	sp_buf_addf(&stream->out, "{\"stream\":\"%s\",\"data\":",
		    from == SP_STDOUT ? "stdout" : "stderr");
	sp_buf_add_json(&stream->out, data, len);
	sp_buf_adds(&stream->out, "}\n\n");
}

static void go_over(struct request *request)
{
	struct stream *stream = request->op;

	stream->phase = STREAM_OVER;
	request_resume(request);
}

/* A failure told by an event, since the status has been sent. */
static void add_failure(struct stream *stream, int status, const char *message)
{
	add_event(stream, "error");
	sp_buf_addf(&stream->out, "{\"status\":%d,\"message\":\"%s\"}\n\n", status, message);
}

static void add_terminal(struct stream *stream, const struct failure_plan *plan)
{
	switch (plan->how) {
	case SP_FAIL_STATUS:
		add_failure(stream, plan->status, "failed on request of a test");
		break;
	case SP_FAIL_RATE_LIMIT:
		add_failure(stream, MHD_HTTP_TOO_MANY_REQUESTS, "rate limit exceeded");
		break;
	case SP_FAIL_EDGE:
		add_failure(stream, MHD_HTTP_FORBIDDEN, "forbidden");
		break;
	case SP_FAIL_DISK_FULL:
		add_failure(stream, MHD_HTTP_INSUFFICIENT_STORAGE, "no space left on device");
		break;
	case SP_FAIL_DROP:
		/* An orderly end, and not a word about the exit. */
		stream->phase = STREAM_OVER;
		return;
	case SP_FAIL_CUT:
	case SP_FAIL_LOST_ANSWER:
		cut(stream);
		return;
	default:
		add_event(stream, "exit");
		sp_buf_addf(&stream->out, "{\"exit_code\":%d}\n\n",
			    fake_command_code(stream->command));
		break;
	}
	stream->phase = STREAM_TOLD;
}

/* Nothing holds the terminal event any more. */
static void tell_exit(struct request *request)
{
	struct stream *stream = request->op;
	struct failure_plan plan = failure_take(request->workspace, SP_STEP_EXIT);

	if (stream->cut_early)
		plan.how = SP_FAIL_CUT;
	add_terminal(stream, &plan);
	drop_command(stream);
	request_resume(request);
}

static void on_end(struct stream *stream)
{
	stream->phase = STREAM_HELD;
	request_stand(stream->request, SP_STEP_EXIT, SP_BEFORE, tell_exit);
}

/* Takes one piece from the engine; false when there is nothing now. */
static bool take_piece(struct stream *stream)
{
	char piece[PIECE];
	enum sp_stream from = SP_STDOUT;
	ssize_t n = fake_command_read(stream->command, &from, piece, sizeof(piece));

	if (n == FAKE_AGAIN)
		return false;
	if (n == FAKE_END) {
		on_end(stream);
		return true;
	}
	add_output(stream, from, piece, (size_t)n);
	if (stream->cut_early)
		cut(stream);
	return true;
}

/*
 * Fills `out` with what comes next. Where a test holds the exit, what is
 * written last is withheld with it: one piece is looked at ahead before the
 * one in hand is let go.
 */
static void fill(struct stream *stream)
{
	const struct sandbox *sandbox = stream->sandbox;

	if (stream->phase != STREAM_LIVE || !take_piece(stream) || stream->phase != STREAM_LIVE)
		return;
	if (hold_is_armed(sandbox->workspace, SP_STEP_EXIT, SP_BEFORE, sandbox->id))
		take_piece(stream);
}

static size_t copy_out(struct stream *stream, char *buffer, size_t max)
{
	size_t n = stream->out.len - stream->sent;

	if (n > max)
		n = max;
	memcpy(buffer, stream->out.data + stream->sent, n);
	stream->sent += n;
	if (stream->sent == stream->out.len) {
		/* An idle stream keeps no memory. */
		sp_buf_done(&stream->out);
		stream->sent = 0;
	}
	return n;
}

/* The terminal event is on its way; a test may hold the end of the answer behind it. */
static void end_answer(struct stream *stream)
{
	stream->phase = STREAM_HELD;
	request_stand(stream->request, SP_STEP_EXIT, SP_AFTER, go_over);
}

static bool has_output(const struct stream *stream)
{
	return stream->phase != STREAM_HELD && stream->out.len > stream->sent;
}

static ssize_t read_stream(void *arg, uint64_t position SP_UNUSED, char *buffer, size_t max)
{
	struct stream *stream = arg;
	uint64_t now = sp_now();

	if (stream->request->gone || stream->out.error)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!has_output(stream))
		fill(stream);
	if (!has_output(stream) && stream->phase == STREAM_TOLD)
		end_answer(stream);
	if (has_output(stream)) {
		touch(stream, now);
		return (ssize_t)copy_out(stream, buffer, max);
	}
	if (stream->phase == STREAM_OVER)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (stream->phase == STREAM_CUT)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (now - stream->last_sent >= stream->request->api->keep_alive && max >= 16) {
		touch(stream, now);
		memcpy(buffer, ": keep-alive\n\n", 14);
		return 14;
	}
	/* Gone meanwhile: the next call says so. */
	return request_suspend(stream->request) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
}

struct MHD_Response *stream_response(struct stream *stream)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, stream_free);

	if (!response) {
		stream_free(stream);
		return NULL;
	}
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	MHD_add_response_header(response, "Cache-Control", "no-cache");
	/* Some clients read to the end of the connection. */
	MHD_add_response_header(response, "Connection", "close");
	return response;
}

void stream_keep_alive(struct api *api, uint64_t now)
{
	struct stream *stream;

	/* Resuming is enough: the reader sees for itself that it is time. */
	TAILQ_FOREACH (stream, &api->streams, entry) {
		if (now - stream->last_sent < api->keep_alive)
			break;
		request_resume(stream->request);
	}
}
