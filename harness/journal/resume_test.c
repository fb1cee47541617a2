/* SPDX-License-Identifier: MIT */
/*
 * Positions: resuming anywhere, caps of any size, bytes that are no text, journals
 * that change under the reader.
 */
#include "test_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#define RUN "r1"

/* A small journal of several shapes, with its sentinel at the end. */
static char *small_journal(size_t *ret_len)
{
	static const char body[] =
		"a\n\nbcd\xc3\xa9\n{\"x\":\"\xf0\x9f\x98\x80\"}\nnul:\0:\nlast\n";
	char *sentinel SP_FREE = fixture_sentinel(RUN, 0);
	struct sp_buf all SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_add(&all, body, sizeof(body) - 1);
	sp_buf_addf(&all, "%s\n", sentinel);
	return sp_buf_take(&all, ret_len);
}

/* What a reader from `from` has to give, made by the plainest means. */
static char *expected_from(const char *text, size_t len, size_t from, size_t sentinel_at)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	while (from < len) {
		const char *newline = memchr(text + from, '\n', len - from);
		size_t end = (size_t)(newline - text);

		sp_buf_addf(&out, "%zu ", end + 1);
		if (from == sentinel_at)
			sp_buf_adds(&out, "exit 0");
		else
			sp_buf_add(&out, text + from, end - from);
		sp_buf_addc(&out, '\n');
		from = end + 1;
	}
	sp_buf_adds(&out, "end\n");
	return sp_buf_take(&out, NULL);
}

static void check_from(struct fixture *f, const char *text, size_t len, size_t from,
		       enum sp_journal_strategy strategy)
{
	size_t sentinel_at = len - strlen("{\"__exit\":0,\"__nonce\":\"\"}\n") - 32;
	char *expected SP_FREE = expected_from(text, len, from, sentinel_at);
	char *found SP_FREE = fixture_read_all(f, RUN, from, strategy);

	cr_expect_str_eq(found, expected, "%s from %zu (cap %zu):\n%sexpected\n%s",
			 fixture_strategy(strategy), from, f->own.cap, found, expected);
}

Test(journal_resume, every_position)
{
	struct fixture f;
	size_t len;
	char *text SP_FREE = small_journal(&len);

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, text, len);
	/* Up to the sentinel: behind its first byte there is no exit any more. */
	for (size_t from = 0; from <= len - 58; from++)
		check_from(&f, text, len, from, SP_JOURNAL_POLL);
	for (size_t from = 0; from <= len - 58; from += 5)
		check_from(&f, text, len, from, SP_JOURNAL_FOLLOW);
	fixture_close(&f);
}

/* A finished journal that fits into one read is looked at and read by one command. */
Test(journal_resume, costs_one_command)
{
	struct fixture f;
	size_t len;
	char *text SP_FREE = small_journal(&len);
	enum sp_journal_state state;
	struct sp_error err = SP_ERROR_INIT;
	int code;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, text, len);
	for (size_t from = 0; from < 4; from++) {
		f.own.execs = 0;
		check_from(&f, text, len, from, SP_JOURNAL_POLL);
		cr_expect_eq(f.own.execs, 1, "from byte %zu: 1 command expected, got %d", from,
			     f.own.execs);
	}
	f.own.execs = 0;
	cr_expect(!f.journal.ops->probe(f.journal.self, &f.sandbox, RUN, &f.options, &state, &code,
					&err) &&
			  state == SP_JOURNAL_FINISHED,
		  "%s", err.message);
	cr_expect_eq(f.own.execs, 1, "a probe: 1 command expected, got %d", f.own.execs);
	fixture_close(&f);
}

static void no_look(struct sp_journal_steps *steps)
{
	steps->look_first = false;
}

/* The cap cuts base64 anywhere; the journal stays whole. */
Test(journal_resume, every_cap)
{
	struct fixture f;
	size_t len;
	char *text SP_FREE = small_journal(&len);

	/* A cap of a few bytes leaves no room for a look's answer and needs none here. */
	fixture_open(&f, no_look);
	fixture_write(&f, RUN, text, len);
	for (size_t cap = 4; cap < 2 * len; cap += cap < 16 ? 1 : 13) {
		f.own.cap = cap;
		check_from(&f, text, len, 0, SP_JOURNAL_POLL);
	}
	f.own.cap = 3;
	char *found SP_FREE = fixture_read_all(&f, RUN, 0, SP_JOURNAL_POLL);
	cr_expect_str_eq(found, "protocol\n", "no quad fits: %s", found);
	fixture_close(&f);
}

