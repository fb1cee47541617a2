/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <string.h>

/*
 * Names whose value would not arrive: bash makes them itself, keeps them
 * read-only, or resets them when it starts. Measured with bash 5.2 in both
 * directions: what `$NAME` gives, and what a child of the shell inherits.
 */
static const char *const not_delivered[] = {
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_LINENO",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "BASH_VERSION",
    "COMP_WORDBREAKS",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "IFS",
    "LINENO",
    "OLDPWD",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "_",
    /* Ours: replacing one would put a command out of reach of its own kill. */
    LOCAL_MARK_RUN,
    LOCAL_MARK_SANDBOX,
};

static bool is_name(const char *text)
{
	if (*text == '\0' || (*text >= '0' && *text <= '9'))
		return false;
	for (; *text; text++) {
		if (!((*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z') ||
		      (*text >= '0' && *text <= '9') || *text == '_'))
			return false;
	}
	return true;
}

static int check_one(const struct sp_env *var, size_t place, struct sp_error *err)
{
	/* A text that is no name may be a value in the wrong place: it is never quoted. */
	if (!var->name || !is_name(var->name))
		return sp_error_set(
		    err, SP_INVALID,
		    "variable %zu: its name is not of the form [A-Za-z_][A-Za-z0-9_]*", place);
	if (!var->value)
		return sp_error_set(err, SP_INVALID, "variable %.64s has no value", var->name);
	for (size_t i = 0; i < SP_COUNT(not_delivered); i++) {
		if (!strcmp(var->name, not_delivered[i]))
			return sp_error_set(
			    err, SP_INVALID,
			    "variable %s is the shell's or the provider's own and would not "
			    "arrive; use another name",
			    var->name);
	}
	if (strlen(var->name) + strlen(var->value) + 2 > LOCAL_ARG_MAX)
		return sp_error_set(
		    err, SP_INVALID,
		    "variable %.64s is longer than the %d bytes that the kernel hands over",
		    var->name, LOCAL_ARG_MAX);
	return 0;
}

int local_env_check(const struct sp_env *env, size_t n_env, struct sp_error *err)
{
	if (n_env > 0 && !env)
		return sp_error_set(err, SP_INVALID, "%zu variables and no list of them", n_env);
	for (size_t i = 0; i < n_env; i++) {
		int rc = check_one(&env[i], i + 1, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void drop(char *var)
{
	if (var)
		explicit_bzero(var, strlen(var));
	free(var);
}

void local_env_done(struct local_env *env)
{
	for (size_t i = 0; i < env->len; i++)
		drop(env->vars[i]);
	free(env->vars);
	*env = (struct local_env){0};
}

/* Index of the variable that `var` ("K=V") would replace, or the length. */
static size_t find(const struct local_env *env, const char *var)
{
	size_t name_len = (size_t)(strchr(var, '=') - var) + 1;
	size_t i = 0;

	while (i < env->len && strncmp(env->vars[i], var, name_len))
		i++;
	return i;
}

/* Takes `var` over; false when memory is short. */
static bool put(struct local_env *env, char *var)
{
	size_t i = find(env, var);

	if (i < env->len) {
		drop(env->vars[i]);
		env->vars[i] = var;
		return true;
	}
	char **vars = reallocarray(env->vars, env->len + 2, sizeof(*vars));
	if (!vars) {
		drop(var);
		return false;
	}
	env->vars = vars;
	env->vars[env->len++] = var;
	env->vars[env->len] = NULL;
	return true;
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "no memory for the environment");
}

int local_env_put(struct local_env *env, const char *name, const char *value, struct sp_error *err)
{
	char *var = NULL;

	if (asprintf(&var, "%s=%s", name, value) < 0 || !put(env, var))
		return no_memory(err);
	return 0;
}

int local_env_overlay(struct local_env *env, const struct local_env *from, struct sp_error *err)
{
	for (size_t i = 0; i < from->len; i++) {
		char *var = strdup(from->vars[i]);
		if (!var || !put(env, var))
			return no_memory(err);
	}
	return 0;
}

/* What the kernel takes together is 2 MiB with the usual stack, arguments and pointers included. */
static int check_total(const struct local_env *env, struct sp_error *err)
{
	size_t total = 0;

	for (size_t i = 0; i < env->len; i++)
		total += strlen(env->vars[i]) + 1;
	if (total <= LOCAL_ENV_MAX)
		return 0;
	return sp_error_set(err, SP_INVALID,
			    "the variables have %zu bytes together, and a program can be given %d",
			    total, LOCAL_ENV_MAX);
}

int local_env_merge(struct local_env *env, const struct sp_env *vars, size_t n_vars,
		    struct sp_error *err)
{
	struct local_env merged SP_CLEANUP(local_env_done) = {0};
	int rc = local_env_overlay(&merged, env, err);

	for (size_t i = 0; rc == 0 && i < n_vars; i++)
		rc = local_env_put(&merged, vars[i].name, vars[i].value, err);
	if (rc == 0)
		rc = check_total(&merged, err);
	if (rc < 0)
		return rc;
	struct local_env old = *env;
	*env = merged;
	merged = old;
	return 0;
}
