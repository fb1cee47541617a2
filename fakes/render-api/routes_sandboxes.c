/* SPDX-License-Identifier: MIT */
/* Create, get, list, terminate, suspend. */
#include <fakes/render-api/routes.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/policy.h>

#define SANDBOX_CEILING (64 * 1024)
#define LIST_CEILING (100 * SANDBOX_CEILING)

#define GROUP_LIMIT_EARLY 100
#define GROUP_LIMIT 1000

#define TIMEOUT_DEFAULT 86400
#define TIMEOUT_MAX 2592000
#define IDLE_DEFAULT 900
#define IDLE_MIN 300
#define IDLE_MAX 86400

#define ENV_MAX 100
#define ENV_BYTES (256 * 1024)

/* What create has read; `why` says what was wrong. */
struct create {
	struct request *request;
	struct sandbox_wish wish;
	struct sp_env *env;
	unsigned status;
	const char *code;
	const char *why;
};

static bool refuse(struct create *create, unsigned status, const char *code, const char *why)
{
	create->status = status;
	create->code = code;
	create->why = why;
	return false;
}

static bool bad(struct create *create, const char *why)
{
	return refuse(create, MHD_HTTP_BAD_REQUEST, NULL, why);
}

static bool read_owner(struct create *create, const cJSON *json)
{
	const char *owner = sp_json_str(json, "ownerId");

	if (!owner)
		return bad(create, "ownerId is required");
	if (strcmp(owner, create->request->workspace->id))
		return refuse(create, MHD_HTTP_FORBIDDEN, NULL,
			      "this key has no access to that workspace");
	return true;
}

static bool read_plan(struct create *create, const cJSON *json)
{
	/*
	 * The first half is of eras A and B, the second of C. Clients of one era meet servers of
	 * another: all are echoed.
	 */
	static const char *const plans[] = {"starter", "standard", "pro",   "1c-2g",
					    "2c-4g",   "4c-8g",	   "8c-16g"};
	const char *plan = sp_json_str(json, "plan");

	if (!cJSON_GetObjectItemCaseSensitive(json, "plan"))
		plan = create->request->api->era == FAKE_ERA_C ? "1c-2g" : "starter";
	for (size_t i = 0; plan && i < SP_COUNT(plans); i++)
		if (!strcmp(plans[i], plan))
			create->wish.plan = plans[i];
	return create->wish.plan ? true : bad(create, "invalid plan");
}

/* False for a member that is there and no integer. */
static bool read_seconds(const cJSON *json, const char *name, int64_t *seconds)
{
	return sp_json_int(json, name, seconds) || !cJSON_GetObjectItemCaseSensitive(json, name);
}

static bool read_times(struct create *create, const cJSON *json)
{
	bool era_c = create->request->api->era == FAKE_ERA_C;
	int64_t timeout = TIMEOUT_DEFAULT;
	int64_t idle = era_c ? IDLE_DEFAULT : 0;

	if (!read_seconds(json, "timeoutSeconds", &timeout) || timeout < (era_c ? 0 : 1) ||
	    timeout > TIMEOUT_MAX)
		return bad(create, "invalid timeoutSeconds");
	if (era_c && (!read_seconds(json, "idleTimeoutSeconds", &idle) ||
		      (idle && (idle < IDLE_MIN || idle > IDLE_MAX))))
		return bad(create, "idleTimeoutSeconds must be 0 or from 300 to 86400");
	create->wish.timeout_s = timeout;
	create->wish.idle_s = idle;
	return true;
}

static bool read_place(struct create *create, const cJSON *json)
{
	const char *region = sp_json_str(json, "region");
	const char *group = sp_json_str(json, "sandboxGroupId");

	if (region && strcmp(region, "oregon"))
		return bad(create, "invalid region");
	if (create->request->api->era == FAKE_ERA_C && group &&
	    strcmp(group, create->request->workspace->group_id))
		return refuse(create, MHD_HTTP_NOT_FOUND, NULL, "sandbox group not found");
	return true;
}

/* Memory fits the plan that it was taken on; one who names no plan gets that one. */
static bool fit_plan(struct create *create, const cJSON *json, const struct snapshot *snapshot)
{
	if (snapshot->kind != FAKE_RUNTIME)
		return true;
	if (!cJSON_GetObjectItemCaseSensitive(json, "plan"))
		create->wish.plan = snapshot->plan;
	if (!strcmp(create->wish.plan, snapshot->plan))
		return true;
	return refuse(create, MHD_HTTP_CONFLICT, "snapshot_plan_mismatch",
		      "a runtime snapshot can only be restored on the plan of its source");
}

static bool read_source(struct create *create, const cJSON *json)
{
	struct workspace *workspace = create->request->workspace;
	const char *id = sp_json_str(json, "snapshotId");
	const char *name = sp_json_str(json, "snapshotName");
	const struct snapshot *snapshot;

	if ((!id && !name) || workspace->api->era == FAKE_ERA_A)
		return true;
	if (id && name)
		return bad(create, "snapshotId and snapshotName exclude each other");
	if (name && !snapshot_name_is_good(name))
		return refuse(create, MHD_HTTP_BAD_REQUEST, "invalid_snapshot_name",
			      "invalid snapshotName");
	snapshot = id ? snapshot_find(workspace, id, false) : snapshot_find_name(workspace, name);
	if (!snapshot)
		return refuse(create, MHD_HTTP_NOT_FOUND, "snapshot_not_found",
			      "snapshot not found");
	if (snapshot->status != SNAPSHOT_AVAILABLE)
		return refuse(create, MHD_HTTP_CONFLICT, "snapshot_not_available",
			      "snapshot is not available");
	create->wish.snapshot = snapshot;
	return fit_plan(create, json, snapshot);
}

