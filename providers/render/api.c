/* SPDX-License-Identifier: MIT */
/* One exchange: what is sent, what came back, and which code of the contract that is. */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void render_answer_done(struct render_answer *answer)
{
	sp_bytes_done(&answer->body);
}

bool render_id_ok(const char *id)
{
	size_t len = id ? strlen(id) : 0;

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)id[i]) && id[i] != '-' && id[i] != '_')
			return false;
	return len && len <= 128;
}

int render_pause(uint32_t milliseconds, struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t until = sp_now() + milliseconds * SP_MS;
	struct pollfd fd = {.fd = sp_cancel_fd(cancel), .events = POLLIN};
	int left, rc;

	do {
		rc = sp_cancel_check(cancel, err);
		left = sp_until_ms(until);
		if (rc || !left)
			return rc;
		poll(&fd, 1, left);
	} while (1);
}

int render_open_stream(struct render_core *core, const struct render_request *request,
		       struct sp_cancel *cancel, struct sp_http_stream *ret_stream,
		       struct sp_error *err)
{
	struct sp_http_header headers[3];
	struct sp_http_request http = SP_HTTP_REQUEST_INIT;

	http.method = request->method;
	http.url = request->url;
	http.bearer = request->bearer;
	http.headers = headers;
	if (request->content_type)
		headers[http.n_headers++] =
		    (struct sp_http_header){"Content-Type", request->content_type};
	if (request->accept)
		headers[http.n_headers++] = (struct sp_http_header){"Accept", request->accept};
	if (request->source) {
		http.body_read = request->source->read;
		http.body_arg = request->source->arg;
		if (request->source->gzip)
			headers[http.n_headers++] =
			    (struct sp_http_header){"Content-Encoding", "gzip"};
	}
	http.body = request->body;
	http.body_len = request->body_len;
	http.idle_timeout_ms = RENDER_IDLE_MS;
	http.cancel = cancel;
	return core->transport.ops->open(core->transport.self, &http, ret_stream, err);
}

/* Seconds or nothing; a date is not used by the service. */
static int retry_after(const char *value)
{
	char *end;
	long seconds;

	if (!value || !isdigit((unsigned char)*value))
		return -1;
	seconds = strtol(value, &end, 10);
	return *end || seconds > 86400 ? -1 : (int)seconds * 1000;
}

static bool starts_with(const char *value, const char *prefix)
{
	return value && !strncasecmp(value, prefix, strlen(prefix));
}

static int read_body(struct sp_http_stream *stream, size_t max, struct sp_cancel *cancel,
		     struct sp_bytes *ret_body, struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	unsigned char *window SP_FREE = malloc(16 * 1024);
	size_t n;
	int rc;

	if (!window)
		return sp_error_set(err, SP_INTERNAL, "no memory for an answer");
	do {
		rc = stream->ops->read(stream->self, window, 16 * 1024, &n, cancel, err);
		if (rc)
			return rc;
		sp_buf_add(&body, window, n);
		if (body.error == -ENOBUFS)
			return sp_error_set(err, SP_PROTOCOL, "an answer of more than %zu bytes",
					    max);
	} while (n);
	if (sp_buf_take_bytes(&body, ret_body))
		return sp_error_set(err, SP_INTERNAL, "no memory for an answer");
	return 0;
}

/* A page of the edge, not an answer of the service: nobody's credentials were looked at. */
static bool is_edge_page(const struct render_answer *answer, const char *type, bool has_request_id)
{
	const char *text = (const char *)answer->body.data;

	if (answer->status != 403)
		return false;
	if (starts_with(type, "text/html") || (answer->body.len && *text == '<'))
		return true;
	return !has_request_id && !starts_with(type, "application/json");
}

int render_read_answer(struct sp_http_stream *stream, size_t max, struct sp_cancel *cancel,
		       struct render_answer *ret_answer, struct sp_error *err)
{
	struct render_answer answer = {0};
	const char *type;
	int rc;

	answer.status = stream->ops->status(stream->self);
	rc = read_body(stream, max, cancel, &answer.body, err);
	if (rc)
		return rc;
	type = stream->ops->header(stream->self, "Content-Type");
	answer.retry_after_ms = retry_after(stream->ops->header(stream->self, "Retry-After"));
	answer.is_archive = starts_with(type, RENDER_ARCHIVE_TYPE);
	answer.edge = is_edge_page(&answer, type,
				   stream->ops->header(stream->self, "render-request-id") != NULL);
	*ret_answer = answer;
	return 0;
}

int render_exchange(struct render_core *core, const struct render_request *request, size_t max,
		    struct sp_cancel *cancel, struct render_answer *ret_answer,
		    struct sp_error *err)
{
	struct sp_http_stream stream;
	int rc;

	rc = render_open_stream(core, request, cancel, &stream, err);
	if (rc)
		return rc;
	rc = render_read_answer(&stream, max, cancel, ret_answer, err);
	stream.ops->close(stream.self);
	return rc;
}

