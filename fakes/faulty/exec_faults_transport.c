/* SPDX-License-Identifier: MIT */
/* Faults that show in what is sent: they wrap the transport below the Render provider. */
#include "exec_faults.h"

#include <string.h>

/* A transport around a transport whose open() is another one. */
struct faulty_transport {
	struct sp_transport inner;
	int (*open)(struct sp_transport *inner, const struct sp_http_request *request,
		    struct sp_http_stream *ret_stream, struct sp_error *err);
};

static int faulty_open(void *self, const struct sp_http_request *request,
		       struct sp_http_stream *ret_stream, struct sp_error *err)
{
	struct faulty_transport *transport = self;

	return transport->open(&transport->inner, request, ret_stream, err);
}

static void faulty_close(void *self)
{
	struct faulty_transport *transport = self;

	transport->inner.ops->close(transport->inner.self);
	free(transport);
}

static const struct sp_transport_ops faulty_ops = {
	.version = SP_TRANSPORT_VERSION,
	.open = faulty_open,
	.close = faulty_close,
};

static int wrap(struct sp_transport *transport,
		__typeof__(((struct faulty_transport *)0)->open) open, struct sp_error *err)
{
	struct faulty_transport *wrapped = calloc(1, sizeof(*wrapped));

	if (!wrapped)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	wrapped->inner = *transport;
	wrapped->open = open;
	*transport = (struct sp_transport){ &faulty_ops, wrapped };
	return 0;
}

/* ---- A deadline that nobody set ---- */

static int deadline_open(struct sp_transport *inner, const struct sp_http_request *request,
			 struct sp_http_stream *ret_stream, struct sp_error *err)
{
	static const char start[] = "{\"command\":";
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_http_request changed = *request;

	if (request->body_len < sizeof(start) - 1 ||
	    memcmp(request->body, start, sizeof(start) - 1))
		return inner->ops->open(inner->self, request, ret_stream, err);
	sp_buf_adds(&body, "{\"timeout\":60,");
	sp_buf_add(&body, (const char *)request->body + 1, request->body_len - 1);
	if (body.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a request");
	changed.body = body.data;
	changed.body_len = body.len;
	/*
	 * The body is borrowed until the stream is closed; it was sent when the
	 * headers of the answer are there.
	 */
	return inner->ops->open(inner->self, &changed, ret_stream, err);
}

static int wrap_deadline(struct sp_transport *transport, struct sp_error *err)
{
	return wrap(transport, deadline_open, err);
}

/* ---- No wake ---- */

/* Whether an answer holds a text in its first 64 KiB; closes the stream. */
static bool answer_holds(struct sp_http_stream *stream, const char *text, struct sp_cancel *cancel)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char piece[4096];
	size_t len;

	while (!stream->ops->read(stream->self, piece, sizeof(piece), &len, cancel, NULL) && len &&
	       !sp_buf_add(&body, piece, len))
		;
	stream->ops->close(stream->self);
	return strstr(sp_buf_str(&body), text);
}

/* Looks at the sandbox that a token is wanted for: the URL without its tail, with the same key. */
static bool is_suspended(struct sp_transport *inner, const struct sp_http_request *request,
			 const char *tail)
{
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *at = strstr(request->url, tail);
	struct sp_http_request look = *request;
	struct sp_http_stream stream;

	sp_buf_add(&url, request->url, (size_t)(at - request->url));
	sp_buf_adds(&url, at + strlen(tail));
	look.method = "GET";
	look.url = sp_buf_str(&url);
	look.body = NULL;
	look.body_len = 0;
	return !url.error && !inner->ops->open(inner->self, &look, &stream, NULL) &&
	       answer_holds(&stream, "\"suspended\"", request->cancel);
}

/* A client that believes what it sees: a suspended sandbox takes no command. */
static int asleep_open(struct sp_transport *inner, const struct sp_http_request *request,
		       struct sp_http_stream *ret_stream, struct sp_error *err)
{
	static const char tail[] = "/runs/stream/token";

	if (!strcmp(request->method, "POST") && strstr(request->url, tail) &&
	    is_suspended(inner, request, tail))
		return sp_error_set(err, SP_UNAVAILABLE, "the sandbox is suspended");
	return inner->ops->open(inner->self, request, ret_stream, err);
}

static int wrap_asleep(struct sp_transport *transport, struct sp_error *err)
{
	return wrap(transport, asleep_open, err);
}

static const struct sp_fault faults[] = {
	{ .version = SP_FAULT_VERSION,
	  .id = "exec-sends-a-deadline",
	  .summary = "A command that was given no deadline is sent with one.",
	  .sources = FAULT_LIST("field:X08"),
	  .clause = "exec X11",
	  .cases = FAULT_LIST("exec.outcome.no-deadline-of-its-own"),
	  .seam = SP_FAULT_TRANSPORT,
	  .wrap_transport = wrap_deadline },
	{ .version = SP_FAULT_VERSION,
	  .id = "exec-does-not-wake",
	  .summary = "A command for a suspended sandbox is refused instead of waking it.",
	  .sources = FAULT_LIST("field:L03", "field:X27", "render:14"),
	  .clause = "exec X13",
	  .cases = FAULT_LIST("exec.outcome.wake"),
	  .seam = SP_FAULT_TRANSPORT,
	  .wrap_transport = wrap_asleep },
};
FAULT_TABLE(fault_exec_transport, faults);
