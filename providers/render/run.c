/* SPDX-License-Identifier: MIT */
/* One command on the proxy: started, then followed event by event. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <base/utf8.h>

/* Base64 and the words around it: what may be sent when it has to be wrapped. */
#define WRAPPED_MAX ((RENDER_ARG_MAX - 256) / 4 * 3)

static bool must_wrap(const struct render_core *core, const char *text, size_t len)
{
	return atomic_load(&core->wrap) || !sp_utf8_valid(text, len);
}

bool render_run_fits(const struct render_core *core, const char *text, size_t len)
{
	return len < (must_wrap(core, text, len) ? WRAPPED_MAX : RENDER_ARG_MAX);
}

static int compose_body(struct render_core *core, const char *text, size_t len, struct sp_buf *body,
			bool *ret_wrapped, struct sp_error *err)
{
	struct sp_buf wrapped SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	if (!render_run_fits(core, text, len))
		return sp_error_set(err, SP_INVALID,
				    "a command of %zu bytes is too long to be sent", len);
	*ret_wrapped = must_wrap(core, text, len);
	if (*ret_wrapped) {
		render_compose_wrapped(text, len, &wrapped);
		text = sp_buf_str(&wrapped);
		len = wrapped.len;
	}
	sp_buf_adds(body, "{\"command\":");
	sp_buf_add_json(body, text, len);
	sp_buf_addc(body, '}');
	return wrapped.error || body->error
		   ? sp_error_set(err, SP_INTERNAL, "no memory for a command")
		   : 0;
}

static struct render_run *run_new(struct sp_http_stream stream)
{
	struct render_run *run = malloc(sizeof(*run));

	if (!run)
		return NULL;
	run->stream = stream;
	sse_init(&run->sse, SP_BUF_EVENT);
	run->text = (struct sp_buf)SP_BUF_INIT(SP_BUF_EVENT);
	run->head = 0;
	run->len = 0;
	run->ended = false;
	return run;
}

/* What was answered instead of a stream. `*ret_again` when another try may help. */
static int refused(struct render_core *core, const char *id, struct sp_http_stream *stream,
		   bool wrapped, struct sp_cancel *cancel, bool *ret_again, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	int rc = render_read_answer(stream, SP_BUF_LINE, cancel, &answer, err);

	if (rc)
		return rc;
	rc = render_status_error(&answer, "run a command", err);
	if (answer.edge && !wrapped) {
		atomic_store(&core->wrap, true);
		*ret_again = true;
	} else if (answer.status == 429 && answer.retry_after_ms >= 0 &&
		   answer.retry_after_ms <= RENDER_RETRY_MAX_MS) {
		*ret_again = true;
		rc = render_pause((uint32_t)answer.retry_after_ms, cancel, err);
		*ret_again = !rc;
	} else if (answer.status == 404 || answer.status == 409 || answer.status == 429 ||
		   answer.status == 503) {
		rc = render_settle_start(core, id, rc, cancel, err);
		*ret_again = !rc;
	}
	return rc;
}

static int run_once(struct render_core *core, const char *id, const char *text, size_t len,
		    struct sp_cancel *cancel, struct render_run **ret_run, bool *ret_sent,
		    bool *ret_again, struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct render_grant grant SP_CLEANUP(render_grant_done) = {0};
	struct render_request request = {
	    .method = "POST", .content_type = "application/json", .accept = "text/event-stream"};
	struct sp_http_stream stream;
	const char *type;
	bool wrapped = false;
	int rc;

	*ret_sent = false;
	/* The text goes to the proxy only: what a mint names is kept on the timeline. */
	rc = render_mint(core, id, "runs/stream", NULL, "POST", cancel, &grant, err);
	if (!rc)
		rc = compose_body(core, text, len, &body, &wrapped, err);
	if (rc)
		return rc;
	request.url = grant.uri;
	request.bearer = grant.token;
	request.body = sp_buf_str(&body);
	request.body_len = body.len;
	rc = render_open_stream(core, &request, cancel, &stream, err);
	*ret_sent = rc == SP_UNKNOWN_OUTCOME || rc == SP_ABORTED || rc == SP_TIMED_OUT;
	if (rc)
		return rc;
	if (stream.ops->status(stream.self) != 200) {
		rc = refused(core, id, &stream, wrapped, cancel, ret_again, err);
		stream.ops->close(stream.self);
		return rc;
	}
	*ret_sent = true;
	type = stream.ops->header(stream.self, "Content-Type");
	if (!type || strncasecmp(type, "text/event-stream", 17))
		rc = sp_error_set(err, SP_PROTOCOL,
				  "a command was answered with %.64s, not with a stream",
				  type ? type : "nothing named");
	else if (!(*ret_run = run_new(stream)))
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a command");
	if (rc)
		stream.ops->close(stream.self);
	return rc;
}

