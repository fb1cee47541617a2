/* SPDX-License-Identifier: MIT */
/* Files over the proxy: one token and one transfer each. */
#include "internal.h"

#include <string.h>

/* A 404 of the proxy is a missing file only when it says so; any other means that the sandbox is not there. */
static int transfer_error(struct render_core *core, const char *id, const char *path,
			  const struct render_answer *answer, const char *what,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *code = NULL;
	int rc;

	if (answer->status != 404)
		return render_status_error(answer, what, err);
	if (!sp_json_parse((const char *)answer->body.data, answer->body.len, SP_BUF_LINE, &json,
			   NULL))
		code = sp_json_str(json, "code");
	if (code && !strcmp(code, "file_not_found"))
		return sp_error_set(err, SP_NOT_FOUND, "%s does not exist", path);
	rc = render_confirm_gone(core, id, cancel, err);
	return rc;
}

static int transfer(struct render_core *core, const char *id, const char *path,
		    const char *operation, struct render_request *request, size_t max,
		    struct sp_cancel *cancel, struct render_answer *ret_answer,
		    struct sp_error *err)
{
	struct render_grant grant SP_CLEANUP(render_grant_done) = { NULL, NULL };
	int rc = render_mint(core, id, operation, path, request->method, cancel, &grant, err);

	if (rc)
		return rc;
	request->url = grant.uri;
	request->bearer = grant.token;
	return render_exchange(core, request, max, cancel, ret_answer, err);
}

int render_upload(struct render_core *core, const char *id, const char *path, const void *data,
		  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = { 0 };
	struct render_request request = { .method = "PUT",
					  .content_type = "application/octet-stream",
					  .body = data,
					  .body_len = len };
	int rc = transfer(core, id, path, "files/upload", &request, RENDER_ANSWER_MAX, cancel,
			  &answer, err);

	if (rc)
		return rc;
	if (answer.status / 100 == 2)
		return 0;
	return transfer_error(core, id, path, &answer, "upload a file", cancel, err);
}

int render_download(struct render_core *core, const char *id, const char *path,
		    struct sp_bytes *ret_bytes, bool *ret_is_archive, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct render_answer answer SP_CLEANUP(render_answer_done) = { 0 };
	struct render_request request = { .method = "GET" };
	int rc = transfer(core, id, path, "files/download", &request, RENDER_FILE_MAX, cancel,
			  &answer, err);

	if (rc)
		return rc;
	if (answer.status != 200)
		return transfer_error(core, id, path, &answer, "download a file", cancel, err);
	*ret_is_archive = answer.is_archive;
	*ret_bytes = answer.body;
	answer.body = (struct sp_bytes)SP_BYTES_INIT;
	return 0;
}
