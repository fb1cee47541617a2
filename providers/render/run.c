/* SPDX-License-Identifier: MIT */
/* One command on the proxy: accepted, then event by event to its exit. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Event of the service, by name. */
static int decode_output(const cJSON *json, struct sp_buf *text, struct render_event *event,
			 struct sp_error *err)
{
	const char *stream = sp_json_str(json, "stream");
	const char *data = sp_json_str(json, "data");

	if (!stream || !data || (strcmp(stream, "stdout") && strcmp(stream, "stderr")))
		return sp_error_set(err, SP_PROTOCOL, "an output event without stream or data");
	sp_buf_adds(text, data);
	if (text->error)
		return sp_error_set(err, SP_INTERNAL, "no memory for an event");
	event->type = RENDER_OUTPUT;
	event->stream = strcmp(stream, "stdout") ? SP_STDERR : SP_STDOUT;
	event->data = (const unsigned char *)sp_buf_str(text);
	event->len = text->len;
	return 0;
}

static int decode_exit(const cJSON *json, struct render_event *event, struct sp_error *err)
{
	int64_t code;

	/* The older spelling of the control plane is accepted too. */
	if (!sp_json_int(json, "exit_code", &code) && !sp_json_int(json, "exitCode", &code))
		return sp_error_set(err, SP_PROTOCOL, "an exit event without a code");
	if (code < 0 || code > 255)
		return sp_error_set(err, SP_PROTOCOL, "an exit code of %lld", (long long)code);
	event->type = RENDER_EXIT;
	event->code = (int)code;
	return 0;
}

static int decode_error(const cJSON *json, struct sp_buf *text, struct render_event *event)
{
	const char *message = sp_json_str(json, "message");
	int64_t status = 0;

	sp_json_int(json, "status", &status);
	sp_buf_adds(text, message ? message : "no reason was given");
	event->type = RENDER_ERROR;
	event->status = (int)status;
	event->message = sp_buf_str(text);
	return 0;
}

int render_decode_event(const char *type, const char *data, size_t len, struct sp_buf *text,
			struct render_event *ret_event, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error inner = SP_ERROR_INIT;
	struct render_event event = { 0 };
	int rc;

	sp_buf_clear(text);
	if (sp_json_parse(data, len, SP_BUF_EVENT, &json, &inner))
		return sp_error_set(err, SP_PROTOCOL, "an event of the stream: %s", inner.message);
	if (!strcmp(type, "output"))
		rc = decode_output(json, text, &event, err);
	else if (!strcmp(type, "exit"))
		rc = decode_exit(json, &event, err);
	else if (!strcmp(type, "error"))
		rc = decode_error(json, text, &event);
	else
		rc = sp_error_set(err, SP_PROTOCOL, "an event of the unknown kind \"%.32s\"", type);
	if (!rc)
		*ret_event = event;
	return rc;
}

/* ---- starting ---- */

static int compose_body(struct render_core *core, const char *text, struct sp_buf *body)
{
	struct sp_buf wrapped SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	if (atomic_load(&core->wrap)) {
		render_compose_wrapped(text, &wrapped);
		text = sp_buf_str(&wrapped);
	}
	sp_buf_adds(body, "{\"command\":");
	sp_buf_add_json(body, text, strlen(text));
	sp_buf_addc(body, '}');
	return wrapped.error ? wrapped.error : body->error;
}

/* The proxy's answer that is no stream. A missing sandbox and a missing file are told apart by the code. */
static int refused(struct render_core *core, const char *id, struct sp_http_stream *stream,
		   struct sp_cancel *cancel, bool *ret_edge, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = { 0 };
	int rc = render_read_answer(stream, RENDER_ANSWER_MAX, cancel, &answer, err);

	if (rc)
		return rc;
	*ret_edge = answer.edge;
	rc = render_status_error(&answer, "run a command", err);
	return rc == SP_NOT_FOUND ? render_confirm_gone(core, id, cancel, err) : rc;
}

/* One mint and one start. `*ret_edge`: the edge in front of the API refused the text. */
static int start_once(struct render_core *core, const char *id, const char *text,
		      struct sp_cancel *cancel, struct sp_http_stream *ret_stream, bool *ret_edge,
		      struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct render_grant grant SP_CLEANUP(render_grant_done) = { NULL, NULL };
	struct render_request request = { .method = "POST",
					  .content_type = "application/json",
					  .accept = "text/event-stream" };
	struct sp_http_stream stream;
	int rc;

	*ret_edge = false;
	if (compose_body(core, text, &body))
		return sp_error_set(err, SP_INVALID, "a command of %zu bytes is too long", strlen(text));
	rc = render_mint(core, id, "runs/stream", NULL, "POST", cancel, &grant, err);
	if (rc)
		return rc;
	request.url = grant.uri;
	request.bearer = grant.token;
	request.body = sp_buf_str(&body);
	request.body_len = body.len;
	rc = render_open_stream(core, &request, cancel, &stream, err);
	if (rc)
		return rc;
	if (stream.ops->status(stream.self) == 200) {
		*ret_stream = stream;
		return 0;
	}
	rc = refused(core, id, &stream, cancel, ret_edge, err);
	stream.ops->close(stream.self);
	return rc;
}

