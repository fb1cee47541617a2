/* SPDX-License-Identifier: MIT */
/* Listing and lifetimes. */
#include <string.h>

#include <witness/shell.h>

#include "cases.h"
#include "made.h"

/* -1 after a recorded failure or skip: to list is optional. */
static int listed(struct sp_case *t, const char *id)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int times = 0, rc;

	rc = sp_provider_list(sp_case_provider(t), &list, sp_case_cancel(t), &err);
	if (rc == SP_UNSUPPORTED) {
		sp_skip(t, "needs a list of sandboxes: this provider cannot list");
		return -1;
	}
	if (!SP_CHECK_OK(t, rc, &err, "list"))
		return -1;
	for (size_t i = 0; i < list.len; i++)
		times += !strcmp(list.ids[i], id);
	return times;
}

void life_list_live(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox second SP_MADE = SP_SANDBOX_INIT, third SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox *const all[] = { &made, &second, &third };
	struct sp_error err = SP_ERROR_INIT;
	const char *id;
	int times;

	/* Within one second: a cursor of times must not pass over one of them. */
	for (size_t i = 0; i < SP_COUNT(all); i++)
		SP_REQUIRE(sp_made_create(t, &options, all[i]));
	for (size_t i = 0; i < SP_COUNT(all); i++) {
		times = listed(t, sp_sandbox_id(all[i]));
		SP_REQUIRE(times >= 0 &&
			   SP_CHECK_INT(t, 1, times, "times that a live sandbox is listed"));
	}
	id = sp_case_format(t, "%s", sp_sandbox_id(&made));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	SP_CHECK_INT(t, 0, listed(t, id), "times that a destroyed one is listed");
}

void life_list_fails(struct sp_case *t)
{
	static const int statuses[] = { 401, 404, 500 };
	struct sp_control *control = sp_case_control(t);

	for (size_t i = 0; i < SP_COUNT(statuses); i++) {
		struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		if (control->ops->fail(control->self, SP_STEP_LIST, 0, SP_FAIL_STATUS, statuses[i],
				       &err)) {
			sp_case_error(t, SP_HERE, "fail: %s", err.message);
			return;
		}
		rc = sp_provider_list(sp_case_provider(t), &list, sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0, "status %d: list is an error, not %zu ids", statuses[i],
			 list.len);
		control->ops->fail(control->self, SP_STEP_LIST, 0, -1, 0, NULL);
	}
}

void life_expires(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox before SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_sandbox after SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.lifetime_s = 600;
	SP_REQUIRE(sp_made_create(t, &options, &made));
	if (control->ops->advance(control->self, 500 * 1000, &err)) {
		sp_case_error(t, SP_HERE, "advance: %s", err.message);
		return;
	}
	SP_REQUIRE(life_resume(t, sp_case_provider(t), sp_sandbox_id(&made), true, &before,
			       "shortly before the end of its lifetime"));
	if (control->ops->advance(control->self, 200 * 1000, &err)) {
		sp_case_error(t, SP_HERE, "advance: %s", err.message);
		return;
	}
	life_resume(t, sp_case_provider(t), sp_sandbox_id(&made), false, &after,
		    "after the end of its lifetime");
}
