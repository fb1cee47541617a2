/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/git.h>

/* What the scripted sandbox was asked, and what it answers. */
struct script {
	char command[4096];
	char env[1024];
	const char *cwd;
	int code;
	const char *say;
};

static int scripted_exec(void *self, const struct sp_exec_options *options,
			 struct sp_exec_result *ret_result, struct sp_error *err SP_UNUSED)
{
	struct script *script = self;
	size_t len = 0;

	snprintf(script->command, sizeof(script->command), "%s", options->command);
	script->env[0] = '\0';
	for (size_t i = 0; i < options->n_env; i++)
		len += (size_t)snprintf(script->env + len, sizeof(script->env) - len, "%s=%s;",
					options->env[i].name, options->env[i].value);
	script->cwd = options->cwd;
	*ret_result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	ret_result->exit_code = script->code;
	ret_result->stderr_bytes.data = (unsigned char *)strdup(script->say ? script->say : "");
	ret_result->stderr_bytes.len = strlen((char *)ret_result->stderr_bytes.data);
	return 0;
}

static const struct sp_sandbox_ops scripted_ops = {
	.version = SP_SANDBOX_VERSION,
	.exec = scripted_exec,
};

static int run(struct script *script, const struct sp_git_options *options, struct sp_error *err)
{
	struct sp_sandbox sandbox = { &scripted_ops, script };
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	return sp_git_over_exec(&sandbox, options, &result, err);
}

#define GIT(...) { .version = SP_GIT_OPTIONS_VERSION, __VA_ARGS__ }

Test(git, refuses_what_would_be_an_option_or_is_not_there)
{
	static const struct {
		struct sp_git_options options;
		const char *says;
	} rows[] = {
		{ GIT(.verb = NULL), "no verb" },
		{ GIT(.verb = "gc"), "are the verbs" },
		{ GIT(.verb = "clone", .url = "u"), "needs a URL and a folder" },
		{ GIT(.verb = "clone", .dir = "d"), "needs a URL and a folder" },
		{ GIT(.verb = "clone", .url = "--upload-pack=x", .dir = "d"), "would be an "
									      "option" },
		{ GIT(.verb = "clone", .url = "u", .dir = "-d"), "would be an option" },
		{ GIT(.verb = "clone", .url = "u", .dir = "d", .ref = "-b"), "would be an option" },
		{ GIT(.verb = "clone", .url = "https://me:pw@host/x", .dir = "d"), "no place in a "
										   "URL" },
		{ GIT(.verb = "commit"), "needs a message" },
		{ GIT(.verb = "branch"), "needs a name" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct script script = { 0 };
		struct sp_error err = SP_ERROR_INIT;
		int rc = run(&script, &rows[i].options, &err);

		cr_expect(rc == SP_INVALID && strstr(err.message, rows[i].says),
			  "row %zu: expected SP_INVALID with \"%s\", got %d with \"%s\"", i,
			  rows[i].says, rc, err.message);
		cr_expect_str_empty(script.command, "row %zu ran \"%s\"", i, script.command);
	}
}

Test(git, composes_each_verb)
{
	static const struct {
		struct sp_git_options options;
		const char *has;
		const char *cwd;
	} rows[] = {
		{ GIT(.verb = "clone", .url = "https://h/x", .dir = "a/b"),
		  "--depth 1 --single-branch -- 'https://h/x' \"$d\"", NULL },
		{ GIT(.verb = "clone", .url = "u", .dir = "b", .depth = 7), "--depth 7 ", NULL },
		{ GIT(.verb = "clone", .url = "u", .dir = "it's", .depth = -1, .ref = "v1"),
		  " clone --branch 'v1' -- 'u'", NULL },
		{ GIT(.verb = "status", .dir = "w"), "git status --porcelain=v1 --branch", "w" },
		{ GIT(.verb = "add", .dir = "w"), "git add --all -- .", "w" },
		{ GIT(.verb = "commit", .dir = "w", .message = "-m $(x) 'q'"),
		  "git commit --message='-m $(x) '\\''q'\\'''", "w" },
		{ GIT(.verb = "push", .dir = "w"), " push", "w" },
		{ GIT(.verb = "pull", .dir = "w"), " pull --ff-only", "w" },
		{ GIT(.verb = "branch", .dir = "w", .ref = "topic"), "git branch -- 'topic'", "w" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct script script = { 0 };
		struct sp_error err = SP_ERROR_INIT;

		cr_expect_eq(run(&script, &rows[i].options, &err), 0, "row %zu: %s", i,
			     err.message);
		cr_expect(strstr(script.command, rows[i].has), "row %zu: expected \"%s\" in \"%s\"",
			  i, rows[i].has, script.command);
		cr_expect(rows[i].cwd ? script.cwd && !strcmp(script.cwd, rows[i].cwd)
				      : !script.cwd,
			  "row %zu: cwd %s", i, script.cwd ? script.cwd : "(none)");
		cr_expect_str_eq(script.env, "GIT_TERMINAL_PROMPT=0;", "row %zu: %s", i,
				 script.env);
	}
}

Test(git, token_is_in_the_environment_only)
{
	struct sp_git_options options =
		GIT(.verb = "clone", .url = "u", .dir = "d", .token = "t0ken");
	struct script script = { .code = 128, .say = "fatal: t0ken is no good, t0ken" };
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(run(&script, &options, &err), SP_IO);
	cr_expect(!strstr(script.command, "t0ken"), "the command has it: %s", script.command);
	cr_expect_str_eq(script.env, "GIT_TERMINAL_PROMPT=0;GIT_ASKPASS_USER=x-access-token;"
				     "GIT_ASKPASS_TOKEN=t0ken;");
	cr_expect(!strstr(err.message, "t0ken") && !strstr(err.detail, "t0ken"),
		  "the error has it: %s, %s", err.message, err.detail);
	cr_expect(strstr(err.detail, "fatal: *****"), "detail: %s", err.detail);
}
