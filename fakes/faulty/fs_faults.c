/* SPDX-License-Identifier: MIT */
/* Faults of files. */
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text), n = strlen(tail);

	return len >= n && !strcmp(text + len - n, tail);
}

/* ---- Content ---- */

/* fopen(path, "wt"): a carriage return before a newline is dropped. */
static int text_mode_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			   size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	const char *bytes = data;

	for (size_t i = 0; i < len; i++)
		if (bytes[i] != '\r' || i + 1 == len || bytes[i + 1] != '\n')
			sp_buf_addc(&text, bytes[i]);
	return sp_sandbox_write(&sandbox->inner, path, sp_buf_str(&text), text.len, cancel, err);
}

static const struct fault_hooks text_mode = { .fs_write = text_mode_write };
FAULT_WRAP(wrap_text_mode, text_mode)

/* Pieces of a mebibyte, the last one of which nobody sends. */
static int cut_write(struct fault_sandbox *sandbox, const char *path, const void *data, size_t len,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	size_t whole = len / (1024 * 1024) * 1024 * 1024;

	return sp_sandbox_write(&sandbox->inner, path, data, whole ? whole : len, cancel, err);
}

static const struct fault_hooks cut = { .fs_write = cut_write };
FAULT_WRAP(wrap_cut, cut)

/* Above 16 KiB the answer is all that there is. */
static int large_nothing_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			       size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	return len > 16 * 1024 ? 0
			       : sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks large_nothing = { .fs_write = large_nothing_write };
FAULT_WRAP(wrap_large_nothing, large_nothing)

/* open() without O_TRUNC. */
static int appends_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			 size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_bytes old SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	(void)sp_sandbox_read(&sandbox->inner, path, &old, cancel, NULL);
	sp_buf_add(&text, data, len);
	if (old.len > len)
		sp_buf_add(&text, old.data + len, old.len - len);
	return sp_sandbox_write(&sandbox->inner, path, sp_buf_str(&text), text.len, cancel, err);
}

static const struct fault_hooks appends = { .fs_write = appends_write };
FAULT_WRAP(wrap_appends, appends)

static int needs_folder_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			      size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder SP_FREE =
		slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;
	bool exists = true;

	if (folder)
		(void)sp_sandbox_exists(&sandbox->inner, folder, &exists, cancel, NULL);
	if (!exists)
		return sp_error_set(err, SP_NOT_FOUND, "%s is missing", folder);
	return sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks needs_folder = { .fs_write = needs_folder_write };
FAULT_WRAP(wrap_needs_folder, needs_folder)

/* Truncate, then write: whoever looks in between sees neither content. */
static int two_steps_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			   size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_write(&sandbox->inner, path, data, len / 2, cancel, err);

	/* A look, so that the other side gets its turn whatever the machine does. */
	fault_inner_shell(sandbox, "i=0; while [ $i -lt 500 ]; do i=$((i+1)); done", cancel);
	return rc ? rc : sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks two_steps = { .fs_write = two_steps_write };
FAULT_WRAP(wrap_two_steps, two_steps)

static int swallows_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
	return 0;
}

static const struct fault_hooks swallows = { .fs_write = swallows_write };
FAULT_WRAP(wrap_swallows, swallows)

static int asks_first_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			    size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	bool exists;

	(void)sp_sandbox_exists(&sandbox->inner, path, &exists, cancel, NULL);
	return sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks asks_first = { .fs_write = asks_first_write };
FAULT_WRAP(wrap_asks_first, asks_first)

/* ---- Reading ---- */

static int missing_empty_read(struct fault_sandbox *sandbox, const char *path,
			      struct sp_bytes *ret_bytes, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	int rc = sp_sandbox_read(&sandbox->inner, path, ret_bytes, cancel, err);

	return rc == SP_NOT_FOUND ? 0 : rc;
}

static const struct fault_hooks missing_empty = { .fs_read = missing_empty_read };
FAULT_WRAP(wrap_missing_empty, missing_empty)

