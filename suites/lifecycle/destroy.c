/* SPDX-License-Identifier: MIT */
/* Removing: all of it, once and again, and never a failure that looks like success. */
#include <string.h>

#include <witness/shell.h>

#include "cases.h"
#include "made.h"

static const char *copy_id(struct sp_case *t, struct sp_sandbox *sandbox)
{
	return sp_case_format(t, "%s", sp_sandbox_id(sandbox));
}

void life_destroy_again(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_provider *provider = sp_case_provider(t);
	struct sp_subject *second;
	struct sp_error err = SP_ERROR_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = copy_id(t, &made);
	for (int i = 0; i < 2; i++)
		SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
				       "destroy for the %d. time", i + 1));
	for (int i = 0; i < 2; i++)
		SP_REQUIRE(SP_CHECK_OK(t,
				       sp_provider_destroy(provider, id, sp_case_cancel(t), &err),
				       &err, "destroy by id of what is gone"));
	second = sp_case_second(t);
	SP_REQUIRE(second != NULL);
	SP_CHECK_OK(t, sp_provider_destroy(&second->provider, id, sp_case_cancel(t), &err), &err,
		    "destroy by id through another instance");
}

void life_destroy_by_id(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = copy_id(t, &made);
	SP_REQUIRE(
		SP_CHECK_OK(t,
			    sp_provider_destroy(sp_case_provider(t), id, sp_case_cancel(t), &err),
			    &err, "destroy by id"));
	life_resume(t, sp_case_provider(t), id, false, &again, "after destroy by id");
}

void life_destroy_others(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox one SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox two SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *said;

	SP_REQUIRE(sp_made_create(t, &options, &one) && sp_made_create(t, &options, &two));
	SP_REQUIRE(sp_sh_ok(t, &two, "echo kept >kept"));
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_provider_destroy(sp_case_provider(t), sp_sandbox_id(&one),
						   sp_case_cancel(t), &err),
			       &err, "destroy by id"));
	said = sp_sh_out(t, &two, "cat kept");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "kept", said, "the neighbour's file");
}

void life_destroy_processes(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	long long before = life_census(t);

	SP_REQUIRE(before >= 0 && sp_made_create(t, &options, &made));
	SP_REQUIRE(sp_sh_ok(t, &made, "setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' "
				      ">/dev/null 2>&1 &"));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	if (control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, SP_HERE, "census: %s", err.message);
		return;
	}
	SP_CHECK_INT(t, before, (long long)census.n_sandboxes,
		     "sandboxes that the back end still has");
}

void life_destroy_refused(struct sp_case *t)
{
	static const struct {
		enum sp_control_how how;
		int status;
		const char *what;
	} rows[] = {
		{ SP_FAIL_STATUS, 401, "status 401" }, { SP_FAIL_STATUS, 403, "status 403" },
		{ SP_FAIL_STATUS, 500, "status 500" }, { SP_FAIL_DROP, 0, "no answer" },
		{ SP_FAIL_STATUS, 404, "a 404 for a sandbox that is listed" },
	};
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		if (control->ops->fail(control->self, SP_STEP_TERMINATE, 0, rows[i].how,
				       rows[i].status, &err)) {
			sp_case_error(t, SP_HERE, "fail: %s", err.message);
			return;
		}
		rc = sp_sandbox_destroy(&made, sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0, "%s: destroy is an error, not \"already gone\"", rows[i].what);
		rc = sp_provider_destroy(sp_case_provider(t), sp_sandbox_id(&made),
					 sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0, "%s: destroy by id is an error", rows[i].what);
		control->ops->fail(control->self, SP_STEP_TERMINATE, 0, -1, 0, NULL);
	}
	/* What could not be removed is as usable as before. */
	sp_sh_ok(t, &made, ":");
}

void life_destroy_then_use(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_exec_options exec = SP_EXEC_OPTIONS_INIT;
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_sandbox *handles[] = { &made, &other };
	struct sp_subject *second;
	struct sp_error err = SP_ERROR_INIT;

	exec.command = ":";
	exec.cancel = sp_case_cancel(t);
	SP_REQUIRE(sp_made_create(t, &options, &made));
	second = sp_case_second(t);
	SP_REQUIRE(second && life_resume(t, &second->provider, sp_sandbox_id(&made), true, &other,
					 "another instance"));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	for (size_t i = 0; i < SP_COUNT(handles); i++) {
		const char *whose = i ? "another handle" : "the handle that destroyed it";
		struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
		struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
		bool exists = false;
		int rc;

		rc = sp_sandbox_exec(handles[i], &exec, &result, &err);
		SP_CHECK_CODE(t, SP_GONE, rc, &err, "exec through %s", whose);
		rc = sp_sandbox_read(handles[i], "file", &bytes, sp_case_cancel(t), &err);
		SP_CHECK_CODE(t, SP_GONE, rc, &err, "read through %s", whose);
		rc = sp_sandbox_write(handles[i], "file", "x", 1, sp_case_cancel(t), &err);
		SP_CHECK_CODE(t, SP_GONE, rc, &err, "write through %s", whose);
		rc = sp_sandbox_exists(handles[i], "/workspace", &exists, sp_case_cancel(t), &err);
		SP_CHECK_CODE(t, SP_GONE, rc, &err, "exists through %s", whose);
	}
}
