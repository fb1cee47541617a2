/* SPDX-License-Identifier: MIT */
/* Opens ensure implementations. */
#include "registry_impl.h"

const char *cli_ensure_lacks(void)
{
	return "the suites `store` and `lock` judge what it stands on";
}

int cli_open_ensure(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		    struct sp_error *err)
{
	(void)registry, (void)subject;
	return cli_spec_check(SP_SUBJECT_ENSURE, spec, err);
}
