/* SPDX-License-Identifier: MIT */
/* The sandbox's table over a driver. */
#include "client.h"

#include <stdlib.h>
#include <string.h>

static void begin(struct sp_buf *params, const struct drv_sandbox *sandbox)
{
	drv_open(params, "sandbox", sandbox->handle);
}

static const char *sandbox_id(void *self)
{
	return ((struct drv_sandbox *)self)->id;
}

static const char *sandbox_workspace_root(void *self)
{
	return ((struct drv_sandbox *)self)->root;
}

/* ---- Commands ---- */

static int put_command(struct sp_buf *params, const struct drv_sandbox *sandbox,
		       const struct sp_exec_options *options, struct sp_error *err)
{
	begin(params, sandbox);
	drv_put_string(params, "command", options->command);
	drv_put_string(params, "cwd", options->cwd);
	return drv_put_env(params, "env", options->env, options->n_env, err);
}

static int take_output(struct drv_sandbox *sandbox, const char *method, cJSON *json,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	return drv_get_output(json, ret_result, err) ? drv_nonsense(sandbox->driver, method, err)
						     : 0;
}

static int sandbox_exec(void *self, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = put_command(&params, sandbox, options, err);

	if (!rc)
		rc = drv_call_for(sandbox->driver, "sandbox/exec", &params, options->cancel,
				  &result, err);
	if (rc)
		return rc;
	if (drv_leave_listeners(options->cancel, result, err))
		return drv_nonsense(sandbox->driver, "sandbox/exec", err);
	return take_output(sandbox, "sandbox/exec", result, ret_result, err);
}

static int sandbox_spawn(void *self, const struct sp_exec_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc = put_command(&params, sandbox, options, err);

	if (!rc)
		rc = drv_call_for(sandbox->driver, "sandbox/spawn", &params, options->cancel,
				  &result, err);
	return rc ? rc
		  : drv_make_process(sandbox->driver, "sandbox/spawn", result, options->cancel,
				     ret_process, err);
}

/* ---- Files ---- */

static int call_path(struct drv_sandbox *sandbox, const char *method, const char *path,
		     struct sp_cancel *cancel, cJSON **ret_result, struct sp_error *err)
{
	struct sp_buf params DRV_PARAMS;

	begin(&params, sandbox);
	drv_put_string(&params, "path", path);
	return drv_call_for(sandbox->driver, method, &params, cancel, ret_result, err);
}

static int fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	cJSON *result DRV_RESULT;
	int rc = call_path(sandbox, "fs/read", path, cancel, &result, err);

	if (!rc && drv_get_bytes(result, "data", ret_bytes, err))
		rc = drv_nonsense(sandbox->driver, "fs/read", err);
	return rc;
}

static int fs_write(void *self, const char *path, const void *data, size_t len,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;

	begin(&params, sandbox);
	drv_put_string(&params, "path", path);
	drv_put_bytes(&params, "data", data, len);
	return drv_call_plain(sandbox->driver, "fs/write", &params, cancel, err);
}

static int read_entry(cJSON *json, void *item, struct sp_error *err)
{
	struct sp_dir_entry *entry = item;
	int type;
	int rc = drv_get_word(json, "type", drv_file_types, -1, &type, err);

	if (!rc)
		rc = drv_get_string(json, "name", &entry->name, err);
	if (!rc)
		rc = drv_get_string(json, "path", &entry->path, err);
	if (!rc)
		entry->type = (enum sp_file_type)type;
	return rc;
}

static int read_entries(const cJSON *result, struct sp_dir_list *list, struct sp_error *err)
{
	void *entries = NULL;
	int rc = drv_get_list(result, "entries", sizeof(*list->entries), read_entry, &entries,
			      &list->len, err);

	list->entries = entries;
	return rc;
}

static int fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	cJSON *result DRV_RESULT;
	int rc = call_path(sandbox, "fs/list", path, cancel, &result, err);

	if (rc)
		return rc;
	if (read_entries(result, &list, err))
		return drv_nonsense(sandbox->driver, "fs/list", err);
	*ret_list = list;
	list = (struct sp_dir_list)SP_DIR_LIST_INIT;
	return 0;
}

static int fs_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	return call_path(self, "fs/mkdir", path, cancel, NULL, err);
}

static int fs_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	return call_path(self, "fs/remove", path, cancel, NULL, err);
}

static int fs_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;

	begin(&params, sandbox);
	drv_put_string(&params, "from", from);
	drv_put_string(&params, "to", to);
	return drv_call_plain(sandbox->driver, "fs/rename", &params, cancel, err);
}

