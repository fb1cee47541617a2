/* SPDX-License-Identifier: MIT */
#include "wrap.h"

#include <poll.h>
#include <string.h>

struct fault_provider {
	struct sp_provider inner;
	const struct fault_hooks *hooks;
	struct sp_capabilities capabilities;
};

/* ---- Processes ---- */

static void sandbox_unref(struct fault_sandbox *sandbox)
{
	if (atomic_fetch_sub(&sandbox->refs, 1) != 1)
		return;
	sp_sandbox_done(&sandbox->inner);
	pthread_mutex_destroy(&sandbox->lock);
	free(sandbox->data);
	free(sandbox);
}

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->read)
		return process->sandbox->hooks->read(process, stream, buffer, max, ret_len, cancel,
						     err);
	return sp_process_read(&process->inner, stream, buffer, max, ret_len, cancel, err);
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->write_stdin)
		return process->sandbox->hooks->write_stdin(process, data, len, cancel, err);
	return sp_process_write_stdin(&process->inner, data, len, cancel, err);
}

static int process_close_stdin(void *self, struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->close_stdin)
		return process->sandbox->hooks->close_stdin(process, err);
	return sp_process_close_stdin(&process->inner, err);
}

int fault_inner_wait(struct fault_process *process, struct sp_exit *ret_exit,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_process_wait(&process->inner, ret_exit, cancel, err);

	if (rc == 0)
		atomic_store(&process->exited, true);
	return rc;
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->wait)
		return process->sandbox->hooks->wait(process, ret_exit, cancel, err);
	return fault_inner_wait(process, ret_exit, cancel, err);
}

int fault_inner_kill(struct fault_process *process, int signal, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	int rc = sp_process_kill(&process->inner, signal, cancel, err);

	if (rc == 0)
		atomic_store(&process->killed, true);
	return rc;
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->kill)
		return process->sandbox->hooks->kill(process, signal, cancel, err);
	return fault_inner_kill(process, signal, cancel, err);
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_process *process = self;

	if (process->sandbox->hooks->signal)
		return process->sandbox->hooks->signal(process, signal, cancel, err);
	return sp_process_signal(&process->inner, signal, cancel, err);
}

static void unlink_process(struct fault_process *process)
{
	struct fault_sandbox *sandbox = process->sandbox;

	pthread_mutex_lock(&sandbox->lock);
	for (struct fault_process **at = &sandbox->processes; *at; at = &(*at)->next) {
		if (*at == process) {
			*at = process->next;
			break;
		}
	}
	pthread_mutex_unlock(&sandbox->lock);
}

static void process_release(void *self)
{
	struct fault_process *process = self;
	struct fault_sandbox *sandbox = process->sandbox;

	unlink_process(process);
	if (sandbox->hooks->release)
		sandbox->hooks->release(process);
	sp_process_done(&process->inner);
	sp_cancel_unref(process->cancel);
	free(process);
	sandbox_unref(sandbox);
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

/* ---- Sandboxes ---- */

static const char *sandbox_id(void *self)
{
	return sp_sandbox_id(&((struct fault_sandbox *)self)->inner);
}

static const char *sandbox_workspace_root(void *self)
{
	return sp_sandbox_workspace_root(&((struct fault_sandbox *)self)->inner);
}

static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->exec)
		return sandbox->hooks->exec(sandbox, options, ret_result, err);
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}

static void link_process(struct fault_sandbox *sandbox, struct fault_process *process)
{
	pthread_mutex_lock(&sandbox->lock);
	process->next = sandbox->processes;
	sandbox->processes = process;
	pthread_mutex_unlock(&sandbox->lock);
}

static int sandbox_spawn(void *self, const struct sp_exec_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;
	struct fault_process *process = calloc(1, sizeof(*process));
	int rc;

	if (!process)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	process->sandbox = sandbox;
	/* Only faults of a cancel keep it: a healthy wrapper may hold no reference to it. */
	if (sandbox->hooks->spawn)
		rc = sandbox->hooks->spawn(sandbox, options, process, err);
	else
		rc = sp_sandbox_spawn(&sandbox->inner, options, &process->inner, err);
	if (rc < 0) {
		sp_cancel_unref(process->cancel);
		free(process);
		return rc;
	}
	atomic_fetch_add(&sandbox->refs, 1);
	link_process(sandbox, process);
	*ret_process = (struct sp_process){ &process_ops, process };
	return 0;
}

static int sandbox_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_read)
		return sandbox->hooks->fs_read(sandbox, path, ret_bytes, cancel, err);
	return sp_sandbox_read(&sandbox->inner, path, ret_bytes, cancel, err);
}

