/* SPDX-License-Identifier: MIT */
/* E5, E6: where a value must not be, while it is where it should be. */
#include <stdlib.h>

#include <suites/env/cases.h>
#include <witness/vars.h>

/* One secret of the sandbox and one of a single command, both in use. */
struct both {
	struct sp_secret lasting;
	struct sp_secret call;
};

/* Uses both on every path that carries variables, and says that they arrived. */
static bool use_both(struct sp_case *t, struct sp_sandbox *sandbox, struct both *both)
{
	struct sp_env lasting = {"SP_LASTING", NULL}, call = {"SP_CALL", NULL};
	struct sp_env seen[2];

	sp_secret_make(t, &both->lasting);
	sp_secret_make(t, &both->call);
	lasting.value = both->lasting.value;
	call.value = both->call.value;
	seen[0] = lasting;
	seen[1] = call;
	if (!sp_vars_set(t, sandbox, &lasting, 1, SP_HERE, "env_set of a secret") ||
	    !sp_vars_arrive(t, sandbox, &call, 1, seen, 2, SP_HERE,
			    "exec with a secret of its own"))
		return false;
	return !sp_case_capabilities(t)->background_processes ||
	       sp_vars_arrive_spawned(t, sandbox, &call, 1, seen, 2, SP_HERE,
				      "spawn with a secret of its own");
}

/* A git call with a token that fails: its error, and all that it sent, are looked at. */
static bool use_git(struct sp_case *t, struct sp_sandbox *sandbox, const struct sp_secret *token)
{
	struct sp_git_options options = SP_GIT_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.verb = "clone";
	options.url = sp_case_format(t, "/tmp/%s-absent", sp_case_unique(t));
	options.dir = sp_case_format(t, "/tmp/%s-clone", sp_case_unique(t));
	options.token = token->canary.text;
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_git(sandbox, &options, &result, &err);
	if (rc == SP_UNSUPPORTED)
		return true;
	return SP_CHECK(t, rc != 0, "a clone of what is not there is an error") &&
	       sp_search_check_error(t, &token->canary, &err, SP_HERE, "a failed clone");
}

void env_secret_requests(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_secret token, created;
	struct sp_env var = {"SP_CREATED", NULL};
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct both both;

	SP_REQUIRE(sandbox && sp_count_forget_requests(t));
	SP_REQUIRE(use_both(t, sandbox, &both));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_list(sandbox, "/", &list, sp_case_cancel(t), &err),
			       &err, "list of a folder"));
	sp_secret_make(t, &token);
	SP_REQUIRE(use_git(t, sandbox, &token));
	sp_secret_make(t, &created);
	var.value = created.value;
	other = sp_vars_create(t, &var, 1);
	SP_REQUIRE(other.ops && sp_vars_arrive(t, &other, NULL, 0, &var, 1, SP_HERE,
					       "a secret from the creation"));
	SP_REQUIRE(
	    SP_CHECK_OK(t, sp_sandbox_destroy(&other, sp_case_cancel(t), &err), &err, "destroy"));
	SP_REQUIRE(sp_search_check_requests(t, &both.lasting.canary, SP_HERE));
	SP_REQUIRE(sp_search_check_requests(t, &both.call.canary, SP_HERE));
	SP_REQUIRE(sp_search_check_requests(t, &token.canary, SP_HERE));
	sp_search_check_requests(t, &created.canary, SP_HERE);
}

void env_secret_timeline(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_secret token;
	bool unsupported = false;
	struct both both;

	SP_REQUIRE(sandbox && use_both(t, sandbox, &both));
	sp_secret_make(t, &token);
	SP_REQUIRE(use_git(t, sandbox, &token));
	SP_REQUIRE(
	    sp_search_check_timeline(t, sandbox, &both.lasting.canary, &unsupported, SP_HERE));
	if (unsupported) {
		sp_skip(t, "needs a timeline: this provider tells none");
		return;
	}
	SP_REQUIRE(sp_search_check_timeline(t, sandbox, &both.call.canary, &unsupported, SP_HERE));
	sp_search_check_timeline(t, sandbox, &token.canary, &unsupported, SP_HERE);
}

/* True when a line of the search starts with `kind`. */
static bool names(const char *found, const char *kind)
{
	size_t len = strlen(kind);

	for (; found && *found; found = strchr(found, '\n') ? strchr(found, '\n') + 1 : NULL)
		if (!strncmp(found, kind, len))
			return true;
	return false;
}