static int fs_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	cJSON *result DRV_RESULT;
	int rc = call_path(sandbox, "fs/exists", path, cancel, &result, err);

	if (!rc && drv_get_bool(result, "exists", ret_exists, err))
		rc = drv_nonsense(sandbox->driver, "fs/exists", err);
	return rc;
}

static int fs_lstat(void *self, const char *path, struct sp_stat *ret_stat,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	cJSON *result DRV_RESULT;
	int64_t mode = 0, size = 0;
	int type = 0;
	int rc = call_path(sandbox, "fs/lstat", path, cancel, &result, err);

	if (rc)
		return rc;
	if (drv_get_word(result, "type", drv_file_types, -1, &type, err) ||
	    drv_get_range(result, "mode", 0, UINT32_MAX, &mode, err) ||
	    drv_get_range(result, "size", 0, INT64_MAX, &size, err))
		return drv_nonsense(sandbox->driver, "fs/lstat", err);
	*ret_stat = (struct sp_stat){(enum sp_file_type)type, (uint32_t)mode, (uint64_t)size};
	return 0;
}

/* ---- The rest ---- */

static int sandbox_env_set(void *self, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;
	int rc;

	begin(&params, sandbox);
	rc = drv_put_env(&params, "env", env, n_env, err);
	return rc ? rc : drv_call_plain(sandbox->driver, "sandbox/env_set", &params, cancel, err);
}

static int copy(const char *text, char **ret, struct sp_error *err)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? sp_error_set(err, SP_INTERNAL, "out of memory") : 0;
}

static int sandbox_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	const char *id = NULL, *full = NULL;
	int rc = drv_check_text("the label", label, err);

	if (rc)
		return rc;
	begin(&params, sandbox);
	drv_put_text(&params, "label", label);
	rc = drv_call_for(sandbox->driver, "sandbox/snapshot", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_text(result, "id", &id, err) || drv_get_text_opt(result, "label", &full, err))
		return drv_nonsense(sandbox->driver, "sandbox/snapshot", err);
	rc = copy(id, &ref.id, err);
	if (!rc)
		rc = copy(full, &ref.label, err);
	if (rc)
		return rc;
	*ret_ref = ref;
	ref = (struct sp_snapshot_ref)SP_SNAPSHOT_REF_INIT;
	return 0;
}

static int sandbox_fork(void *self, struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc;

	begin(&params, sandbox);
	rc = drv_call_for(sandbox->driver, "sandbox/fork", &params, cancel, &result, err);
	return rc ? rc
		  : drv_make_sandbox(sandbox->driver, "sandbox/fork", result, ret_sandbox, err);
}

static int sandbox_port_connect(void *self, unsigned port, struct sp_port *ret_port,
				struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_port made SP_CLEANUP(sp_port_done) = SP_PORT_INIT;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	const char *url = NULL, *token = NULL;
	int rc;

	begin(&params, sandbox);
	drv_put_uint(&params, "port", port);
	rc = drv_call_for(sandbox->driver, "sandbox/port_connect", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_text(result, "url", &url, err) ||
	    drv_get_text_opt(result, "token", &token, err))
		return drv_nonsense(sandbox->driver, "sandbox/port_connect", err);
	rc = copy(url, &made.url, err);
	if (!rc)
		rc = copy(token, &made.token, err);
	if (rc)
		return rc;
	*ret_port = made;
	made = (struct sp_port)SP_PORT_INIT;
	return 0;
}

static int put_git(struct sp_buf *params, const struct sp_git_options *options,
		   struct sp_error *err)
{
	const struct {
		const char *name, *text;
	} rows[] = {
	    {"verb", options->verb},   {"dir", options->dir},	      {"url", options->url},
	    {"ref", options->ref},     {"message", options->message}, {"user", options->user},
	    {"token", options->token},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		int rc = drv_check_text(rows[i].name, rows[i].text, err);

		if (rc)
			return rc;
		drv_put_text(params, rows[i].name, rows[i].text);
	}
	drv_put_int(params, "depth", options->depth);
	return 0;
}

static int sandbox_git(void *self, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc;

	begin(&params, sandbox);
	rc = put_git(&params, options, err);
	if (!rc)
		rc = drv_call_for(sandbox->driver, "sandbox/git", &params, options->cancel, &result,
				  err);
	return rc ? rc : take_output(sandbox, "sandbox/git", result, ret_result, err);
}

