/* SPDX-License-Identifier: MIT */
/*
 * Runs that are killed at a step where the server holds them, and what `sandproof sweep` makes of
 * their ledgers.
 */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/fake.h>
#include <cli/registry.h>
#include <control/control.h>
#include <runner/ledger.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"
#define LIMIT_MS 60000

/* A server that outlives the runs, its control, and a state folder of the test's own. */
static struct cli_fake fake = CLI_FAKE_INIT;
static struct sp_control control;
static char *state;
static char spec[512];

static struct sp_cancel *limit_new(void)
{
	struct sp_cancel *limit = sp_cancel_new();

	sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	return limit;
}

static void open_server(void)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("cli-sweep-", &state, &err), 0, "%s", err.message);
	setenv("XDG_STATE_HOME", state, 1);
	cr_assert_eq(cli_fake_start(&fake, PROGRAM, &err), 0, "%s", err.message);
	setenv("RENDER_API_KEY", fake.api_key, 1);
	setenv("RENDER_WORKSPACE_ID", fake.workspace_id, 1);
	snprintf(spec, sizeof(spec), "render:%s", fake.base_url);
	cr_assert_eq(sp_control_open(fake.control_url, fake.control_token, fake.workspace_id,
				     &control, &err),
		     0, "%s", err.message);
}

static void close_server(void)
{
	if (control.ops)
		control.ops->close(control.self);
	cli_fake_stop(&fake);
	sp_remove_tree(state);
	free(state);
}

TestSuite(sweep, .init = open_server, .fini = close_server);

/* Path of the one ledger, or NULL. */
static char *ledger_path(void)
{
	char *pattern SP_FREE = NULL, *path = NULL;
	glob_t found = {0};

	if (asprintf(&pattern, "%s/sandproof/run-*.ndjson", state) < 0)
		return NULL;
	if (!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1)
		path = strdup(found.gl_pathv[0]);
	globfree(&found);
	return path;
}

/* Kills a run as it stands at `step`, and returns once nobody of it is there. */
static void kill_run_at(enum sp_control_step step, const char *case_id)
{
	const char *argv[] = {PROGRAM, "run", "--provider", spec, "--case", case_id, NULL};
	struct sp_child child SP_CLEANUP(sp_child_done) = SP_CHILD_INIT;
	struct sp_cancel *limit = limit_new();
	struct sp_error err = SP_ERROR_INIT;
	char *path SP_FREE = NULL;
	int fd SP_CLOSE = -1, rc;
	uint64_t hold;

	cr_assert_eq(control.ops->hold(control.self, step, SP_AFTER, NULL, &hold, &err), 0);
	child.argv = argv;
	cr_assert_eq(sp_child_start(&child, &err), 0, "%s", err.message);
	rc = control.ops->await_held(control.self, hold, limit, &err);
	cr_expect_eq(rc, 0, "%s: %s", case_id, err.message);
	kill(child.pid, SIGKILL);
	sp_child_wait(&child, limit, NULL);
	(void)control.ops->release(control.self, hold, NULL);
	sp_cancel_unref(limit);
	/* Its workers hold the lock, too, until the last of them is dead. */
	path = ledger_path();
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	cr_assert(fd >= 0 && !flock(fd, LOCK_EX), "the ledger of a killed run is there");
}

static void expect_sweep(bool yes, int code, const char *part, const char *last)
{
	const char *argv[] = {PROGRAM, "sweep", yes ? "--yes" : NULL, NULL};
	struct sp_run_result r = {0};
	struct sp_cancel *limit = limit_new();
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_run(argv, NULL, NULL, 0, 1 << 20, limit, &r, &err);

	sp_cancel_unref(limit);
	cr_expect(!rc && r.code == code && strstr(r.out, part) && strstr(r.out, last),
		  "code %d of %d\n%s%s\nexpected in it: %s\nand: %s", r.code, code, r.out, r.err,
		  part, last);
	sp_run_result_done(&r);
}

static void expect_census(size_t sandboxes, size_t snapshots)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;

	cr_assert_eq(control.ops->census(control.self, &census, NULL), 0);
	cr_expect_eq(census.n_sandboxes, sandboxes, "%zu sandboxes of %zu", census.n_sandboxes,
		     sandboxes);
	cr_expect_eq(census.n_snapshots, snapshots, "%zu snapshots of %zu", census.n_snapshots,
		     snapshots);
}

static void expect_ledger(bool there)
{
	char *path SP_FREE = ledger_path();

	cr_expect_eq(path != NULL, there, "the ledger is%s there", path ? "" : " not");
}

