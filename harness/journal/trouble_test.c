/* SPDX-License-Identifier: MIT */
/*
 * What goes wrong: places that are no journal, execs that fail, followers
 * that end, providers that hang.
 */
#include "test_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define RUN "r1"

/* ---- The place ---- */

Test(journal_trouble, no_regular_file)
{
	static const char *const places[] = { "mkdir -p runs/r1.ndjson",
					      "mkdir -p runs; mkfifo runs/r1.ndjson" };

	for (size_t i = 0; i < 2 * SP_COUNT(places); i++) {
		enum sp_journal_state state = SP_JOURNAL_PRODUCING;
		struct sp_process process = SP_PROCESS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		struct fixture f;
		int code;

		fixture_open(&f, NULL);
		fixture_run(&f, places[i / 2]);
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i % 2]);
		cr_expect_str_eq(found, "conflict\n", "%s by %s: %s", places[i / 2],
				 fixture_strategy(fixture_both[i % 2]), found);
		int rc = f.journal.ops->start(f.journal.self, &f.sandbox, RUN, "echo", &f.options,
					      &process, &err);
		cr_expect_eq(rc, SP_CONFLICT, "start: %s", sp_code_name(rc));
		if (i < 2)
			rc = f.journal.ops->probe(f.journal.self, &f.sandbox, RUN, &f.options,
						  &state, &code, &err);
		cr_expect_eq(rc, SP_CONFLICT, "probe: %s", sp_code_name(rc));
		fixture_close(&f);
	}
}

/* `ls` names a file as gladly as what is in a folder. */
Test(journal_trouble, no_folder)
{
	struct sp_journal_list list = SP_JOURNAL_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct fixture f;
	int rc;

	fixture_open(&f, NULL);
	fixture_run(&f, ": > runs");
	rc = f.journal.ops->list(f.journal.self, &f.sandbox, &f.options, &list, &err);
	cr_expect(rc == SP_CONFLICT && strstr(err.message, "runs"), "%s: %s, %zu names",
		  sp_code_name(rc), err.message, list.len);
	sp_journal_list_done(&list);
	fixture_close(&f);
}

/* The look's own answer, since root may read everything. */
Test(journal_trouble, unreadable)
{
	struct fixture f;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, "x\n", 2);
	f.own.fail_match = "test -r";
	f.own.fail_code = 4;
	for (size_t i = 0; i < 2; i++) {
		f.own.fail = 1;
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i]);
		cr_expect_str_eq(found, "denied\n", "%s: %s", fixture_strategy(fixture_both[i]),
				 found);
	}
	fixture_close(&f);
}

Test(journal_trouble, start_is_loud)
{
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct fixture f;
	int rc;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, "x\n", 2);
	rc = f.journal.ops->start(f.journal.self, &f.sandbox, RUN, "echo", &f.options, &process,
				  &err);
	cr_expect(rc == SP_CONFLICT && strstr(err.message, RUN), "a used id: %s", err.message);
	rc = f.journal.ops->start(f.journal.self, &f.sandbox, "", "echo", &f.options, &process,
				  &err);
	cr_expect_eq(rc, SP_INVALID, "an empty id: %s", sp_code_name(rc));
	rc = f.journal.ops->start(f.journal.self, &f.sandbox, "\xff", "echo", &f.options, &process,
				  &err);
	cr_expect_eq(rc, SP_INVALID, "an id that is no text: %s", sp_code_name(rc));
	fixture_run(&f, "rm -r runs; : > runs");
	rc = f.journal.ops->start(f.journal.self, &f.sandbox, "r2", "echo", &f.options, &process,
				  &err);
	cr_expect(rc == SP_IO && strstr(err.detail, "mkdir"),
		  "a file in the folder's place: %s, %s", sp_code_name(rc), err.detail);
	cr_expect_eq(f.own.spawns, 0);
	fixture_close(&f);
}

/* ---- Execs and reads ---- */

