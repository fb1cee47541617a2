/* SPDX-License-Identifier: MIT */
/* Faults of signal(), and of what is declared about both. */
#include <signal.h>

#include "tables.h"
#include "wrap.h"

static int then_kill_signal(struct fault_process *process, int signal, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	int rc = sp_process_signal(&process->inner, signal, cancel, err);

	return rc < 0 ? rc : fault_inner_kill(process, SIGKILL, cancel, err);
}

static const struct fault_hooks then_kill = { .signal = then_kill_signal };
FAULT_WRAP(wrap_then_kill, then_kill)

static int always_term_signal(struct fault_process *process, int signal, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	(void)signal;
	return sp_process_signal(&process->inner, SIGTERM, cancel, err);
}

static const struct fault_hooks always_term = { .signal = always_term_signal };
FAULT_WRAP(wrap_always_term, always_term)

static int swallows_signal(struct fault_process *process, int signal, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	int rc = sp_process_signal(&process->inner, signal, cancel, err);

	return rc == SP_UNSUPPORTED ? 0 : rc;
}

static const struct fault_hooks swallows = { .signal = swallows_signal };
FAULT_WRAP(wrap_swallows, swallows)

static int after_exit_signal(struct fault_process *process, int signal, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	int rc = sp_process_signal(&process->inner, signal, cancel, err);

	return rc == SP_GONE ? 0 : rc;
}

static const struct fault_hooks after_exit = { .signal = after_exit_signal };
FAULT_WRAP(wrap_after_exit, after_exit)

static void no_signals(struct sp_capabilities *capabilities)
{
	capabilities->signals = 0;
}

static const struct fault_hooks undeclared = { .capabilities = no_signals };
FAULT_WRAP(wrap_undeclared, undeclared)

static void no_kill(struct sp_capabilities *capabilities)
{
	capabilities->killable_processes = false;
	capabilities->kill_reach = SP_REACH_NONE;
	capabilities->follow = false;
}

static const struct fault_hooks kill_undeclared = { .capabilities = no_kill };
FAULT_WRAP(wrap_kill_undeclared, kill_undeclared)

static void reach_alone(struct sp_capabilities *capabilities)
{
	capabilities->killable_processes = false;
	capabilities->follow = false;
}

static const struct fault_hooks reach_without_kill = { .capabilities = reach_alone };
FAULT_WRAP(wrap_reach_without_kill, reach_without_kill)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-then-kill",
		.summary = "signal() is followed by KILL.",
		.sources = FAULT_LIST("field:K07"),
		.clause = "kill K6",
		.cases = FAULT_LIST("kill.tell.each"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_then_kill,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-always-term",
		.summary = "signal() sends TERM whatever it was told.",
		.sources = FAULT_LIST("field:K08"),
		.clause = "kill K6",
		.cases = FAULT_LIST("kill.tell.each"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_always_term,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-swallows",
		.summary = "signal() of an undeclared signal answers 0.",
		.sources = FAULT_LIST("field:K08"),
		.clause = "kill K6",
		.cases = FAULT_LIST("kill.tell.undeclared"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_swallows,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-after-exit-ok",
		.summary = "signal() after the exit answers 0.",
		.sources = FAULT_LIST("field:K13"),
		.clause = "kill K6",
		.cases = FAULT_LIST("kill.tell.after-exit"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_after_exit,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-undeclared-works",
		.summary = "signal() works although no signal is declared.",
		.sources = FAULT_LIST("contract:C261"),
		.clause = "kill K16",
		.cases = FAULT_LIST("kill.tell.none"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_undeclared,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-undeclared-works",
		.summary = "kill() kills although processes are declared not killable.",
		.sources = FAULT_LIST("contract:C261", "field:K04"),
		.clause = "kill K16",
		.cases = FAULT_LIST("kill.declared.refuses"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_kill_undeclared,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "declares-reach-without-kill",
		.summary = "A reach is declared although processes are not killable.",
		.sources = FAULT_LIST("contract:C261"),
		.clause = "kill K16",
		.cases = FAULT_LIST("kill.declared.whole"),
		.seam = SP_FAULT_PROVIDER,
		.wrap_provider = wrap_reach_without_kill,
	},
};
FAULT_TABLE(fault_kill_tell, faults);
