/* SPDX-License-Identifier: MIT */
/* Faults of waiting and reading on any provider. */
#include <signal.h>

#include "tables.h"
#include "wrap.h"

static int once_wait(struct fault_process *process, struct sp_exit *ret_exit,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	if (atomic_fetch_add(&process->count, 1) > 0)
		return sp_error_set(err, SP_GONE, "the exit of this process was told before");
	return fault_inner_wait(process, ret_exit, cancel, err);
}

static const struct fault_hooks once = { .wait = once_wait };
FAULT_WRAP(wrap_once, once)

static int cancel_wait(struct fault_process *process, struct sp_exit *ret_exit,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == SP_ABORTED || rc == SP_TIMED_OUT)
		(void)fault_inner_kill(process, SIGKILL, NULL, NULL);
	return rc;
}

static const struct fault_hooks cancel_kills = { .wait = cancel_wait };
FAULT_WRAP(wrap_cancel_kills, cancel_kills)

/* What nobody had read by the time of the exit is gone. */
static int drops_wait(struct fault_process *process, struct sp_exit *ret_exit,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_inner_wait(process, ret_exit, cancel, err);

	if (rc == 0)
		atomic_store(&process->count, 1);
	return rc;
}

static int drops_read(struct fault_process *process, enum sp_stream stream, void *buffer,
		      size_t max, size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	if (!atomic_load(&process->count))
		return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
	*ret_len = 0;
	return 0;
}

static const struct fault_hooks drops = { .wait = drops_wait, .read = drops_read };
FAULT_WRAP(wrap_drops, drops)

/* Each stream says its end once. */
static int end_once_read(struct fault_process *process, enum sp_stream stream, void *buffer,
			 size_t max, size_t *ret_len, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	int rc;

	if (atomic_load(&process->count) & stream)
		return sp_error_set(err, SP_GONE, "the stream is closed");
	rc = sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
	if (rc == 0 && *ret_len == 0)
		atomic_fetch_or(&process->count, (int)stream);
	return rc;
}

static const struct fault_hooks end_once = { .read = end_once_read };
FAULT_WRAP(wrap_end_once, end_once)

/* The end waits for whoever else holds the pipe; here, for ever. */
static int open_read(struct fault_process *process, enum sp_stream stream, void *buffer, size_t max,
		     size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);

	if (rc == 0 && *ret_len == 0 && atomic_load(&process->kill_asked))
		return fault_hang(cancel, err);
	return rc;
}

static int open_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	atomic_store(&process->kill_asked, true);
	return fault_inner_kill(process, signal, cancel, err);
}

static const struct fault_hooks stay_open = { .read = open_read, .kill = open_kill };
FAULT_WRAP(wrap_stay_open, stay_open)

/* ---- Output that nobody reads is thrown away at once ---- */

struct drain {
	struct sp_process *process;
	struct sp_cancel *cancel;
	pthread_t thread;
	bool running;
};

static void *drain_main(void *arg)
{
	struct drain *drain = arg;
	char piece[16384];
	size_t len;

	while (sp_process_read(drain->process, SP_STDOUT, piece, sizeof(piece), &len, drain->cancel,
			       NULL) == 0 &&
	       len)
		;
	return NULL;
}

static int drained_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct fault_process *process, struct sp_error *err)
{
	int rc = sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
	struct drain *drain = rc < 0 ? NULL : calloc(1, sizeof(*drain));

	if (!drain)
		return rc;
	drain->process = &process->inner;
	drain->cancel = sp_cancel_new();
	drain->running = pthread_create(&drain->thread, NULL, drain_main, drain) == 0;
	process->data = drain;
	return 0;
}

static int drained_read(struct fault_process *process, enum sp_stream stream, void *buffer,
			size_t max, size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exit exit;
	int rc;

	if (stream == SP_STDERR)
		return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
	rc = fault_inner_wait(process, &exit, cancel, err);
	if (rc == 0)
		*ret_len = 0;
	return rc;
}

static void drained_release(struct fault_process *process)
{
	struct drain *drain = process->data;

	if (!drain)
		return;
	sp_cancel_abort(drain->cancel, "released");
	if (drain->running)
		pthread_join(drain->thread, NULL);
	sp_cancel_unref(drain->cancel);
	free(drain);
}

static const struct fault_hooks drained = { .spawn = drained_spawn,
					    .read = drained_read,
					    .release = drained_release };
FAULT_WRAP(wrap_drained, drained)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "wait-once",
		.summary = "Only the first wait() is answered.",
		.sources = FAULT_LIST("contract:C141", "contract:C153"),
		.clause = "kill K12",
		.cases = FAULT_LIST("kill.wait.late", "kill.wait.many"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_once,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "wait-cancel-kills",
		.summary = "Giving up a wait kills the command.",
		.sources = FAULT_LIST("field:K03"),
		.clause = "kill K12",
		.cases = FAULT_LIST("kill.wait.cancelled"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_cancel_kills,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "wait-throws-output-away",
		.summary = "Output that is unread at the exit is lost.",
		.sources = FAULT_LIST("contract:C141", "contract:C142"),
		.clause = "kill K12",
		.cases = FAULT_LIST("kill.wait.unread"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_drops,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "read-end-once",
		.summary = "The end of a stream is told once and is an error after that.",
		.sources = FAULT_LIST("field:K23"),
		.clause = "kill K13",
		.cases = FAULT_LIST("kill.stream.end-again"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_end_once,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "streams-stay-open",
		.summary = "After a kill the streams wait for whoever else holds the pipe.",
		.sources = FAULT_LIST("field:K23"),
		.clause = "kill K13",
		.cases = FAULT_LIST("kill.stream.ends"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_stay_open,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "unread-thrown-away",
		.summary = "Output that nobody reads is thrown away, so the command never stands "
			   "still.",
		.sources = FAULT_LIST("contract:C141"),
		.clause = "kill K13",
		.cases = FAULT_LIST("kill.stream.bound-kill", "kill.stream.bound-read"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_drained,
	},
};
FAULT_TABLE(fault_kill_wait, faults);