void env_secret_argv(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;
	struct sp_secret lasting;
	struct sp_env var = {"SP_LASTING", NULL};
	const char *found;
	int isolated;

	SP_REQUIRE(sandbox);
	sp_secret_make(t, &lasting);
	var.value = lasting.value;
	SP_REQUIRE(sp_vars_set(t, sandbox, &var, 1, SP_HERE, "env_set of a secret"));
	holder.shell_stays = true;
	SP_REQUIRE(sp_holder_start(t, sandbox, &holder));
	SP_REQUIRE(sp_vars_arrive(t, sandbox, NULL, 0, &var, 1, SP_HERE, "the sandbox's secret"));
	isolated = sp_search_isolated(t, sandbox);
	SP_REQUIRE(isolated >= 0);
	found = sp_search_processes(t, sandbox, &lasting.canary);
	SP_REQUIRE(found);
	SP_CHECK(t, !names(found, "cmdline"), "no command line holds the sandbox's secret: %s",
		 found);
	found = sp_search_processes(t, sandbox, &holder.secret.canary);
	SP_REQUIRE(found);
	SP_CHECK(t, !names(found, "cmdline"), "no command line holds a command's own secret: %s",
		 found);
	SP_REQUIRE(sp_search_check_host(t, &lasting.canary, isolated, SP_HERE));
	sp_search_check_host(t, &holder.secret.canary, isolated, SP_HERE);
}

/*
 * Prints the command lines of a shell and of all that it descends from; its own holds `word`. Tools
 * are few, so that a provider that can do nothing but exec is looked at too.
 */
static const char *own_lines(struct sp_case *t, const char *word)
{
	return sp_case_format(t,
			      "sh -c 'p=$$; while [ \"$p\" -gt 0 ] && "
			      "tr \"\\0\" \"\\n\" </proc/$p/cmdline; do n=0; "
			      "while read -r k v; do [ \"$k\" != PPid: ] || n=$v; done "
			      "</proc/$p/status; p=$n; done 2>/dev/null' sh %s; :",
			      word);
}

void env_secret_own_argv(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_env vars[] = {{"SP_LASTING", NULL}, {"SP_OWN", NULL}};
	struct sp_secret lasting, own;
	struct sp_canary seen;
	const struct sp_bytes *out = &result.stdout_bytes;

	SP_REQUIRE(sandbox);
	sp_secret_make(t, &lasting);
	sp_secret_make(t, &own);
	sp_canary_make(t, &seen);
	vars[0].value = lasting.value;
	vars[1].value = own.value;
	SP_REQUIRE(sp_vars_set(t, sandbox, vars, 1, SP_HERE, "env_set of a secret"));
	options.command = sp_case_format(t, "%s; %s", sp_vars_command(t, vars, 2),
					 own_lines(t, seen.text));
	options.env = vars + 1;
	options.n_env = 1;
	options.cancel = sp_case_cancel(t);
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_exec(sandbox, &options, &result, &err), &err,
			       "exec with a secret of its own"));
	SP_REQUIRE(sp_vars_found(t, (char *)out->data, vars, 2, SP_HERE, "both secrets"));
	if (!memmem(out->data, out->len, seen.text, strlen(seen.text))) {
		sp_skip(t, "needs /proc: a command finds its own command line nowhere");
		return;
	}
	SP_REQUIRE(sp_canary_check_absent(t, &lasting.canary, out->data, out->len, SP_HERE,
					  "the command lines of a command and its parents"));
	sp_canary_check_absent(t, &own.canary, out->data, out->len, SP_HERE,
			       "the command lines of a command and its parents");
}

void env_secret_other_environ(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;
	const char *found;

	SP_REQUIRE(sandbox && sp_holder_start(t, sandbox, &holder));
	found = sp_search_processes(t, sandbox, &holder.secret.canary);
	SP_REQUIRE(found);
	SP_CHECK_STR(t, sp_case_format(t, "environ %s", holder.pid), found,
		     "processes that hold a command's own secret");
}

void env_secret_call_file(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;
	struct sp_exit exit;

	SP_REQUIRE(sandbox && sp_holder_start(t, sandbox, &holder));
	SP_REQUIRE(
	    sp_secret_check_no_file(t, sandbox, &holder.secret, SP_HERE, "while the command runs"));
	SP_REQUIRE(sp_sh_ok(t, sandbox, "echo on >%s", sp_place_path(&holder.place, "hold")));
	SP_REQUIRE(sp_spawned_wait(&holder.child, &exit));
	sp_secret_check_no_file(t, sandbox, &holder.secret, SP_HERE, "after the command");
}

