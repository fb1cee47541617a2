/* SPDX-License-Identifier: MIT */
/* Faults of the shell that runs a command, and of the text on its way there. */
#include "exec_faults.h"

#include <string.h>

/* ---- Which shell ---- */

/* Newlines become CR LF, as a terminal's line discipline writes them. */
static int add_returns(struct sp_bytes *bytes)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * bytes->len + 1);
	struct sp_bytes changed = SP_BYTES_INIT;

	for (size_t i = 0; i < bytes->len; i++) {
		if (bytes->data[i] == '\n')
			sp_buf_addc(&out, '\r');
		sp_buf_addc(&out, (char)bytes->data[i]);
	}
	if (sp_buf_take_bytes(&out, &changed))
		return SP_INTERNAL;
	sp_bytes_done(bytes);
	*bytes = changed;
	return 0;
}

static void terminal_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_adds(out, "exec 2>&1;");
	sp_buf_adds(out, options->command);
}

/* What a terminal makes of output; a sandbox need not have one for it. */
static int terminal_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = exec_rewritten(sandbox, terminal_text, options, ret_result, err);

	if (rc == 0 && add_returns(&ret_result->stdout_bytes)) {
		sp_exec_result_done(ret_result);
		return sp_error_set(err, SP_INTERNAL, "no memory for output");
	}
	return rc;
}

static const struct fault_hooks terminal = { .exec = terminal_exec };
FAULT_WRAP(wrap_terminal, terminal)

static void login_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_adds(out, "exec bash -lc ");
	sp_buf_add_shell(out, options->command);
}
EXEC_TEXT_FAULT(login)

/*
 * What a command that comes to its end leaves behind in a shell: its folder, its umask and its
 * exported variables. The next one begins with them.
 */
static void shared_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_addf(out,
		    "[ ! -e ~/.shared-shell ]||. ~/.shared-shell;%s\n"
		    "left=$?;{ printf \"cd '%%s';umask %%s\\n\" \"$PWD\" \"$(umask)\";export -p; } "
		    ">~/.shared-shell;exit $left",
		    options->command);
}
EXEC_TEXT_FAULT(shared)

/* ---- Which text ---- */

static void first_line_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_add(out, options->command, strcspn(options->command, "\n"));
}
EXEC_TEXT_FAULT(first_line)

/*
 * Passed through a pair of double quotes once more, with nothing
 * escaped: they eat these backslashes.
 */
static void backslash_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	for (const char *c = options->command; *c; c++) {
		if (*c == '\\' && c[1] && strchr("\\$`\"\n", c[1]))
			c++;
		sp_buf_addc(out, *c);
	}
}
EXEC_TEXT_FAULT(backslash)

/* One argument of the kernel, and E2BIG as a code. */
static int one_argument_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			     struct sp_exec_result *ret_result, struct sp_error *err)
{
	if (strlen(options->command) < 128 * 1024)
		return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
	*ret_result = (struct sp_exec_result){ .exit_code = 126 };
	return 0;
}

static const struct fault_hooks one_argument = { .exec = one_argument_exec };
FAULT_WRAP(wrap_one_argument, one_argument)

static void one_line_text(const struct sp_exec_options *options, struct sp_buf *out)
{
	sp_buf_addf(out, "( %s )", options->command);
}
EXEC_TEXT_FAULT(one_line)

static bool says_login(const struct sp_bytes *bytes)
{
	const char *text = bytes->data ? (const char *)bytes->data : "";

	return strstr(text, "not authenticated") || strstr(text, "401 Unauthorized");
}

/* The class of an error is guessed from what the guest printed. */
static int login_error_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc = sp_sandbox_exec(&sandbox->inner, options, &result, err);

	if (rc < 0)
		return rc;
	if (result.exit_code &&
	    (says_login(&result.stdout_bytes) || says_login(&result.stderr_bytes)))
		return sp_error_set(err, SP_DENIED, "not logged in");
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}

static const struct fault_hooks login_error = { .exec = login_error_exec };
FAULT_WRAP(wrap_login_error, login_error)

static const struct sp_fault faults[] = {
	EXEC_FAULT("command-first-line-only", first_line, "X7",
		   "Only the first line of a command is run.", FAULT_LIST("contract:1.4"),
		   FAULT_LIST("exec.shell.posix")),
	EXEC_FAULT("exec-on-a-terminal", terminal, "X7",
		   "Output comes as from a terminal: streams merged, newlines as CR LF.",
		   FAULT_LIST("field:X18"), FAULT_LIST("exec.shell.no-terminal"),
		   .control = "exec.code.passes-through"),
	EXEC_FAULT("exec-login-shell", login, "X7", "Commands run in a login shell.",
		   FAULT_LIST("field:X19"), FAULT_LIST("exec.shell.no-profile")),
	EXEC_FAULT("exec-shared-shell", shared, "X7",
		   "A command begins with the folder, umask and variables that the one before "
		   "left.",
		   FAULT_LIST("field:X26"), FAULT_LIST("exec.shell.no-state")),
	EXEC_FAULT("command-backslash-eaten", backslash, "X8",
		   "The text is quoted for the wrong shell, which eats backslashes.",
		   FAULT_LIST("field:X33"), FAULT_LIST("exec.text.quotes")),
	EXEC_FAULT("command-over-128k-fails", one_argument, "X8",
		   "A command longer than one argument has code 126 and says nothing.",
		   FAULT_LIST("field:X32"), FAULT_LIST("exec.text.long")),
	EXEC_FAULT("command-in-one-line-group", one_line, "X8",
		   "The text is put between parentheses on one line.", FAULT_LIST("contract:C49"),
		   FAULT_LIST("exec.text.endings")),
	EXEC_FAULT("guest-text-read-as-login-error", login_error, "X8",
		   "A failed command that prints a login error is taken for one.",
		   FAULT_LIST("contract:C116"), FAULT_LIST("exec.text.imitations")),
};
FAULT_TABLE(fault_exec_shell, faults);
