/* SPDX-License-Identifier: MIT */
/* E3, E4: what is set, by whom, and for how long. */
#include <suites/env/cases.h>
#include <witness/vars.h>

void env_set_merges(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const struct sp_env first[] = {{"SP_A", "a"}, {"SP_B", "b"}};
	const struct sp_env second[] = {{"SP_B", "new b"}, {"SP_C", ""}};
	const struct sp_env both[] = {{"SP_A", "a"}, {"SP_B", "new b"}, {"SP_C", ""}};
	const struct sp_env twice[] = {{"SP_D", "one"}, {"SP_D", "two"}};

	SP_REQUIRE(sandbox && sp_vars_set(t, sandbox, first, 2, SP_HERE, "env_set"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, NULL, 0, first, 2, SP_HERE, "after the first env_set"));
	SP_REQUIRE(sp_vars_set(t, sandbox, second, 2, SP_HERE, "a second env_set"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, NULL, 0, both, 3, SP_HERE, "after the second env_set"));
	SP_REQUIRE(sp_vars_set(t, sandbox, NULL, 0, SP_HERE, "an env_set of nothing"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, NULL, 0, both, 3, SP_HERE, "after an env_set of nothing"));
	SP_REQUIRE(sp_vars_set(t, sandbox, twice, 2, SP_HERE, "an env_set with one name twice"));
	sp_vars_arrive(t, sandbox, NULL, 0, &twice[1], 1, SP_HERE, "the later of two");
}

void env_set_call_wins(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const struct sp_env base[] = {{"SP_A", "base"}, {"SP_B", "base"}, {"SP_ONLY", NULL}};
	const struct sp_env call[] = {{"SP_A", "call"}, {"SP_B", ""}, {"SP_ONLY", "call"}};

	SP_REQUIRE(sandbox && sp_vars_set(t, sandbox, base, 2, SP_HERE, "env_set"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, call, 3, call, 3, SP_HERE, "one command's own value"));
	SP_REQUIRE(sp_vars_arrive(t, sandbox, NULL, 0, base, 3, SP_HERE, "the next command"));
	if (!sp_case_capabilities(t)->background_processes)
		return;
	SP_REQUIRE(sp_vars_arrive_spawned(t, sandbox, call, 3, call, 3, SP_HERE,
					  "one spawned command's own value"));
	sp_vars_arrive_spawned(t, sandbox, NULL, 0, base, 3, SP_HERE, "the next spawned command");
}

/* {exec, spawn} × {base, own value}. */
static bool every_path(struct sp_case *t, struct sp_sandbox *handle, const struct sp_env *base,
		       size_t n)
{
	const struct sp_env own = {base->name, "own"};

	if (!sp_vars_arrive(t, handle, NULL, 0, base, n, SP_HERE, "exec") ||
	    !sp_vars_arrive(t, handle, &own, 1, &own, 1, SP_HERE, "exec with its own"))
		return false;
	return !sp_case_capabilities(t)->background_processes ||
	       (sp_vars_arrive_spawned(t, handle, NULL, 0, base, n, SP_HERE, "spawn") &&
		sp_vars_arrive_spawned(t, handle, &own, 1, &own, 1, SP_HERE, "spawn with its own"));
}

void env_set_create(struct sp_case *t)
{
	const struct sp_env base[] = {
	    {"SP_BASE", "base"}, {"FOO", "odd name"}, {"lower_case", "x"}};
	struct sp_sandbox sandbox SP_HANDLE = sp_vars_create(t, base, 3);
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sandbox.ops && every_path(t, &sandbox, base, 3));
	SP_CHECK_OK(t, sp_sandbox_destroy(&sandbox, sp_case_cancel(t), &err), &err, "destroy");
}

/* Secrets are set again on resume: what the sandbox held may be older, or nothing. */
void env_set_resume(struct sp_case *t)
{
	const struct sp_env base[] = {{"SP_BASE", "old"}, {"FOO", "odd name"}};
	const struct sp_env today[] = {{"SP_BASE", "today"}, {"FOO", "odd name"}};
	struct sp_sandbox sandbox SP_HANDLE = sp_vars_create(t, base, 2);
	struct sp_sandbox again SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sandbox.ops);
	again = sp_second_handle(t, &sandbox);
	SP_REQUIRE(again.ops &&
		   sp_vars_set(t, &again, today, 2, SP_HERE, "env_set after a resume"));
	SP_REQUIRE(every_path(t, &again, today, 2));
	SP_CHECK_OK(t, sp_sandbox_destroy(&sandbox, sp_case_cancel(t), &err), &err, "destroy");
}

/* What one handle sets reaches the commands of the others. */
void env_set_shared(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const struct sp_env first = {"SP_TOKEN", "first"}, today = {"SP_TOKEN", "today"};
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;

	SP_REQUIRE(sandbox && sp_vars_set(t, sandbox, &first, 1, SP_HERE, "env_set"));
	other = sp_second_handle(t, sandbox);
	SP_REQUIRE(other.ops && sp_vars_arrive(t, &other, NULL, 0, &first, 1, SP_HERE,
					       "a handle that found the sandbox later"));
	SP_REQUIRE(sp_vars_set(t, &other, &today, 1, SP_HERE, "env_set through the other handle"));
	sp_vars_arrive(t, sandbox, NULL, 0, &today, 1, SP_HERE,
		       "the first handle after a rotation by the other");
}

