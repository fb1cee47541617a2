/* SPDX-License-Identifier: MIT */
/*
 * A sandbox: where commands run and files live.
 *
 * Threads: every call may be made from any thread; destroy() and close()
 * never wait for another call to end (that call then ends with SP_GONE or
 * SP_ABORTED). Paths: under /workspace they are virtual and map to
 * workspace_root(); other absolute paths are the sandbox's own; relative
 * paths start at the workspace root.
 */
#ifndef SANDPROOF_SANDBOX_H
#define SANDPROOF_SANDBOX_H

#include <sandproof/capabilities.h>
#include <sandproof/process.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_EXEC_OPTIONS_VERSION 1

/* How to run one command. All pointers are borrowed for the call. */
struct sp_exec_options {
	unsigned version;
	/* Text for a POSIX shell, delivered byte for byte, of any length. Required. */
	const char *command;
	/*
	 * Folder to run in; NULL is the workspace root. A missing one is an error and nothing runs.
	 */
	const char *cwd;
	/* Variables for this command only, over the sandbox's own. */
	const struct sp_env *env;
	size_t n_env;
	/*
	 * Ends the command in the sandbox as kill(TERM) does. Already fired: the
	 * command never starts. Referenced until the process has ended, and watchers
	 * are removed then.
	 */
	struct sp_cancel *cancel;
};

#define SP_EXEC_OPTIONS_INIT { .version = SP_EXEC_OPTIONS_VERSION }

/* What a command left. Owned by the caller: sp_exec_result_done(). */
struct sp_exec_result {
	/* At most `output_cap` bytes of each stream, always a prefix of what was written. */
	struct sp_bytes stdout_bytes;
	struct sp_bytes stderr_bytes;
	/* 0 to 255, as sp_exit.code. */
	int exit_code;
	/* True when bytes beyond the cap were dropped. */
	bool stdout_cut;
	bool stderr_cut;
};

#define SP_EXEC_RESULT_INIT { SP_BYTES_INIT, SP_BYTES_INIT, 0, false, false }

/* Frees both outputs and clears the struct. */
void sp_exec_result_done(struct sp_exec_result *result);

/* What an entry of a folder is, never following a symlink. */
enum sp_file_type {
	SP_FILE = 0,
	SP_DIR,
	SP_SYMLINK,
	/* A socket, FIFO or device. */
	SP_OTHER,
};

/* One entry of a folder. */
struct sp_dir_entry {
	/* One component, any bytes but '/' and NUL. Owned. */
	char *name;
	/* Absolute path as the caller would pass it. Owned. */
	char *path;
	enum sp_file_type type;
};

/* A listing, in the order of the names' bytes. Owned by the caller. */
struct sp_dir_list {
	struct sp_dir_entry *entries;
	size_t len;
};

#define SP_DIR_LIST_INIT { NULL, 0 }

/* Frees the listing and clears the struct. */
void sp_dir_list_done(struct sp_dir_list *list);

/* What lstat() answers. */
struct sp_stat {
	enum sp_file_type type;
	/* Full POSIX mode with type bits. */
	uint32_t mode;
	/* Bytes, for regular files only; else 0. */
	uint64_t size;
};

/* A snapshot reference. Owned by the caller. */
struct sp_snapshot_ref {
	/* Opaque; carries all that restore and deletion need. */
	char *id;
	/* The caller's full label, also when the stored name is shorter; NULL without one. */
	char *label;
};

#define SP_SNAPSHOT_REF_INIT { NULL, NULL }

/* Frees the reference and clears the struct. */
void sp_snapshot_ref_done(struct sp_snapshot_ref *ref);

/* Where a port of the sandbox answers. Owned by the caller. */
struct sp_port {
	/* http or https URL without a secret in it. */
	char *url;
	/* Bearer token, or NULL. Never printed. */
	char *token;
};

#define SP_PORT_INIT { NULL, NULL }

/* Frees the port and clears the struct. */
void sp_port_done(struct sp_port *port);

#define SP_GIT_OPTIONS_VERSION 1

