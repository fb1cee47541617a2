/* SPDX-License-Identifier: MIT */
/* Faults of the folder and of the environment of one command. */
#include "exec_faults.h"

#include <string.h>

/* ---- Folder ---- */

static int default_lost_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			     struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed = *options;

	if (!changed.cwd)
		changed.cwd = "/";
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks default_lost = { .exec = default_lost_exec };
FAULT_WRAP(wrap_default_lost, default_lost)

/* cd "$cwd" 2>/dev/null; run anyway */
static int missing_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options anyway = *options;
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	anyway.cwd = NULL;
	return rc == SP_NOT_FOUND ? sp_sandbox_exec(&sandbox->inner, &anyway, ret_result, err) : rc;
}

static const struct fault_hooks missing = { .exec = missing_exec };
FAULT_WRAP(wrap_missing, missing)

static int folder_ignored_spawn(struct fault_sandbox *sandbox,
				const struct sp_exec_options *options,
				struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options changed = *options;

	changed.cwd = NULL;
	return sp_sandbox_spawn(&sandbox->inner, &changed, &process->inner, err);
}

static const struct fault_hooks folder_ignored = { .spawn = folder_ignored_spawn };
FAULT_WRAP(wrap_folder_ignored, folder_ignored)

static int unquoted_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options changed = *options;

	/*
	 * A plain folder goes the healthy way: its mapping and its errors
	 * are not this fault's matter.
	 */
	if (!options->cwd || !options->cwd[strspn(options->cwd, plain)])
		return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	sp_buf_addf(&text, "cd %s||exit 126;%s", options->cwd, options->command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	changed.command = sp_buf_str(&text);
	changed.cwd = NULL;
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks unquoted = { .exec = unquoted_exec };
FAULT_WRAP(wrap_unquoted, unquoted)

/* ---- Environment ---- */

/* Variables of one command are set for the whole sandbox. */
static int sticks_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	int rc = options->n_env ? sp_sandbox_env_set(&sandbox->inner, options->env, options->n_env,
						     options->cancel, err)
				: 0;

	changed.env = NULL;
	changed.n_env = 0;
	return rc < 0 ? rc : sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks sticks = { .exec = sticks_exec };
FAULT_WRAP(wrap_sticks, sticks)

/*
 * A copy of `value` in which each newline is the two characters of its escape; NULL without memory.
 */
static char *escaped(const char *value)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	for (const char *c = value; *c; c++) {
		if (*c == '\n')
			sp_buf_adds(&out, "\\n");
		else
			sp_buf_addc(&out, *c);
	}
	return sp_buf_take(&out, NULL);
}

static int escaped_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	struct sp_env *env = calloc(options->n_env + 1, sizeof(*env));
	bool whole = env;
	int rc;

	for (size_t i = 0; env && i < options->n_env; i++) {
		env[i].name = options->env[i].name;
		env[i].value = escaped(options->env[i].value);
		whole = whole && env[i].value;
	}
	changed.env = env;
	rc = whole ? sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err)
		   : sp_error_set(err, SP_INTERNAL, "no memory for variables");
	for (size_t i = 0; env && i < options->n_env; i++)
		free((char *)env[i].value);
	free(env);
	return rc;
}

static const struct fault_hooks newline_escaped = { .exec = escaped_exec };
FAULT_WRAP(wrap_newline_escaped, newline_escaped)

/* A refused variable is left out, and the command runs without it. */
static int names_dropped_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			      struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options bare = *options;
	int rc = sp_sandbox_exec(&sandbox->inner, options, ret_result, err);

	bare.env = NULL;
	bare.n_env = 0;
	return rc == SP_INVALID && options->n_env
		       ? sp_sandbox_exec(&sandbox->inner, &bare, ret_result, err)
		       : rc;
}

static const struct fault_hooks names_dropped = { .exec = names_dropped_exec };
FAULT_WRAP(wrap_names_dropped, names_dropped)

static const struct sp_fault faults[] = {
	EXEC_FAULT("spawn-folder-ignored", folder_ignored, "X5",
		   "A spawned command starts in the default folder, whichever was named.",
		   FAULT_LIST("field:X25"), FAULT_LIST("exec.spawn.folder-and-redirection")),
	EXEC_FAULT("cwd-default-lost", default_lost, "X9",
		   "A command without a folder starts in /.",
		   FAULT_LIST("contract:C175", "contract:1.4", "render:34"),
		   FAULT_LIST("exec.cwd.default"), .control = "exec.output.apart"),
	EXEC_FAULT("cwd-missing-ignored", missing, "X9",
		   "A command whose folder is missing runs in the default one.",
		   FAULT_LIST("field:X24", "contract:C138", "render:34"),
		   FAULT_LIST("exec.cwd.missing")),
	EXEC_FAULT("cwd-unquoted", unquoted, "X9",
		   "The folder is put into the shell's text as it is.", FAULT_LIST("field:X25"),
		   FAULT_LIST("exec.cwd.odd-names")),
	EXEC_FAULT("call-env-sticks", sticks, "X10",
		   "Variables of one command stay for the commands after it.",
		   FAULT_LIST("field:E11", "contract:1.4"), FAULT_LIST("exec.env.one-command")),
	EXEC_FAULT("env-newline-escaped", newline_escaped, "X10",
		   "A newline in a value arrives as two characters.",
		   FAULT_LIST("field:E08", "contract:C110"), FAULT_LIST("exec.env.exact-values")),
	EXEC_FAULT("env-bad-names-dropped", names_dropped, "X10",
		   "A command whose variables are refused runs without them.",
		   FAULT_LIST("field:E09", "field:E10", "contract:C106"),
		   FAULT_LIST("exec.env.refused-names")),
};
FAULT_TABLE(fault_exec_place, faults);
