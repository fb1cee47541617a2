/* SPDX-License-Identifier: MIT */
/* The admin endpoint's client: one call, one small exchange. Its wire form is described in README.md. */
#include "control.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/json.h>

/* Largest answer: the log of everything that was received. */
#define ANSWER_MAX ((size_t)256 << 20)
/* An admin call does not wait for anybody, save await_held(). */
#define LIMIT_MS 60000L

struct control {
	char *unix_path;
	char *origin;
	char *token;
	char *workspace_id;
	/* One kept connection for the short calls. */
	pthread_mutex_t lock;
	CURL *easy;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	return sp_buf_add(arg, data, size * n) ? 0 : size * n;
}

/* ---- one exchange ---- */

struct call {
	const char *method;
	const char *path;
	const struct sp_buf *body;
	struct sp_buf answer;
	long status;
};

static void prepare(struct control *control, CURL *easy, struct call *call, const char *url,
		    struct curl_slist *headers)
{
	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call->answer);
	if (control->unix_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, control->unix_path);
	if (strcmp(call->method, "GET") && strcmp(call->method, "DELETE")) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, call->body ? (long)call->body->len : 0L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				 call->body ? sp_buf_str(call->body) : "");
	}
}

/* Drives one transfer until it ends or the cancel fires. */
static int drive(CURL *easy, struct sp_cancel *cancel, CURLcode *ret_code, struct sp_error *err)
{
	struct curl_waitfd extra = { .fd = sp_cancel_fd(cancel), .events = CURL_WAIT_POLLIN };
	CURLM *multi = curl_multi_init();
	int running = 1, left, rc = 0;
	CURLMsg *message;

	if (!multi)
		return sp_error_set(err, SP_INTERNAL, "no memory for a control call");
	curl_multi_add_handle(multi, easy);
	*ret_code = CURLE_OK;
	while (!rc) {
		curl_multi_perform(multi, &running);
		if (!running)
			break;
		curl_multi_poll(multi, &extra, cancel ? 1 : 0, 1000, NULL);
		rc = sp_cancel_check(cancel, err);
	}
	while (!rc && (message = curl_multi_info_read(multi, &left)))
		*ret_code = message->data.result;
	curl_multi_remove_handle(multi, easy);
	curl_multi_cleanup(multi);
	return rc;
}

static int perform(CURL *easy, struct sp_cancel *cancel, struct call *call, struct sp_error *err)
{
	CURLcode code = CURLE_OK;

	if (cancel) {
		int rc = drive(easy, cancel, &code, err);

		if (rc)
			return rc;
	} else {
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, LIMIT_MS);
		code = curl_easy_perform(easy);
	}
	if (code != CURLE_OK)
		return sp_error_set(err, SP_UNAVAILABLE, "the fake's control does not answer: %s",
				    curl_easy_strerror(code));
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &call->status);
	return 0;
}

static int status_error(const struct call *call, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *message = NULL;
	int code = call->status == 404 ? SP_NOT_FOUND :
		   call->status == 409 ? SP_CONFLICT :
		   call->status == 401 ? SP_DENIED :
		   call->status == 400 ? SP_INVALID :
					 SP_PROTOCOL;

	if (!sp_json_parse(sp_buf_str(&call->answer), call->answer.len, SP_BUF_LINE, &json, NULL))
		message = sp_json_str(json, "message");
	return sp_error_set(err, code, "control: %s (status %ld)", message ? message : call->path,
			    call->status);
}

/* One call; `answer` of the struct is the caller's to release. */
static int run(struct control *control, struct call *call, struct sp_cancel *cancel,
	       struct sp_error *err)
{
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf auth SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct curl_slist *headers;
	CURL *easy;
	int rc;

	call->answer.ceiling = ANSWER_MAX;
	sp_buf_addf(&url, "%s%s", control->origin, call->path);
	sp_buf_addf(&auth, "Authorization: Bearer %s", control->token);
	headers = curl_slist_append(NULL, sp_buf_str(&auth));
	headers = curl_slist_append(headers, "Content-Type: application/json");
	headers = curl_slist_append(headers, "Expect:");
	/* A call that may wait long has a connection of its own. */
	if (!cancel)
		pthread_mutex_lock(&control->lock);
	easy = cancel ? curl_easy_init() : control->easy;
	if (easy) {
		prepare(control, easy, call, sp_buf_str(&url), headers);
		rc = perform(easy, cancel, call, err);
	} else {
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a control call");
	}
	if (cancel)
		curl_easy_cleanup(easy);
	else
		pthread_mutex_unlock(&control->lock);
	curl_slist_free_all(headers);
	if (!rc && call->status / 100 != 2)
		rc = status_error(call, err);
	return rc;
}

