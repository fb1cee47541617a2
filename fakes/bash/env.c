/* SPDX-License-Identifier: MIT */
#include <fakes/bash/internal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

static void env_done(char ***envp)
{
	fake_env_free(*envp);
}

void fake_env_free(char **envp)
{
	for (size_t i = 0; envp && envp[i]; i++)
		free(envp[i]);
	free(envp);
}

/* Sets a variable, in the place of an earlier one of the same name. */
static int put(char **envp, const char *name, const char *value)
{
	size_t len = strlen(name);
	size_t at = 0;
	char *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -1;
	while (envp[at] && (strncmp(envp[at], name, len) || envp[at][len] != '='))
		at++;
	free(envp[at]);
	envp[at] = text;
	return 0;
}

static int check(const struct sp_env *env, struct sp_error *err)
{
	if (!env->name[0] || strchr(env->name, '='))
		return sp_error_set(err, SP_INVALID,
				    "a variable's name is empty or holds an equals sign");
	if (strlen(env->name) + strlen(env->value) + 2 > FAKE_ARG_BYTES)
		return sp_error_set(err, SP_INVALID,
				    "variable %.64s is longer than the %d bytes that a program can "
				    "be given",
				    env->name, FAKE_ARG_BYTES);
	return 0;
}

int fake_env_make(const char *home, const struct sp_env *env, size_t n_env, char ***ret_envp,
		  struct sp_error *err)
{
	const struct sp_env basic[] = {
		{ "HOME", home },
		{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "USER", "root" },
		{ "LOGNAME", "root" },
		{ "LANG", "C.UTF-8" },
		{ "SHELL", "/bin/bash" },
	};
	char **envp SP_CLEANUP(env_done) = calloc(SP_COUNT(basic) + n_env + 1, sizeof(*envp));
	int failed = !envp;

	for (size_t i = 0; !failed && i < SP_COUNT(basic); i++)
		failed = put(envp, basic[i].name, basic[i].value);
	for (size_t i = 0; !failed && i < n_env; i++) {
		int rc = check(&env[i], err);

		if (rc)
			return rc;
		failed = put(envp, env[i].name, env[i].value);
	}
	if (failed)
		return sp_error_set(err, SP_INTERNAL, "no memory for an environment");
	*ret_envp = SP_TAKE(envp);
	return 0;
}
