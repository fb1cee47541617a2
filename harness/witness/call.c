/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/files.h>
#include <witness/call.h>

struct sp_call {
	struct sp_case *t;
	struct sp_cancel *cancel;
	sp_call_fn fn;
	void *arg;
	/* What the typed calls are about. */
	struct sp_sandbox *sandbox;
	struct sp_process *process;
	struct sp_exec_options options;
	int signal;
	enum sp_stream stream;
	size_t max;

	pthread_t thread;
	/* The kernel's number of the thread; 0 until it runs. */
	atomic_int tid;
	bool joined;
	atomic_bool answered;
	/* Readable once the call has answered. */
	int done_fd;
	struct sp_call_result result;
};

static void *thread_main(void *arg)
{
	struct sp_call *call = arg;

	atomic_store(&call->tid, gettid());
	call->result.rc = call->fn(call->arg ? call->arg : call, call->cancel, &call->result);
	atomic_store(&call->answered, true);
	eventfd_write(call->done_fd, 1);
	return NULL;
}

static void call_free(struct sp_call *call)
{
	sp_cancel_unref(call->cancel);
	sp_close(call->done_fd);
	sp_exec_result_done(&call->result.exec);
	sp_process_done(&call->result.process);
	sp_bytes_done(&call->result.bytes);
	free(call);
}

static struct sp_call *call_new(struct sp_case *t, sp_call_fn fn, void *arg)
{
	struct sp_call *call = calloc(1, sizeof(*call));

	if (call) {
		call->t = t;
		call->fn = fn;
		call->arg = arg;
		call->cancel = sp_cancel_new();
		call->done_fd = eventfd(0, EFD_CLOEXEC);
		if (call->cancel && call->done_fd >= 0)
			return call;
		call_free(call);
	}
	sp_case_error(t, SP_HERE, "no memory or descriptors for a call");
	return NULL;
}

static struct sp_call *launch(struct sp_call *call)
{
	int rc = pthread_create(&call->thread, NULL, thread_main, call);

	if (rc == 0)
		return call;
	sp_case_error(call->t, SP_HERE, "no thread for a call (errno %d)", rc);
	call_free(call);
	return NULL;
}

struct sp_call *sp_call_start(struct sp_case *t, sp_call_fn fn, void *arg)
{
	struct sp_call *call = call_new(t, fn, arg);

	return call ? launch(call) : NULL;
}

static int run_exec(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;

	call->options.cancel = cancel;
	return sp_sandbox_exec(call->sandbox, &call->options, &result->exec, &result->err);
}

static int run_spawn(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;

	if (!call->options.cancel)
		call->options.cancel = cancel;
	return sp_sandbox_spawn(call->sandbox, &call->options, &result->process, &result->err);
}

static int run_wait(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;

	return sp_process_wait(call->process, &result->exit, cancel, &result->err);
}

static int run_kill(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;

	return sp_process_kill(call->process, call->signal, cancel, &result->err);
}

static int run_read(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(call->max);
	char piece[16384];
	size_t len = 0;
	int rc;

	do {
		rc = sp_process_read(call->process, call->stream, piece, sizeof(piece), &len,
				     cancel, &result->err);
		if (rc == 0 && len > call->max - buf.len)
			sp_buf_add(&buf, piece, call->max - buf.len);
		else if (rc == 0)
			sp_buf_add(&buf, piece, len);
	} while (rc == 0 && len);
	if (buf.error)
		return sp_error_set(&result->err, SP_INTERNAL, "out of memory in a witness");
	sp_buf_take_bytes(&buf, &result->bytes);
	return rc;
}

static int run_destroy(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct sp_call *call = arg;

	return sp_sandbox_destroy(call->sandbox, cancel, &result->err);
}

struct sp_call *sp_call_exec(struct sp_case *t, struct sp_sandbox *sandbox,
			     const struct sp_exec_options *options)
{
	struct sp_call *call = sandbox ? call_new(t, run_exec, NULL) : NULL;

	if (!call)
		return NULL;
	call->sandbox = sandbox;
	call->options = *options;
	sp_case_note(t, "exec on a thread: %.300s", options->command);
	return launch(call);
}

