/* SPDX-License-Identifier: MIT */
/* Running a command: as an event stream, or all at once. */
#include <fakes/render-api/routes.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/stream.h>

/* Most output per stream that a synchronous run answers with. */
#define SYNC_MAX ((size_t)2 << 20)
#define SYNC_PIECE 4096

/* Ties the record of the token to the text that its run put on the timeline. */
static void note_timeline(struct request *request, size_t before)
{
	struct exec *exec = exec_find(request->sandbox, request->exec_id);

	if (exec && fake_timeline_len(request->sandbox->handle) > before)
		exec->timeline = (ssize_t)before;
}

static void answer_start_error(struct request *request, const struct sp_error *err)
{
	unsigned status = MHD_HTTP_INTERNAL_SERVER_ERROR;

	if (err->code == SP_INVALID)
		status = MHD_HTTP_BAD_REQUEST;
	else if (err->code == SP_CONFLICT)
		status = MHD_HTTP_SERVICE_UNAVAILABLE;
	request_answer_error(request, status, "exec_failed", "%s", err->message);
}

/* The command's text; answers itself when there is none. */
static const char *command_of(struct request *request)
{
	const char *text = sp_json_str(request->json, "command");

	if (!text)
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid_command",
				     "command must be a string");
	return text;
}

static void start_stream(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;
	const char *text = sp_json_str(request->json, "command");
	size_t before = fake_timeline_len(request->sandbox->handle);
	struct stream *stream = stream_new(request, text, &err);

	if (!stream) {
		answer_start_error(request, &err);
		return;
	}
	note_timeline(request, before);
	cJSON_Delete(SP_TAKE(request->json));
	request_answer(request, MHD_HTTP_OK, stream_response(stream));
}

void proxy_run_stream(struct request *request)
{
	if (command_of(request))
		request_wake(request, start_stream);
}

void proxy_run_stream_gone(struct request *request)
{
	if (request->op)
		stream_hangup(request->op);
}

/* A synchronous run. */
struct sync {
	struct request *request;
	struct fake_command *command;
	/* By enum sp_stream, less one. */
	struct sp_buf out[2];
};

static void sync_drop(struct request *request)
{
	struct sync *sync = request->op;

	if (!sync)
		return;
	request->op = NULL;
	fake_command_drop(sync->command);
	sandbox_unuse(request->sandbox);
	sp_buf_done(&sync->out[0]);
	sp_buf_done(&sync->out[1]);
	free(sync);
}

static void sync_answer(struct sync *sync)
{
	struct request *request = sync->request;
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(14 * SYNC_MAX);

	json_open(&buf, NULL, '{');
	json_strn(&buf, "stdout", sp_buf_str(&sync->out[0]), sync->out[0].len);
	json_strn(&buf, "stderr", sp_buf_str(&sync->out[1]), sync->out[1].len);
	json_int(&buf, "exit_code", fake_command_code(sync->command));
	json_close(&buf, '}');
	sync_drop(request);
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

static void sync_pump(void *arg)
{
	struct sync *sync = arg;
	struct request *request = sync->request;
	enum sp_stream from = SP_STDOUT;
	char piece[SYNC_PIECE];
	ssize_t n;

	while ((n = fake_command_read(sync->command, &from, piece, sizeof(piece))) > 0) {
		if (!sp_buf_add(&sync->out[from == SP_STDERR], piece, (size_t)n))
			continue;
		sync_drop(request);
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "output_too_large",
				     "the output is too large for a synchronous run");
		return;
	}
	if (n == FAKE_END)
		sync_answer(sync);
}

static void start_sync(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;
	const char *text = sp_json_str(request->json, "command");
	size_t before = fake_timeline_len(request->sandbox->handle);
	struct sync *sync = calloc(1, sizeof(*sync));

	if (!sync) {
		sp_error_set(&err, SP_INTERNAL, "out of memory");
		answer_start_error(request, &err);
		return;
	}
	sync->request = request;
	sync->out[0].ceiling = SYNC_MAX;
	sync->out[1].ceiling = SYNC_MAX;
	if (fake_command_start(request->sandbox->handle, text, sync_pump, sync, &sync->command,
			       &err)) {
		free(sync);
		answer_start_error(request, &err);
		return;
	}
	sandbox_use(request->sandbox);
	request->op = sync;
	note_timeline(request, before);
	cJSON_Delete(SP_TAKE(request->json));
}

void proxy_run_sync(struct request *request)
{
	if (command_of(request))
		request_wake(request, start_sync);
}

void proxy_run_sync_gone(struct request *request)
{
	sync_drop(request);
}
