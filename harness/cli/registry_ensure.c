/* SPDX-License-Identifier: MIT */
/* Opens ensure implementations. */
#include <base/cleanup.h>
#include <ensure/ensure.h>
#include <providers/plugin/plugin.h>

#include "registry_impl.h"

const char *cli_ensure_lacks(void)
{
	return NULL;
}

int cli_open_ensure(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		    struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	struct cli_spec parsed SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	int rc = cli_spec_check(SP_SUBJECT_ENSURE, spec, err);

	if (!rc)
		rc = cli_spec_parse(SP_SUBJECT_ENSURE, spec, &parsed, err);
	if (!rc)
		rc = parsed.scheme == CLI_PLUGIN
			     ? sp_plugin_open(SP_SUBJECT_ENSURE, parsed.target, parsed.config,
					      subject, err)
			     : sp_ensure_open(NULL, &subject->ensure, err);
	if (!rc && fault && fault->seam == SP_FAULT_ENSURE)
		rc = fault->wrap_ensure(&subject->ensure, err);
	return rc;
}
