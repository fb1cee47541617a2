/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <cli/state.h>
#include <results/results.h>

static char *fresh_state(void)
{
	struct sp_error err = SP_ERROR_INIT;
	char *dir = NULL;

	cr_assert_eq(sp_tmp_dir("state-", &dir, &err), 0, "%s", err.message);
	setenv("XDG_STATE_HOME", dir, 1);
	return dir;
}

static void write_results(const char *path)
{
	struct sp_results_writer *writer = NULL;
	static const enum sp_verdict verdicts[] = { SP_PASS, SP_FAIL, SP_SKIP, SP_ERROR };
	static const char *const ids[] = { "kill.a", "kill.b", "kill.c", "kill.d" };
	char digest[65];
	struct sp_result_run run = {
		.schema_version = SP_RESULTS_SCHEMA_VERSION, .program_version = (char *)"0",
		.suite_version = (char *)"1", .requirements_sha256 = digest,
		.subjects = (char *)"provider=bash", .capabilities_json = (char *)"{}",
		.host = (char *)"h",
	};

	memset(digest, '0', 64);
	digest[64] = '\0';
	cr_assert_eq(sp_results_create(path, &writer, NULL), 0);
	cr_expect_eq(sp_results_write_run(writer, &run), 0);
	for (size_t i = 0; i < SP_COUNT(ids); i++) {
		struct sp_result_case result = {
			.id = (char *)ids[i], .suite = (char *)"kill", .subject = (char *)"bash",
			.clause = (char *)"K1", .level = (char *)"MUST", .verdict = verdicts[i],
			.message = (char *)"m", .attempt = 1, .file = (char *)"f", .line = 1,
			.tags = (char *)"",
		};

		cr_expect_eq(sp_results_write_case(writer, &result), 0);
	}
	cr_expect_eq(sp_results_close(writer), 0);
}

Test(state, last_failed)
{
	char *dir SP_FREE = fresh_state(), *path SP_FREE = NULL;
	static const struct sp_run_subject named[] = {
		{ .kind = SP_SUBJECT_PROVIDER, .spec = "driver:node a b.mjs", .shown = "" },
		{ .kind = SP_SUBJECT_STORE, .spec = "memory", .shown = "" },
		{ .kind = SP_SUBJECT_LOCK, .spec = "sqlite:a\nstore b", .shown = "" },
	};
	struct cli_ids ids = { NULL, 0 };
	struct cli_specs specs = { { NULL } };
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(cli_state_last_specs(&specs, &err), 0, "%s", err.message);
	cr_expect_null(specs.by_kind[SP_SUBJECT_PROVIDER]);
	cr_expect_eq(cli_state_last_failed(&ids, &err), SP_INVALID, "there is no last run yet");
	cr_expect_eq(cli_state_results_path(&path, &err), 0, "%s", err.message);
	write_results(path);
	cli_state_remember(path, named, SP_COUNT(named));
	cr_expect_eq(cli_state_last_failed(&ids, &err), 0, "%s", err.message);
	cr_expect_eq(ids.len, 2, "%zu ids", ids.len);
	cr_expect(ids.len == 2 && !strcmp(ids.items[0], "kill.b") &&
		  !strcmp(ids.items[1], "kill.d"));
	cli_ids_done(&ids);
	cr_expect_eq(cli_state_last_specs(&specs, &err), 0, "%s", err.message);
	cr_expect_str_eq(specs.by_kind[SP_SUBJECT_PROVIDER], "driver:node a b.mjs");
	cr_expect_str_eq(specs.by_kind[SP_SUBJECT_STORE], "memory");
	cr_expect_null(specs.by_kind[SP_SUBJECT_LOCK], "a line's end cannot be kept in a line");
	cli_specs_done(&specs);
	sp_remove_tree(dir);
}

Test(state, only_results_of_dead_runs_are_removed)
{
	static const struct {
		const char *name;
		bool stays;
	} rows[] = { { "results-2147483647.ndjson", false }, { "results-1.ndjson", true },
		     { "results-.ndjson", true },	     { "results-x.ndjson", true },
		     { "run-2147483647.ndjson", true },	     { "last.ndjson", true } };
	char *dir SP_FREE = fresh_state(), *path SP_FREE = NULL, *state SP_FREE = cli_state_dir();
	struct sp_error err = SP_ERROR_INIT;
	char name[512];

	cr_assert_eq(sp_mkdirs(state, 0700), 0);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		snprintf(name, sizeof(name), "%s/%s", state, rows[i].name);
		cr_expect_eq(sp_write_file(name, "x", 1, 0600, &err), 0, "%s", err.message);
	}
	cr_expect_eq(cli_state_results_path(&path, &err), 0, "%s", err.message);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		snprintf(name, sizeof(name), "%s/%s", state, rows[i].name);
		cr_expect_eq(!access(name, F_OK), rows[i].stays, "%s", rows[i].name);
	}
	sp_remove_tree(dir);
}

/* Without a home the place is one that anybody could have made. */
Test(state, another_users_folder_is_not_taken)
{
	char *dir SP_FREE = fresh_state(), *path SP_FREE = NULL, *state SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (geteuid())
		cr_skip("only root can make a folder another's");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	setenv("TMPDIR", dir, 1);
	state = cli_state_dir();
	cr_assert_eq(mkdir(state, 0777), 0);
	cr_assert_eq(chown(state, 65534, 65534), 0);
	cr_expect_eq(cli_state_results_path(&path, &err), 0, "%s", err.message);
	cr_expect(path && strncmp(path, state, strlen(state)), "%s is in %s", path, state);
	unsetenv("TMPDIR");
	sp_remove_tree(dir);
}

Test(state, a_state_directory_that_cannot_be_made)
{
	char *path SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;

	setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
	cr_expect_eq(cli_state_results_path(&path, &err), 0, "%s", err.message);
	cr_expect_eq(strncmp(path, sp_tmp_root(), strlen(sp_tmp_root())), 0, "%s", path);
	free(path);
	path = NULL;
	setenv("TMPDIR", "/proc/nowhere", 1);
	cr_expect_eq(cli_state_results_path(&path, &err), SP_IO);
	cr_expect_not_null(strstr(err.message, "--results PATH"), "%s", err.message);
}
