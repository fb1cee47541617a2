/* SPDX-License-Identifier: MIT */
/* E1: values, byte for byte. */
#include <stdlib.h>

#include <base/buf.h>
#include <suites/env/cases.h>
#include <witness/vars.h>

/* What the kernel hands over of one variable, "NAME=VALUE" with its NUL. */
#define KERNEL_MAX 131072

/* On all three ways: to one exec, to one spawned command, and to the sandbox. */
static bool every_way(struct sp_case *t, const struct sp_env *vars, size_t n)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	if (!sandbox ||
	    !sp_vars_arrive(t, sandbox, vars, n, vars, n, SP_HERE, "variables of one command"))
		return false;
	if (sp_case_capabilities(t)->background_processes &&
	    !sp_vars_arrive_spawned(t, sandbox, vars, n, vars, n, SP_HERE,
				    "variables of one spawned command"))
		return false;
	return sp_vars_set(t, sandbox, vars, n, SP_HERE, "env_set") &&
	       sp_vars_arrive(t, sandbox, NULL, 0, vars, n, SP_HERE, "variables of the sandbox");
}

void env_value_bytes(struct sp_case *t)
{
	char all[256];
	const struct sp_env var = {"SP_ALL", all};

	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = '\0';
	every_way(t, &var, 1);
}

static const struct sp_env shapes[] = {
    {"SP_EMPTY", ""},
    {"SP_BLANK", " "},
    {"SP_BLANKS", "  a  b  "},
    {"SP_NEWLINE", "\n"},
    {"SP_LAST", "a\nb\n"},
    {"SP_EVIL_LINE", "a\nexport SP_EVIL=1\nSP_EVIL=2"},
    {"SP_QUOTE", "it's ''\\''"},
    {"SP_DOUBLE", "say \"hi\""},
    {"SP_SUBST", "$HOME ${PATH} $(id) `id` $((1+1))"},
    {"SP_SLASH", "\\ \\n \\\\ \\"},
    {"SP_DASH", "-n"},
    {"SP_GLOB", "* ? [a-z] ~ {a,b} !x #y"},
    {"SP_CONTROL", "\x01\x02\t\r\x1b[31m\x7f"},
    {"SP_UTF8", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"SP_LATIN", "\xe9\xff\xfe"},
    {"SP_JSON", "{\"a\": [\"\\u0000\", \"\\n\", null]}"},
    {"SP_PEM", "-----BEGIN KEY-----\nabc+/=\n-----END KEY-----\n"},
    {"SP_EQUALS", "a=b=="},
    {"SP_HERE", "E-ID\nEOF\n'\n"},
    {"lower_case", "lower"},
};
/* What one of them tries to set. */
static const struct sp_env evil = {"SP_EVIL", NULL};

void env_value_shapes(struct sp_case *t)
{
	SP_REQUIRE(every_way(t, shapes, SP_COUNT(shapes)));
	sp_vars_arrive(t, sp_case_sandbox(t), shapes, SP_COUNT(shapes), &evil, 1, SP_HERE,
		       "what a value says is not done");
}

