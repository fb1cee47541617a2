/* SPDX-License-Identifier: MIT */
/* Opens journals: ours, over the provider that was opened before. */
#include "registry_impl.h"

#include <journal/journal.h>

const char *cli_journal_lacks(void)
{
	return NULL;
}

int cli_open_journal(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		     struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	struct sp_journal_open_options options = SP_JOURNAL_OPEN_INIT;
	struct sp_journal_steps steps;
	int rc = cli_spec_check(SP_SUBJECT_JOURNAL, spec, err);

	if (rc)
		return rc;
	options.capabilities = sp_provider_capabilities(&subject->provider);
	if (fault && fault->seam == SP_FAULT_JOURNAL_STEP) {
		steps = sp_journal_steps();
		fault->change_journal(&steps);
		options.steps = &steps;
	}
	rc = sp_journal_open(&options, &subject->journal, err);
	if (!rc && fault && fault->seam == SP_FAULT_JOURNAL)
		rc = fault->wrap_journal(&subject->journal, err);
	return rc;
}
