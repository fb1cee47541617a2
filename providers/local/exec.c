/* SPDX-License-Identifier: MIT */
#include <providers/local/internal.h>

#include <signal.h>

#include <base/thread.h>

static int take_result(struct local_run *run, struct sp_exec_result *ret_result,
		       struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	if (sp_buf_take_bytes(&run->streams[0].buf, &result.stdout_bytes) < 0 ||
	    sp_buf_take_bytes(&run->streams[1].buf, &result.stderr_bytes) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for the command's output");
	result.stdout_cut = run->streams[0].cut;
	result.stderr_cut = run->streams[1].cut;
	result.exit_code = run->exit.code;
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

int local_exec(void *self, const struct sp_exec_options *options, struct sp_exec_result *ret_result,
	       struct sp_error *err)
{
	struct local_run *run = NULL;
	int rc = local_run_start(self, options, true, &run, err);

	if (rc < 0)
		return rc;
	/* Nobody else has this run: the caller's own thread moves its bytes. */
	local_run_pump(run);
	if (run->exit.how == SP_EXIT_ABORTED || run->exit.how == SP_EXIT_TIMED_OUT)
		rc = sp_cancel_check(options->cancel, err);
	else if (run->ending)
		rc = sp_error_set(err, SP_GONE, "the sandbox was destroyed under the command");
	else
		rc = take_result(run, ret_result, err);
	local_run_unref(run);
	return rc;
}

static void *pump_thread(void *arg)
{
	struct local_run *run = arg;

	local_run_pump(run);
	local_run_unref(run);
	return NULL;
}

/* A thread of its own for each spawned command. */
static int start_pump(struct local_run *run)
{
	int rc;

	local_run_ref(run);
	rc = sp_thread_detached(pump_thread, run);
	if (rc)
		local_run_unref(run);
	return rc;
}

int local_spawn(void *self, const struct sp_exec_options *options, struct sp_process *ret_process,
		struct sp_error *err)
{
	struct local_sandbox *sandbox = self;
	struct local_run *run = NULL;

	if (!sandbox->provider->caps.background_processes)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "local: background_processes is not offered by the poll-only "
				    "variant; use exec");
	int rc = local_run_start(sandbox, options, false, &run, err);
	if (rc < 0)
		return rc;
	rc = start_pump(run);
	if (rc < 0) {
		local_run_end(run, SIGKILL, SP_KILLED);
		local_run_pump(run);
		local_run_unref(run);
		return sp_error_set_errno(err, -rc, "cannot start a thread for the command");
	}
	*ret_process = (struct sp_process){&local_process_ops, run};
	return 0;
}
