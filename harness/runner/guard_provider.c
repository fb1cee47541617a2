/* SPDX-License-Identifier: MIT */
/* The guard around providers, sandboxes and processes. */
#include "guard_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <runner/runner.h>

#include "making.h"

#define SHOWN_CEILING (64 * 1024)

/* What a call answered, for the dialogue. */
static const char *answer(int rc)
{
	return rc ? sp_code_name(rc) : "ok";
}

static const char *reason(int rc, const struct sp_error *err)
{
	return rc && err ? err->message : "";
}

/* ---- processes ---- */

struct guarded_process {
	struct sp_guard *guard;
	struct sp_guard_link link;
	struct sp_process inner;
	struct sp_process_ops ops;
};

static int process_read(void *self, enum sp_stream stream, void *buffer, size_t max,
			size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;

	return SP_GUARDED(guard, "process.read",
			  in.ops->read(in.self, stream, buffer, max, ret_len, cancel, err));
}

static int process_write_stdin(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;
	int rc = SP_GUARDED(guard, "process.write_stdin",
			    in.ops->write_stdin(in.self, data, len, cancel, err));

	sp_guard_note(guard, "write_stdin %zu bytes -> %s", len, answer(rc));
	return rc;
}

static int process_close_stdin(void *self, struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;
	int rc = SP_GUARDED(guard, "process.close_stdin", in.ops->close_stdin(in.self, err));

	sp_guard_note(guard, "close_stdin -> %s", answer(rc));
	return rc;
}

static const char *how_name(enum sp_exit_how how)
{
	switch (how) {
	case SP_EXITED:
		return "exited";
	case SP_SIGNALLED:
		return "signalled";
	case SP_KILLED:
		return "killed";
	case SP_EXIT_ABORTED:
		return "aborted";
	case SP_EXIT_TIMED_OUT:
		return "timed out";
	}
	return "?";
}

static int process_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;
	int rc = SP_GUARDED(guard, "process.wait", in.ops->wait(in.self, ret_exit, cancel, err));

	if (rc)
		sp_guard_note(guard, "wait -> %s %s", answer(rc), reason(rc, err));
	else
		sp_guard_note(guard, "wait -> %s, code %d", how_name(ret_exit->how),
			      ret_exit->code);
	return rc;
}

static int process_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;
	int rc = SP_GUARDED(guard, "process.kill", in.ops->kill(in.self, signal, cancel, err));

	sp_guard_note(guard, "kill %s -> %s %s", signal ? sp_signal_name(signal) : "0", answer(rc),
		      reason(rc, err));
	return rc;
}

static int process_signal(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;
	int rc = SP_GUARDED(guard, "process.signal", in.ops->signal(in.self, signal, cancel, err));

	sp_guard_note(guard, "signal %s -> %s %s", sp_signal_name(signal), answer(rc),
		      reason(rc, err));
	return rc;
}

static void process_release(void *self)
{
	struct guarded_process *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_process in = w->inner;

	sp_guard_unlink(guard, &w->link);
	free(w);
	sp_guard_enter(guard, "process.release");
	if (in.ops->release)
		in.ops->release(in.self);
	sp_guard_leave(guard, "process.release");
}

/* An entry that the subject does not have is not invented. */
#define ENTRY(table, prefix, name) .name = (table)->name ? prefix##_##name : NULL

static struct sp_process_ops process_ops(const struct sp_process_ops *in)
{
	return (struct sp_process_ops){
		.version = SP_PROCESS_VERSION,
		ENTRY(in, process, read),
		ENTRY(in, process, write_stdin),
		ENTRY(in, process, close_stdin),
		ENTRY(in, process, wait),
		ENTRY(in, process, kill),
		ENTRY(in, process, signal),
		.release = process_release,
	};
}

int sp_guard_process(struct sp_guard *guard, struct sp_process *process, struct sp_error *err)
{
	struct guarded_process *w;

	/* A table of another version is refused by whoever calls it. */
	if (!process->ops || process->ops->version != SP_PROCESS_VERSION ||
	    process->ops->release == process_release)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w) {
		sp_process_done(process);
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	}
	w->guard = guard;
	w->inner = *process;
	w->ops = process_ops(process->ops);
	sp_guard_link(guard, &w->link, process_release, w);
	*process = (struct sp_process){ &w->ops, w };
	return 0;
}

/* ---- sandboxes ---- */

