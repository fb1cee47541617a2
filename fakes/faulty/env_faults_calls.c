/* SPDX-License-Identifier: MIT */
/*
 * Faults of the env suite on any provider: variables that are changed, lost, or told on their way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

extern char **environ;

/* Variables of a fault's own; values may be NULL while they are made. */
struct vars {
	struct sp_env *env;
	size_t len;
	/* Every text that was made, by index. */
	char **made;
};

static void vars_done(struct vars *vars)
{
	for (size_t i = 0; vars->made && i < vars->len; i++)
		free(vars->made[i]);
	free(vars->made);
	free(vars->env);
}

/* How one variable is changed: true keeps it, `ret_made` is its new value or NULL. */
typedef bool (*change_fn)(const struct sp_env *var, size_t place, char **ret_made);

static int change(const struct sp_env *env, size_t n_env, change_fn fn, struct vars *ret_vars,
		  struct sp_error *err)
{
	ret_vars->env = calloc(n_env + 1, sizeof(*ret_vars->env));
	ret_vars->made = calloc(n_env + 1, sizeof(*ret_vars->made));
	if (!ret_vars->env || !ret_vars->made)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	for (size_t i = 0; i < n_env; i++) {
		size_t at = ret_vars->len;

		if (!fn(&env[i], i, &ret_vars->made[at]))
			continue;
		ret_vars->env[at] = env[i];
		if (ret_vars->made[at])
			ret_vars->env[at].value = ret_vars->made[at];
		ret_vars->len++;
	}
	return 0;
}

/* Every call that carries variables, with `fn` applied to them. */
static int exec_changed_env(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			    change_fn fn, struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct vars vars SP_CLEANUP(vars_done) = { 0 };
	struct sp_exec_options changed = *options;
	int rc = change(options->env, options->n_env, fn, &vars, err);

	changed.env = vars.env;
	changed.n_env = vars.len;
	return rc ? rc : sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static int set_changed_env(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
			   change_fn fn, struct sp_cancel *cancel, struct sp_error *err)
{
	struct vars vars SP_CLEANUP(vars_done) = { 0 };
	int rc = change(env, n_env, fn, &vars, err);

	return rc ? rc : sp_sandbox_env_set(&sandbox->inner, vars.env, vars.len, cancel, err);
}

/* Defines the wrap function of a fault that applies NAME_change() to exec and env_set. */
#define CHANGE_FAULT(name)                                                                         \
	static int name##_exec(struct fault_sandbox *sandbox,                                      \
			       const struct sp_exec_options *options,                              \
			       struct sp_exec_result *ret_result, struct sp_error *err)            \
	{                                                                                          \
		return exec_changed_env(sandbox, options, name##_change, ret_result, err);         \
	}                                                                                          \
	static int name##_set(struct fault_sandbox *sandbox, const struct sp_env *env,             \
			      size_t n_env, struct sp_cancel *cancel, struct sp_error *err)        \
	{                                                                                          \
		return set_changed_env(sandbox, env, n_env, name##_change, cancel, err);           \
	}                                                                                          \
	static const struct fault_hooks name = { .exec = name##_exec, .env_set = name##_set };     \
	FAULT_WRAP(wrap_##name, name)

/* ---- Values ---- */

static bool newlines_change(const struct sp_env *var, size_t place SP_UNUSED, char **ret_made)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	for (const char *c = var->value; *c; c++) {
		if (*c == '\n')
			sp_buf_adds(&out, "\\n");
		else
			sp_buf_addc(&out, *c);
	}
	*ret_made = sp_buf_take(&out, NULL);
	return true;
}
CHANGE_FAULT(newlines)

static bool empty_change(const struct sp_env *var, size_t place SP_UNUSED,
			 char **ret_made SP_UNUSED)
{
	return *var->value;
}
CHANGE_FAULT(empty)

static bool first_64_change(const struct sp_env *var SP_UNUSED, size_t place,
			    char **ret_made SP_UNUSED)
{
	return place < 64;
}
CHANGE_FAULT(first_64)

/* export NAME="VALUE" */
static int unquoted_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options changed = *options;

	for (size_t i = 0; i < options->n_env; i++)
		sp_buf_addf(&text, "export %s=\"%s\"\n", options->env[i].name,
			    options->env[i].value);
	sp_buf_adds(&text, options->command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	changed.command = sp_buf_str(&text);
	changed.env = NULL;
	changed.n_env = 0;
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}
static const struct fault_hooks unquoted = { .exec = unquoted_exec };
FAULT_WRAP(wrap_unquoted, unquoted)

/* ---- Names ---- */

static int drops_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
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

/* What is refused is left out, one by one. */
static int drops_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n_env; i++) {
		rc = sp_sandbox_env_set(&sandbox->inner, &env[i], 1, cancel, err);
		rc = rc == SP_INVALID ? 0 : rc;
	}
	return rc;
}
static const struct fault_hooks drops = { .exec = drops_exec, .env_set = drops_set };
FAULT_WRAP(wrap_drops, drops)

