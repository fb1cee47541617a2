/* SPDX-License-Identifier: MIT */
#include "case_impl.h"

#include <string.h>

#include <base/cleanup.h>

typedef bool (*met_fn)(const struct sp_capabilities *c);

#define FLAG(name, expression)                                                                     \
	static bool name(const struct sp_capabilities *c)                                          \
	{                                                                                          \
		return expression;                                                                 \
	}

FLAG(has_spawn, c->background_processes)
FLAG(has_kill, c->killable_processes)
FLAG(has_stdin, c->writable_stdin)
FLAG(has_ports, c->ports)
FLAG(has_fork, c->fork)
FLAG(has_snapshots, c->snapshots)
FLAG(has_network_policy, c->network_policy)
FLAG(has_suspension, c->suspension)
FLAG(has_signals, c->signals != 0)
FLAG(has_bytes, c->output == SP_OUTPUT_BYTES)
FLAG(has_output_cap, c->output_cap != 0)
FLAG(has_no_stdin, !c->writable_stdin)
FLAG(has_no_kill, !c->killable_processes)
FLAG(has_no_signals, c->signals == 0)
FLAG(reaps_group, c->exit_reaps_group)
FLAG(has_unread_bound, c->unread_bound != 0)
FLAG(reaches_session, c->kill_reach >= SP_REACH_SESSION)
FLAG(reaches_tree, c->kill_reach >= SP_REACH_TREE)
FLAG(has_env, c->env)

/* One row a need: what is asked of the declaration, and what to say when it is not there. */
static const struct {
	enum sp_need need;
	met_fn met;
	const char *name;
	const char *lack;
} rows[] = {
	{ SP_NEED_SPAWN, has_spawn, "spawn", "background_processes is declared false" },
	{ SP_NEED_KILL, has_kill, "kill", "killable_processes is declared false" },
	{ SP_NEED_STDIN, has_stdin, "stdin", "writable_stdin is declared false" },
	{ SP_NEED_PORTS, has_ports, "ports", "ports is declared false" },
	{ SP_NEED_FORK, has_fork, "fork", "fork is declared false" },
	{ SP_NEED_SNAPSHOTS, has_snapshots, "snapshots", "snapshots is declared false" },
	{ SP_NEED_NETWORK_POLICY, has_network_policy, "network policy",
	  "network_policy is declared false" },
	{ SP_NEED_SUSPENSION, has_suspension, "suspension", "suspension is declared false" },
	{ SP_NEED_SIGNALS, has_signals, "signals", "no signal is declared" },
	{ SP_NEED_BYTES, has_bytes, "byte output", "output is declared utf8" },
	{ SP_NEED_OUTPUT_CAP, has_output_cap, "an output cap", "output_cap is declared 0" },
	{ SP_NEED_NO_STDIN, has_no_stdin, "a refusal of stdin", "writable_stdin is declared true" },
	{ SP_NEED_NO_KILL, has_no_kill, "a refusal of kill",
	  "killable_processes is declared true" },
	{ SP_NEED_NO_SIGNALS, has_no_signals, "a refusal of signals", "signals are declared" },
	{ SP_NEED_REAPS_GROUP, reaps_group, "a reaped group",
	  "exit_reaps_group is declared false" },
	{ SP_NEED_UNREAD_BOUND, has_unread_bound, "an unread bound", "unread_bound is declared 0" },
	{ SP_NEED_ENV, has_env, "env", "env is declared false" },
};

/* The same for the declarations of a store and of a lock; one that is not there meets nothing. */
typedef bool (*stores_met_fn)(const struct sp_store_capabilities *store,
			      const struct sp_lock_capabilities *lock);

#define STORES_FLAG(name, expression)                                                              \
	static bool name(const struct sp_store_capabilities *store,                                \
			 const struct sp_lock_capabilities *lock)                                  \
	{                                                                                          \
		(void)store, (void)lock;                                                           \
		return expression;                                                                 \
	}

