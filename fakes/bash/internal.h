/* SPDX-License-Identifier: MIT */
/* What the files of this room share. Nobody outside includes it. */
#ifndef FAKE_BASH_INTERNAL_H
#define FAKE_BASH_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <base/buf.h>
#include <base/utf8.h>
#include <fakes/bash/archive.h>
#include <fakes/bash/engine.h>
#include <fakes/bash/pool.h>

/* Longest argument of an exec, its NUL included (the kernel's MAX_ARG_STRLEN). */
#define FAKE_ARG_BYTES (128 * 1024)
/* Longest id of a sandbox. */
#define FAKE_ID_MAX 64
/* Read from pipes in pieces of this size. */
#define FAKE_SCRATCH (64 * 1024)
/* Stack of a child that shares our memory until it executes its program. */
#define FAKE_STACK (64 * 1024)

/*
 * Such a child runs on a foreign stack in shared memory: system calls only, no instrumentation, and
 * nothing on descriptors that a sanitizer intercepts.
 */
#define FAKE_CHILD_CODE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

/*
 * clone() by libc's other name for it: ThreadSanitizer intercepts the first,
 * takes every child for a fork, and spoils the memory that this one shares.
 */
extern int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);

/* ---- descriptors that the engine's epoll watches ---- */

struct fake_watch {
	int fd;
	bool armed;
	void (*ready)(struct fake_watch *watch);
};

/* 0 or -errno. Arming twice and disarming twice are fine. */
int fake_watch_arm(struct fake_engine *engine, struct fake_watch *watch);
void fake_watch_disarm(struct fake_engine *engine, struct fake_watch *watch);
/* Disarms and closes; -1 is fine. */
void fake_watch_close(struct fake_engine *engine, struct fake_watch *watch);

#define FAKE_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* ---- the root of a sandbox, planned once (layers.c) ---- */

enum fake_layer_kind {
	/* Lower is the host's folder, upper the sandbox's own. */
	FAKE_LAYER_OVERLAY = 0,
	/* The host's file, read-only (ordinary user only). */
	FAKE_LAYER_FILE,
	/* The host's symlink, made anew. */
	FAKE_LAYER_LINK,
	/* An empty folder of the sandbox's own. */
	FAKE_LAYER_DIR,
};

/* One part of the root. All texts are owned. */
struct fake_layer {
	enum fake_layer_kind kind;
	/* Relative to the new root; "" is the root itself. */
	char *path;
	/* "root/PATH", relative to the sandbox's folder. */
	char *point;
	/* Host path of what lies below. */
	char *lower;
	/* LINK: where it points. */
	char *target;
	/*
	 * OVERLAY: mount options, relative to the sandbox's folder; the layer's
	 * folders are l/N/u and l/N/w.
	 */
	char *options;
	unsigned number;
	mode_t mode;
};

struct fake_plan {
	bool user_ns;
	struct fake_layer *layers;
	size_t n_layers;
	/* Entries of /proc to be made read-only, as "root/proc/NAME". */
	char **proc_read_only;
	size_t n_proc_read_only;
	/* "root/PATH" of the state folder, to be covered. */
	char *cover;
	unsigned overlays;
};

/*
 * Plans for sandboxes below `state_dir` (canonical). Tries mounts in our own
 * mount namespace if `user_ns`.
 */
int fake_plan_make(const char *state_dir, bool user_ns, struct fake_plan *ret_plan,
		   struct sp_error *err);
void fake_plan_done(struct fake_plan *plan);
/* Makes the folders that the plan needs in `dir_fd` (the sandbox's folder). 0 or -errno. */
int fake_plan_prepare(const struct fake_plan *plan, int dir_fd);
/*
 * Same for a sandbox that is restored: the layers are empty, everything
 * in them comes from an archive.
 */
int fake_plan_prepare_bare(const struct fake_plan *plan, int dir_fd);

/* ---- namespaces (setup.c) ---- */