/* All shapes, all bytes, a long one and a hundred more, given at creation. */
void env_value_created(struct sp_case *t)
{
	struct sp_env vars[SP_COUNT(shapes) + 102];
	struct sp_sandbox sandbox SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char all[256], *big SP_FREE = calloc(1, 100 * 1024 + 1);
	size_t n = 0;

	if (!big) {
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	memset(big, 'b', 100 * 1024);
	for (int i = 0; i < 256; i++)
		all[i] = (char)(i + 1);
	for (; n < SP_COUNT(shapes); n++)
		vars[n] = shapes[n];
	vars[n++] = (struct sp_env){"SP_ALL", all};
	vars[n++] = (struct sp_env){"SP_BIG", big};
	for (size_t i = 0; i < 100; i++)
		vars[n++] = (struct sp_env){sp_case_format(t, "SP_V%zu", i),
					    sp_case_format(t, "value %zu '\n", i * 7919)};
	sandbox = sp_vars_create(t, vars, n);
	SP_REQUIRE(sandbox.ops);
	SP_REQUIRE(sp_vars_arrive(t, &sandbox, NULL, 0, vars, n, SP_HERE,
				  "variables of the creation"));
	SP_REQUIRE(sp_vars_arrive(t, &sandbox, NULL, 0, &evil, 1, SP_HERE,
				  "what a value says is not done"));
	SP_CHECK_OK(t, sp_sandbox_destroy(&sandbox, sp_case_cancel(t), &err), &err, "destroy");
}

void env_value_many(struct sp_case *t)
{
	struct sp_env vars[100];
	char *big SP_FREE = calloc(1, 100 * 1024 + 1);

	if (!big) {
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	memset(big, 'b', 100 * 1024);
	for (size_t i = 0; i < SP_COUNT(vars); i++)
		vars[i] = (struct sp_env){sp_case_format(t, "SP_V%zu", i),
					  sp_case_format(t, "value %zu '\n", i * 7919)};
	vars[50].value = big;
	every_way(t, vars, SP_COUNT(vars));
}

/* ---- More than fits ---- */

/*
 * Refused with nothing done, or delivered whole: never cut, never a
 * sandbox in which no program runs.
 */
static void refused_or_whole(struct sp_case *t, const struct sp_env *vars, size_t n)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_mark mark SP_MARK = SP_MARK_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const struct sp_env before = {"SP_BEFORE", "b"};
	int rc;

	SP_REQUIRE(sandbox && sp_mark_make(t, sandbox, "ran", &mark));
	SP_REQUIRE(sp_vars_set(t, sandbox, &before, 1, SP_HERE, "env_set"));
	options.command = sp_case_format(t, "%s; %s", mark.shell, sp_vars_command(t, vars, n));
	options.env = vars;
	options.n_env = n;
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_exec(sandbox, &options, &result, &err);
	if (rc) {
		SP_CHECK_CODE(t, SP_INVALID, rc, &err, "exec with more than can be handed over");
		SP_REQUIRE(sp_mark_check(&mark, false, SP_HERE, "the effect of a refused command"));
	} else {
		SP_REQUIRE(sp_vars_found(t, (char *)result.stdout_bytes.data, vars, n, SP_HERE,
					 "accepted variables"));
	}
	err = (struct sp_error)SP_ERROR_INIT;
	rc = sp_sandbox_env_set(sandbox, vars, n, sp_case_cancel(t), &err);
	if (rc)
		SP_CHECK_CODE(t, SP_INVALID, rc, &err, "env_set of more than can be handed over");
	else
		SP_REQUIRE(
		    sp_vars_arrive(t, sandbox, NULL, 0, vars, n, SP_HERE, "accepted by env_set"));
	SP_REQUIRE(sp_sh_ok(t, sandbox, "env true"));
	sp_vars_arrive(t, sandbox, NULL, 0, &before, 1, SP_HERE, "what was set before");
}

void env_value_too_long(struct sp_case *t)
{
	static const size_t lengths[] = {KERNEL_MAX, 1024 * 1024};

	for (size_t i = 0; i < SP_COUNT(lengths) && !sp_case_failed(t); i++) {
		char *value SP_FREE = calloc(1, lengths[i] + 1);
		const struct sp_env var = {"SP_LONG", value};

		if (!value) {
			sp_case_error(t, SP_HERE, "out of memory");
			return;
		}
		memset(value, 'v', lengths[i]);
		refused_or_whole(t, &var, 1);
	}
}

/* Each fits, all of them do not: the kernel bounds the sum as well. */
void env_value_too_much(struct sp_case *t)
{
	struct sp_env vars[80];
	char *value SP_FREE = calloc(1, 100 * 1024 + 1);

	if (!value) {
		sp_case_error(t, SP_HERE, "out of memory");
		return;
	}
	memset(value, 'm', 100 * 1024);
	for (size_t i = 0; i < SP_COUNT(vars); i++)
		vars[i] = (struct sp_env){sp_case_format(t, "SP_M%zu", i), value};
	refused_or_whole(t, vars, SP_COUNT(vars));
}
