/* SPDX-License-Identifier: MIT */
/* The client against drivers that go wrong, each in a way of its own. */
#include "driver.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

#define BAD SP_SOURCE_DIR "/providers/driver/bad-driver"

static const struct row {
	const char *fault;
	/* What the cause must say, before and after initialize; the last words, or NULL. */
	const char *before, *after, *words;
} rows[] = {
    {"banner", "\"Welcome to my driver 1.0\"", "\"Welcome to my driver 1.0\"", NULL},
    {"empty-line", "it is empty", "it is empty", NULL},
    /* Both answers are nonsense as well: whichever is noticed first. */
    {"twice", "the driver answered", "the driver answered", NULL},
    {"wrong-id", "the id 4711, which nobody asked", "the id 4711, which nobody asked", NULL},
    {"huge", "a line of more than 67108864 bytes", "a line of more than 67108864 bytes", NULL},
    {"half", "exit code 0 in the middle of a line", "exit code 0 in the middle of a line", NULL},
    {"utf8", "not valid UTF-8", "not valid UTF-8", NULL},
    {"nul", "an escaped NUL", "an escaped NUL", NULL},
    {"both", "both of \"result\" and \"error\"", "both of \"result\" and \"error\"", NULL},
    {"nonsense", "answered initialize with nonsense", "answered sandbox/exec with nonsense", NULL},
    {"close-stdin", "closed its standard input", "closed its standard input", NULL},
    {"close-stdout", "closed its standard output", "closed its standard output", NULL},
    {"ignore-term", "\"I stay\"", "\"I stay\"", NULL},
    {"flood-banner", "\"a banner\"", "\"a banner\"", "the last word"},
    {"exit-0", "ended with exit code 0", "ended with exit code 0", NULL},
    /* A child of it keeps its output open. */
    {"orphan", "ended with exit code 0", "ended with exit code 0", NULL},
    {"exit-3", "ended with exit code 3", "ended with exit code 3", "out of cheese"},
    {"signal", "was ended by signal SEGV", "was ended by signal SEGV", NULL},
};

static struct sp_driver *open_bad(const char *fault, const char *when, const char *pidfile,
				  uint32_t start_ms, struct sp_error *err)
{
	const char *argv[] = {BAD, fault, when, pidfile, NULL};
	struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
	struct sp_driver *driver = NULL;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	options.argv = argv;
	options.start_ms = start_ms;
	/* Only what ignores both endings waits for it. */
	options.grace_ms = 100;
	rc = sp_driver_open(&options, &driver, err);
	cr_expect_eq(!rc, driver != NULL, "%s: a driver exactly without an error", fault);
	return driver;
}

Test(driver, before_initialize_is_answered_the_cause_is_the_error)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = open_bad(rows[i].fault, "before", NULL, 0, &err);

		cr_expect_null(driver, "%s: it cannot be opened", rows[i].fault);
		cr_expect(strstr(err.message, rows[i].before), "%s: \"%s\" in \"%s\"",
			  rows[i].fault, rows[i].before, err.message);
		cr_expect(!rows[i].words || strstr(err.detail, rows[i].words),
			  "%s: last words \"%s\"", rows[i].fault, err.detail);
		sp_driver_unref(driver);
	}
}

/* Every limit is an hour and more here, so that whoever waits one out hangs. */
Test(driver, a_refused_driver_that_ends_is_not_waited_for, .timeout = 120)
{
	static const char *const faults[] = {
	    "banner", "exit-0", "exit-3", "half", "orphan", "signal", "close-stdin", "close-stdout",
	};

	setenv("SANDPROOF_TIME_SCALE", "7200", 1);
	for (size_t i = 0; i < SP_COUNT(faults); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = open_bad(faults[i], "before", NULL, 0, &err);

		cr_expect_null(driver, "%s: it cannot be opened", faults[i]);
		sp_driver_unref(driver);
	}
}

/* A driver that has a sandbox, and what its exec answers. */
static int exec_with(struct sp_driver *driver, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	int rc = sp_driver_provider(driver, &provider, err);

	options.command = "true";
	options.cancel = cancel;
	if (!rc)
		rc = sp_provider_create(&provider, &create, &sandbox, err);
	cr_expect_eq(rc, 0, "a sandbox: %s", err->message);
	if (!rc)
		rc = sp_sandbox_exec(&sandbox, &options, &result, err);
	sp_exec_result_done(&result);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	return rc;
}

