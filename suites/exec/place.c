/* SPDX-License-Identifier: MIT */
/* Where a command runs and what it finds in its environment. */
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <witness/mark.h>

#include "cases.h"
#include "run.h"

void exec_cwd_default(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options = exec_options(t, "pwd");
	const char *root;

	SP_REQUIRE(sandbox);
	root = sp_case_format(t, "%s\n", sp_sandbox_workspace_root(sandbox));
	SP_REQUIRE(exec_gives(t, &options, &(struct expected){ .out = root }, SP_HERE,
			      "a command without a folder starts in the workspace root"));
	options.cwd = "/workspace";
	SP_REQUIRE(exec_gives(t, &options, &(struct expected){ .out = root }, SP_HERE,
			      "/workspace is the workspace root"));
	options.cwd = "/";
	exec_gives(t, &options, &(struct expected){ .out = "/\n" }, SP_HERE,
		   "another absolute folder is itself");
}

/* The folder is refused: an error that names it, and no effect. */
static void refused_folder(struct sp_case *t, const char *cwd, const char *name)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_exec_options options;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(sp_mark_make(t, sandbox, name, &mark));
	options = exec_options(t, mark.shell);
	options.cwd = cwd;
	rc = sp_sandbox_exec(sandbox, &options, &result, &err);
	SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "exec in %s", cwd);
	SP_CHECK(t, strstr(err.message, cwd) != NULL,
		 "the error names the folder %s, but says \"%s\"", cwd, err.message);
	SP_REQUIRE(sp_mark_check(&mark, false, SP_HERE,
				 "the effect of a command whose folder is missing"));

	if (!sp_case_capabilities(t)->background_processes)
		return;
	err = (struct sp_error)SP_ERROR_INIT;
	rc = sp_sandbox_spawn(sandbox, &options, &process, &err);
	if (rc == 0) {
		/* Accepted: then waiting must tell, and it is no success. */
		struct sp_exit ended = { 0 };

		rc = sp_process_wait(&process, &ended, sp_case_cancel(t), &err);
		SP_CHECK(t, rc != 0 || ended.code != 0, "spawn in %s is no success", cwd);
		sp_process_done(&process);
	} else {
		SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "spawn in %s", cwd);
	}
	sp_mark_check(&mark, false, SP_HERE,
		      "the effect of a spawned command whose folder is missing");
}

void exec_cwd_missing(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *name = sp_case_unique(t);

	SP_REQUIRE(sandbox);
	refused_folder(t, sp_case_format(t, "/tmp/absent-%s", name), "absent");
	SP_REQUIRE(!sp_case_failed(t));
	SP_REQUIRE(sp_sh_ok(t, sandbox, ": >/tmp/file-%s", name));
	refused_folder(t, sp_case_format(t, "/tmp/file-%s/below", name), "below");
	sp_sh_ok(t, sandbox, "rm -f /tmp/file-%s", name);
}

/* `path` is the folder's own, `cwd` what the command is given. */
static bool starts_in(struct sp_case *t, const char *path, const char *cwd)
{
	struct sp_exec_options options = exec_options(t, "pwd");

	options.cwd = cwd;
	return exec_gives(t, &options,
			  &(struct expected){ .out = sp_case_format(t, "%s\n", path) }, SP_HERE,
			  "a folder with an odd name");
}

void exec_cwd_odd_names(struct sp_case *t)
{
	static const char *const names[] = {
		"it's", "\"q\"", "$HOME`id`", "a\nb", "-n", "*", "\xc3\xa9", " lead trail ",
		"#back\\slash",
	};
	struct sp_buf make SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *own = sp_case_format(t, "%s-odd", sp_case_unique(t)), *root;
	const char *paths[SP_COUNT(names)], *virtual[SP_COUNT(names)];

	SP_REQUIRE(sandbox);
	root = sp_sandbox_workspace_root(sandbox);
	sp_buf_adds(&make, "mkdir -p --");
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		paths[i] = sp_case_format(t, "/tmp/%s/%s", own, names[i]);
		virtual[i] = sp_case_format(t, "%s/%s/%s", root, own, names[i]);
		sp_buf_addc(&make, ' ');
		sp_buf_add_shell(&make, paths[i]);
		sp_buf_addc(&make, ' ');
		sp_buf_add_shell(&make, virtual[i]);
	}
	SP_REQUIRE(sp_sh_ok(t, sandbox, "%s", sp_buf_str(&make)));
	/* As it is, and below the virtual root. */
	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!starts_in(t, paths[i], paths[i]) ||
		    !starts_in(t, virtual[i],
			       sp_case_format(t, "/workspace/%s/%s", own, names[i])))
			break;
	sp_sh_ok(t, sandbox, "rm -rf '/tmp/%s' '%s/%s'", own, root, own);
}