Test(journal_trouble, a_failed_read_is_told_and_loses_nothing)
{
	static const int codes[] = { SP_UNAVAILABLE, SP_GONE, 0 };

	for (size_t i = 0; i < SP_COUNT(codes); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_journal_reader reader;
		struct fixture f;
		int rc;

		fixture_open(&f, NULL);
		fixture_write(&f, RUN, "one\ntw", 6);
		reader = fixture_read(&f, RUN, 0, SP_JOURNAL_POLL, &rc, NULL);
		cr_assert_eq(rc, 0);
		cr_expect(fixture_next(&reader, &out));
		f.own.fail_rc = codes[i];
		f.own.fail_code = 1;
		f.own.fail = 2;
		fixture_next(&reader, &out);
		fixture_next(&reader, &out);
		fixture_run(&f, "printf 'o\\n' >> runs/r1.ndjson");
		cr_expect(fixture_next(&reader, &out));
		reader.ops->close(reader.self);
		char *expected SP_FREE = NULL;
		const char *name = sp_code_name(codes[i] ? codes[i] : SP_IO);
		cr_assert(asprintf(&expected, "4 one\n%s\n%s\n8 two\n", name, name) > 0);
		cr_expect_str_eq(sp_buf_str(&out), expected, "%s", sp_buf_str(&out));
		fixture_close(&f);
	}
}

Test(journal_trouble, a_line_above_the_ceiling)
{
	struct fixture f;

	fixture_open(&f, NULL);
	f.options.line_ceiling = 4;
	fixture_write(&f, RUN, "1234\n12345\nx\n", 13);
	fixture_write(&f, "r2", "1234\n12345", 10);
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i]);
		char *open SP_FREE = fixture_read_all(&f, "r2", 0, fixture_both[i]);

		cr_expect_str_eq(found, "5 1234\nprotocol\n", "%s", found);
		cr_expect_str_eq(open, "5 1234\nprotocol\n", "%s", open);
	}
	fixture_close(&f);
}

/* ---- Time, only as a limit ---- */

Test(journal_trouble, no_first_byte)
{
	struct fixture f;

	fixture_open(&f, NULL);
	f.options.first_byte_ms = 1;
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i]);

		cr_expect_str_eq(found, "timed-out\n", "%s: %s", fixture_strategy(fixture_both[i]),
				 found);
	}
	fixture_close(&f);
}

/* ---- Abort ---- */

/* Aborts between lines, without waiting for what the provider still does. */
Test(journal_trouble, abort_is_quiet)
{
	for (size_t i = 0; i < 2; i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_journal_reader reader;
		struct fixture f;
		int rc;

		fixture_open(&f, NULL);
		fixture_write(&f, RUN, "one\ntwo\n", 8);
		reader = fixture_read(&f, RUN, 0, fixture_both[i], &rc, NULL);
		cr_assert_eq(rc, 0);
		cr_expect(fixture_next(&reader, &out));
		sp_cancel_abort(f.options.cancel, "the test");
		fixture_next(&reader, &out);
		fixture_next(&reader, &out);
		reader.ops->close(reader.self);
		cr_expect_str_eq(sp_buf_str(&out), "4 one\nend\nend\n", "%s", sp_buf_str(&out));
		fixture_close(&f);
	}
}

static void *abort_it(void *arg)
{
	sp_cancel_abort(arg, "the test");
	return NULL;
}

/*
 * The follower's read ignores its cancel: the abort is answered all the
 * same, and the kill frees it.
 */
Test(journal_trouble, abort_does_not_wait_for_the_provider)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_journal_reader reader;
	pthread_t thread;
	struct fixture f;
	int rc, gate[2];

	cr_assert_eq(pipe2(gate, O_CLOEXEC), 0);
	fixture_open(&f, NULL);
	f.own.hang = gate[0];
	fixture_write(&f, RUN, "one\n", 4);
	reader = fixture_read(&f, RUN, 0, SP_JOURNAL_FOLLOW, &rc, NULL);
	cr_assert_eq(rc, 0);
	cr_assert_eq(pthread_create(&thread, NULL, abort_it, f.options.cancel), 0);
	fixture_next(&reader, &out);
	pthread_join(thread, NULL);
	/* Only now may the provider's read come back. */
	close(gate[1]);
	reader.ops->close(reader.self);
	close(gate[0]);
	cr_expect_str_eq(sp_buf_str(&out), "end\n", "%s", sp_buf_str(&out));
	cr_expect_eq(f.own.kills, 1);
	fixture_close(&f);
}