/* Everything that making one set of namespaces needs and tells. */
struct fake_setup {
	/* In. All borrowed. */
	const struct fake_plan *plan;
	/*
	 * The sandbox's folder as two paths: a descriptor would lead back into
	 * the server's mount namespace.
	 */
	const char *state_dir;
	const char *name;
	int init_fd;
	bool deny_network;
	pid_t server;
	/* Out: process 1 with a pidfd (owned by the caller), once it has executed. */
	pid_t pid;
	int pid_fd;
	/* Out, on failure: what was refused, by which object, why. */
	const char *step;
	const char *object;
	int error;
};

/*
 * Makes the namespaces and starts process 1 in them. 0 or -errno; on failure nothing is
 * left of it. Runs on any thread.
 */
int fake_setup_run(struct fake_setup *setup);
/* Moves the process into a user namespace (and a mount namespace) of its own. */
int fake_setup_user_ns(struct sp_error *err);
/*
 * Asks in a child of its own whether namespaces work here, below `state_dir`;
 * SP_UNSUPPORTED with what was refused.
 */
int fake_setup_probe(const char *state_dir, bool user_ns, struct sp_error *err);
/*
 * Takes from everything that this thread (and those it makes) will execute what reaches the host;
 * we keep it ourselves. 0 or -errno.
 */
int fake_setup_limit_caps(void);

/* blob.c: the program of process 1 as a sealed memory file, to be executed; fd or -errno. */
int fake_init_open(void);

/* ---- starting in a sandbox (spawn.c) ---- */

/* A command to be started; texts are borrowed. */
struct fake_spawn {
	/* Pidfd of the sandbox's process 1, or -1 in plain mode. */
	int ns_fd;
	bool own_network;
	const char *const *argv;
	char *const *envp;
	const char *dir;
	/* What becomes standard output and error. */
	int out;
	int err;
	/* Plain mode: the mark. */
	uint64_t mark;
	/* Out. */
	pid_t pid;
	int pid_fd;
	const char *step;
	int error;
};

/* Starts it: 0 or -errno, with `step` saying what failed. Engine's thread only. */
int fake_spawn_run(struct fake_engine *engine, struct fake_spawn *spawn);
/*
 * Signals processes of a pid namespace by their numbers inside, or all of them but
 * process 1 when n is 0. 0 or -errno.
 */
int fake_spawn_signal(struct fake_engine *engine, int ns_fd, const pid_t *pids, size_t n,
		      int signal);
/* Default actions for all signals, then none blocked. For children that share our memory. */
void fake_child_signals(void);
/* Signals blocked around the birth of such a child. */
void fake_signals_block(void *ret_before);
void fake_signals_restore(const void *before);

/* ---- objects ---- */

/* One output stream of a command. */
struct fake_stream {
	struct fake_watch watch;
	struct fake_command *command;
	struct sp_utf8_decoder decoder;
	struct sp_buf queue;
	/* After the leader's exit: bytes of the pipe that still belong to the command. */
	size_t left;
	/* Nothing more will be queued; what still comes is thrown away. */
	bool done;
};

struct fake_command {
	LIST_ENTRY(fake_command) link;
	struct fake_engine *engine;
	/* NULL once the sandbox was forgotten. */
	struct fake_sandbox *sandbox;
	struct fake_watch leader;
	pid_t pid;
	struct fake_stream streams[2];
	void (*wake)(void *arg);
	void *arg;
	bool exited;
	bool dropped;
	/* The reader was told "nothing now" and is owed a wake. */
	bool hungry;
	/* Stream to look at first, so that neither starves. */
	unsigned turn;
	int code;
};
LIST_HEAD(fake_commands, fake_command);

struct fake_waiter {
	struct fake_waiter *next;
	fake_done_fn done;
	void *arg;
};

struct fake_upload {
	LIST_ENTRY(fake_upload) link;
	struct fake_job job;
	struct fake_engine *engine;
	/* NULL once the sandbox has ended. */
	struct fake_sandbox *sandbox;
	int dir_fd;
	int fd;
	char *name;
	char temporary[40];
	int error;
	fake_done_fn done;
	void *arg;
};
LIST_HEAD(fake_uploads, fake_upload);

