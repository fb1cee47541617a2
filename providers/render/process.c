/* SPDX-License-Identifier: MIT */
/*
 * A spawned command: one thread pumps its stream into two bounded queues, so
 * that it runs on while nobody reads; past the bound the pump stands still,
 * and with it, by and by, the command. A kill lifts the bound: what is still
 * under way then is finite, and nobody must wait for a reader.
 */
#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <base/utf8.h>

/* What is under way beyond the bound when a command dies: pipes, sockets, the platform's own queues. */
#define IN_FLIGHT (64 * 1024 * 1024)
/* Code of a command that was ended before anybody told one. */
#define CODE_TERMINATED 143

struct render_process {
	struct render_process *next;
	struct render_sandbox *sandbox;
	char id[RENDER_ID_LEN + 1];
	uint64_t mark;
	struct render_run *run;
	/* The caller's, until the command has ended. */
	struct sp_cancel *cancel;
	/* Fires on release: the pump goes. */
	struct sp_cancel *let_go;
	pthread_t pump;

	pthread_mutex_t lock;
	/* Somebody waits for any change below. */
	struct wake_list changed;
	struct sp_buf queues[2];
	/* kill() was asked for, is being carried out so many times, and was carried out. */
	bool kill_asked;
	unsigned killing;
	bool killed;
	/* It has ended, how, or the error that everybody is told. */
	bool ended;
	struct sp_exit exit;
	int lost;
	struct sp_error error;
	bool pump_gone;
};

/* ---- the pump ---- */

static bool has_room(const struct render_process *process)
{
	uint64_t bound = process->sandbox->core->capabilities.unread_bound;

	return process->kill_asked ||
	       (process->queues[0].len < bound && process->queues[1].len < bound);
}

/* Waits until the next piece may be taken. */
static int await_room(struct render_process *process, struct sp_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&process->lock);
	while (!rc && !has_room(process))
		rc = wake_wait(&process->changed, &process->lock, process->let_go, process->cancel,
			       err);
	pthread_mutex_unlock(&process->lock);
	return rc;
}

static void end_locked(struct render_process *process)
{
	process->ended = true;
	process->cancel = sp_cancel_unref(process->cancel);
	wake_all(&process->changed);
}

static void end_with_code(struct render_process *process, enum sp_exit_how how, int code)
{
	pthread_mutex_lock(&process->lock);
	process->exit.how = how;
	process->exit.code = code;
	end_locked(process);
	pthread_mutex_unlock(&process->lock);
}

static void end_with_error(struct render_process *process, int rc, const struct sp_error *err)
{
	pthread_mutex_lock(&process->lock);
	process->lost = rc;
	process->error = *err;
	end_locked(process);
	pthread_mutex_unlock(&process->lock);
}

static int take_output(struct render_process *process, const struct render_event *event)
{
	struct sp_buf *queue = &process->queues[event->stream == SP_STDERR];
	int rc;

	pthread_mutex_lock(&process->lock);
	rc = sp_buf_add(queue, event->data, event->len);
	wake_all(&process->changed);
	pthread_mutex_unlock(&process->lock);
	return rc;
}

/* Carries an abort out, here, since nobody else may be left to do it. */
static void pump_abort(struct render_process *process, int fired)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = render_abort(process->sandbox, process->id, process->mark, fired, &err);

	if (rc != fired)
		end_with_error(process, rc, &err);
	else
		end_with_code(process,
			      fired == SP_ABORTED ? SP_EXIT_ABORTED : SP_EXIT_TIMED_OUT,
			      CODE_TERMINATED);
}

/* The kill that is under way decides how an exit reads. */
static void take_exit(struct render_process *process, int code, bool *ret_killed)
{
	struct sp_error err = SP_ERROR_INIT;

	pthread_mutex_lock(&process->lock);
	while (process->sandbox->core->steps.kill_before_wait && process->killing &&
	       !wake_wait(&process->changed, &process->lock, process->let_go, NULL, &err))
		;
	*ret_killed = process->kill_asked && (process->killed || process->killing);
	pthread_mutex_unlock(&process->lock);
	(void)code;
}

