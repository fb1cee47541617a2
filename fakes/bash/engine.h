/* SPDX-License-Identifier: MIT */
/*
 * The bash fake: real sandboxes in miniature, one process tree and one file
 * tree each, driven by descriptors and callbacks. It knows nothing of HTTP,
 * tokens or workspaces; fakes/render-api gives it those.
 *
 * One thread owns an engine: every function here is called from it, and every
 * callback runs on it, from fake_engine_dispatch(). Slow work (create,
 * destroy, capture, restore, removing, truncating, renaming) happens in small pools behind it.
 */
#ifndef FAKE_BASH_ENGINE_H
#define FAKE_BASH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <sandproof/error.h>
#include <sandproof/types.h>

struct fake_engine;
struct fake_sandbox;
struct fake_command;
struct fake_upload;

/* How sandboxes are kept apart. */
enum fake_mode {
	/*
	 * Namespaces where the kernel allows, else plain;
	 * SANDPROOF_FAKE=plain or =namespaces decides.
	 */
	FAKE_AUTO = 0,
	/*
	 * Own mount, pid and ipc namespaces (network too under deny), overlay
	 * root, private /dev and /proc.
	 */
	FAKE_NAMESPACES,
	/* A home and a folder standing for the memory-backed directory; no isolation. */
	FAKE_PLAIN,
};

struct fake_engine_options {
	/* Private folder for everything on disk; made by the caller, emptied by the engine. */
	const char *state_dir;
	enum fake_mode mode;
	/*
	 * Bytes of output held per stream for a slow reader before the
	 * command stands still; 0 is 64 KiB.
	 */
	size_t queue_bytes;
};

/*
 * Starts an engine. Call before any thread exists: in namespaces it bars what
 * the process executes from then on from capabilities that reach the host, and
 * as an ordinary user it moves the process into a user namespace of its own.
 * In plain mode the process becomes a subreaper. SP_UNSUPPORTED (no
 * bash; FAKE_NAMESPACES forced where the kernel refuses, with what was refused), SP_IO.
 */
int fake_engine_new(const struct fake_engine_options *options, struct fake_engine **ret_engine,
		    struct sp_error *err);
/*
 * Destroys every sandbox, waits for all of it, leaves nothing behind, frees the
 * engine and the handles of its sandboxes and commands. Callbacks of calls under way still run;
 * `wake` does not.
 */
void fake_engine_free(struct fake_engine *engine);
/* Readable when fake_engine_dispatch() has something to do; for the caller's poll loop. */
int fake_engine_fd(struct fake_engine *engine);
/* Runs what is ready; never blocks. */
void fake_engine_dispatch(struct fake_engine *engine);
/* FAKE_NAMESPACES or FAKE_PLAIN. */
enum fake_mode fake_engine_mode(struct fake_engine *engine);
/*
 * What this mode cannot hold, as NULL-terminated names. Plain: "isolation",
 * "network-policy", "hostile-files", "memory-directory", "other-users",
 * "server-death" (a server ended by KILL leaves background processes).
 * Namespaces as an ordinary user: "other-users" (root is the only user inside).
 */
const char *const *fake_engine_cannot_hold(struct fake_engine *engine);
/* Commands started since the engine began. */
uint64_t fake_engine_commands(struct fake_engine *engine);

/* States of a sandbox, with the service's wire names. */
enum fake_state {
	FAKE_CREATING = 0,
	FAKE_RUNNING,
	FAKE_SUSPENDING,
	FAKE_SUSPENDED,
	FAKE_RESUMING,
	FAKE_ERRORED,
	FAKE_TERMINATED,
	FAKE_STATE_MAX_,
};
/* "creating" and so on. */
const char *fake_state_name(enum fake_state state);
/* State of a wire name, or -1. */
int fake_state_from_name(const char *name);

struct fake_sandbox_options {
	/* Unique id, [a-z0-9-] only; also the name of its folder. */
	const char *id;
	/* Own network namespace without routes (loopback up). */
	bool deny_network;
	/* Environment of every command, over HOME, PATH, USER, LANG and so on. Copied. */
	const struct sp_env *env;
	size_t n_env;
	/*
	 * An archive made by fake_sandbox_capture() to restore from, or NULL. Opened at once:
	 * it may be removed afterwards.
	 */
	const char *archive;
	/* Bytes of its content after which the disk is full, for tests; 0: as many as there are. */
	uint64_t archive_limit;
	/*
	 * Nothing is done before fake_sandbox_begin(); `done` is not called for
	 * one that is destroyed before.
	 */
	bool held;
};