/* Somebody else's sandbox in the same workspace; its id. */
static char *make_stranger(uint32_t lifetime_s)
{
	struct cli_registry_options where = {.provider = spec};
	struct cli_registry *registry = cli_registry_new(&where);
	struct sp_subject subject SP_CLEANUP(sp_subject_done) = SP_SUBJECT_INIT;
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *id = NULL;

	options.lifetime_s = lifetime_s;
	if (!cli_registry_open(registry, SP_SUBJECT_PROVIDER, spec, NULL, &subject, &err) &&
	    !sp_provider_create(&subject.provider, &options, &sandbox, &err))
		id = strdup(sp_sandbox_id(&sandbox));
	sp_sandbox_done(&sandbox);
	sp_subject_done(&subject);
	cli_registry_free(registry);
	cr_expect(id, "%s", err.message);
	return id;
}

static uint32_t fingerprint(void)
{
	struct sp_book book SP_CLEANUP(sp_book_done) = SP_BOOK_INIT;
	char *path SP_FREE = ledger_path();

	cr_assert_eq(sp_book_read(path, &book, NULL), 0);
	cr_assert_eq(book.n_sandboxes, 1u);
	cr_expect_null(book.sandboxes[0].id, "the outcome is not known");
	return book.sandboxes[0].lifetime_s;
}

/* The snapshot was taken, and its answer never came. */
/* The workspace is seen as a whole under control, and so is that the lost create left nothing. */
Test(sweep, a_lost_create_that_its_case_ended_leaves_no_ledger)
{
	const char *argv[] = {PROGRAM,	   "run",
			      "--provider", spec,
			      "--control", fake.control_url,
			      "--case",	   "lifecycle.create.lost-answer",
			      NULL};
	struct sp_run_result r = {0};
	struct sp_cancel *limit = limit_new();
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	setenv("SANDPROOF_CONTROL_TOKEN", fake.control_token, 1);
	rc = sp_run(argv, NULL, NULL, 0, 1 << 20, limit, &r, &err);
	unsetenv("SANDPROOF_CONTROL_TOKEN");
	sp_cancel_unref(limit);
	cr_expect(!rc && !r.code && strstr(r.out, "1 passed") && !strstr(r.err, "is left"),
		  "code %d\n%s%s", r.code, r.out, r.err);
	sp_run_result_done(&r);
	expect_ledger(false);
}

Test(sweep, a_run_killed_while_a_snapshot_is_taken)
{
	kill_run_at(SP_STEP_SNAPSHOT, "snapshot.restore.today");
	expect_census(1, 1);
	expect_sweep(false, 0, " would be deleted, the only one", "2 to be ended");
	expect_census(1, 1);
	expect_sweep(true, 0, " is ended", "1 ledger: 2 ended, 0 gone already, 0 left, 0 failed");
	expect_census(0, 0);
	expect_ledger(false);
	expect_sweep(true, 0, "0 ledgers", "0 failed");
}

/* The create was done and its answer never came; two strangers were there before. */
Test(sweep, a_run_killed_while_a_sandbox_is_made)
{
	char *one SP_FREE = make_stranger(7000), *two SP_FREE = make_stranger(0);

	kill_run_at(SP_STEP_CREATE, "exec.code.passes-through");
	expect_census(3, 0);
	expect_sweep(true, 0, "the only one with the fingerprint", "1 ended, 0 gone");
	expect_census(2, 0);
	expect_ledger(false);
}

/* A stranger's with the same lifetime: nobody can tell them apart, so both stay. */
Test(sweep, what_cannot_be_told_apart_is_left)
{
	char *stranger SP_FREE = NULL;

	kill_run_at(SP_STEP_CREATE, "exec.code.passes-through");
	stranger = make_stranger(fingerprint());
	expect_sweep(true, 0, "left to its lifetime", "0 ended, 0 gone already, 1 left");
	expect_census(2, 0);
	expect_ledger(true);
}

Test(sweep, the_fake_of_a_run_ended_with_it)
{
	struct sp_ledger *ledger = NULL;
	char row[SP_LEDGER_ROW];

	cr_assert_eq(sp_ledger_open("provider=bash", "bash", false, &ledger, NULL), 0);
	sp_ledger_intent(ledger, NULL, 3600, row);
	sp_ledger_made(ledger, row, NULL, "sbx-1");
	/* One that is locked belongs to a run. */
	expect_sweep(true, 0, "1 run is still running", "0 ledgers");
	sp_ledger_close(ledger, false);
	/* Without --yes it tells and changes nothing. */
	expect_sweep(false, 0, "ended with it", "1 ledger: 0 to be ended");
	expect_ledger(true);
	expect_sweep(true, 0, "ended with it", "1 ledger: 0 ended");
	expect_ledger(false);
}

Test(sweep, another_key_ends_nothing)
{
	kill_run_at(SP_STEP_SNAPSHOT, "snapshot.restore.today");
	setenv("RENDER_WORKSPACE_ID", "tea-00000000000000000000", 1);
	expect_sweep(true, 0, "these credentials are not for", "0 ended, 0 gone already, 2 left");
	unsetenv("RENDER_API_KEY");
	expect_sweep(true, 3, "RENDER_WORKSPACE_ID is set but RENDER_API_KEY is not", "2 failed");
	expect_census(1, 1);
	expect_ledger(true);
}
