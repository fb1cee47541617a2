/* SPDX-License-Identifier: MIT */
/*
 * Faults of the Render provider's own shell. Each replaces the pieces that
 * make up one behaviour; the rest of the text stays the provider's.
 */
#include "tables.h"
#include "wrap.h"

/* The walk without its walk: it still removes the command's environment. */
#define NO_WALK "command -p rm -f @D@/@ID@.env\n"

static void leader_only(struct sp_render_steps *steps)
{
	steps->shell.kill_send = "[[ -z $g ]]||kill -@SIG@ -- \"$g\";";
	steps->shell.kill_escalate = "[[ -z $g ]]||kill -KILL -- \"$g\";";
	steps->shell.kill_walk = NO_WALK;
	steps->shell.reap_group = "";
}

static void group_only(struct sp_render_steps *steps)
{
	steps->shell.kill_walk = NO_WALK;
	steps->shell.reap_marked = "";
}

static void environment_only(struct sp_render_steps *steps)
{
	steps->shell.mark = "ulimit -R @MARK@||exit 125;export SANDPROOF_FAULT_MARK=@MARK@;";
	steps->shell.kill_walk =
		"for((n=0;n<2000;n++));do f=;for p in /proc/[1-9]*;do "
		"mapfile -d '' e <$p/environ&&[[ \"${e[*]}\" = *SANDPROOF_FAULT_MARK=@MARK@* ]]&&"
		"{ f=1;kill -KILL -- ${p#/proc/};};done;[[ $f ]]||break;done;" NO_WALK;
}

static void no_escalation(struct sp_render_steps *steps)
{
	steps->shell.kill_escalate = "";
	steps->shell.kill_walk = NO_WALK;
	steps->shell.reap_group = "";
}

static void no_marker(struct sp_render_steps *steps)
{
	steps->shell.kill_marker = "exec 2>/dev/null;";
}

static void no_check(struct sp_render_steps *steps)
{
	steps->shell.check_killed = "";
}

static void settles_early(struct sp_render_steps *steps)
{
	steps->kill_before_wait = false;
}

static void trusts_record(struct sp_render_steps *steps)
{
	steps->shell.kill_find = "exec 2>/dev/null;g=;read -r g <@D@/@ID@.pg||g=;"
				 "[[ $g = [1-9]* ]]||g=;";
	steps->shell.kill_walk = NO_WALK;
}

static void reads_half(struct sp_render_steps *steps)
{
	steps->shell.kill_find = "g=;read -r g <@D@/@ID@.pg;[[ $g = [1-9]* ]]||g=\n";
}

static void leaves_group(struct sp_render_steps *steps)
{
	steps->shell.reap_group = "";
	steps->shell.reap_marked = "";
}

/* The command takes the supervisor's place instead of a process of its own. */
static void in_command(struct sp_render_steps *steps)
{
	steps->shell.run =
		"BASH_ENV=/proc/self/fd/4 exec /bin/bash -c @CMD@ bash 2>&3 3>&- 4<<'E-@ID@'\n";
}

static void tells_leader(struct sp_render_steps *steps)
{
	steps->shell.signal_send = "[[ $g ]]||exit 3;kill -@SIG@ -- \"$g\"||exit 3\n";
}

static void closes_stream(struct sp_render_steps *steps)
{
	steps->abort_kills = false;
}

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-leader-only",
		.summary = "The kill signals the recorded process and not its group, and nothing "
			   "reaps the group.",
		.sources = FAULT_LIST("field:K01", "contract:C3"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.compound",
				    "kill.shape.background",
				    "kill.shape.grandchild",
				    "kill.shape.double-fork",
				    "kill.shape.closed-descriptors",
				    "kill.shape.breeder"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = leader_only,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-group-only",
		.summary = "The kill ends the group and does not look for what left it.",
		.sources = FAULT_LIST("field:K01"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.setsid",
				    "kill.shape.setsid-orphan",
				    "kill.shape.job-control",
				    "kill.shape.empty-environment",
				    "kill.shape.breeder-sessions"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = group_only,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-environment-only",
		.summary = "The kill finds what left the group by a variable of its environment.",
		.sources = FAULT_LIST("field:K01"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.empty-environment"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = environment_only,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-no-escalation",
		.summary = "The kill command sends the signal asked for and no KILL.",
		.sources = FAULT_LIST("field:K06", "render:2"),
		.clause = "kill K1",
		.cases = FAULT_LIST("kill.shape.term-ignored", "kill.shape.stopped-child"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = no_escalation,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-marker-missing",
		.summary = "The kill leaves no marker for a command that has not started.",
		.sources = FAULT_LIST("contract:C7", "render:3"),
		.clause = "kill K3",
		.cases = FAULT_LIST("kill.start.before-run"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = no_marker,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "start-ignores-kill",
		.summary = "The wrapper does not look for the marker.",
		.sources = FAULT_LIST("contract:C6", "contract:C7", "contract:C23"),
		.clause = "kill K3",
		.cases = FAULT_LIST("kill.start.before-run"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = no_check,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-step-settles-early",
		.summary = "The Render provider tells the end of a process when its kill is "
			   "asked for.",
		.sources = FAULT_LIST("field:K05"),
		.clause = "kill K12",
		.cases = FAULT_LIST("kill.wait.gate"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = settles_early,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-trusts-record",
		.summary = "The kill believes the record of the group, and that alone.",
		.sources = FAULT_LIST("field:K11"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.rewritten", "kill.limit.aimed"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = trusts_record,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "kill-reads-half",
		.summary = "The kill takes the beginning of a record for the whole of it.",
		.sources = FAULT_LIST("render:4", "contract:C29"),
		.clause = "kill K10",
		.cases = FAULT_LIST("kill.limit.half-written"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = reads_half,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "exit-leaves-group",
		.summary = "The exit is told while children of the group run on.",
		.sources = FAULT_LIST("contract:C30", "render:1"),
		.clause = "kill K14",
		.cases = FAULT_LIST("kill.code.supervisor", "kill.exit.reaps"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = leaves_group,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "supervisor-in-command",
		.summary = "The command takes the place of its supervisor.",
		.sources = FAULT_LIST("render:1"),
		.clause = "kill K5",
		.cases = FAULT_LIST("kill.code.supervisor"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = in_command,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "tell-leader-only",
		.summary = "signal() reaches the leader of the group only.",
		.sources = FAULT_LIST("field:K01"),
		.clause = "kill K6",
		.cases = FAULT_LIST("kill.tell.group"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = tells_leader,
	},
	{
		.version = SP_FAULT_VERSION,
		.id = "abort-closes-stream",
		.summary = "An abort closes the stream and ends nothing.",
		.sources = FAULT_LIST("field:K03"),
		.clause = "kill K8",
		.cases = FAULT_LIST("kill.start.unanswered", "kill.abort.exec", "kill.abort.spawn"),
		.seam = SP_FAULT_RENDER_STEP,
		.change_steps = closes_stream,
	},
};
FAULT_TABLE(fault_kill_steps, faults);
