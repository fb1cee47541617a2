/* SPDX-License-Identifier: MIT */
/*
 * Each allocation fails once. That is an error like any other: nothing crashes, what says that it
 * went well is whole, and what did not go well says so.
 */
#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/testing.h>

SP_TEST_SUITE_WITH_STATE(memory);

#define HELPER SP_TEST_BIN_DIR "/sp_cli_memory_helper"
/* Of more allocations than that a part is tried, from all over the program. */
#define TRIED 40

/* A run with a failure, a skip and a leak in it, so that every section of a report is made. */
static const char results[] =
    "{\"type\":\"run\",\"schema_version\":1,\"program_version\":\"0.1.0\",\"suite_version\":\"1\","
    "\"requirements_sha256\":\"00\",\"subjects\":\"provider=bash\",\"capabilities\":{},"
    "\"host\":\"h\",\"seed\":\"7\",\"start\":1796036400000,\"jobs\":1,"
    "\"clauses\":[\"kill:K1\",\"kill:K2\"]}\n"
    "{\"type\":\"case\",\"id\":\"kill.a\",\"suite\":\"kill\",\"subject\":\"bash\","
    "\"clause\":\"K1\",\"level\":\"MUST\",\"verdict\":\"fail\",\"message\":\"it \\u001b lives\","
    "\"duration_ms\":1,"
    "\"start\":1796036400000,\"worker\":0,\"attempt\":1,\"file\":\"kill.c\",\"line\":7,"
    "\"tags\":[\"quick\"],\"expected\":\"dead\",\"actual\":\"alive\",\"dialogue\":\"exec\\n\","
    "\"rerun\":\"sandproof run --case kill.a\"}\n"
    "{\"type\":\"case\",\"id\":\"kill.b\",\"suite\":\"kill\",\"subject\":\"bash\","
    "\"clause\":\"K2\",\"level\":\"MUST\",\"verdict\":\"skip\",\"message\":\"needs control\","
    "\"duration_ms\":0,"
    "\"start\":1796036400000,\"worker\":0,\"attempt\":1,\"file\":\"kill.c\",\"line\":9,"
    "\"tags\":[]}\n"
    "{\"type\":\"leak\",\"id\":\"kill.a\",\"kind\":\"process\",\"message\":\"pid 9\"}\n"
    "{\"type\":\"defect\",\"id\":\"kill-none\",\"suite\":\"kill\",\"status\":\"caught\","
    "\"caught_by\":[\"kill.a\"],\"evidence\":\"it lives\"}\n"
    "{\"type\":\"end\",\"passed\":0,\"failed\":1,\"skipped\":1,\"warned\":0,\"errors\":0,"
    "\"leaks\":1,\"xfailed\":0,\"xpassed\":0,\"exit_code\":1,\"duration_ms\":5,\"commands\":0,"
    "\"interrupted\":false}\n";

/* $0 is the program, $1 the test's folder with the results in it; so many of them are reports. */
#define N_REPORTS 9
static const char *const commands[] = {
    "\"$0\" report junit=- \"$1/results\"",
    "\"$0\" report tap=- \"$1/results\"",
    "\"$0\" report ctrf=- \"$1/results\"",
    "\"$0\" report markdown=- \"$1/results\"",
    "\"$0\" report html=- \"$1/results\"",
    "\"$0\" report badge=- \"$1/results\"",
    "\"$0\" report clauses=- \"$1/results\"",
    "\"$0\" report clauses=- --json \"$1/results\"",
    "\"$0\" report junit=- \"$1/results\" \"$1/results\"",
    "cp \"$1/list.old\" \"$1/list\" && "
    "\"$0\" baseline update --baseline \"$1/list\" \"$1/results\" >/dev/null && cat \"$1/list\"",
    "\"$0\" list",
    "\"$0\" list --json --suite kill --case 'kill.s*'",
    "\"$0\" list --faults",
    "\"$0\" show kill.shape.grandchild",
    "\"$0\" show kill:K1",
    "\"$0\" show kill-leader-only",
    "\"$0\" show contract:C26",
    "\"$0\" help exit-codes",
    "\"$0\" completion bash",
};

static struct sp_run_result run_with(const char *text, long number)
{
	const char *argv[] = {"sh", "-c", text, HELPER, state, NULL};
	char digits[24];

	snprintf(digits, sizeof(digits), "%ld", number);
	setenv("SP_TEST_ALLOCATION", digits, 1);
	return sp_test_run(argv);
}

/* How many allocations a command made that went well; what it said is the caller's. */
static long count(const char *text, struct sp_run_result *ret_healthy)
{
	char path[512];
	struct sp_bytes told = SP_BYTES_INIT;
	long n;

	snprintf(path, sizeof(path), "%s/count", state);
	(void)unlink(path);
	setenv("SP_TEST_ALLOCATIONS", path, 1);
	*ret_healthy = run_with(text, 0);
	unsetenv("SP_TEST_ALLOCATIONS");
	cr_expect_eq(ret_healthy->code, 0, "%s: exit %d: %s", text, ret_healthy->code,
		     ret_healthy->err);
	if (sp_read_file(path, 64, &told, NULL))
		return 0;
	n = strtol((const char *)told.data, NULL, 10);
	sp_bytes_done(&told);
	return n;
}

static void fail_one(const char *text, long number, const struct sp_run_result *healthy)
{
	struct sp_run_result r = run_with(text, number);

	if (!r.code)
		cr_expect(r.out_len == healthy->out_len && !memcmp(r.out, healthy->out, r.out_len),
			  "%s without allocation %ld: exit 0, and another output\n%s\nnot\n%s",
			  text, number, r.out, healthy->out);
	else
		cr_expect(r.code == 3 && r.err_len, "%s without allocation %ld: exit %d, \"%s\"",
			  text, number, r.code, r.err);
	sp_run_result_done(&r);
}

static void write_files(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/results", state);
	cr_assert_eq(sp_write_file(path, results, sizeof(results) - 1, 0600, NULL), 0);
	snprintf(path, sizeof(path), "%s/list.old", state);
	cr_assert_eq(sp_write_file(path, "# ours\n", 7, 0600, NULL), 0);
}

static void fail_each(size_t first, size_t last)
{
	write_files();
	for (size_t i = first; i < last; i++) {
		struct sp_run_result healthy = {0};
		long n = count(commands[i], &healthy), step = n / TRIED + 1;

		cr_expect_gt(n, 0, "%s allocated nothing", commands[i]);
		for (long number = 1; number <= n; number += step)
			fail_one(commands[i], number, &healthy);
		sp_run_result_done(&healthy);
	}
}

/* Two halves, since each has its own limit. */
Test(memory, an_allocation_that_fails_in_a_report, .timeout = 280)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the sanitizer has the allocator for itself");
#endif
	fail_each(0, N_REPORTS);
}

Test(memory, an_allocation_that_fails_elsewhere, .timeout = 280)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the sanitizer has the allocator for itself");
#endif
	fail_each(N_REPORTS, SP_COUNT(commands));
}