static int folder_read(struct fault_sandbox *sandbox, const char *path, struct sp_bytes *ret_bytes,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_read(&sandbox->inner, path, ret_bytes, cancel, err);

	if (rc != SP_CONFLICT)
		return rc;
	/* The archive's end is all that is left of an empty one. */
	ret_bytes->data = calloc(1, 1024);
	ret_bytes->len = ret_bytes->data ? 1024 : 0;
	return 0;
}

static const struct fault_hooks folder = { .fs_read = folder_read };
FAULT_WRAP(wrap_folder, folder)

static int tar_read(struct fault_sandbox *sandbox, const char *path, struct sp_bytes *ret_bytes,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	if (ends_with(path, ".tar"))
		return sp_error_set(err, SP_CONFLICT, "%s is a folder", path);
	return sp_sandbox_read(&sandbox->inner, path, ret_bytes, cancel, err);
}

static const struct fault_hooks tar = { .fs_read = tar_read };
FAULT_WRAP(wrap_tar, tar)

/* ---- Folders and links ---- */

static int follows_list(struct fault_sandbox *sandbox, const char *path,
			struct sp_dir_list *ret_list, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int rc = sp_sandbox_list(&sandbox->inner, path, ret_list, cancel, err);

	for (size_t i = 0; rc == 0 && i < ret_list->len; i++)
		if (ret_list->entries[i].type == SP_SYMLINK)
			ret_list->entries[i].type = SP_FILE;
	return rc;
}

static const struct fault_hooks list_follows = { .fs_list = follows_list };
FAULT_WRAP(wrap_list_follows, list_follows)

static int empty_on_error_list(struct fault_sandbox *sandbox, const char *path,
			       struct sp_dir_list *ret_list, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	if (sp_sandbox_list(&sandbox->inner, path, ret_list, cancel, err))
		*ret_list = (struct sp_dir_list)SP_DIR_LIST_INIT;
	return 0;
}

static const struct fault_hooks empty_on_error = { .fs_list = empty_on_error_list };
FAULT_WRAP(wrap_empty_on_error, empty_on_error)

/* ls | while read: a newline in a name makes two of one. */
static int splits_list(struct fault_sandbox *sandbox, const char *path,
		       struct sp_dir_list *ret_list, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_list(&sandbox->inner, path, ret_list, cancel, err);

	for (size_t i = 0; rc == 0 && i < ret_list->len; i++) {
		char *newline = strchr(ret_list->entries[i].name, '\n');

		if (newline)
			*newline = '\0';
	}
	return rc;
}

static const struct fault_hooks splits = { .fs_list = splits_list };
FAULT_WRAP(wrap_splits, splits)

static int follows_lstat(struct fault_sandbox *sandbox, const char *path, struct sp_stat *ret_stat,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_lstat(&sandbox->inner, path, ret_stat, cancel, err);

	if (rc == 0 && ret_stat->type == SP_SYMLINK)
		ret_stat->type = SP_DIR;
	return rc;
}

static const struct fault_hooks lstat_follows = { .fs_lstat = follows_lstat };
FAULT_WRAP(wrap_lstat_follows, lstat_follows)

/* test -e */
static int follows_exists(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_stat stat;
	int rc = sp_sandbox_exists(&sandbox->inner, path, ret_exists, cancel, err);

	if (rc == 0 && *ret_exists &&
	    !sp_sandbox_lstat(&sandbox->inner, path, &stat, cancel, NULL) &&
	    stat.type == SP_SYMLINK && ends_with(path, "dangling"))
		*ret_exists = false;
	return rc;
}

static const struct fault_hooks exists_follows = { .fs_exists = follows_exists };
FAULT_WRAP(wrap_exists_follows, exists_follows)

static int missing_lstat(struct fault_sandbox *sandbox, const char *path, struct sp_stat *ret_stat,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_lstat(&sandbox->inner, path, ret_stat, cancel, err);

	return rc ? sp_error_set(err, SP_NOT_FOUND, "%s is missing", path) : 0;
}

static const struct fault_hooks lstat_missing = { .fs_lstat = missing_lstat };
FAULT_WRAP(wrap_lstat_missing, lstat_missing)

/* Absent is what the tool says so of; everything else is there. */
static int no_error_exists(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_stat stat;

	*ret_exists = sp_sandbox_lstat(&sandbox->inner, path, &stat, cancel, err) != SP_NOT_FOUND;
	return 0;
}