/* A command whose start stands at `step` is aborted, and its variables leave nothing. */
static void aborted_at(struct sp_case *t, enum sp_control_step step, enum sp_control_when when)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_env var = {"SP_CALL", NULL};
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	struct sp_secret secret;

	SP_REQUIRE(sandbox);
	other = sp_second_handle(t, sandbox);
	SP_REQUIRE(other.ops && sp_mark_make(t, &other, "ran", &mark));
	sp_secret_make(t, &secret);
	var.value = secret.value;
	options.command = mark.shell;
	options.env = &var;
	options.n_env = 1;
	SP_REQUIRE(sp_gate_shut(t, sandbox, step, when, &gate));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_gate_await(&gate));
	sp_call_abort(call, "no longer wanted");
	(void)sp_rounds_done(t, &other, call);
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err, "an aborted exec"));
	SP_REQUIRE(
	    sp_search_check_error(t, &secret.canary, &result->err, SP_HERE, "an aborted exec"));
	SP_REQUIRE(sp_rounds(t, &other));
	SP_REQUIRE(sp_mark_check(&mark, false, SP_HERE, "the effect of an aborted command"));
	sp_secret_check_no_file(t, &other, &secret, SP_HERE, "after a command that never started");
}

void env_secret_never_started(struct sp_case *t)
{
	aborted_at(t, SP_STEP_UPLOAD, SP_AFTER);
	if (!sp_case_failed(t))
		aborted_at(t, SP_STEP_RUN, SP_BEFORE);
}

void env_secret_at_rest(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *files;
	struct both both;

	SP_REQUIRE(sandbox && use_both(t, sandbox, &both));
	for (int i = 0; i < 3; i++)
		SP_REQUIRE(sp_sh_ok(t, sandbox, ": %d", i));
	files = sp_search_files(t, sandbox, &both.lasting.canary);
	SP_REQUIRE(files);
	SP_REQUIRE(SP_CHECK(t, !sp_secret_outside_memory(t, files),
			    "no file outside the memory-backed directory holds the sandbox's "
			    "secret, but: %s",
			    files));
	sp_secret_check_no_file(t, sandbox, &both.call, SP_HERE,
				"after commands with a secret of their own");
}

/* ---- Other users of the sandbox ---- */

/* Files and environments that hold the secret are root's alone. */
static bool check_private(struct sp_case *t, struct sp_sandbox *sandbox,
			  const struct sp_secret *secret, const char *pid, bool expect_file)
{
	const char *as = "setpriv --reuid=65534 --regid=65534 --clear-groups --";
	const char *files, *said;

	if (pid) {
		said = sp_sh_out(t, sandbox,
				 "%s cat /proc/%s/environ >/dev/null 2>&1 && echo readable; true",
				 as, pid);
		if (!said ||
		    !SP_CHECK_STR(t, "", said, "the command's environment, as another user"))
			return false;
	}
	files = sp_search_files(t, sandbox, &secret->canary);
	if (!files ||
	    (expect_file && !SP_CHECK(t, *files, "the command's file is there while it is held")))
		return false;
	said = sp_sh_out(t, sandbox,
			 "while read -r f; do [ -n \"$f\" ] || continue; "
			 "%s cat -- \"$f\" >/dev/null 2>&1 && echo \"$f can be read\"; "
			 "m=$(stat -c %%a -- \"$f\"); [ $m = 600 ] || echo \"$f has mode $m\"; "
			 "m=$(stat -c %%a -- \"${f%%/*}\"); [ $m = 700 ] || echo \"the folder of "
			 "$f has mode $m\"; "
			 "done <<'E'\n%s\nE\ntrue",
			 as, files);
	return said && SP_CHECK_STR(t, "", said, "files with secrets, as another user");
}

/* A skip where the sandbox has no other user. */
static bool has_other_user(struct sp_case *t, struct sp_sandbox *sandbox)
{
	const char *said = sp_sh_out(t, sandbox,
				     "setpriv --reuid=65534 --regid=65534 --clear-groups -- id -u "
				     "2>/dev/null; true");

	if (said && strcmp(said, "65534"))
		sp_skip(t, "needs another user: the sandbox has only one");
	return said && !strcmp(said, "65534");
}

void env_secret_other_user(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;
	struct sp_secret lasting;
	struct sp_env var = {"SP_LASTING", NULL};

	SP_REQUIRE(sandbox && has_other_user(t, sandbox));
	sp_secret_make(t, &lasting);
	var.value = lasting.value;
	SP_REQUIRE(sp_vars_set(t, sandbox, &var, 1, SP_HERE, "env_set of a secret"));
	SP_REQUIRE(sp_holder_start(t, sandbox, &holder));
	SP_REQUIRE(sp_vars_arrive(t, sandbox, NULL, 0, &var, 1, SP_HERE, "the sandbox's secret"));
	SP_REQUIRE(check_private(t, sandbox, &lasting, holder.pid, false));
	check_private(t, sandbox, &holder.secret, holder.pid, false);
}