/* Positions are bytes of the file where the platform gives text. */
Test(journal_resume, bytes_that_are_no_text)
{
	struct fixture f;
	char *sentinel SP_FREE = fixture_sentinel(RUN, 0), *expected SP_FREE = NULL;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&text, "\xef\xbb\xbf{\"\xff\"}\nok\n\xc3\n\xff\xff\xff%s\n", sentinel);
	cr_assert(asprintf(&expected,
			   "9 \xef\xbb\xbf{\"\xff\"}\n12 ok\n14 \xc3\n17 ~\xff\xff\xff\n%zu exit "
			   "0\nend\n",
			   text.len) > 0);
	fixture_open(&f, NULL);
	f.own.utf8 = true;
	fixture_write(&f, RUN, text.data, text.len);
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, fixture_both[i]);

		cr_expect_str_eq(found, expected, "%s:\n%s", fixture_strategy(fixture_both[i]),
				 found);
	}
	fixture_close(&f);
}

/* ---- A journal that changes under the reader ---- */

static const char *const changes[] = {
	": > runs/r1.ndjson",
	"printf 'new1\\nnew2\\nnew3\\nnew4\\n' > runs/x; mv runs/x runs/r1.ndjson",
	"rm runs/r1.ndjson",
	"printf 'on' > runs/r1.ndjson",
};

Test(journal_resume, a_changed_journal_is_told)
{
	for (size_t i = 0; i < 2 * SP_COUNT(changes); i++) {
		struct fixture f;
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_journal_reader reader;
		int rc;

		fixture_open(&f, NULL);
		f.options.poll_ms = 0;
		fixture_write(&f, RUN, "one\ntwo\n", 8);
		reader = fixture_read(&f, RUN, 0, fixture_both[i % 2], &rc, NULL);
		cr_assert_eq(rc, 0);
		cr_expect(fixture_next(&reader, &out) && fixture_next(&reader, &out));
		fixture_run(&f, changes[i / 2]);
		fixture_next(&reader, &out);
		/* It stays so. */
		fixture_next(&reader, &out);
		reader.ops->close(reader.self);
		cr_expect_str_eq(sp_buf_str(&out), "4 one\n8 two\nconflict\nconflict\n",
				 "%s by %s:\n%s", changes[i / 2],
				 fixture_strategy(fixture_both[i % 2]), sp_buf_str(&out));
		fixture_close(&f);
	}
}

Test(journal_resume, beyond_the_end)
{
	struct fixture f;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, "one\ntwo\n", 8);
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, 9, fixture_both[i]);
		char *absent SP_FREE = fixture_read_all(&f, "absent", 1, fixture_both[i]);
		char *far SP_FREE = fixture_read_all(&f, RUN, UINT64_C(1) << 53, fixture_both[i]);

		cr_expect_str_eq(found, "conflict\n");
		cr_expect_str_eq(absent, "conflict\n");
		cr_expect_str_eq(far, "invalid\n");
	}
	fixture_close(&f);
}

Test(journal_resume, beyond_four_gigabytes)
{
	struct fixture f;
	char *path SP_FREE = NULL, *sentinel SP_FREE = fixture_sentinel(RUN, 9);
	char *line SP_FREE = NULL, *expected SP_FREE = NULL;
	uint64_t at = (UINT64_C(5) << 30) + 1;
	int fd;

	fixture_open(&f, NULL);
	fixture_write(&f, RUN, "", 0);
	cr_assert(asprintf(&path, "%s/r1.ndjson", f.dir) > 0);
	cr_assert(asprintf(&line, "last\n%s\n", sentinel) > 0);
	cr_assert(asprintf(&expected, "%llu last\n%llu exit 9\nend\n", (unsigned long long)at + 5,
			   (unsigned long long)at + strlen(line)) > 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_expect_eq(pwrite(fd, line, strlen(line), (off_t)at), (ssize_t)strlen(line));
	close(fd);
	for (size_t i = 0; i < 2; i++) {
		char *found SP_FREE = fixture_read_all(&f, RUN, at, fixture_both[i]);

		cr_expect_str_eq(found, expected, "%s: %s", fixture_strategy(fixture_both[i]),
				 found);
	}
	fixture_close(&f);
}

/* What is there and no more: also without an exit, and of a line that is not finished. */
Test(journal_resume, until_the_end)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "one\ntw", "4 one\n6 ~tw\nend\n" },
		{ "one\n", "4 one\nend\n" },
		{ "", "end\n" },
	};
	struct fixture f;

	fixture_open(&f, NULL);
	f.options.until_end = true;
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		fixture_write(&f, RUN, rows[i].text, strlen(rows[i].text));
		char *found SP_FREE = fixture_read_all(&f, RUN, 0, SP_JOURNAL_AUTO);
		cr_expect_str_eq(found, rows[i].expected, "%s: %s", rows[i].text, found);
	}
	char *absent SP_FREE = fixture_read_all(&f, "absent", 0, SP_JOURNAL_AUTO);
	cr_expect_str_eq(absent, "end\n", "%s", absent);
	fixture_close(&f);
}
