/* SPDX-License-Identifier: MIT */
/* Opens ensure implementations. */
#include <ensure/ensure.h>

#include "registry_impl.h"

const char *cli_ensure_lacks(void)
{
	return NULL;
}

int cli_open_ensure(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		    struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = cli_spec_check(SP_SUBJECT_ENSURE, spec, err);

	/* The only one that passes the check is ours. */
	if (!rc)
		rc = sp_ensure_open(NULL, &subject->ensure, err);
	if (!rc && fault && fault->seam == SP_FAULT_ENSURE)
		rc = fault->wrap_ensure(&subject->ensure, err);
	return rc;
}
