/* SPDX-License-Identifier: MIT */
/* The handle of a sandbox. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include <base/git.h>

struct render_sandbox *render_sandbox_ref(struct render_sandbox *sandbox)
{
	atomic_fetch_add(&sandbox->refs, 1);
	return sandbox;
}

void render_sandbox_unref(struct render_sandbox *sandbox)
{
	if (!sandbox || atomic_fetch_sub(&sandbox->refs, 1) != 1)
		return;
	render_env_keep(sandbox, &(struct sp_bytes)SP_BYTES_INIT);
	render_env_done(&sandbox->env);
	pthread_mutex_destroy(&sandbox->lock);
	free(sandbox->ended);
	free(sandbox->id);
	free(sandbox->root);
	free(sandbox->dir);
	render_core_unref(sandbox->core);
	free(sandbox);
}

int render_sandbox_check(struct render_sandbox *sandbox, struct sp_error *err)
{
	if (atomic_load(&sandbox->destroyed))
		return sp_error_set(err, SP_GONE, "sandbox %s was destroyed by this handle",
				    sandbox->id);
	return 0;
}

static const struct sp_sandbox_ops sandbox_ops;

static const char *sandbox_id(void *self)
{
	return ((struct render_sandbox *)self)->id;
}

static const char *sandbox_root(void *self)
{
	return ((struct render_sandbox *)self)->root;
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	int rc;

	/* Before the request: a command that ends by it shall not pass for one that ended by
	 * itself. */
	atomic_store(&sandbox->destroyed, true);
	rc = render_terminate(sandbox->core, sandbox->id, cancel, err);
	if (rc)
		atomic_store(&sandbox->destroyed, false);
	return rc;
}

static int sandbox_git(void *self, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_sandbox sandbox = {&sandbox_ops, self};

	return sp_git_over_exec(&sandbox, options, ret_result, err);
}

static void sandbox_close(void *self)
{
	render_sandbox_unref(self);
}

static const struct sp_sandbox_ops sandbox_ops = {
    .version = SP_SANDBOX_VERSION,
    .id = sandbox_id,
    .workspace_root = sandbox_root,
    .exec = render_exec,
    .spawn = render_spawn,
    .fs_read = render_fs_read,
    .fs_write = render_fs_write,
    .fs_list = render_fs_list,
    .fs_mkdir = render_fs_mkdir,
    .fs_remove = render_fs_remove,
    .fs_rename = render_fs_rename,
    .fs_exists = render_fs_exists,
    .fs_lstat = render_fs_lstat,
    .env_set = render_env_set,
    .snapshot = render_snapshot,
    .git = sandbox_git,
    .timeline = render_timeline,
    .destroy = sandbox_destroy,
    .close = sandbox_close,
};

/* The private folder of this sandbox. */
static char *fill_in(const char *pattern, const char *id)
{
	struct sp_buf dir SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *at = strstr(pattern, "{id}");

	if (!at)
		return strdup(pattern);
	sp_buf_add(&dir, pattern, (size_t)(at - pattern));
	sp_buf_addf(&dir, "%s%s", id, at + 4);
	return sp_buf_take(&dir, NULL);
}

/* One bare command: it wakes the sandbox, makes the private folder, and says where commands start.
 */
static int prepare(struct render_sandbox *sandbox, bool restored, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *root;
	size_t len;
	int rc;

	if (restored)
		render_fill_in(sandbox->core->steps.restore_reset, sandbox->dir, &text);
	sp_buf_addf(&text, "command -p mkdir -pm700 -- %s&&pwd", sandbox->dir);
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, cancel,
			  &result, err);
	if (rc)
		return rc;
	root = (const char *)result.stdout_bytes.data;
	len = result.stdout_bytes.len;
	if (result.exit_code || len < 2 || *root != '/' || root[len - 1] != '\n' ||
	    strlen(root) != len) {
		sp_error_set(err, SP_UNAVAILABLE, "sandbox %s cannot be prepared (code %d)",
			     sandbox->id, result.exit_code);
		sp_error_set_detail(err, (const char *)result.stderr_bytes.data);
		return SP_UNAVAILABLE;
	}
	sandbox->root = strndup(root, len - 1);
	return sandbox->root ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
}

int render_sandbox_open(struct render_core *core, const char *id, bool restored,
			struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			struct sp_error *err)
{
	struct render_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int rc;

	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
	atomic_init(&sandbox->refs, 1);
	pthread_mutex_init(&sandbox->lock, NULL);
	sandbox->core = render_core_ref(core);
	sandbox->id = strdup(id);
	sandbox->dir = fill_in(core->private_dir, id);
	if (sandbox->id && sandbox->dir)
		rc = prepare(sandbox, restored, cancel, err);
	else
		rc = sp_error_set(err, SP_INTERNAL, "no memory for a sandbox");
	if (rc) {
		render_sandbox_unref(sandbox);
		return rc;
	}
	*ret_sandbox = (struct sp_sandbox){&sandbox_ops, sandbox};
	return 0;
}
