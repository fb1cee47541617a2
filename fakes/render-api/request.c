/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/request.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <fakes/render-api/auth.h>
#include <fakes/render-api/edge.h>
#include <fakes/render-api/record.h>
#include <fakes/render-api/routes.h>

/*
 * Longest body of JSON: 256 KB of variables, or the 128 KiB that the kernel takes as one argument,
 * with every byte escaped sixfold.
 */
#define BODY_CEILING ((size_t)2 << 20)
#define HEADERS_CEILING (64 * 1024)

struct request *request_ref(struct request *request)
{
	request->refs++;
	return request;
}

void request_unref(struct request *request)
{
	if (--request->refs)
		return;
	for (size_t i = 0; i < REQUEST_PARAMS; i++)
		free(request->params[i]);
	if (request->response)
		MHD_destroy_response(request->response);
	if (request->sandbox)
		request->sandbox->n_requests--;
	free(request->method);
	free(request->target);
	sp_buf_done(&request->headers);
	sp_buf_done(&request->body);
	cJSON_Delete(request->json);
	free(request);
}

void *request_on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof(*request));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!request)
		return NULL;
	request->refs = 1;
	request->api = arg;
	request->connection = connection;
	request->target = strdup(target);
	request->failure = (struct failure_plan)FAILURE_NONE;
	request->headers.ceiling = HEADERS_CEILING;
	request->body.ceiling = BODY_CEILING;
	request->peer = info ? info->socket_context : NULL;
	if (request->peer)
		request->peer->request = request;
	return request;
}

/*
 * A command that has arrived whole is run, whoever still listens: the worst
 * case known. One that stands before its start goes on standing there.
 */
static bool outlives_client(const struct request *request)
{
	return request->hold && request->ended && !request->started &&
	       request->route->step == SP_STEP_RUN;
}

void request_client_gone(struct request *request)
{
	if (request->gone)
		return;
	request->gone = true;
	if (outlives_client(request)) {
		request->orphan = request_ref(request);
		return;
	}
	hold_leave(SP_TAKE(request->hold));
	waker_cancel(&request->waker);
	if (request->started && request->route->gone)
		request->route->gone(request);
}

void request_on_completed(void *api SP_UNUSED, struct MHD_Connection *connection SP_UNUSED,
			  void **context, enum MHD_RequestTerminationCode code SP_UNUSED)
{
	struct request *request = *context;

	if (!request)
		return;
	*context = NULL;
	request_client_gone(request);
	/* An answer that was never sent holds the request, as a stream does. */
	if (request->response)
		MHD_destroy_response(SP_TAKE(request->response));
	request->connection = NULL;
	request->suspended = false;
	if (request->peer)
		request->peer->request = NULL;
	request->peer = NULL;
	request_unref(request);
}

void request_resume(struct request *request)
{
	if (!request->suspended)
		return;
	request->suspended = false;
	request->api->resumed = true;
	MHD_resume_connection(request->connection);
}

bool request_suspend(struct request *request)
{
	if (request->peer && request->peer->gone)
		request_client_gone(request);
	if (request->gone)
		return false;
	request->suspended = true;
	MHD_suspend_connection(request->connection);
	return true;
}

/* True while the body must not be read yet. */
static bool is_blocked(const struct request *request)
{
	return request->hold || request->waker.sandbox;
}

/* A body that waited for its turn is read now. */
static void unblock(struct request *request)
{
	if (!request->ended && !is_blocked(request))
		request_resume(request);
}

static void on_released(void *arg)
{
	struct request *request = request_ref(arg);

	request->hold = NULL;
	request->after_hold(request);
	unblock(request);
	if (request->orphan) {
		waker_cancel(&request->waker);
		request_unref(SP_TAKE(request->orphan));
	}
	request_unref(request);
}

void request_stand(struct request *request, enum sp_control_step step, enum sp_control_when when,
		   void (*next)(struct request *request))
{
	const char *id = request->sandbox ? request->sandbox->id : NULL;

	request->after_hold = next;
	request->hold = hold_reach(request->workspace, step, when, id, on_released, request);
	if (!request->hold)
		next(request);
}

static void on_awake(void *arg)
{
	struct request *request = request_ref(arg);

	switch (sandbox_state(request->sandbox)) {
	case FAKE_RUNNING:
		request->after_wake(request);
		break;
	case FAKE_TERMINATED:
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "sandbox_not_found",
				     "sandbox not found");
		break;
	case FAKE_ERRORED:
		request_answer_error(request, MHD_HTTP_CONFLICT, "sandbox_errored",
				     "sandbox has failed");
		break;
	case FAKE_CREATING:
	case FAKE_SUSPENDING:
	case FAKE_SUSPENDED:
	case FAKE_RESUMING:
	case FAKE_STATE_MAX_:
		request_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "sandbox_not_ready",
				     "sandbox is not ready");
		break;
	}
	unblock(request);
	request_unref(request);
}