/* ---- Followers ---- */

/* A follower that ends in good order is not the end of the run. */
Test(journal_trouble, the_end_of_a_follower_is_not_the_end_of_the_run)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *sentinel SP_FREE = fixture_sentinel(RUN, 0), *more SP_FREE = NULL;
	struct sp_journal_reader reader;
	struct fixture f;
	int rc;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, "one\ntw", 6);
	reader = fixture_read(&f, RUN, 0, SP_JOURNAL_FOLLOW, &rc, NULL);
	cr_assert_eq(rc, 0);
	cr_expect(fixture_next(&reader, &out));
	/* The one that follows is found by its own argument: a file below this test's folder. */
	fixture_run(&f, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | "
			"grep -q \"^tail .*$PWD\" && kill ${p#/proc/}; done; :");
	cr_assert(asprintf(&more, "printf 'o\\n%%s\\n' '%s' >> runs/r1.ndjson", sentinel) > 0);
	fixture_run(&f, more);
	while (fixture_next(&reader, &out))
		;
	reader.ops->close(reader.self);
	cr_expect_str_eq(sp_buf_str(&out), "4 one\n8 two\n66 exit 0\nend\n", "%s",
			 sp_buf_str(&out));
	cr_expect_eq(f.own.spawns, 2);
	fixture_close(&f);
}

static char *no_follower(const struct sp_journal_words *words, uint64_t from)
{
	(void)words, (void)from;
	return strdup("exit 127");
}

static void without_follower(struct sp_journal_steps *steps)
{
	steps->compose_follow = no_follower;
}

Test(journal_trouble, a_follower_that_never_follows_is_told)
{
	struct fixture f;

	fixture_open(&f, without_follower);
	char *found SP_FREE = fixture_read_all(&f, RUN, 0, SP_JOURNAL_FOLLOW);
	cr_expect_str_eq(found, "protocol\n", "%s", found);
	fixture_close(&f);
}

Test(journal_trouble, follow_where_nothing_spawns)
{
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit = { SP_KILLED, -1, 0 };
	struct fixture f;

	fixture_open(&f, NULL);
	f.own.no_spawn = true;
	char *found SP_FREE = fixture_read_all(&f, RUN, 0, SP_JOURNAL_FOLLOW);
	cr_expect_str_eq(found, "unsupported\n", "%s", found);
	/* A start runs to its end there. */
	int rc = f.journal.ops->start(f.journal.self, &f.sandbox, RUN, "echo hi; exit 5",
				      &f.options, &process, &err);
	cr_assert_eq(rc, 0, "%s", err.message);
	cr_expect(!sp_process_wait(&process, &exit, NULL, &err) && exit.code == 0);
	sp_process_done(&process);
	char *read SP_FREE = fixture_read_all(&f, RUN, 0, SP_JOURNAL_AUTO);
	cr_expect_str_eq(read, "3 hi\n61 exit 5\nend\n", "%s", read);
	fixture_close(&f);
}

/* ---- Two exits ---- */

/* Less than is written before each read, so that every read comes back full. */
static void read_slowly(struct sp_journal_steps *steps)
{
	steps->read_max = 4;
}

/* What a background child writes for ever cannot hold back the exit before it, however fast. */
Test(journal_trouble, an_exit_before_endless_noise)
{
	char *exit SP_FREE = fixture_sentinel(RUN, 3);

	for (size_t i = 0; i < 4; i++) {
		char *path SP_FREE = NULL, *text SP_FREE = NULL;
		struct fixture f;

		fixture_open(&f, i / 2 ? read_slowly : NULL);
		cr_assert(asprintf(&path, "%s/r1.ndjson", f.dir) > 0);
		cr_assert(asprintf(&text, "%s\n", exit) > 0);
		fixture_write(&f, RUN, text, strlen(text));
		f.own.growing = path;
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i % 2]);
		cr_expect_str_eq(found, "58 exit 3\nend\n", "%s: %s",
				 fixture_strategy(fixture_both[i % 2]), found);
		fixture_close(&f);
	}
}