struct guarded_sandbox {
	struct sp_guard *guard;
	/* Below its provider; no table: none. It lives as long as the handle. */
	struct sp_platform platform;
	struct sp_guard_link link;
	struct sp_sandbox inner;
	struct sp_sandbox_ops ops;
};

/* The same for a call that answers a text. */
#define GUARDED_TEXT(guard_, name, call)                                                           \
	({                                                                                         \
		const char *before_ = sp_guard_look(guard_, name);                                 \
		const char *text_ = (call);                                                        \
		sp_guard_looked(guard_, name, before_);                                            \
		text_;                                                                             \
	})

static const char *sandbox_id(void *self)
{
	struct guarded_sandbox *w = self;

	return GUARDED_TEXT(w->guard, "sandbox.id", w->inner.ops->id(w->inner.self));
}

static const char *sandbox_workspace_root(void *self)
{
	struct guarded_sandbox *w = self;

	return GUARDED_TEXT(w->guard, "sandbox.workspace_root",
			    w->inner.ops->workspace_root(w->inner.self));
}

/* "exec "sleep 1" in /x with A, B": names of variables, never their values. */
static void describe_command(struct sp_guard *guard, const char *verb,
			     const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_addf(out, "%s ", verb);
	sp_show(out, guard->options.redact, options->command,
		options->command ? strlen(options->command) : 0, 4 * SP_EVIDENCE_SHORT);
	if (options->cwd)
		sp_buf_addf(out, " in %s", options->cwd);
	for (size_t i = 0; i < options->n_env; i++)
		sp_buf_addf(out, "%s %s", i ? "," : " with", options->env[i].name);
}

static void describe_output(struct sp_guard *guard, const char *name, const struct sp_bytes *bytes,
			    bool cut, struct sp_buf *out)
{
	if (!bytes->len)
		return;
	sp_buf_addf(out, ", %s ", name);
	sp_show(out, guard->options.redact, bytes->data, bytes->len, SP_EVIDENCE_SHORT);
	if (cut)
		sp_buf_adds(out, " cut");
}

static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SHOWN_CEILING);
	int rc;

	describe_command(guard, "exec", options, &line);
	rc = SP_GUARDED(guard, "sandbox.exec", in.ops->exec(in.self, options, ret_result, err));
	if (rc) {
		sp_buf_addf(&line, " -> %s %s", answer(rc), reason(rc, err));
	} else {
		sp_buf_addf(&line, " -> code %d", ret_result->exit_code);
		describe_output(guard, "stdout", &ret_result->stdout_bytes, ret_result->stdout_cut,
				&line);
		describe_output(guard, "stderr", &ret_result->stderr_bytes, ret_result->stderr_cut,
				&line);
	}
	sp_guard_note(guard, "%s", sp_buf_str(&line));
	return rc;
}

static int sandbox_spawn(void *self, const struct sp_exec_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SHOWN_CEILING);
	struct sp_process process = SP_PROCESS_INIT;
	int rc;

	describe_command(guard, "spawn", options, &line);
	rc = SP_GUARDED(guard, "sandbox.spawn", in.ops->spawn(in.self, options, &process, err));
	sp_guard_note(guard, "%s -> %s %s", sp_buf_str(&line), answer(rc), reason(rc, err));
	if (!rc)
		rc = sp_guard_process(guard, &process, err);
	if (!rc)
		*ret_process = process;
	return rc;
}

/* A call on a path; the rest of the line differs. */
#define PATH_CALL(entry, path, ...)                                                                \
	({                                                                                         \
		struct guarded_sandbox *w_ = self;                                                 \
		struct sp_guard *guard_ = w_->guard;                                               \
		struct sp_sandbox in_ = w_->inner;                                                 \
		int rc_ = SP_GUARDED(guard_, "sandbox." #entry,                                    \
				     in_.ops->entry(in_.self, path, __VA_ARGS__));                 \
		sp_guard_note(guard_, #entry " %s -> %s %s", path ? path : "NULL", answer(rc_),    \
			      reason(rc_, err));                                                   \
		rc_;                                                                               \
	})

static int sandbox_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_read, path, ret_bytes, cancel, err);
}

static int sandbox_fs_write(void *self, const char *path, const void *data, size_t len,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_write, path, data, len, cancel, err);
}

static int sandbox_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_list, path, ret_list, cancel, err);
}