static int sandbox_fs_write(void *self, const char *path, const void *data, size_t len,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_write)
		return sandbox->hooks->fs_write(sandbox, path, data, len, cancel, err);
	return sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static int sandbox_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_list)
		return sandbox->hooks->fs_list(sandbox, path, ret_list, cancel, err);
	return sp_sandbox_list(&sandbox->inner, path, ret_list, cancel, err);
}

static int sandbox_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_mkdir)
		return sandbox->hooks->fs_mkdir(sandbox, path, cancel, err);
	return sp_sandbox_mkdir(&sandbox->inner, path, cancel, err);
}

static int sandbox_fs_remove(void *self, const char *path, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_remove)
		return sandbox->hooks->fs_remove(sandbox, path, cancel, err);
	return sp_sandbox_remove(&sandbox->inner, path, cancel, err);
}

static int sandbox_fs_rename(void *self, const char *from, const char *to,
			     struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_rename)
		return sandbox->hooks->fs_rename(sandbox, from, to, cancel, err);
	return sp_sandbox_rename(&sandbox->inner, from, to, cancel, err);
}

static int sandbox_fs_exists(void *self, const char *path, bool *ret_exists,
			     struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_exists)
		return sandbox->hooks->fs_exists(sandbox, path, ret_exists, cancel, err);
	return sp_sandbox_exists(&sandbox->inner, path, ret_exists, cancel, err);
}

static int sandbox_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->fs_lstat)
		return sandbox->hooks->fs_lstat(sandbox, path, ret_stat, cancel, err);
	return sp_sandbox_lstat(&sandbox->inner, path, ret_stat, cancel, err);
}

static int sandbox_env_set(void *self, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->env_set)
		return sandbox->hooks->env_set(sandbox, env, n_env, cancel, err);
	return sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err);
}

static int sandbox_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->snapshot)
		return sandbox->hooks->snapshot(sandbox, label, ret_ref, cancel, err);
	return sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);
}

static int sandbox_port_connect(void *self, unsigned port, struct sp_port *ret_port,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->port_connect)
		return sandbox->hooks->port_connect(sandbox, port, ret_port, cancel, err);
	return sp_sandbox_port_connect(&sandbox->inner, port, ret_port, cancel, err);
}

static int sandbox_git(void *self, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->git)
		return sandbox->hooks->git(sandbox, options, ret_result, err);
	return sp_sandbox_git(&sandbox->inner, options, ret_result, err);
}

static int sandbox_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->timeline)
		return sandbox->hooks->timeline(sandbox, ret_texts, cancel, err);
	return sp_sandbox_timeline(&sandbox->inner, ret_texts, cancel, err);
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->destroy)
		return sandbox->hooks->destroy(sandbox, cancel, err);
	return sp_sandbox_destroy(&sandbox->inner, cancel, err);
}

static void sandbox_close(void *self)
{
	struct fault_sandbox *sandbox = self;

	if (sandbox->hooks->close)
		sandbox->hooks->close(sandbox);
	sandbox_unref(sandbox);
}

static int wrap_sandbox(const struct fault_hooks *hooks, struct sp_sandbox *inner,
			struct sp_sandbox *ret_sandbox, struct sp_error *err);

static int sandbox_fork(void *self, struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct fault_sandbox *sandbox = self;
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	int rc;

	if (sandbox->hooks->fork)
		rc = sandbox->hooks->fork(sandbox, &inner, cancel, err);
	else
		rc = sp_sandbox_fork(&sandbox->inner, &inner, cancel, err);
	return rc < 0 ? rc : wrap_sandbox(sandbox->hooks, &inner, ret_sandbox, err);
}

static const struct sp_sandbox_ops sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = sandbox_id,
	.workspace_root = sandbox_workspace_root,
	.exec = sandbox_exec,
	.spawn = sandbox_spawn,
	.fs_read = sandbox_fs_read,
	.fs_write = sandbox_fs_write,
	.fs_list = sandbox_fs_list,
	.fs_mkdir = sandbox_fs_mkdir,
	.fs_remove = sandbox_fs_remove,
	.fs_rename = sandbox_fs_rename,
	.fs_exists = sandbox_fs_exists,
	.fs_lstat = sandbox_fs_lstat,
	.env_set = sandbox_env_set,
	.snapshot = sandbox_snapshot,
	.fork = sandbox_fork,
	.port_connect = sandbox_port_connect,
	.git = sandbox_git,
	.timeline = sandbox_timeline,
	.destroy = sandbox_destroy,
	.close = sandbox_close,
};