/* ---- Setting ---- */

/* A name that has a value keeps it; told apart by what a command sees. */
static int first_stays_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < n_env; i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_addf(&text, "[ \"${%s+set}\" ]", env[i].name);
		if (!text.error && !fault_inner_shell(sandbox, sp_buf_str(&text), cancel))
			continue;
		rc = sp_sandbox_env_set(&sandbox->inner, &env[i], 1, cancel, err);
	}
	return rc;
}
static const struct fault_hooks first_stays = { .env_set = first_stays_set };
FAULT_WRAP(wrap_first_stays, first_stays)

static int call_stays_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			   struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	int rc = options->n_env ? sp_sandbox_env_set(&sandbox->inner, options->env, options->n_env,
						     options->cancel, err)
				: 0;

	changed.env = NULL;
	changed.n_env = 0;
	return rc ? rc : sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static int call_stays_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			    struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	int rc = options->n_env ? sp_sandbox_env_set(&sandbox->inner, options->env, options->n_env,
						     options->cancel, err)
				: 0;

	changed.env = NULL;
	changed.n_env = 0;
	return rc ? rc : sp_sandbox_spawn(&sandbox->inner, &changed, &process->inner, err);
}
static const struct fault_hooks call_stays = { .exec = call_stays_exec, .spawn = call_stays_spawn };
FAULT_WRAP(wrap_call_stays, call_stays)

/* Creation goes by a file of lines. */
static bool escape_newline(const struct sp_env *var, size_t place SP_UNUSED, char **ret_made)
{
	struct sp_buf made SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	for (const char *at = var->value; *at; at++)
		if (*at == '\n')
			sp_buf_adds(&made, "\\n");
		else
			sp_buf_addc(&made, *at);
	*ret_made = sp_buf_take(&made, NULL);
	return true;
}

static int create_escapes_create(struct sp_provider *inner, const struct sp_create_options *options,
				 struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct vars vars SP_CLEANUP(vars_done) = { 0 };
	struct sp_create_options changed = *options;
	int rc = change(options->env, options->n_env, escape_newline, &vars, err);

	changed.env = vars.env;
	changed.n_env = vars.len;
	return rc ? rc : sp_provider_create(inner, &changed, ret_inner, err);
}
static const struct fault_hooks create_escapes = { .create = create_escapes_create };
FAULT_WRAP(wrap_create_escapes, create_escapes)

/* A create whose variables are refused goes without them. */
static int create_drops_create(struct sp_provider *inner, const struct sp_create_options *options,
			       struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options bare = *options;
	int rc = sp_provider_create(inner, options, ret_inner, err);

	bare.env = NULL;
	bare.n_env = 0;
	return rc == SP_INVALID ? sp_provider_create(inner, &bare, ret_inner, err) : rc;
}
static const struct fault_hooks create_drops = { .create = create_drops_create };
FAULT_WRAP(wrap_create_drops, create_drops)

