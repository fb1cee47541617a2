/* SPDX-License-Identifier: MIT */
/* What a back end says that it cannot hold. Beside count.c, since it needs no control. */
#include <witness/count.h>

#include <string.h>

bool sp_count_holds(struct sp_case *t, const char *what)
{
	struct sp_control *control = &sp_case_subject(t)->control;
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!control->ops)
		return true;
	if (control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, SP_HERE, "the back end could not be counted: %s", err.message);
		return false;
	}
	for (size_t i = 0; i < census.n_cannot_hold; i++) {
		if (strcmp(census.cannot_hold[i], what))
			continue;
		sp_skip(t, "needs isolation: this back end cannot hold %s", what);
		return false;
	}
	return true;
}
