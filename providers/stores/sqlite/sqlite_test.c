/* SPDX-License-Identifier: MIT */
/* Files that are none of ours, of other versions, or gone: what the suites' back door does not
 * reach. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "sqlite.h"

static char *dir, *path;

static void set_up(void)
{
	cr_assert_eq(sp_tmp_dir("sqlite-test-", &dir, NULL), 0);
	cr_assert(asprintf(&path, "%s/store.db", dir) > 0);
}

static void tear_down(void)
{
	(void)sp_remove_tree(dir);
	free(dir);
	free(path);
}

TestSuite(sqlite, .init = set_up, .fini = tear_down);

static int open_at(const char *file, struct sp_store *store, struct sp_error *err)
{
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;

	options.path = file;
	options.busy_ms = 50;
	return sp_sqlite_store_open(&options, store, err);
}

static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;

	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK, "%s", why);
	sqlite3_close(db);
}

static const struct {
	const char *remark;
	/* Bytes of the file, or SQL that makes it. */
	const char *bytes, *sql;
	int code;
	const char *says;
	/* Its head may say that we were there. */
	bool ours;
} rows[] = {
    {"the text null", "null", NULL, SP_PROTOCOL, "no SQLite database", false},
    {"JSON", "{\"records\":[]}\n", NULL, SP_PROTOCOL, "no SQLite database", false},
    {"cut in its head", "SQLite form", NULL, SP_PROTOCOL, "no SQLite database", false},
    {"another program's", NULL, "CREATE TABLE t(x); INSERT INTO t VALUES(1)", SP_INVALID,
     "another program", false},
    {"another program's by its mark", NULL, "PRAGMA application_id = 7; CREATE TABLE t(x)",
     SP_INVALID, "another program", false},
    {"of a newer version", NULL,
     "PRAGMA application_id = 1397781364; PRAGMA user_version = 3; CREATE TABLE t(x)",
     SP_UNSUPPORTED, "newer version", false},
    {"of a version that nobody made", NULL,
     "PRAGMA application_id = 1397781364; PRAGMA user_version = -1; CREATE TABLE t(x)", SP_PROTOCOL,
     "which no version made", false},
    {"ours without its tables", NULL,
     "PRAGMA application_id = 1397781364; PRAGMA user_version = 2; CREATE TABLE t(x)", SP_PROTOCOL,
     "not what they were made as", true},
    {"ours with other tables", NULL,
     "PRAGMA application_id = 1397781364; PRAGMA user_version = 1; CREATE TABLE leases(x)",
     SP_PROTOCOL, "not what they were made as", false},
};

/* A run that is killed in the middle would leave it so. */
Test(sqlite, trouble_that_could_stay_needs_a_file_of_ones_own)
{
	static const enum sp_trouble kinds[] = {SP_TROUBLE_FOREIGN, SP_TROUBLE_NEWER};

	for (size_t i = 0; i < 2 * SP_COUNT(kinds); i++) {
		struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;
		struct sp_backdoor door = SP_BACKDOOR_INIT;
		struct sp_error err = SP_ERROR_INIT;
		enum sp_trouble kind = kinds[i / 2];
		int rc;

		options.path = path;
		options.own_file = i % 2;
		cr_assert_eq(sp_sqlite_backdoor_open(&options, &door, &err), 0, "%s", err.message);
		rc = sp_backdoor_trouble(&door, kind, true, &err);
		cr_expect_eq(rc, options.own_file ? 0 : SP_UNSUPPORTED, "trouble %d, own %d: %s",
			     (int)kind, options.own_file, sp_code_name(rc));
		if (!rc)
			cr_expect_eq(sp_backdoor_trouble(&door, kind, false, &err), 0, "%s",
				     err.message);
		door.ops->close(door.self);
	}
}

Test(sqlite, what_is_not_ours_is_refused_and_left_alone)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_store store = SP_STORE_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct sp_bytes before = SP_BYTES_INIT, after = SP_BYTES_INIT;
		int rc;

		(void)unlink(path);
		if (rows[i].sql)
			run_sql(rows[i].sql);
		else
			cr_assert_eq(
			    sp_write_file(path, rows[i].bytes, strlen(rows[i].bytes), 0600, NULL),
			    0);
		cr_assert_eq(sp_read_file(path, 1 << 20, &before, NULL), 0);
		rc = open_at(path, &store, &err);
		cr_expect_eq(rc, rows[i].code, "%s: %s (%s)", rows[i].remark, sp_code_name(rc),
			     err.message);
		cr_expect(strstr(err.message, rows[i].says), "%s: \"%s\"", rows[i].remark,
			  err.message);
		cr_assert_eq(sp_read_file(path, 1 << 20, &after, NULL), 0);
		cr_expect(rows[i].ours || (before.len == after.len &&
					   !memcmp(before.data, after.data, after.len)),
			  "%s: the file was changed", rows[i].remark);
		sp_store_done(&store);
		sp_bytes_done(&before);
		sp_bytes_done(&after);
	}
}