static const struct fault_hooks exists_no_error = { .fs_exists = no_error_exists };
FAULT_WRAP(wrap_exists_no_error, exists_no_error)

static int ignores_remove(struct fault_sandbox *sandbox, const char *path,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	(void)sp_sandbox_remove(&sandbox->inner, path, cancel, err);
	return 0;
}

static const struct fault_hooks remove_ignores = { .fs_remove = ignores_remove };
FAULT_WRAP(wrap_remove_ignores, remove_ignores)

static int ignores_mkdir(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	(void)sp_sandbox_mkdir(&sandbox->inner, path, cancel, err);
	return 0;
}

static const struct fault_hooks mkdir_ignores = { .fs_mkdir = ignores_mkdir };
FAULT_WRAP(wrap_mkdir_ignores, mkdir_ignores)

/* Empties what a link leads to before it takes the link. */
static int follows_remove(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_stat stat;

	if (!sp_sandbox_lstat(&sandbox->inner, path, &stat, cancel, NULL) &&
	    stat.type == SP_SYMLINK) {
		sp_buf_adds(&text, "rm -f -- ");
		sp_buf_add_shell(&text, path);
		sp_buf_adds(&text, "/*");
		fault_inner_shell(sandbox, sp_buf_str(&text), cancel);
	}
	return sp_sandbox_remove(&sandbox->inner, path, cancel, err);
}

static const struct fault_hooks remove_follows = { .fs_remove = follows_remove };
FAULT_WRAP(wrap_remove_follows, remove_follows)

/* mv without -T */
static int into_folder_rename(struct fault_sandbox *sandbox, const char *from, const char *to,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	const char *name = strrchr(from, '/');
	char *inside SP_FREE = NULL;
	struct sp_stat stat;

	if (!strcmp(from, to) || sp_sandbox_lstat(&sandbox->inner, to, &stat, cancel, NULL) ||
	    stat.type != SP_DIR)
		return sp_sandbox_rename(&sandbox->inner, from, to, cancel, err);
	if (asprintf(&inside, "%s/%s", to, name ? name + 1 : from) < 0)
		inside = NULL;
	return inside ? sp_sandbox_rename(&sandbox->inner, from, inside, cancel, err) : SP_INTERNAL;
}

static const struct fault_hooks into_folder = { .fs_rename = into_folder_rename };
FAULT_WRAP(wrap_into_folder, into_folder)

/* ---- Names and paths ---- */

/* test -e $path: a blank makes two words of one. */
static int unquoted_exists(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	char *first SP_FREE = strndup(path, strcspn(path, " \t\n"));

	if (!first)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	return sp_sandbox_exists(&sandbox->inner, first, ret_exists, cancel, err);
}

static const struct fault_hooks unquoted = { .fs_exists = unquoted_exists };
FAULT_WRAP(wrap_unquoted, unquoted)

/* rm -rf $path, without "--": a path that begins with a dash is an option. */
static int dash_remove(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (*path != '-')
		return sp_sandbox_remove(&sandbox->inner, path, cancel, err);
	sp_buf_adds(&text, "rm -rf ");
	sp_buf_add_shell(&text, path);
	return fault_inner_shell(sandbox, sp_buf_str(&text), cancel)
		       ? sp_error_set(err, SP_IO, "rm failed")
		       : 0;
}

static const struct fault_hooks dash = { .fs_remove = dash_remove };
FAULT_WRAP(wrap_dash, dash)

/* mkdir "$path", with the path in the text. */
static int double_quotes_mkdir(struct fault_sandbox *sandbox, const char *path,
			       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&text, "mkdir -p -- \"%s\"", path);
	return fault_inner_shell(sandbox, sp_buf_str(&text), cancel)
		       ? sp_error_set(err, SP_IO, "mkdir failed")
		       : 0;
}

static const struct fault_hooks double_quotes = { .fs_mkdir = double_quotes_mkdir };
FAULT_WRAP(wrap_double_quotes, double_quotes)