/* The service's own words, as far as they are words. */
static void set_detail(const struct render_answer *answer, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *message = NULL;

	if (!err)
		return;
	err->http_status = answer->status;
	if (!sp_json_parse((const char *)answer->body.data, answer->body.len, SP_BUF_LINE, &json,
			   NULL)) {
		message = sp_json_str(json, "message");
		if (!message)
			message = sp_json_str(json, "code");
	}
	sp_error_set_detail(err, message ? message : (const char *)answer->body.data);
}

static enum sp_code code_of_status(const struct render_answer *answer)
{
	switch (answer->status) {
	case 400:
	case 413:
		return SP_INVALID;
	case 401:
	case 402:
		return SP_DENIED;
	case 403:
		return answer->edge ? SP_UNAVAILABLE : SP_DENIED;
	case 404:
	case 410:
		return SP_NOT_FOUND;
	case 409:
		return SP_CONFLICT;
	case 429:
		return SP_RATE_LIMITED;
	case 408:
	case 425:
	case 500:
	case 502:
	case 503:
	case 504:
		return SP_UNAVAILABLE;
	case 507:
		return SP_IO;
	default:
		return SP_PROTOCOL;
	}
}

int render_status_error(const struct render_answer *answer, const char *what, struct sp_error *err)
{
	enum sp_code code = code_of_status(answer);

	if (answer->edge)
		sp_error_set(err, code, "cannot %s: the edge in front of the API rejected the text",
			     what);
	else if (code == SP_PROTOCOL && answer->status / 100 == 3)
		sp_error_set(err, code, "cannot %s: status %d, and redirects are refused", what,
			     answer->status);
	else if (answer->status == 507)
		sp_error_set_errno(err, ENOSPC, "cannot %s: status 507", what);
	else
		sp_error_set(err, code, "cannot %s: status %d", what, answer->status);
	set_detail(answer, err);
	if (err && code == SP_RATE_LIMITED && answer->retry_after_ms > 0)
		err->retry_after_ms = answer->retry_after_ms;
	return code;
}

static int make_url(struct render_core *core, const char *path, const char *query,
		    struct sp_buf *url, struct sp_error *err)
{
	sp_buf_addf(url, "%s%s?ownerId=", core->base_url, path);
	sp_buf_add_url(url, core->owner_id);
	if (query)
		sp_buf_addf(url, "&%s", query);
	return url->error ? sp_error_set(err, SP_INVALID, "a request's address is too long") : 0;
}

uint32_t render_next_pause(const struct render_core *core, uint32_t last)
{
	uint32_t next = last ? last * 2 : core->poll_ms / 8;

	return next > core->poll_ms ? core->poll_ms : next ? next : 1;
}

/* `through` lets the exchange itself go on to its end; `cancel` then ends only the pauses. */
static int call(struct render_core *core, const char *method, const char *path, const char *query,
		const struct sp_buf *body, int want, const char *what, bool through,
		struct sp_cancel *cancel, struct render_answer *ret_answer, struct sp_error *err)
{
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_request request = {
	    .method = method,
	    .bearer = core->token,
	    .content_type = body ? "application/json" : NULL,
	    .accept = "application/json",
	    .body = body ? sp_buf_str(body) : NULL,
	    .body_len = body ? body->len : 0,
	};
	int rc = make_url(core, path, query, &url, err);

	request.url = sp_buf_str(&url);
	for (int tries = 0; !rc; tries++) {
		struct render_answer answer SP_CLEANUP(render_answer_done) = {0};

		rc = render_exchange(core, &request, RENDER_ANSWER_MAX, through ? NULL : cancel,
				     &answer, err);
		if (rc)
			return rc;
		if (answer.status == want) {
			*ret_answer = answer;
			answer.body = (struct sp_bytes)SP_BYTES_INIT;
			return 0;
		}
		rc = render_status_error(&answer, what, err);
		/* Without the header it is not the rate but the room that is missing. */
		if (rc != SP_RATE_LIMITED || tries >= RENDER_RETRIES || answer.retry_after_ms < 0 ||
		    answer.retry_after_ms > RENDER_RETRY_MAX_MS)
			return rc;
		rc = render_pause((uint32_t)answer.retry_after_ms, cancel, err);
	}
	return rc;
}

int render_call(struct render_core *core, const char *method, const char *path, const char *query,
		const struct sp_buf *body, int want, const char *what, struct sp_cancel *cancel,
		struct render_answer *ret_answer, struct sp_error *err)
{
	return call(core, method, path, query, body, want, what, false, cancel, ret_answer, err);
}

int render_call_through(struct render_core *core, const char *method, const char *path,
			const struct sp_buf *body, int want, const char *what,
			struct sp_cancel *cancel, struct render_answer *ret_answer,
			struct sp_error *err)
{
	return call(core, method, path, NULL, body, want, what, true, cancel, ret_answer, err);
}
