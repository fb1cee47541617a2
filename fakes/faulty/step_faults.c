/* SPDX-License-Identifier: MIT */
/* Steps of the Render provider, undone one at a time. */
#include <string.h>

#include <base/cleanup.h>

#include "tables.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Only the chunk that overflows is dropped; later ones are kept again. */
static size_t cap_with_hole(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
			    size_t len)
{
	(void)data;
	if (cut_before)
		return len;
	return held + len <= cap ? len : 0;
}

static void cap_hole(struct sp_render_steps *steps)
{
	steps->cap = cap_with_hole;
}

/* Counts characters: a byte that continues one is free. */
static size_t cap_characters(uint64_t held, uint64_t cap, bool cut_before,
			     const unsigned char *data, size_t len)
{
	(void)data;
	return !cut_before && held + len <= 2 * cap ? len : 0;
}

static void cap_in_characters(struct sp_render_steps *steps)
{
	steps->cap = cap_characters;
}

static size_t cap_nothing(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
			  size_t len)
{
	(void)cut_before;
	(void)data;
	return held + len <= cap / 2 ? len : 0;
}

static void cap_throws_away(struct sp_render_steps *steps)
{
	steps->cap = cap_nothing;
}

static void end_is_success(struct sp_render_steps *steps)
{
	steps->end_needs_exit = false;
}

static int boolean_code(int told)
{
	return told ? 1 : 0;
}

static void code_boolean(struct sp_render_steps *steps)
{
	steps->exit_code = boolean_code;
}

static void folded(struct sp_render_steps *steps)
{
	steps->shell.run = "BASH_ENV=/proc/self/fd/4 /bin/bash -c @CMD@ bash 2>&1 3>&- 4<<'E-@ID@'\n";
}

static void cwd_ignored(struct sp_render_steps *steps)
{
	steps->shell.enter_dir = "cd -- @DIR@;unset OLDPWD;";
}

static bool any_name(const char *name)
{
	return *name;
}

static void names_dropped(struct sp_render_steps *steps)
{
	steps->name_allowed = any_name;
}

static const struct sp_fault faults[] = {
	{ .version = SP_FAULT_VERSION,
	  .id = "cap-hole",
	  .summary = "after the cap only the chunk that overflows is dropped, later ones are kept",
	  .sources = LIST("contract:C148", "render:18"),
	  .clause = "exec X4",
	  .cases = LIST("exec.cap.prefix"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = cap_hole },
	{ .version = SP_FAULT_VERSION,
	  .id = "cap-in-characters",
	  .summary = "the cap lets more bytes through than it says",
	  .sources = LIST("contract:C149", "render:18"),
	  .clause = "exec X4",
	  .cases = LIST("exec.cap.in-bytes"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = cap_in_characters },
	{ .version = SP_FAULT_VERSION,
	  .id = "cap-throws-away",
	  .summary = "output over the limit is thrown away",
	  .sources = LIST("field:X14"),
	  .clause = "exec X4",
	  .cases = LIST("exec.cap.prefix"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = cap_throws_away },
	{ .version = SP_FAULT_VERSION,
	  .id = "cwd-missing-ignored",
	  .summary = "a missing folder is ignored and the command runs elsewhere",
	  .sources = LIST("field:X24", "contract:C138"),
	  .clause = "exec X9",
	  .cases = LIST("exec.cwd.missing"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = cwd_ignored },
	{ .version = SP_FAULT_VERSION,
	  .id = "env-bad-names-dropped",
	  .summary = "names that cannot be set are not refused",
	  .sources = LIST("field:E10", "contract:C106"),
	  .clause = "exec X10",
	  .cases = LIST("exec.env.refused-names"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = names_dropped },
	{ .version = SP_FAULT_VERSION,
	  .id = "exec-code-boolean",
	  .summary = "every failure has code 1",
	  .sources = LIST("field:X04", "contract:C145"),
	  .clause = "exec X1",
	  .cases = LIST("exec.code.passes-through"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = code_boolean },
	{ .version = SP_FAULT_VERSION,
	  .id = "exec-end-is-success",
	  .summary = "a stream that ends without an exit code counts as code 0",
	  .sources = LIST("field:X03"),
	  .clause = "exec X12",
	  .cases = LIST("exec.outcome.cut-stream"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = end_is_success },
	{ .version = SP_FAULT_VERSION,
	  .id = "stderr-folded",
	  .summary = "stderr is folded into stdout",
	  .sources = LIST("field:X17"),
	  .clause = "exec X2",
	  .cases = LIST("exec.output.apart", "exec.spawn.streams-apart"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = folded },
};

const struct fault_table fault_table_steps = { faults, SP_COUNT(faults) };
