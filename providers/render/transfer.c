/* SPDX-License-Identifier: MIT */
/* Whole files, up and down. */
#include "internal.h"

#include <string.h>

static bool is_file_not_found(const struct render_answer *answer)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *code;

	if (answer->status != 404 ||
	    sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			  &json, NULL))
		return false;
	code = sp_json_str(json, "code");
	return code && !strcmp(code, "file_not_found");
}

/* Sends the request; an answer of success goes to the sink if there is one. */
static int exchange(struct render_core *core, const struct render_request *request,
		    struct sp_cancel *cancel, struct render_answer *ret_answer,
		    struct sp_error *err)
{
	struct sp_http_stream stream;
	int rc = 0;

	if (request->source)
		rc = request->source->rewind(request->source->arg, err);
	if (!rc)
		rc = render_open_stream(core, request, cancel, &stream, err);
	if (rc && request->source && request->source->error.code && err)
		*err = request->source->error;
	if (rc)
		return rc;
	ret_answer->status = stream.ops->status(stream.self);
	if (request->sink && ret_answer->status / 100 == 2)
		rc = request->sink->take(request->sink->arg, &stream, cancel, err);
	else
		rc = render_read_answer(&stream, RENDER_FILE_MAX, cancel, ret_answer, err);
	stream.ops->close(stream.self);
	return rc;
}

/* One try. `*ret_again` when the sandbox was only starting. */
static int transfer_once(struct render_core *core, const char *id, const char *operation,
			 const char *path, struct render_request *request, struct sp_cancel *cancel,
			 struct render_answer *ret_answer, bool *ret_again, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct render_grant grant SP_CLEANUP(render_grant_done) = {0};
	int rc = render_mint(core, id, operation, path, request->method, cancel, &grant, err);

	if (rc)
		return rc;
	request->url = grant.uri;
	request->bearer = grant.token;
	rc = exchange(core, request, cancel, &answer, err);
	if (rc)
		return rc;
	if (answer.status / 100 == 2) {
		*ret_answer = answer;
		answer.body = (struct sp_bytes)SP_BYTES_INIT;
		return 0;
	}
	rc = render_status_error(
	    &answer, strcmp(request->method, "GET") ? "upload a file" : "download a file", err);
	if (is_file_not_found(&answer))
		return rc;
	if (answer.status == 429 && answer.retry_after_ms >= 0 &&
	    answer.retry_after_ms <= RENDER_RETRY_MAX_MS)
		rc = render_pause((uint32_t)answer.retry_after_ms, cancel, err);
	else if (answer.status == 404 || answer.status == 429 || answer.status == 503)
		rc = render_settle_start(core, id, rc, cancel, err);
	*ret_again = !rc;
	return rc;
}

int render_transfer(struct render_core *core, const char *id, const char *operation,
		    const char *path, struct render_request *request, struct sp_cancel *cancel,
		    struct render_answer *ret_answer, struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	bool again = true;
	int rc = 0;

	for (int tries = 0; tries < RENDER_RETRIES && again; tries++) {
		again = false;
		inner = (struct sp_error)SP_ERROR_INIT;
		rc = transfer_once(core, id, operation, path, request, cancel, ret_answer, &again,
				   &inner);
	}
	if (!rc && again)
		rc = sp_error_set(&inner, SP_UNAVAILABLE,
				  "sandbox %s moves no file although it runs", id);
	if (rc && err)
		*err = inner;
	return rc;
}

int render_upload(struct render_core *core, const char *id, const char *path, const void *data,
		  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct render_request request = {.method = "PUT",
					 .content_type = "application/octet-stream",
					 .body = len ? data : "",
					 .body_len = len};

	return render_transfer(core, id, "files/upload", path, &request, cancel, &answer, err);
}

int render_download(struct render_core *core, const char *id, const char *path,
		    struct sp_bytes *ret_bytes, bool *ret_is_archive, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct render_request request = {.method = "GET"};
	int rc = render_transfer(core, id, "files/download", path, &request, cancel, &answer, err);

	if (rc)
		return rc;
	*ret_is_archive = answer.is_archive;
	*ret_bytes = answer.body;
	answer.body = (struct sp_bytes)SP_BYTES_INIT;
	return 0;
}
