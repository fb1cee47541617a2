/* SPDX-License-Identifier: MIT */
/*
 * Environments travel as files, uploaded 0600 into a 0700 folder of the
 * memory-backed directory: one overlay a sandbox, shared by all handles, and
 * one file a command, deleted as soon as it was read.
 */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Read-only in bash, or taken by it without delivering the value. */
static const char *const taken[] = {
	"UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO",
	"RANDOM", "SRANDOM", "SECONDS", "GROUPS", "DIRSTACK", "FUNCNAME", "LINENO", "BASH_LINENO",
	"BASHPID", "BASH_SUBSHELL", "BASH_COMMAND", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0",
	"BASH_SOURCE", "BASH_ALIASES", "BASH_CMDS", "EPOCHSECONDS", "EPOCHREALTIME", "HISTCMD",
	"OPTIND", "COMP_WORDBREAKS", "PWD", "OLDPWD", "_",
};

bool render_name_allowed(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	for (size_t i = 0; i < SP_COUNT(taken); i++)
		if (!strcmp(name, taken[i]))
			return false;
	return true;
}

int render_check_names(const struct render_core *core, const struct sp_env *env, size_t n_env,
		       struct sp_error *err)
{
	for (size_t i = 0; i < n_env; i++)
		if (!env[i].name || !core->steps.name_allowed(env[i].name))
			return sp_error_set(err, SP_INVALID,
					    "the variable \"%.64s\" cannot be set: it is no name, or the shell keeps it for itself",
					    env[i].name ? env[i].name : "");
	return 0;
}

void render_env_done(struct render_env_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		free(set->names[i]);
		if (set->values[i])
			explicit_bzero(set->values[i], strlen(set->values[i]));
		free(set->values[i]);
	}
	free(set->names);
	free(set->values);
	*set = (struct render_env_set){ NULL, NULL, 0 };
}

static int put(struct render_env_set *set, const char *name, const char *value)
{
	char *copy = strdup(value ? value : "");
	char **names, **values;

	if (!copy)
		return -1;
	for (size_t i = 0; i < set->len; i++)
		if (!strcmp(set->names[i], name)) {
			explicit_bzero(set->values[i], strlen(set->values[i]));
			free(set->values[i]);
			set->values[i] = copy;
			return 0;
		}
	names = reallocarray(set->names, set->len + 1, sizeof(*names));
	if (names)
		set->names = names;
	values = reallocarray(set->values, set->len + 1, sizeof(*values));
	if (values)
		set->values = values;
	if (!names || !values || !(set->names[set->len] = strdup(name))) {
		free(copy);
		return -1;
	}
	set->values[set->len++] = copy;
	return 0;
}

static int merge(const struct render_env_set *old, const struct sp_env *env, size_t n_env,
		 struct render_env_set *ret_set, struct sp_error *err)
{
	struct render_env_set set = { NULL, NULL, 0 };
	int bad = 0;

	for (size_t i = 0; i < old->len && !bad; i++)
		bad = put(&set, old->names[i], old->values[i]);
	for (size_t i = 0; i < n_env && !bad; i++)
		bad = put(&set, env[i].name, env[i].value);
	if (bad) {
		render_env_done(&set);
		return sp_error_set(err, SP_INTERNAL, "no memory for the environment");
	}
	*ret_set = set;
	return 0;
}

int render_upload_private(struct render_sandbox *sandbox, const char *name, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	char *path SP_FREE = NULL;
	struct sp_exec_result made SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *command SP_FREE = NULL;
	int rc;

	if (asprintf(&path, "%s/%s", sandbox->dir, name) < 0 ||
	    asprintf(&command, "mkdir -p -m 700 %s", sandbox->dir) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	rc = render_upload(sandbox->core, sandbox->id, path, data, len, cancel, err);
	if (rc != SP_NOT_FOUND)
		return rc;
	rc = render_shell(sandbox->core, sandbox->id, command, SP_BUF_LINE, cancel, &made, err);
	if (!rc && made.exit_code)
		rc = sp_error_set(err, SP_IO, "the private folder %s cannot be made", sandbox->dir);
	return rc ? rc : render_upload(sandbox->core, sandbox->id, path, data, len, cancel, err);
}

static int upload_set(struct render_sandbox *sandbox, const struct render_env_set *set,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf file SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_env *env SP_FREE = calloc(set->len + 1, sizeof(*env));
	int rc;

	if (!env)
		return sp_error_set(err, SP_INTERNAL, "no memory for the environment");
	for (size_t i = 0; i < set->len; i++)
		env[i] = (struct sp_env){ set->names[i], set->values[i] };
	if (render_compose_env(env, set->len, &file))
		return sp_error_set(err, SP_INVALID, "the environment is too large");
	rc = render_upload_private(sandbox, "env", sp_buf_str(&file), file.len, cancel, err);
	explicit_bzero(file.data, file.len);
	return rc;
}

int render_env_refresh(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	int rc = upload_set(sandbox, &sandbox->env, cancel, err);

	if (!rc)
		sandbox->env_dirty = false;
	return rc;
}

int render_env_set(void *self, const struct sp_env *env, size_t n_env, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct render_env_set set = { NULL, NULL, 0 };
	bool alone = sandbox->core->steps.one_queue;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc && sandbox->core->steps.names_before_merge)
		rc = render_check_names(sandbox->core, env, n_env, err);
	if (!rc && alone)
		rc = render_queue_enter(sandbox, true, cancel, err);
	if (rc)
		return rc;
	rc = merge(&sandbox->env, env, n_env, &set, err);
	if (!rc) {
		rc = upload_set(sandbox, &set, cancel, err);
		/* Whether the old file or the new one is there, nobody knows: the next command writes it first. */
		sandbox->env_dirty = rc != 0;
		if (!rc) {
			struct render_env_set old = sandbox->env;

			sandbox->env = set;
			set = old;
		}
	}
	render_env_done(&set);
	if (alone)
		render_queue_leave(sandbox, true);
	if (!rc && !sandbox->core->steps.names_before_merge)
		rc = render_check_names(sandbox->core, env, n_env, err);
	return rc;
}