static int create_ignored_create(struct sp_provider *inner, const struct sp_create_options *options,
				 struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.env = NULL;
	changed.n_env = 0;
	return sp_provider_create(inner, &changed, ret_inner, err);
}
static const struct fault_hooks create_ignored = { .create = create_ignored_create };
FAULT_WRAP(wrap_create_ignored, create_ignored)

/*
 * The handle that was made with the sandbox remembers its own and gives it to each of its commands.
 */
static int keeps_own_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			  struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed = *options;
	struct sp_env kept = { "SP_TOKEN", sandbox->data };

	if (sandbox->data && !options->n_env) {
		changed.env = &kept;
		changed.n_env = 1;
	}
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static int keeps_own_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	for (size_t i = 0; i < n_env; i++)
		if (!strcmp(env[i].name, "SP_TOKEN")) {
			free(sandbox->data);
			sandbox->data = strdup(env[i].value);
		}
	return sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err);
}
static const struct fault_hooks keeps_own = { .exec = keeps_own_exec, .env_set = keeps_own_set };
FAULT_WRAP(wrap_keeps_own, keeps_own)

/* The creation sets; nothing does afterwards. */
static int first_wins_set(struct fault_sandbox *sandbox SP_UNUSED,
			  const struct sp_env *env SP_UNUSED, size_t n_env SP_UNUSED,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_cancel_check(cancel, err);
}
static const struct fault_hooks first_wins = { .env_set = first_wins_set };
FAULT_WRAP(wrap_first_wins, first_wins)

static int silent_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		      struct sp_cancel *cancel, struct sp_error *err SP_UNUSED)
{
	int rc = sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, NULL);

	return rc == SP_INVALID ? rc : 0;
}
static const struct fault_hooks silent = { .env_set = silent_set };
FAULT_WRAP(wrap_silent, silent)

/* ---- Secrecy ---- */

/* A copy of the shell's state, kept for the next command. */
static int state_file_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			   struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options changed = *options;

	sp_buf_addf(&text, "export -p >\"${HOME:-/root}/.state.sh\"\n%s", options->command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	changed.command = sp_buf_str(&text);
	return sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}
static const struct fault_hooks state_file = { .exec = state_file_exec };
FAULT_WRAP(wrap_state_file, state_file)

/* spawn({ env: { ...process.env, ...env } }) */
static int host_leaks_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			   struct sp_exec_result *ret_result, struct sp_error *err)
{
	const char *value = getenv("SANDPROOF_HOST_SECRET");
	struct sp_env *env = calloc(options->n_env + 1, sizeof(*env));
	struct sp_exec_options changed = *options;
	int rc;

	if (!env)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	for (size_t i = 0; i < options->n_env; i++)
		env[i] = options->env[i];
	env[options->n_env] = (struct sp_env){ "SANDPROOF_HOST_SECRET", value };
	changed.env = env;
	changed.n_env += value != NULL;
	rc = sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
	free(env);
	return rc;
}
static const struct fault_hooks host_leaks = { .exec = host_leaks_exec };
FAULT_WRAP(wrap_host_leaks, host_leaks)

/* https://TOKEN@HOST in the command's text */
/* Debug output that stayed. */
static int logs_env_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
			struct sp_cancel *cancel, struct sp_error *err)
{
	for (size_t i = 0; i < n_env; i++)
		fprintf(stderr, "env_set %s=%s\n", env[i].name, env[i].value);
	return sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err);
}
static const struct fault_hooks logs_values = { .env_set = logs_env_set };
FAULT_WRAP(wrap_logs_values, logs_values)