/* Sets a secret and rotates it; what was is nowhere any more. */
static void rotate(struct sp_case *t, struct sp_sandbox *first, struct sp_sandbox *second)
{
	struct sp_secret old, today;
	struct sp_env var = {"SP_TOKEN", NULL};
	const char *seen;

	sp_secret_make(t, &old);
	sp_secret_make(t, &today);
	var.value = old.value;
	SP_REQUIRE(sp_vars_set(t, first, &var, 1, SP_HERE, "env_set of a secret"));
	SP_REQUIRE(sp_vars_arrive(t, first, NULL, 0, &var, 1, SP_HERE, "the first secret"));
	var.value = today.value;
	SP_REQUIRE(sp_vars_set(t, second, &var, 1, SP_HERE, "env_set of today's secret"));
	SP_REQUIRE(sp_vars_arrive(t, second, NULL, 0, &var, 1, SP_HERE, "today's secret"));
	SP_REQUIRE(sp_secret_check_no_file(t, second, &old, SP_HERE, "after the rotation"));
	seen = sp_search_processes(t, second, &old.canary);
	SP_REQUIRE(seen);
	SP_CHECK_STR(t, "", seen, "processes that hold yesterday's secret");
}

void env_set_rotation(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	rotate(t, sandbox, sandbox);
}

void env_set_other_handle(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;

	SP_REQUIRE(sandbox);
	other = sp_second_handle(t, sandbox);
	SP_REQUIRE(other.ops);
	rotate(t, sandbox, &other);
}

/* The first write is held on its way; the second, and a command, come meanwhile. */
void env_set_concurrent(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const struct sp_env vars[] = {{"SP_ONE", "1"}, {"SP_TWO", "2"}};
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *one SP_CALL = NULL;
	struct sp_call *two SP_CALL = NULL;
	struct sp_call *command SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(sandbox);
	other = sp_second_handle(t, sandbox);
	SP_REQUIRE(other.ops && sp_gate_shut(t, sandbox, SP_STEP_UPLOAD, SP_BEFORE, &gate));
	one = sp_vars_set_call(t, sandbox, &vars[0]);
	SP_REQUIRE(one && sp_gate_await(&gate));
	two = sp_vars_set_call(t, sandbox, &vars[1]);
	/* Whether it waits for the first or overtakes it: it gets all its chances. */
	SP_REQUIRE(two && (sp_rounds_done(t, &other, two) || sp_rounds(t, &other)));
	options.command = sp_vars_command(t, vars, 2);
	command = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(command && (sp_rounds_done(t, &other, command) || sp_rounds(t, &other)));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(one);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the first env_set"));
	result = sp_call_join(two);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the second env_set"));
	result = sp_call_join(command);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "a command beside them"));
	SP_REQUIRE(sp_vars_found(t, (char *)result->exec.stdout_bytes.data, vars, 2, SP_HERE,
				 "a command that was asked for after both"));
	sp_vars_arrive(t, sandbox, NULL, 0, vars, 2, SP_HERE, "a later command");
}

void env_set_failed(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_control *control = sp_case_control(t);
	const struct sp_env before = {"SP_A", "before"}, after = {"SP_A", "after"};
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(sandbox && sp_vars_set(t, sandbox, &before, 1, SP_HERE, "env_set"));
	rc = control->ops->fail(control->self, SP_STEP_UPLOAD, 1, SP_FAIL_DISK_FULL, 0, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "control fails the next upload"));
	rc = sp_sandbox_env_set(sandbox, &after, 1, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK(t, rc != 0, "an env_set whose file does not fit is an error"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, NULL, 0, &before, 1, SP_HERE, "after a failed env_set"));
	SP_REQUIRE(sp_vars_set(t, sandbox, &after, 1, SP_HERE, "the same env_set again"));
	sp_vars_arrive(t, sandbox, NULL, 0, &after, 1, SP_HERE, "after it");
}

/* The memory-backed directory is gone, as after a restart of the platform. */
void env_set_lost(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *memory = sp_case_capabilities(t)->memory_dir;
	const struct sp_env vars[] = {{"SP_A", "a"}, {"SP_B", "b"}};
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int isolated, rc;

	SP_REQUIRE(sandbox);
	isolated = sp_search_isolated(t, sandbox);
	SP_REQUIRE(isolated >= 0);
	if (!isolated || !memory) {
		sp_skip(t, "needs a memory-backed directory of the sandbox's own");
		return;
	}
	SP_REQUIRE(sp_vars_set(t, sandbox, vars, 2, SP_HERE, "env_set"));
	SP_REQUIRE(sp_sh_ok(t, sandbox,
			    "find %s -xdev -type f -delete; find %s -xdev -mindepth 1 -type d "
			    "-empty -delete; true",
			    memory, memory));
	options.command = sp_vars_command(t, vars, 2);
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_exec(sandbox, &options, &result, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "a command after the loss"));
	sp_vars_found(t, (char *)result.stdout_bytes.data, vars, 2, SP_HERE,
		      "a command after the loss");
}
