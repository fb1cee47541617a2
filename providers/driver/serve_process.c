/* SPDX-License-Identifier: MIT */
/* Methods of processes, on the driver's side. */
#include "server.h"

#include <stdlib.h>

/* Most bytes that one read answers, so that memory stays bounded. */
#define READ_MAX ((int64_t)1024 * 1024)

static int get(struct serve_call *call, const cJSON *params, struct sp_process **ret,
	       struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_PROCESS, &handle, err);

	*ret = handle ? &handle->process : NULL;
	return rc;
}

static int read_stream(struct serve_call *call, cJSON *params, struct sp_buf *result,
		       struct sp_error *err)
{
	struct sp_process *process;
	char *buffer SP_FREE = NULL;
	int64_t max = 0;
	int stream = 0;
	size_t len = 0;
	int rc = get(call, params, &process, err);

	if (!rc)
		rc = drv_get_word(params, "stream", drv_streams, -1, &stream, err);
	if (!rc)
		rc = drv_get_range(params, "max", 1, INT64_MAX, &max, err);
	if (rc)
		return rc;
	max = max < READ_MAX ? max : READ_MAX;
	buffer = malloc((size_t)max);
	if (!buffer)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = sp_process_read(process, (enum sp_stream)(stream + SP_STDOUT), buffer, (size_t)max,
			     &len, call->cancel, err);
	if (rc)
		return rc;
	if (len)
		drv_put_bytes(result, "data", buffer, len);
	else
		drv_put_bool(result, "end", true);
	return 0;
}

static int write_stdin(struct serve_call *call, cJSON *params, struct sp_buf *result,
		       struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_process *process;
	int rc = get(call, params, &process, err);

	(void)result;
	if (!rc)
		rc = drv_get_bytes(params, "data", &bytes, err);
	return rc ? rc : sp_process_write_stdin(process, bytes.data, bytes.len, call->cancel, err);
}

static int close_stdin(struct serve_call *call, cJSON *params, struct sp_buf *result,
		       struct sp_error *err)
{
	struct sp_process *process;
	int rc = get(call, params, &process, err);

	(void)result;
	return rc ? rc : sp_process_close_stdin(process, err);
}

static int wait_exit(struct serve_call *call, cJSON *params, struct sp_buf *result,
		     struct sp_error *err)
{
	struct sp_process *process;
	struct sp_exit exit = {SP_EXITED, 0, 0};
	int rc = get(call, params, &process, err);

	if (!rc)
		rc = sp_process_wait(process, &exit, call->cancel, err);
	if (rc)
		return rc;
	drv_put_text(result, "how", drv_exit_hows[exit.how]);
	drv_put_int(result, "code", exit.code);
	if (exit.signal)
		drv_put_int(result, "signal", exit.signal);
	serve_put_listeners(result, call->handle->cancel);
	return 0;
}

static int call_signal(struct serve_call *call, cJSON *params, bool kills, struct sp_error *err)
{
	struct sp_process *process;
	int64_t signal = 0;
	int rc = get(call, params, &process, err);

	if (!rc)
		rc = drv_get_range(params, "signal", INT32_MIN, INT32_MAX, &signal, err);
	if (rc)
		return rc;
	return kills ? sp_process_kill(process, (int)signal, call->cancel, err)
		     : sp_process_signal(process, (int)signal, call->cancel, err);
}

static int kill_process(struct serve_call *call, cJSON *params, struct sp_buf *result,
			struct sp_error *err)
{
	(void)result;
	return call_signal(call, params, true, err);
}

static int signal_process(struct serve_call *call, cJSON *params, struct sp_buf *result,
			  struct sp_error *err)
{
	(void)result;
	return call_signal(call, params, false, err);
}

static int release(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_PROCESS, &handle, err);

	(void)result;
	if (!rc)
		serve_handle_close(call, handle);
	return rc;
}

const struct serve_method serve_process_methods[] = {
    {"process/read", read_stream},	  {"process/write_stdin", write_stdin},
    {"process/close_stdin", close_stdin}, {"process/wait", wait_exit},
    {"process/kill", kill_process},	  {"process/signal", signal_process},
    {"process/release", release},	  {NULL, NULL},
};
