/* SPDX-License-Identifier: MIT */
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
