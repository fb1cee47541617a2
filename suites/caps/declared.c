/* SPDX-License-Identifier: MIT */
/* The declaration by itself: it contradicts nothing, and it is one. */
#include <string.h>

#include "cases.h"

/* "if a, then b" */
static void implies(struct sp_case *t, bool a, bool b, const char *what)
{
	SP_CHECK(t, !a || b, "%s", what);
}

void caps_consistent(struct sp_case *t)
{
	const struct sp_capabilities *c = sp_case_capabilities(t);

	SP_CHECK_STR(t, c->background_processes && c->killable_processes ? "true" : "false",
		     c->follow ? "true" : "false",
		     "follow is background_processes and killable_processes");
	SP_CHECK_STR(t, c->snapshots ? "some" : "none", c->snapshot_kinds ? "some" : "none",
		     "snapshot_kinds is 0 exactly when snapshots is false");
	SP_CHECK(t,
		 !(c->snapshot_kinds & ~(unsigned)(SP_SNAPSHOT_FILESYSTEM | SP_SNAPSHOT_RUNTIME)),
		 "snapshot_kinds names known kinds, not %#x", c->snapshot_kinds);
	SP_CHECK_STR(t, c->killable_processes ? "some" : "none",
		     c->kill_reach == SP_REACH_NONE ? "none" : "some",
		     "kill_reach is none exactly when killable_processes is false");
	implies(t, c->writable_stdin, c->background_processes,
		"writable_stdin needs background_processes: only a spawned process can be written "
		"to");
	implies(t, c->signals != 0, c->background_processes,
		"signals need background_processes: only a spawned process can be told");
	implies(t, c->unread_bound != 0, c->background_processes,
		"unread_bound needs background_processes");
	implies(t, c->snapshot_lock, c->snapshots, "snapshot_lock needs snapshots");
	implies(t, c->memory_dir != NULL, c->memory_dir && *c->memory_dir == '/',
		"memory_dir is an absolute path");
	SP_CHECK(t, !(c->signals & 1), "signals has no bit for the number 0");
}

static void same(struct sp_case *t, const struct sp_capabilities *a,
		 const struct sp_capabilities *b, const char *when)
{
#define FIELD(name) SP_CHECK_INT(t, (long long)a->name, (long long)b->name, "%s: " #name, when)
	FIELD(fs);
	FIELD(exec);
	FIELD(env);
	FIELD(ports);
	FIELD(background_processes);
	FIELD(writable_stdin);
	FIELD(killable_processes);
	FIELD(snapshots);
	FIELD(network_policy);
	FIELD(durable_filesystem);
	FIELD(fork);
	FIELD(kill_reach);
	FIELD(kill_grace_ms);
	FIELD(signals);
	FIELD(exit_reaps_group);
	FIELD(output);
	FIELD(output_cap);
	FIELD(unread_bound);
	FIELD(snapshot_kinds);
	FIELD(suspension);
	FIELD(atomic_write);
	FIELD(snapshot_lock);
	FIELD(follow);
#undef FIELD
}

void caps_constant(struct sp_case *t)
{
	struct sp_capabilities before = *sp_case_capabilities(t);
	struct sp_subject *second = sp_case_second(t);

	/* With a sandbox made, and in an instance that has made none. */
	SP_REQUIRE(second && sp_case_sandbox(t));
	same(t, &before, sp_provider_capabilities(sp_case_provider(t)), "after a create");
	same(t, &before, sp_provider_capabilities(&second->provider), "in another instance");
}