static int git_in_text(struct fault_sandbox *sandbox, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options exec = SP_EXEC_OPTIONS_INIT;
	int rc;

	sp_buf_addf(&text, "export GIT_ASKPASS_TOKEN='%s'; git -c http.extraHeader='%s' %s ",
		    options->token ? options->token : "", options->token ? options->token : "",
		    options->verb);
	sp_buf_add_shell(&text, options->url ? options->url : "");
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	exec.command = sp_buf_str(&text);
	exec.cancel = options->cancel;
	rc = sp_sandbox_exec(&sandbox->inner, &exec, ret_result, err);
	if (!rc && ret_result->exit_code)
		return sp_error_set(err, SP_IO, "git failed");
	return rc;
}
static const struct fault_hooks git_text = { .git = git_in_text };
FAULT_WRAP(wrap_git_text, git_text)

/* ---- Errors ---- */

/* "cannot run with {\"K\": \"V\"}" */
static int told(int rc, const struct sp_env *env, size_t n_env, struct sp_error *err)
{
	struct sp_error before = SP_ERROR_INIT;

	if (!err)
		return rc;
	before = *err;
	return rc && n_env ? sp_error_set(err, rc, "%.400s; it was %.64s=%.400s", before.message,
					  env->name, env->value)
			   : rc;
}

static int told_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	return told(sp_sandbox_exec(&sandbox->inner, options, ret_result, err), options->env,
		    options->n_env, err);
}

static int told_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	return told(sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err), env, n_env, err);
}
static const struct fault_hooks tells_value = { .exec = told_exec, .env_set = told_set };
FAULT_WRAP(wrap_tells_value, tells_value)

static int quotes_set(struct fault_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_env_set(&sandbox->inner, env, n_env, cancel, err);

	return rc == SP_INVALID && n_env
		       ? sp_error_set(err, rc, "no variable can be named \"%.200s\"", env->name)
		       : rc;
}
static const struct fault_hooks quotes_name = { .env_set = quotes_set };
FAULT_WRAP(wrap_quotes_name, quotes_name)

/* The variables of a command as statements in front of its text, which is the caller's to free. */
static int prefix(const struct sp_exec_options *options, struct sp_exec_options *ret_changed,
		  char **ret_text, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	for (size_t i = 0; i < options->n_env; i++) {
		sp_buf_addf(&text, "export %s=", options->env[i].name);
		sp_buf_add_shell(&text, options->env[i].value);
		sp_buf_adds(&text, "; ");
	}
	sp_buf_adds(&text, options->command);
	*ret_text = sp_buf_take(&text, NULL);
	if (!*ret_text)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	*ret_changed = *options;
	ret_changed->command = *ret_text;
	ret_changed->n_env = 0;
	return 0;
}

static int prefix_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_options changed;
	char *text SP_FREE = NULL;
	int rc = prefix(options, &changed, &text, err);

	return rc ? rc : sp_sandbox_exec(&sandbox->inner, &changed, ret_result, err);
}

static int prefix_spawn(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct fault_process *process, struct sp_error *err)
{
	struct sp_exec_options changed;
	char *text SP_FREE = NULL;
	int rc = prefix(options, &changed, &text, err);

	return rc ? rc : sp_sandbox_spawn(&sandbox->inner, &changed, &process->inner, err);
}
static const struct fault_hooks export_prefix = { .exec = prefix_exec, .spawn = prefix_spawn };
FAULT_WRAP(wrap_export_prefix, export_prefix)

#define ENV_FAULT(id_, name_, clause_, summary_, sources_, ...)                                    \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "env " clause_, .cases = FAULT_LIST(__VA_ARGS__), .seam = SP_FAULT_PROVIDER,   \
	  .wrap_provider = wrap_##name_ }

