/* SPDX-License-Identifier: MIT */
/* The process's table over a driver. */
#include "client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of output that are asked for at once: bounded memory on both sides. */
#define READ_MAX ((size_t)1024 * 1024)

struct process {
	struct sp_driver *driver;
	char *handle;
	/* Of the cancel that it was spawned with: told to the driver until the process has ended.
	 */
	struct drv_watch *watch;
	/* What the driver's side left on that cancel is counted; with the driver's lock. */
	bool is_counted;
	/* The caller's handle, and the wait that ends the watch. */
	atomic_int refs;
};

static void begin(struct sp_buf *params, const struct process *process)
{
	drv_open(params, "process", process->handle);
}

/* The driver keeps the handle as long as we may use it. */
static void unref(struct process *process)
{
	struct sp_buf params DRV_PARAMS;

	if (atomic_fetch_sub(&process->refs, 1) != 1)
		return;
	begin(&params, process);
	sp_buf_addc(&params, '}');
	drv_post(process->driver, "process/release", &params, NULL, NULL);
	free(process->handle);
	free(process);
}

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct process *process = self;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	bool end = false;
	int rc;

	begin(&params, process);
	drv_put_text(&params, "stream", drv_streams[stream - SP_STDOUT]);
	drv_put_uint(&params, "max", max < READ_MAX ? max : READ_MAX);
	rc = drv_call_for(process->driver, "process/read", &params, cancel, &result, err);
	if (!rc && (drv_get_bool_opt(result, "end", &end, err) ||
		    (!end && drv_get_bytes(result, "data", &bytes, err))))
		rc = drv_nonsense(process->driver, "process/read", err);
	if (!rc && !end && (!bytes.len || bytes.len > max)) {
		sp_error_set(err, SP_PROTOCOL, "%zu bytes where 1 to %zu were asked for", bytes.len,
			     max);
		rc = drv_nonsense(process->driver, "process/read", err);
	}
	if (rc)
		return rc;
	if (bytes.len)
		memcpy(buffer, bytes.data, bytes.len);
	*ret_len = bytes.len;
	return 0;
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	struct process *process = self;
	struct sp_buf params DRV_PARAMS;

	begin(&params, process);
	drv_put_bytes(&params, "data", data, len);
	return drv_call_plain(process->driver, "process/write_stdin", &params, cancel, err);
}

static int process_close_stdin(void *self, struct sp_error *err)
{
	struct process *process = self;
	struct sp_buf params DRV_PARAMS;

	begin(&params, process);
	return drv_call_plain(process->driver, "process/close_stdin", &params, NULL, err);
}

/*
 * The process has ended: listeners that are left on its cancel are counted, once. The cancel may be
 * let go of at the same time, by the answer that ends the watch.
 */
static int count_listeners(struct process *process, const cJSON *result, struct sp_error *err)
{
	struct sp_cancel *cancel = NULL;
	int rc;

	pthread_mutex_lock(&process->driver->lock);
	if (process->watch && !process->is_counted)
		cancel = sp_cancel_ref(process->watch->cancel);
	process->is_counted = true;
	pthread_mutex_unlock(&process->driver->lock);
	rc = drv_leave_listeners(cancel, result, err);
	sp_cancel_unref(cancel);
	return rc;
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct process *process = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int64_t code = 0, signal = 0;
	int how = 0;
	int rc;

	begin(&params, process);
	rc = drv_call_for(process->driver, "process/wait", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_word(result, "how", drv_exit_hows, -1, &how, err) ||
	    drv_get_range(result, "code", 0, 255, &code, err) ||
	    drv_get_int_opt(result, "signal", &signal, err) ||
	    count_listeners(process, result, err))
		return drv_nonsense(process->driver, "process/wait", err);
	*ret_exit = (struct sp_exit){(enum sp_exit_how)how, (int)code, (int)signal};
	return 0;
}

static int call_signal(struct process *process, const char *method, int signal,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;

	begin(&params, process);
	drv_put_int(&params, "signal", signal);
	return drv_call_plain(process->driver, method, &params, cancel, err);
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	return call_signal(self, "process/kill", signal, cancel, err);
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	return call_signal(self, "process/signal", signal, cancel, err);
}

static void process_release(void *self)
{
	unref(self);
}

static const struct sp_process_ops process_ops = {
    .version = SP_PROCESS_VERSION,
    .read = process_read,
    .write_stdin = process_write_stdin,
    .close_stdin = process_close_stdin,
    .wait = process_wait,
    .kill = process_kill,
    .signal = process_signal,
    .release = process_release,
};

/* The process can no longer act, so its cancel has nothing left to end. */
static void on_ended(void *arg, struct drv_call *call)
{
	struct process *process = arg;
	struct drv_watch *watch;

	if (call)
		(void)count_listeners(
		    process, cJSON_GetObjectItemCaseSensitive(call->answer, "result"), NULL);
	pthread_mutex_lock(&process->driver->lock);
	watch = SP_TAKE(process->watch);
	pthread_mutex_unlock(&process->driver->lock);
	drv_unwatch(process->driver, watch);
	unref(process);
}

/* From here on the cancel belongs to the process, until that has ended. */
static int follow(struct process *process, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;

	if (!cancel)
		return 0;
	process->watch = drv_watch(process->driver, cancel, "process", process->handle);
	if (!process->watch)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	atomic_fetch_add(&process->refs, 1);
	begin(&params, process);
	sp_buf_addc(&params, '}');
	drv_post(process->driver, "process/wait", &params, on_ended, process);
	return 0;
}

int drv_make_process(struct sp_driver *driver, const char *method, const cJSON *result,
		     struct sp_cancel *cancel, struct sp_process *ret_process, struct sp_error *err)
{
	struct process *process;
	const char *handle;
	int rc;

	if (drv_get_text(result, "process", &handle, err))
		return drv_nonsense(driver, method, err);
	process = calloc(1, sizeof(*process));
	if (process)
		process->handle = strdup(handle);
	if (!process || !process->handle) {
		free(process);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	process->driver = driver;
	atomic_init(&process->refs, 1);
	rc = follow(process, cancel, err);
	if (rc) {
		unref(process);
		return rc;
	}
	*ret_process = (struct sp_process){&process_ops, process};
	return 0;
}