/* Between the upload of its variables and its start. */
void env_secret_other_user_held(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_env var = {"SP_CALL", NULL};
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	struct sp_secret secret;
	int isolated;

	SP_REQUIRE(sandbox && has_other_user(t, sandbox));
	isolated = sp_search_isolated(t, sandbox);
	SP_REQUIRE(isolated >= 0);
	if (!isolated) {
		sp_skip(t, "needs isolation: a command's file may lie anywhere on the host");
		return;
	}
	other = sp_second_handle(t, sandbox);
	SP_REQUIRE(other.ops);
	sp_secret_make(t, &secret);
	var.value = secret.value;
	options.command = sp_vars_command(t, &var, 1);
	options.env = &var;
	options.n_env = 1;
	SP_REQUIRE(sp_gate_shut(t, sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	call = sp_call_exec(t, sandbox, &options);
	SP_REQUIRE(call && sp_gate_await(&gate));
	SP_REQUIRE(check_private(t, &other, &secret, NULL, true));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the command that was held"));
	SP_REQUIRE(sp_vars_found(t, (char *)result->exec.stdout_bytes.data, &var, 1, SP_HERE,
				 "the command that was held"));
	sp_secret_check_no_file(t, &other, &secret, SP_HERE, "once it was loaded");
}

/* ---- The host, and git ---- */

void env_secret_host(struct sp_case *t)
{
	const char *name = "SANDPROOF_HOST_SECRET";
	struct sp_sandbox sandbox SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_canary canary;
	const struct sp_env absent = {name, NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *found;
	int isolated;

	sp_canary_make(t, &canary);
	setenv(name, canary.text, 1);
	sandbox = sp_vars_create(t, NULL, 0);
	isolated = sandbox.ops ? sp_search_isolated(t, &sandbox) : -1;
	if (!isolated)
		sp_skip(t, "needs isolation: commands of this provider are processes of the host");
	if (isolated > 0 &&
	    sp_vars_arrive(t, &sandbox, NULL, 0, &absent, 1, SP_HERE, "a variable of the host")) {
		found = sp_search_processes(t, &sandbox, &canary);
		if (found)
			SP_CHECK_STR(t, "", found,
				     "processes in the sandbox that hold the host's secret");
	}
	unsetenv(name);
	if (sandbox.ops)
		SP_CHECK_OK(t, sp_sandbox_destroy(&sandbox, sp_case_cancel(t), &err), &err,
			    "destroy");
}

/* Stands in for git: notes its arguments, and proves that the token came. */
#define GIT                                                                                        \
	"#!/bin/sh\n"                                                                              \
	"printf \"%%s\\n\" \"$@\" >>%1$s/argv\n"                                                   \
	"env -0 | grep -az ^GIT_ASKPASS_TOKEN= | cksum >%1$s/token\n"

void env_secret_git(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_git_options options = SP_GIT_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_secret token;
	struct sp_env path = {"PATH", NULL}, expected = {"GIT_ASKPASS_TOKEN", NULL};
	const char *argv, *old;
	int rc;

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "git", &place));
	sp_secret_make(t, &token);
	expected.value = token.canary.text;
	old = sp_sh_out(t, sandbox,
			"printf %%s '" GIT "' >%1$s/git; chmod 755 %1$s/git; echo \"$PATH\"",
			place.dir);
	SP_REQUIRE(old);
	path.value = sp_case_format(t, "%s:%s", place.dir, old);
	SP_REQUIRE(sp_vars_set(t, sandbox, &path, 1, SP_HERE, "env_set of PATH"));
	options.verb = "clone";
	options.url = "https://localhost/none.git";
	options.dir = sp_case_format(t, "%s/work", place.dir);
	options.token = token.canary.text;
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_git(sandbox, &options, &result, &err);
	if (rc == SP_UNSUPPORTED) {
		sp_skip(t, "needs git helpers: this provider has none");
		return;
	}
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "clone"));
	SP_REQUIRE(sp_vars_found(t, sp_sh_out(t, sandbox, "cat %s/token", place.dir), &expected, 1,
				 SP_HERE, "git itself"));
	argv = sp_sh_out(t, sandbox, "cat %s/argv", place.dir);
	SP_REQUIRE(argv &&
		   SP_CHECK(t, strstr(argv, "clone") != NULL, "git was told to clone: %s", argv));
	SP_REQUIRE(sp_canary_check_absent(t, &token.canary, argv, strlen(argv), SP_HERE,
					  "git's arguments"));
	sp_secret_check_no_file(t, sandbox, &token, SP_HERE, "after git");
}
