/* SPDX-License-Identifier: MIT */
/* E7: errors tell what went wrong with which variable, never its value. */
#include <stdlib.h>

#include <suites/env/cases.h>
#include <witness/vars.h>

/*
 * Gives `var` to every call that takes variables; each error is searched. At least
 * `least` of them must be errors.
 */
static bool every_call(struct sp_case *t, const struct sp_env *var, const struct sp_secret *secret,
		       int least, const char *what)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error errors[3] = {SP_ERROR_INIT, SP_ERROR_INIT, SP_ERROR_INIT};
	int failed = 0;

	options.command = "true";
	options.env = var;
	options.n_env = 1;
	options.cancel = sp_case_cancel(t);
	failed += sp_sandbox_env_set(sandbox, var, 1, sp_case_cancel(t), &errors[0]) != 0;
	failed += sp_sandbox_exec(sandbox, &options, &result, &errors[1]) != 0;
	if (sp_case_capabilities(t)->background_processes)
		failed += sp_sandbox_spawn(sandbox, &options, &process, &errors[2]) != 0;
	sp_process_done(&process);
	for (size_t i = 0; i < SP_COUNT(errors); i++)
		if (!sp_search_check_error(t, &secret->canary, &errors[i], SP_HERE, what))
			return false;
	return SP_CHECK(t, failed >= least, "%s: %d calls are errors, of at least %d", what, failed,
			least);
}

void env_error_refused(struct sp_case *t)
{
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox made SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_secret secret;
	struct sp_env var = {"MY-KEY", NULL};
	char *big SP_FREE = NULL;
	int rc;

	SP_REQUIRE(sp_case_sandbox(t));
	sp_secret_make(t, &secret);
	var.value = secret.value;
	SP_REQUIRE(every_call(t, &var, &secret, 2, "the error about a name"));
	create.env = &var;
	create.n_env = 1;
	create.cancel = sp_case_cancel(t);
	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), &create, &made, &err);
	SP_REQUIRE(
	    SP_CHECK_CODE(t, SP_INVALID, rc, &err, "create with a name that cannot be delivered"));
	SP_REQUIRE(sp_search_check_error(t, &secret.canary, &err, SP_HERE, "a refused create"));
	if (asprintf(&big, "%s%0*d", secret.value, 1024 * 1024, 0) < 0) {
		big = NULL;
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	var = (struct sp_env){"SP_BIG", big};
	every_call(t, &var, &secret, 0, "the error about a value that is too long");
}

/* "TOKEN=secret" in the name's place: a common slip, and the name then holds the value. */
void env_error_name(struct sp_case *t)
{
	struct sp_secret secret;
	struct sp_env var = {NULL, ""};

	SP_REQUIRE(sp_case_sandbox(t));
	sp_secret_make(t, &secret);
	var.name = sp_case_format(t, "TOKEN=%s", secret.canary.text);
	every_call(t, &var, &secret, 2, "the error about a name that holds a value");
}

/* A failure that stays would hit whoever comes next in the workspace. */
struct failure {
	struct sp_control *control;
	enum sp_control_step step;
};

static void failure_done(struct failure *failure)
{
	(void)failure->control->ops->fail(failure->control->self, failure->step, 0, -1, 0, NULL);
}

/* Fails a step in several ways, and looks at what comes of it. */
static void failing(struct sp_case *t, enum sp_control_step step)
{
	static const enum sp_control_how how[] = {SP_FAIL_STATUS, SP_FAIL_DROP, SP_FAIL_EDGE,
						  SP_FAIL_LOST_ANSWER, SP_FAIL_DISK_FULL};
	struct sp_control *control = sp_case_control(t);
	struct failure set SP_CLEANUP(failure_done) = {control, step};
	struct sp_secret secret;
	struct sp_env var = {"SP_CALL", NULL};
	struct sp_error err = SP_ERROR_INIT;

	(void)set;
	SP_REQUIRE(sp_case_sandbox(t));
	sp_secret_make(t, &secret);
	var.value = secret.value;
	for (size_t i = 0; i < SP_COUNT(how) && !sp_case_failed(t); i++) {
		int rc = control->ops->fail(control->self, step, 0, (int)how[i], 500, &err);

		SP_REQUIRE(
		    SP_CHECK_OK(t, rc, &err, "control fails %s", sp_control_step_name(step)));
		SP_REQUIRE(every_call(t, &var, &secret, 1,
				      sp_case_format(t, "the error when %s fails (%d)",
						     sp_control_step_name(step), (int)how[i])));
		rc = control->ops->fail(control->self, step, 0, -1, 0, &err);
		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "control lets %s succeed",
				       sp_control_step_name(step)));
	}
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t), "true"));
}

void env_error_upload(struct sp_case *t)
{
	failing(t, SP_STEP_UPLOAD);
}

void env_error_start(struct sp_case *t)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_secret secret;
	struct sp_env var = {"SP_CALL", NULL};
	int rc;

	failing(t, SP_STEP_RUN);
	if (sp_case_failed(t))
		return;
	sp_secret_make(t, &secret);
	var.value = secret.value;
	options.command = "true";
	options.cwd = sp_case_format(t, "/tmp/%s-absent", sp_case_unique(t));
	options.env = &var;
	options.n_env = 1;
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_exec(sp_case_sandbox(t), &options, &result, &err);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "exec in a folder that is not there"));
	SP_REQUIRE(
	    sp_search_check_error(t, &secret.canary, &err, SP_HERE, "a folder that is not there"));
	sp_secret_check_no_file(t, sp_case_sandbox(t), &secret, SP_HERE, "after failed starts");
}
