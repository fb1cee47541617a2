/* SPDX-License-Identifier: MIT */
/* What tests share that run a program (Criterion; included by tests alone). */
#ifndef SP_BASE_TESTING_H
#define SP_BASE_TESTING_H

#include <stdlib.h>

#include <criterion/criterion.h>
#include <sandproof/cancel.h>

#include "child.h"
#include "clock.h"
#include "files.h"

/* Limit that turns a hang into a failure. */
#define SP_TEST_LIMIT_MS 240000
/* Most that a program under test may say. */
#define SP_TEST_OUTPUT_MAX (4 * 1024 * 1024)

/*
 * Runs `argv` to its end, within the limit; its code, out and err are the caller's
 * (sp_run_result_done()). That it could not be run, or was not done in time, fails the test.
 */
static inline struct sp_run_result sp_test_run(const char *const *argv)
{
	struct sp_run_result result = { 0 };
	struct sp_cancel *limit = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	sp_cancel_set_deadline(limit, sp_deadline_ms(SP_TEST_LIMIT_MS));
	rc = sp_run(argv, NULL, NULL, 0, SP_TEST_OUTPUT_MAX, limit, &result, &err);
	sp_cancel_unref(limit);
	cr_expect_eq(rc, 0, "%s: %s", argv[0], err.message);
	return result;
}

/*
 * A suite of tests whose programs keep their state in `state`, a folder of its own that goes with
 * the test: the last run of whoever runs the tests is theirs. More members of TestSuite may follow.
 */
#define SP_TEST_SUITE_WITH_STATE(suite, ...)                                                       \
	static char *state;                                                                        \
                                                                                                   \
	static void open_state(void)                                                               \
	{                                                                                          \
		if (!sp_tmp_dir(#suite "-test-", &state, NULL))                                    \
			setenv("XDG_STATE_HOME", state, 1);                                        \
	}                                                                                          \
                                                                                                   \
	static void close_state(void)                                                              \
	{                                                                                          \
		if (state)                                                                         \
			sp_remove_tree(state);                                                     \
		free(state);                                                                       \
	}                                                                                          \
                                                                                                   \
	TestSuite(suite, .init = open_state, .fini = close_state, ##__VA_ARGS__)

#endif
