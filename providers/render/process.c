/* SPDX-License-Identifier: MIT */
/*
 * A spawned process: one thread pumps its stream into two buffers. The pump
 * is the only one who talks to the stream; everybody else reads state under the lock.
 */
#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that nobody has read yet: data[read, len). */
struct unread {
	struct sp_buf buf;
	size_t read;
};

struct render_process {
	struct render_sandbox *sandbox;
	pthread_t pump;
	/* Next in the core's list of released ones. */
	struct render_process *next;
	/* The caller's; dropped when the process has ended. */
	struct sp_cancel *cancel;
	/* Ours: ends the pump. */
	struct sp_cancel *stop;
	/* Borrowed from spawn(), which stays until the start is decided. */
	const struct sp_exec_options *options;
	struct render_start start;

	pthread_mutex_t lock;
	struct wake_list changed;
	/* Everything below is under the lock. */
	bool decided;
	int start_rc;
	struct sp_error start_err;
	struct unread out, err;
	/* No bound any more: what is still under way is finite. */
	bool unbounded;
	/* Streams are whole, and `exit` or `end_rc` says how it ended. */
	bool ended;
	struct sp_exit exit;
	int end_rc;
	struct sp_error end_err;
	/* Kills that are being carried out; wait() waits for them. */
	unsigned kills;
	/* One was carried out, or an abort: nothing of it can act. */
	bool killed;
	enum sp_exit_how how;
	bool pump_done;
};

static size_t unread_len(const struct unread *u)
{
	return u->buf.len - u->read;
}

static void settle(struct render_process *p, int code)
{
	if (p->ended)
		return;
	p->ended = true;
	p->exit = (struct sp_exit){.how = SP_EXITED, .code = code};
	wake_all(&p->changed);
}

static void settle_error(struct render_process *p, int rc, const struct sp_error *err)
{
	if (p->ended)
		return;
	/* A sandbox that this handle ended has ended the process. */
	if (atomic_load(&p->sandbox->destroyed)) {
		p->killed = true;
		p->how = SP_KILLED;
		settle(p, 128 + SIGKILL);
		return;
	}
	p->ended = true;
	p->end_rc = rc;
	p->end_err = *err;
	wake_all(&p->changed);
}