/* One git call (sandbox-contract 1.7). A value that starts with '-' is refused with SP_INVALID. */
struct sp_git_options {
	unsigned version;
	/* clone, status, add, commit, push, pull or branch. */
	const char *verb;
	/* Folder of the work tree; for clone the destination. */
	const char *dir;
	/* clone: where from. */
	const char *url;
	/* clone, branch: which ref; NULL is the default. */
	const char *ref;
	/* commit: the message. */
	const char *message;
	/* clone: commits to fetch; 0 is 1, negative is all. */
	int depth;
	/* User and token: they live only in the child environment of this one command. */
	const char *user;
	const char *token;
	struct sp_cancel *cancel;
};

#define SP_GIT_OPTIONS_INIT { .version = SP_GIT_OPTIONS_VERSION }

struct sp_sandbox;

#define SP_SANDBOX_VERSION 1

struct sp_sandbox_ops {
	unsigned version;

	/* The provider's id of this sandbox; lives as long as the handle. */
	const char *(*id)(void *self);
	/* Real absolute path that /workspace maps to; lives as long as the handle. */
	const char *(*workspace_root)(void *self);

	/*
	 * Runs a command to its end. Any exit code is a normal result. On abort or
	 * deadline the command is ended in the sandbox first, then the call answers SP_ABORTED or
	 * SP_TIMED_OUT. Other errors: SP_INVALID (a refused variable name; nothing
	 * ran), SP_NOT_FOUND (the cwd is missing; nothing ran), SP_GONE, SP_DENIED,
	 * SP_UNAVAILABLE, SP_UNKNOWN_OUTCOME.
	 */
	int (*exec)(void *self, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err);

	/*
	 * Starts a command and returns once it is accepted; it outlives the
	 * call. Same framing and errors as exec(). An abort of
	 * options->cancel later ends it as kill(TERM) does. What goes wrong
	 * after acceptance is told by wait().
	 */
	int (*spawn)(void *self, const struct sp_exec_options *options,
		     struct sp_process *ret_process, struct sp_error *err);

	/* Reads a whole file. SP_NOT_FOUND when missing, SP_CONFLICT for a folder. */
	int (*fs_read)(void *self, const char *path, struct sp_bytes *ret_bytes,
		       struct sp_cancel *cancel, struct sp_error *err);
	/* Replaces a file's content and creates missing parents. */
	int (*fs_write)(void *self, const char *path, const void *data, size_t len,
			struct sp_cancel *cancel, struct sp_error *err);
	/*
	 * Lists a folder. SP_NOT_FOUND when missing, SP_CONFLICT when it is no folder;
	 * never an empty list for an error.
	 */
	int (*fs_list)(void *self, const char *path, struct sp_dir_list *ret_list,
		       struct sp_cancel *cancel, struct sp_error *err);
	/*
	 * Creates a folder with its parents; an existing folder is fine.
	 * SP_CONFLICT when a file is in the way.
	 */
	int (*fs_mkdir)(void *self, const char *path, struct sp_cancel *cancel,
			struct sp_error *err);
	/* Removes a file, link or tree, never following a link; missing is fine. */
	int (*fs_remove)(void *self, const char *path, struct sp_cancel *cancel,
			 struct sp_error *err);
	/* Renames as rename(2) does. SP_NOT_FOUND, SP_CONFLICT. */
	int (*fs_rename)(void *self, const char *from, const char *to, struct sp_cancel *cancel,
			 struct sp_error *err);
	/*
	 * Says whether something is there. False only when absence is confirmed;
	 * everything else is an error.
	 */
	int (*fs_exists)(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
			 struct sp_error *err);
	/*
	 * Describes the entry itself, not what it links to. SP_NOT_FOUND
	 * only when absence is confirmed.
	 */
	int (*fs_lstat)(void *self, const char *path, struct sp_stat *ret_stat,
			struct sp_cancel *cancel, struct sp_error *err);

	/*
	 * Merges variables into the environment of later commands. All names are checked before
	 * any is taken: SP_INVALID leaves everything as it was.
	 */
	int (*env_set)(void *self, const struct sp_env *env, size_t n_env, struct sp_cancel *cancel,
		       struct sp_error *err);

