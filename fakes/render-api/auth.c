/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/auth.h>

#include <string.h>

#include <fakes/render-api/rate.h>

bool api_secret_equal(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char different = strlen(b) != len;

	for (size_t i = 0; i < len && !different; i++)
		different |= (unsigned char)(a[i] ^ b[i]);
	return !different;
}

static void unauthorized(struct request *request, const char *why)
{
	request_answer_error(request, MHD_HTTP_UNAUTHORIZED, "unauthorized", "%s", why);
}

static void check_admin(struct request *request)
{
	if (!api_secret_equal(request->api->control_token, request_bearer(request))) {
		unauthorized(request, "the control token is missing or wrong");
		return;
	}
	if (!request->params[0])
		return;
	request->workspace = workspace_find(request->api, request->params[0]);
	if (!request->workspace)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "workspace_not_found",
				     "there is no workspace %s", request->params[0]);
}

/* One workspace a key: another one in the query is somebody else's. */
static bool is_own(void *arg, const char *value, size_t len)
{
	const struct workspace *workspace = arg;

	return strlen(workspace->id) == len && !memcmp(workspace->id, value, len);
}

/* The list of groups does not tell a foreign workspace from none. */
static void foreign_owner(struct request *request)
{
	if (request->route->hides_owner)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "owner not found");
	else
		request_answer_error(request, MHD_HTTP_FORBIDDEN, NULL,
				     "this key has no access to that workspace");
}

static void check_control(struct request *request)
{
	struct workspace *workspace = workspace_find_key(request->api, request_bearer(request));

	if (!workspace) {
		request_answer_error(request, MHD_HTTP_UNAUTHORIZED, NULL, "unauthorized");
		return;
	}
	request->workspace = workspace;
	if (!rate_count(workspace)) {
		request_answer_limited(request, (unsigned)rate_look(workspace).reset_s,
				       "rate limit exceeded");
		return;
	}
	if (api_fault_on(workspace->faults, API_FAULT_NO_ENTITLEMENT)) {
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "not found");
		return;
	}
	if (!request_query_each(request, "ownerId", is_own, workspace)) {
		foreign_owner(request);
		return;
	}
	if (!request->route->sandbox)
		return;
	request->sandbox = sandbox_find(workspace, request->params[0]);
	if (!request->sandbox)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "sandbox not found");
}

static enum operation operation_of(const struct request *request)
{
	switch (request->route->step) {
	case SP_STEP_UPLOAD:
		return OP_UPLOAD;
	case SP_STEP_DOWNLOAD:
		return OP_DOWNLOAD;
	default:
		return strstr(request->route->pattern, "/sync") ? OP_RUN_SYNC : OP_RUN_STREAM;
	}
}

static void check_proxy(struct request *request)
{
	enum operation operation = operation_of(request);
	const char *path = NULL;
	const char *why;
	struct exec *exec;

	request->sandbox = sandbox_find_any(request->api, request->params[0]);
	if (!request->sandbox) {
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "sandbox_not_found",
				     "sandbox not found");
		return;
	}
	request->workspace = request->sandbox->workspace;
	if (operation == OP_UPLOAD || operation == OP_DOWNLOAD) {
		path = request_query(request, "path");
		path = path ? path : "";
	}
	exec = exec_redeem(request->sandbox, request_bearer(request), operation, path, &why);
	if (exec)
		memcpy(request->exec_id, exec->id, sizeof(request->exec_id));
	else
		unauthorized(request, why);
}

void auth_check(struct request *request)
{
	switch (request->route->plane) {
	case PLANE_CONTROL:
		check_control(request);
		break;
	case PLANE_PROXY:
		check_proxy(request);
		break;
	case PLANE_ADMIN:
		check_admin(request);
		break;
	}
}
