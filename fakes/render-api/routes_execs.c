/* SPDX-License-Identifier: MIT */
/* Records of runs and transfers. */
#include <fakes/render-api/routes.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <fakes/render-api/json_out.h>

/* One record with its text, every byte of it escaped. */
#define EXEC_CEILING (8 * TIMELINE_TEXT)

void route_execs(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(100 * EXEC_CEILING);
	struct exec *exec;
	uint64_t limit;
	uint64_t before;

	if (!route_page(request, &limit, &before))
		return;
	json_open(&buf, NULL, '[');
	TAILQ_FOREACH (exec, &request->sandbox->execs, entry) {
		if (exec->number >= before)
			continue;
		if (!limit--)
			break;
		json_open(&buf, NULL, '{');
		exec_json(&buf, "execution", exec);
		route_cursor(&buf, exec->number);
		json_close(&buf, '}');
	}
	json_close(&buf, ']');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

/* The record that is asked for; answers 404 without one. */
static struct exec *find(struct request *request)
{
	struct exec *exec = exec_find(request->sandbox, request->params[1]);

	if (!exec)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, NULL, "execution not found");
	return exec;
}

void route_exec(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(EXEC_CEILING);
	struct exec *exec = find(request);

	if (!exec)
		return;
	exec_json(&buf, NULL, exec);
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

/* The platform never learns a code by itself; this is how a client tells it. */
void route_exec_status(struct request *request)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(EXEC_CEILING);
	struct exec *exec = find(request);
	int64_t code;

	if (!exec)
		return;
	if (!sp_json_int(request->json, "exitCode", &code) || code < INT32_MIN ||
	    code > INT32_MAX) {
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL,
				     "exitCode must be an integer");
		return;
	}
	exec->exit_code = (int)code;
	exec->has_code = true;
	exec->stopped_ms = workspace_now(request->workspace);
	exec_report_json(&buf, exec);
	request_answer_json(request, MHD_HTTP_OK, &buf);
}
