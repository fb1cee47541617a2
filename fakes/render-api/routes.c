/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/routes.h>

#include <stdio.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100

#define CONTROL(method_, pattern_, body_, step_, sandbox_, start_)                                 \
	{                                                                                          \
		.method = method_, .pattern = pattern_, .plane = PLANE_CONTROL, .body = body_,     \
		.step = step_, .sandbox = sandbox_, .start = start_                                \
	}
#define ADMIN(method_, pattern_, body_, start_, gone_)                                             \
	{                                                                                          \
		.method = method_, .pattern = pattern_, .plane = PLANE_ADMIN, .body = body_,       \
		.step = -1, .start = start_, .gone = gone_                                         \
	}

/* One row a route. To add one: a row here, a function in routes.h, its file. */
static const struct route routes[] = {
	CONTROL("POST", "/v1/sandboxes", BODY_JSON, SP_STEP_CREATE, false, route_create),
	CONTROL("GET", "/v1/sandboxes", BODY_IGNORED, SP_STEP_LIST, false, route_list),
	CONTROL("GET", "/v1/sandboxes/*", BODY_IGNORED, SP_STEP_GET, true, route_get),
	CONTROL("POST", "/v1/sandboxes/*/terminate", BODY_IGNORED, SP_STEP_TERMINATE, true,
		route_terminate),
	CONTROL("POST", "/v1/sandboxes/*/suspend", BODY_IGNORED, -1, true, route_suspend),
	CONTROL("POST", "/v1/sandboxes/*/runs/sync/token", BODY_JSON, SP_STEP_MINT_RUN, true,
		route_mint_run_sync),
	CONTROL("POST", "/v1/sandboxes/*/runs/stream/token", BODY_JSON, SP_STEP_MINT_RUN, true,
		route_mint_run_stream),
	CONTROL("POST", "/v1/sandboxes/*/files/upload/token", BODY_IGNORED, SP_STEP_MINT_UPLOAD,
		true, route_mint_upload),
	CONTROL("POST", "/v1/sandboxes/*/files/download/token", BODY_IGNORED, SP_STEP_MINT_DOWNLOAD,
		true, route_mint_download),
	CONTROL("GET", "/v1/sandboxes/*/files/list", BODY_IGNORED, -1, true, route_files),
	CONTROL("GET", "/v1/sandboxes/*/execs", BODY_IGNORED, -1, true, route_execs),
	CONTROL("GET", "/v1/sandboxes/*/execs/*", BODY_IGNORED, -1, true, route_exec),
	CONTROL("POST", "/v1/sandboxes/*/execs/*/status", BODY_JSON, -1, true, route_exec_status),
	{ .method = "GET", .pattern = "/v1/sandbox-groups", .plane = PLANE_CONTROL,
	  .body = BODY_IGNORED, .step = -1, .hides_owner = true, .start = route_groups },
	/* Groups can be made since the newest era, and how is not known. */
	CONTROL("POST", "/v1/sandbox-groups", BODY_IGNORED, -1, false, route_unknown),
	CONTROL("POST", "/v1/sandboxes/*/snapshots", BODY_JSON, SP_STEP_SNAPSHOT, true,
		route_snapshot_create),
	CONTROL("GET", "/v1/sandbox-groups/*/snapshots", BODY_IGNORED, -1, false, route_snapshots),
	CONTROL("GET", "/v1/sandbox-groups/*/snapshots/*", BODY_IGNORED, -1, false,
		route_snapshot_get),
	CONTROL("DELETE", "/v1/sandbox-groups/*/snapshots/*", BODY_IGNORED, SP_STEP_SNAPSHOT_DELETE,
		false, route_snapshot_delete),

	{ "POST", "/proxy/*/runs/stream", PLANE_PROXY, BODY_JSON, SP_STEP_RUN, true, false,
	  proxy_run_stream, NULL, NULL, proxy_run_stream_gone },
	{ "POST", "/proxy/*/runs/sync", PLANE_PROXY, BODY_JSON, SP_STEP_RUN, true, false,
	  proxy_run_sync, NULL, NULL, proxy_run_sync_gone },
	{ "PUT", "/proxy/*/files/upload", PLANE_PROXY, BODY_STREAM, SP_STEP_UPLOAD, true, false,
	  proxy_upload, proxy_upload_data, proxy_upload_end, proxy_upload_gone },
	{ "GET", "/proxy/*/files/download", PLANE_PROXY, BODY_IGNORED, SP_STEP_DOWNLOAD, true,
	  false, proxy_download, NULL, NULL, NULL },

	ADMIN("POST", "/admin/workspaces", BODY_IGNORED, admin_workspace_new, NULL),
	ADMIN("POST", "/admin/workspaces/*/holds", BODY_JSON, admin_hold, NULL),
	ADMIN("GET", "/admin/workspaces/*/holds/*", BODY_IGNORED, admin_held, admin_held_gone),
	ADMIN("DELETE", "/admin/workspaces/*/holds/*", BODY_IGNORED, admin_release, NULL),
	ADMIN("POST", "/admin/workspaces/*/failures", BODY_JSON, admin_fail, NULL),
	ADMIN("GET", "/admin/workspaces/*/requests", BODY_IGNORED, admin_requests, NULL),
	ADMIN("DELETE", "/admin/workspaces/*/requests", BODY_IGNORED, admin_requests, NULL),
	ADMIN("GET", "/admin/workspaces/*/census", BODY_IGNORED, admin_census, NULL),
	ADMIN("GET", "/admin/workspaces/*/snapshots/*", BODY_IGNORED, admin_archive, NULL),
	{ "PUT", "/admin/workspaces/*/snapshots/*", PLANE_ADMIN, BODY_STREAM, -1, false,
	  false, admin_plant, admin_plant_data, admin_plant_end, admin_plant_gone },
	ADMIN("POST", "/admin/workspaces/*/faults", BODY_JSON, admin_fault, NULL),
	ADMIN("POST", "/admin/workspaces/*/state", BODY_JSON, admin_state, NULL),
	ADMIN("POST", "/admin/workspaces/*/clock", BODY_JSON, admin_clock, NULL),
	ADMIN("POST", "/admin/workspaces/*/reset", BODY_IGNORED, admin_reset, NULL),
};

