/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

bool yard_open(struct sp_case *t, struct yard *yard)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	if (!sandbox)
		return false;
	*yard = (struct yard){ t, NULL, sp_case_format(t, "fs-%s", sp_case_unique(t)) };
	if (!sp_sh_ok(t, sandbox, "mkdir %s", yard->dir))
		return false;
	yard->sandbox = sandbox;
	return true;
}

void yard_close(struct yard *yard)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	if (!yard->sandbox)
		return;
	/* Clean-up, not a check. */
	options.command =
		sp_case_format(yard->t, "chmod -R u+rwX %s; rm -rf %s", yard->dir, yard->dir);
	options.cancel = sp_case_cancel(yard->t);
	(void)sp_sandbox_exec(yard->sandbox, &options, &result, NULL);
}

const char *yard_path(const struct yard *yard, const char *name)
{
	return sp_case_format(yard->t, "%s/%s", yard->dir, name);
}

const char *quoted(struct sp_case *t, const char *text)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_add_shell(&buf, text);
	return sp_case_format(t, "%s", sp_buf_str(&buf));
}

bool put(const struct yard *yard, const char *path, const void *data, size_t len)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_write(yard->sandbox, path, data, len, sp_case_cancel(yard->t), &err);

	return SP_CHECK_OK(yard->t, rc, &err, "write of %zu bytes to %s", len, path);
}

bool put_text(const struct yard *yard, const char *path, const char *text)
{
	return put(yard, path, text, strlen(text));
}

bool gives(const struct yard *yard, const char *path, const void *data, size_t len)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_sandbox_read(yard->sandbox, path, &bytes, sp_case_cancel(yard->t), &err);

	return SP_CHECK_OK(yard->t, rc, &err, "read of %s", path) &&
	       SP_CHECK_BYTES(yard->t, data, len, bytes.data, bytes.len, "what %s holds", path);
}

bool gives_text(const struct yard *yard, const char *path, const char *text)
{
	return gives(yard, path, text, strlen(text));
}

bool is_there(const struct yard *yard, const char *path, bool there)
{
	struct sp_error err = SP_ERROR_INIT;
	bool exists = !there;
	int rc = sp_sandbox_exists(yard->sandbox, path, &exists, sp_case_cancel(yard->t), &err);

	return SP_CHECK_OK(yard->t, rc, &err, "exists of %s", path) &&
	       SP_CHECK_STR(yard->t, there ? "there" : "absent", exists ? "there" : "absent",
			    "what exists says of %s", path);
}

bool says(const struct yard *yard, const char *expected, const char *what, const char *format, ...)
{
	char *command SP_FREE = NULL;
	const char *said;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&command, format, args);
	va_end(args);
	if (n < 0) {
		command = NULL;
		sp_case_error(yard->t, SP_HERE, "no memory for a command");
		return false;
	}
	said = sp_sh_out(yard->t, yard->sandbox, "%s", command);
	return said && SP_CHECK_STR(yard->t, expected, said, "%s", what);
}

static int do_read(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	return sp_sandbox_read(sandbox, path, &bytes, cancel, err);
}

static int do_write(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	return sp_sandbox_write(sandbox, path, "new", 3, cancel, err);
}

static int do_list(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;

	return sp_sandbox_list(sandbox, path, &list, cancel, err);
}

static int do_exists(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	bool exists = false;

	return sp_sandbox_exists(sandbox, path, &exists, cancel, err);
}

static int do_lstat(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct sp_stat stat;

	return sp_sandbox_lstat(sandbox, path, &stat, cancel, err);
}

static int do_rename(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	char to[4096];

	snprintf(to, sizeof(to), "%s.moved", path);
	return sp_sandbox_rename(sandbox, path, to, cancel, err);
}

const struct named_call fs_calls[] = {
	{ "read", do_read, true },	     { "list", do_list, true },
	{ "exists", do_exists, true },	     { "lstat", do_lstat, true },
	{ "write", do_write, false },	     { "mkdir", sp_sandbox_mkdir, false },
	{ "remove", sp_sandbox_remove, false }, { "rename", do_rename, false },
};
const size_t n_fs_calls = SP_COUNT(fs_calls);
