/* SPDX-License-Identifier: MIT */
/* Starting commands, and running one to its end. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Files of this many ended commands are removed at once. */
#define SWEEP_AT 64

/* Longest command text that fits one argument, edge form and quoting included. */
static size_t argument_room(const struct render_core *core)
{
	return atomic_load(&core->wrap) ? RENDER_ARG_MAX / 4 * 3 - 256 : RENDER_ARG_MAX - 1;
}

/* Takes the ids whose files can go, when there are enough of them. NULL-terminated, or NULL. */
static const char **take_ended(struct render_sandbox *sandbox, char (**ret_ids)[RENDER_ID_LEN + 1])
{
	const char **list = NULL;

	*ret_ids = NULL;
	pthread_mutex_lock(&sandbox->lock);
	if (sandbox->n_ended >= SWEEP_AT)
		list = calloc(sandbox->n_ended + 1, sizeof(*list));
	if (list) {
		for (size_t i = 0; i < sandbox->n_ended; i++)
			list[i] = sandbox->ended[i];
		*ret_ids = sandbox->ended;
		sandbox->ended = NULL;
		sandbox->n_ended = 0;
	}
	pthread_mutex_unlock(&sandbox->lock);
	return list;
}

/* The per-call environment, as a file of its own. */
static int upload_call_env(struct render_sandbox *sandbox, const struct render_command *command,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf file SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char name[RENDER_ID_LEN + 8];
	int rc;

	if (!command->n_env || !sandbox->core->steps.env_in_files)
		return 0;
	if (render_compose_env(command->env, command->n_env, &file))
		return sp_error_set(err, SP_INVALID, "the environment of the command is too large");
	snprintf(name, sizeof(name), "%s.env", command->id);
	rc = render_upload_private(sandbox, name, sp_buf_str(&file), file.len, cancel, err);
	explicit_bzero(file.data, file.len);
	return rc;
}

/* Text of the wrapped command; a long one is uploaded first. */
static int compose(struct render_sandbox *sandbox, struct render_command *command,
		   struct sp_buf *text, struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	char name[RENDER_ID_LEN + 8];
	int rc;

	if (!render_compose(&core->steps, sandbox->dir, command, text) &&
	    text->len < argument_room(core))
		return 0;
	snprintf(name, sizeof(name), "%s.cmd", command->id);
	rc = render_upload_private(sandbox, name, command->text, strlen(command->text), cancel, err);
	if (rc)
		return rc;
	command->in_file = true;
	sp_buf_clear(text);
	if (render_compose(&core->steps, sandbox->dir, command, text) || text->len >= argument_room(core))
		return sp_error_set(err, SP_INVALID, "the command's folder is too long");
	return 0;
}

/* Everything up to the accepted command. Runs with a turn of the queue. */
static int launch(struct render_sandbox *sandbox, struct render_command *command,
		  struct sp_cancel *cancel, struct render_run **ret_run, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char(*ids)[RENDER_ID_LEN + 1];
	const char **sweep = take_ended(sandbox, &ids);
	int rc = upload_call_env(sandbox, command, cancel, err);

	command->sweep = sweep;
	command->overlay_expected = sandbox->env.len > 0;
	if (!rc)
		rc = compose(sandbox, command, &text, cancel, err);
	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (!rc)
		rc = render_run_open(sandbox->core, sandbox->id, sp_buf_str(&text), cancel, ret_run,
				     err);
	command->sweep = NULL;
	free(sweep);
	free(ids);
	return rc;
}

/* The file that this handle's environment lives in may be old: it is written before anything starts. */
static int refresh_env(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	int rc;

	if (!sandbox->env_dirty)
		return 0;
	rc = render_queue_enter(sandbox, true, cancel, err);
	if (rc)
		return rc;
	if (sandbox->env_dirty)
		rc = render_env_refresh(sandbox, cancel, err);
	render_queue_leave(sandbox, true);
	return rc;
}

static int prepare(struct render_sandbox *sandbox, const struct sp_exec_options *options,
		   struct render_command *command, char **ret_dir, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc && !core->steps.may_start(options->cancel))
		rc = sp_cancel_check(options->cancel, err);
	if (!rc)
		rc = render_check_names(core, options->env, options->n_env, err);
	if (!rc)
		rc = render_path(sandbox, options->cwd ? options->cwd : "/workspace", ret_dir, err);
	if (!rc)
		rc = refresh_env(sandbox, options->cancel, err);
	if (rc)
		return rc;
	*command = (struct render_command){ .text = options->command,
					    .dir = *ret_dir,
					    .env = options->env,
					    .n_env = options->n_env };
	render_command_init(command);
	return 0;
}

int render_start(struct render_sandbox *sandbox, const struct sp_exec_options *options,
		 struct render_start *ret_start, struct sp_error *err)
{
	struct render_command command;
	char *dir SP_FREE = NULL;
	struct render_run *run = NULL;
	int rc = prepare(sandbox, options, &command, &dir, err);

