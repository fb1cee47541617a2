/* SPDX-License-Identifier: MIT */
#include <witness/vars.h>

#include <stdlib.h>

#include <base/buf.h>
#include <witness/twopath.h>

/* More than this are compared as one. */
#define ONE_BY_ONE 24

const char *sp_vars_command(struct sp_case *t, const struct sp_env *expected, size_t n)
{
	const char *names = "";

	if (n > ONE_BY_ONE) {
		for (size_t i = 0; i < n; i++)
			names = sp_case_format(t, "%s -e '^%s='", names, expected[i].name);
		return sp_case_format(t, "export LC_ALL=C; env -0 | grep -az%s | sort -z | cksum",
				      names);
	}
	for (size_t i = 0; i < n; i++)
		names = sp_case_format(t, "%s %s", names, expected[i].name);
	return sp_case_format(t, "for n in%s; do env -0 | LC_ALL=C grep -az \"^$n=\" | cksum; done",
			      names);
}

/* One line of sp_vars_command(). */
static const char *line_of(struct sp_case *t, const struct sp_env *var)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	if (var->value) {
		sp_buf_addf(&whole, "%s=", var->name);
		sp_buf_add(&whole, var->value, strlen(var->value) + 1);
	}
	return sp_case_format(t, "%s: crc %u length %zu", var->name,
			      sp_cksum(whole.data, whole.len), whole.len);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All of them, in the order of their bytes, each with its NUL. */
static bool found_as_one(struct sp_case *t, const char *printed, const struct sp_env *expected,
			 size_t n, struct sp_where where, const char *what)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	const char **lines = calloc(n, sizeof(*lines));
	unsigned crc = 0;
	size_t len = 0;

	for (size_t i = 0; lines && i < n; i++)
		lines[i] = sp_case_format(t, "%s=%s", expected[i].name, expected[i].value);
	if (lines)
		qsort(lines, n, sizeof(*lines), by_bytes);
	for (size_t i = 0; lines && i < n; i++)
		sp_buf_add(&whole, lines[i], strlen(lines[i]) + 1);
	free(lines);
	if (printed)
		(void)sscanf(printed, "%u %zu", &crc, &len);
	return sp_check_str(
	    t, sp_case_format(t, "crc %u length %zu", sp_cksum(whole.data, whole.len), whole.len),
	    sp_case_format(t, "crc %u length %zu", crc, len), where, "%s: %zu variables as one",
	    what, n);
}

bool sp_vars_found(struct sp_case *t, const char *printed, const struct sp_env *expected, size_t n,
		   struct sp_where where, const char *what)
{
	const char *line = printed;

	if (n > ONE_BY_ONE)
		return found_as_one(t, printed, expected, n, where, what);
	for (size_t i = 0; i < n; i++) {
		unsigned crc = 0;
		size_t len = 0;
		const char *found = "nothing";

		if (line && sscanf(line, "%u %zu", &crc, &len) == 2)
			found =
			    sp_case_format(t, "%s: crc %u length %zu", expected[i].name, crc, len);
		if (!sp_check_str(t, line_of(t, &expected[i]), found, where, "%s: %s%s", what,
				  expected[i].name, expected[i].value ? "" : " is absent"))
			return false;
		line = line ? strchr(line, '\n') : NULL;
		line = line ? line + 1 : NULL;
	}
	return true;
}

static struct sp_exec_options options_of(struct sp_case *t, const char *command,
					 const struct sp_env *given, size_t n_given)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = command;
	options.env = given;
	options.n_env = n_given;
	options.cancel = sp_case_cancel(t);
	return options;
}

bool sp_vars_arrive(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *given,
		    size_t n_given, const struct sp_env *expected, size_t n, struct sp_where where,
		    const char *what)
{
	struct sp_exec_options options =
	    options_of(t, sp_vars_command(t, expected, n), given, n_given);
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_exec(sandbox, &options, &result, &err);

	return sp_check_ok(t, rc, &err, where, "%s: exec answers", what) &&
	       sp_vars_found(t, (char *)result.stdout_bytes.data, expected, n, where, what);
}

