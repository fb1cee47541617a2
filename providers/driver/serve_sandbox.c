/* SPDX-License-Identifier: MIT */
/* Methods of sandboxes and files, on the driver's side. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

/* The sandbox that the params name; good as long as the call. */
static int get(struct serve_call *call, const cJSON *params, struct sp_sandbox **ret,
	       struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_SANDBOX, &handle, err);

	*ret = handle ? &handle->sandbox : NULL;
	return rc;
}

/* ---- Commands ---- */

/* A command that was read; free it. */
struct command {
	char *text, *cwd;
	struct drv_env env;
	struct sp_exec_options options;
};

#define COMMAND_INIT                                                                               \
	{                                                                                          \
		NULL, NULL, DRV_ENV_INIT, SP_EXEC_OPTIONS_INIT                                     \
	}

static void command_done(struct command *command)
{
	free(command->text);
	free(command->cwd);
	drv_env_done(&command->env);
}

static int read_command(struct serve_call *call, cJSON *params, struct command *command,
			struct sp_error *err)
{
	int rc = drv_get_string(params, "command", &command->text, err);

	if (!rc)
		rc = drv_get_string_opt(params, "cwd", &command->cwd, err);
	if (!rc)
		rc = drv_get_env_opt(params, "env", &command->env, err);
	command->options.command = command->text;
	command->options.cwd = command->cwd;
	command->options.env = command->env.items;
	command->options.n_env = command->env.len;
	command->options.cancel = call->cancel;
	return rc;
}

static int exec(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct command command SP_CLEANUP(command_done) = COMMAND_INIT;
	struct sp_exec_result output SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_sandbox *sandbox;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = read_command(call, params, &command, err);
	if (!rc)
		rc = sp_sandbox_exec(sandbox, &command.options, &output, err);
	if (rc)
		return rc;
	drv_put_output(result, &output);
	serve_put_listeners(result, call->cancel);
	return 0;
}

static int spawn(struct serve_call *call, cJSON *params, struct sp_buf *result,
		 struct sp_error *err)
{
	struct command command SP_CLEANUP(command_done) = COMMAND_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_sandbox *sandbox;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = read_command(call, params, &command, err);
	if (!rc)
		rc = sp_sandbox_spawn(sandbox, &command.options, &process, err);
	return rc ? rc : serve_put_process(call->serve, &process, call->cancel, result, err);
}

/* ---- Files ---- */

static int get_path(struct serve_call *call, cJSON *params, const char *name,
		    struct sp_sandbox **ret_sandbox, char **ret_path, struct sp_error *err)
{
	int rc = get(call, params, ret_sandbox, err);

	return rc ? rc : drv_get_string(params, name, ret_path, err);
}

static int fs_read(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	if (!rc)
		rc = sp_sandbox_read(sandbox, path, &bytes, call->cancel, err);
	if (!rc)
		drv_put_bytes(result, "data", bytes.data, bytes.len);
	return rc;
}

static int fs_write(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	(void)result;
	if (!rc)
		rc = drv_get_bytes(params, "data", &bytes, err);
	return rc ? rc : sp_sandbox_write(sandbox, path, bytes.data, bytes.len, call->cancel, err);
}

static int fs_list(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	if (!rc)
		rc = sp_sandbox_list(sandbox, path, &list, call->cancel, err);
	if (rc)
		return rc;
	drv_put_open(result, "entries", '[');
	for (size_t i = 0; i < list.len; i++) {
		drv_put_open(result, NULL, '{');
		drv_put_string(result, "name", list.entries[i].name);
		drv_put_string(result, "path", list.entries[i].path);
		drv_put_text(result, "type", drv_file_types[list.entries[i].type]);
		sp_buf_addc(result, '}');
	}
	sp_buf_addc(result, ']');
	return 0;
}

static int fs_mkdir(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	(void)result;
	return rc ? rc : sp_sandbox_mkdir(sandbox, path, call->cancel, err);
}

static int fs_remove(struct serve_call *call, cJSON *params, struct sp_buf *result,
		     struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	(void)result;
	return rc ? rc : sp_sandbox_remove(sandbox, path, call->cancel, err);
}

static int fs_rename(struct serve_call *call, cJSON *params, struct sp_buf *result,
		     struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	char *from SP_FREE = NULL, *to SP_FREE = NULL;
	int rc = get_path(call, params, "from", &sandbox, &from, err);

	(void)result;
	if (!rc)
		rc = drv_get_string(params, "to", &to, err);
	return rc ? rc : sp_sandbox_rename(sandbox, from, to, call->cancel, err);
}

static int fs_exists(struct serve_call *call, cJSON *params, struct sp_buf *result,
		     struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	char *path SP_FREE = NULL;
	bool exists = false;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	if (!rc)
		rc = sp_sandbox_exists(sandbox, path, &exists, call->cancel, err);
	if (!rc)
		drv_put_bool(result, "exists", exists);
	return rc;
}

static int fs_lstat(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	struct sp_stat stat = {SP_FILE, 0, 0};
	char *path SP_FREE = NULL;
	int rc = get_path(call, params, "path", &sandbox, &path, err);

	if (!rc)
		rc = sp_sandbox_lstat(sandbox, path, &stat, call->cancel, err);
	if (rc)
		return rc;
	drv_put_text(result, "type", drv_file_types[stat.type]);
	drv_put_uint(result, "mode", stat.mode);
	drv_put_uint(result, "size", stat.size);
	return 0;
}