	if (!rc)
		rc = render_queue_enter(sandbox, false, options->cancel, err);
	if (rc)
		return rc;
	rc = launch(sandbox, &command, options->cancel, &run, err);
	render_queue_leave(sandbox, false);
	/* It may have been accepted all the same: the marker stops it wherever it is. */
	if (rc == SP_ABORTED || rc == SP_TIMED_OUT)
		return render_abort(sandbox, command.id, command.mark, rc, err);
	if (rc)
		return rc;
	memcpy(ret_start->id, command.id, sizeof(ret_start->id));
	ret_start->mark = command.mark;
	ret_start->run = run;
	return 0;
}

static void unref_cancel(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

int render_abort(struct render_sandbox *sandbox, const char *id, uint64_t mark, int fired,
		 struct sp_error *err)
{
	struct sp_cancel *limit SP_CLEANUP(unref_cancel) = sp_cancel_new();
	struct sp_error failed = SP_ERROR_INIT;
	int rc;

	if (!sandbox->core->steps.abort_kills)
		return fired;
	sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	rc = render_kill(sandbox, id, mark, 0, limit, &failed);
	if (!rc)
		return fired;
	/* The caller must know that something may still run. */
	return sp_error_set(err, SP_UNKNOWN_OUTCOME, "the command was aborted and could not be ended: %s",
			    failed.message);
}

int render_why(struct render_sandbox *sandbox, const char *id, int code, struct sp_error *err)
{
	struct sp_bytes why SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char *path SP_FREE = NULL;
	bool archive;
	int rc;

	if (code != 125 && code != 126)
		return 0;
	if (asprintf(&path, "%s/%s.why", sandbox->dir, id) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	rc = render_download(sandbox->core, sandbox->id, path, &why, &archive, NULL, NULL);
	/* Without a reason of the wrapper's it is the command's own code. */
	if (rc || why.len != 3)
		return 0;
	if (!memcmp(why.data, "cwd", 3))
		return SP_NOT_FOUND;
	sandbox->env_dirty = true;
	return sp_error_set(err, SP_UNAVAILABLE,
			    "the environment was lost with the memory-backed directory; the next command brings it back");
}

/* ---- exec ---- */

struct capture {
	struct sp_buf bufs[2];
	bool cut[2];
};

static int keep(struct render_core *core, struct capture *capture, const struct render_event *event)
{
	int i = event->stream == SP_STDERR;
	size_t kept = core->steps.cap(capture->bufs[i].len, core->capabilities.output_cap,
				      capture->cut[i], event->data, event->len);

	capture->cut[i] = capture->cut[i] || kept < event->len;
	return sp_buf_add(&capture->bufs[i], event->data, kept);
}

static int follow(struct render_core *core, struct render_run *run, struct sp_cancel *cancel,
		  struct capture *capture, int *ret_code, struct sp_error *err)
{
	struct render_event event = { 0 };
	int rc;

	do {
		rc = render_run_next(run, cancel, &event, err);
		if (!rc && event.type == RENDER_OUTPUT && keep(core, capture, &event))
			rc = sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	} while (!rc && event.type == RENDER_OUTPUT);
	if (rc)
		return rc;
	if (event.type != RENDER_EXIT && core->steps.end_needs_exit)
		return render_run_lost(&event, err);
	*ret_code = core->steps.exit_code(event.code);
	return 0;
}

static int give(struct capture *capture, int code, struct sp_exec_result *ret_result,
		struct sp_error *err)
{
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;

	if (sp_buf_take_bytes(&capture->bufs[0], &result.stdout_bytes) ||
	    sp_buf_take_bytes(&capture->bufs[1], &result.stderr_bytes)) {
		sp_exec_result_done(&result);
		return sp_error_set(err, SP_INTERNAL, "no memory for a command's output");
	}
	result.stdout_cut = capture->cut[0];
	result.stderr_cut = capture->cut[1];
	result.exit_code = code;
	*ret_result = result;
	return 0;
}

int render_exec(void *self, const struct sp_exec_options *options,
		struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	size_t ceiling = (size_t)sandbox->core->capabilities.output_cap * 4 + 64;
	struct capture capture = { .bufs = { SP_BUF_INIT(ceiling), SP_BUF_INIT(ceiling) } };
	struct render_start start;
	int code = 0;
	int rc = render_start(sandbox, options, &start, err);

	if (rc)
		return rc;
	rc = follow(sandbox->core, start.run, options->cancel, &capture, &code, err);
	if ((rc == SP_ABORTED || rc == SP_TIMED_OUT) && sp_cancel_check(options->cancel, NULL))
		rc = render_abort(sandbox, start.id, start.mark, rc, err);
	render_run_close(start.run);
	if (!rc && !capture.bufs[0].len && !capture.bufs[1].len)
		rc = render_why(sandbox, start.id, code, err);
	if (rc == SP_NOT_FOUND)
		sp_error_set(err, SP_NOT_FOUND, "the folder %s does not exist: nothing ran", options->cwd);
	if (!rc)
		rc = give(&capture, code, ret_result, err);
	render_command_ended(sandbox, start.id);
	sp_buf_done(&capture.bufs[0]);
	sp_buf_done(&capture.bufs[1]);
	return rc;
}
