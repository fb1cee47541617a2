/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <witness/count.h>
#include <witness/made.h>
#include <witness/shell.h>

#include "cases.h"
#include "listener.h"

static bool make(struct sp_case *t, enum sp_network network, struct sp_sandbox *ret_sandbox)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;

	options.network = network;
	options.cancel = sp_case_cancel(t);
	return sp_made_create(t, &options, ret_sandbox);
}

/* Knocks and counts. False after a recorded failure. */
static bool knocks(struct net_listener *l, struct sp_sandbox *sandbox, const char *word,
		   const char *prefix, int expected, const char *what)
{
	int hits;

	if (!sp_sh_ok(l->t, sandbox, "%s%s", prefix, net_knock(l, word)))
		return false;
	hits = net_hits(l, word);
	return hits >= 0 &&
	       SP_CHECK_INT(l->t, expected, hits, "%s: of a stream and a datagram arrived", what);
}

/* The claim's other half: without the policy the same knock arrives. False also where it cannot. */
static bool reachable(struct net_listener *l)
{
	struct sp_sandbox open SP_MADE = SP_SANDBOX_INIT;
	int hits;

	if (!sp_count_holds(l->t, "network-policy") || !make(l->t, SP_NETWORK_DEFAULT, &open) ||
	    !sp_sh_ok(l->t, &open, "%s", net_knock(l, "before")))
		return false;
	hits = net_hits(l, "before");
	if (hits == 2)
		return true;
	if (hits >= 0)
		sp_skip(l->t,
			"needs a sandbox that reaches a listener beside it: without a policy %d of "
			"2 arrived",
			hits);
	return false;
}

void net_deny(struct sp_case *t)
{
	struct net_listener l NET_LISTENER = NET_LISTENER_INIT;
	struct sp_sandbox shut SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(net_open(t, &l) && reachable(&l) && make(t, SP_NETWORK_DENY, &shut));
	knocks(&l, &shut, "denied", "", 0, "under deny");
}

void net_deny_children(struct sp_case *t)
{
	struct net_listener l NET_LISTENER = NET_LISTENER_INIT;
	struct sp_sandbox shut SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(net_open(t, &l) && reachable(&l) && make(t, SP_NETWORK_DENY, &shut));
	SP_REQUIRE(knocks(&l, &shut, "grandchild", "setsid env -i PATH=\"$PATH\" ", 0,
			  "under deny, in a session and an environment of its own"));
	if (sp_case_capabilities(t)->background_processes) {
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_exit exit;
		int hits;

		SP_REQUIRE(sp_spawn(t, &shut, &child, "%s", net_knock(&l, "spawned")) &&
			   sp_spawned_wait(&child, &exit));
		hits = net_hits(&l, "spawned");
		SP_REQUIRE(hits >= 0);
		SP_CHECK_INT(t, 0, hits, "under deny, spawned: of a stream and a datagram arrived");
	}
}

void net_deny_loopback(struct sp_case *t)
{
	struct sp_sandbox shut SP_MADE = SP_SANDBOX_INIT;
	const char *said;

	SP_REQUIRE(make(t, SP_NETWORK_DENY, &shut));
	/* A datagram needs a way to its address and nobody who takes it. */
	said = sp_sh_out(t, &shut, "bash -c 'echo x >/dev/udp/127.0.0.1/9' 2>&1 && echo up");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "up", said, "the sandbox's own loopback under deny");
}

void net_deny_asleep(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct net_listener l NET_LISTENER = NET_LISTENER_INIT;
	struct sp_sandbox shut SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(net_open(t, &l) && reachable(&l) && make(t, SP_NETWORK_DENY, &shut));
	SP_REQUIRE(knocks(&l, &shut, "awake", "", 0, "under deny, before"));
	if (control->ops->set_state(control->self, sp_sandbox_id(&shut), "suspended", &err)) {
		sp_case_error(t, SP_HERE, "set_state: %s", err.message);
		return;
	}
	/* The first packet after waking is the one that a late policy lets through. */
	SP_REQUIRE(knocks(&l, &shut, "woken", "", 0, "under deny, after waking"));
}

void net_deny_second(struct sp_case *t)
{
	struct net_listener l NET_LISTENER = NET_LISTENER_INIT;
	struct sp_sandbox shut SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_subject *second = sp_case_second(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(second && net_open(t, &l) && reachable(&l) && make(t, SP_NETWORK_DENY, &shut));
	rc = sp_provider_resume(&second->provider, sp_sandbox_id(&shut), &again, sp_case_cancel(t),
				&err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "resume") && SP_CHECK(t, again.ops, "resume finds it"));
	knocks(&l, &again, "second", "", 0, "under deny, through another instance");
}

void net_allow(struct sp_case *t)
{
	struct net_listener l NET_LISTENER = NET_LISTENER_INIT;
	struct sp_sandbox open SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(net_open(t, &l) && reachable(&l) && make(t, SP_NETWORK_ALLOW, &open));
	knocks(&l, &open, "allowed", "", 2, "under allow");
}

void net_refused(struct sp_case *t)
{
	static const enum sp_network policies[] = { SP_NETWORK_DENY, SP_NETWORK_ALLOW };

	if (sp_case_capabilities(t)->network_policy) {
		sp_skip(t, "needs a refusal of policies: network_policy is declared true");
		return;
	}
	for (size_t i = 0; i < SP_COUNT(policies); i++) {
		struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
		struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		options.network = policies[i];
		options.cancel = sp_case_cancel(t);
		sp_case_own_sandbox(t, NULL);
		rc = sp_provider_create(sp_case_provider(t), &options, &made, &err);
		if (made.ops)
			sp_case_own_sandbox(t, sp_sandbox_id(&made));
		SP_CHECK_CODE(t, SP_UNSUPPORTED, rc, &err, "create with %s",
			      policies[i] == SP_NETWORK_DENY ? "deny" : "allow");
	}
}
