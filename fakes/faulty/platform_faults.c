/* SPDX-License-Identifier: MIT */
/*
 * A service that has changed: each fault is one call of the bare platform that does something else.
 * What passes through goes to the healthy table, which is static, so that one pointer serves all.
 */
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

#include "tables.h"
#include "wrap.h"

static const struct sp_platform_ops *healthy;

/* Puts a copy of the healthy table with some entries replaced in the place of it. */
#define PLATFORM_WRAP(name_, ...)                                                                  \
	static int name_(struct sp_platform *platform, struct sp_error *err SP_UNUSED)             \
	{                                                                                          \
		static struct sp_platform_ops changed;                                             \
		const struct sp_platform_ops replaced = {__VA_ARGS__};                             \
                                                                                                   \
		healthy = platform->ops;                                                           \
		changed = *platform->ops;                                                          \
		replace(&changed, &replaced);                                                      \
		platform->ops = &changed;                                                          \
		return 0;                                                                          \
	}

static void replace(struct sp_platform_ops *ops, const struct sp_platform_ops *by)
{
	if (by->raw_exec)
		ops->raw_exec = by->raw_exec;
	if (by->raw_start_and_drop)
		ops->raw_start_and_drop = by->raw_start_and_drop;
	if (by->raw_upload)
		ops->raw_upload = by->raw_upload;
	if (by->raw_download)
		ops->raw_download = by->raw_download;
	if (by->raw_snapshot)
		ops->raw_snapshot = by->raw_snapshot;
	if (by->look)
		ops->look = by->look;
}

/* Runs "BEFORE COMMAND", or with `quoted` "BEFORE 'COMMAND'". */
static int exec_behind(void *self, const char *id, const char *before, bool quoted,
		       const char *command, struct sp_exec_result *ret_result,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_adds(&text, before);
	if (quoted)
		sp_buf_add_shell(&text, command);
	else
		sp_buf_adds(&text, command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	return healthy->raw_exec(self, id, sp_buf_str(&text), ret_result, cancel, err);
}

/* It dies as soon as it waits for somebody. */
static int dropped_and_killed(void *self, const char *id, const char *command,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_addf(&text, "read() { kill -KILL $$; }\n%s", command);
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	return healthy->raw_start_and_drop(self, id, sp_buf_str(&text), cancel, err);
}
PLATFORM_WRAP(wrap_drop_kills, .raw_start_and_drop = dropped_and_killed)

static int exec_as_child(void *self, const char *id, const char *command,
			 struct sp_exec_result *ret_result, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	/* Something comes after it, so that the outer shell does not become the inner one. */
	sp_buf_adds(&text, "bash -c ");
	sp_buf_add_shell(&text, command);
	sp_buf_adds(&text, "; exit $?");
	if (text.error)
		return sp_error_set(err, SP_INTERNAL, "no memory for a rewritten command");
	return healthy->raw_exec(self, id, sp_buf_str(&text), ret_result, cancel, err);
}
PLATFORM_WRAP(wrap_shell_follows, .raw_exec = exec_as_child)

static int exec_elsewhere(void *self, const char *id, const char *command,
			  struct sp_exec_result *ret_result, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	return exec_behind(self, id, "cd /;", false, command, ret_result, cancel, err);
}
PLATFORM_WRAP(wrap_shell_elsewhere, .raw_exec = exec_elsewhere)

/* What mounts does so in a namespace of its own, which ends with the command. */
#define TMP_IN_MEMORY "unshare -Urm bash -c 'mount -t tmpfs none /tmp && exec bash -c \"$1\"' bash "

static int exec_tmp_in_memory(void *self, const char *id, const char *command,
			      struct sp_exec_result *ret_result, struct sp_cancel *cancel,
			      struct sp_error *err)
{
	return exec_behind(self, id, TMP_IN_MEMORY, true, command, ret_result, cancel, err);
}
PLATFORM_WRAP(wrap_tmp_in_memory, .raw_exec = exec_tmp_in_memory)

static int snapshot_of_other_kind(void *self, const char *id, const char *name,
				  enum sp_snapshot_kind kind, char **ret_snapshot_id,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	kind = kind == SP_SNAPSHOT_RUNTIME ? SP_SNAPSHOT_FILESYSTEM : SP_SNAPSHOT_RUNTIME;
	return healthy->raw_snapshot(self, id, name, kind, ret_snapshot_id, cancel, err);
}
PLATFORM_WRAP(wrap_kinds_swapped, .raw_snapshot = snapshot_of_other_kind)

static int snapshot_cut(void *self, const char *id, const char *name, enum sp_snapshot_kind kind,
			char **ret_snapshot_id, struct sp_cancel *cancel, struct sp_error *err)
{
	char *cut SP_FREE = strndup(name, 64);

	return healthy->raw_snapshot(self, id, cut ? cut : "", kind, ret_snapshot_id, cancel, err);
}
PLATFORM_WRAP(wrap_names_cut, .raw_snapshot = snapshot_cut)

/* An upload with a command before it or after it that names the path. */
static int command_on(void *self, const char *id, const char *format, const char *path,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	sp_buf_adds(&text, format);
	sp_buf_add_shell(&text, path);
	return healthy->raw_exec(self, id, sp_buf_str(&text), &result, cancel, err);
}

static int upload_readable(void *self, const char *id, const char *path, const void *data,
			   size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = healthy->raw_upload(self, id, path, data, len, cancel, err);

	return rc ? rc : command_on(self, id, "chmod 644 ", path, cancel, err);
}
PLATFORM_WRAP(wrap_upload_readable, .raw_upload = upload_readable)

static int upload_making_folders(void *self, const char *id, const char *path, const void *data,
				 size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder SP_FREE = strndup(path, slash ? (size_t)(slash - path) : 0);
	int rc = command_on(self, id, "mkdir -p ", folder ? folder : "", cancel, err);

	return rc ? rc : healthy->raw_upload(self, id, path, data, len, cancel, err);
}
PLATFORM_WRAP(wrap_upload_folders, .raw_upload = upload_making_folders)

static int download_by_name(void *self, const char *id, const char *path,
			    struct sp_bytes *ret_bytes, bool *ret_is_archive,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	size_t len = strlen(path);
	int rc = healthy->raw_download(self, id, path, ret_bytes, ret_is_archive, cancel, err);

	if (!rc && len > 4 && !strcmp(path + len - 4, ".tar"))
		*ret_is_archive = true;
	return rc;
}
PLATFORM_WRAP(wrap_tar_is_folder, .raw_download = download_by_name)

/* ---- Sleep ---- */

static bool asleep(void *self, const char *id, struct sp_cancel *cancel)
{
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
	    SP_PLATFORM_SANDBOX_INIT;

	return !healthy->look(self, id, &look, cancel, NULL) && !strcmp(look.state, "suspended");
}

/* The first command after it finds an empty /tmp. */
static int exec_emptied(void *self, const char *id, const char *command,
			struct sp_exec_result *ret_result, struct sp_cancel *cancel,
			struct sp_error *err)
{
	if (!asleep(self, id, cancel))
		return healthy->raw_exec(self, id, command, ret_result, cancel, err);
	return exec_tmp_in_memory(self, id, command, ret_result, cancel, err);
}
PLATFORM_WRAP(wrap_sleep_empties, .raw_exec = exec_emptied)

static int too_deep(struct sp_error *err)
{
	return sp_error_set(err, SP_CONFLICT, "the sandbox is suspended");
}

static int exec_awake(void *self, const char *id, const char *command,
		      struct sp_exec_result *ret_result, struct sp_cancel *cancel,
		      struct sp_error *err)
{
	if (asleep(self, id, cancel))
		return too_deep(err);
	return healthy->raw_exec(self, id, command, ret_result, cancel, err);
}

static int upload_awake(void *self, const char *id, const char *path, const void *data, size_t len,
			struct sp_cancel *cancel, struct sp_error *err)
{
	if (asleep(self, id, cancel))
		return too_deep(err);
	return healthy->raw_upload(self, id, path, data, len, cancel, err);
}
PLATFORM_WRAP(wrap_sleep_deep, .raw_exec = exec_awake, .raw_upload = upload_awake)

static int look_waking(void *self, const char *id, struct sp_platform_sandbox *ret_sandbox,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;

	(void)healthy->raw_exec(self, id, ":", &result, cancel, NULL);
	return healthy->look(self, id, ret_sandbox, cancel, err);
}
PLATFORM_WRAP(wrap_look_wakes, .look = look_waking)

#define PLATFORM(id_, wrap_, clause_, summary_, ...)                                               \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = "platform-" id_, .summary = summary_,           \
		.sources = FAULT_LIST("render-api:5"), .clause = "platform " clause_,        \
		.cases = FAULT_LIST(__VA_ARGS__), .seam = SP_FAULT_PLATFORM,                       \
		.wrap_platform = wrap_                                                             \
	}