static int sandbox_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	return PATH_CALL(fs_mkdir, path, cancel, err);
}

static int sandbox_fs_remove(void *self, const char *path, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	return PATH_CALL(fs_remove, path, cancel, err);
}

static int sandbox_fs_rename(void *self, const char *from, const char *to,
			     struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_rename, from, to, cancel, err);
}

static int sandbox_fs_exists(void *self, const char *path, bool *ret_exists,
			     struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_exists, path, ret_exists, cancel, err);
}

static int sandbox_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	return PATH_CALL(fs_lstat, path, ret_stat, cancel, err);
}

static int sandbox_env_set(void *self, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	struct sp_buf names SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SHOWN_CEILING);
	int rc;

	for (size_t i = 0; i < n_env; i++)
		sp_buf_addf(&names, " %s", env[i].name);
	rc = SP_GUARDED(guard, "sandbox.env_set",
			in.ops->env_set(in.self, env, n_env, cancel, err));
	sp_guard_note(guard, "env_set%s -> %s %s", sp_buf_str(&names), answer(rc), reason(rc, err));
	return rc;
}

static int sandbox_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	const char *known = in.ops->id ? in.ops->id(in.self) : NULL;
	char *id SP_FREE = known ? strdup(known) : NULL, row[SP_LEDGER_ROW];
	struct sp_shared *making SP_CLEANUP(sp_making_end) =
		sp_making_begin(guard->options.shared, guard->options.outlives);
	int rc = sp_guard_snapshot_begins(guard, &w->platform, id, label, row, cancel, err);

	if (rc)
		return rc;
	rc = SP_GUARDED(guard, "sandbox.snapshot",
			in.ops->snapshot(in.self, label, ret_ref, cancel, err));
	sp_guard_snapshot_ended(guard, row, rc, rc ? NULL : ret_ref->id, err);
	sp_guard_note(guard, "snapshot %s -> %s %s", label ? label : "", answer(rc),
		      reason(rc, err));
	return rc;
}

/* Takes over a sandbox that a call just made. */
static int adopt(struct sp_guard *guard, const char *row, int rc, struct sp_sandbox *made,
		 struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	/* Whoever goes on needs something to go on with. */
	if (!rc && !made->ops)
		rc = sp_error_set(err, SP_PROTOCOL, "the provider answered 0 and left no sandbox");
	else if (!rc && !sp_sandbox_id(made))
		rc = sp_error_set(err, SP_PROTOCOL, "the provider made a sandbox without an id");
	sp_guard_made(guard, row, rc ? NULL : sp_sandbox_id(made));
	if (!rc)
		*ret_sandbox = *made;
	return rc;
}

static int sandbox_fork(void *self, struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	struct sp_sandbox made = SP_SANDBOX_INIT;
	char row[SP_LEDGER_ROW];
	struct sp_shared *making SP_CLEANUP(sp_making_end) =
		sp_making_begin(guard->options.shared, guard->options.outlives);
	int rc;

	sp_ledger_intent(guard->options.ledger, guard->workspace, 0, row);
	rc = SP_GUARDED(guard, "sandbox.fork", in.ops->fork(in.self, &made, cancel, err));
	if (!rc)
		rc = sp_guard_sandbox(guard, &w->platform, &made, err);
	sp_guard_note(guard, "fork -> %s %s", answer(rc), reason(rc, err));
	return adopt(guard, row, rc, &made, ret_sandbox, err);
}

static int sandbox_port_connect(void *self, unsigned port, struct sp_port *ret_port,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	int rc = SP_GUARDED(guard, "sandbox.port_connect",
			    in.ops->port_connect(in.self, port, ret_port, cancel, err));

	sp_guard_note(guard, "port_connect %u -> %s %s", port, answer(rc), reason(rc, err));
	return rc;
}

static int sandbox_git(void *self, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	int rc = SP_GUARDED(guard, "sandbox.git", in.ops->git(in.self, options, ret_result, err));

	sp_guard_note(guard, "git %s -> %s %s", options->verb ? options->verb : "NULL", answer(rc),
		      reason(rc, err));
	return rc;
}

