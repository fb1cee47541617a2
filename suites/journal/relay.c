/* SPDX-License-Identifier: MIT */
#include "relay.h"

#include <signal.h>
#include <stdlib.h>

#include <base/buf.h>

/* ---- Processes ---- */

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct relay_process *process = self;
	const struct relay_hooks *hooks = process->relay->hooks;

	if (hooks && hooks->read)
		return hooks->read(process, stream, buffer, max, ret_len, cancel, err);
	return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	struct relay_process *process = self;

	return sp_process_write_stdin(&process->inner, data, len, cancel, err);
}

static int process_close_stdin(void *self, struct sp_error *err)
{
	struct relay_process *process = self;

	return sp_process_close_stdin(&process->inner, err);
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct relay_process *process = self;

	return sp_process_wait(&process->inner, ret_exit, cancel, err);
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct relay_process *process = self;
	const struct relay_hooks *hooks = process->relay->hooks;

	if (hooks && hooks->kill)
		return hooks->kill(process, signal, cancel, err);
	return sp_process_kill(&process->inner, signal, cancel, err);
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct relay_process *process = self;

	return sp_process_signal(&process->inner, signal, cancel, err);
}

/* The relay keeps the handle, so that the case can see what became of the command. */
static void process_release(void *self)
{
	struct relay_process *process = self;

	pthread_mutex_lock(&process->relay->lock);
	process->released = true;
	pthread_mutex_unlock(&process->relay->lock);
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

static int keep_process(struct relay *relay, struct sp_process *inner,
			struct sp_process *ret_process, struct sp_error *err)
{
	struct relay_process *process = calloc(1, sizeof(*process));

	if (!process) {
		sp_process_kill(inner, SIGKILL, NULL, NULL);
		sp_process_done(inner);
		return sp_error_set(err, SP_INTERNAL, "no memory for a relay");
	}
	process->inner = *inner;
	process->relay = relay;
	pthread_mutex_lock(&relay->lock);
	process->next = relay->processes;
	relay->processes = process;
	pthread_mutex_unlock(&relay->lock);
	*ret_process = (struct sp_process){ &process_ops, process };
	return 0;
}

/* ---- The sandbox ---- */

static const char *sandbox_id(void *self)
{
	return sp_sandbox_id(((struct relay *)self)->inner);
}

static const char *sandbox_root(void *self)
{
	return sp_sandbox_workspace_root(((struct relay *)self)->inner);
}

/* The last command that a bounded reader may send ends it. */
static void spend_patience(struct relay *relay)
{
	unsigned left = atomic_load(&relay->execs_left);

	while (left && !atomic_compare_exchange_weak(&relay->execs_left, &left, left - 1))
		;
	if (left == 1)
		sp_cancel_abort(relay->bound, "the journal polled on instead of answering");
}

static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct relay *relay = self;

	atomic_fetch_add(&relay->execs, 1);
	spend_patience(relay);
	if (relay->hooks && relay->hooks->exec)
		return relay->hooks->exec(relay, options, ret_result, err);
	return sp_sandbox_exec(relay->inner, options, ret_result, err);
}

static int sandbox_spawn(void *self, const struct sp_exec_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct relay *relay = self;
	struct sp_process inner = SP_PROCESS_INIT;
	int rc;

	atomic_fetch_add(&relay->spawns, 1);
	if (relay->hooks && relay->hooks->spawn)
		rc = relay->hooks->spawn(relay, options, &inner, err);
	else
		rc = sp_sandbox_spawn(relay->inner, options, &inner, err);
	return rc ? rc : keep_process(relay, &inner, ret_process, err);
}

static void sandbox_close(void *self)
{
	(void)self;
}

static const struct sp_sandbox_ops sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = sandbox_id,
	.workspace_root = sandbox_root,
	.exec = sandbox_exec,
	.spawn = sandbox_spawn,
	.close = sandbox_close,
};

void relay_open(struct sp_case *t, struct sp_sandbox *inner, const struct relay_hooks *hooks,
		struct relay *relay)
{
	pthread_mutex_init(&relay->lock, NULL);
	relay->t = t;
	relay->inner = inner;
	relay->hooks = hooks;
	relay->sandbox = (struct sp_sandbox){ &sandbox_ops, relay };
}

void relay_bound(struct relay *relay, struct sp_cancel *cancel)
{
	struct sp_cancel *before = relay->bound;

	/* Nothing is sent meanwhile: no call is pending. */
	relay->bound = sp_cancel_ref(cancel);
	sp_cancel_unref(before);
	atomic_store(&relay->execs_left, RELAY_PATIENCE);
}

bool relay_used(struct relay *relay)
{
	if (atomic_load(&relay->execs) || atomic_load(&relay->spawns))
		return true;
	sp_skip(relay->t, "needs a journal that goes through the sandbox handle it is given: "
			  "this one finds the sandbox by itself");
	return false;
}

bool relay_check_ended(struct relay *relay, struct sp_where where, const char *what)
{
	struct relay_process *process;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;

	pthread_mutex_lock(&relay->lock);
	process = relay->processes;
	pthread_mutex_unlock(&relay->lock);
	for (; process; process = process->next) {
		int rc = sp_process_wait(&process->inner, &exit, sp_case_cancel(relay->t), &err);

		if (!sp_check_ok(relay->t, rc, &err, where, "%s", what))
			return false;
	}
	return true;
}

void relay_done(struct relay *relay)
{
	if (!relay->t)
		return;
	while (relay->processes) {
		struct relay_process *process = relay->processes;
		struct sp_error err = SP_ERROR_INIT;

		relay->processes = process->next;
		/* Clean-up, not a check; a command that has ended is signalled by nobody. */
		(void)sp_process_kill(&process->inner, SIGKILL, sp_case_cancel(relay->t), &err);
		sp_process_done(&process->inner);
		free(process);
	}
	pthread_mutex_destroy(&relay->lock);
	relay->bound = sp_cancel_unref(relay->bound);
	relay->t = NULL;
}

/* ---- Another shell ---- */

static const char *in_shell(struct relay *relay, const char *command)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_addf(&text, "exec %s -c ", (const char *)relay->arg);
	sp_buf_add_shell(&text, command);
	atomic_fetch_add(&relay->count, 1);
	return sp_case_format(relay->t, "%s", sp_buf_str(&text));
}

static int exec_in_shell(struct relay *relay, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	other.command = in_shell(relay, options->command);
	return sp_sandbox_exec(relay->inner, &other, ret_result, err);
}

static int spawn_in_shell(struct relay *relay, const struct sp_exec_options *options,
			  struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_exec_options other = *options;

	other.command = in_shell(relay, options->command);
	return sp_sandbox_spawn(relay->inner, &other, ret_process, err);
}

const struct relay_hooks relay_in_shell = { .exec = exec_in_shell, .spawn = spawn_in_shell };
