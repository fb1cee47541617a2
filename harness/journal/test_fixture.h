/* SPDX-License-Identifier: MIT */
/* What the unit tests of this room share: a sandbox and a journal folder in it. */
#ifndef SP_JOURNAL_TEST_FIXTURE_H
#define SP_JOURNAL_TEST_FIXTURE_H

#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "journal.h"
#include "names.h"
#include "test_sandbox.h"

struct fixture {
	char *base, *dir;
	struct test_sandbox own;
	struct sp_sandbox sandbox;
	struct sp_journal journal;
	struct sp_journal_options options;
};

/* `change` (may be NULL) changes the healthy steps. */
static inline void fixture_open(struct fixture *f, void (*change)(struct sp_journal_steps *steps))
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_journal_open_options open = SP_JOURNAL_OPEN_INIT;
	struct sp_journal_steps steps = sp_journal_steps();

	*f = (struct fixture){ .own = TEST_SANDBOX_INIT };
	cr_assert_eq(sp_tmp_dir("journal-test-", &f->base, &err), 0, "%s", err.message);
	cr_assert(asprintf(&f->dir, "%s/runs", f->base) > 0);
	f->sandbox = (struct sp_sandbox){ &test_sandbox_ops, &f->own };
	if (change)
		change(&steps);
	open.steps = &steps;
	cr_assert_eq(sp_journal_open(&open, &f->journal, &err), 0, "%s", err.message);
	f->options = (struct sp_journal_options)SP_JOURNAL_OPTIONS_INIT;
	f->options.dir = f->dir;
	f->options.poll_ms = 1;
	f->options.cancel = sp_cancel_new();
	sp_cancel_set_deadline(f->options.cancel, sp_deadline_ms(60000));
}

static inline void fixture_close(struct fixture *f)
{
	f->journal.ops->close(f->journal.self);
	cr_expect_eq(f->own.live, 0, "%d processes are left", f->own.live);
	cr_expect_eq(sp_cancel_refs(f->options.cancel), 1, "%zu references to the cancel",
		     sp_cancel_refs(f->options.cancel));
	sp_sandbox_done(&f->sandbox);
	sp_cancel_unref(f->options.cancel);
	sp_remove_tree(f->base);
	free(f->base);
	free(f->dir);
}

/* Runs a command in the base folder; it must end with code 0. */
static inline void fixture_run(struct fixture *f, const char *command)
{
	char *text SP_FREE = NULL;
	const char *argv[] = { "bash", "-c", NULL, NULL };
	struct sp_run_result result = { NULL, 0, NULL, 0, 0 };
	struct sp_error err = SP_ERROR_INIT;
	int rc, code;

	cr_assert(asprintf(&text, "cd %s; %s", f->base, command) > 0);
	argv[2] = text;
	rc = sp_run(argv, NULL, NULL, 0, 4096, NULL, &result, &err);
	code = result.code;
	sp_run_result_done(&result);
	cr_assert(!rc && !code, "%s: code %d, %s", command, code, err.message);
}

/* Makes the journal of a run. */
static inline void fixture_write(struct fixture *f, const char *run_id, const void *data,
				 size_t len)
{
	char *path SP_FREE = NULL, *token SP_FREE = sp_journal_encode(run_id, strlen(run_id));

	cr_assert(!sp_mkdirs(f->dir, 0755));
	cr_assert(asprintf(&path, "%s/%s%s", f->dir, token, SP_JOURNAL_ENDING) > 0);
	cr_assert_eq(sp_write_file(path, data, len, 0644, NULL), 0);
}

static inline struct sp_journal_reader fixture_read(struct fixture *f, const char *run_id,
						    uint64_t from,
						    enum sp_journal_strategy strategy, int *ret_rc,
						    struct sp_error *err)
{
	struct sp_journal_options options = f->options;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;

	options.strategy = strategy;
	*ret_rc = f->journal.ops->read(f->journal.self, &f->sandbox, run_id, from, &options,
				       &reader, err);
	return reader;
}

/*
 * Adds one answer of a reader: "END TEXT", "END ~TEXT" (unterminated), "END exit
 * CODE", "end", or the code's name.
 */
static inline bool fixture_next(struct sp_journal_reader *reader, struct sp_buf *out)
{
	struct sp_journal_line line SP_CLEANUP(sp_journal_line_done) = SP_JOURNAL_LINE_INIT;
	bool end = false;
	int rc = reader->ops->next(reader->self, &line, &end, NULL);

	if (rc || end) {
		sp_buf_addf(out, "%s\n", rc ? sp_code_name(rc) : "end");
		return false;
	}
	sp_buf_addf(out, "%llu ", (unsigned long long)line.end_position);
	if (line.is_exit) {
		sp_buf_addf(out, "exit %d\n", line.exit_code);
		return true;
	}
	sp_buf_adds(out, line.unterminated ? "~" : "");
	sp_buf_add(out, line.text.data, line.text.len);
	sp_buf_addc(out, '\n');
	return true;
}

/* Everything that a reader gives up to its end or first error. */
static inline char *fixture_read_all(struct fixture *f, const char *run_id, uint64_t from,
				     enum sp_journal_strategy strategy)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	struct sp_error err = SP_ERROR_INIT;
	int rc;
	struct sp_journal_reader reader = fixture_read(f, run_id, from, strategy, &rc, &err);

	if (rc) {
		sp_buf_addf(&out, "%s\n", sp_code_name(rc));
	} else {
		while (fixture_next(&reader, &out))
			;
		reader.ops->close(reader.self);
	}
	return sp_buf_take(&out, NULL);
}

/* Text of the sentinel of a run; malloc'ed. */
static inline char *fixture_sentinel(const char *run_id, int code)
{
	char nonce[33], *text = NULL;

	cr_assert_eq(sp_journal_nonce(run_id, strlen(run_id), nonce), 0);
	cr_assert(asprintf(&text, "{\"__exit\":%d,\"__nonce\":\"%s\"}", code, nonce) > 0);
	return text;
}

static const enum sp_journal_strategy fixture_both[] = { SP_JOURNAL_POLL, SP_JOURNAL_FOLLOW };

static inline const char *fixture_strategy(enum sp_journal_strategy strategy)
{
	return strategy == SP_JOURNAL_POLL ? "poll" : "follow";
}

#endif