static void finish(struct render_process *process, const struct render_event *event)
{
	const struct sp_render_steps *steps = &process->sandbox->core->steps;
	struct sp_error err = SP_ERROR_INIT;
	int code = steps->exit_code(event->code);
	bool killed;
	int rc;

	if (event->type != RENDER_EXIT && steps->end_needs_exit) {
		rc = render_run_lost(event, &err);
		end_with_error(process, rc, &err);
		return;
	}
	rc = process->queues[0].len || process->queues[1].len ?
		     0 :
		     render_why(process->sandbox, process->id, code, &err);
	if (rc == SP_NOT_FOUND)
		sp_error_set(&err, SP_NOT_FOUND, "the command's folder does not exist: nothing ran");
	if (rc) {
		end_with_error(process, rc, &err);
		return;
	}
	take_exit(process, code, &killed);
	end_with_code(process, killed ? SP_KILLED : SP_EXITED, code);
}

static int pump_once(struct render_process *process, struct render_event *event,
		     struct sp_error *err)
{
	int rc = await_room(process, err);

	if (!rc)
		rc = render_run_next(process->run, process->let_go, event, err);
	if (!rc && event->type == RENDER_OUTPUT && take_output(process, event))
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	return rc;
}

static void *pump_main(void *arg)
{
	struct render_process *process = arg;
	struct render_event event = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	int rc, fired;

	do {
		rc = pump_once(process, &event, &err);
	} while (!rc && event.type == RENDER_OUTPUT);
	fired = sp_cancel_check(process->cancel, NULL);
	if (rc && sp_cancel_check(process->let_go, NULL))
		end_with_error(process, SP_ABORTED, &err);
	else if (rc && fired)
		pump_abort(process, fired);
	else if (rc)
		end_with_error(process, rc, &err);
	else
		finish(process, &event);
	render_run_close(process->run);
	process->run = NULL;
	render_command_ended(process->sandbox, process->id);
	pthread_mutex_lock(&process->lock);
	process->pump_gone = true;
	pthread_mutex_unlock(&process->lock);
	return NULL;
}

/* ---- the handle ---- */

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *process = self;
	struct sp_buf *queue = &process->queues[stream == SP_STDERR];
	int rc = 0;

	pthread_mutex_lock(&process->lock);
	while (!rc && !queue->len && !process->ended)
		rc = wake_wait(&process->changed, &process->lock, cancel, NULL, err);
	if (!rc && queue->len) {
		size_t n = queue->len < max ? queue->len : max;

		if (max >= 4)
			n = sp_utf8_cut(queue->data, queue->len, max);
		memcpy(buffer, queue->data, n);
		sp_buf_consume(queue, n);
		*ret_len = n;
		wake_all(&process->changed);
	} else if (!rc && process->lost) {
		rc = process->lost;
		if (err)
			*err = process->error;
	} else if (!rc) {
		*ret_len = 0;
	}
	pthread_mutex_unlock(&process->lock);
	return rc;
}

static int no_stdin(struct sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED,
			    "render has no writable stdin (writable_stdin): put the input in a file and redirect it");
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	(void)self;
	(void)data;
	(void)len;
	(void)cancel;
	return no_stdin(err);
}

static int process_close_stdin(void *self, struct sp_error *err)
{
	(void)self;
	return no_stdin(err);
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct render_process *process = self;
	int rc = 0;

	pthread_mutex_lock(&process->lock);
	while (!rc && !process->ended)
		rc = wake_wait(&process->changed, &process->lock, cancel, NULL, err);
	if (!rc && process->lost) {
		rc = process->lost;
		if (err)
			*err = process->error;
	} else if (!rc) {
		*ret_exit = process->exit;
	}
	pthread_mutex_unlock(&process->lock);
	return rc;
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *process = self;
	bool over;
	int rc;

	pthread_mutex_lock(&process->lock);
	over = process->ended;
	if (!over) {
		process->kill_asked = true;
		process->killing++;
		wake_all(&process->changed);
	}
	pthread_mutex_unlock(&process->lock);
	/* After the exit nobody is there to be signalled. */
	if (over)
		return 0;
	rc = render_kill(process->sandbox, process->id, process->mark, signal, cancel, err);
	pthread_mutex_lock(&process->lock);
	process->killing--;
	process->killed = process->killed || !rc;
	wake_all(&process->changed);
	pthread_mutex_unlock(&process->lock);
	return rc;
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *process = self;
	uint64_t deliverable = process->sandbox->core->capabilities.signals;
	bool over;

	if (signal < 1 || signal > 63 || !(deliverable & SP_SIGNAL_BIT(signal)))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "render cannot deliver signal %d (signals): use one of 1 to 31", signal);
	pthread_mutex_lock(&process->lock);
	over = process->ended;
	pthread_mutex_unlock(&process->lock);
	if (over)
		return sp_error_set(err, SP_GONE, "the command has ended: nobody was signalled");
	return render_signal(process->sandbox, process->id, process->mark, signal, cancel, err);
}

