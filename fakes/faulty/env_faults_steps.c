/* SPDX-License-Identifier: MIT */
/* Faults of the env suite as replaced steps of the Render provider. */
#include "tables.h"
#include "wrap.h"

static bool any_name(const char *name)
{
	return *name != '\0';
}

static void allows_any_name(struct sp_render_steps *steps)
{
	steps->name_allowed = any_name;
}

static void after_merge(struct sp_render_steps *steps)
{
	steps->names_before_merge = false;
}

static void any_length(struct sp_render_steps *steps)
{
	steps->env_refuses_long = false;
}

static void no_queue(struct sp_render_steps *steps)
{
	steps->one_queue = false;
}

static void in_text(struct sp_render_steps *steps)
{
	steps->env_in_files = false;
	/* Without a file there is nothing to load. */
	steps->shell.load_call_env = "";
}

/* A command without variables runs, whatever the handle has set. */
static void runs_anyway(struct sp_render_steps *steps)
{
	steps->shell.load_overlay = "[[ ! -e @D@/env ]]||. @D@/env;";
}

/* One file a version, beside the one that is used. */
static void old_stays(struct sp_render_steps *steps)
{
	steps->shell.load_overlay =
		"[[ ! -e @D@/env ]]||{ . @D@/env;command -p cp -- @D@/env @D@/env.@ID@;};";
}

static void on_disk(struct sp_render_steps *steps)
{
	steps->shell.load_overlay =
		"[[ ! -e @D@/env ]]||{ . @D@/env;command -p cp -- @D@/env /var/tmp/tsai-env;};";
}

static void call_file_stays(struct sp_render_steps *steps)
{
	steps->shell.load_call_env = ". @D@/@ID@.env;";
}

/* The variables of one command are added to everybody's. */
static void call_to_all(struct sp_render_steps *steps)
{
	steps->shell.load_call_env = ". @D@/@ID@.env;command -p cat -- @D@/@ID@.env >>@D@/env;"
				     "command -p rm -f -- @D@/@ID@.env;";
}

static void aborted_stays(struct sp_render_steps *steps)
{
	steps->start_cleans_up = false;
	steps->shell.check_killed = "[[ ! -e @D@/@ID@.killed ]]||exit 143;";
}

static void world_readable(struct sp_render_steps *steps)
{
	steps->shell.open =
		"exec 3>&2 2>/dev/null;set -m;[[ -d @D@ ]]||mkdir -p -- @D@;chmod 755 -- @D@;"
		"chmod 644 -- @D@/env @D@/*.env\n";
}

#define STEP_FAULT(id_, change_, clause_, summary_, sources_, ...)                                 \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "env " clause_, .cases = FAULT_LIST(__VA_ARGS__),                              \
	  .seam = SP_FAULT_RENDER_STEP, .change_steps = change_ }

static const struct sp_fault faults[] = {
	STEP_FAULT("env-any-name", allows_any_name, "E2",
		   "Names are not checked; the shell makes of them what it can.",
		   FAULT_LIST("contract:C106", "contract:C111", "field:E09", "render:15"),
		   "env.name.refused", "env.name.swallowed"),
	STEP_FAULT("env-names-after-merge", after_merge, "E2",
		   "Names are checked after the variables were merged.",
		   FAULT_LIST("contract:C107", "render:16"), "env.name.all-or-none"),
	STEP_FAULT("env-accepts-any-length", any_length, "E1",
		   "Values are taken that no program can be given.", FAULT_LIST("contract:C110"),
		   "env.value.too-long", "env.value.too-much"),
	STEP_FAULT("env-no-queue", no_queue, "E4", "Writes of the environment overtake each other.",
		   FAULT_LIST("contract:C108", "render:12"), "env.set.concurrent"),
	STEP_FAULT("env-in-command-text", in_text, "E5",
		   "The variables of a command are export prefixes of its text.",
		   FAULT_LIST("contract:C94", "field:E01", "field:E03", "render:6"),
		   "env.secret.requests", "env.secret.timeline", "env.secret.argv",
		   "env.secret.own-argv"),
	STEP_FAULT("env-missing-runs-anyway", runs_anyway, "E4",
		   "A command runs without the sandbox's variables when their file is gone.",
		   FAULT_LIST("contract:C287"), "env.set.lost"),
	STEP_FAULT("env-old-file-stays", old_stays, "E3",
		   "Older files of variables stay beside the new one.",
		   FAULT_LIST("contract:C101", "render:7", "render:30"), "env.set.rotation",
		   "env.set.other-handle"),
	STEP_FAULT("env-on-disk", on_disk, "E6",
		   "The sandbox's variables are kept on the disk as well.",
		   FAULT_LIST("contract:C102", "render:8"), "env.secret.at-rest"),
	STEP_FAULT("env-call-file-stays", call_file_stays, "E6",
		   "The file with a command's own variables stays.",
		   FAULT_LIST("contract:C104", "render:11"), "env.secret.call-file"),
	STEP_FAULT("env-call-to-all", call_to_all, "E6",
		   "A command's own variables are added to the sandbox's.", FAULT_LIST("field:E05"),
		   "env.secret.other-environ"),
	STEP_FAULT("env-aborted-file-stays", aborted_stays, "E6",
		   "The file of a command that was ended before its start stays.",
		   FAULT_LIST("contract:C12", "render:3", "render:11"), "env.secret.never-started"),
	STEP_FAULT("env-world-readable", world_readable, "E6",
		   "Files with variables can be read by every user of the sandbox.",
		   FAULT_LIST("render:35"), "env.secret.other-user", "env.secret.other-user-held"),
};

FAULT_TABLE(fault_env_steps, faults);
