/* SPDX-License-Identifier: MIT */
/* The handle of a sandbox. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct render_sandbox *render_sandbox_ref(struct render_sandbox *sandbox)
{
	atomic_fetch_add(&sandbox->refs, 1);
	return sandbox;
}

void render_sandbox_unref(struct render_sandbox *sandbox)
{
	if (!sandbox || atomic_fetch_sub(&sandbox->refs, 1) != 1)
		return;
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
	if (!atomic_load(&sandbox->destroyed))
		return 0;
	return sp_error_set(err, SP_GONE, "sandbox %s was destroyed by this handle", sandbox->id);
}

void render_command_ended(struct render_sandbox *sandbox, const char *id)
{
	char(*longer)[RENDER_ID_LEN + 1];

	pthread_mutex_lock(&sandbox->lock);
	longer = reallocarray(sandbox->ended, sandbox->n_ended + 1, sizeof(*longer));
	/* Without memory a few small files stay until the sandbox goes. */
	if (longer) {
		sandbox->ended = longer;
		memcpy(longer[sandbox->n_ended++], id, RENDER_ID_LEN + 1);
	}
	pthread_mutex_unlock(&sandbox->lock);
}

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
	int rc = render_terminate(sandbox->core, sandbox->id, cancel, err);

	if (!rc)
		atomic_store(&sandbox->destroyed, true);
	return rc;
}

static void sandbox_close(void *self)
{
	struct render_sandbox *sandbox = self;

	render_join_released(sandbox->core, false);
	render_sandbox_unref(sandbox);
}

static const struct sp_sandbox_ops sandbox_ops = {
	.version = SP_SANDBOX_VERSION,
	.id = sandbox_id,
	.workspace_root = sandbox_root,
	.exec = render_exec,
	.spawn = render_spawn,
	.fs_read = render_fs_read,
	.fs_write = render_fs_write,
	.env_set = render_env_set,
	.timeline = render_timeline,
	.destroy = sandbox_destroy,
	.close = sandbox_close,
};

/* The private folder's path with the sandbox's id in the place of "{id}". */
static char *private_dir(const char *template, const char *id)
{
	const char *at = strstr(template, "{id}");
	char *dir = NULL;

	if (!at)
		return strdup(template);
	return asprintf(&dir, "%.*s%s%s", (int)(at - template), template, id, at + 4) < 0 ? NULL : dir;
}

/* One command: the private folder, and where commands start. */
static int look_inside(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *root;
	int rc;

	sp_buf_addf(&command, "[[ -d %s ]]||mkdir -p -m 700 %s||exit;printf %%s \"$PWD\"", sandbox->dir,
		    sandbox->dir);
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&command), SP_BUF_LINE, cancel,
			  &result, err);
	if (rc)
		return rc;
	root = (const char *)result.stdout_bytes.data;
	if (result.exit_code || !root || *root != '/' || strlen(root) != result.stdout_bytes.len) {
		sp_error_set(err, SP_IO, "the private folder %s cannot be made in sandbox %s",
			     sandbox->dir, sandbox->id);
		sp_error_set_detail(err, (const char *)result.stderr_bytes.data);
		return SP_IO;
	}
	sandbox->root = strdup(root);
	return sandbox->root ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a handle");
}

int render_sandbox_open(struct render_core *core, const char *id, struct sp_cancel *cancel,
			struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct render_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int rc;

	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "no memory for a handle");
	atomic_init(&sandbox->refs, 1);
	pthread_mutex_init(&sandbox->lock, NULL);
	sandbox->core = render_core_ref(core);
	sandbox->id = strdup(id);
	sandbox->dir = private_dir(core->private_dir, id);
	rc = sandbox->id && sandbox->dir ? look_inside(sandbox, cancel, err) :
					   sp_error_set(err, SP_INTERNAL, "no memory for a handle");
	if (rc) {
		render_sandbox_unref(sandbox);
		return rc;
	}
	ret_sandbox->ops = &sandbox_ops;
	ret_sandbox->self = sandbox;
	return 0;
}