static int exec_bad(struct sp_driver *driver, struct sp_error *err)
{
	return exec_with(driver, NULL, err);
}

Test(driver, afterwards_the_call_fails_and_the_cause_is_told_once)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT, cause = SP_ERROR_INIT;
		struct sp_driver *driver = open_bad(rows[i].fault, "after", NULL, 0, &err);
		bool gone = false;
		int rc;

		cr_expect(driver, "%s: opened: %s", rows[i].fault, err.message);
		if (!driver)
			continue;
		rc = exec_bad(driver, &err);
		cr_expect(rc == SP_UNKNOWN_OUTCOME || rc == SP_PROTOCOL, "%s: %s: %s",
			  rows[i].fault, sp_code_name(rc), err.message);
		rc = sp_driver_check(driver, &gone, &cause);
		cr_expect(rc && gone && strstr(cause.message, rows[i].after),
			  "%s: \"%s\" in \"%s\"", rows[i].fault, rows[i].after, cause.message);
		cr_expect_eq(sp_driver_check(driver, &gone, NULL), 0, "it is told once");
		cr_expect(gone, "and stays gone");
		sp_driver_unref(driver);
	}
}

/* The second answer of two, where the first one was good. */
Test(driver, an_id_is_answered_once)
{
	static const char script[] =
	    "while read -r line; do [[ $line =~ \\\"id\\\":([0-9]+) ]] || continue; "
	    "a='{\"jsonrpc\":\"2.0\",\"id\":'${BASH_REMATCH[1]}',\"result\":{\"protocol\":1,"
	    "\"store\":{},\"record\":null}}'; echo \"$a\"; [[ $line = *store/get* ]] && "
	    "echo \"$a\"; done";
	const char *argv[] = {"bash", "-c", script, NULL};
	struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_driver *driver = NULL;
	struct sp_store store = SP_STORE_INIT;
	struct sp_record record = SP_RECORD_INIT;
	bool found = true, gone = false;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	options.argv = argv;
	cr_assert_eq(sp_driver_open(&options, &driver, &err), 0, "%s", err.message);
	cr_expect_eq(sp_driver_store(driver, &store, &err), 0);
	rc = sp_store_get(&store, "k", &record, &found, NULL, &err);
	cr_expect(rc == 0 && !found, "the first answer is the answer: %s", err.message);
	/* The next call is answered by the driver's end, whenever that is noticed. */
	rc = sp_store_get(&store, "k", &record, &found, NULL, &err);
	if (!rc)
		rc = sp_store_get(&store, "k", &record, &found, NULL, &err);
	rc = sp_driver_check(driver, &gone, &err);
	cr_expect(rc && strstr(err.message, "twice"), "%s", err.message);
	sp_store_done(&store);
	sp_driver_unref(driver);
}

Test(driver, silence_and_floods_before_initialize_end_by_a_limit)
{
	static const char *const faults[] = {"silent", "flood"};

	for (size_t i = 0; i < SP_COUNT(faults); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = open_bad(faults[i], "before", NULL, 200, &err);

		cr_expect_null(driver);
		cr_expect(strstr(err.message, "did not answer initialize in time"), "%s: %s",
			  faults[i], err.message);
		cr_expect(i == 0 || strstr(err.detail, "a flood of words"), "last words: \"%s\"",
			  err.detail);
	}
}

/* A caller that waits for a lock, on a thread of its own. */
static void *acquire(void *arg)
{
	struct sp_lease lease = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_lock_acquire(arg, "k", NULL, &lease, &err);

	sp_lease_done(&lease);
	return (void *)(intptr_t)rc;
}

