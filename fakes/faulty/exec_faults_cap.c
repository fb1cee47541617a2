/* SPDX-License-Identifier: MIT */
/*
 * Faults of the output cap: the Render provider's step, undone; and what
 * becomes of a result that was cut.
 */
#include "exec_faults.h"

#include <base/utf8.h>

/* At most `max` bytes that end at a character. */
static size_t prefix(const unsigned char *data, size_t len, uint64_t max)
{
	return len <= max ? len : sp_utf8_cut((const char *)data, len, (size_t)max);
}

/*
 * The chunk that reaches the cap is dropped whole, and later ones are let in as far as they fit.
 * One that would fill it exactly counts, so that there is a hole wherever the platform cuts its
 * chunks.
 */
static size_t hole(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		   size_t len)
{
	uint64_t room = held < cap ? cap - held : 0;

	if (!cut_before && len >= room)
		return 0;
	return prefix(data, len, room);
}

static void change_hole(struct sp_render_steps *steps)
{
	steps->cap = hole;
}

/* What is left of the cap is counted in characters, whatever their length. */
static size_t in_characters(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
			    size_t len)
{
	uint64_t room = held < cap ? cap - held : 0;
	size_t kept = 0;
	bool valid;

	if (cut_before)
		return 0;
	for (; room && kept < len; room--)
		kept += sp_utf8_next((const char *)data + kept, len - kept, &valid);
	return kept;
}

static void change_in_characters(struct sp_render_steps *steps)
{
	steps->cap = in_characters;
}

/* An output over the limit leaves an error and nothing else. */
static int thrown_away_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(&sandbox->inner, options, &result, err);

	if (rc < 0)
		return rc;
	if (result.stdout_cut || result.stderr_cut)
		return sp_error_set(err, SP_INTERNAL, "the output is longer than the cap");
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks thrown_away = { .exec = thrown_away_exec };
FAULT_WRAP(wrap_thrown_away, thrown_away)

static const struct sp_fault faults[] = {
	{ .version = SP_FAULT_VERSION,
	  .id = "cap-hole",
	  .summary = "Only the chunk that overflows the cap is dropped; later ones are kept again.",
	  .sources = FAULT_LIST("contract:C148", "render:18"),
	  .clause = "exec X4",
	  .cases = FAULT_LIST("exec.cap.prefix"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = change_hole },
	{ .version = SP_FAULT_VERSION,
	  .id = "cap-in-characters",
	  .summary = "What is left of the cap is counted in characters.",
	  .sources = FAULT_LIST("contract:C149", "render:18"),
	  .clause = "exec X4",
	  .cases = FAULT_LIST("exec.cap.in-bytes"),
	  .seam = SP_FAULT_RENDER_STEP,
	  .change_steps = change_in_characters },
	EXEC_FAULT("cap-throws-away", thrown_away, "X4",
		   "An output over the cap is an error, and all of it is thrown away.",
		   FAULT_LIST("field:X14"), FAULT_LIST("exec.cap.prefix")),
};
FAULT_TABLE(fault_exec_cap, faults);