static bool may_wake(struct request *request)
{
	struct failure_plan plan = failure_take(request->workspace, SP_STEP_RESUME);

	if (plan.how < 0)
		return true;
	if (plan.how == SP_FAIL_EDGE)
		request_answer_edge(request);
	else if (plan.how == SP_FAIL_DROP || plan.how == SP_FAIL_CUT ||
		 plan.how == SP_FAIL_LOST_ANSWER)
		request_answer_drop(request);
	else if (plan.how == SP_FAIL_RATE_LIMIT)
		request_answer_limited(request, 1, "rate limit exceeded");
	else if (plan.status == MHD_HTTP_TOO_MANY_REQUESTS)
		request_answer_limited(request, 0, "concurrent sandbox limit reached");
	else
		request_answer_error(request, (unsigned)plan.status, "injected",
				     "failed on request of a test");
	return false;
}

void request_wake(struct request *request, void (*next)(struct request *request))
{
	enum fake_state state = sandbox_state(request->sandbox);

	if ((state == FAKE_SUSPENDED || state == FAKE_SUSPENDING) && !may_wake(request))
		return;
	request->after_wake = next;
	request->waker.go = on_awake;
	request->waker.arg = request;
	sandbox_wake(request->sandbox, &request->waker);
}

/* Says what a failure asks for; false when the step is to be done all the same. */
static bool fail(struct request *request)
{
	switch (request->failure.how) {
	case SP_FAIL_STATUS:
		request_answer_error(request, (unsigned)request->failure.status, "injected",
				     "failed on request of a test");
		return true;
	case SP_FAIL_DROP:
		request_answer_drop(request);
		return true;
	case SP_FAIL_RATE_LIMIT:
		request_answer_limited(request, 1, "rate limit exceeded");
		return true;
	case SP_FAIL_EDGE:
		request_answer_edge(request);
		return true;
	case SP_FAIL_DISK_FULL:
		/* An upload finds out in the middle. */
		if (request->route->step == SP_STEP_UPLOAD)
			return false;
		request_answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, "insufficient_storage",
				     "no space left on device");
		return true;
	default:
		return false;
	}
}

static void go(struct request *request)
{
	if (fail(request))
		return;
	request->started = true;
	request->route->start(request);
}

/* The step occurs. */
static void enter(struct request *request)
{
	int step = request->route->step;

	if (step < 0) {
		go(request);
		return;
	}
	request->failure = failure_take(request->workspace, (enum sp_control_step)step);
	request_stand(request, (enum sp_control_step)step, SP_BEFORE, go);
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind SP_UNUSED, const char *name,
				  const char *value)
{
	struct request *request = arg;

	if (!strcasecmp(name, "Authorization"))
		value = NULL;
	sp_buf_addf(&request->headers, "%s%s: %s", request->headers.len ? "\n" : "", name,
		    value ? value : "");
	return MHD_YES;
}

static void on_headers(struct request *request, const char *method, const char *path)
{
	bool wrong_method = false;

	request->method = strdup(method);
	MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_header, request);
	request->route = route_find(request, method, path, &wrong_method);
	if (!request->method || !request->target)
		request_answer_drop(request);
	/* Decoded it would end the text before its end. */
	else if (strstr(request->target, "%00"))
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL,
				     "the address holds an encoded NUL");
	else if (wrong_method)
		request_answer_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, NULL,
				     "method not allowed");
	else if (!request->route)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
	else
		auth_check(request);
	if (request->sandbox)
		request->sandbox->n_requests++;
	if (request->route && request->route->body == BODY_STREAM && !request->answered)
		enter(request);
}

static void on_data(struct request *request, const char *data, size_t len)
{
	bool stream = request->route && request->route->body == BODY_STREAM;
	bool json = request->route && request->route->body == BODY_JSON;
	size_t room = (json ? BODY_CEILING : RECORD_BODY) - request->body.len;

	/* What is not needed is swallowed, so that the client reads our answer and not a reset. */
	sp_buf_add(&request->body, data, len < room ? len : room);
	request->body_cut = request->body_cut || len > room;
	if (stream && request->started && !request->answered)
		request->route->data(request, data, len);
}