bool sp_vars_arrive_spawned(struct sp_case *t, struct sp_sandbox *sandbox,
			    const struct sp_env *given, size_t n_given,
			    const struct sp_env *expected, size_t n, struct sp_where where,
			    const char *what)
{
	struct sp_exec_options options =
	    options_of(t, sp_vars_command(t, expected, n), given, n_given);
	struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_exit exit;

	return sp_spawn_with(t, sandbox, &child, &options) &&
	       sp_spawned_read(&child, SP_STDOUT, SP_BUF_LINE, &out) &&
	       sp_spawned_wait(&child, &exit) &&
	       sp_vars_found(t, (char *)out.data, expected, n, where, what);
}

bool sp_vars_set(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_env *env, size_t n,
		 struct sp_where where, const char *what)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_env_set(sandbox, env, n, sp_case_cancel(t), &err);

	return sp_check_ok(t, rc, &err, where, "%s", what);
}

/* What a call on a thread sets; freed by the case's own memory. */
struct set {
	struct sp_sandbox *sandbox;
	const struct sp_env *var;
};

static int run_set(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct set set = *(struct set *)arg;

	free(arg);
	return sp_sandbox_env_set(set.sandbox, set.var, 1, cancel, &result->err);
}

struct sp_call *sp_vars_set_call(struct sp_case *t, struct sp_sandbox *sandbox,
				 const struct sp_env *var)
{
	struct set *set = malloc(sizeof(*set));
	struct sp_call *call;

	if (!set) {
		sp_case_error(t, SP_HERE, "no memory for a call");
		return NULL;
	}
	*set = (struct set){sandbox, var};
	call = sp_call_start(t, run_set, set);
	if (!call)
		free(set);
	return call;
}

void sp_secret_make(struct sp_case *t, struct sp_secret *secret)
{
	sp_canary_make(t, &secret->canary);
	secret->value =
	    sp_case_format(t, "p'\"$(id) %%/+&\\\xc3\xa9\n%s=!`x`\t'", secret->canary.text);
}

bool sp_secret_check_no_file(struct sp_case *t, struct sp_sandbox *sandbox,
			     const struct sp_secret *secret, struct sp_where where,
			     const char *what)
{
	const char *files = sp_search_files(t, sandbox, &secret->canary);

	return files && sp_check_str(t, "", files, where, "%s: files that hold the secret", what);
}

bool sp_secret_outside_memory(struct sp_case *t, const char *files)
{
	const char *memory = sp_case_capabilities(t)->memory_dir;
	size_t len = memory ? strlen(memory) : 0;

	while (files && *files) {
		if (!memory || strncmp(files, memory, len) || files[len] != '/')
			return true;
		files = strchr(files, '\n');
		files = files ? files + 1 : NULL;
	}
	return false;
}

struct sp_sandbox sp_vars_create(struct sp_case *t, const struct sp_env *env, size_t n)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.env = env;
	options.n_env = n;
	options.cancel = sp_case_cancel(t);
	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), &options, &sandbox, &err);
	if (SP_CHECK_OK(t, rc, &err, "create with %zu variables", n))
		sp_case_own_sandbox(t, sp_sandbox_id(&sandbox));
	return sandbox;
}

bool sp_holder_start(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_holder *holder)
{
	static const struct sp_place_options stocked = {.stock = SP_STOCK_FIFO("told")};
	struct sp_env var = {"SP_HELD", NULL};
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_fifo fifo;
	const char *line;

	sp_secret_make(t, &holder->secret);
	var.value = holder->secret.value;
	if (!sp_place_open_with(t, sandbox, "held", &stocked, &holder->place) ||
	    !sp_fifo_make(&holder->place, "told", &fifo))
		return false;
	options.command =
	    sp_case_format(t, "{ echo $$ $(%s); } >%s; %s sh -c '%s'%s",
			   sp_vars_command(t, &var, 1), fifo.path,
			   holder->shell_stays ? "" : "exec", holder->place.hold,
			   holder->shell_stays ? "; :" : "");
	options.env = &var;
	options.n_env = 1;
	if (!sp_spawn_with(t, sandbox, &holder->child, &options))
		return false;
	line = sp_fifo_take(&fifo);
	if (!line)
		return false;
	holder->pid = sp_case_format(t, "%.*s", (int)strcspn(line, " "), line);
	return sp_vars_found(t, line + strcspn(line, " "), &var, 1, SP_HERE,
			     "a spawned command's own variable");
}

void sp_holder_done(struct sp_holder *holder)
{
	sp_spawned_done(&holder->child);
	sp_place_close(&holder->place);
}
