/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>

/* The helper does the work beside a server of its own; 77: this machine has none. */
Test(postgres, restarts_and_wrong_texts, .timeout = 240)
{
	static const char *const argv[] = {SP_SOURCE_DIR "/ci/postgres",
					   SP_TEST_BIN_DIR "/sp_stores_postgres_postgres_helper",
					   NULL};
	struct sp_run_result result = {0};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_run(argv, NULL, NULL, 0, 1 << 16, NULL, &result, &err);
	int code = result.code;

	if (!rc && code && code != 77)
		fprintf(stderr, "%s%s", result.out, result.err);
	sp_run_result_done(&result);
	cr_assert_eq(rc, 0, "%s", err.message);
	if (code == 77)
		cr_skip_test("no PostgreSQL server on this machine (package postgresql)");
	cr_assert_eq(code, 0, "exit code %d", code);
}

/*
 * What a store refused to take, and refuses to delete, is no leak: a run against a server that
 * takes no writes says what is wrong with the writes alone.
 */
Test(postgres, what_was_never_written_is_no_leak, .timeout = 240)
{
	static const char text[] =
	    "[ -n \"$SANDPROOF_POSTGRES\" ] || exit 77; store=\"postgres:$SANDPROOF_POSTGRES\"; "
	    "\"$0\" run --store \"$store\" --case store.get.absent >/dev/null 2>&1 || exit 78; "
	    "\"$0\" run --store \"$store options='-c default_transaction_read_only=on'\" "
	    "--case store.get.bare";
	static const char *const argv[] = {SP_SOURCE_DIR "/ci/postgres", "bash", "-c", text,
					   SP_TEST_BIN_DIR "/sandproof", NULL};
	struct sp_run_result result = {0};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_run(argv, NULL, NULL, 0, 1 << 16, NULL, &result, &err);
	bool fails = !rc && result.code == 1 && strstr(result.out, "FAIL  store.get.bare");
	bool leaks = !rc && strstr(result.out, "LEAK");
	int code = result.code;

	if (!rc && (!fails || leaks) && code != 77)
		fprintf(stderr, "%s%s", result.out, result.err);
	sp_run_result_done(&result);
	if (code == 77)
		cr_skip_test("no PostgreSQL server on this machine (package postgresql)");
	cr_expect(fails, "exit code %d", code);
	cr_expect(!leaks, "a record that was never written is told as a leak");
}
