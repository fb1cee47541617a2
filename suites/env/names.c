/* SPDX-License-Identifier: MIT */
/* E2: a name is delivered or refused, never dropped, and never run. */
#include <base/buf.h>
#include <suites/env/cases.h>
#include <witness/made.h>
#include <witness/vars.h>

/*
 * What a command says of `name` in what its child inherits: set to `value`? Works for
 * names that no shell can write.
 */
static const char *delivered_command(struct sp_case *t, const char *name, const char *value)
{
	return sp_case_format(t,
			      "tr '\\n\\000' '\\001\\n' </proc/self/environ | grep -Fqx '%s=%s' && "
			      "echo delivered || echo dropped",
			      name, value);
}

/*
 * exec: SP_INVALID without effect, or delivered. What ran writes its number into the mark; it is
 * added to `ran` where that is right.
 */
static bool exec_refused_or_delivered(struct sp_case *t, struct sp_sandbox *sandbox,
				      const char *name, size_t number, const struct sp_mark *mark,
				      struct sp_buf *ran)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	const struct sp_env var = {name, "v4lue"};
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.command =
	    sp_case_format(t, "echo %zu >>%s; %s", number, mark->path,
			   delivered_command(t, name, var.value));
	options.env = &var;
	options.n_env = 1;
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_exec(sandbox, &options, &result, &err);
	if (rc)
		return SP_CHECK_CODE(t, SP_INVALID, rc, &err, "exec with a variable named \"%s\"",
				     name);
	sp_buf_addf(ran, "%s%zu", ran->len ? "\n" : "", number);
	return SP_CHECK_STR(t, "delivered\n",
			    result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "",
			    "exec ran with a variable named \"%s\"", name);
}

/* env_set: SP_INVALID and nothing changed, or delivered to the next command. */
static bool set_refused_or_delivered(struct sp_case *t, struct sp_sandbox *sandbox,
				     const char *name)
{
	const struct sp_env var = {name, "v4lue"};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_env_set(sandbox, &var, 1, sp_case_cancel(t), &err);
	const char *said;

	if (rc)
		return SP_CHECK_CODE(t, SP_INVALID, rc, &err, "env_set of a variable named \"%s\"",
				     name);
	said = sp_sh_out(t, sandbox, "%s", delivered_command(t, name, var.value));
	return said &&
	       SP_CHECK_STR(t, "delivered", said, "env_set took a variable named \"%s\"", name);
}

static void all_of(struct sp_case *t, const char *const *names, size_t n)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_buf ran SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	const char *said;

	SP_REQUIRE(sandbox && sp_mark_make(t, sandbox, "ran", &mark));
	for (size_t i = 0; i < n; i++) {
		SP_REQUIRE(
		    exec_refused_or_delivered(t, sandbox, names[i], i, &mark, &ran));
		SP_REQUIRE(set_refused_or_delivered(t, sandbox, names[i]));
	}
	/* Nothing of the refused ones ran, and commands run as before. */
	said = sp_sh_out(t, sandbox, "env true && { cat %s 2>/dev/null || :; }", mark.path);
	SP_REQUIRE(said);
	SP_CHECK_STR(t, sp_buf_str(&ran), said, "numbers of the names with which a command ran");
}

void env_name_refused(struct sp_case *t)
{
	const char *marked = sp_case_format(t, "/tmp/%s-name", sp_case_unique(t));
	const char *names[] = {
	    "UID",
	    "EUID",
	    "PPID",
	    "SHELLOPTS",
	    "BASHOPTS",
	    "BASH_VERSINFO",
	    "",
	    "1A",
	    "A B",
	    "A-B",
	    "MY-KEY",
	    "A.B",
	    "A[0]",
	    "\xc3\xa9",
	    "A\nB",
	    sp_case_format(t, "A;: >%s;B", marked),
	    sp_case_format(t, "A$(: >%s)", marked),
	    sp_case_format(t, "A`: >%s`", marked),
	};
	const struct sp_env equals = {"A=B", "v"};
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	all_of(t, names, SP_COUNT(names));
	if (sp_case_failed(t))
		return;
	rc = sp_sandbox_env_set(sp_case_sandbox(t), &equals, 1, sp_case_cancel(t), &err);
	SP_CHECK_CODE(t, SP_INVALID, rc, &err, "env_set of a name with an equals sign");
	SP_REQUIRE(sp_sh_ok(t, sp_case_sandbox(t), "[ ! -e %s ]", marked));
}