void exec_env_one_command(struct sp_case *t)
{
	static const struct sp_env env[] = { { "SP_ONE", "first" }, { "SP_TWO", "" } };
	struct sp_exec_options options =
		exec_options(t, "echo ${SP_ONE-unset} ${SP_TWO-unset}. ${#SP_TWO}");

	options.env = env;
	options.n_env = SP_COUNT(env);
	SP_REQUIRE(exec_gives(t, &options, &(struct expected){ .out = "first . 0\n" }, SP_HERE,
			      "variables given to one command"));
	SP_REQUIRE(command_gives(t, options.command,
				 &(struct expected){ .out = "unset unset. 0\n" }, SP_HERE,
				 "the next command has none of them"));
	if (sp_case_capabilities(t)->background_processes) {
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_bytes out SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

		SP_REQUIRE(sp_spawn_with(t, sp_case_sandbox(t), &child, &options) &&
			   sp_spawned_read(&child, SP_STDOUT, 4096, &out));
		SP_CHECK_BYTES(t, "first . 0\n", 10, out.data, out.len,
			       "variables given to one spawned command");
	}
}

void exec_env_exact_values(struct sp_case *t)
{
	static const char *const values[] = {
		"plain", "", " ", "a b", "it's", "\"q\"", "$HOME", "`id`", "$(id)", "\\", "\\n",
		"a\nb", "a\nexport SP_EVIL=1", "\n", "tail\n", "-n", "--", "*", "a=b", "#c", "\t",
		"\xc3\xa9\xf0\x9f\x98\x80", "\x01\x7f", "!x", "~", "{a,b}",
		"-----BEGIN KEY-----\nabc+/=\n-----END KEY-----\n",
	};
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_env env[SP_COUNT(values)];
	struct sp_exec_options options;

	/* All of them to one command, which tells each between its number and its end. */
	for (size_t i = 0; i < SP_COUNT(values); i++) {
		env[i] = (struct sp_env){ sp_case_format(t, "SP_VALUE_%zu", i), values[i] };
		sp_buf_addf(&command, "printf '%zu: %%s\\0\\n' \"$SP_VALUE_%zu\"; ", i, i);
		sp_buf_addf(&out, "%zu: %s", i, values[i]);
		sp_buf_add(&out, "\0\n", 2);
	}
	sp_buf_adds(&command, "printf %s \"${SP_EVIL-}\"");
	options = exec_options(t, sp_buf_str(&command));
	options.env = env;
	options.n_env = SP_COUNT(env);
	exec_gives(t, &options, &(struct expected){ .out = out.data, .out_len = out.len }, SP_HERE,
		   "each value arrives byte for byte");
}

void exec_env_refused_names(struct sp_case *t)
{
	static const char *const names[] = {
		"", "A B", "A=B", "A;touch x", "A$(id)", "MY-KEY", "1A", "A\nB", "UID", "EUID",
		"PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO",
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;

	SP_REQUIRE(sandbox && sp_mark_make(t, sandbox, "refused", &mark));
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
		struct sp_env env = { names[i], "v" };
		struct sp_exec_options options = exec_options(t, mark.shell);
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		options.env = &env;
		options.n_env = 1;
		rc = sp_sandbox_exec(sandbox, &options, &result, &err);
		SP_REQUIRE(SP_CHECK_CODE(t, SP_INVALID, rc, &err,
					 "exec with the variable name \"%s\"", names[i]));
		SP_REQUIRE(sp_mark_check(&mark, false, SP_HERE,
					 "the effect of a command whose variable was refused"));
	}
	command_gives(t, "echo fine", &(struct expected){ .out = "fine\n" }, SP_HERE,
		      "the next command");
}