static bool read_env(struct create *create, const cJSON *json)
{
	const cJSON *env = cJSON_GetObjectItemCaseSensitive(json, "env");
	const cJSON *item;
	size_t bytes = 0;
	size_t n = 0;

	if (!env || cJSON_IsNull(env))
		return true;
	if (!cJSON_IsObject(env))
		return bad(create, "env must be an object");
	if (cJSON_GetArraySize(env) > ENV_MAX)
		return bad(create, "env has more than 100 variables");
	create->env = calloc(ENV_MAX, sizeof(*create->env));
	if (!create->env)
		return refuse(create, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, "out of memory");
	cJSON_ArrayForEach(item, env)
	{
		if (!cJSON_IsString(item))
			return bad(create, "env values must be strings");
		if (!*item->string || strchr(item->string, '='))
			return bad(create, "invalid env name");
		bytes += strlen(item->string) + strlen(item->valuestring);
		create->env[n++] =
		    (struct sp_env){.name = item->string, .value = item->valuestring};
	}
	if (bytes > ENV_BYTES)
		return bad(create, "env is larger than 256 KB");
	create->wish.env = create->env;
	create->wish.n_env = n;
	return true;
}

static bool has_room(struct create *create)
{
	struct workspace *workspace = create->request->workspace;
	size_t limit = workspace->api->era == FAKE_ERA_C ? GROUP_LIMIT : GROUP_LIMIT_EARLY;

	if (sandbox_count_active(workspace) < limit)
		return true;
	return refuse(create, MHD_HTTP_TOO_MANY_REQUESTS, NULL, "concurrent sandbox limit reached");
}

static bool read_create(struct create *create, const cJSON *json)
{
	const char *why = NULL;

	if (!read_owner(create, json) || !read_plan(create, json) || !read_times(create, json) ||
	    !read_place(create, json) || !read_source(create, json) || !read_env(create, json) ||
	    !has_room(create))
		return false;
	/* Last, because it is the one that owns something. */
	if (!policy_read(create->request->api->era,
			 cJSON_GetObjectItemCaseSensitive(json, "networkPolicy"), &create->wish,
			 &why))
		return bad(create, why);
	return true;
}

static void answer_sandbox(struct request *request, unsigned status, const struct sandbox *sandbox)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SANDBOX_CEILING);

	sandbox_json(&buf, NULL, sandbox, status == MHD_HTTP_CREATED);
	request_answer_json(request, status, &buf);
}

static void make(struct request *request, struct create *create)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sandbox_new(request->workspace, &create->wish, &request->sandbox, &err);

	if (rc) {
		policy_free(&create->wish);
		request_answer_error(
		    request, rc == SP_INVALID ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE,
		    NULL, "%s", err.message);
		return;
	}
	request->sandbox->n_requests++;
	answer_sandbox(request, MHD_HTTP_CREATED, request->sandbox);
}

void route_create(struct request *request)
{
	struct create create = {.request = request};

	if (read_create(&create, request->json))
		make(request, &create);
	else if (create.status == MHD_HTTP_TOO_MANY_REQUESTS)
		request_answer_limited(request, 0, create.why);
	else
		request_answer_error(request, create.status, create.code, "%s", create.why);
	free(create.env);
}

void route_get(struct request *request)
{
	answer_sandbox(request, MHD_HTTP_OK, request->sandbox);
}

struct status_set {
	unsigned bits;
	bool named;
};

static bool add_status(void *arg, const char *value, size_t len)
{
	struct status_set *set = arg;
	char name[16] = "";
	int state;

	if (len >= sizeof(name))
		return false;
	memcpy(name, value, len);
	state = fake_state_from_name(name);
	if (state < 0)
		return false;
	set->bits |= 1U << state;
	set->named = true;
	return true;
}

void route_list(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LIST_CEILING);
	struct status_set set = {.bits = 0};
	struct sandbox *sandbox;
	uint64_t limit;
	uint64_t before;

	if (!request_query_each(request, "status", add_status, &set)) {
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, "invalid_status",
				     "invalid status");
		return;
	}
	if (!set.named)
		set.bits = ~(1U << FAKE_TERMINATED);
	if (!route_page(request, &limit, &before))
		return;
	json_open(&buf, NULL, '[');
	TAILQ_FOREACH(sandbox, &request->workspace->sandboxes, entry)
	{
		if (sandbox->number >= before || !(set.bits & 1U << sandbox_state(sandbox)))
			continue;
		if (!limit--)
			break;
		json_open(&buf, NULL, '{');
		sandbox_json(&buf, "sandbox", sandbox, false);
		route_cursor(&buf, sandbox->number);
		json_close(&buf, '}');
	}
	json_close(&buf, ']');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

static void on_terminated(void *arg)
{
	struct request *request = arg;

	request_answer_empty(request, MHD_HTTP_NO_CONTENT);
	request_unref(request);
}

/* Answers when the end is proven, so that whoever counts afterwards counts right. */
void route_terminate(struct request *request)
{
	sandbox_terminate(request->sandbox, on_terminated, request_ref(request));
}

/*
 * The newest era's explicit suspension. Path and status are the likely ones, not known: like a
 * termination it answers 204. What waits for the end of it looks at the sandbox.
 */
void route_suspend(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;

	if (request->api->era != FAKE_ERA_C)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
	else if (sandbox_state(request->sandbox) != FAKE_RUNNING)
		request_answer_error(request, MHD_HTTP_CONFLICT, "sandbox_not_running",
				     "sandbox is not running");
	else if (sandbox_suspend(request->sandbox, &err))
		request_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "%s",
				     err.message);
	else
		request_answer_empty(request, MHD_HTTP_NO_CONTENT);
}
