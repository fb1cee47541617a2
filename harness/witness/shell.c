/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include <base/buf.h>
#include <witness/shell.h>

/* Longest command text that a note shows. */
#define SHOWN 300

static void note_command(struct sp_case *t, const char *verb, const char *command)
{
	size_t len = strlen(command);

	sp_case_note(t, "%s: %.*s%s", verb, (int)(len > SHOWN ? SHOWN : len), command,
		     len > SHOWN ? " …" : "");
}

static const char *format_command(struct sp_case *t, struct sp_buf *buf, const char *format,
				  va_list args)
{
	sp_buf_vaddf(buf, format, args);
	if (buf->error) {
		sp_case_error(t, SP_HERE, "out of memory for a command");
		return NULL;
	}
	return sp_buf_str(buf);
}

static bool run(struct sp_case *t, struct sp_sandbox *sandbox, const char *command,
		struct sp_exec_result *ret_result)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!sandbox || !command)
		return false;
	options.command = command;
	options.cancel = sp_case_cancel(t);
	note_command(t, "exec", command);
	rc = sp_sandbox_exec(sandbox, &options, ret_result, &err);
	if (!SP_CHECK_OK(t, rc, &err, "exec of a plain command answers"))
		return false;
	sp_case_note(t, "  code %d, stdout %zu bytes, stderr %zu bytes", ret_result->exit_code,
		     ret_result->stdout_bytes.len, ret_result->stderr_bytes.len);
	return true;
}

bool sp_sh(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_exec_result *ret_result,
	   const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	const char *command;
	va_list args;

	va_start(args, format);
	command = format_command(t, &buf, format, args);
	va_end(args);
	return run(t, sandbox, command, ret_result);
}

static bool run_ok(struct sp_case *t, struct sp_sandbox *sandbox, const char *command,
		   struct sp_exec_result *ret_result)
{
	if (!run(t, sandbox, command, ret_result))
		return false;
	if (ret_result->exit_code == 0)
		return true;
	return SP_CHECK(t, false, "a plain command ends with code 0, not %d; its stderr: %.200s",
			ret_result->exit_code,
			ret_result->stderr_bytes.data ? (char *)ret_result->stderr_bytes.data : "");
}

bool sp_sh_ok(struct sp_case *t, struct sp_sandbox *sandbox, const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	const char *command;
	va_list args;

	va_start(args, format);
	command = format_command(t, &buf, format, args);
	va_end(args);
	return run_ok(t, sandbox, command, &result);
}

const char *sp_sh_out(struct sp_case *t, struct sp_sandbox *sandbox, const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	const char *command, *text;
	va_list args;
	size_t len;

	va_start(args, format);
	command = format_command(t, &buf, format, args);
	va_end(args);
	if (!run_ok(t, sandbox, command, &result))
		return NULL;
	text = result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "";
	len = strlen(text);
	if (len && text[len - 1] == '\n')
		len--;
	return sp_case_format(t, "%.*s", (int)len, text);
}

struct sp_sandbox sp_second_handle(struct sp_case *t, struct sp_sandbox *sandbox)
{
	struct sp_sandbox other = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_subject *subject = sp_case_second(t);
	int rc;

	if (!subject)
		return other;
	rc = sp_provider_resume(&subject->provider, sp_sandbox_id(sandbox), &other,
				sp_case_cancel(t), &err);
	/* One fault, one failure: that of lifecycle.resume.same. */
	if (rc == SP_UNSUPPORTED)
		sp_skip(t, "needs provider/resume: this provider has none");
	else if (SP_CHECK_OK(t, rc, &err, "another instance finds the sandbox by its id"))
		SP_CHECK(t, other.ops, "another instance finds the live sandbox, not \"gone\"");
	return other;
}

bool sp_spawn_with(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_spawned *child,
		   const struct sp_exec_options *options)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!sandbox)
		return false;
	note_command(t, "spawn", options->command);
	child->t = t;
	rc = sp_sandbox_spawn(sandbox, options, &child->process, &err);
	return SP_CHECK_OK(t, rc, &err, "spawn is accepted");
}

bool sp_spawn(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_spawned *child,
	      const char *format, ...)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	va_list args;

	va_start(args, format);
	options.command = format_command(t, &buf, format, args);
	va_end(args);
	return options.command && sp_spawn_with(t, sandbox, child, &options);
}

void sp_spawned_take(struct sp_case *t, struct sp_spawned *child, struct sp_process *process)
{
	child->t = t;
	child->process = *process;
	child->over = false;
	*process = (struct sp_process)SP_PROCESS_INIT;
}

bool sp_spawned_kill(struct sp_spawned *child, int signal)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	sp_case_note(child->t, "kill(%d)", signal);
	rc = sp_process_kill(&child->process, signal, sp_case_cancel(child->t), &err);
	return SP_CHECK_OK(child->t, rc, &err, "kill(%d) answers 0", signal);
}

bool sp_spawned_wait(struct sp_spawned *child, struct sp_exit *ret_exit)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_process_wait(&child->process, ret_exit, sp_case_cancel(child->t), &err);

	if (!SP_CHECK_OK(child->t, rc, &err, "wait() says how the command ended"))
		return false;
	child->over = true;
	sp_case_note(child->t, "wait: %s, code %d", sp_exit_how_name(ret_exit->how),
		     ret_exit->code);
	return true;
}

bool sp_spawned_read(struct sp_spawned *child, enum sp_stream stream, size_t max,
		     struct sp_bytes *ret_bytes)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(max);
	struct sp_error err = SP_ERROR_INIT;
	char piece[16384];
	size_t len;
	int rc;

	for (;;) {
		rc = sp_process_read(&child->process, stream, piece, sizeof(piece), &len,
				     sp_case_cancel(child->t), &err);
		if (!SP_CHECK_OK(child->t, rc, &err, "read() answers bytes or the end"))
			return false;
		if (len == 0)
			break;
		if (!SP_CHECK(child->t, sp_buf_add(&buf, piece, len) == 0,
			      "the stream has at most %zu bytes", max))
			return false;
	}
	return sp_buf_take_bytes(&buf, ret_bytes) == 0;
}

void sp_spawned_done(struct sp_spawned *child)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!child->process.ops)
		return;
	/* Clean-up, not a check: what the answer means is for the case to say. */
	if (!child->over)
		(void)sp_process_kill(&child->process, 9, sp_case_cancel(child->t), &err);
	sp_process_done(&child->process);
}

const char *sp_exit_how_name(enum sp_exit_how how)
{
	switch (how) {
	case SP_EXITED:
		return "exited";
	case SP_SIGNALLED:
		return "signalled";
	case SP_KILLED:
		return "killed";
	case SP_EXIT_ABORTED:
		return "aborted";
	case SP_EXIT_TIMED_OUT:
		return "timed out";
	}
	return "unknown";
}
