/* SPDX-License-Identifier: MIT */
/* Receiving a file, piece by piece. */
#include <fakes/render-api/routes.h>

#include <errno.h>
#include <string.h>

#include <base/cleanup.h>

static void answer_upload_error(struct request *request, const struct sp_error *err)
{
	if (err->code == SP_NOT_FOUND)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "file_not_found", "%s",
				     err->message);
	else if (err->code == SP_CONFLICT)
		request_answer_error(request, MHD_HTTP_CONFLICT, "path_is_a_directory", "%s",
				     err->message);
	else if (err->code == SP_DENIED)
		request_answer_error(request, MHD_HTTP_FORBIDDEN, "permission_denied", "%s",
				     err->message);
	else if (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT)
		request_answer_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, "insufficient_storage",
				     "no space left on device");
	else
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "upload_failed", "%s",
				     err->message);
}

static void drop(struct request *request)
{
	struct fake_upload *upload = SP_TAKE(request->op);

	if (!upload)
		return;
	fake_upload_abort(upload);
	sandbox_unuse(request->sandbox);
}

static void open_upload(struct request *request)
{
	struct sp_error err = SP_ERROR_INIT;
	struct fake_upload *upload;

	if (fake_upload_open(request->sandbox->handle, request_query(request, "path"), &upload,
			     &err)) {
		answer_upload_error(request, &err);
		return;
	}
	sandbox_use(request->sandbox);
	request->op = upload;
}

void proxy_upload(struct request *request)
{
	const char *type = request_header(request, "Content-Type");

	if (type && !strncasecmp(type, "application/x-tar", 17)) {
		request_answer_error(request, MHD_HTTP_NOT_IMPLEMENTED, "unsupported",
				     "this server takes single files, no archives yet");
		return;
	}
	request_wake(request, open_upload);
}

void proxy_upload_data(struct request *request, const void *data, size_t len)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!request->op)
		return;
	if (request->failure.how == SP_FAIL_CUT) {
		drop(request);
		request_answer_drop(request);
	} else if (fake_upload_write(request->op, data, len, &err)) {
		drop(request);
		answer_upload_error(request, &err);
	}
}

static void on_stored(void *arg, int rc, const struct sp_error *err)
{
	struct request *request = arg;

	sandbox_unuse(request->sandbox);
	if (rc)
		answer_upload_error(request, err);
	else
		request_answer_empty(request, MHD_HTTP_NO_CONTENT);
	request_unref(request);
}

void proxy_upload_end(struct request *request)
{
	struct fake_upload *upload = request->op;

	if (!upload)
		return;
	if (request->failure.how == SP_FAIL_CUT) {
		drop(request);
		request_answer_drop(request);
		return;
	}
	/* From here on it is the engine's, whether the client stays or not. */
	request->op = NULL;
	fake_upload_finish(upload, on_stored, request_ref(request));
}

void proxy_upload_gone(struct request *request)
{
	drop(request);
}
