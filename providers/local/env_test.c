/* SPDX-License-Identifier: MIT */
#include <providers/local/test_fixture.h>

#include <providers/local/internal.h>

static const struct {
	const char *name;
	const char *value;
	int expected;
} names[] = {
    {"A", "1", 0},
    {"_a9", "", 0},
    {"PATH", "/bin", 0},
    {"", "1", SP_INVALID},
    {NULL, "1", SP_INVALID},
    {"9A", "1", SP_INVALID},
    {"A-B", "1", SP_INVALID},
    {"A=B", "1", SP_INVALID},
    {"A B", "1", SP_INVALID},
    {"\xc3\xa4", "1", SP_INVALID},
    {"A", NULL, SP_INVALID},
    {"UID", "1", SP_INVALID},
    {"EUID", "1", SP_INVALID},
    {"PPID", "1", SP_INVALID},
    {"SHELLOPTS", "1", SP_INVALID},
    {"BASHOPTS", "1", SP_INVALID},
    {"BASH_VERSINFO", "1", SP_INVALID},
    {"RANDOM", "1", SP_INVALID},
    {"_", "1", SP_INVALID},
    {"SANDPROOF_RUN", "1", SP_INVALID},
};

Test(env, names)
{
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_env var = {names[i].name, names[i].value};
		int rc = local_env_check(&var, 1, &err);
		cr_expect_eq(rc, names[i].expected, "%s: expected %s, got %s",
			     names[i].name ? names[i].name : "(null)",
			     sp_code_name(names[i].expected), sp_code_name(rc));
	}
}

Test(env, a_refused_text_is_not_quoted)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_env var = {"TOKEN=s3cret", "x"};

	cr_expect_eq(local_env_check(&var, 1, &err), SP_INVALID);
	cr_expect_null(strstr(err.message, "s3cret"), "%s", err.message);
}

Test(env, the_later_is_the_stronger)
{
	struct local_env env SP_CLEANUP(local_env_done) = {0};
	const struct sp_env first[] = {{"A", "1"}, {"AB", "2"}};
	const struct sp_env second[] = {{"A", "3"}, {"C", ""}};

	cr_expect_eq(local_env_merge(&env, first, 2, NULL), 0);
	cr_expect_eq(local_env_merge(&env, second, 2, NULL), 0);
	cr_assert_eq(env.len, 3);
	cr_expect_str_eq(env.vars[0], "A=3");
	cr_expect_str_eq(env.vars[1], "AB=2");
	cr_expect_str_eq(env.vars[2], "C=");
	cr_expect_null(env.vars[3]);
}

Test(env, reaches_commands_and_only_them)
{
	struct fixture f;
	const struct sp_env good[] = {{"SET", "s 'q'\n\"x\""}};
	const struct sp_env bad[] = {{"OTHER", "1"}, {"UID", "0"}};
	const struct sp_env call[] = {{"SET", "call"}};
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	setenv("FROM_HOST", "h", 1);
	fixture_open(&f, false, 50);
	expect_output(&f, "printf %s \"$FROM_CREATE$FROM_HOST\"", "c");
	cr_expect_eq(sp_sandbox_env_set(&f.sandbox, good, 1, NULL, NULL), 0);
	cr_expect_eq(sp_sandbox_env_set(&f.sandbox, bad, 2, NULL, NULL), SP_INVALID);
	expect_output(&f, "printf %s \"$SET$OTHER\"", "s 'q'\n\"x\"");
	options.command = "printf %s \"$SET\"";
	options.env = call;
	options.n_env = 1;
	cr_expect_eq(sp_sandbox_exec(&f.sandbox, &options, &result, NULL), 0);
	cr_expect_str_eq((char *)result.stdout_bytes.data, "call");
	expect_output(&f, "printf %s \"$SET\"", "s 'q'\n\"x\"");
	fixture_close(&f);
}