/* At creation: refused, and nothing is made. */
void env_name_created(struct sp_case *t)
{
	static const char *const names[] = {"UID",  "BASHOPTS", "SHELLOPTS", "",  "1A",
					    "A B",  "MY-KEY",	"A[0]",	     "A=B", "A\nB",
					    "A;:;", "A$(:)",	"A`:`"};
	const struct sp_env good = {"SP_GOOD", "good"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_env env[] = {good, {names[i], "v4lue"}};
		struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
		struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		options.env = env;
		options.n_env = SP_COUNT(env);
		options.cancel = sp_case_cancel(t);
		sp_case_own_sandbox(t, NULL);
		rc = sp_provider_create(sp_case_provider(t), &options, &made, &err);
		if (made.ops)
			sp_case_own_sandbox(t, sp_sandbox_id(&made));
		/* A name that some shell delivers may be taken, and then it is delivered. */
		if (rc)
			SP_REQUIRE(SP_CHECK_CODE(t, SP_INVALID, rc, &err,
						 "create with a variable named \"%s\"", names[i]));
		else
			SP_REQUIRE(SP_CHECK_STR(
			    t, "delivered",
			    sp_sh_out(t, &made, "%s", delivered_command(t, names[i], "v4lue")),
			    "create took a variable named \"%s\"", names[i]));
	}
}

void env_name_swallowed(struct sp_case *t)
{
	static const char *const names[] = {
	    "RANDOM",	     "SRANDOM",	      "SECONDS",    "GROUPS", "DIRSTACK", "FUNCNAME",
	    "BASH_LINENO",   "BASHPID",	      "LINENO",	    "_",      "OPTIND",	  "EPOCHSECONDS",
	    "EPOCHREALTIME", "BASH_SUBSHELL", "HISTCMD",    "PWD",    "OLDPWD",	  "SHLVL",
	    "BASH_COMMAND",  "BASH_ARGV0",    "PIPESTATUS",
	};

	all_of(t, names, SP_COUNT(names));
}

/*
 * One bad name among good ones: none is taken, and the next calls are as if nothing had been asked.
 */
void env_name_all_or_none(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const struct sp_env before = {"SP_KEPT", "kept"};
	const struct sp_env mixed[] = {{"SP_GOOD", "good"}, {"SP_KEPT", "changed"}, {"UID", "7"}};
	const struct sp_env after[] = {{"SP_KEPT", "kept"}, {"SP_GOOD", NULL}};
	const struct sp_env good = {"SP_LATER", "later"};
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(sandbox && sp_vars_set(t, sandbox, &before, 1, SP_HERE, "env_set"));
	rc = sp_sandbox_env_set(sandbox, mixed, SP_COUNT(mixed), sp_case_cancel(t), &err);
	SP_REQUIRE(
	    SP_CHECK_CODE(t, SP_INVALID, rc, &err, "env_set with one name that is read-only"));
	SP_REQUIRE(sp_vars_arrive(t, sandbox, NULL, 0, after, SP_COUNT(after), SP_HERE,
				  "after a refused env_set"));
	SP_REQUIRE(sp_vars_set(t, sandbox, &good, 1, SP_HERE, "env_set after a refused one"));
	SP_REQUIRE(
	    sp_vars_arrive(t, sandbox, NULL, 0, &good, 1, SP_HERE, "what was set after a refusal"));
	sp_vars_arrive(t, sandbox, NULL, 0, after, SP_COUNT(after), SP_HERE,
		       "after the next env_set");
}
