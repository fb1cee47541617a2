/* SPDX-License-Identifier: MIT */
/*
 * The admin endpoint behind `control`: its wire form is described in
 * README.md. All of it needs the control token.
 */
#include <fakes/render-api/routes.h>

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <fakes/render-api/json_out.h>

#define SMALL_CEILING 4096
#define CENSUS_CEILING ((size_t)4 << 20)

static void bad(struct request *request, const char *why)
{
	request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid", "%s", why);
}

void admin_workspace_new(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SMALL_CEILING);
	struct workspace *workspace = workspace_new(request->api);

	if (!workspace) {
		request_answer_drop(request);
		return;
	}
	json_open(&buf, NULL, '{');
	json_str(&buf, "workspace_id", workspace->id);
	json_str(&buf, "api_key", workspace->api_key);
	json_close(&buf, '}');
	request_answer_json(request, MHD_HTTP_CREATED, &buf);
}

/* Reads `step`; answers itself when it is none. */
static bool read_step(struct request *request, enum sp_control_step *ret_step)
{
	const char *name = sp_json_str(request->json, "step");
	int step = name ? sp_control_step_from_name(name) : -1;

	if (step < 0) {
		bad(request, "there is no such step");
		return false;
	}
	*ret_step = (enum sp_control_step)step;
	return true;
}

void admin_hold(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SMALL_CEILING);
	const char *when = sp_json_str(request->json, "when");
	const char *sandbox_id = sp_json_str(request->json, "sandbox_id");
	enum sp_control_step step;
	uint64_t id;

	if (!read_step(request, &step))
		return;
	if (!when || (strcmp(when, "before") && strcmp(when, "after"))) {
		bad(request, "when must be before or after");
		return;
	}
	if (sandbox_id && !sandbox_find(request->workspace, sandbox_id)) {
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "sandbox_not_found",
				     "the workspace has no sandbox %s", sandbox_id);
		return;
	}
	id = hold_arm(request->workspace, step, strcmp(when, "before") ? SP_AFTER : SP_BEFORE,
		      sandbox_id);
	json_open(&buf, NULL, '{');
	json_int(&buf, "hold", (int64_t)id);
	json_close(&buf, '}');
	if (id)
		request_answer_json(request, MHD_HTTP_CREATED, &buf);
	else
		request_answer_drop(request);
}

/* The hold that the path names; answers 404 without one. */
static struct hold *find_hold(struct request *request)
{
	char *end;
	uint64_t id = strtoull(request->params[1], &end, 10);
	struct hold *hold = *end ? NULL : hold_find(request->workspace, id);

	if (!hold)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "hold_not_found",
				     "there is no hold %s", request->params[1]);
	return hold;
}

struct held {
	struct hold_waiter waiter;
	struct request *request;
};

static void on_held(void *arg, bool is_held)
{
	struct held *held = arg;

	if (is_held)
		request_answer_empty(held->request, MHD_HTTP_NO_CONTENT);
	else
		request_answer_error(held->request, MHD_HTTP_NOT_FOUND, "hold_not_found",
				     "the hold was released before anything stood at it");
}

/* A long poll: answers when something stands there. */
void admin_held(struct request *request)
{
	struct hold *hold = find_hold(request);
	struct held *held = hold ? calloc(1, sizeof(*held)) : NULL;

	if (!held) {
		if (hold)
			request_answer_drop(request);
		return;
	}
	held->request = request;
	held->waiter.tell = on_held;
	held->waiter.arg = held;
	request->op = held;
	hold_await(hold, &held->waiter);
}

void admin_held_gone(struct request *request)
{
	struct held *held = SP_TAKE(request->op);

	if (held)
		hold_waiter_cancel(&held->waiter);
	free(held);
}