/* Decoded and encoded again: what is no text becomes the character for that. */
static int as_text_remove(struct fault_sandbox *sandbox, const char *path,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (; *path; path++)
		if ((unsigned char)*path >= 0xf8)
			sp_buf_adds(&text, "\xef\xbf\xbd");
		else
			sp_buf_addc(&text, *path);
	return sp_sandbox_remove(&sandbox->inner, sp_buf_str(&text), cancel, err);
}

static int as_text_rename(struct fault_sandbox *sandbox, const char *from, const char *to,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	for (; *to; to++)
		if ((unsigned char)*to >= 0xf8)
			sp_buf_adds(&text, "\xef\xbf\xbd");
		else
			sp_buf_addc(&text, *to);
	return sp_sandbox_rename(&sandbox->inner, from, sp_buf_str(&text), cancel, err);
}

static const struct fault_hooks as_text = { .fs_remove = as_text_remove,
					    .fs_rename = as_text_rename };
FAULT_WRAP(wrap_as_text, as_text)

/* strncmp(path, "/workspace", 10), and the rest goes below the root. */
static int prefix_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	bool alike = !strncmp(path, "/workspace", 10) && path[10] && path[10] != '/';

	return sp_sandbox_write(&sandbox->inner, alike ? path + 10 : path, data, len, cancel, err);
}

static const struct fault_hooks prefix = { .fs_write = prefix_write };
FAULT_WRAP(wrap_prefix, prefix)

/* Only write() maps /workspace. */
static int real_workspace_read(struct fault_sandbox *sandbox, const char *path,
			       struct sp_bytes *ret_bytes, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	if (!strncmp(path, "/workspace/", 11))
		return sp_error_set(err, SP_NOT_FOUND, "%s is missing", path);
	return sp_sandbox_read(&sandbox->inner, path, ret_bytes, cancel, err);
}

static const struct fault_hooks real_workspace = { .fs_read = real_workspace_read };
FAULT_WRAP(wrap_real_workspace, real_workspace)

/* ---- Trouble ---- */

static int ignores_abort_remove(struct fault_sandbox *sandbox, const char *path,
				struct sp_cancel *cancel SP_UNUSED, struct sp_error *err)
{
	return sp_sandbox_remove(&sandbox->inner, path, NULL, err);
}

static const struct fault_hooks ignores_abort = { .fs_remove = ignores_abort_remove };
FAULT_WRAP(wrap_ignores_abort, ignores_abort)

static int abort_missing_exists(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
				struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_sandbox_exists(&sandbox->inner, path, ret_exists, cancel, err);

	if (rc != SP_ABORTED)
		return rc;
	*ret_exists = false;
	return 0;
}

static const struct fault_hooks abort_missing = { .fs_exists = abort_missing_exists };
FAULT_WRAP(wrap_abort_missing, abort_missing)

static int failure_absence_exists(struct fault_sandbox *sandbox, const char *path, bool *ret_exists,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	if (sp_sandbox_exists(&sandbox->inner, path, ret_exists, cancel, err))
		*ret_exists = false;
	return 0;
}

static const struct fault_hooks failure_absence = { .fs_exists = failure_absence_exists };
FAULT_WRAP(wrap_failure_absence, failure_absence)

/* "No body" and "no file" are one test. */
static int empty_error_read(struct fault_sandbox *sandbox, const char *path,
			    struct sp_bytes *ret_bytes, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	int rc = sp_sandbox_read(&sandbox->inner, path, &bytes, cancel, err);

	if (!rc && !bytes.len) {
		sp_bytes_done(&bytes);
		return sp_error_set(err, SP_PROTOCOL, "the answer has no body");
	}
	if (!rc)
		*ret_bytes = bytes;
	return rc;
}

static const struct fault_hooks empty_error = { .fs_read = empty_error_read };
FAULT_WRAP(wrap_empty_error, empty_error)

/* The content travels in one argument of a command, and the kernel has a limit for that. */
static int argument_write(struct fault_sandbox *sandbox, const char *path, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	if (len >= 128 * 1024)
		return sp_error_set(err, SP_IO, "sh: Argument list too long");
	return sp_sandbox_write(&sandbox->inner, path, data, len, cancel, err);
}

static const struct fault_hooks argument = { .fs_write = argument_write };
FAULT_WRAP(wrap_argument, argument)