static int run_json(struct control *control, struct call *call, cJSON **ret_json,
		    struct sp_error *err)
{
	int rc = run(control, call, NULL, err);

	return rc ? rc :
		    sp_json_parse(sp_buf_str(&call->answer), call->answer.len, ANSWER_MAX, ret_json,
				  err);
}

/* A call without an answer of interest. */
static int tell(struct control *control, const char *method, const char *path,
		const struct sp_buf *body, struct sp_cancel *cancel, struct sp_error *err)
{
	struct call call = { .method = method, .path = path, .body = body };
	int rc = run(control, &call, cancel, err);

	sp_buf_done(&call.answer);
	return rc;
}

static void path_of(const struct control *control, struct sp_buf *path, const char *tail)
{
	sp_buf_addf(path, "/admin/workspaces/%s/%s", control->workspace_id, tail);
}

/* ---- the table ---- */

static int control_hold(void *self, enum sp_control_step step, enum sp_control_when when,
			const char *sandbox_id, uint64_t *ret_hold, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct call call = { .method = "POST", .body = &body };
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *name = sp_control_step_name(step);
	int64_t hold = 0;
	int rc;

	if (!name)
		return sp_error_set(err, SP_INVALID, "there is no such step");
	path_of(self, &path, "holds");
	call.path = sp_buf_str(&path);
	sp_buf_addf(&body, "{\"step\":\"%s\",\"when\":\"%s\"", name,
		    when == SP_BEFORE ? "before" : "after");
	if (sandbox_id) {
		sp_buf_adds(&body, ",\"sandbox_id\":");
		sp_buf_add_json(&body, sandbox_id, strlen(sandbox_id));
	}
	sp_buf_addc(&body, '}');
	rc = run_json(self, &call, &json, err);
	if (!rc && !sp_json_int(json, "hold", &hold))
		rc = sp_error_set(err, SP_PROTOCOL, "control: a hold without a number");
	sp_buf_done(&call.answer);
	if (!rc)
		*ret_hold = (uint64_t)hold;
	return rc;
}

static int hold_call(struct control *control, const char *method, uint64_t hold,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char tail[40];

	snprintf(tail, sizeof(tail), "holds/%" PRIu64, hold);
	path_of(control, &path, tail);
	return tell(control, method, sp_buf_str(&path), NULL, cancel, err);
}

static void unref_cancel(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

static int control_await_held(void *self, uint64_t hold, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	struct sp_cancel *never SP_CLEANUP(unref_cancel) = NULL;

	/* Without a cancel of the caller's it still needs a connection of its own. */
	if (!cancel)
		cancel = never = sp_cancel_new();
	return hold_call(self, "GET", hold, cancel, err);
}

static int control_release(void *self, uint64_t hold, struct sp_error *err)
{
	return hold_call(self, "DELETE", hold, NULL, err);
}

static const char *how_name(int how)
{
	switch (how) {
	case -1:
		return "clear";
	case SP_FAIL_STATUS:
		return "status";
	case SP_FAIL_DROP:
		return "drop";
	case SP_FAIL_LOST_ANSWER:
		return "lost_answer";
	case SP_FAIL_CUT:
		return "cut";
	case SP_FAIL_RATE_LIMIT:
		return "rate_limit";
	case SP_FAIL_EDGE:
		return "edge";
	case SP_FAIL_DISK_FULL:
		return "disk_full";
	default:
		return NULL;
	}
}

static int control_fail(void *self, enum sp_control_step step, unsigned nth, int how, int status,
			struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *name = sp_control_step_name(step);

	if (!name || !how_name(how))
		return sp_error_set(err, SP_INVALID, "there is no such step or failure");
	path_of(self, &path, "failures");
	sp_buf_addf(&body, "{\"step\":\"%s\",\"nth\":%u,\"how\":\"%s\",\"status\":%d}", name, nth,
		    how_name(how), status);
	return tell(self, "POST", sp_buf_str(&path), &body, NULL, err);
}

static char *copy_of(const cJSON *json, const char *name)
{
	const char *text = sp_json_str(json, name);

	return strdup(text ? text : "");
}

static int read_request(const char *line, size_t len, struct sp_control_request *ret_request,
			struct sp_error *err)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ANSWER_MAX);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *base64;
	int rc = sp_json_parse(line, len, ANSWER_MAX, &json, err);

	if (rc)
		return rc;
	base64 = sp_json_str(json, "body");
	if (base64 && sp_buf_add_unbase64(&body, base64, strlen(base64)))
		return sp_error_set(err, SP_PROTOCOL, "control: a body that is no base64");
	*ret_request = (struct sp_control_request){ .method = copy_of(json, "method"),
						    .target = copy_of(json, "target"),
						    .headers = copy_of(json, "headers") };
	sp_json_bool(json, "cut", &ret_request->cut);
	return sp_buf_take_bytes(&body, &ret_request->body) ?
		       sp_error_set(err, SP_INTERNAL, "no memory for the requests") :
		       0;
}