/*
 * One step through a path and its pattern, side by side; the segments that a star stands for are
 * told.
 */
static bool matches(const char *pattern, const char *path, const char **stars, size_t *lens)
{
	size_t n = 0;

	while (*pattern && *path) {
		size_t want = strcspn(pattern + 1, "/");
		size_t have = strcspn(path + 1, "/");

		if (want == 1 && pattern[1] == '*') {
			if (!have)
				return false;
			stars[n] = path + 1;
			lens[n++] = have;
		} else if (want != have || memcmp(pattern + 1, path + 1, want)) {
			return false;
		}
		pattern += want + 1;
		path += have + 1;
	}
	return !*pattern && !*path;
}

const struct route *route_find(struct request *request, const char *method, const char *path,
			       bool *ret_wrong_method)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		const char *stars[REQUEST_PARAMS] = { NULL };
		size_t lens[REQUEST_PARAMS] = { 0 };

		if (*path != '/' || !matches(routes[i].pattern, path, stars, lens))
			continue;
		known = true;
		if (strcmp(routes[i].method, method))
			continue;
		for (size_t k = 0; k < REQUEST_PARAMS && stars[k]; k++)
			request->params[k] = strndup(stars[k], lens[k]);
		return &routes[i];
	}
	*ret_wrong_method = known;
	return NULL;
}

static bool read_number(const char *text, uint64_t *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 10);
	return !*end;
}

bool route_page(struct request *request, uint64_t *ret_limit, uint64_t *ret_before)
{
	const char *limit = request_query(request, "limit");
	const char *cursor = request_query(request, "cursor");
	const char *code = "invalid_limit";
	const char *why = NULL;
	unsigned long long before;
	char rest;

	*ret_limit = LIMIT_DEFAULT;
	*ret_before = UINT64_MAX;
	if (limit && *limit) {
		if (!read_number(limit, ret_limit) || !*ret_limit)
			why = "invalid limit: must be from 1 to 100";
		else if (*ret_limit > LIMIT_MAX)
			why = "invalid limit: too large";
	}
	if (!why && cursor && *cursor) {
		if (sscanf(cursor, "c%16llx%c", &before, &rest) == 1)
			*ret_before = before;
		else
			why = "invalid cursor";
		if (why)
			code = "invalid_cursor";
	}
	if (why)
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, code, "%s", why);
	return !why;
}

void route_cursor(struct sp_buf *buf, uint64_t number)
{
	sp_buf_addf(buf, ",\"cursor\":\"c%016" PRIx64 "\"", number);
}
