/* SPDX-License-Identifier: MIT */
/* Faults of the declaration. */
#include <string.h>

#include "tables.h"
#include "wrap.h"

static void follow_capabilities(struct sp_capabilities *capabilities)
{
	capabilities->follow = !capabilities->follow;
}

static const struct fault_hooks follow = { .capabilities = follow_capabilities };
FAULT_WRAP(wrap_follow, follow)

/* Each instance measures, and they measure differently. */
static void measured_capabilities(struct sp_capabilities *capabilities)
{
	static atomic_uint instances;

	capabilities->kill_grace_ms += atomic_fetch_add(&instances, 1);
}

static const struct fault_hooks measured = { .capabilities = measured_capabilities };
FAULT_WRAP(wrap_measured, measured)

static int env_set_nothing(struct fault_sandbox *sandbox SP_UNUSED,
			   const struct sp_env *env SP_UNUSED, size_t n_env SP_UNUSED,
			   struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	return 0;
}

static const struct fault_hooks env_nothing = { .env_set = env_set_nothing };
FAULT_WRAP(wrap_env_nothing, env_nothing)

/* The next port is somebody else's. */
static int next_port(struct fault_sandbox *sandbox, unsigned port, struct sp_port *ret_port,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_sandbox_port_connect(&sandbox->inner, port + 1, ret_port, cancel, err);
}

static const struct fault_hooks port = { .port_connect = next_port };
FAULT_WRAP(wrap_port, port)

/* A fork that starts from nothing. */
static int empty_fork(struct fault_sandbox *sandbox, struct sp_sandbox *ret_inner,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	int rc = sp_sandbox_fork(&sandbox->inner, ret_inner, cancel, err);

	options.command = "rm -f shared";
	options.cancel = cancel;
	if (rc == 0)
		(void)sp_sandbox_exec(ret_inner, &options, &result, NULL);
	return rc;
}

static const struct fault_hooks fork_empty = { .fork = empty_fork };
FAULT_WRAP(wrap_fork_empty, fork_empty)

static void memory_capabilities(struct sp_capabilities *capabilities)
{
	capabilities->memory_dir = "/dev/no-such-folder";
}

static const struct fault_hooks memory = { .capabilities = memory_capabilities };
FAULT_WRAP(wrap_memory, memory)

static int silent_fork(struct fault_sandbox *sandbox, struct sp_sandbox *ret_inner,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_fork(&sandbox->inner, ret_inner, cancel, err);

	return rc == SP_UNSUPPORTED ? sp_error_set(err, SP_INTERNAL, "fork failed") : rc;
}

static int silent_port(struct fault_sandbox *sandbox, unsigned number, struct sp_port *ret_port,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_port_connect(&sandbox->inner, number, ret_port, cancel, err);

	return rc == SP_UNSUPPORTED ? sp_error_set(err, SP_INTERNAL, "no such port") : rc;
}

static int silent_snapshot(struct fault_sandbox *sandbox, const char *label,
			   struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	int rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);

	return rc == SP_UNSUPPORTED ? sp_error_set(err, SP_INTERNAL, "snapshot failed") : rc;
}

static const struct fault_hooks silent = { .fork = silent_fork,
					   .port_connect = silent_port,
					   .snapshot = silent_snapshot };
FAULT_WRAP(wrap_silent, silent)

/* Declared false, and done all the same. */
static void modest_capabilities(struct sp_capabilities *capabilities)
{
	capabilities->env = false;
}

static const struct fault_hooks modest = { .capabilities = modest_capabilities };
FAULT_WRAP(wrap_modest, modest)

#define CAPS(id_, wrap_, clause_, summary_, case_)                                                 \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_,                             \
	  .sources = FAULT_LIST("contract:1.2"), .clause = "caps " clause_,                        \
	  .cases = FAULT_LIST(case_), .seam = SP_FAULT_PROVIDER, .wrap_provider = wrap_ }

static const struct sp_fault faults[] = {
	CAPS("caps-follow-alone", wrap_follow, "C1",
	     "follow says the opposite of what it follows from.", "caps.declared.consistent"),
	CAPS("caps-instances-differ", wrap_measured, "C2", "Each instance declares something else.",
	     "caps.declared.constant"),
	CAPS("caps-env-does-nothing", wrap_env_nothing, "C3",
	     "env is declared and env_set does nothing.", "caps.true.basics"),
	CAPS("caps-port-is-another", wrap_port, "C3", "port_connect gives the next port.",
	     "caps.true.ports"),
	CAPS("caps-fork-is-empty", wrap_fork_empty, "C3", "A fork lacks the source's files.",
	     "caps.true.fork"),
	CAPS("caps-memory-dir-is-not-there", wrap_memory, "C3", "memory_dir names no folder.",
	     "caps.true.memory-dir"),
	CAPS("caps-refusal-is-failure", wrap_silent, "C4",
	     "An unsupported call is an internal error.", "caps.false.refuses"),
	CAPS("caps-false-still-works", wrap_modest, "C4",
	     "env is declared false, and env_set sets.", "caps.false.refuses"),
};
FAULT_TABLE(fault_caps, faults);
