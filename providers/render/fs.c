/* SPDX-License-Identifier: MIT */
/* Files: read and write are native transfers, everything else is one bare command each (item 28).
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/evp.h>

/* The tools' own words for an errno, under LC_ALL=C. */
static const struct {
	const char *words;
	enum sp_code code;
} tool_errors[] = {
    {"No such file or directory", SP_NOT_FOUND},
    {"Not a directory", SP_CONFLICT},
    {"Is a directory", SP_CONFLICT},
    {"File exists", SP_CONFLICT},
    {"Directory not empty", SP_CONFLICT},
    {"Invalid argument", SP_CONFLICT},
    {"Permission denied", SP_DENIED},
    {"Operation not permitted", SP_DENIED},
    {"Read-only file system", SP_DENIED},
};

static int tool_error(const struct sp_exec_result *result, const char *what, const char *path,
		      struct sp_error *err)
{
	const char *text = (const char *)result->stderr_bytes.data;
	const char *last = text ? strrchr(text, ':') : NULL;
	enum sp_code code = SP_IO;

	/* mv finds out by itself that a folder and something else are in each other's way. */
	if (text && strstr(text, ": cannot overwrite "))
		code = SP_CONFLICT;
	for (size_t i = 0; last && i < SP_COUNT(tool_errors); i++)
		if (!strncmp(last + 1 + (last[1] == ' '), tool_errors[i].words,
			     strlen(tool_errors[i].words)))
			code = tool_errors[i].code;
	sp_error_set(err, code, "cannot %s %.200s (code %d)", what, path, result->exit_code);
	sp_error_set_detail(err, text);
	return code;
}

/*
 * Runs a command on one or two paths, which it finds in "$1" and "$2"; `env`
 * of the platform only. An abort rejects with its reason (item 17).
 */
static int tool(struct render_sandbox *sandbox, const char *text, const char *one, const char *two,
		struct sp_cancel *cancel, struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	int rc = render_sandbox_check(sandbox, err);

	if (rc)
		return rc;
	sp_buf_adds(&command, "export LC_ALL=C\nset -- ");
	sp_buf_add_shell(&command, one);
	sp_buf_addc(&command, ' ');
	sp_buf_add_shell(&command, two ? two : "");
	sp_buf_addf(&command, "\n%s", text);
	if (command.error)
		return sp_error_set(err, SP_INVALID, "a path that is too long");
	return render_shell(sandbox->core, sandbox->id, sp_buf_str(&command), SP_BUF_EVENT, cancel,
			    ret_result, err);
}

/* A command whose code is all that is asked. */
static int simple_tool(struct render_sandbox *sandbox, const char *text, const char *what,
		       const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *real SP_FREE = NULL;
	int rc = render_path(sandbox, path, &real, err);

	if (!rc)
		rc = tool(sandbox, text, real, NULL, cancel, &result, err);
	if (!rc && result.exit_code)
		rc = tool_error(&result, what, path, err);
	return rc;
}

int render_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	char *real SP_FREE = NULL;
	bool is_archive = false;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc)
		rc = render_path(sandbox, path, &real, err);
	if (!rc)
		rc = render_download(sandbox->core, sandbox->id, real, &bytes, &is_archive, cancel,
				     err);
	if (rc)
		return rc;
	if (is_archive)
		return sp_error_set(err, SP_CONFLICT, "%.200s is a folder", path);
	*ret_bytes = bytes;
	bytes = (struct sp_bytes)SP_BYTES_INIT;
	return 0;
}

int render_fs_write(void *self, const char *path, const void *data, size_t len,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_exec_result made SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *real SP_FREE = NULL;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc)
		rc = render_path(sandbox, path, &real, err);
	if (!rc)
		rc = render_upload(sandbox->core, sandbox->id, real, data, len, cancel, err);
	if (rc != SP_NOT_FOUND || !sandbox->core->steps.write_makes_parents)
		return rc;
	rc = tool(sandbox, "mkdir -p -- \"${1%/*}/\"", real, NULL, cancel, &made, err);
	if (!rc && made.exit_code)
		rc = tool_error(&made, "make the folder of", path, err);
	return rc ? rc : render_upload(sandbox->core, sandbox->id, real, data, len, cancel, err);
}

int render_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	return simple_tool(self, "mkdir -p -- \"$1\"", "make the folder", path, cancel, err);
}

int render_fs_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	return simple_tool(self, "rm -rf -- \"$1\"", "remove", path, cancel, err);
}

int render_fs_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *one SP_FREE = NULL;
	char *two SP_FREE = NULL;
	int rc = render_path(self, from, &one, err);

	if (!rc)
		rc = render_path(self, to, &two, err);
	/* mv calls it an error when both are one; rename(2) does nothing. */
	if (!rc)
		rc = tool(self,
			  !strcmp(one, two) ? "stat -c %f -- \"$1\"" : "mv -fT -- \"$1\" \"$2\"",
			  one, two, cancel, &result, err);
	if (!rc && result.exit_code)
		rc = tool_error(&result, "rename", from, err);
	return rc;
}