/* An archive that is being written from a sandbox, or extracted into one. */
struct fake_archiving {
	struct fake_job job;
	struct fake_sandbox *sandbox;
	/* Capture: what, and where it goes; extraction: NULL. */
	enum fake_kind kind;
	char *path;
	/* Extraction: the archive, and the folder that it goes to. */
	int fd;
	int dir_fd;
	bool compressed;
	uint64_t limit;
	/* The sandbox ends. */
	atomic_bool stop;
	struct sp_error error;
	fake_done_fn done;
	void *arg;
	LIST_ENTRY(fake_archiving) link;
};
LIST_HEAD(fake_archivings, fake_archiving);

struct fake_text {
	char *text;
	int64_t started_ms;
};

struct fake_sandbox {
	LIST_ENTRY(fake_sandbox) link;
	struct fake_engine *engine;
	char id[FAKE_ID_MAX + 1];
	enum fake_state state;
	bool deny_network;
	char *home;
	char *memory_dir;
	char **envp;
	struct fake_text *timeline;
	size_t n_timeline;
	struct fake_commands commands;
	struct fake_uploads uploads;
	struct fake_archivings archivings;
	/* Commands whose leader lives or was not reaped. */
	size_t n_live;

	/* The job that is under way, if any: create, sweep or remove. */
	struct fake_job job;
	bool busy;
	struct sp_error job_error;
	fake_done_fn created;
	void *created_arg;
	/*
	 * What it is restored from, or -1; bytes of content after which the disk is full; its
	 * end was asked for meanwhile.
	 */
	int archive_fd;
	uint64_t archive_limit;
	atomic_bool stop;
	/* Not begun. */
	bool held;

	/* Namespaces: process 1, the root as seen inside, its /proc. */
	struct fake_watch init;
	pid_t init_pid;
	int root_fd;
	int proc_fd;
	/* Plain: its home and memory folder, and its mark. */
	int home_fd;
	int memory_fd;
	uint64_t mark;
	/* Files that were there before the first command. */
	size_t base_files;
	/* Processes that were stopped before a suspension. */
	pid_t *stopped;
	size_t n_stopped;

	/* Ending: asked for, killed, swept (plain), removed, over. */
	bool ending;
	bool killed;
	bool swept;
	bool removed;
	bool over;
	/* Forgotten by its owner while a last job was under way. */
	bool forgotten;
	struct fake_waiter *waiters;
};
LIST_HEAD(fake_sandboxes, fake_sandbox);

struct fake_engine {
	enum fake_mode mode;
	bool user_ns;
	char *state_dir;
	int state_fd;
	size_t queue_bytes;
	int epoll_fd;
	int init_fd;
	/* Our own pid namespace, to come back to. */
	int pid_ns_fd;
	pid_t server;
	struct fake_plan plan;
	struct fake_pool *pool;
	struct fake_watch pool_watch;
	/* For what takes as long as there are files: it must not hold up the rest. */
	struct fake_pool *slow_pool;
	struct fake_watch slow_watch;
	struct fake_sandboxes sandboxes;
	/* Commands whose sandbox was forgotten. */
	struct fake_commands orphans;
	/* Freed after the batch of events in which they ended. */
	struct fake_commands graveyard;
	uint64_t n_commands;
	/* Uploads that are being put in place, captures, removals. */
	size_t n_finishing;
	bool dispatching;
	bool closing;
	/* Room for two such children, one above the other. */
	char *stack;
	char scratch[FAKE_SCRATCH];
};

/* ---- between the files ---- */

/*
 * sandbox.c: SP_CONFLICT with the state in words unless it is running (or
 * suspended, with `or_suspended`).
 */
