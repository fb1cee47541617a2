/* SPDX-License-Identifier: MIT */
/* Kills and signals: another command each, on a stream of its own, which nobody's reader can hold up. */
#include "internal.h"

#include <signal.h>

/* What a kill prints: nothing, as a rule. */
#define TALK_MAX (64 * 1024)
/* Exit code of the signal command when there is no group. */
#define NO_GROUP 3

int render_kill(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct sp_exec_result talk SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc;

	if (render_compose_kill(&core->steps, sandbox->dir, id, mark,
				core->steps.map_signal(signal), core->capabilities.kill_grace_ms,
				&text))
		return sp_error_set(err, SP_INTERNAL, "no memory for a kill");
	rc = render_shell(core, sandbox->id, sp_buf_str(&text), TALK_MAX, cancel, &talk, err);
	/* With the sandbox everything in it has ended. */
	if (rc == SP_GONE)
		return 0;
	if (!rc && talk.exit_code)
		return sp_error_set(err, SP_UNAVAILABLE,
				    "the command could not be killed (code %d): something that carries its mark lives on",
				    talk.exit_code);
	return rc;
}

int render_signal(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct sp_exec_result talk SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc;

	if (render_compose_signal(&core->steps, sandbox->dir, id, mark, signal, &text))
		return sp_error_set(err, SP_INTERNAL, "no memory for a signal");
	rc = render_shell(core, sandbox->id, sp_buf_str(&text), TALK_MAX, cancel, &talk, err);
	if (rc)
		return rc;
	if (talk.exit_code == NO_GROUP)
		return sp_error_set(err, SP_GONE, "the command has ended: nobody was signalled");
	if (talk.exit_code)
		return sp_error_set(err, SP_UNAVAILABLE, "the signal could not be sent (code %d)",
				    talk.exit_code);
	return 0;
}