/* However much of it there is, it does not hide the exit from the probe; a look-alike is none. */
Test(journal_trouble, an_exit_far_before_the_end)
{
	static const struct {
		const char *exit;
		int code;
	} rows[] = { { "\n", 3 }, { "x\n", -1 } };
	char *exit SP_FREE = fixture_sentinel(RUN, 3);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
		enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
		struct fixture f;
		int code = -1;

		sp_buf_addf(&text, "line\npart%s%s", exit, rows[i].exit);
		while (text.len < 300000)
			sp_buf_adds(&text, "noise of a background child\n");
		fixture_open(&f, NULL);
		fixture_write(&f, RUN, sp_buf_str(&text), text.len);
		cr_expect_eq(f.journal.ops->probe(f.journal.self, &f.sandbox, RUN, &f.options,
						  &state, &code, NULL),
			     0);
		cr_expect_eq(state == SP_JOURNAL_FINISHED, rows[i].code >= 0, "%zu: state %d", i,
			     state);
		cr_expect_eq(code, rows[i].code, "%zu: code %d", i, code);
		fixture_close(&f);
	}
}

/*
 * What stands before it is not looked through: neither a line of gigabytes, for which a sandbox has
 * no memory, nor gigabytes of lines at each probe of a run that goes on.
 */
Test(journal_trouble, a_probe_has_a_bound)
{
	const struct rlimit memory = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
	enum sp_journal_state state = SP_JOURNAL_UNKNOWN;
	char *sentinel SP_FREE = fixture_sentinel("r1", 5), *command SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct fixture f;
	int code = 0, rc;

	fixture_open(&f, NULL);
	cr_assert(asprintf(&command,
			   "mkdir -p runs; truncate -s 5G runs/r1.ndjson; (echo; echo '%s'; "
			   "seq 100000) >>runs/r1.ndjson", sentinel) > 0);
	fixture_run(&f, command);
	/* A sanitizer has terabytes of addresses of its own. */
#ifndef __SANITIZE_ADDRESS__
	cr_assert_eq(setrlimit(RLIMIT_AS, &memory), 0);
#else
	(void)memory;
#endif
	rc = f.journal.ops->probe(f.journal.self, &f.sandbox, "r1", &f.options, &state, &code,
				  &err);
	cr_expect(!rc && state == SP_JOURNAL_FINISHED && code == 5, "rc %d, state %d, code %d: %s",
		  rc, (int)state, code, err.message);
	fixture_close(&f);
}

Test(journal_trouble, of_two_exits_the_last_counts)
{
	char *first SP_FREE = fixture_sentinel(RUN, 0), *second SP_FREE = fixture_sentinel(RUN, 7);
	char *text SP_FREE = NULL, *expected SP_FREE = NULL;
	enum sp_journal_state state;
	struct fixture f;
	int code = -1;

	cr_assert(asprintf(&text, "%s\nx%s\n", first, second) > 0);
	cr_assert(asprintf(&expected, "58 %s\n59 ~x\n117 exit 7\nend\n", first) > 0);
	fixture_open(&f, NULL);
	fixture_write(&f, RUN, text, strlen(text));
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i]);

		cr_expect_str_eq(found, expected, "%s: %s", fixture_strategy(fixture_both[i]),
				 found);
	}
	cr_expect_eq(f.journal.ops->probe(f.journal.self, &f.sandbox, RUN, &f.options, &state,
					  &code, NULL),
		     0);
	cr_expect(state == SP_JOURNAL_FINISHED && code == 7, "state %d, code %d", state, code);
	fixture_close(&f);
}