/* ---- its end ---- */

static void process_free(struct render_process *process)
{
	sp_buf_done(&process->queues[0]);
	sp_buf_done(&process->queues[1]);
	render_run_close(process->run);
	sp_cancel_unref(process->cancel);
	sp_cancel_unref(process->let_go);
	pthread_mutex_destroy(&process->lock);
	render_sandbox_unref(process->sandbox);
	free(process);
}

static bool pump_gone(struct render_process *process)
{
	bool gone;

	pthread_mutex_lock(&process->lock);
	gone = process->pump_gone;
	pthread_mutex_unlock(&process->lock);
	return gone;
}

void render_join_released(struct render_core *core, bool all)
{
	struct render_process *list, *later = NULL;

	pthread_mutex_lock(&core->lock);
	list = core->released;
	core->released = NULL;
	pthread_mutex_unlock(&core->lock);
	while (list) {
		struct render_process *process = list;

		list = process->next;
		if (all || pump_gone(process)) {
			pthread_join(process->pump, NULL);
			process_free(process);
		} else {
			process->next = later;
			later = process;
		}
	}
	while (later) {
		struct render_process *process = later;

		later = process->next;
		pthread_mutex_lock(&core->lock);
		process->next = core->released;
		core->released = process;
		pthread_mutex_unlock(&core->lock);
	}
}

static void process_release(void *self)
{
	struct render_process *process = self;
	struct render_core *core = process->sandbox->core;

	sp_cancel_abort(process->let_go, "the handle was released");
	pthread_mutex_lock(&core->lock);
	process->next = core->released;
	core->released = process;
	pthread_mutex_unlock(&core->lock);
	render_join_released(core, false);
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

/* ---- spawn ---- */

static struct render_process *process_new(struct render_sandbox *sandbox, struct sp_error *err)
{
	struct render_process *process = calloc(1, sizeof(*process));

	if (process)
		process->let_go = sp_cancel_new();
	if (!process || !process->let_go) {
		free(process);
		sp_error_set(err, SP_INTERNAL, "no memory for a process");
		return NULL;
	}
	process->sandbox = render_sandbox_ref(sandbox);
	pthread_mutex_init(&process->lock, NULL);
	process->queues[0].ceiling = sandbox->core->capabilities.unread_bound + IN_FLIGHT;
	process->queues[1].ceiling = process->queues[0].ceiling;
	return process;
}

static int start_pump(struct render_process *process, struct sp_error *err)
{
	pthread_attr_t attributes;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	rc = pthread_create(&process->pump, &attributes, pump_main, process);
	pthread_attr_destroy(&attributes);
	return rc ? sp_error_set_errno(err, rc, "no thread for a process") : 0;
}

int render_spawn(void *self, const struct sp_exec_options *options, struct sp_process *ret_process,
		 struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct render_process *process;
	struct render_start start;
	int rc;

	render_join_released(sandbox->core, false);
	process = process_new(sandbox, err);
	if (!process)
		return SP_INTERNAL;
	rc = render_start(sandbox, options, &start, err);
	if (rc) {
		process_free(process);
		return rc;
	}
	memcpy(process->id, start.id, sizeof(process->id));
	process->mark = start.mark;
	process->run = start.run;
	process->cancel = sp_cancel_ref(options->cancel);
	rc = start_pump(process, err);
	if (rc) {
		(void)render_abort(sandbox, process->id, process->mark, SP_ABORTED, NULL);
		process_free(process);
		return rc;
	}
	ret_process->ops = &process_ops;
	ret_process->self = process;
	return 0;
}
