/* SPDX-License-Identifier: MIT */
/* Answers: bodies, headers, and the last hold before they are sent. */
#include <fakes/render-api/request.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/rate.h>

#define ERROR_CEILING 4096

static const char edge_page[] =
	"<!DOCTYPE html>\n<html><head><title>Attention Required! | Cloudflare</title></head>\n"
	"<body><h1>Sorry, you have been blocked</h1></body></html>\n";

static void add_number(struct MHD_Response *response, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	MHD_add_response_header(response, name, text);
}

/* What every answer carries that reached the service. */
static void add_service_headers(struct request *request, struct MHD_Response *response)
{
	char id[25];
	struct rate_state rate;

	sp_random_id(id, sizeof(id) - 1);
	MHD_add_response_header(response, "render-request-id", id);
	MHD_add_response_header(response, "x-frame-options", "DENY");
	MHD_add_response_header(response, "x-content-type-options", "nosniff");
	if (!request->workspace || !request->route || request->route->plane != PLANE_CONTROL)
		return;
	rate = rate_look(request->workspace);
	add_number(response, "RateLimit-Limit", rate.limit);
	add_number(response, "RateLimit-Remaining", rate.remaining);
	add_number(response, "RateLimit-Reset", rate.reset_s);
}

static void make_ready(struct request *request)
{
	request->ready = true;
	request_resume(request);
}

static void answer_any(struct request *request, unsigned status, struct MHD_Response *response)
{
	bool step_done = request->started && request->route->step >= 0;

	if (request->answered || request->gone) {
		if (response)
			MHD_destroy_response(response);
		request->answered = true;
		return;
	}
	request->answered = true;
	request->status = status;
	request->response = response;
	if (!response || (step_done && request->failure.how == SP_FAIL_LOST_ANSWER))
		request->drop = true;
	if (step_done)
		request_stand(request, (enum sp_control_step)request->route->step, SP_AFTER,
			      make_ready);
	else
		make_ready(request);
}

void request_answer(struct request *request, unsigned status, struct MHD_Response *response)
{
	if (response)
		add_service_headers(request, response);
	answer_any(request, status, response);
}

void request_answer_drop(struct request *request)
{
	answer_any(request, 0, NULL);
}

static struct MHD_Response *json_response(struct sp_buf *buf)
{
	size_t len = 0;
	char *data = sp_buf_take(buf, &len);
	struct MHD_Response *response = NULL;

	if (data)
		response = MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);
	if (response)
		MHD_add_response_header(response, "Content-Type", "application/json");
	else
		free(data);
	sp_buf_done(buf);
	return response;
}

void request_answer_json(struct request *request, unsigned status, struct sp_buf *buf)
{
	/* Without memory for an answer the connection closes, which is an answer as well. */
	request_answer(request, status, json_response(buf));
}

static void error_body(struct sp_buf *buf, const char *code, const char *message)
{
	json_open(buf, NULL, '{');
	if (code)
		json_str(buf, "code", code);
	json_str(buf, "message", message);
	json_close(buf, '}');
}

void request_answer_error(struct request *request, unsigned status, const char *code,
			  const char *format, ...)
{
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ERROR_CEILING);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(8 * ERROR_CEILING);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&message, format, args);
	va_end(args);
	error_body(&body, code, sp_buf_str(&message));
	request_answer_json(request, status, &body);
}

void request_answer_limited(struct request *request, unsigned retry_after_s, const char *message)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ERROR_CEILING);
	struct MHD_Response *response;

	error_body(&body, request->route->plane == PLANE_PROXY ? "too_many_requests" : NULL,
		   message);
	response = json_response(&body);
	if (response && retry_after_s)
		add_number(response, "Retry-After", retry_after_s);
	request_answer(request, MHD_HTTP_TOO_MANY_REQUESTS, response);
}

void request_answer_empty(struct request *request, unsigned status)
{
	static char nothing[] = "";

	request_answer(request, status,
		       MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT));
}

void request_answer_edge(struct request *request)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		sizeof(edge_page) - 1, (void *)edge_page, MHD_RESPMEM_PERSISTENT);

	if (response) {
		MHD_add_response_header(response, "Content-Type", "text/html; charset=UTF-8");
		MHD_add_response_header(response, "x-frame-options", "SAMEORIGIN");
	}
	/* None of the service's own headers: the request never reached it. */
	answer_any(request, MHD_HTTP_FORBIDDEN, response);
}
