/* SPDX-License-Identifier: MIT */
/* Starting a command, and running one to its end. */
#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Files of ended commands are removed this many at a time. */
#define SWEEP 64

void render_command_ended(struct render_sandbox *sandbox, const char *id)
{
	char(*longer)[RENDER_ID_LEN + 1];

	pthread_mutex_lock(&sandbox->lock);
	longer = realloc(sandbox->ended, (sandbox->n_ended + 1) * sizeof(*longer));
	if (longer) {
		sandbox->ended = longer;
		memcpy(longer[sandbox->n_ended++], id, sizeof(*longer));
	}
	pthread_mutex_unlock(&sandbox->lock);
}

/* Takes a batch out of the list, if there is one; `ret_ids` points into `ret_memory`. */
static void take_sweep(struct render_sandbox *sandbox, char (**ret_memory)[RENDER_ID_LEN + 1],
		       const char *ret_ids[SWEEP + 1])
{
	pthread_mutex_lock(&sandbox->lock);
	ret_ids[0] = NULL;
	if (sandbox->n_ended >= SWEEP) {
		sandbox->n_ended -= SWEEP;
		*ret_memory = calloc(SWEEP, sizeof(**ret_memory));
		for (size_t i = 0; *ret_memory && i < SWEEP; i++) {
			memcpy((*ret_memory)[i], sandbox->ended[sandbox->n_ended + i],
			       RENDER_ID_LEN);
			ret_ids[i] = (*ret_memory)[i];
		}
		ret_ids[*ret_memory ? SWEEP : 0] = NULL;
	}
	pthread_mutex_unlock(&sandbox->lock);
}

/* A limit of its own for what has to be done although the caller's time is over. */
static struct sp_cancel *cleanup_limit(const struct render_core *core)
{
	struct sp_cancel *limit = sp_cancel_new();

	if (limit)
		sp_cancel_set_deadline(
		    limit, sp_deadline_ms(RENDER_CLEANUP_MS + core->capabilities.kill_grace_ms));
	return limit;
}

static void remove_files(struct render_sandbox *sandbox, const char *id)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_cancel *limit = cleanup_limit(sandbox->core);

	sp_buf_addf(&text, "command -p rm -f -- %s/%s.env %s/%s.cmd", sandbox->dir, id,
		    sandbox->dir, id);
	if (!text.error)
		render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, limit,
			     &result, NULL);
	sp_cancel_unref(limit);
}

static void bar_files(struct render_sandbox *sandbox, const struct render_command *command)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_cancel *limit = cleanup_limit(sandbox->core);

	render_compose_bar(sandbox->dir, command, &text);
	if (!text.error)
		render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, limit,
			     &result, NULL);
	sp_cancel_unref(limit);
}

int render_abort(struct render_sandbox *sandbox, const char *id, uint64_t mark, int fired,
		 struct sp_error *err)
{
	struct sp_cancel *limit;
	struct sp_error inner = SP_ERROR_INIT;
	int rc;

	if (!sandbox->core->steps.abort_kills)
		return fired;
	limit = cleanup_limit(sandbox->core);
	rc = render_kill(sandbox, id, mark, SIGTERM, limit, &inner);
	sp_cancel_unref(limit);
	if (!rc)
		return fired;
	return sp_error_set(err, SP_UNKNOWN_OUTCOME, "aborted, and the command may still run: %s",
			    inner.message);
}

/* Uploads one of the command's own files. */
static int upload_own(struct render_sandbox *sandbox, const char *id, const char *suffix,
		      const void *data, size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	char name[RENDER_ID_LEN + 8];

	snprintf(name, sizeof(name), "%s.%s", id, suffix);
	return render_upload_private(sandbox, name, data, len, cancel, err);
}

static int upload_call_env(struct render_sandbox *sandbox, const struct render_command *command,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	int rc;

	if (!command->n_env || !sandbox->core->steps.env_in_files)
		return 0;
	if (render_compose_env(command->env, command->n_env, &text))
		return sp_error_set(err, SP_INVALID, "the environment is too large");
	rc = upload_own(sandbox, command->id, "env", text.data, text.len, cancel, err);
	explicit_bzero(text.data, text.len);
	return rc;
}

/* Composes the text; one that is too long for an argument goes into a file first. */
static int prepare_text(struct render_sandbox *sandbox, struct render_command *command,
			struct sp_cancel *cancel, struct sp_buf *text, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	size_t len = strlen(command->text);
	int rc = 0;

	if (len < RENDER_ARG_MAX && render_compose(&core->steps, sandbox->dir, command, text))
		return sp_error_set(err, SP_INVALID, "the command is too long");
	if (len < RENDER_ARG_MAX && render_run_fits(core, sp_buf_str(text), text->len))
		return 0;
	command->in_file = true;
	rc = upload_own(sandbox, command->id, "cmd", command->text, len, cancel, err);
	if (rc)
		return rc;
	sp_buf_clear(text);
	return render_compose(&core->steps, sandbox->dir, command, text)
		   ? sp_error_set(err, SP_INVALID, "the folder or the environment is too long")
		   : 0;
}