struct sp_call *sp_call_spawn(struct sp_case *t, struct sp_sandbox *sandbox,
			      const struct sp_exec_options *options)
{
	struct sp_call *call = sandbox ? call_new(t, run_spawn, NULL) : NULL;

	if (!call)
		return NULL;
	call->sandbox = sandbox;
	call->options = *options;
	sp_case_note(t, "spawn on a thread: %.300s", options->command);
	return launch(call);
}

static struct sp_call *process_call(struct sp_case *t, sp_call_fn fn, struct sp_process *process)
{
	struct sp_call *call = call_new(t, fn, NULL);

	if (call)
		call->process = process;
	return call;
}

struct sp_call *sp_call_wait(struct sp_case *t, struct sp_process *process)
{
	struct sp_call *call = process_call(t, run_wait, process);

	return call ? launch(call) : NULL;
}

struct sp_call *sp_call_kill(struct sp_case *t, struct sp_process *process, int signal)
{
	struct sp_call *call = process_call(t, run_kill, process);

	if (!call)
		return NULL;
	call->signal = signal;
	sp_case_note(t, "kill(%d) on a thread", signal);
	return launch(call);
}

struct sp_call *sp_call_read(struct sp_case *t, struct sp_process *process, enum sp_stream stream,
			     size_t max)
{
	struct sp_call *call = process_call(t, run_read, process);

	if (!call)
		return NULL;
	call->stream = stream;
	call->max = max;
	return launch(call);
}

struct sp_call *sp_call_destroy(struct sp_case *t, struct sp_sandbox *sandbox)
{
	struct sp_call *call = sandbox ? call_new(t, run_destroy, NULL) : NULL;

	if (!call)
		return NULL;
	call->sandbox = sandbox;
	return launch(call);
}

bool sp_call_pending(struct sp_call *call)
{
	return call && !atomic_load(&call->answered);
}

bool sp_thread_asleep(int pid, int tid)
{
	struct sp_bytes stat SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	const char *name_end;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	if (sp_read_file(path, 4096, &stat, NULL))
		return false;
	name_end = strrchr((const char *)stat.data, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

bool sp_call_asleep(struct sp_call *call)
{
	int tid = call ? atomic_load(&call->tid) : 0;

	return tid && sp_call_pending(call) && sp_thread_asleep(getpid(), tid) &&
	       sp_call_pending(call);
}

void sp_call_abort(struct sp_call *call, const char *reason)
{
	if (call)
		sp_cancel_abort(call->cancel, reason);
}

struct sp_cancel *sp_call_cancel(struct sp_call *call)
{
	return call ? call->cancel : NULL;
}

/* Passes the case's limit on to the call while it is waited for. */
static void await_answer(struct sp_call *call)
{
	struct sp_cancel *limit = sp_case_cancel(call->t);
	struct pollfd fds[] = {
		{ .fd = call->done_fd, .events = POLLIN },
		{ .fd = sp_cancel_fd(limit), .events = POLLIN },
	};

	while (sp_call_pending(call)) {
		struct sp_error err = SP_ERROR_INIT;

		if (poll(fds, SP_COUNT(fds), -1) < 0 && errno != EINTR)
			break;
		if (sp_cancel_check(limit, &err) < 0) {
			sp_cancel_abort(call->cancel, err.message);
			break;
		}
	}
}

struct sp_call_result *sp_call_join(struct sp_call *call)
{
	if (!call)
		return NULL;
	if (!call->joined) {
		await_answer(call);
		pthread_join(call->thread, NULL);
		call->joined = true;
	}
	return &call->result;
}

void sp_call_done(struct sp_call **call)
{
	if (!*call)
		return;
	if (!(*call)->joined) {
		if (sp_call_pending(*call))
			sp_cancel_abort((*call)->cancel, "the case has ended");
		pthread_join((*call)->thread, NULL);
	}
	call_free(*call);
	*call = NULL;
}