static int stat_from(const char *text, struct sp_stat *ret_stat)
{
	unsigned long mode;
	unsigned long long size;
	char *end;

	mode = strtoul(text, &end, 16);
	if (end == text || *end != ':')
		return -1;
	text = end + 1;
	size = strtoull(text, &end, 10);
	if (end == text || *end != '\n' || end[1])
		return -1;
	ret_stat->mode = (uint32_t)mode;
	ret_stat->type = S_ISREG(mode)	 ? SP_FILE
			 : S_ISDIR(mode) ? SP_DIR
			 : S_ISLNK(mode) ? SP_SYMLINK
					 : SP_OTHER;
	ret_stat->size = S_ISREG(mode) ? size : 0;
	return 0;
}

int render_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	char *real SP_FREE = NULL;
	int rc = render_path(self, path, &real, err);

	if (!rc)
		rc = tool(self, "stat -c %f:%s -- \"$1\"", real, NULL, cancel, &result, err);
	if (!rc && result.exit_code)
		rc = tool_error(&result, "look at", path, err);
	if (!rc && stat_from((const char *)result.stdout_bytes.data, ret_stat))
		rc = sp_error_set(err, SP_PROTOCOL,
				  "stat answered something else than mode and size");
	return rc;
}

int render_fs_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	struct sp_stat stat;
	int rc = render_fs_lstat(self, path, &stat, cancel, &inner);

	if (rc && rc != SP_NOT_FOUND) {
		if (err)
			*err = inner;
		return rc;
	}
	*ret_exists = !rc;
	return 0;
}

/* Names in base64, since output is text and names are bytes: one type letter, the name, NUL. */
#define LIST                                                                                       \
	"cd -- \"$1\"||exit;shopt -s dotglob nullglob;for f in *;do t=o;"                          \
	"if [[ -L $f ]];then t=l;elif [[ -d $f ]];then t=d;elif [[ -f $f ]];then t=f;fi;"          \
	"printf '%s%s\\0' $t \"$f\";done|base64"

static int by_name(const void *a, const void *b)
{
	const struct sp_dir_entry *one = a, *two = b;

	return strcmp(one->name, two->name);
}

static int add_entry(struct sp_dir_list *list, const char *folder, const char *record,
		     struct sp_error *err)
{
	struct sp_dir_entry *longer = realloc(list->entries, (list->len + 1) * sizeof(*longer));
	struct sp_dir_entry entry = {0};
	const char *start = *folder == '/' ? "" : "/workspace/";
	size_t len = strlen(folder);

	if (!longer)
		return sp_error_set(err, SP_INTERNAL, "no memory for a listing");
	list->entries = longer;
	entry.type = *record == 'f'   ? SP_FILE
		     : *record == 'd' ? SP_DIR
		     : *record == 'l' ? SP_SYMLINK
				      : SP_OTHER;
	entry.name = strdup(record + 1);
	if (asprintf(&entry.path, "%s%s%s%s", start, folder,
		     len && folder[len - 1] == '/' ? "" : "/", record + 1) < 0)
		entry.path = NULL;
	list->entries[list->len++] = entry;
	return entry.name && entry.path ? 0
					: sp_error_set(err, SP_INTERNAL, "no memory for a listing");
}

/* Decodes in place, line breaks left out; gives the length, or -1. */
static ssize_t decode_base64(unsigned char *text, size_t len)
{
	size_t kept = 0, pad = 0;
	int n;

	for (size_t i = 0; i < len; i++)
		if (text[i] != '\n')
			text[kept++] = text[i];
	while (pad < 2 && pad < kept && text[kept - 1 - pad] == '=')
		pad++;
	n = EVP_DecodeBlock(text, text, (int)kept);
	return n < 0 ? -1 : n - (ssize_t)pad;
}

int render_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;
	char *real SP_FREE = NULL;
	const char *at, *end;
	ssize_t len;
	int rc = render_path(self, path, &real, err);

	if (!rc)
		rc = tool(self, LIST, real, NULL, cancel, &result, err);
	if (!rc && result.exit_code)
		rc = tool_error(&result, "list", path, err);
	if (!rc && result.stdout_cut)
		rc = sp_error_set(err, SP_IO, "a listing of more than %d bytes", SP_BUF_EVENT);
	if (rc)
		return rc;
	len = decode_base64(result.stdout_bytes.data, result.stdout_bytes.len);
	if (len < 0 || (len && result.stdout_bytes.data[len - 1]))
		return sp_error_set(err, SP_PROTOCOL, "a listing that cannot be read");
	at = (const char *)result.stdout_bytes.data;
	for (end = at + len; !rc && at < end; at += strlen(at) + 1)
		rc = add_entry(&list, path, at, err);
	if (rc)
		return rc;
	if (list.len)
		qsort(list.entries, list.len, sizeof(*list.entries), by_name);
	*ret_list = list;
	list = (struct sp_dir_list)SP_DIR_LIST_INIT;
	return 0;
}