Test(sqlite, paths)
{
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *missing SP_FREE = NULL;

	cr_expect_eq(open_at(dir, &store, &err), SP_INVALID);
	cr_expect(strstr(err.message, "is a folder"), "%s", err.message);
	cr_expect_eq(open_at("/dev/null", &store, &err), SP_INVALID);
	cr_expect_eq(open_at("", &store, &err), SP_INVALID);
	cr_expect_eq(open_at(NULL, &store, &err), SP_INVALID);
	cr_assert(asprintf(&missing, "%s/nowhere/store.db", dir) > 0);
	cr_expect_eq(open_at(missing, &store, &err), SP_IO, "%s", err.message);
	cr_expect(strstr(err.message, missing), "%s", err.message);
	missing[strlen(missing) - strlen("/store.db")] = '\0';
	cr_expect(strstr(err.message, missing) && strstr(err.message, "nowhere does not exist"),
		  "%s", err.message);
	cr_expect_eq(open_at("/dev/null/store.db", &store, &err), SP_IO, "%s", err.message);
	cr_expect(strstr(err.message, "/dev/null is no folder"), "%s", err.message);
	cr_expect_eq(open_at(":memory:", &store, &err), SP_INVALID, "%s", err.message);
	cr_expect_eq(open_at("file:x?mode=memory", &store, &err), SP_INVALID, "%s", err.message);
	cr_assert_eq(symlink("nowhere/at/all", path), 0);
	cr_expect_eq(open_at(path, &store, &err), SP_IO, "%s", err.message);
	cr_expect(strstr(err.message, "a link to something that does not exist"), "%s",
		  err.message);
	/* Not even root may write there. */
	cr_expect_eq(open_at("/proc/self/store.db", &store, &err), SP_DENIED, "%s", err.message);
	cr_expect(strstr(err.message, "nothing can be made in its folder (/proc/self)"), "%s",
		  err.message);
}

static const struct sp_record record = {.key = (char *)"k",
					.provider = (char *)"p",
					.provider_sandbox_id = (char *)"i",
					.thread_id = (char *)"t",
					.updated_at = 7};

static void expect_record(struct sp_store *store)
{
	struct sp_record got SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;

	cr_expect_eq(sp_store_get(store, "k", &got, &found, NULL, &err), 0, "%s", err.message);
	cr_expect(found && got.updated_at == 7);
}

Test(sqlite, an_older_version_is_brought_up)
{
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_lock lock = SP_LOCK_INIT;
	struct sp_lease lease = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;

	/* As the first version left it: without leases. */
	run_sql("CREATE TABLE records(key TEXT PRIMARY KEY NOT NULL, provider TEXT NOT NULL, "
		"sandbox_id TEXT NOT NULL, snapshot_id TEXT, thread_id TEXT NOT NULL, run_id TEXT, "
		"updated_at INTEGER NOT NULL, fence INTEGER) STRICT, WITHOUT ROWID;"
		"INSERT INTO records VALUES('k', 'p', 'i', NULL, 't', NULL, 7, NULL);"
		"PRAGMA application_id = 1397781364; PRAGMA user_version = 1;");
	cr_assert_eq(open_at(path, &store, &err), 0, "%s", err.message);
	expect_record(&store);
	sp_store_done(&store);
	options.path = path;
	cr_assert_eq(sp_sqlite_lock_open(&options, &lock, &err), 0, "%s", err.message);
	cr_expect_eq(sp_lock_acquire(&lock, "k", NULL, &lease, &err), 0, "%s", err.message);
	cr_expect_eq(sp_lease_fence(&lease), 1);
	sp_lease_done(&lease);
	sp_lock_done(&lock);
}

/* What a newer program does between our look at the version and our turn to write. */
static bool overtaken;

static int overtake(unsigned type, void *arg, void *stmt, void *sql)
{
	(void)type, (void)arg, (void)stmt;
	if (overtaken || strcmp(sql, "BEGIN IMMEDIATE"))
		return 0;
	overtaken = true;
	run_sql("PRAGMA application_id = 1397781364; PRAGMA user_version = 99;");
	return 0;
}

