/* SPDX-License-Identifier: MIT */
/* The records of the caps suite: what each case demands, why, and how it sees the defect. */
#include "caps.h"

#include <base/cleanup.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "caps.declared.consistent",
		SP_CASE_HERE,
		.clause = "C1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("caps-follow-alone"),
		.requirement = "The declaration contradicts nothing in itself.",
		.rationale =
			"Cases and callers branch on it; a contradiction sends them two "
			"ways.",
		.detection = "Compares flags that follow from one another.",
		.run = caps_consistent,
	},
	{
		.id = "caps.declared.constant",
		SP_CASE_HERE,
		.clause = "C2",
		.level = SP_MUST,
		.faults = LIST("caps-instances-differ"),
		.requirement =
			"The declaration is the same after any call and in every "
			"instance.",
		.rationale = "What is decided on it once has to stay decided.",
		.detection = "Compares every field after a create and in a second instance.",
		.run = caps_constant,
	},
	{
		.id = "caps.true.basics",
		SP_CASE_HERE,
		.clause = "C3",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH,
		.tools = LIST("mkfifo"),
		.faults = LIST("caps-env-does-nothing"),
		.requirement =
			"fs, exec, env and background_processes work where they are "
			"declared.",
		.rationale =
			"A flag that promises what is not there fails in the caller's "
			"hands.",
		.detection =
			"One file, one variable, one spawned command that stands at a "
			"FIFO while spawn has answered.",
		.run = caps_basics_work,
	},
	{
		.id = "caps.true.ports",
		SP_CASE_HERE,
		.clause = "C3",
		.level = SP_MUST,
		.needs = SP_NEED_PORTS | SP_NEED_SPAWN,
		.tools = LIST("mkfifo", "python3"),
		.faults = LIST("caps-port-is-another"),
		.requirement =
			"Where ports is declared, port_connect leads to the server in the "
			"sandbox.",
		.rationale = "A URL that answers may be somebody else's.",
		.detection = "A server in the sandbox says a word that only it knows.",
		.run = caps_ports_work,
	},
	{
		.id = "caps.true.fork",
		SP_CASE_HERE,
		.clause = "C3",
		.level = SP_MUST,
		.needs = SP_NEED_FORK | SP_NEED_FRESH,
		.faults = LIST("caps-fork-is-empty"),
		.requirement =
			"Where fork is declared, a fork has the source's files and its "
			"own fate.",
		.rationale = "A copy that shares or lacks files is no fork.",
		.detection =
			"A file is there in the fork; changed there, it is unchanged in "
			"the source.",
		.run = caps_fork_works,
	},
	{
		.id = "caps.true.memory-dir",
		SP_CASE_HERE,
		.clause = "C3",
		.level = SP_MUST,
		.faults = LIST("caps-memory-dir-is-not-there"),
		.requirement = "The declared memory-backed directory is there and takes files.",
		.rationale = "Secrets are kept there.",
		.detection = "Writes and reads a file in it.",
		.run = caps_memory_dir,
	},
	{
		.id = "caps.false.refuses",
		SP_CASE_HERE,
		.clause = "C4",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH,
		.faults = LIST("caps-refusal-is-failure", "caps-false-still-works"),
		.requirement =
			"What is declared false answers \"unsupported\" and names the "
			"capability.",
		.rationale = "Anything else looks like a failure to repeat, or like success.",
		.detection =
			"Calls what is declared false of ports, fork, snapshots, spawn, "
			"env and network_policy.",
		.run = caps_false_refuses,
	},
};

const struct sp_suite sp_suite_caps = {
	.version = SP_SUITE_VERSION,
	.name = "caps",
	.summary = "a declaration is kept both ways: what is true works, what is false refuses",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "1",
};