/* Stands still while too much is unread. */
static int wait_for_room(struct render_process *p)
{
	uint64_t bound = p->sandbox->core->capabilities.unread_bound;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	while (!rc && !p->unbounded && (unread_len(&p->out) > bound || unread_len(&p->err) > bound))
		rc = wake_wait(&p->changed, &p->lock, p->stop, p->cancel, NULL);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int add_unread(struct render_process *p, const struct render_event *event,
		      struct sp_error *err)
{
	struct unread *to = event->stream == SP_STDOUT ? &p->out : &p->err;
	int rc;

	pthread_mutex_lock(&p->lock);
	if (to->read > to->buf.len / 2) {
		sp_buf_consume(&to->buf, to->read);
		to->read = 0;
	}
	rc = sp_buf_add(&to->buf, event->data, event->len);
	wake_all(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return rc ? sp_error_set(err, SP_INTERNAL, "no memory for output") : 0;
}

/* The caller's cancel fired: ends the command, then goes on to its exit without that cancel. */
static void carry_out_abort(struct render_process *p, int fired)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = render_abort(p->sandbox, p->start.id, p->start.mark, fired, &err);

	pthread_mutex_lock(&p->lock);
	p->unbounded = true;
	if (rc == fired && !p->killed) {
		p->killed = true;
		p->how = fired == SP_ABORTED ? SP_EXIT_ABORTED : SP_EXIT_TIMED_OUT;
	}
	p->cancel = sp_cancel_unref(p->cancel);
	wake_all(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* Code 125 and 126 without a word may be the wrapper's: then nothing ran. */
static void settle_exit(struct render_process *p, int code)
{
	struct sp_error err = SP_ERROR_INIT;
	bool silent;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	silent = !p->out.buf.len && !p->out.read && !p->err.buf.len && !p->err.read;
	pthread_mutex_unlock(&p->lock);
	if (silent && (code == 125 || code == 126))
		rc = render_why(p->sandbox, p->start.id, code, &err);
	render_command_ended(p->sandbox, p->start.id);
	pthread_mutex_lock(&p->lock);
	if (rc)
		settle_error(p, rc, &err);
	else
		settle(p, p->sandbox->core->steps.exit_code(code));
	pthread_mutex_unlock(&p->lock);
}

static int take_event(struct render_process *p, const struct render_event *event, bool *ret_end,
		      struct sp_error *err)
{
	if (event->type == RENDER_OUTPUT)
		return add_unread(p, event, err);
	*ret_end = true;
	if (event->type == RENDER_EXIT)
		settle_exit(p, event->code);
	else if (event->type == RENDER_END && !p->sandbox->core->steps.end_needs_exit)
		settle_exit(p, 0);
	else
		return render_run_lost(event, err);
	return 0;
}

static void follow(struct render_process *p)
{
	struct sp_error err = SP_ERROR_INIT;
	struct render_event event;
	bool end = false;
	int rc = 0;

	while (!end && !rc) {
		/* The pump alone drops this cancel, so it may look without the lock. */
		rc = wait_for_room(p);
		if (!rc)
			rc = render_run_next(p->start.run, p->cancel, &event, &err);
		if (!rc)
			rc = take_event(p, &event, &end, &err);
		if (rc != SP_ABORTED && rc != SP_TIMED_OUT)
			continue;
		/* Released: the process is left as it is. */
		if (sp_cancel_check(p->stop, NULL))
			break;
		carry_out_abort(p, rc);
		rc = 0;
	}
	if (!rc)
		return;
	pthread_mutex_lock(&p->lock);
	settle_error(p, rc, &err);
	pthread_mutex_unlock(&p->lock);
}

static void *pump(void *arg)
{
	struct render_process *p = arg;
	struct sp_exec_options options = *p->options;
	struct sp_error err = SP_ERROR_INIT;
	struct render_start start;
	int rc;

	options.cancel = p->stop;
	rc = render_start(p->sandbox, &options, &start, &err);
	pthread_mutex_lock(&p->lock);
	p->decided = true;
	p->start_rc = rc;
	p->start_err = err;
	if (!rc)
		p->start = start;
	wake_all(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (!rc)
		follow(p);
	render_run_close(rc ? NULL : p->start.run);
	pthread_mutex_lock(&p->lock);
	p->cancel = sp_cancel_unref(p->cancel);
	p->pump_done = true;
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void process_free(struct render_process *p)
{
	sp_buf_done(&p->out.buf);
	sp_buf_done(&p->err.buf);
	sp_cancel_unref(p->cancel);
	sp_cancel_unref(p->stop);
	pthread_mutex_destroy(&p->lock);
	render_sandbox_unref(p->sandbox);
	free(p);
}

void render_join_released(struct render_core *core, bool all)
{
	struct render_process *done = NULL, **at = &core->released;

	pthread_mutex_lock(&core->lock);
	while (*at) {
		struct render_process *p = *at;
		bool ready;

		pthread_mutex_lock(&p->lock);
		ready = all || p->pump_done;
		pthread_mutex_unlock(&p->lock);
		if (!ready) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->next = done;
		done = p;
	}
	pthread_mutex_unlock(&core->lock);
	while (done) {
		struct render_process *p = done;

		done = p->next;
		pthread_join(p->pump, NULL);
		process_free(p);
	}
}

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *p = self;
	struct unread *from = stream == SP_STDOUT ? &p->out : &p->err;
	int rc = 0;

	if (!max || (stream != SP_STDOUT && stream != SP_STDERR))
		return sp_error_set(err, SP_INVALID, "nothing to read into, or no such stream");
	pthread_mutex_lock(&p->lock);
	while (!rc && !unread_len(from) && !p->ended)
		rc = wake_wait(&p->changed, &p->lock, cancel, NULL, err);
	if (!rc && unread_len(from)) {
		const unsigned char *data = (unsigned char *)from->buf.data + from->read;
		size_t n = unread_len(from);

		if (n > max) {
			/* Back to where a character begins. */
			for (n = max; max >= 4 && n > max - 4 && (data[n] & 0xc0) == 0x80;)
				n--;
		}
		memcpy(buffer, data, n);
		from->read += n;
		*ret_len = n;
		wake_all(&p->changed);
	} else if (!rc && p->end_rc) {
		rc = p->end_rc;
		if (err)
			*err = p->end_err;
	} else if (!rc) {
		*ret_len = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int no_stdin(struct sp_error *err)
{
	return sp_error_set(err, SP_UNSUPPORTED,
			    "render: no writable stdin (capability writable_stdin): put the input "
			    "into a file and redirect");
}

static int process_write_stdin(void *self SP_UNUSED, const void *data SP_UNUSED,
			       size_t len SP_UNUSED, struct sp_cancel *cancel SP_UNUSED,
			       struct sp_error *err)
{
	return no_stdin(err);
}

static int process_close_stdin(void *self SP_UNUSED, struct sp_error *err)
{
	return no_stdin(err);
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct render_process *p = self;
	bool for_kills = p->sandbox->core->steps.kill_before_wait;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	while (!rc && (!p->ended || (for_kills && p->kills)))
		rc = wake_wait(&p->changed, &p->lock, cancel, NULL, err);
	if (!rc && p->end_rc) {
		rc = p->end_rc;
		if (err)
			*err = p->end_err;
	} else if (!rc) {
		*ret_exit = p->exit;
		if (p->killed)
			ret_exit->how = p->how;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* The fault of telling the end before it has come. */
static void settle_early(struct render_process *p, int signal)
{
	p->killed = true;
	p->how = SP_KILLED;
	settle(p, 128 + p->sandbox->core->steps.map_signal(signal));
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *p = self;
	int rc = sp_cancel_check(cancel, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&p->lock);
	/* After the exit, or after a kill that was carried out, there is nobody to signal. */
	if (p->ended || p->killed) {
		pthread_mutex_unlock(&p->lock);
		return 0;
	}
	p->kills++;
	if (!p->sandbox->core->steps.kill_before_wait)
		settle_early(p, signal);
	pthread_mutex_unlock(&p->lock);
	/* Kills do not wait for each other: a KILL passes a TERM that is in its grace. */
	rc = render_kill(p->sandbox, p->start.id, p->start.mark, signal, cancel, err);
	pthread_mutex_lock(&p->lock);
	p->kills--;
	if (!rc) {
		p->unbounded = true;
		if (!p->killed)
			p->how = SP_KILLED;
		p->killed = true;
	}
	wake_all(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_process *p = self;
	bool ended;

	if (signal < 1 || signal > 63 ||
	    !(p->sandbox->core->capabilities.signals & SP_SIGNAL_BIT(signal)))
		return sp_error_set(
		    err, SP_UNSUPPORTED,
		    "render: signal %d cannot be delivered (capability signals): 1 to 31 can",
		    signal);
	pthread_mutex_lock(&p->lock);
	ended = p->ended || p->killed;
	pthread_mutex_unlock(&p->lock);
	if (ended)
		return sp_error_set(err, SP_GONE, "the process has ended");
	return render_signal(p->sandbox, p->start.id, p->start.mark, signal, cancel, err);
}

static void process_release(void *self)
{
	struct render_process *p = self;
	struct render_core *core = render_core_ref(p->sandbox->core);

	sp_cancel_abort(p->stop, "released");
	pthread_mutex_lock(&core->lock);
	p->next = core->released;
	core->released = p;
	pthread_mutex_unlock(&core->lock);
	/* The pump may be in the middle of a kill: it is joined when it has ended, not here. */
	render_join_released(core, false);
	render_core_unref(core);
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

/* A process whose pump runs, or NULL. */
static struct render_process *process_new(struct render_sandbox *sandbox,
					  const struct sp_exec_options *options)
{
	struct render_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sandbox = render_sandbox_ref(sandbox);
	p->options = options;
	p->out.buf.ceiling = SIZE_MAX / 2;
	p->err.buf.ceiling = SIZE_MAX / 2;
	pthread_mutex_init(&p->lock, NULL);
	p->cancel = sp_cancel_ref(options->cancel);
	p->stop = sp_cancel_new();
	if (!p->stop || pthread_create(&p->pump, NULL, pump, p)) {
		process_free(p);
		return NULL;
	}
	return p;
}

/* Waits until the start is decided; a cancel that fires before that ends it. */
static int wait_for_start(struct render_process *p, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = 0, fired = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->decided) {
		rc = wake_wait(&p->changed, &p->lock, fired ? NULL : cancel, NULL, err);
		if (rc && !fired) {
			fired = rc;
			sp_cancel_abort(p->stop, "the start was aborted");
		}
	}
	rc = p->start_rc;
	if (rc && (!fired || rc == SP_UNKNOWN_OUTCOME) && err)
		*err = p->start_err;
	pthread_mutex_unlock(&p->lock);
	/* Accepted in the same moment: the pump carries the abort out, as after any start. */
	if (!rc || rc == SP_UNKNOWN_OUTCOME || !fired)
		return rc;
	return fired;
}

int render_spawn(void *self, const struct sp_exec_options *options, struct sp_process *ret_process,
		 struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_error inner = SP_ERROR_INIT;
	struct render_process *p;
	int rc;

	render_join_released(sandbox->core, false);
	if (!options->command)
		return sp_error_set(err, SP_INVALID, "no command");
	if (!sandbox->core->steps.may_start(options->cancel))
		return sp_cancel_check(options->cancel, err);
	p = process_new(sandbox, options);
	if (!p)
		return sp_error_set(err, SP_INTERNAL, "no memory or thread for a process");
	/* Only with a fault in may_start has the cancel fired already; the start is then blind to
	 * it. */
	rc = wait_for_start(p, sp_cancel_check(options->cancel, NULL) ? NULL : options->cancel,
			    &inner);
	if (!rc) {
		*ret_process = (struct sp_process){&process_ops, p};
		return 0;
	}
	pthread_join(p->pump, NULL);
	process_free(p);
	if (atomic_load(&sandbox->destroyed) && rc != SP_INVALID)
		rc = render_sandbox_check(sandbox, &inner);
	if (err)
		*err = inner;
	return rc;
}
