/* SPDX-License-Identifier: MIT */
/* Faults of the git helpers. */
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

#include "exec_faults.h"
#include "tables.h"
#include "wrap.h"

static int ignores_codes_git(struct fault_sandbox *sandbox, const struct sp_git_options *options,
			     struct sp_exec_result *ret_result, struct sp_error *err)
{
	int rc = sp_sandbox_git(&sandbox->inner, options, ret_result, err);

	return rc == SP_IO ? 0 : rc;
}

static const struct fault_hooks ignores_codes = { .git = ignores_codes_git };
FAULT_WRAP(wrap_ignores_codes, ignores_codes)

/* git commit -m $message */
static int word_git(struct fault_sandbox *sandbox, const struct sp_git_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_git_options changed = *options;
	char *word SP_FREE =
		options->message ? strndup(options->message, strcspn(options->message, "' \n"))
				 : NULL;

	if (word)
		changed.message = word;
	return sp_sandbox_git(&sandbox->inner, &changed, ret_result, err);
}

static const struct fault_hooks message_word = { .git = word_git };
FAULT_WRAP(wrap_message_word, message_word)

/* git clone "$url" "$dir", with both in the text and nothing before them. */
static int in_text_git(struct fault_sandbox *sandbox, const struct sp_git_options *options,
		       struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options exec = SP_EXEC_OPTIONS_INIT;
	int rc;

	if (strcmp(options->verb, "clone") != 0)
		return sp_sandbox_git(&sandbox->inner, options, ret_result, err);
	sp_buf_addf(&text, "git clone \"%s\" \"%s\"", options->url, options->dir);
	exec.command = sp_buf_str(&text);
	exec.cancel = options->cancel;
	rc = sp_sandbox_exec(&sandbox->inner, &exec, ret_result, err);
	return !rc && ret_result->exit_code ? sp_error_set(err, SP_IO, "git failed") : rc;
}

static const struct fault_hooks in_text = { .git = in_text_git };
FAULT_WRAP(wrap_in_text, in_text)

static const struct sp_fault faults[] = {
	EXEC_FAULT("git-ignores-codes", ignores_codes, "X14", "A git that fails is a success.",
		   FAULT_LIST("contract:1.7"), FAULT_LIST("exec.git.fails")),
	EXEC_FAULT("git-message-is-a-word", message_word, "X14",
		   "A commit's message ends at its first blank or quote.",
		   FAULT_LIST("contract:1.7"), FAULT_LIST("exec.git.works")),
	EXEC_FAULT("git-values-in-text", in_text, "X14",
		   "A clone's URL and folder stand in the shell's text as they are.",
		   FAULT_LIST("contract:1.7"), FAULT_LIST("exec.git.values")),
};
FAULT_TABLE(fault_exec_git, faults);