int fake_sandbox_need(const struct fake_sandbox *sandbox, bool or_suspended, struct sp_error *err);
/* sandbox.c: goes on with ending a sandbox, as far as it can now. */
void fake_sandbox_advance(struct fake_sandbox *sandbox);
/* command.c: frees it unless a batch of events may still name it. */
void fake_command_bury(struct fake_command *command);
void fake_command_free(struct fake_command *command);
/* command.c: detaches what outlives a sandbox that is forgotten. */
void fake_commands_orphan(struct fake_sandbox *sandbox);
/* paths.c: opens a path inside the sandbox with openat2(); fd or -errno. */
int fake_path_resolve(struct fake_sandbox *sandbox, const char *path, int flags);
/* paths.c: the sandbox ends; uploads under way lose it. */
void fake_uploads_detach(struct fake_sandbox *sandbox);
/* archiving.c: the sandbox ends; what goes in or out of it as an archive stops. */
void fake_archivings_stop(struct fake_sandbox *sandbox);
/* archiving.c: a new one of this sandbox with its callback; NULL when memory is short. */
struct fake_archiving *fake_archiving_new(struct fake_sandbox *sandbox, uint64_t limit,
					  fake_done_fn done, void *arg);
/* archiving.c: runs it in the slow pool; its callback is called whatever becomes of the sandbox. */
void fake_archiving_start(struct fake_archiving *archiving, void (*run)(struct fake_job *job));
/* archiving.c: frees one that was not started. */
void fake_archiving_free(struct fake_archiving *archiving);
/* paths.c: the answer for an errno (negative) of a path. */
int fake_path_error(struct sp_error *err, int rc, const char *path);
/*
 * capture.c: what made an archive, as its first entry tells it; the last line is the
 * number of files that are no news.
 */
#define FAKE_ABOUT_MAX (256 * 1024)
#define FAKE_ABOUT_BASE "base "
void fake_about(const struct fake_sandbox *sandbox, struct sp_buf *buf);
/*
 * restore.c: the words for an error of an archive; `verb` is capture or restore. Returns the code.
 */
int fake_archive_error(struct sp_error *err, int rc, const char *verb, const char *id);
/*
 * restore.c: fills the layers of a new sandbox, before and after they are mounted, or the
 * folders of plain mode. Pool.
 */
struct fake_restore;
int fake_restore_open(struct fake_sandbox *sandbox, struct fake_restore **ret_restore,
		      struct sp_error *err);
int fake_restore_layers(struct fake_restore *restore, int dir_fd, struct sp_error *err);
int fake_restore_memory(struct fake_restore *restore, struct sp_error *err);
void fake_restore_free(struct fake_restore *restore);
/* timeline.c: keeps a command's text; 0 or -ENOMEM. */
int fake_timeline_add(struct fake_sandbox *sandbox, const char *text);
void fake_timeline_done(struct fake_sandbox *sandbox);
/*
 * env.c: the environment of every command, NULL-terminated, one block of memory each; SP_INVALID
 * for a name or value that no environment can hold.
 */
int fake_env_make(const char *home, const struct sp_env *env, size_t n_env, char ***ret_envp,
		  struct sp_error *err);
void fake_env_free(char **envp);
/* census.c: entries in upper layers and memory folder that were made there. Any thread. */
size_t fake_count_files(const struct fake_sandbox *sandbox);
/*
 * census.c: numbers of the living processes, process 1 left out, as /proc of the sandbox (plain: of
 * the host) has them; owned by the caller. 0 or -errno. Any thread.
 */
int fake_list_pids(const struct fake_sandbox *sandbox, pid_t **ret_pids, size_t *ret_n);
/* plain.c: the same by mark. */
int fake_mark_list(uint64_t mark, pid_t **ret_pids, size_t *ret_n);
/* plain.c: a fresh mark; the living processes that carry it, counted or signalled in one walk. */
uint64_t fake_mark_new(void);
size_t fake_mark_count(uint64_t mark);
void fake_mark_signal(uint64_t mark, int signal);
/* plain.c: kills, or stops, until nobody is left to be killed or stopped. Any thread. */
void fake_mark_sweep(uint64_t mark);
void fake_mark_freeze(uint64_t mark);
/* plain.c: reaps orphans that came to us. Engine's thread. */
void fake_mark_reap(struct fake_engine *engine);

#endif
