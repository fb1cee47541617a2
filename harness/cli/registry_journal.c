/* SPDX-License-Identifier: MIT */
/* Opens journals, over the provider that was opened before. */
#include "registry_impl.h"

#include <base/cleanup.h>
#include <journal/journal.h>
#include <providers/driver/driver.h>
#include <providers/plugin/plugin.h>

const char *cli_journal_lacks(void)
{
	return NULL;
}

/* A journal of a driver works on the sandboxes of the same driver. */
static int open_driver(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		       struct sp_error *err)
{
	struct sp_driver *driver;
	int rc = cli_driver_of(registry, spec, NULL, subject, &driver, err);

	return rc ? rc : sp_driver_journal(driver, &subject->journal, err);
}

static int open_ours(const struct sp_fault *fault, struct sp_subject *subject, struct sp_error *err)
{
	struct sp_journal_open_options options = SP_JOURNAL_OPEN_INIT;
	struct sp_journal_steps steps;

	options.capabilities = sp_provider_capabilities(&subject->provider);
	if (fault && fault->seam == SP_FAULT_JOURNAL_STEP) {
		steps = sp_journal_steps();
		fault->change_journal(&steps);
		options.steps = &steps;
	}
	return sp_journal_open(&options, &subject->journal, err);
}

int cli_open_journal(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		     struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	struct cli_spec parsed SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	int rc = cli_spec_check(SP_SUBJECT_JOURNAL, spec, err);

	if (!rc)
		rc = cli_spec_parse(SP_SUBJECT_JOURNAL, spec, &parsed, err);
	if (!rc)
		rc = parsed.scheme == CLI_PLUGIN
			     ? sp_plugin_open(SP_SUBJECT_JOURNAL, parsed.target, parsed.config,
					      subject, err)
			     : cli_spec_is_driver(SP_SUBJECT_JOURNAL, spec)
			     ? open_driver(registry, spec, subject, err)
			     : open_ours(fault, subject, err);
	if (!rc && fault && fault->seam == SP_FAULT_JOURNAL)
		rc = fault->wrap_journal(&subject->journal, err);
	return rc;
}
