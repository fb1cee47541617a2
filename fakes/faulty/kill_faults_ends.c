/* SPDX-License-Identifier: MIT */
/* Faults of exits and of destroy on any provider. */
#include <signal.h>

#include "tables.h"
#include "wrap.h"

/*
 * Only the first destroy of a handle is faulty: the runner's own, which cleans
 * up after the case, must succeed.
 */
static int noop_destroy(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
			struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1) == 0)
		return 0;
	return sp_sandbox_destroy(&sandbox->inner, cancel, err);
}

static const struct fault_hooks noop = { .destroy = noop_destroy };
FAULT_WRAP(wrap_noop, noop)

/* Tells every known command TERM and calls it a day. */
static int polite_destroy(struct fault_sandbox *sandbox, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	if (atomic_fetch_add(&sandbox->count, 1) > 0)
		return sp_sandbox_destroy(&sandbox->inner, cancel, err);
	for (struct fault_process *at = sandbox->processes; at; at = at->next)
		(void)sp_process_signal(&at->inner, SIGTERM, cancel, NULL);
	return 0;
}

static const struct fault_hooks polite = { .destroy = polite_destroy };
FAULT_WRAP(wrap_polite, polite)

static void leaves_group(struct sp_capabilities *capabilities)
{
	capabilities->exit_reaps_group = false;
}

static const struct fault_hooks reaps_undeclared = { .capabilities = leaves_group };
FAULT_WRAP(wrap_reaps_undeclared, reaps_undeclared)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "destroy-noop",
		.summary = "destroy() answers 0 and leaves everything as it is.",
		.sources = FAULT_LIST("field:L25", "contract:C15", "contract:C31"),
		.clause = "kill K15",
		.cases = FAULT_LIST("kill.destroy.tree",
				    "kill.destroy.stubborn",
				    "kill.destroy.orphan",
				    "kill.destroy.pending"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_noop,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "destroy-polite",
		.summary = "destroy() tells every command TERM and is done.",
		.sources = FAULT_LIST("field:L25", "contract:C15", "field:K06"),
		.clause = "kill K15",
		.cases = FAULT_LIST("kill.destroy.stubborn", "kill.destroy.orphan"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_polite,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "exit-reap-undeclared",
		.summary = "The exit ends background children although it is declared not to.",
		.sources = FAULT_LIST("render:33", "contract:C261"),
		.clause = "kill K14",
		.cases = FAULT_LIST("kill.exit.leaves"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_reaps_undeclared,
	},
};
FAULT_TABLE(fault_kill_ends, faults);