/* Tells how an asynchronous call ended: 0 or a negative sp_code with `err`. */
typedef void (*fake_done_fn)(void *arg, int rc, const struct sp_error *err);

/*
 * Makes a sandbox: it exists at once in state creating and is running when
 * `done` is called with 0, errored otherwise. The handle is valid until
 * fake_sandbox_free().
 */
int fake_sandbox_create(struct fake_engine *engine, const struct fake_sandbox_options *options,
			fake_done_fn done, void *arg, struct fake_sandbox **ret_sandbox,
			struct sp_error *err);
/* Goes on with one that was made `held`. */
void fake_sandbox_begin(struct fake_sandbox *sandbox);
/*
 * Ends everything in it (also during creation) and removes its files; `done` when not one
 * process is left. Open commands report 137. Idempotent: every call gets its `done`. The handle
 * stays, terminated.
 */
void fake_sandbox_destroy(struct fake_sandbox *sandbox, fake_done_fn done, void *arg);
/* Forgets a terminated sandbox. */
void fake_sandbox_free(struct fake_sandbox *sandbox);
enum fake_state fake_sandbox_state(const struct fake_sandbox *sandbox);
const char *fake_sandbox_id(const struct fake_sandbox *sandbox);
/* Stops every process where it stands; memory and files stay. running to suspended. */
int fake_sandbox_suspend(struct fake_sandbox *sandbox, struct sp_error *err);
/* Lets them go on. suspended to running; a running one is fine. */
int fake_sandbox_resume(struct fake_sandbox *sandbox, struct sp_error *err);
/* Puts it into errored (everything in it ends) for tests of a client's state machine. */
void fake_sandbox_set_errored(struct fake_sandbox *sandbox);
/* Absolute paths as a command sees them. */
const char *fake_sandbox_home(const struct fake_sandbox *sandbox);
const char *fake_sandbox_memory_dir(const struct fake_sandbox *sandbox);

/* What is in a sandbox now. */
struct fake_census {
	/* Without its init. */
	size_t processes;
	size_t commands;
	/*
	 * Files, folders and links that were created (upper layers and
	 * the memory-backed directory).
	 */
	size_t files;
};
int fake_sandbox_census(struct fake_sandbox *sandbox, struct fake_census *ret_census,
			struct sp_error *err);

/* What a snapshot holds. */
enum fake_kind {
	/*
	 * The files that were made or changed (whiteouts included); not
	 * the memory-backed directory.
	 */
	FAKE_FILESYSTEM = 0,
	/*
	 * Also the memory-backed directory, and as data the environment of the processes that run.
	 */
	FAKE_RUNTIME,
};
/*
 * Writes what a running sandbox holds into a new archive at `path` (0600); it may go on working
 * meanwhile. `done` when the archive is complete. SP_CONFLICT: it does not run, or was ended
 * meanwhile; SP_IO with ENOSPC: the disk is full. After a failure there is no archive. `limit`:
 * bytes after which the disk is full, for tests; 0: as many as there are.
 */
int fake_sandbox_capture(struct fake_sandbox *sandbox, enum fake_kind kind, const char *path,
			 uint64_t limit, fake_done_fn done, void *arg, struct sp_error *err);
/*
 * Extracts the tar archive (gzip'ed if `compressed`) that stands at the current place of `fd`
 * (borrowed) below a folder, as root would: with its modes, new files in place of old ones, without
 * devices and FIFOs. The folder is made if only it is missing. SP_NOT_FOUND, SP_DENIED, SP_CONFLICT
 * as for an upload; `done` with SP_PROTOCOL: the archive is damaged or would leave the folder, and
 * what came before that is in place. `limit`: bytes after which the disk is full, for tests; 0: as
 * many as there are.
 */
int fake_sandbox_extract(struct fake_sandbox *sandbox, const char *path, int fd, bool compressed,
			 uint64_t limit, fake_done_fn done, void *arg, struct sp_error *err);
/* Removes an archive, in the pool; `done` (may be NULL) when it is gone. SP_INTERNAL: no memory. */
int fake_archive_remove(struct fake_engine *engine, const char *path, fake_done_fn done, void *arg,
			struct sp_error *err);