static void log_request(struct request *request)
{
	struct record record = {
		.method = request->method,
		.target = request->target,
		.headers = sp_buf_str(&request->headers),
		.body = sp_buf_str(&request->body),
		.body_len = request->body.len,
		.cut = request->body_cut,
	};

	if (!request->workspace || !request->route || request->route->plane == PLANE_ADMIN)
		return;
	if (record.body_len > RECORD_BODY) {
		record.body_len = RECORD_BODY;
		record.cut = true;
	}
	record_add(&request->workspace->log, request->api->state_dir, &record);
}

/* An empty body is an empty object. False: it has answered. */
static bool read_json(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!request->body.len)
		return true;
	if (request->body_cut || request->body.error) {
		request_answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large",
				     "request body is too large");
		return false;
	}
	int rc = sp_json_parse(request->body.data, request->body.len, BODY_CEILING, &request->json,
			       &err);

	if (!rc && cJSON_IsObject(request->json))
		return true;
	request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid_json", "invalid JSON body: %s",
			     rc ? err.message : "an object was expected");
	return false;
}

static void on_end(struct request *request)
{
	const struct route *route = request->route;

	request->ended = true;
	log_request(request);
	if (request->answered)
		return;
	if (route->body == BODY_STREAM) {
		route->end(request);
		return;
	}
	if (edge_refuses(request)) {
		request_answer_edge(request);
		return;
	}
	if (route->body == BODY_JSON && !read_json(request))
		return;
	/* A command of many megabytes is not kept twice. */
	sp_buf_done(&request->body);
	enter(request);
}

static enum MHD_Result send_answer(struct request *request)
{
	enum MHD_Result result;

	if (request->drop || request->gone)
		return MHD_NO;
	request->sent = true;
	result = MHD_queue_response(request->connection, request->status, request->response);
	MHD_destroy_response(SP_TAKE(request->response));
	return result;
}

/*
 * A request that was suspended at its headers is told of them once more; without
 * data that looks like the end of a body that has not begun.
 */
static bool is_repeated(struct request *request, size_t len)
{
	const char *length = request_header(request, "Content-Length");
	bool empty = length ? !strcmp(length, "0") :
			      !request_header(request, "Transfer-Encoding");
	bool early = request->held_early;

	request->held_early = false;
	return early && !len && !empty && !request->gone && !request->ready;
}

enum MHD_Result request_on_access(void *api SP_UNUSED, struct MHD_Connection *connection SP_UNUSED,
				  const char *url, const char *method,
				  const char *version SP_UNUSED,
				  const char *upload_data, size_t *upload_data_size, void **context)
{
	struct request *request = *context;

	if (!request)
		return MHD_NO;
	if (!request->begun) {
		request->begun = true;
		on_headers(request, method, url);
		request->held_early = is_blocked(request);
		return !request->held_early || request_suspend(request) ? MHD_YES : MHD_NO;
	}
	if (is_repeated(request, *upload_data_size))
		return MHD_YES;
	if (request->gone || (request->ready && request->drop))
		return MHD_NO;
	if (*upload_data_size) {
		on_data(request, upload_data, *upload_data_size);
		*upload_data_size = 0;
		return MHD_YES;
	}
	if (!request->ended)
		on_end(request);
	if (request->ready)
		return send_answer(request);
	return request_suspend(request) ? MHD_YES : MHD_NO;
}

const char *request_query(struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *request_header(struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *request_bearer(struct request *request)
{
	const char *value = request_header(request, "Authorization");

	return value && !strncasecmp(value, "Bearer ", 7) ? value + 7 : "";
}

struct query_walk {
	const char *name;
	bool (*each)(void *arg, const char *value, size_t len);
	void *arg;
	bool good;
};

static enum MHD_Result walk_value(void *arg, enum MHD_ValueKind kind SP_UNUSED, const char *name,
				  const char *value)
{
	struct query_walk *walk = arg;

	if (strcmp(name, walk->name) || !value)
		return MHD_YES;
	while (walk->good) {
		size_t len = strcspn(value, ",");

		walk->good = walk->each(walk->arg, value, len);
		if (!value[len])
			break;
		value += len + 1;
	}
	return walk->good ? MHD_YES : MHD_NO;
}

bool request_query_each(struct request *request, const char *name,
			bool (*each)(void *arg, const char *value, size_t len), void *arg)
{
	struct query_walk walk = { .name = name, .each = each, .arg = arg, .good = true };

	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, walk_value, &walk);
	return walk.good;
}