static int watch_statements(sqlite3 *db, char **err, const void *api)
{
	(void)err, (void)api;
	return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, overtake, NULL);
}

static int take_number(void *ret, int n, char **values, char **names)
{
	(void)n, (void)names;
	*(int *)ret = (int)strtol(values[0], NULL, 10);
	return 0;
}

Test(sqlite, a_newer_program_that_overtakes_is_noticed)
{
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	sqlite3 *db = NULL;
	int version = 0;

	sqlite3_auto_extension((void (*)(void))watch_statements);
	cr_expect_eq(open_at(path, &store, &err), SP_UNSUPPORTED, "%s", err.message);
	sqlite3_reset_auto_extension();
	cr_expect(overtaken, "it did not get its turn");
	cr_expect(strstr(err.message, "newer version"), "%s", err.message);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_expect_eq(sqlite3_exec(db, "PRAGMA user_version", take_number, &version, NULL),
		     SQLITE_OK);
	sqlite3_close(db);
	cr_expect_eq(version, 99, "the newer program's version became %d", version);
}

Test(sqlite, a_file_that_was_moved_takes_no_writes)
{
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *aside SP_FREE = NULL;

	cr_assert(asprintf(&aside, "%s/aside.db", dir) > 0);
	cr_assert_eq(open_at(path, &store, &err), 0, "%s", err.message);
	cr_expect_eq(sp_store_upsert(&store, &record, NULL, NULL, &err), 0, "%s", err.message);
	cr_assert_eq(rename(path, aside), 0);
	cr_expect_eq(sp_store_upsert(&store, &record, NULL, NULL, &err), SP_DENIED, "%s",
		     err.message);
	cr_expect_eq(sp_store_del(&store, "k", NULL, &err), SP_DENIED, "%s", err.message);
	cr_assert_eq(rename(aside, path), 0);
	cr_expect_eq(sp_store_upsert(&store, &record, NULL, NULL, &err), 0, "%s", err.message);
	sp_store_done(&store);
}