STORES_FLAG(is_durable, store && store->durable)
STORES_FLAG(has_store_fence, store && store->fence)
STORES_FLAG(is_multi_process, store ? store->multi_process : lock && lock->multi_process)
STORES_FLAG(has_lease, lock && lock->lease)
STORES_FLAG(has_lock_fence, lock && lock->fence)

static const struct {
	enum sp_need need;
	stores_met_fn met;
	const char *lack;
} stores_rows[] = {
	{ SP_NEED_DURABLE, is_durable, "needs a durable store: durable is declared false" },
	{ SP_NEED_STORE_FENCE, has_store_fence,
	  "needs upserts with a fence: fence is declared false" },
	{ SP_NEED_MULTI_PROCESS, is_multi_process,
	  "needs several processes: multi_process is declared false" },
	{ SP_NEED_LEASE, has_lease, "needs leases that can be lost: lease is declared false" },
	{ SP_NEED_LOCK_FENCE, has_lock_fence, "needs fencing tokens: fence is declared false" },
};

static bool stores_met(unsigned needs, const struct sp_subject *subject, struct sp_buf *ret_reason)
{
	struct sp_store store = subject->store;
	struct sp_lock lock = subject->lock;

	for (size_t i = 0; i < SP_COUNT(stores_rows); i++) {
		if (!(needs & stores_rows[i].need) ||
		    stores_rows[i].met(sp_store_capabilities(&store), sp_lock_capabilities(&lock)))
			continue;
		sp_buf_adds(ret_reason, stores_rows[i].lack);
		return false;
	}
	return true;
}

const char *sp_reach_name(enum sp_kill_reach reach)
{
	switch (reach) {
	case SP_REACH_NONE:
		return "none";
	case SP_REACH_GROUP:
		return "group";
	case SP_REACH_SESSION:
		return "session";
	case SP_REACH_TREE:
		return "tree";
	}
	return "unknown";
}

static bool reach_met(unsigned needs, const struct sp_capabilities *c, struct sp_buf *ret_reason)
{
	if (needs & SP_NEED_REACH_TREE && !reaches_tree(c))
		sp_buf_addf(ret_reason, "kill_reach is %s, the case needs tree",
			    sp_reach_name(c->kill_reach));
	else if (needs & SP_NEED_REACH_SESSION && !reaches_session(c))
		sp_buf_addf(ret_reason, "kill_reach is %s, the case needs session",
			    sp_reach_name(c->kill_reach));
	else
		return true;
	return false;
}

bool sp_needs_no_sandbox(const struct sp_case_def *def)
{
	return def->needs & SP_NEED_NO_SANDBOX;
}

/* Needs that a declaration of capabilities answers. */
static unsigned declared_needs(void)
{
	unsigned all = SP_NEED_REACH_SESSION | SP_NEED_REACH_TREE;

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		all |= rows[i].need;
	return all;
}

bool sp_needs_met(const struct sp_case_def *def, const struct sp_subject *subject,
		  struct sp_buf *ret_reason)
{
	struct sp_provider provider = subject->provider;
	const struct sp_capabilities *c;

	if (def->needs & SP_NEED_CONTROL && !subject->control.ops) {
		sp_buf_adds(ret_reason, "needs control: this back end has none");
		return false;
	}
	if (def->needs & SP_NEED_BACKDOOR && !subject->backdoor.ops) {
		sp_buf_adds(ret_reason, "needs a back door: this back end has none");
		return false;
	}
	if (!stores_met(def->needs, subject, ret_reason))
		return false;
	if (!(def->needs & declared_needs()))
		return true;
	c = provider.ops ? sp_provider_capabilities(&provider) : NULL;
	if (!c) {
		sp_buf_addf(ret_reason, "needs a provider: the subject is a %s",
			    sp_subject_kind_name(subject->kind));
		return false;
	}
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		if (!(def->needs & rows[i].need) || rows[i].met(c))
			continue;
		sp_buf_addf(ret_reason, "needs %s: %s", rows[i].name, rows[i].lack);
		return false;
	}
	return reach_met(def->needs, c, ret_reason);
}