int render_run_open(struct render_core *core, const char *id, const char *text, size_t len,
		    struct sp_cancel *cancel, struct render_run **ret_run, bool *ret_sent,
		    struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	bool sent = false, again = true;
	int rc = 0;

	for (int tries = 0; tries < RENDER_RETRIES && again; tries++) {
		again = false;
		inner = (struct sp_error)SP_ERROR_INIT;
		rc = run_once(core, id, text, len, cancel, ret_run, &sent, &again, &inner);
	}
	if (!rc && again)
		rc = sp_error_set(&inner, SP_UNAVAILABLE,
				  "sandbox %s takes no command although it runs", id);
	/* Silence of the proxy is not the caller's deadline. */
	if (rc == SP_TIMED_OUT && !sp_cancel_check(cancel, NULL))
		rc = inner.code = sent ? SP_UNKNOWN_OUTCOME : SP_UNAVAILABLE;
	if (rc && err)
		*err = inner;
	if (ret_sent)
		*ret_sent = sent;
	return rc;
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

static int fill(struct render_run *run, struct sp_cancel *cancel, struct sp_error *err)
{
	size_t n;
	int rc = run->stream.ops->read(run->stream.self, run->window, sizeof(run->window), &n,
				       cancel, err);

	if (rc == SP_TIMED_OUT && !sp_cancel_check(cancel, NULL))
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "the stream of the command has been silent for %d s",
				    RENDER_IDLE_MS / 1000);
	if (rc)
		return rc;
	run->head = 0;
	run->len = n;
	run->ended = !n;
	return 0;
}

int render_run_next(struct render_run *run, struct sp_cancel *cancel,
		    struct render_event *ret_event, struct sp_error *err)
{
	bool event = false;
	size_t used;
	int rc = 0;

	while (!event && !rc) {
		if (run->len) {
			rc = sse_push(&run->sse, run->window + run->head, run->len, &used, &event,
				      err);
			run->head += used;
			run->len -= used;
		} else if (run->ended) {
			rc = sse_finish(&run->sse, &event, err);
			if (!rc && !event) {
				*ret_event = (struct render_event){.type = RENDER_END};
				return 0;
			}
		} else {
			rc = fill(run, cancel, err);
		}
	}
	return rc ? rc
		  : render_decode_event(run->sse.type, sp_buf_str(&run->sse.data),
					run->sse.data.len, &run->text, ret_event, err);
}

int render_run_lost(const struct render_event *event, struct sp_error *err)
{
	if (event->type == RENDER_END)
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "the stream ended without an exit; the command may still run");
	sp_error_set(err, SP_UNKNOWN_OUTCOME,
		     "the service lost the command (status %d); it may still run", event->status);
	sp_error_set_detail(err, event->message);
	if (err)
		err->http_status = event->status;
	return SP_UNKNOWN_OUTCOME;
}

/* Adds an output event to a result. */
static int add_output(struct sp_buf *buf, bool *cut, const struct render_event *event)
{
	size_t room = buf->ceiling - buf->len;

	if (*cut)
		return 0;
	*cut = event->len > room;
	return sp_buf_add(buf, event->data, *cut ? room : event->len);
}

int render_shell(struct render_core *core, const char *id, const char *text, size_t max,
		 struct sp_cancel *cancel, struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct sp_buf errors SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct render_event event;
	struct render_run *run;
	int rc = render_run_open(core, id, text, strlen(text), cancel, &run, NULL, err);

	if (rc)
		return rc;
	for (;;) {
		rc = render_run_next(run, cancel, &event, err);
		if (rc || event.type != RENDER_OUTPUT)
			break;
		if (event.stream == SP_STDOUT)
			add_output(&out, &result.stdout_cut, &event);
		else
			add_output(&errors, &result.stderr_cut, &event);
	}
	if (!rc && event.type != RENDER_EXIT)
		rc = render_run_lost(&event, err);
	result.exit_code = event.code;
	if (!rc && (sp_buf_take_bytes(&out, &result.stdout_bytes) ||
		    sp_buf_take_bytes(&errors, &result.stderr_bytes)))
		rc = sp_error_set(err, SP_INTERNAL, "no memory for output");
	render_run_close(run);
	if (rc)
		sp_exec_result_done(&result);
	else
		*ret_result = result;
	return rc;
}
