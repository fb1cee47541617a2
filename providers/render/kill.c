/* SPDX-License-Identifier: MIT */
/*
 * Kill and signal: a second command with a stream of its own, outside the
 * queue, so that neither a start that is held nor a reader that does not come can keep it.
 */
#include "internal.h"

#include <signal.h>

/* A kill may be repeated: the second one finds nothing or finishes the first. */
#define TRIES 3

int render_map_signal(int asked)
{
	switch (asked) {
	case 0:
		return SIGTERM;
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGQUIT:
	case SIGKILL:
		return asked;
	default:
		return SIGKILL;
	}
}

static int run_text(struct render_sandbox *sandbox, const struct sp_buf *text,
		    struct sp_cancel *cancel, int *ret_code, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc;

	if (text->error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a command");
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(text), SP_BUF_LINE, cancel,
			  &result, err);
	*ret_code = result.exit_code;
	return rc;
}

int render_kill(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_error inner = SP_ERROR_INIT;
	int code = 0, rc = 0;

	render_compose_kill(&core->steps, sandbox->dir, id, mark, core->steps.map_signal(signal),
			    core->capabilities.kill_grace_ms, &text);
	for (int tries = 0; tries < TRIES; tries++) {
		rc = run_text(sandbox, &text, cancel, &code, &inner);
		if (rc != SP_UNKNOWN_OUTCOME && rc != SP_UNAVAILABLE)
			break;
		if (sp_cancel_check(cancel, NULL) || render_pause(1u << tries, cancel, NULL))
			break;
	}
	/* A sandbox that is gone, which was confirmed, runs nothing. */
	if (!rc && !code)
		return 0;
	if (rc == SP_GONE)
		return 0;
	if (!rc)
		rc = sp_error_set(&inner, SP_UNAVAILABLE,
				  "the kill could not be carried out in sandbox %s (code %d)",
				  sandbox->id, code);
	if (err)
		*err = inner;
	return rc;
}

int render_signal(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int code, rc;

	render_compose_signal(&sandbox->core->steps, sandbox->dir, id, mark, signal, &text);
	rc = run_text(sandbox, &text, cancel, &code, err);
	if (rc || !code)
		return rc;
	if (code == 3)
		return sp_error_set(err, SP_GONE, "the process has ended");
	return sp_error_set(err, SP_UNAVAILABLE, "the signal could not be delivered (code %d)",
			    code);
}