/* One entry of the timeline. */
struct fake_timeline_entry {
	const char *text;
	/* Wall clock, milliseconds since 1970. */
	int64_t started_ms;
};
/* Number of command texts recorded, and the i-th one, oldest first; owned by the sandbox. */
size_t fake_timeline_len(const struct fake_sandbox *sandbox);
struct fake_timeline_entry fake_timeline_get(const struct fake_sandbox *sandbox, size_t i);

/*
 * Starts `bash -c text`: it leads its own process group, in the home
 * directory, stdin from /dev/null, the sandbox's environment and nothing of the
 * server's. `wake` runs whenever fake_command_read() may have more to say.
 * SP_CONFLICT when the sandbox is not running, SP_INVALID when the text is too
 * long for one argument, SP_IO.
 */
int fake_command_start(struct fake_sandbox *sandbox, const char *text, void (*wake)(void *arg),
		       void *arg, struct fake_command **ret_command, struct sp_error *err);

/* Answers of fake_command_read() besides a length. */
#define FAKE_AGAIN 0
#define FAKE_END (-1)

/*
 * Takes up to `max` (at least 4) bytes of output as whole UTF-8 characters;
 * invalid bytes are U+FFFD. FAKE_AGAIN: nothing now. FAKE_END: the leader has exited and
 * everything it wrote before was taken; background writers do not hold it open. While nobody takes
 * anything the command stands still once queue and pipe are full.
 */
ssize_t fake_command_read(struct fake_command *command, enum sp_stream *ret_stream, char *buffer,
			  size_t max);
/* Exit code after FAKE_END: 0 to 255, 128 + n for death by signal n. */
int fake_command_code(const struct fake_command *command);
/*
 * The client went away: the command runs on, its output is drained and thrown away. Frees the
 * handle; `wake` is not called again.
 */
void fake_command_drop(struct fake_command *command);

/* What a path inside the sandbox is. */
enum fake_path_kind {
	FAKE_PATH_FILE = 0,
	FAKE_PATH_DIR,
	FAKE_PATH_OTHER,
};
/*
 * Opens a path for reading, resolved inside the sandbox and never outside it (symlinks included).
 * Relative paths start at home. `*ret_fd` is owned by the caller: open for reading, but only a
 * place holder (O_PATH) for what is neither file nor folder. SP_NOT_FOUND, SP_DENIED, SP_IO;
 * SP_CONFLICT when the sandbox is neither running nor suspended. In plain mode only what is below
 * home and the memory-backed directory can be named, and no absolute symlink is followed: anything
 * else is SP_DENIED. The same holds for listing and uploading.
 */
int fake_path_open(struct fake_sandbox *sandbox, const char *path, enum fake_path_kind *ret_kind,
		   int *ret_fd, uint64_t *ret_size, struct sp_error *err);

/* One entry of a listing. */
struct fake_dir_entry {
	char *name;
	/* DT_REG, DT_DIR, DT_LNK or DT_UNKNOWN. */
	unsigned char type;
	/* Bytes of a file; 0 for everything else. */
	uint64_t size;
	/* Last change of the content, milliseconds since 1970. */
	int64_t mtime_ms;
	/* Target of a symlink, else NULL. */
	char *target;
};
/*
 * Lists one folder, sorted by name, without "." and "..". The array and its texts are
 * the caller's: fake_dir_free().
 */
int fake_dir_list(struct fake_sandbox *sandbox, const char *path,
		  struct fake_dir_entry **ret_entries, size_t *ret_len, struct sp_error *err);
void fake_dir_free(struct fake_dir_entry *entries, size_t len);

/*
 * Receives a file: written under a new name beside the target and renamed over it, mode 0600.
 * SP_NOT_FOUND: the folder is missing. SP_CONFLICT: the target is a folder.
 */
int fake_upload_open(struct fake_sandbox *sandbox, const char *path,
		     struct fake_upload **ret_upload, struct sp_error *err);
/* SP_IO with ENOSPC when the disk is full. */
int fake_upload_write(struct fake_upload *upload, const void *data, size_t len,
		      struct sp_error *err);
/* Puts the file in place; `done` runs from the dispatcher. The upload is freed by then. */
void fake_upload_finish(struct fake_upload *upload, fake_done_fn done, void *arg);
/* Throws the upload away. */
void fake_upload_abort(struct fake_upload *upload);

#endif