static int send_text(struct render_sandbox *sandbox, struct render_command *command,
		     struct sp_cancel *cancel, struct render_start *start, bool *ret_sent,
		     struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	int rc = prepare_text(sandbox, command, cancel, &text, err);

	if (rc)
		return rc;
	rc = render_run_open(core, sandbox->id, sp_buf_str(&text), text.len, cancel, &start->run,
			     ret_sent, err);
	if (rc != SP_INVALID || command->in_file ||
	    render_run_fits(core, sp_buf_str(&text), text.len))
		return rc;
	/* The edge wants it wrapped, and wrapped it is too long. */
	sp_buf_clear(&text);
	rc = prepare_text(sandbox, command, cancel, &text, err);
	return rc ? rc
		  : render_run_open(core, sandbox->id, sp_buf_str(&text), text.len, cancel,
				    &start->run, ret_sent, err);
}

/* With a turn in the queue. */
static int start_command(struct render_sandbox *sandbox, struct render_command *command,
			 struct sp_cancel *cancel, struct render_start *start, struct sp_error *err)
{
	const char *ids[SWEEP + 1];
	char(*memory)[RENDER_ID_LEN + 1] SP_FREE = NULL;
	bool sent = false;
	int rc = render_env_check_room(sandbox, command->env, command->n_env, err);

	if (!rc)
		rc = render_env_refresh(sandbox, cancel, err);
	if (rc)
		return rc;
	command->overlay_expected = sandbox->env.len > 0;
	take_sweep(sandbox, &memory, ids);
	command->sweep = ids;
	rc = upload_call_env(sandbox, command, cancel, err);
	if (!rc)
		rc = send_text(sandbox, command, cancel, start, &sent, err);
	if (!rc)
		return 0;
	/* Whatever the server makes of what it has: the marker is there before it can begin. */
	if (sent && (rc == SP_ABORTED || rc == SP_TIMED_OUT))
		rc = render_abort(sandbox, command->id, command->mark, rc, err);
	if ((!command->n_env && !command->in_file) || !sandbox->core->steps.start_cleans_up)
		return rc;
	if (!sent && (rc == SP_ABORTED || rc == SP_TIMED_OUT || rc == SP_UNKNOWN_OUTCOME))
		bar_files(sandbox, command);
	else if (rc != SP_UNKNOWN_OUTCOME)
		remove_files(sandbox, command->id);
	return rc;
}

int render_start(struct render_sandbox *sandbox, const struct sp_exec_options *options,
		 struct render_start *ret_start, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct sp_cancel *cancel = options->cancel;
	struct render_command command = {
	    .text = options->command, .env = options->env, .n_env = options->n_env};
	struct render_start start = {0};
	char *dir SP_FREE = NULL;
	int rc;

	if (!options->command)
		return sp_error_set(err, SP_INVALID, "no command");
	if (!core->steps.may_start(cancel))
		return sp_cancel_check(cancel, err);
	/* Only with a fault in the step: the start is then blind to its cancel. */
	if (sp_cancel_check(cancel, NULL))
		cancel = NULL;
	rc = render_sandbox_check(sandbox, err);
	if (!rc)
		rc = render_check_names(core, options->env, options->n_env, err);
	if (!rc && options->cwd)
		rc = render_path(sandbox, options->cwd, &dir, err);
	if (!rc)
		rc = render_queue_enter(sandbox, false, cancel, err);
	if (rc)
		return rc;
	render_command_init(&command);
	command.dir = dir && strcmp(dir, sandbox->root) ? dir : NULL;
	memcpy(start.id, command.id, sizeof(start.id));
	start.mark = command.mark;
	rc = start_command(sandbox, &command, cancel, &start, err);
	render_queue_leave(sandbox, false);
	if (!rc)
		*ret_start = start;
	return rc;
}