void admin_release(struct request *request)
{
	struct hold *hold = find_hold(request);

	if (!hold)
		return;
	hold_release(request->workspace, hold);
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* An enum sp_control_how, -1 for "clear", -2 for a name that is none. */
static int read_how(const char *name)
{
	static const char *const names[] = {
		[SP_FAIL_STATUS] = "status",
		[SP_FAIL_DROP] = "drop",
		[SP_FAIL_LOST_ANSWER] = "lost_answer",
		[SP_FAIL_CUT] = "cut",
		[SP_FAIL_RATE_LIMIT] = "rate_limit",
		[SP_FAIL_EDGE] = "edge",
		[SP_FAIL_DISK_FULL] = "disk_full",
	};

	if (!name)
		return -2;
	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return strcmp(name, "clear") ? -2 : -1;
}

void admin_fail(struct request *request)
{
	int how = read_how(sp_json_str(request->json, "how"));
	enum sp_control_step step;
	int64_t status = 0;
	int64_t nth = 0;

	if (!read_step(request, &step))
		return;
	sp_json_int(request->json, "status", &status);
	if (how == -2 || !sp_json_int(request->json, "nth", &nth) || nth < 0 || nth > INT_MAX) {
		bad(request, "how or nth is missing or unknown");
		return;
	}
	if (how == SP_FAIL_STATUS && (status < 400 || status > 599)) {
		bad(request, "status must be from 400 to 599");
		return;
	}
	if (how < 0)
		failure_clear(request->workspace, step);
	else if (failure_add(request->workspace, step, (unsigned)nth,
			     (struct failure_plan){ .how = how, .status = (int)status })) {
		request_answer_drop(request);
		return;
	}
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* A switch of the server's, turned for this workspace alone. */
void admin_fault(struct request *request)
{
	const char *name = sp_json_str(request->json, "fault");
	const cJSON *on = cJSON_GetObjectItemCaseSensitive(request->json, "on");
	int fault = name ? api_fault_from_name(name) : -1;

	if (fault < 0 || !cJSON_IsBool(on)) {
		bad(request, "fault is unknown, or on is neither true nor false");
		return;
	}
	if (cJSON_IsTrue(on))
		request->workspace->faults |= 1U << fault;
	else
		request->workspace->faults &= ~(1U << fault);
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

static struct MHD_Response *log_response(const struct request_log *log)
{
	static char nothing[] = "";
	struct MHD_Response *response;
	int fd;

	if (log->fd < 0)
		return MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
	fd = dup(log->fd);
	response = fd < 0 ? NULL : MHD_create_response_from_fd_at_offset64(log->len, fd, 0);
	if (!response)
		sp_close(fd);
	return response;
}

/* The log as it stands in its file; DELETE forgets it afterwards. */
void admin_requests(struct request *request)
{
	struct request_log *log = &request->workspace->log;
	struct MHD_Response *response = log_response(log);
	char lost[24];

	if (response) {
		snprintf(lost, sizeof(lost), "%" PRIu64, log->lost);
		MHD_add_response_header(response, "Content-Type", "application/x-ndjson");
		MHD_add_response_header(response, "x-requests-lost", lost);
		if (!strcmp(request->method, "DELETE"))
			record_clear(log);
	}
	request_answer(request, MHD_HTTP_OK, response);
}

static void census_sandbox(struct sp_buf *buf, const struct sandbox *sandbox)
{
	struct fake_census census = { 0 };
	struct sp_error ignored = SP_ERROR_INIT;

	if (sandbox->handle)
		fake_sandbox_census(sandbox->handle, &census, &ignored);
	json_open(buf, NULL, '{');
	json_str(buf, "id", sandbox->id);
	json_str(buf, "state", fake_state_name(sandbox_state(sandbox)));
	json_int(buf, "processes", (int64_t)census.processes);
	json_int(buf, "commands", (int64_t)census.commands);
	json_int(buf, "files", (int64_t)census.files);
	json_close(buf, '}');
}

static void census_snapshot(struct sp_buf *buf, const struct snapshot *snapshot)
{
	json_open(buf, NULL, '{');
	json_str(buf, "id", snapshot->id);
	json_str(buf, "sandbox_id", snapshot->source_id);
	json_str(buf, "name", snapshot->name);
	json_str(buf, "kind", snapshot_kind_name(snapshot->kind));
	json_str(buf, "status", snapshot_status_name(snapshot->status));
	json_close(buf, '}');
}

void admin_census(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(CENSUS_CEILING);
	struct fake_engine *engine = request->api->engine;
	const char *const *cannot = fake_engine_cannot_hold(engine);
	const struct snapshot *snapshot;
	struct sandbox *sandbox;

	json_open(&buf, NULL, '{');
	json_open(&buf, "sandboxes", '[');
	/* One that was told to end lives until the end is proven. */
	TAILQ_FOREACH (sandbox, &request->workspace->sandboxes, entry)
		if (!sandbox->proven)
			census_sandbox(&buf, sandbox);
	json_close(&buf, ']');
	json_int(&buf, "snapshots", (int64_t)snapshot_count(request->workspace));
	json_int(&buf, "holds", (int64_t)hold_count(request->workspace));
	json_int(&buf, "commands_total", (int64_t)fake_engine_commands(engine));
	json_open(&buf, "cannot_hold", '[');
	while (*cannot)
		json_str(&buf, NULL, *cannot++);
	json_close(&buf, ']');
	json_open(&buf, "snapshot_list", '[');
	TAILQ_FOREACH (snapshot, &request->workspace->snapshots, entry)
		if (!snapshot->gone)
			census_snapshot(&buf, snapshot);
	json_close(&buf, ']');
	json_close(&buf, '}');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

static void answer_done(void *arg)
{
	struct request *request = arg;

	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
	request_unref(request);
}

void admin_state(struct request *request)
{
	const char *id = sp_json_str(request->json, "sandbox_id");
	const char *state = sp_json_str(request->json, "state");
	struct sandbox *sandbox = id ? sandbox_find(request->workspace, id) : NULL;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!sandbox) {
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "sandbox_not_found",
				     "the workspace has no such sandbox");
		return;
	}
	if (state && !strcmp(state, fake_state_name(FAKE_TERMINATED))) {
		sandbox_terminate(sandbox, answer_done, request_ref(request));
		return;
	}
	rc = sandbox_set_state(sandbox, state ? state : "", &err);
	if (rc)
		request_answer_error(request,
				     rc == SP_CONFLICT ? MHD_HTTP_CONFLICT : MHD_HTTP_BAD_REQUEST,
				     rc == SP_CONFLICT ? "conflict" : "invalid", "%s", err.message);
	else
		request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

void admin_clock(struct request *request)
{
	int64_t ahead;

	if (!sp_json_int(request->json, "advance_ms", &ahead) || ahead < 0) {
		bad(request, "advance_ms must be a number of milliseconds");
		return;
	}
	request->workspace->clock_ahead_ms += ahead;
	/* What is due now happens now, not at the next look. */
	workspace_tick(request->workspace);
	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}

/* A reset under way. */
struct reset {
	struct request *request;
	size_t left;
};

static void reset_step(void *arg)
{
	struct reset *reset = arg;

	if (--reset->left)
		return;
	request_answer_empty(reset->request, MHD_HTTP_NO_CONTENT);
	request_unref(reset->request);
	free(reset);
}

/* Answers when the end of the last sandbox is proven and the last archive is gone. */
void admin_reset(struct request *request)
{
	struct reset *reset = calloc(1, sizeof(*reset));
	struct snapshot *snapshot;
	struct sandbox *sandbox;

	if (!reset) {
		request_answer_drop(request);
		return;
	}
	reset->request = request_ref(request);
	reset->left = 1;
	/* First, since what was held may make sandboxes when it goes on. */
	failure_clear_all(request->workspace);
	request->workspace->faults = request->api->faults;
	hold_release_all(request->workspace);
	TAILQ_FOREACH (sandbox, &request->workspace->sandboxes, entry) {
		reset->left++;
		sandbox_terminate(sandbox, reset_step, reset);
	}
	TAILQ_FOREACH (snapshot, &request->workspace->snapshots, entry) {
		reset->left++;
		snapshot_delete(snapshot, reset_step, reset);
	}
	reset_step(reset);
}