static int sandbox_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;

	return SP_GUARDED(guard, "sandbox.timeline",
			  in.ops->timeline(in.self, ret_texts, cancel, err));
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;
	const char *known = in.ops->id ? in.ops->id(in.self) : NULL;
	char *id SP_FREE = known ? strdup(known) : NULL;
	int rc = SP_GUARDED(guard, "sandbox.destroy", in.ops->destroy(in.self, cancel, err));

	if (!rc)
		sp_guard_gone(guard, id);
	sp_guard_note(guard, "destroy %s -> %s %s", id ? id : "?", answer(rc), reason(rc, err));
	return rc;
}

static void sandbox_close(void *self)
{
	struct guarded_sandbox *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_sandbox in = w->inner;

	sp_guard_unlink(guard, &w->link);
	free(w);
	sp_guard_enter(guard, "sandbox.close");
	if (in.ops->close)
		in.ops->close(in.self);
	sp_guard_leave(guard, "sandbox.close");
}

static struct sp_sandbox_ops sandbox_ops(const struct sp_sandbox_ops *in)
{
	return (struct sp_sandbox_ops){
		.version = SP_SANDBOX_VERSION,
		ENTRY(in, sandbox, id),
		ENTRY(in, sandbox, workspace_root),
		ENTRY(in, sandbox, exec),
		ENTRY(in, sandbox, spawn),
		ENTRY(in, sandbox, fs_read),
		ENTRY(in, sandbox, fs_write),
		ENTRY(in, sandbox, fs_list),
		ENTRY(in, sandbox, fs_mkdir),
		ENTRY(in, sandbox, fs_remove),
		ENTRY(in, sandbox, fs_rename),
		ENTRY(in, sandbox, fs_exists),
		ENTRY(in, sandbox, fs_lstat),
		ENTRY(in, sandbox, env_set),
		ENTRY(in, sandbox, snapshot),
		ENTRY(in, sandbox, fork),
		ENTRY(in, sandbox, port_connect),
		ENTRY(in, sandbox, git),
		ENTRY(in, sandbox, timeline),
		ENTRY(in, sandbox, destroy),
		/* Ours to end, whether or not the inner one has an end. */
		.close = sandbox_close,
	};
}

int sp_guard_sandbox(struct sp_guard *guard, const struct sp_platform *platform,
		     struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct guarded_sandbox *w;

	if (!sandbox->ops || sandbox->ops->version != SP_SANDBOX_VERSION ||
	    sandbox->ops->close == sandbox_close)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w) {
		sp_sandbox_done(sandbox);
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	}
	w->guard = guard;
	if (platform)
		w->platform = *platform;
	w->inner = *sandbox;
	w->ops = sandbox_ops(sandbox->ops);
	sp_guard_link(guard, &w->link, sandbox_close, w);
	*sandbox = (struct sp_sandbox){ &w->ops, w };
	return 0;
}

/* ---- providers ---- */

struct guarded_provider {
	struct sp_guard *guard;
	struct sp_provider inner;
	struct sp_provider_ops ops;
	/* The bare platform below it; no table: none. */
	struct sp_guarded_platform platform;
};

static const char *provider_name(void *self)
{
	struct guarded_provider *w = self;

	return GUARDED_TEXT(w->guard, "provider.name", w->inner.ops->name(w->inner.self));
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	struct guarded_provider *w = self;
	const char *before = sp_guard_look(w->guard, "provider.capabilities");
	const struct sp_capabilities *declared = w->inner.ops->capabilities(w->inner.self);

	sp_guard_looked(w->guard, "provider.capabilities", before);
	return declared;
}

/* Makes a sandbox by `call`, with its rows in the ledger and its fingerprint. */
static int make(struct guarded_provider *w, const char *name, const char *snapshot_id,
		const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
		struct sp_error *err)
{
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;
	struct sp_sandbox made = SP_SANDBOX_INIT;
	struct sp_create_options own;
	char row[SP_LEDGER_ROW];
	struct sp_shared *making SP_CLEANUP(sp_making_end) =
		sp_making_begin(guard->options.shared, guard->options.outlives);
	int rc;