static int read_requests(const struct sp_buf *text, struct sp_control_requests *list,
			 struct sp_error *err)
{
	const char *at = sp_buf_str(text), *end = at + text->len;

	while (at < end) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		struct sp_control_request *longer =
			reallocarray(list->items, list->len + 1, sizeof(*longer));
		int rc;

		if (!lf)
			return sp_error_set(err, SP_PROTOCOL, "control: the log of requests was cut off");
		if (!longer)
			return sp_error_set(err, SP_INTERNAL, "no memory for the requests");
		list->items = longer;
		rc = read_request(at, (size_t)(lf - at), &longer[list->len], err);
		if (rc)
			return rc;
		list->len++;
		at = lf + 1;
	}
	return 0;
}

static int control_requests(void *self, bool take, struct sp_control_requests *ret_requests,
			    struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_control_requests list = SP_CONTROL_REQUESTS_INIT;
	struct call call = { .method = take ? "DELETE" : "GET" };
	int rc;

	path_of(self, &path, "requests");
	call.path = sp_buf_str(&path);
	rc = run(self, &call, NULL, err);
	if (!rc)
		rc = read_requests(&call.answer, &list, err);
	sp_buf_done(&call.answer);
	if (rc)
		sp_control_requests_done(&list);
	else
		*ret_requests = list;
	return rc;
}

static size_t number(const cJSON *json, const char *name)
{
	int64_t value = 0;

	sp_json_int(json, name, &value);
	return value > 0 ? (size_t)value : 0;
}

static int read_census(const cJSON *json, struct sp_census *census, struct sp_error *err)
{
	const cJSON *sandboxes = cJSON_GetObjectItemCaseSensitive(json, "sandboxes");
	const cJSON *cannot = cJSON_GetObjectItemCaseSensitive(json, "cannot_hold");
	const cJSON *item;

	census->sandboxes = calloc((size_t)cJSON_GetArraySize(sandboxes) + 1,
				   sizeof(*census->sandboxes));
	census->cannot_hold = calloc((size_t)cJSON_GetArraySize(cannot) + 1,
				     sizeof(*census->cannot_hold));
	if (!census->sandboxes || !census->cannot_hold)
		return sp_error_set(err, SP_INTERNAL, "no memory for the census");
	cJSON_ArrayForEach(item, sandboxes)
		census->sandboxes[census->n_sandboxes++] = (struct sp_census_sandbox){
			.id = copy_of(item, "id"),
			.state = copy_of(item, "state"),
			.processes = number(item, "processes"),
			.commands = number(item, "commands"),
			.files = number(item, "files"),
		};
	cJSON_ArrayForEach(item, cannot)
		census->cannot_hold[census->n_cannot_hold++] =
			strdup(item->valuestring ? item->valuestring : "");
	census->n_snapshots = number(json, "snapshots");
	census->n_holds = number(json, "holds");
	census->commands_total = number(json, "commands_total");
	return 0;
}

static int control_census(void *self, struct sp_census *ret_census, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_census census = SP_CENSUS_INIT;
	struct call call = { .method = "GET" };
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int rc;

	path_of(self, &path, "census");
	call.path = sp_buf_str(&path);
	rc = run_json(self, &call, &json, err);
	if (!rc)
		rc = read_census(json, &census, err);
	sp_buf_done(&call.answer);
	if (rc)
		sp_census_done(&census);
	else
		*ret_census = census;
	return rc;
}

