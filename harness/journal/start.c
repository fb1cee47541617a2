/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <stdlib.h>

#include "commands.h"

/* ---- A process that has ended: what start() gives where nothing runs in the background ---- */

static int ended_read(void *self, enum sp_stream stream, void *buffer, size_t max, size_t *ret_len,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)stream, (void)buffer, (void)cancel;
	if (!max)
		return sp_error_set(err, SP_INVALID, "read needs room for a byte");
	*ret_len = 0;
	return 0;
}

static int ended_wait(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	(void)cancel, (void)err;
	*ret_exit = (struct sp_exit){ SP_EXITED, *(int *)self, 0 };
	return 0;
}

static int ended_kill(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)signal, (void)cancel, (void)err;
	return 0;
}

static void ended_release(void *self)
{
	free(self);
}

static const struct sp_process_ops ended_ops = {
	.version = SP_PROCESS_VERSION,
	.read = ended_read,
	.wait = ended_wait,
	.kill = ended_kill,
	.release = ended_release,
};

int journal_ended_process(int code, struct sp_process *ret_process, struct sp_error *err)
{
	int *kept = malloc(sizeof(*kept));

	if (!kept)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	*kept = code;
	*ret_process = (struct sp_process){ &ended_ops, kept };
	return 0;
}

/* ---- start() ---- */

/*
 * Makes the folder and refuses a run id that was used: behind an old exit a new run is never seen.
 */
static int prepare(const struct journal *journal, struct sp_sandbox *sandbox,
		   const struct journal_run *run, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_journal_words words = journal_run_words(run);
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc =
		journal_exec(sandbox, journal->steps.compose_prepare(&words), cancel, &result, err);

	if (rc || !result.exit_code)
		return rc;
	if (result.exit_code == SP_JOURNAL_USED)
		return journal->steps.refuse_reuse
			       ? sp_error_set(err, SP_CONFLICT,
					      "the run id %.200s was used: its journal holds "
					      "something "
					      "already; use another id or remove it",
					      run->run_id)
			       : 0;
	if (result.exit_code == SP_JOURNAL_NO_FILE)
		return journal_look_code(run, run->journal, &result, err);
	return journal_bad_code("making the journal folder", &result, err);
}

static int spawn(struct sp_sandbox *sandbox, const char *command, struct sp_cancel *cancel,
		 struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc;

	options.command = command;
	options.cancel = cancel;
	rc = sp_sandbox_spawn(sandbox, &options, ret_process, err);
	if (rc != SP_UNSUPPORTED)
		return rc;
	rc = sp_sandbox_exec(sandbox, &options, &result, err);
	return rc ? rc : journal_ended_process(result.exit_code, ret_process, err);
}

int journal_start(void *self, struct sp_sandbox *sandbox, const char *run_id, const char *command,
		  const struct sp_journal_options *given, struct sp_process *ret_process,
		  struct sp_error *err)
{
	const struct journal *journal = self;
	struct journal_options options SP_CLEANUP(journal_options_done) = { .dir = NULL };
	struct journal_run run SP_CLEANUP(journal_run_done) = { .run_id = NULL };
	struct sp_journal_words words;
	char *composed SP_FREE = NULL;
	int rc = journal_options_make(given, &options, err);

	if (!rc && !command)
		rc = sp_error_set(err, SP_INVALID, "a command is required");
	if (!rc)
		rc = journal_run_make(journal, &options, run_id, &run, err);
	if (!rc)
		rc = prepare(journal, sandbox, &run, options.cancel, err);
	if (rc)
		return rc;
	words = journal_run_words(&run);
	composed = journal->steps.compose_start(&words, command, run.nonce);
	if (!composed)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	/* A client that goes away must not take its run with it. */
	return spawn(sandbox, composed, journal->steps.start_detached ? NULL : options.cancel,
		     ret_process, err);
}