	/*
	 * Optional. Takes a snapshot under any label (NULL: none). The secrets given
	 * to the sandbox are not in it.
	 */
	int (*snapshot)(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
			struct sp_cancel *cancel, struct sp_error *err);
	/* Optional. An independent sandbox with the same files. */
	int (*fork)(void *self, struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
		    struct sp_error *err);
	/* Optional. Where port `port` of the sandbox answers. */
	int (*port_connect)(void *self, unsigned port, struct sp_port *ret_port,
			    struct sp_cancel *cancel, struct sp_error *err);
	/*
	 * Optional. Runs one git verb; a git that fails is an error, and
	 * its text has no token in it.
	 */
	int (*git)(void *self, const struct sp_git_options *options,
		   struct sp_exec_result *ret_result, struct sp_error *err);
	/*
	 * Optional. Command texts that the platform recorded, oldest first, one
	 * after another, each ended by NUL.
	 */
	int (*timeline)(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
			struct sp_error *err);

	/*
	 * Ends everything in the sandbox and removes it. Idempotent: already gone is success.
	 * The handle stays until close().
	 */
	int (*destroy)(void *self, struct sp_cancel *cancel, struct sp_error *err);
	/* Drops the handle and leaves the sandbox. Never fails. */
	void (*close)(void *self);
};

/* A reference to a sandbox: two pointers, copied freely; close it once. */
struct sp_sandbox {
	const struct sp_sandbox_ops *ops;
	void *self;
};

#define SP_SANDBOX_INIT { NULL, NULL }

/* Callers use these: they answer SP_UNSUPPORTED where a table has no entry. */

/* See sp_sandbox_ops.id. */
const char *sp_sandbox_id(struct sp_sandbox *sandbox);
/* See sp_sandbox_ops.workspace_root. */
const char *sp_sandbox_workspace_root(struct sp_sandbox *sandbox);
/* See sp_sandbox_ops.exec. */
int sp_sandbox_exec(struct sp_sandbox *sandbox, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err);
/* See sp_sandbox_ops.spawn. */
int sp_sandbox_spawn(struct sp_sandbox *sandbox, const struct sp_exec_options *options,
		     struct sp_process *ret_process, struct sp_error *err);
/* See sp_sandbox_ops.fs_read. */
int sp_sandbox_read(struct sp_sandbox *sandbox, const char *path, struct sp_bytes *ret_bytes,
		    struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.fs_write. */
int sp_sandbox_write(struct sp_sandbox *sandbox, const char *path, const void *data, size_t len,
		     struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.fs_list. */
int sp_sandbox_list(struct sp_sandbox *sandbox, const char *path, struct sp_dir_list *ret_list,
		    struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.fs_mkdir. */
int sp_sandbox_mkdir(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		     struct sp_error *err);
/* See sp_sandbox_ops.fs_remove. */
int sp_sandbox_remove(struct sp_sandbox *sandbox, const char *path, struct sp_cancel *cancel,
		      struct sp_error *err);
/* See sp_sandbox_ops.fs_rename. */
int sp_sandbox_rename(struct sp_sandbox *sandbox, const char *from, const char *to,
		      struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.fs_exists. */
int sp_sandbox_exists(struct sp_sandbox *sandbox, const char *path, bool *ret_exists,
		      struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.fs_lstat. */
int sp_sandbox_lstat(struct sp_sandbox *sandbox, const char *path, struct sp_stat *ret_stat,
		     struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.env_set. */
int sp_sandbox_env_set(struct sp_sandbox *sandbox, const struct sp_env *env, size_t n_env,
		       struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.snapshot. */
int sp_sandbox_snapshot(struct sp_sandbox *sandbox, const char *label,
			struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			struct sp_error *err);
/* See sp_sandbox_ops.fork. */
int sp_sandbox_fork(struct sp_sandbox *sandbox, struct sp_sandbox *ret_sandbox,
		    struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.port_connect. */
int sp_sandbox_port_connect(struct sp_sandbox *sandbox, unsigned port, struct sp_port *ret_port,
			    struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.git. */
int sp_sandbox_git(struct sp_sandbox *sandbox, const struct sp_git_options *options,
		   struct sp_exec_result *ret_result, struct sp_error *err);
/* See sp_sandbox_ops.timeline. */
int sp_sandbox_timeline(struct sp_sandbox *sandbox, struct sp_bytes *ret_texts,
			struct sp_cancel *cancel, struct sp_error *err);
/* See sp_sandbox_ops.destroy. */
int sp_sandbox_destroy(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err);
/* Closes the handle and clears the reference; a cleared one is fine. */
void sp_sandbox_done(struct sp_sandbox *sandbox);

#ifdef __cplusplus
}
#endif
#endif
