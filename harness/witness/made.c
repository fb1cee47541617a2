/* SPDX-License-Identifier: MIT */
#include <witness/made.h>

void sp_made_end(struct sp_sandbox *sandbox)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!sandbox->ops)
		return;
	/* Clean-up, not a check; the runner's books say if it is still there. */
	(void)sp_sandbox_destroy(sandbox, NULL, &err);
	sp_sandbox_done(sandbox);
}

bool sp_made_create(struct sp_case *t, const struct sp_create_options *options,
		    struct sp_sandbox *ret_sandbox)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), options, ret_sandbox, &err);
	if (!SP_CHECK_OK(t, rc, &err, "create"))
		return false;
	sp_case_own_sandbox(t, sp_sandbox_id(ret_sandbox));
	return true;
}
