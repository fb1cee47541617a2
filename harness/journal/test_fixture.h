/* SPDX-License-Identifier: MIT */
/* What the unit tests of this room share: a local sandbox, a journal folder in it, and a scripted sandbox. */
#ifndef SP_JOURNAL_TEST_FIXTURE_H
#define SP_JOURNAL_TEST_FIXTURE_H

#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <providers/local/local.h>

#include "journal.h"

struct fixture {
	char *base, *dir;
	struct sp_provider provider;
	struct sp_sandbox sandbox;
	struct sp_journal journal;
	struct sp_journal_options options;
};

/* `cap`: bytes that exec keeps; 0 is the provider's. */
static inline void fixture_open(struct fixture *f, const struct sp_journal_steps *steps,
				uint64_t cap)
{
	struct sp_error err = SP_ERROR_INIT;
	struct sp_local_options local = SP_LOCAL_OPTIONS_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_journal_open_options open = SP_JOURNAL_OPEN_INIT;

	memset(f, 0, sizeof(*f));
	cr_assert_eq(sp_tmp_dir("journal-test-", &f->base, &err), 0, "%s", err.message);
	cr_assert(asprintf(&f->dir, "%s/runs", f->base) > 0);
	local.base_dir = f->base;
	local.kill_grace_ms = 50;
	local.output_cap = cap;
	cr_assert_eq(sp_local_open(&local, &f->provider, &err), 0, "%s", err.message);
	cr_assert_eq(sp_provider_create(&f->provider, &create, &f->sandbox, &err), 0, "%s",
		     err.message);
	open.capabilities = sp_provider_capabilities(&f->provider);
	open.steps = steps;
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
	(void)sp_sandbox_destroy(&f->sandbox, NULL, NULL);
	sp_sandbox_done(&f->sandbox);
	sp_provider_done(&f->provider);
	sp_cancel_unref(f->options.cancel);
	sp_remove_tree(f->base);
	free(f->base);
	free(f->dir);
}

/* Runs a command in the sandbox; it must end with code 0. */
static inline void fixture_run(struct fixture *f, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc, code;

	options.command = command;
	options.cwd = f->base;
	rc = sp_sandbox_exec(&f->sandbox, &options, &result, &err);
	code = result.exit_code;
	sp_exec_result_done(&result);
	cr_assert(!rc && !code, "%s: code %d, %s", command, code, err.message);
}

/* Writes a file of the journal folder. */
static inline void fixture_write(struct fixture *f, const char *name, const void *data, size_t len)
{
	char *path SP_FREE = NULL;

	cr_assert(!sp_mkdirs(f->dir, 0755) && asprintf(&path, "%s/%s", f->dir, name) > 0);
	cr_assert_eq(sp_write_file(path, data, len, 0644, NULL), 0);
}

#endif