static int once_mkdir(struct fault_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	bool there = false;
	int rc = sp_sandbox_exists(&sandbox->inner, path, &there, cancel, err);

	if (rc)
		return rc;
	if (there)
		return sp_error_set(err, SP_CONFLICT, "mkdir: it exists");
	return sp_sandbox_mkdir(&sandbox->inner, path, cancel, err);
}

static const struct fault_hooks once = { .fs_mkdir = once_mkdir };
FAULT_WRAP(wrap_once, once)

static int lstat_absence_lstat(struct fault_sandbox *sandbox, const char *path,
			       struct sp_stat *ret_stat, struct sp_cancel *cancel,
			       struct sp_error *err)
{
	int rc = sp_sandbox_lstat(&sandbox->inner, path, ret_stat, cancel, err);

	if (!rc || rc == SP_ABORTED || rc == SP_TIMED_OUT)
		return rc;
	return sp_error_set(err, SP_NOT_FOUND, "there is no such file");
}

static const struct fault_hooks lstat_absence = { .fs_lstat = lstat_absence_lstat };
FAULT_WRAP(wrap_lstat_absence, lstat_absence)

#define FS(id_, wrap_, clause_, summary_, sources_, ...)                                           \
	{ .version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,        \
	  .clause = "fs " clause_, .cases = FAULT_LIST(__VA_ARGS__), .seam = SP_FAULT_PROVIDER,    \
	  .wrap_provider = wrap_ }