/* Whoever waits reads for all; no call waits for another one, and none is lost on the way. */
Test(driver, many_calls_are_in_flight_on_many_threads)
{
	const char *argv[] = {SP_TEST_BIN_DIR "/sandproof", "serve", "--store", "memory", NULL};
	struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_driver *driver = NULL;
	struct sp_store store = SP_STORE_INIT;
	struct sp_lock lock = SP_LOCK_INIT;
	struct sp_lease lease = SP_LEASE_INIT;
	struct sp_record record = SP_RECORD_INIT;
	pthread_t waiters[8];
	bool found;
	void *rc;

	signal(SIGPIPE, SIG_IGN);
	options.argv = argv;
	cr_assert_eq(sp_driver_open(&options, &driver, &err), 0, "%s", err.message);
	cr_expect_eq(sp_driver_store(driver, &store, &err), 0);
	cr_expect_eq(sp_driver_lock(driver, &lock, &err), 0);
	cr_assert_eq(sp_lock_acquire(&lock, "k", NULL, &lease, &err), 0, "%s", err.message);
	for (size_t i = 0; i < SP_COUNT(waiters); i++)
		cr_assert_eq(pthread_create(&waiters[i], NULL, acquire, &lock), 0);
	for (int i = 0; i < 2000 && !err.code; i++)
		(void)sp_store_get(&store, "none", &record, &found, NULL, &err);
	cr_expect_eq(err.code, 0, "calls beside those that wait: %s", err.message);
	sp_lease_done(&lease);
	for (size_t i = 0; i < SP_COUNT(waiters); i++) {
		cr_expect_eq(pthread_join(waiters[i], &rc), 0);
		cr_expect_eq((intptr_t)rc, 0, "each has the lock once: %s",
			     sp_code_name((int)(intptr_t)rc));
	}
	sp_lock_done(&lock);
	sp_store_done(&store);
	sp_driver_unref(driver);
}

/* Pidfds of the processes that a driver noted; -1 where it noted fewer. */
static void read_pids(const char *path, int pidfds[2])
{
	struct sp_bytes text = SP_BYTES_INIT;
	int pids[2] = {0, 0};

	cr_expect_eq(sp_read_file(path, 100, &text, NULL), 0);
	cr_expect_eq(sscanf((char *)text.data, "%d %d", &pids[0], &pids[1]), 2, "two pids: %s",
		     (char *)text.data);
	for (int i = 0; i < 2; i++)
		pidfds[i] = pids[i] > 1 ? sp_pidfd_open(pids[i]) : -1;
	sp_bytes_done(&text);
}

/* A pidfd that is not readable is of a process that lives. */
static bool has_ended(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return pidfd < 0 || poll(&fd, 1, 10000) == 1;
}

/* Nobody survives: not one that ignores TERM, nor an orphan in a session of its own. */
Test(driver, the_whole_tree_ends)
{
	char *dir SP_FREE = NULL, *path SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_driver *driver;
	int pidfds[2] = {-1, -1};

	cr_assert_eq(sp_tmp_dir("driver-test-", &dir, NULL), 0);
	cr_assert(asprintf(&path, "%s/pids", dir) > 0);
	driver = open_bad("ignore-term", "after", path, 0, &err);
	cr_expect(driver, "%s", err.message);
	if (driver) {
		read_pids(path, pidfds);
		cr_expect(exec_bad(driver, &err), "it goes wrong");
		sp_driver_unref(driver);
	}
	cr_expect(pidfds[0] >= 0 && pidfds[1] >= 0, "both were there");
	cr_expect(has_ended(pidfds[0]) && has_ended(pidfds[1]), "both have ended");
	sp_close(pidfds[0]);
	sp_close(pidfds[1]);
	sp_remove_tree(dir);
}

Test(driver, a_violation_is_told_and_the_driver_goes_on)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_driver *driver = open_bad("violation", "after", NULL, 0, &err);
	bool gone = true;

	cr_assert(driver, "%s", err.message);
	cr_expect_eq(exec_bad(driver, &err), 0, "%s", err.message);
	cr_expect_eq(sp_driver_check(driver, &gone, &err), SP_PROTOCOL);
	cr_expect_not(gone, "it goes on");
	cr_expect_str_eq(err.message, "an own key is undefined");
	cr_expect_eq(sp_driver_check(driver, &gone, &err), 0, "told once");
	cr_expect_eq(exec_bad(driver, &err), 0, "%s", err.message);
	sp_driver_unref(driver);
}

