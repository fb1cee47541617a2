/* SPDX-License-Identifier: MIT */
/* Opens journals. */
#include "registry_impl.h"

const char *cli_journal_lacks(void)
{
	return "every failure of the other suites prints its dialogue";
}

int cli_open_journal(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		     struct sp_error *err)
{
	(void)registry, (void)subject;
	return cli_spec_check(SP_SUBJECT_JOURNAL, spec, err);
}