	if (options && guard->options.outlives && !options->lifetime_s) {
		uint32_t random;

		sp_random(&random, sizeof(random));
		own = *options;
		own.lifetime_s = SP_RUN_LIFETIME_S + random % SP_RUN_LIFETIME_S;
		options = &own;
	}
	rc = sp_guard_intent(guard, &in, options ? options->lifetime_s : 0, row,
			     options ? options->cancel : NULL, err);
	if (rc)
		return rc;
	rc = SP_GUARDED(guard, name,
			snapshot_id ? in.ops->restore(in.self, snapshot_id, options, &made, err) :
				      in.ops->create(in.self, options, &made, err));
	/* From here on its calls are guarded, those that only ask for its id included. */
	if (!rc)
		rc = sp_guard_sandbox(guard, &w->platform.inner, &made, err);
	sp_guard_note(guard, "%s -> %s %s", name, rc ? answer(rc) : sp_sandbox_id(&made),
		      reason(rc, err));
	/* Its row stays open for `sweep`, unless a look at all of the workspace tells more. */
	if (sp_guard_may_be_there(rc, err)) {
		sp_guard_add(guard, &guard->unknown_sandboxes, row);
		return rc;
	}
	return adopt(guard, row, rc, &made, ret_sandbox, err);
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	return make(self, "provider.create", NULL, options, ret_sandbox, err);
}

static int provider_restore(void *self, const char *snapshot_id,
			    const struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			    struct sp_error *err)
{
	return make(self, "provider.restore", snapshot_id ? snapshot_id : "", options, ret_sandbox,
		    err);
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct guarded_provider *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;
	struct sp_sandbox found = SP_SANDBOX_INIT;
	int rc = SP_GUARDED(guard, "provider.resume",
			    in.ops->resume(in.self, id, &found, cancel, err));

	sp_guard_note(guard, "resume %s -> %s %s", id ? id : "NULL",
		      rc ? answer(rc) : found.ops ? "found" : "gone", reason(rc, err));
	if (!rc)
		rc = sp_guard_sandbox(guard, &w->platform.inner, &found, err);
	if (!rc)
		*ret_sandbox = found;
	return rc;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct guarded_provider *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;
	int rc = SP_GUARDED(guard, "provider.destroy", in.ops->destroy(in.self, id, cancel, err));

	if (!rc)
		sp_guard_gone(guard, id);
	sp_guard_note(guard, "destroy %s -> %s %s", id ? id : "NULL", answer(rc), reason(rc, err));
	return rc;
}

static int provider_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
				    struct sp_error *err)
{
	struct guarded_provider *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;
	int rc = SP_GUARDED(guard, "provider.snapshot_delete",
			    in.ops->snapshot_delete(in.self, snapshot_id, cancel, err));

	if (!rc && sp_guard_remove(guard, &guard->snapshots, snapshot_id))
		sp_guard_deleted(guard, snapshot_id);
	sp_guard_note(guard, "snapshot_delete -> %s %s", answer(rc), reason(rc, err));
	return rc;
}

static int provider_list(void *self, struct sp_id_list *ret_list, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct guarded_provider *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;
	int rc = SP_GUARDED(guard, "provider.list", in.ops->list(in.self, ret_list, cancel, err));

	sp_guard_note(guard, "list -> %s %s", answer(rc), reason(rc, err));
	return rc;
}

static void provider_close(void *self)
{
	struct guarded_provider *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_provider in = w->inner;

	free(w);
	sp_guard_enter(guard, "provider.close");
	in.ops->close(in.self);
	sp_guard_leave(guard, "provider.close");
}

/* The workspace is the same for all subjects of a worker. */
static void take_workspace(struct sp_guard *guard, const struct sp_platform *platform)
{
	if (platform->ops && !guard->workspace)
		guard->workspace = strdup(platform->ops->workspace(platform->self));
}

int sp_guard_provider(struct sp_guard *guard, struct sp_provider *provider,
		      struct sp_platform *platform, struct sp_error *err)
{
	const struct sp_provider_ops *in = provider->ops;
	struct guarded_provider *w;

	if (!in || in->version != SP_PROVIDER_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	w->guard = guard;
	w->inner = *provider;
	w->ops = (struct sp_provider_ops){
		.version = SP_PROVIDER_VERSION,
		ENTRY(in, provider, name),
		ENTRY(in, provider, capabilities),
		ENTRY(in, provider, create),
		ENTRY(in, provider, resume),
		ENTRY(in, provider, restore),
		ENTRY(in, provider, destroy),
		ENTRY(in, provider, snapshot_delete),
		ENTRY(in, provider, list),
		ENTRY(in, provider, close),
	};
	take_workspace(guard, platform);
	sp_guard_platform(&w->platform, guard, platform);
	*provider = (struct sp_provider){ &w->ops, w };
	return 0;
}
