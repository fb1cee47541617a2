/* SPDX-License-Identifier: MIT */
/* Tokens for one run or one transfer each. */
#include <fakes/render-api/routes.h>

#include <limits.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <base/utf8.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/path.h>

/* A path grows threefold in its URL. */
#define MINT_CEILING (8 * PATH_MAX)

static void add_uri(struct sp_buf *buf, const struct exec *exec)
{
	static const char *const paths[] = {
		[OP_RUN_SYNC] = "runs/sync",
		[OP_RUN_STREAM] = "runs/stream",
		[OP_UPLOAD] = "files/upload?path=",
		[OP_DOWNLOAD] = "files/download?path=",
	};
	const struct api *api = exec->sandbox->workspace->api;
	bool file = exec->operation == OP_UPLOAD || exec->operation == OP_DOWNLOAD;

	/* Nothing in it needs a JSON escape. */
	sp_buf_addf(buf, ",\"uri\":\"%s/proxy/%s/%s", api->listener.origin, exec->sandbox->id,
		    paths[exec->operation]);
	if (file)
		sp_buf_add_url(buf, exec->text);
	sp_buf_addc(buf, '"');
}

static void answer_mint(struct request *request, enum operation operation, const char *text)
{
	static const char *const methods[] = {
		[OP_RUN_SYNC] = "POST",
		[OP_RUN_STREAM] = "POST",
		[OP_UPLOAD] = "PUT",
		[OP_DOWNLOAD] = "GET",
	};
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MINT_CEILING);
	struct exec *exec = exec_new(request->sandbox, operation, text);

	if (!exec) {
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL,
				     "out of memory");
		return;
	}
	json_open(&buf, NULL, '{');
	json_str(&buf, "executionId", exec->id);
	json_str(&buf, "token", exec->token);
	add_uri(&buf, exec);
	json_str(&buf, "method", methods[operation]);
	json_time(&buf, "expiresAt", exec->expires_ms);
	json_close(&buf, '}');
	request_answer_json(request, MHD_HTTP_CREATED, &buf);
}

/* What the service may say of a sandbox that does not run yet. */
static void answer_creating(struct request *request)
{
	api_faults faults = request->workspace->faults;

	if (api_fault_on(faults, API_FAULT_CREATE_404))
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "sandbox not found");
	else if (api_fault_on(faults, API_FAULT_CREATE_429))
		request_answer_limited(request, 1, "rate limit exceeded");
	else
		request_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL,
				     "sandbox is not ready");
}

/* A suspended one is woken by the use of the token, not by its mint. */
static bool is_open(struct request *request)
{
	switch (sandbox_state(request->sandbox)) {
	case FAKE_CREATING:
		answer_creating(request);
		return false;
	case FAKE_ERRORED:
		request_answer_error(request, MHD_HTTP_CONFLICT, "sandbox_not_running",
				     "sandbox has failed");
		return false;
	case FAKE_TERMINATED:
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "sandbox not found");
		return false;
	case FAKE_RUNNING:
	case FAKE_SUSPENDING:
	case FAKE_SUSPENDED:
	case FAKE_RESUMING:
	case FAKE_STATE_MAX_:
		break;
	}
	return true;
}

static void mint_run(struct request *request, enum operation operation)
{
	const cJSON *command = cJSON_GetObjectItemCaseSensitive(request->json, "command");

	if (!is_open(request))
		return;
	if (command && !cJSON_IsString(command)) {
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL,
				     "command must be a string");
		return;
	}
	answer_mint(request, operation, command ? command->valuestring : NULL);
}

void route_mint_run_sync(struct request *request)
{
	mint_run(request, OP_RUN_SYNC);
}

void route_mint_run_stream(struct request *request)
{
	mint_run(request, OP_RUN_STREAM);
}

static void mint_file(struct request *request, enum operation operation)
{
	const char *path = request_query(request, "path");

	if (!is_open(request))
		return;
	if (!path || !*path)
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL, "path is required");
	else if (!path_is_clean(path) || strlen(path) >= PATH_MAX ||
		 !sp_utf8_valid(path, strlen(path)))
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL,
				     "invalid path: must be clean");
	else
		answer_mint(request, operation, path);
}

void route_mint_upload(struct request *request)
{
	mint_file(request, OP_UPLOAD);
}

void route_mint_download(struct request *request)
{
	mint_file(request, OP_DOWNLOAD);
}
