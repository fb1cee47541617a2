/* SPDX-License-Identifier: MIT */
#include "made.h"

void life_unref(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

struct sp_create_options life_options(struct sp_case *t)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;

	options.cancel = sp_case_cancel(t);
	options.adapter_name = "sandproof";
	return options;
}

int life_refused(struct sp_case *t, const struct sp_create_options *options, const char *what,
		 struct sp_error *err)
{
	struct sp_sandbox sandbox SP_MADE = SP_SANDBOX_INIT;
	int rc;

	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), options, &sandbox, err);
	if (sandbox.ops)
		sp_case_own_sandbox(t, sp_sandbox_id(&sandbox));
	SP_CHECK(t, rc < 0, "%s: create fails", what);
	SP_CHECK(t, rc == 0 || !sandbox.ops, "%s: no handle comes with an error", what);
	return rc;
}

long long life_census(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!control || control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, SP_HERE, "census: %s", err.message);
		return -1;
	}
	return (long long)census.n_sandboxes;
}

bool life_resume(struct sp_case *t, struct sp_provider *provider, const char *id, bool found,
		 struct sp_sandbox *ret_sandbox, const char *what)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_provider_resume(provider, id, ret_sandbox, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "%s: resume", what) &&
	       SP_CHECK_STR(t, found ? "a handle" : "gone for good",
			    ret_sandbox->ops ? "a handle" : "gone for good", "%s: resume answers",
			    what);
}

void life_resume_fails(struct sp_case *t, struct sp_provider *provider, const char *id,
		       const char *what)
{
	struct sp_sandbox sandbox SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_provider_resume(provider, id, &sandbox, sp_case_cancel(t), &err);

	SP_CHECK(t, rc < 0, "%s: resume is an error, not %s", what,
		 sandbox.ops ? "a handle" : "\"gone for good\"");
	SP_CHECK(t, rc != SP_GONE, "%s: the error does not say that the sandbox is gone", what);
}