int render_why(struct render_sandbox *sandbox, const char *id, int code, struct sp_error *err)
{
	struct sp_bytes record SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_cancel *limit = cleanup_limit(sandbox->core);
	bool is_archive;
	int rc;

	sp_buf_addf(&path, "%s/%s.pg", sandbox->dir, id);
	rc = render_download(sandbox->core, sandbox->id, sp_buf_str(&path), &record, &is_archive,
			     limit, err);
	sp_cancel_unref(limit);
	if (rc && rc != SP_NOT_FOUND)
		return rc;
	if (!rc && !strcmp((const char *)record.data, "end\n"))
		return 0;
	if (!rc && !strcmp((const char *)record.data, "dir\n"))
		return sp_error_set(err, SP_NOT_FOUND,
				    "the folder to run in is missing; nothing ran");
	if (!rc && !strcmp((const char *)record.data, "env\n")) {
		atomic_store(&sandbox->env_dirty, true);
		return sp_error_set(err, SP_UNAVAILABLE,
				    "the sandbox had lost its environment; nothing ran");
	}
	if (!rc && !strcmp((const char *)record.data, "call\n"))
		return sp_error_set(err, SP_UNAVAILABLE,
				    "the sandbox had lost the command's environment; nothing ran");
	if (!rc && !strcmp((const char *)record.data, "mark\n"))
		return sp_error_set(
		    err, SP_UNSUPPORTED,
		    "the sandbox's bash cannot mark a command (ulimit -R, bash 5.1); nothing ran");
	return sp_error_set(err, SP_IO,
			    "the sandbox could not record the command in %s (code %d); nothing ran",
			    sandbox->dir, code);
}

/* One output of a command, as far as the cap lets it grow. */
struct capped {
	struct sp_buf buf;
	bool cut;
};

static int add_capped(const struct render_core *core, struct capped *to,
		      const struct render_event *event, struct sp_error *err)
{
	size_t keep = core->steps.cap(to->buf.len, core->capabilities.output_cap, to->cut,
				      event->data, event->len);

	to->cut |= keep < event->len;
	if (sp_buf_add(&to->buf, event->data, keep < event->len ? keep : event->len))
		return sp_error_set(err, SP_INTERNAL, "no memory for output");
	return 0;
}

static int collect(struct render_sandbox *sandbox, struct render_start *start,
		   struct sp_cancel *cancel, struct capped *out, struct capped *errors,
		   int *ret_code, struct sp_error *err)
{
	struct render_core *core = sandbox->core;
	struct render_event event;
	int rc;

	do {
		rc = render_run_next(start->run, cancel, &event, err);
		if (!rc && event.type == RENDER_OUTPUT)
			rc =
			    add_capped(core, event.stream == SP_STDOUT ? out : errors, &event, err);
	} while (!rc && event.type == RENDER_OUTPUT);
	if (rc == SP_ABORTED || rc == SP_TIMED_OUT)
		return render_abort(sandbox, start->id, start->mark, rc, err);
	if (rc)
		return rc;
	if (event.type == RENDER_EXIT) {
		*ret_code = core->steps.exit_code(event.code);
		return 0;
	}
	if (event.type == RENDER_END && !core->steps.end_needs_exit) {
		*ret_code = 0;
		return 0;
	}
	return render_run_lost(&event, err);
}

static int exec_once(struct render_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct capped out = {.buf = SP_BUF_INIT(SIZE_MAX / 2)};
	struct capped errors = {.buf = SP_BUF_INIT(SIZE_MAX / 2)};
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct render_start start;
	int rc = render_start(sandbox, options, &start, err);

	if (rc)
		return rc;
	rc = collect(sandbox, &start, options->cancel, &out, &errors, &result.exit_code, err);
	render_run_close(start.run);
	/* The wrapper says nothing when it fails: what has written has run. */
	if (!rc && (result.exit_code == 125 || result.exit_code == 126) && !out.buf.len &&
	    !errors.buf.len)
		rc = render_why(sandbox, start.id, result.exit_code, err);
	if (rc != SP_UNKNOWN_OUTCOME)
		render_command_ended(sandbox, start.id);
	if (!rc && (sp_buf_take_bytes(&out.buf, &result.stdout_bytes) ||
		    sp_buf_take_bytes(&errors.buf, &result.stderr_bytes)))
		rc = sp_error_set(err, SP_INTERNAL, "no memory for output");
	result.stdout_cut = out.cut;
	result.stderr_cut = errors.cut;
	sp_buf_done(&out.buf);
	sp_buf_done(&errors.buf);
	if (rc)
		sp_exec_result_done(&result);
	else
		*ret_result = result;
	return rc;
}

int render_exec(void *self, const struct sp_exec_options *options,
		struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error inner = SP_ERROR_INIT;
	int rc = exec_once(sandbox, options, &result, &inner);

	/* Nothing ran, and the file will be there now. */
	if (rc == SP_UNAVAILABLE && atomic_load(&sandbox->env_dirty) &&
	    !sp_cancel_check(options->cancel, NULL))
		rc = exec_once(sandbox, options, &result, &inner);
	if (atomic_load(&sandbox->destroyed) && rc != SP_INVALID) {
		sp_exec_result_done(&result);
		rc = render_sandbox_check(sandbox, &inner);
	}
	if (rc == SP_NOT_FOUND && options->cwd)
		sp_error_set(&inner, rc, "the folder %s does not exist; nothing ran", options->cwd);
	if (!rc)
		*ret_result = result;
	else if (err)
		*err = inner;
	return rc;
}