static const struct sp_fault faults[] = {
	FS("fs-text-mode", wrap_text_mode, "F1", "CR LF becomes LF on the way in.",
	   FAULT_LIST("field:F01", "field:F14"), "fs.bytes.exact"),
	FS("fs-write-cut", wrap_cut, "F1", "The last piece of a large write is lost.",
	   FAULT_LIST("field:F07"), "fs.bytes.two-paths"),
	FS("fs-empty-is-an-error", wrap_empty_error, "F1", "An empty file cannot be read.",
	   FAULT_LIST("field:F15"), "fs.bytes.exact"),
	FS("fs-write-in-an-argument", wrap_argument, "F1",
	   "write() fails from 128 KiB on, where an argument ends.", FAULT_LIST("contract:C134"),
	   "fs.bytes.two-paths"),
	FS("fs-write-large-is-nothing", wrap_large_nothing, "F1",
	   "A write of more than 16 KiB answers and does nothing.", FAULT_LIST("contract:1.5"),
	   "fs.bytes.sizes"),
	FS("fs-write-appends", wrap_appends, "F2", "The tail of a longer old content stays.",
	   FAULT_LIST("contract:1.5"), "fs.write.replaces"),
	FS("fs-write-needs-folder", wrap_needs_folder, "F2", "write() makes no folder.",
	   FAULT_LIST("contract:1.5"), "fs.write.parents"),
	FS("fs-write-in-two-steps", wrap_two_steps, "F2", "A write shows a half content first.",
	   FAULT_LIST("field:F21"), "fs.write.atomic"),
	FS("fs-read-missing-is-empty", wrap_missing_empty, "F3", "A missing file reads as empty.",
	   FAULT_LIST("field:F11"), "fs.read.missing"),
	FS("fs-read-folder-as-file", wrap_folder, "F3", "A folder reads as its archive.",
	   FAULT_LIST("render:28"), "fs.read.folder"),
	FS("fs-tar-is-a-folder", wrap_tar, "F3", "A file named .tar is taken for a folder.",
	   FAULT_LIST("render:28"), "fs.read.tar"),
	FS("fs-list-follows-links", wrap_list_follows, "F4", "Links are listed as files.",
	   FAULT_LIST("contract:C286", "contract:1.5"), "fs.list.types"),
	FS("fs-list-empty-on-error", wrap_empty_on_error, "F4",
	   "A list that fails is an empty one.", FAULT_LIST("field:F11"), "fs.list.refuses"),
	FS("fs-list-splits-lines", wrap_splits, "F9", "A listed name ends at its first newline.",
	   FAULT_LIST("contract:1.5"), "fs.names.listed"),
	FS("fs-lstat-follows-links", wrap_lstat_follows, "F5", "lstat() follows links.",
	   FAULT_LIST("contract:1.5"), "fs.lstat.types"),
	FS("fs-lstat-failure-is-missing", wrap_lstat_missing, "F5",
	   "lstat() reads any failure as absence.", FAULT_LIST("contract:C129"),
	   "fs.lstat.refuses"),
	FS("fs-exists-means-no-error", wrap_exists_no_error, "F5",
	   "exists() takes any other failure than absence for presence.", FAULT_LIST("field:F09"),
	   "fs.lstat.refuses"),
	FS("fs-exists-follows-links", wrap_exists_follows, "F5", "A dangling link is absent.",
	   FAULT_LIST("contract:1.5"), "fs.exists.answers"),
	FS("fs-mkdir-ignores-errors", wrap_mkdir_ignores, "F6",
	   "mkdir() succeeds whatever the tool says.", FAULT_LIST("contract:C128", "contract:1.5"),
	   "fs.mkdir.makes"),
	FS("fs-mkdir-once", wrap_once, "F6", "mkdir() of a folder that is there fails.",
	   FAULT_LIST("contract:C139"), "fs.mkdir.makes"),
	FS("fs-remove-follows-links", wrap_remove_follows, "F7",
	   "remove() empties what a link leads to.", FAULT_LIST("field:F17"), "fs.remove.tree"),
	FS("fs-remove-ignores-errors", wrap_remove_ignores, "F7",
	   "remove() succeeds whatever the tool says.", FAULT_LIST("contract:C128", "field:F17"),
	   "fs.remove.refused"),
	FS("fs-rename-into-folder", wrap_into_folder, "F8",
	   "rename() moves into a folder that is in the way.", FAULT_LIST("field:F19"),
	   "fs.rename.posix"),
	FS("fs-names-unquoted", wrap_unquoted, "F9", "exists() splits a path at blanks.",
	   FAULT_LIST("field:F01"), "fs.names.odd"),
	FS("fs-dash-is-option", wrap_dash, "F9", "remove() takes a leading dash for an option.",
	   FAULT_LIST("contract:1.5"), "fs.names.whole"),
	FS("fs-mkdir-double-quotes", wrap_double_quotes, "F9",
	   "mkdir() puts the path between double quotes of the shell.", FAULT_LIST("field:F01"),
	   "fs.names.folders"),
	FS("fs-names-as-text", wrap_as_text, "F9",
	   "rename() and remove() convert a name that is no text.", FAULT_LIST("field:F01"),
	   "fs.names.bytes"),
	FS("fs-workspace-is-prefix", wrap_prefix, "F10",
	   "write() maps what only begins like /workspace.", FAULT_LIST("contract:C137"),
	   "fs.paths.look-alike"),
	FS("fs-workspace-is-real", wrap_real_workspace, "F10", "read() does not map /workspace.",
	   FAULT_LIST("render:34"), "fs.paths.workspace"),
	FS("fs-ignores-abort", wrap_ignores_abort, "F11", "remove() does not look at its cancel.",
	   FAULT_LIST("contract:C150", "render:17"), "fs.abort.before"),
	FS("fs-abort-is-missing", wrap_abort_missing, "F11", "exists() reads an abort as absence.",
	   FAULT_LIST("contract:C150", "render:17"), "fs.abort.during"),
	FS("fs-failure-is-absence", wrap_failure_absence, "F12",
	   "exists() reads any failure as absence.",
	   FAULT_LIST("contract:C129", "field:F09", "contract:1.5"),
	   "fs.trouble.not-absence"),
	FS("fs-lstat-failure-is-absence", wrap_lstat_absence, "F12",
	   "lstat() tells any failure as absence.", FAULT_LIST("contract:C129"),
	   "fs.trouble.not-absence"),
	FS("fs-write-swallows", wrap_swallows, "F12", "write() succeeds whatever came back.",
	   FAULT_LIST("field:F07"), "fs.trouble.disk-full", "fs.write.refuses"),
	FS("fs-write-asks-first", wrap_asks_first, "F13", "write() looks for the file first.",
	   FAULT_LIST("render:28"), "fs.costs.counted"),
};
FAULT_TABLE(fault_fs, faults);