/* ---- The rest ---- */

static int env_set(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct drv_env env SP_CLEANUP(drv_env_done) = DRV_ENV_INIT;
	struct sp_sandbox *sandbox;
	int rc = get(call, params, &sandbox, err);

	(void)result;
	if (!rc)
		rc = drv_get_env_opt(params, "env", &env, err);
	return rc ? rc : sp_sandbox_env_set(sandbox, env.items, env.len, call->cancel, err);
}

static int snapshot(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_sandbox *sandbox;
	const char *label = NULL;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = drv_get_text_opt(params, "label", &label, err);
	if (!rc)
		rc = sp_sandbox_snapshot(sandbox, label, &ref, call->cancel, err);
	if (rc)
		return rc;
	drv_put_text(result, "id", ref.id);
	drv_put_text(result, "label", ref.label);
	return 0;
}

static int fork_sandbox(struct serve_call *call, cJSON *params, struct sp_buf *result,
			struct sp_error *err)
{
	struct sp_sandbox *sandbox, made = SP_SANDBOX_INIT;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = sp_sandbox_fork(sandbox, &made, call->cancel, err);
	return rc ? rc : serve_put_sandbox(call->serve, &made, result, err);
}

static int port_connect(struct serve_call *call, cJSON *params, struct sp_buf *result,
			struct sp_error *err)
{
	struct sp_port port SP_CLEANUP(sp_port_done) = SP_PORT_INIT;
	struct sp_sandbox *sandbox;
	int64_t number;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = drv_get_range(params, "port", 0, UINT32_MAX, &number, err);
	if (!rc)
		rc = sp_sandbox_port_connect(sandbox, (unsigned)number, &port, call->cancel, err);
	if (rc)
		return rc;
	drv_put_text(result, "url", port.url);
	drv_put_text(result, "token", port.token);
	return 0;
}

static int git(struct serve_call *call, cJSON *params, struct sp_buf *result, struct sp_error *err)
{
	struct sp_exec_result output SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_git_options options = SP_GIT_OPTIONS_INIT;
	struct sp_sandbox *sandbox;
	int64_t depth = 0;
	const struct {
		const char *name, **text;
	} rows[] = {
	    {"verb", &options.verb},   {"dir", &options.dir},	      {"url", &options.url},
	    {"ref", &options.ref},     {"message", &options.message}, {"user", &options.user},
	    {"token", &options.token},
	};
	int rc = get(call, params, &sandbox, err);

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++)
		rc = drv_get_text_opt(params, rows[i].name, rows[i].text, err);
	if (!rc)
		rc = drv_get_int_opt(params, "depth", &depth, err);
	if (!rc && (depth < INT32_MIN || depth > INT32_MAX))
		rc = sp_error_set(err, SP_INVALID, "the depth is out of range");
	options.depth = (int)depth;
	options.cancel = call->cancel;
	if (!rc)
		rc = sp_sandbox_git(sandbox, &options, &output, err);
	if (!rc)
		drv_put_output(result, &output);
	return rc;
}

static int timeline(struct serve_call *call, cJSON *params, struct sp_buf *result,
		    struct sp_error *err)
{
	struct sp_bytes texts SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_sandbox *sandbox;
	int rc = get(call, params, &sandbox, err);

	if (!rc)
		rc = sp_sandbox_timeline(sandbox, &texts, call->cancel, err);
	if (rc)
		return rc;
	drv_put_open(result, "commands", '[');
	for (size_t at = 0; at < texts.len; at += strlen((char *)texts.data + at) + 1)
		drv_put_string(result, NULL, (char *)texts.data + at);
	sp_buf_addc(result, ']');
	return 0;
}

static int destroy(struct serve_call *call, cJSON *params, struct sp_buf *result,
		   struct sp_error *err)
{
	struct sp_sandbox *sandbox;
	int rc = get(call, params, &sandbox, err);

	(void)result;
	return rc ? rc : sp_sandbox_destroy(sandbox, call->cancel, err);
}

static int close_sandbox(struct serve_call *call, cJSON *params, struct sp_buf *result,
			 struct sp_error *err)
{
	struct serve_handle *handle = NULL;
	int rc = serve_handle_get(call, params, SERVE_SANDBOX, &handle, err);

	(void)result;
	if (!rc)
		serve_handle_close(call, handle);
	return rc;
}

const struct serve_method serve_sandbox_methods[] = {
    {"sandbox/exec", exec},
    {"sandbox/spawn", spawn},
    {"sandbox/env_set", env_set},
    {"sandbox/snapshot", snapshot},
    {"sandbox/fork", fork_sandbox},
    {"sandbox/port_connect", port_connect},
    {"sandbox/git", git},
    {"sandbox/timeline", timeline},
    {"sandbox/destroy", destroy},
    {"sandbox/close", close_sandbox},
    {"fs/read", fs_read},
    {"fs/write", fs_write},
    {"fs/list", fs_list},
    {"fs/mkdir", fs_mkdir},
    {"fs/remove", fs_remove},
    {"fs/rename", fs_rename},
    {"fs/exists", fs_exists},
    {"fs/lstat", fs_lstat},
    {NULL, NULL},
};