static const struct sp_fault faults[] = {
    PLATFORM("drop-kills", wrap_drop_kills, "P1", "A command whose stream is closed is killed.",
	     "platform.stream.dropped"),
    PLATFORM("shell-follows", wrap_shell_follows, "P2",
	     "The shell of a command is in the group of the agent.", "platform.shell.leads"),
    PLATFORM("shell-elsewhere", wrap_shell_elsewhere, "P2", "Commands start in /.",
	     "platform.shell.fresh"),
    PLATFORM("tmp-in-memory", wrap_tmp_in_memory, "P3", "/tmp is in memory, too.",
	     "platform.memory.only-dev"),
    PLATFORM("kinds-swapped", wrap_kinds_swapped, "P4",
	     "Each kind of snapshot captures what the other should.",
	     "platform.snapshot.filesystem", "platform.snapshot.runtime"),
    PLATFORM("names-cut", wrap_names_cut, "P5", "Longer names of snapshots are cut.",
	     "platform.snapshot.name"),
    PLATFORM("upload-readable", wrap_upload_readable, "P6", "Uploads are readable for all.",
	     "platform.upload.mode"),
    PLATFORM("upload-makes-folders", wrap_upload_folders, "P7",
	     "An upload makes the folders that it needs.", "platform.upload.folder"),
    PLATFORM("tar-is-folder", wrap_tar_is_folder, "P8",
	     "A file whose name ends in .tar is taken for a folder.", "platform.download.tar"),
    PLATFORM("sleep-empties", wrap_sleep_empties, "P9",
	     "What lies in /tmp is gone after a suspension.", "platform.asleep.files"),
    PLATFORM("sleep-deep", wrap_sleep_deep, "P10", "Nothing wakes a suspended sandbox.",
	     "platform.asleep.command", "platform.asleep.upload"),
    PLATFORM("look-wakes", wrap_look_wakes, "P10", "Looking at a sandbox wakes it.",
	     "platform.asleep.look"),
};
FAULT_TABLE(fault_platform, faults);