/* What the back end leaves on its own language's cancel is left on the caller's. */
Test(driver, listeners_that_are_left_behind_are_seen_on_the_cancel)
{
	static const struct {
		const char *fault;
		size_t left;
	} kinds[] = {{"listeners", 2}, {"violation", 0}};

	for (size_t i = 0; i < SP_COUNT(kinds); i++) {
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = open_bad(kinds[i].fault, "after", NULL, 0, &err);
		struct sp_cancel *cancel = sp_cancel_new();

		cr_assert(driver && cancel, "%s", err.message);
		cr_expect_eq(exec_with(driver, cancel, &err), 0, "%s", err.message);
		cr_expect_eq(sp_cancel_watchers(cancel), kinds[i].left, "%s: %zu left",
			     kinds[i].fault, sp_cancel_watchers(cancel));
		cr_expect_eq(sp_cancel_refs(cancel), 1, "and no reference");
		sp_cancel_unref(cancel);
		sp_driver_unref(driver);
	}
}

/* A declaration that is read as absent because of a letter would be tested as refused. */
Test(driver, typing_errors_in_a_declaration_are_told)
{
	static const struct {
		const char *declares, *meant;
	} rows[] = {
	    {"\"provider\":{\"name\":\"x\",\"capabilities\":{\"killable_proceses\":true}}",
	     "did you mean: killable_processes?"},
	    {"\"provider\":{\"name\":\"x\",\"capabilities\":{\"backgroundProcesses\":true}}",
	     "did you mean: background_processes?"},
	    {"\"provider\":{\"name\":\"x\",\"capabilites\":{}}", "did you mean: capabilities?"},
	    {"\"store\":{\"capabilites\":{}}", "did you mean: capabilities?"},
	    {"\"store\":{\"capabilities\":{\"duarble\":true}}", "did you mean: durable?"},
	    {"\"lock\":{\"capabilities\":{\"multiProcess\":true}}", "did you mean: multi_process?"},
	    {"\"stroe\":{}", "did you mean: store?"},
	    /* What a later protocol may add is ignored. */
	    {"\"store\":{\"capabilities\":{\"replicas\":3},\"region\":\"x\"},\"telemetry\":{}",
	     NULL},
	};
	static const char script[] =
	    "read -r line; printf "
	    "'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,%s}}\\n' "
	    "\"$1\"; read -r line";

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *argv[] = {"bash", "-c", script, "bash", rows[i].declares, NULL};
		struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = NULL;

		options.argv = argv;
		(void)sp_driver_open(&options, &driver, &err);
		cr_expect_eq(!driver, !!rows[i].meant, "%s: %s", rows[i].declares, err.message);
		cr_expect(!rows[i].meant || strstr(err.message, rows[i].meant), "%s: %s",
			  rows[i].declares, err.message);
		sp_driver_unref(driver);
	}
}

Test(driver, what_cannot_start_or_be_reached_is_named)
{
	static const struct {
		const char *argv[2], *path, *tcp, *says;
		int code;
	} starts[] = {
	    {{"/nowhere/driver", NULL}, NULL, NULL, "/nowhere/driver", SP_IO},
	    {{NULL},
	     "/nowhere/socket",
	     NULL,
	     "no driver answers at /nowhere/socket",
	     SP_UNAVAILABLE},
	    {{NULL}, NULL, "127.0.0.1:1", "no driver answers at 127.0.0.1:1", SP_UNAVAILABLE},
	};

	for (size_t i = 0; i < SP_COUNT(starts); i++) {
		struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct sp_driver *driver = NULL;
		int rc;

		options.argv = starts[i].argv[0] ? starts[i].argv : NULL;
		options.unix_path = starts[i].path;
		options.tcp = starts[i].tcp;
		rc = sp_driver_open(&options, &driver, &err);
		cr_expect_eq(rc, starts[i].code, "%s: %s", sp_code_name(rc), err.message);
		cr_expect(strstr(err.message, starts[i].says), "%s", err.message);
	}
}

Test(driver, no_descriptor_stays_open)
{
	struct sp_error err = SP_ERROR_INIT;
	int before;

	sp_driver_unref(open_bad("exit-0", "after", NULL, 0, &err));
	before = sp_count_fds();
	for (int i = 0; i < 3; i++) {
		struct sp_driver *driver = open_bad("exit-0", "after", NULL, 0, &err);

		(void)exec_bad(driver, &err);
		sp_driver_unref(driver);
		sp_driver_unref(open_bad("banner", "before", NULL, 0, &err));
	}
	cr_expect_eq(sp_count_fds(), before, "%d instead of %d", sp_count_fds(), before);
}
