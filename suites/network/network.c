/* SPDX-License-Identifier: MIT */
/* The records of the network suite: what each case demands, why, and how it sees the defect. */
#include "network.h"

#include <base/cleanup.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "network.deny.packets",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX,
		.tools = LIST("bash"),
		.faults = LIST("net-policy-ignored"),
		.requirement = "Under deny no stream and no datagram leaves the sandbox.",
		.rationale =
			"A policy that is parsed and not enforced is worse than none "
			"(field:N01).",
		.detection =
			"LISTEN: the same knock without a policy arrives twice, under "
			"deny not at all; a sentinel of the case's own stands behind it.",
		.run = net_deny,
	},
	{
		.id = "network.deny.children",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX,
		.tools = LIST("bash", "setsid"),
		.faults = LIST("net-policy-ignored"),
		.requirement = "deny holds for every process of the sandbox.",
		.rationale =
			"Rules bound to a session or to one process let its children "
			"through.",
		.detection =
			"LISTEN: knocks in a session of its own with an empty "
			"environment, and spawned.",
		.run = net_deny_children,
	},
	{
		.id = "network.deny.loopback",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX,
		.tools = LIST("bash"),
		.faults = LIST("net-loopback-down"),
		.requirement = "Under deny the sandbox's own loopback works.",
		.rationale = "Tests and servers inside need it.",
		.detection = "Sends a datagram to an unused port of its own.",
		.run = net_deny_loopback,
	},
	{
		.id = "network.deny.asleep",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX | SP_NEED_CONTROL |
			 SP_NEED_SUSPENSION,
		.tools = LIST("bash"),
		.faults = LIST("net-policy-ignored"),
		.requirement =
			"deny holds after suspending and waking, from the first packet "
			"on.",
		.rationale = "A block is lost after a restart (field:N06).",
		.detection =
			"LISTEN: knocks, is suspended, and the command that wakes it "
			"knocks.",
		.run = net_deny_asleep,
	},
	{
		.id = "network.deny.second",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX,
		.tools = LIST("bash"),
		.faults = LIST("net-policy-lost"),
		.requirement = "deny holds through any handle.",
		.rationale = "Rules kept in a handle are not another process's (field:N05).",
		.detection = "LISTEN: another instance resumes the sandbox and knocks.",
		.run = net_deny_second,
	},
	{
		.id = "network.allow.packets",
		SP_CASE_HERE,
		.clause = "N3",
		.level = SP_MUST,
		.needs = SP_NEED_NETWORK_POLICY | SP_NEED_NO_SANDBOX,
		.tools = LIST("bash"),
		.faults = LIST("net-allow-is-deny"),
		.requirement = "Under allow the same packets arrive.",
		.rationale = "A deny-all would pass every other case.",
		.detection = "LISTEN: both knocks arrive.",
		.run = net_allow,
	},
	{
		.id = "network.policy.refused",
		SP_CASE_HERE,
		.clause = "N4",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("net-policy-ignored"),
		.requirement =
			"A provider that enforces no policy refuses one and makes "
			"nothing.",
		.rationale = "Accepting and ignoring it promises what nobody keeps.",
		.detection = "Creates with deny and with allow; both are unsupported.",
		.run = net_refused,
	},
};

const struct sp_suite sp_suite_network = {
	.version = SP_SUITE_VERSION,
	.name = "network",
	.summary = "a policy is what sockets meet, in both directions of the claim",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "1",
};
