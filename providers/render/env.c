/* SPDX-License-Identifier: MIT */
/*
 * The environment: one file a sandbox, in memory, replaced as a whole by each
 * env_set. The `env` field of a create is left alone: the service shows it to every
 * command for ever, so a secret in it could never be rotated away.
 */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Read-only in bash: exporting one fails. */
static const char *const read_only[] = {"BASHOPTS", "BASH_VERSINFO", "EUID",
					"PPID",	    "SHELLOPTS",     "UID"};

/* Accepted by bash and not delivered: it makes the value itself, or keeps it from children. */
static const char *const swallowed[] = {
    "_",
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "OLDPWD",
    "OPTIND",
    "PIPESTATUS",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
};

/*
 * What the kernel gives a program together is 2 MiB with the usual stack, its arguments and its
 * pointers included; a shell that has loaded more starts nothing any more.
 */
#define ENV_MAX (1536 * 1024)

/* The name in its place is newer than what was kept. */
#define PUT_BACK                                                                                   \
	"command -p ln -- @D@/env.back @D@/env 2>/dev/null||[[ -e @D@/env ]]||exit 1\n"            \
	"command -p rm -f -- @D@/env.back"

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static bool is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return true;
}

bool render_name_allowed(const char *name)
{
	return is_name(name) && !is_in(name, read_only, SP_COUNT(read_only)) &&
	       !is_in(name, swallowed, SP_COUNT(swallowed));
}

/* A text that is no name may be a value in the wrong place: it is never quoted. */
static int refuse_name(const char *name, size_t place, struct sp_error *err)
{
	if (!is_name(name))
		return sp_error_set(
		    err, SP_INVALID,
		    "variable %zu: its name is not of the form [A-Za-z_][A-Za-z0-9_]*", place);
	return sp_error_set(err, SP_INVALID,
			    "the shell cannot deliver a variable named \"%.128s\"", name);
}

static size_t size_of(const char *name, const char *value)
{
	return strlen(name) + strlen(value) + sizeof("=");
}

static int check_size(size_t total, struct sp_error *err)
{
	if (total <= ENV_MAX)
		return 0;
	return sp_error_set(err, SP_INVALID,
			    "the variables have %zu bytes together, and a program can be given %d",
			    total, ENV_MAX);
}

int render_check_names(const struct render_core *core, const struct sp_env *env, size_t n_env,
		       struct sp_error *err)
{
	size_t total = 0;

	for (size_t i = 0; i < n_env; i++) {
		if (!env[i].name || !env[i].value)
			return sp_error_set(err, SP_INVALID, "a variable without name or value");
		if (!core->steps.name_allowed(env[i].name))
			return refuse_name(env[i].name, i + 1, err);
		if (core->steps.env_refuses_long &&
		    size_of(env[i].name, env[i].value) > RENDER_ARG_MAX)
			return sp_error_set(err, SP_INVALID,
					    "variable %.64s is longer than the %d bytes that a "
					    "program can be given",
					    env[i].name, RENDER_ARG_MAX);
		total += size_of(env[i].name, env[i].value);
	}
	return core->steps.env_refuses_long ? check_size(total, err) : 0;
}

static void wipe(char *value)
{
	if (value)
		explicit_bzero(value, strlen(value));
	free(value);
}

void render_env_done(struct render_env_set *set)
{
	for (size_t i = 0; i < set->len; i++) {
		free(set->names[i]);
		wipe(set->values[i]);
	}
	free(set->names);
	free(set->values);
	*set = (struct render_env_set){0};
}

static int put(struct render_env_set *set, const char *name, const char *value,
	       struct sp_error *err)
{
	char *copy = strdup(value);
	size_t i = 0;

	while (i < set->len && strcmp(set->names[i], name))
		i++;
	if (copy && i == set->len) {
		char **names = realloc(set->names, (i + 1) * sizeof(*names));
		char **values = realloc(set->values, (i + 1) * sizeof(*values));

		/* Each may have moved, whatever became of the other. */
		set->names = names ? names : set->names;
		set->values = values ? values : set->values;
		if (names && values && (set->names[i] = strdup(name))) {
			set->values[i] = NULL;
			set->len++;
		}
	}
	if (!copy || i == set->len) {
		wipe(copy);
		return sp_error_set(err, SP_INTERNAL, "no memory for the environment");
	}
	wipe(set->values[i]);
	set->values[i] = copy;
	return 0;
}

static int merge(const struct render_env_set *old, const struct sp_env *env, size_t n_env,
		 struct render_env_set *ret_set, struct sp_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < old->len; i++)
		rc = put(ret_set, old->names[i], old->values[i], err);
	for (size_t i = 0; !rc && i < n_env; i++)
		rc = put(ret_set, env[i].name, env[i].value, err);
	return rc;
}

/* What a command of this handle gets beside its own variables. */
static size_t size_of_set(const struct render_env_set *set)
{
	size_t total = 0;

	for (size_t i = 0; i < set->len; i++)
		total += size_of(set->names[i], set->values[i]);
	return total;
}