static int read_commands(cJSON *result, struct sp_buf *texts, struct sp_error *err)
{
	const cJSON *commands = NULL;
	int rc = drv_get_array(result, "commands", &commands, err);

	if (rc)
		return rc;
	for (cJSON *at = commands->child; at; at = at->next) {
		struct sp_bytes text SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

		rc = drv_take_bytes(at, "commands", &text, err);
		if (rc)
			return rc;
		sp_buf_add(texts, text.data, text.len);
		sp_buf_addc(texts, '\0');
	}
	return texts->error ? sp_error_set(err, SP_INTERNAL, "out of memory") : 0;
}

static int sandbox_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS, texts DRV_PARAMS;
	cJSON *result DRV_RESULT;
	int rc;

	begin(&params, sandbox);
	rc = drv_call_for(sandbox->driver, "sandbox/timeline", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (read_commands(result, &texts, err))
		return drv_nonsense(sandbox->driver, "sandbox/timeline", err);
	return sp_buf_take_bytes(&texts, ret_texts)
		   ? sp_error_set(err, SP_INTERNAL, "out of memory")
		   : 0;
}

static int sandbox_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	struct drv_sandbox *sandbox = self;
	struct sp_buf params DRV_PARAMS;

	begin(&params, sandbox);
	return drv_call_plain(sandbox->driver, "sandbox/destroy", &params, cancel, err);
}

/* ---- Handles ---- */

static void free_sandbox(struct drv_sandbox *sandbox)
{
	free(sandbox->handle);
	free(sandbox->id);
	free(sandbox->root);
	free(sandbox);
}

static void sandbox_close(void *self)
{
	struct drv_sandbox *sandbox = self, **at;
	struct sp_driver *driver = sandbox->driver;
	struct sp_buf params DRV_PARAMS;

	pthread_mutex_lock(&driver->lock);
	for (at = &driver->sandboxes; *at && *at != sandbox; at = &(*at)->next)
		;
	if (*at)
		*at = sandbox->next;
	pthread_mutex_unlock(&driver->lock);
	begin(&params, sandbox);
	sp_buf_addc(&params, '}');
	drv_post(driver, "sandbox/close", &params, NULL, NULL);
	free_sandbox(sandbox);
}

static const struct sp_sandbox_ops sandbox_ops = {
    .version = SP_SANDBOX_VERSION,
    .id = sandbox_id,
    .workspace_root = sandbox_workspace_root,
    .exec = sandbox_exec,
    .spawn = sandbox_spawn,
    .fs_read = fs_read,
    .fs_write = fs_write,
    .fs_list = fs_list,
    .fs_mkdir = fs_mkdir,
    .fs_remove = fs_remove,
    .fs_rename = fs_rename,
    .fs_exists = fs_exists,
    .fs_lstat = fs_lstat,
    .env_set = sandbox_env_set,
    .snapshot = sandbox_snapshot,
    .fork = sandbox_fork,
    .port_connect = sandbox_port_connect,
    .git = sandbox_git,
    .timeline = sandbox_timeline,
    .destroy = sandbox_destroy,
    .close = sandbox_close,
};

int drv_make_sandbox(struct sp_driver *driver, const char *method, const cJSON *result,
		     struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct drv_sandbox *sandbox;
	const char *handle, *id, *root;

	if (drv_get_text(result, "sandbox", &handle, err) || drv_get_text(result, "id", &id, err) ||
	    drv_get_text(result, "workspace_root", &root, err))
		return drv_nonsense(driver, method, err);
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	sandbox->driver = driver;
	if (copy(handle, &sandbox->handle, err) || copy(id, &sandbox->id, err) ||
	    copy(root, &sandbox->root, err)) {
		free_sandbox(sandbox);
		return SP_INTERNAL;
	}
	pthread_mutex_lock(&driver->lock);
	sandbox->next = driver->sandboxes;
	driver->sandboxes = sandbox;
	pthread_mutex_unlock(&driver->lock);
	*ret_sandbox = (struct sp_sandbox){&sandbox_ops, sandbox};
	return 0;
}

char *drv_handle_of(struct sp_driver *driver, const char *id)
{
	char *handle = NULL;

	pthread_mutex_lock(&driver->lock);
	for (struct drv_sandbox *at = driver->sandboxes; at && !handle; at = at->next)
		if (!strcmp(at->id, id))
			handle = strdup(at->handle);
	pthread_mutex_unlock(&driver->lock);
	return handle;
}