int render_run_open(struct render_core *core, const char *id, const char *text,
		    struct sp_cancel *cancel, struct render_run **ret_run, struct sp_error *err)
{
	struct render_run *run = calloc(1, sizeof(*run));
	bool edge, wrapped = atomic_load(&core->wrap);
	int rc;

	if (!run)
		return sp_error_set(err, SP_INTERNAL, "no memory for a command");
	rc = start_once(core, id, text, cancel, &run->stream, &edge, err);
	if (rc && edge && !wrapped) {
		atomic_store(&core->wrap, true);
		rc = start_once(core, id, text, cancel, &run->stream, &edge, err);
	}
	if (rc) {
		free(run);
		return rc;
	}
	sse_init(&run->sse, SP_BUF_EVENT);
	run->text.ceiling = SP_BUF_EVENT;
	*ret_run = run;
	return 0;
}

/* ---- events ---- */

static int fill(struct render_run *run, struct sp_cancel *cancel, struct sp_error *err)
{
	size_t n;
	int rc = run->stream.ops->read(run->stream.self, run->window, sizeof(run->window), &n,
				       cancel, err);

	if (rc)
		return rc;
	run->head = 0;
	run->len = n;
	run->ended = n == 0;
	return 0;
}

int render_run_next(struct render_run *run, struct sp_cancel *cancel,
		    struct render_event *ret_event, struct sp_error *err)
{
	bool event = false;
	int rc = 0;

	while (!rc && !event) {
		size_t used = 0;

		if (run->head < run->len) {
			rc = sse_push(&run->sse, run->window + run->head, run->len - run->head,
				      &used, &event, err);
			run->head += used;
		} else if (run->ended) {
			rc = sse_finish(&run->sse, &event, err);
			if (!rc && !event) {
				*ret_event = (struct render_event){ .type = RENDER_END };
				return 0;
			}
		} else {
			rc = fill(run, cancel, err);
		}
	}
	if (rc)
		return rc;
	return render_decode_event(run->sse.type, sp_buf_str(&run->sse.data), run->sse.data.len,
				   &run->text, ret_event, err);
}

void render_run_close(struct render_run *run)
{
	if (!run)
		return;
	run->stream.ops->close(run->stream.self);
	sse_done(&run->sse);
	sp_buf_done(&run->text);
	free(run);
}

int render_run_lost(const struct render_event *event, struct sp_error *err)
{
	if (event->type == RENDER_END)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "the stream ended without an exit code: the command may still run");
	sp_error_set(err, SP_UNKNOWN_OUTCOME, "the platform lost the command (status %d)",
		     event->status);
	if (err)
		err->http_status = event->status;
	sp_error_set_detail(err, event->message);
	return SP_UNKNOWN_OUTCOME;
}

/* ---- a bare text to its end ---- */

static int keep(struct sp_buf *out, struct sp_buf *errors, const struct render_event *event,
		size_t max)
{
	struct sp_buf *buf = event->stream == SP_STDOUT ? out : errors;
	size_t room = max - buf->len;

	return sp_buf_add(buf, event->data, event->len < room ? event->len : room);
}

int render_shell(struct render_core *core, const char *id, const char *text, size_t max,
		 struct sp_cancel *cancel, struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct sp_buf errors SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct render_event event = { 0 };
	struct render_run *run;
	int rc = render_run_open(core, id, text, cancel, &run, err);

	if (rc)
		return rc;
	do {
		rc = render_run_next(run, cancel, &event, err);
		if (!rc && event.type == RENDER_OUTPUT && keep(&out, &errors, &event, max))
			rc = sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	} while (!rc && event.type == RENDER_OUTPUT);
	if (!rc && event.type != RENDER_EXIT)
		rc = render_run_lost(&event, err);
	render_run_close(run);
	if (rc)
		return rc;
	if (sp_buf_take_bytes(&out, &result.stdout_bytes) ||
	    sp_buf_take_bytes(&errors, &result.stderr_bytes)) {
		sp_exec_result_done(&result);
		return sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	}
	result.exit_code = event.code;
	*ret_result = result;
	return 0;
}