static int control_set_state(void *self, const char *sandbox_id, const char *state,
			     struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	path_of(self, &path, "state");
	sp_buf_adds(&body, "{\"sandbox_id\":");
	sp_buf_add_json(&body, sandbox_id, strlen(sandbox_id));
	sp_buf_adds(&body, ",\"state\":");
	sp_buf_add_json(&body, state, strlen(state));
	sp_buf_addc(&body, '}');
	return tell(self, "POST", sp_buf_str(&path), &body, NULL, err);
}

static int control_advance(void *self, uint64_t milliseconds, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	path_of(self, &path, "clock");
	sp_buf_addf(&body, "{\"advance_ms\":%" PRIu64 "}", milliseconds);
	return tell(self, "POST", sp_buf_str(&path), &body, NULL, err);
}

static int control_reset(void *self, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	path_of(self, &path, "reset");
	return tell(self, "POST", sp_buf_str(&path), NULL, NULL, err);
}

static void control_close(void *self)
{
	struct control *control = self;

	curl_easy_cleanup(control->easy);
	pthread_mutex_destroy(&control->lock);
	free(control->unix_path);
	free(control->origin);
	free(control->token);
	free(control->workspace_id);
	free(control);
}

static const struct sp_control_ops control_ops = {
	.version = SP_CONTROL_VERSION,
	.hold = control_hold,
	.await_held = control_await_held,
	.release = control_release,
	.fail = control_fail,
	.requests = control_requests,
	.census = control_census,
	.set_state = control_set_state,
	.advance = control_advance,
	.reset = control_reset,
	.close = control_close,
};

/* ---- opening ---- */

static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "http://127.", "http://localhost", "http://[::1]" };

	for (size_t i = 0; i < SP_COUNT(hosts); i++)
		if (!strncasecmp(url, hosts[i], strlen(hosts[i])))
			return !strchr(url, '@');
	return false;
}

static int control_new(const char *url, const char *token, const char *workspace_id,
		       struct control **ret_control, struct sp_error *err)
{
	bool on_socket = url && !strncmp(url, "unix:/", 6);
	struct control *control;

	if (!url || (!on_socket && !is_loopback(url)))
		return sp_error_set(err, SP_INVALID,
				    "a control URL is unix:PATH or http on a loopback host");
	pthread_once(&curl_once, curl_init);
	control = calloc(1, sizeof(*control));
	if (!control)
		return sp_error_set(err, SP_INTERNAL, "no memory for a control");
	pthread_mutex_init(&control->lock, NULL);
	control->unix_path = on_socket ? strdup(url + 5) : NULL;
	control->origin = strdup(on_socket ? "http://localhost" : url);
	control->token = strdup(token ? token : "");
	control->workspace_id = strdup(workspace_id ? workspace_id : "");
	control->easy = curl_easy_init();
	if (!control->origin || !control->token || !control->workspace_id || !control->easy ||
	    (on_socket && !control->unix_path)) {
		control_close(control);
		return sp_error_set(err, SP_INTERNAL, "no memory for a control");
	}
	*ret_control = control;
	return 0;
}

int sp_control_open(const char *url, const char *token, const char *workspace_id,
		    struct sp_control *ret_control, struct sp_error *err)
{
	struct control *control;
	int rc = control_new(url, token, workspace_id, &control, err);

	if (!rc)
		*ret_control = (struct sp_control){ &control_ops, control };
	return rc;
}

int sp_control_new_workspace(const char *url, const char *token, char **ret_workspace_id,
			     char **ret_api_key, struct sp_error *err)
{
	struct call call = { .method = "POST", .path = "/admin/workspaces" };
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct control *control;
	int rc = control_new(url, token, NULL, &control, err);

	if (rc)
		return rc;
	rc = run_json(control, &call, &json, err);
	sp_buf_done(&call.answer);
	control_close(control);
	if (!rc && (!sp_json_str(json, "workspace_id") || !sp_json_str(json, "api_key")))
		rc = sp_error_set(err, SP_PROTOCOL, "control: a workspace without id or key");
	if (rc)
		return rc;
	*ret_workspace_id = copy_of(json, "workspace_id");
	*ret_api_key = copy_of(json, "api_key");
	return 0;
}