int render_env_check_room(const struct render_sandbox *sandbox, const struct sp_env *env,
			  size_t n_env, struct sp_error *err)
{
	size_t total = size_of_set(&sandbox->env);

	for (size_t i = 0; i < n_env; i++)
		total += size_of(env[i].name, env[i].value);
	return sandbox->core->steps.env_refuses_long ? check_size(total, err) : 0;
}

int render_upload_private(struct render_sandbox *sandbox, const char *name, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result made SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc;

	sp_buf_addf(&path, "%s/%s", sandbox->dir, name);
	sp_buf_addf(&text, "command -p mkdir -pm700 -- %s", sandbox->dir);
	if (path.error || text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	rc = render_upload(sandbox->core, sandbox->id, sp_buf_str(&path), data, len, cancel, err);
	if (rc != SP_NOT_FOUND)
		return rc;
	/* The folder lives in memory: a restart takes it away. */
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, cancel, &made,
			  err);
	if (!rc && made.exit_code)
		rc = sp_error_set(err, SP_UNAVAILABLE, "cannot make the private folder %s",
				  sandbox->dir);
	return rc ? rc
		  : render_upload(sandbox->core, sandbox->id, sp_buf_str(&path), data, len, cancel,
				  err);
}

/* Writes the overlay; whatever goes wrong, the next command writes it again first. */
static int upload_set(struct render_sandbox *sandbox, const struct render_env_set *set,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	int rc = 0;

	for (size_t i = 0; i < set->len; i++) {
		const struct sp_env one = {set->names[i], set->values[i]};

		render_compose_env(&one, 1, &text);
	}
	if (text.error)
		return sp_error_set(err, SP_INVALID, "the environment is too large");
	atomic_store(&sandbox->env_dirty, true);
	rc = render_upload_private(sandbox, "env", sp_buf_str(&text), text.len, cancel, err);
	if (!rc)
		atomic_store(&sandbox->env_dirty, false);
	if (text.data)
		explicit_bzero(text.data, text.len);
	return rc;
}

static void forget_kept(struct render_sandbox *sandbox)
{
	if (sandbox->kept.data)
		explicit_bzero(sandbox->kept.data, sandbox->kept.len);
	sp_bytes_done(&sandbox->kept);
}

void render_env_keep(struct render_sandbox *sandbox, struct sp_bytes *bytes)
{
	forget_kept(sandbox);
	sandbox->kept = *bytes;
	*bytes = (struct sp_bytes)SP_BYTES_INIT;
}

/* Beside its place first, and then there only if nobody else has written meanwhile. */
static int upload_kept(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc = render_upload_private(sandbox, "env.back", sandbox->kept.data, sandbox->kept.len,
				       cancel, err);

	if (rc)
		return rc;
	if (render_fill_in(PUT_BACK, sandbox->dir, &text))
		return sp_error_set(err, SP_INTERNAL, "no memory for a command");
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, cancel,
			  &result, err);
	if (!rc && result.exit_code)
		rc = sp_error_set(err, SP_UNAVAILABLE, "the environment cannot be put back");
	return rc;
}

int render_env_put_back(struct render_sandbox *sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int rc;

	if (!sandbox->kept.data)
		return 0;
	atomic_store(&sandbox->env_dirty, true);
	rc = upload_kept(sandbox, cancel, err);
	if (rc)
		return rc;
	atomic_store(&sandbox->env_dirty, false);
	forget_kept(sandbox);
	return 0;
}

int render_env_refresh(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	int rc;

	if (!atomic_load(&sandbox->env_dirty))
		return 0;
	if (!sandbox->kept.data)
		return upload_set(sandbox, &sandbox->env, cancel, err);
	/* Starts share the queue: what is kept stays until somebody has it alone. */
	rc = upload_kept(sandbox, cancel, err);
	if (!rc)
		atomic_store(&sandbox->env_dirty, false);
	return rc;
}

/* With the queue alone. */
static int replace_env(struct render_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_env_set merged SP_CLEANUP(render_env_done) = {0};
	struct render_env_set old;
	int rc = merge(&sandbox->env, env, n_env, &merged, err);

	if (!rc && sandbox->core->steps.env_refuses_long)
		rc = check_size(size_of_set(&merged), err);
	if (rc)
		return rc;
	rc = upload_set(sandbox, &merged, cancel, err);
	if (rc) {
		/* An upload that never reached the service has changed nothing. */
		if (!sandbox->env.len && !sandbox->kept.data)
			atomic_store(&sandbox->env_dirty, rc == SP_UNKNOWN_OUTCOME);
		return rc;
	}
	forget_kept(sandbox);
	old = sandbox->env;
	sandbox->env = merged;
	merged = old;
	return 0;
}

int render_env_set(void *self, const struct sp_env *env, size_t n_env, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	const struct sp_render_steps *steps = &sandbox->core->steps;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc && steps->names_before_merge)
		rc = render_check_names(sandbox->core, env, n_env, err);
	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (!rc)
		rc = render_queue_enter(sandbox, true, cancel, err);
	if (rc)
		return rc;
	rc = replace_env(sandbox, env, n_env, cancel, err);
	render_queue_leave(sandbox, true);
	return rc || steps->names_before_merge ? rc
					       : render_check_names(sandbox->core, env, n_env, err);
}