Test(sqlite, patience_ends)
{
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	sqlite3 *other = NULL;

	cr_assert_eq(open_at(path, &store, &err), 0, "%s", err.message);
	cr_assert_eq(sqlite3_open(path, &other), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	cr_expect_eq(sp_store_upsert(&store, &record, NULL, NULL, &err), SP_UNAVAILABLE, "%s",
		     err.message);
	cr_assert_eq(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	cr_expect_eq(sp_store_upsert(&store, &record, NULL, NULL, &err), 0, "%s", err.message);
	expect_record(&store);
	sp_store_done(&store);
}

/* A lease that nobody extends runs out, and its holder is told. */
Test(sqlite, a_lease_runs_out)
{
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;
	struct sp_lock one = SP_LOCK_INIT, two = SP_LOCK_INIT;
	struct sp_lease held = SP_LEASE_INIT, next = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.path = path;
	options.lease_ms = 30;
	/* Its holder never looks. */
	options.beat_ms = 3600000;
	cr_assert_eq(sp_sqlite_lock_open(&options, &one, &err), 0, "%s", err.message);
	cr_assert_eq(sp_sqlite_lock_open(&options, &two, &err), 0, "%s", err.message);
	cr_assert_eq(sp_lock_acquire(&one, "k", NULL, &held, &err), 0, "%s", err.message);
	cr_expect_eq(sp_lock_acquire(&two, "k", NULL, &next, &err), 0, "%s", err.message);
	cr_expect_gt(sp_lease_fence(&next), sp_lease_fence(&held));
	sp_lease_done(&held);
	sp_lease_done(&next);
	sp_lock_done(&one);
	sp_lock_done(&two);
}

static long ask(const char *sql);

/* What a holder left that died goes with the next lock, of whatever key. */
Test(sqlite, leases_of_the_dead_do_not_pile_up)
{
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;
	struct sp_lock lock = SP_LOCK_INIT;
	struct sp_lease held = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.path = path;
	cr_assert_eq(sp_sqlite_lock_open(&options, &lock, &err), 0, "%s", err.message);
	run_sql("INSERT INTO leases VALUES('dead', 'x', 'another start', 9223372036854775807)");
	cr_assert_eq(sp_lock_acquire(&lock, "k", NULL, &held, &err), 0, "%s", err.message);
	cr_expect_eq(ask("SELECT count(*) FROM leases WHERE key = 'dead'"), 0);
	cr_expect_eq(ask("SELECT count(*) FROM leases WHERE key = 'k'"), 1);
	sp_lease_done(&held);
	sp_lock_done(&lock);
}

static long ask(const char *sql)
{
	sqlite3 *db = NULL;
	int number = -1;

	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_expect_eq(sqlite3_exec(db, sql, take_number, &number, NULL), SQLITE_OK, "%s", sql);
	sqlite3_close(db);
	return number;
}

/* The suites run in a file that is somebody's: what was there stays, and nothing is added. */
Test(sqlite, a_run_leaves_a_file_as_it_was, .timeout = 240)
{
	struct sp_run_result result = {0};
	struct sp_store store = SP_STORE_INIT;
	struct sp_record mine = record;
	struct sp_error err = SP_ERROR_INIT;
	char *spec SP_FREE = NULL;
	int rc;

	mine.key = (char *)"..";
	cr_assert_eq(open_at(path, &store, &err), 0, "%s", err.message);
	cr_assert_eq(sp_store_upsert(&store, &mine, NULL, NULL, &err), 0, "%s", err.message);
	sp_store_done(&store);
	cr_assert(asprintf(&spec, "sqlite:%s", path) > 0);
	rc = sp_run((const char *const[]){SP_TEST_BIN_DIR "/sandproof", "run", "--store", spec,
					  "--results", "/dev/null", NULL},
		    NULL, NULL, 0, 1 << 20, NULL, &result, &err);
	cr_expect_eq(rc, 0, "%s", err.message);
	cr_expect_eq(result.code, 0, "exit %d\n%s%s", result.code, result.out, result.err);
	cr_expect(strstr(result.out, "a record of the key \"..\""), "%s", result.out);
	cr_expect_eq(ask("SELECT count(*) FROM records"), 1, "records were left");
	cr_expect_eq(ask("SELECT count(*) FROM leases"), 0, "leases were left");
	cr_expect_eq(ask("SELECT updated_at FROM records WHERE key = '..' AND provider = 'p'"), 7,
		     "the record that was there is another");
	sp_run_result_done(&result);
}

/* Runs the program; its output is malloc'ed. */
static int program(const char *const *argv, char **ret_out)
{
	struct sp_run_result result = {0};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_run(argv, NULL, NULL, 0, 1 << 20, NULL, &result, &err);
	int code = result.code;

	cr_expect_eq(rc, 0, "%s", err.message);
	cr_assert(asprintf(ret_out, "%s%s", result.out, result.err) > 0);
	sp_run_result_done(&result);
	return code;
}

/* What a killed worker wrote is deleted by the next one, and what a killed run wrote by `sweep`. */
Test(sqlite, a_killed_run_leaves_nothing_for_good, .timeout = 240)
{
	static const char *const whom[] = {"worker", "run"};
	char *spec SP_FREE = NULL, *state SP_FREE = NULL;

	cr_assert(asprintf(&spec, "sqlite:%s", path) > 0);
	cr_assert(asprintf(&state, "%s/state", dir) > 0);
	setenv("XDG_STATE_HOME", state, 1);
	for (size_t i = 0; i < SP_COUNT(whom); i++) {
		char *out SP_FREE = NULL, *shown SP_FREE = NULL, *swept SP_FREE = NULL;
		bool alone = !i;

		setenv("ENDS_KILLED", whom[i], 1);
		(void)program((const char *const[]){SP_TEST_BIN_DIR "/sandproof", "run", "--store",
						    spec, "--suite", "ends", "--suite-plugin",
						    SP_TEST_BIN_DIR "/plugins/plugin_ends.so",
						    NULL},
			      &out);
		cr_expect(!strstr(out, "LEAK"), "%s", out);
		cr_expect_eq(ask("SELECT count(*) FROM records"), alone ? 0 : 1, "%s\n%s", whom[i],
			     out);
		cr_expect_eq(
		    program((const char *const[]){SP_TEST_BIN_DIR "/sandproof", "sweep", NULL},
			    &shown),
		    0);
		cr_expect_eq(ask("SELECT count(*) FROM records"), alone ? 0 : 1, "%s", shown);
		cr_expect_eq(program((const char *const[]){SP_TEST_BIN_DIR "/sandproof", "sweep",
							   "--yes", NULL},
				     &swept),
			     0);
		cr_expect(strstr(swept, alone ? "0 ledgers" : "1 ledger: 1 ended"), "%s", swept);
		cr_expect_eq(ask("SELECT count(*) FROM records"), 0, "%s", swept);
	}
}