/* Consumes `inner`. */
static int wrap_sandbox(const struct fault_hooks *hooks, struct sp_sandbox *inner,
			struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct fault_sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox) {
		sp_sandbox_done(inner);
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	}
	sandbox->inner = *inner;
	sandbox->hooks = hooks;
	atomic_init(&sandbox->refs, 1);
	pthread_mutex_init(&sandbox->lock, NULL);
	*ret_sandbox = (struct sp_sandbox){ &sandbox_ops, sandbox };
	return 0;
}

/* ---- Provider ---- */

static const char *provider_name(void *self)
{
	return sp_provider_name(&((struct fault_provider *)self)->inner);
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	return &((struct fault_provider *)self)->capabilities;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct fault_provider *provider = self;
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	int rc;

	if (provider->hooks->create)
		rc = provider->hooks->create(&provider->inner, options, &inner, err);
	else
		rc = sp_provider_create(&provider->inner, options, &inner, err);
	return rc < 0 ? rc : wrap_sandbox(provider->hooks, &inner, ret_sandbox, err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct fault_provider *provider = self;
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	int rc;

	if (provider->hooks->resume)
		rc = provider->hooks->resume(&provider->inner, id, &inner, cancel, err);
	else
		rc = sp_provider_resume(&provider->inner, id, &inner, cancel, err);
	if (rc < 0)
		return rc;
	if (!inner.ops) {
		*ret_sandbox = inner;
		return 0;
	}
	return wrap_sandbox(provider->hooks, &inner, ret_sandbox, err);
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options,
			    struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct fault_provider *provider = self;
	struct sp_sandbox inner = SP_SANDBOX_INIT;
	int rc;

	if (provider->hooks->restore)
		rc = provider->hooks->restore(&provider->inner, snapshot_id, options, &inner, err);
	else
		rc = sp_provider_restore(&provider->inner, snapshot_id, options, &inner, err);
	return rc < 0 ? rc : wrap_sandbox(provider->hooks, &inner, ret_sandbox, err);
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct fault_provider *provider = self;

	if (provider->hooks->destroy_id)
		return provider->hooks->destroy_id(&provider->inner, id, cancel, err);
	return sp_provider_destroy(&provider->inner, id, cancel, err);
}

static int provider_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
				    struct sp_error *err)
{
	struct fault_provider *provider = self;

	if (provider->hooks->snapshot_delete)
		return provider->hooks->snapshot_delete(&provider->inner, snapshot_id, cancel, err);
	return sp_provider_snapshot_delete(&provider->inner, snapshot_id, cancel, err);
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct fault_provider *provider = self;

	if (provider->hooks->list)
		return provider->hooks->list(&provider->inner, ret_list, cancel, err);
	return sp_provider_list(&provider->inner, ret_list, cancel, err);
}

static void provider_close(void *self)
{
	struct fault_provider *provider = self;

	sp_provider_done(&provider->inner);
	free(provider);
}

static const struct sp_provider_ops provider_ops = {
	.version = SP_PROVIDER_VERSION,
	.name = provider_name,
	.capabilities = provider_capabilities,
	.create = provider_create,
	.resume = provider_resume,
	.restore = provider_restore,
	.destroy = provider_destroy,
	.snapshot_delete = provider_snapshot_delete,
	.list = provider_list,
	.close = provider_close,
};

int fault_wrap(struct sp_provider *provider, const struct fault_hooks *hooks, struct sp_error *err)
{
	struct fault_provider *faulty = calloc(1, sizeof(*faulty));

	if (!faulty)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	faulty->inner = *provider;
	faulty->hooks = hooks;
	faulty->capabilities = *sp_provider_capabilities(provider);
	if (hooks->capabilities)
		hooks->capabilities(&faulty->capabilities);
	*provider = (struct sp_provider){ &provider_ops, faulty };
	return 0;
}

/* ---- What hooks use ---- */

int fault_inner_shell(struct fault_sandbox *sandbox, const char *text, struct sp_cancel *cancel)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	int rc;

	options.command = text;
	options.cancel = cancel;
	rc = sp_sandbox_exec(&sandbox->inner, &options, &result, NULL);
	return rc < 0 ? rc : result.exit_code;
}

void fault_kill_all(struct fault_sandbox *sandbox, const struct fault_process *except,
		    struct sp_cancel *cancel)
{
	/*
	 * Released meanwhile is impossible: a case releases its processes on the thread that kills.
	 */
	for (struct fault_process *at = sandbox->processes; at; at = at->next) {
		if (at != except)
			(void)sp_process_kill(&at->inner, 9, cancel, NULL);
	}
}

int fault_hang(struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fd = { .fd = sp_cancel_fd(cancel), .events = POLLIN };
	int rc;

	while ((rc = sp_cancel_check(cancel, err)) == 0)
		(void)poll(&fd, 1, -1);
	return rc;
}