static const struct sp_fault faults[] = {
	ENV_FAULT("env-escapes-newlines", newlines, "E1",
		  "A newline in a value becomes a backslash and an n.",
		  FAULT_LIST("field:E08", "contract:C110"), "env.value.bytes", "env.value.shapes"),
	ENV_FAULT("env-drops-empty", empty, "E1", "A variable whose value is empty is left out.",
		  FAULT_LIST("field:E11"), "env.value.shapes"),
	ENV_FAULT("env-unquoted", unquoted, "E1",
		  "Values stand between double quotes of the shell.",
		  FAULT_LIST("field:E08", "contract:C110"), "env.value.shapes"),
	ENV_FAULT("env-first-64", first_64, "E1",
		  "Only the first 64 variables of a call are taken.", FAULT_LIST("contract:C110"),
		  "env.value.many"),
	ENV_FAULT("env-drops-bad-names", drops, "E2",
		  "A variable that cannot be delivered is left out without a word.",
		  FAULT_LIST("field:E10", "contract:C107"), "env.name.refused",
		  "env.name.all-or-none"),
	ENV_FAULT("env-first-value-stays", first_stays, "E3",
		  "A variable that is set keeps its value.", FAULT_LIST("contract:C99"),
		  "env.set.merges", "env.set.rotation"),
	ENV_FAULT("env-call-stays", call_stays, "E3",
		  "The variables of one command are set for the whole sandbox.",
		  FAULT_LIST("contract:1.6", "field:E05"), "env.set.call-wins",
		  "env.secret.other-environ"),
	ENV_FAULT("env-create-ignored", create_ignored, "E3",
		  "Variables that are given at creation reach no command.", FAULT_LIST("field:E14"),
		  "env.set.create"),
	ENV_FAULT("env-create-escapes", create_escapes, "E1",
		  "At creation a newline in a value becomes a backslash and an n.",
		  FAULT_LIST("contract:1.6", "contract:1.3"), "env.value.created"),
	ENV_FAULT("env-create-drops-bad-names", create_drops, "E2",
		  "A create whose variables are refused makes a sandbox without them.",
		  FAULT_LIST("contract:1.6", "contract:1.3"), "env.name.created"),
	ENV_FAULT("env-handle-keeps-own", keeps_own, "E3",
		  "A handle gives its commands what it set itself, whatever others set later.",
		  FAULT_LIST("contract:C99", "render:7"), "env.set.shared"),
	ENV_FAULT("env-resume-cannot-set", first_wins, "E3",
		  "A handle that found its sandbox by id gives its commands what was there before.",
		  FAULT_LIST("contract:C99"), "env.set.resume"),
	ENV_FAULT("env-set-failure-silent", silent, "E4", "An env_set that failed answers success.",
		  FAULT_LIST("contract:C114"), "env.set.failed"),
	ENV_FAULT("env-state-file", state_file, "E6",
		  "The shell's exports are kept in a file of the home.", FAULT_LIST("field:E16"),
		  "env.secret.at-rest"),
	ENV_FAULT("env-host-leaks", host_leaks, "E6",
		  "Commands get the environment of the program that uses the provider.",
		  FAULT_LIST("contract:C112", "field:E06"), "env.secret.host"),
	ENV_FAULT("env-export-prefix", export_prefix, "E5",
		  "The variables of a command stand in front of it in the shell's argument.",
		  FAULT_LIST("contract:C94", "field:E01"), "env.secret.own-argv",
		  "env.secret.argv"),
	ENV_FAULT("git-token-in-text", git_text, "E5", "A git token stands in the command's text.",
		  FAULT_LIST("contract:C96"), "env.secret.requests", "env.secret.git"),
	ENV_FAULT("env-logs-values", logs_values, "E5",
		  "What env_set is given is written to standard error.",
		  FAULT_LIST("contract:1.6", "contract:C114"), "env.secret.logs"),
	ENV_FAULT("env-value-in-error", tells_value, "E7",
		  "An error repeats the variable that the call was given.",
		  FAULT_LIST("contract:C114"), "env.error.refused", "env.error.upload",
		  "env.error.start"),
	ENV_FAULT("env-quotes-any-name", quotes_name, "E7",
		  "An error repeats a name that is none, and may be a value.",
		  FAULT_LIST("contract:C114"), "env.error.name"),
};

FAULT_TABLE(fault_env_calls, faults);
