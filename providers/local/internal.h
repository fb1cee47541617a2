/* SPDX-License-Identifier: MIT */
/*
 * Shared inside this folder only. Who locks what: a provider's lock guards
 * the list of its sandboxes and their reference counts, a sandbox's lock its
 * environment, its runs and `gone`, a run's lock everything that two threads
 * touch. Locks are taken in that order.
 */
#ifndef SP_LOCAL_INTERNAL_H
#define SP_LOCAL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <providers/local/local.h>

/* Variables that every command carries: which command and which sandbox it belongs to. */
#define LOCAL_MARK_RUN "SANDPROOF_RUN"
#define LOCAL_MARK_SANDBOX "SANDPROOF_SANDBOX"
/* Random characters of a mark. */
#define LOCAL_MARK_LEN 20
/* "SANDPROOF_RUN=" and its value and NUL, rounded up. */
#define LOCAL_MARK_MAX 64
/* The kernel's ceiling for one argument or variable (MAX_ARG_STRLEN), NUL included. */
#define LOCAL_ARG_MAX (128 * 1024)
/* All variables of a program together, with room for its arguments. */
#define LOCAL_ENV_MAX (1536 * 1024)
/* How long a KILLed process may take to die before destroy() says so; only a limit. */
#define LOCAL_DEATH_LIMIT_MS 10000

/* ---- env.c: lists of "K=V" ---- */

/* An environment; its texts are secrets and are wiped when they are dropped. */
struct local_env {
	/* NULL-terminated once anything was set; NULL while empty. */
	char **vars;
	size_t len;
};

/* Wipes and frees all variables. */
void local_env_done(struct local_env *env);
/* Whether these variables may be set: SP_INVALID names the first that may not, or its place when it
 * is no name. */
int local_env_check(const struct sp_env *env, size_t n_env, struct sp_error *err);
/* Sets one variable over what is there; 0 or SP_INTERNAL. */
int local_env_put(struct local_env *env, const char *name, const char *value, struct sp_error *err);
/* Sets checked variables: all of them, or none when memory is short. */
int local_env_merge(struct local_env *env, const struct sp_env *vars, size_t n_vars,
		    struct sp_error *err);
/* Puts all variables of `from` over `env`. */
int local_env_overlay(struct local_env *env, const struct local_env *from, struct sp_error *err);

/* ---- drain.c: output that outlives its command ---- */

/*
 * Reads and throws away what background processes write after their
 * command's exit was told, so that they neither stand still nor die of a
 * broken pipe. One thread a provider, started with the first descriptor.
 */
struct local_drain;

/* A drain without a thread yet; SP_IO. */
int local_drain_new(struct local_drain **ret_drain, struct sp_error *err);
/* Takes a non-blocking pipe end over; `owner` groups descriptors for local_drain_forget(). Closes
 * it at once when that fails. */
void local_drain_add(struct local_drain *drain, int fd, const void *owner);
/* Closes all descriptors of `owner`; none is open when this returns. */
void local_drain_forget(struct local_drain *drain, const void *owner);
/* Stops the thread and closes everything; NULL is fine. */
void local_drain_free(struct local_drain *drain);

/* ---- kill.c: finding and ending processes by group and by mark ---- */

/* Which processes are meant: those in `group` (0: none) and those that carry `mark` (NULL: none).
 * Never ourselves. */
struct local_match {
	pid_t group;
	/* "NAME=value" as it stands in the environment. */
	const char *mark;
	/* Left out: a leader that has ended and is kept unreaped so that its group stays its own;
	 * 0: none. */
	pid_t except;
};

/* Processes that are held by pidfd, so that no signal can reach a stranger. */
struct local_found {
	int *fds;
	size_t len;
	/* How many of them have not been seen dead; a dead one's slot is -1. */
	size_t alive;
};

#define LOCAL_FOUND_INIT                                                                           \
	{                                                                                          \
		NULL, 0, 0                                                                         \
	}

void local_found_done(struct local_found *found);
/* One walk over /proc; 0 or -errno. Each process is judged again after its pidfd is open. */
int local_find(const struct local_match *match, struct local_found *ret_found);
/* Signals each; one that may not be signalled is forgotten, since waiting for it could last for
 * ever. */
void local_found_signal(struct local_found *found, int signal);
/* Closes the slots of those that are dead by now; returns how many are left. */
size_t local_found_update(struct local_found *found);
/* Waits until all are dead or an absolute time has come (0: never). True when all are dead. */
bool local_found_wait(struct local_found *found, uint64_t deadline);
/* KILLs what matches and waits for its death, until a walk finds nothing. 0, -ETIMEDOUT or -errno.
 */
int local_sweep(const struct local_match *match, uint64_t deadline);

/* ---- provider.c ---- */

struct local_provider {
	atomic_uint refs;
	char *base_dir;
	struct sp_capabilities caps;
	struct local_drain *drain;
	pthread_mutex_t lock;
	/* Every sandbox object of this provider, so that two handles of one sandbox share it. */
	struct local_sandbox *sandboxes;
};

void local_provider_unref(struct local_provider *provider);

/* ---- sandbox.c ---- */

struct local_sandbox {
	struct local_provider *provider;
	/* Under the provider's lock. */
	unsigned refs;
	struct local_sandbox *next;
	char *id;
	/* <base>/<id>: holds the ownership file and root. */
	char *dir;
	/* <dir>/root: what the sandbox sees as its home; fs calls never leave it. */
	char *root;
	/* <root>/workspace: where /workspace maps to. */
	char *workspace;
	/* "SANDPROOF_SANDBOX=<id>". */
	char mark[LOCAL_MARK_MAX];

	pthread_mutex_t lock;
	/* Signalled when a run leaves `runs`. */
	pthread_cond_t idle;
	bool gone;
	struct local_env env;
	struct local_run *runs;
};

extern const struct sp_sandbox_ops local_sandbox_ops;

/* Makes a sandbox's folders and its object with one reference. */
int local_sandbox_create(struct local_provider *provider, struct local_sandbox **ret_sandbox,
			 struct sp_error *err);
/* One more reference to the sandbox of this id, opened from disk if need be; 0 with NULL when it is
 * gone. */
int local_sandbox_find(struct local_provider *provider, const char *id,
		       struct local_sandbox **ret_sandbox, struct sp_error *err);
void local_sandbox_ref(struct local_sandbox *sandbox);
void local_sandbox_unref(struct local_sandbox *sandbox);
/* A run has ended: takes it out of the list and drops its reference in one step, so that nothing is
 * touched after destroy() was told. */
void local_sandbox_leave(struct local_sandbox *sandbox, struct local_run *run);
/* Ends everything in it and removes its folder; idempotent. */
int local_sandbox_destroy(struct local_sandbox *sandbox, struct sp_error *err);
/* Whether the folder `id` in `base_dir` carries our ownership file: 1, 0 (no such folder),
 * SP_DENIED (it is not ours), SP_IO. */
int local_sandbox_owned(const char *base_dir, const char *id, struct sp_error *err);
/* Whether a text has the shape of our ids: nothing else is ever looked up on disk. */
bool local_id_valid(const char *id);

/* ---- fs.c ---- */

int local_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		  struct sp_cancel *cancel, struct sp_error *err);
int local_fs_write(void *self, const char *path, const void *data, size_t len,
		   struct sp_cancel *cancel, struct sp_error *err);
int local_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
		  struct sp_cancel *cancel, struct sp_error *err);
int local_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err);
int local_fs_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err);
int local_fs_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		    struct sp_error *err);
int local_fs_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		    struct sp_error *err);
int local_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat, struct sp_cancel *cancel,
		   struct sp_error *err);

/* ---- run.c: one command from its start to its end ---- */

/* One output stream. */
struct local_stream {
	/* -1 once it has ended or was handed to the drain. */
	int fd;
	/* Unread bytes are data[head..len). */
	struct sp_buf buf;
	size_t head;
	/* No more bytes will come. */
	bool ended;
	/* Bytes beyond the cap were dropped (exec only). */
	bool cut;
};

struct local_waiter;

struct local_run {
	atomic_uint refs;
	struct local_sandbox *sandbox;
	/* In sandbox->runs, under the sandbox's lock. */
	struct local_run *next;
	/* "SANDPROOF_RUN=<id>". */
	char mark[LOCAL_MARK_MAX];
	/* exec() keeps a prefix and drops the rest; spawn() holds and then stands still. */
	bool keeps_prefix;
	uint64_t limit;
	struct sp_cancel *cancel;

	pthread_mutex_t lock;
	struct sp_child child;
	struct local_stream streams[2];
	/* Wakes the pump. */
	int wake;
	/* Calls that wait for a change. */
	struct local_waiter *waiters;

	/* A call that writes to stdin keeps it open. */
	int in;
	unsigned in_users;
	bool in_closed;

	/* Nobody will read any more: output is thrown away. */
	bool released;
	/* Somebody ends it: `how` and the time at which KILL follows are set. */
	bool ending;
	bool escalated;
	uint64_t grace_end;
	enum sp_exit_how how;
	/* The process can no longer act; everything but the unread output is closed. */
	bool ended;
	struct sp_exit exit;
};

/* `how` of a run that destroy() of its sandbox ends: not this handle's doing. */
#define LOCAL_DESTROYED SP_SIGNALLED

/* Starts a command of `sandbox` that nobody pumps yet; one reference. */
int local_run_start(struct local_sandbox *sandbox, const struct sp_exec_options *options,
		    bool keeps_prefix, struct local_run **ret_run, struct sp_error *err);
void local_run_ref(struct local_run *run);
void local_run_unref(struct local_run *run);
/* Moves bytes and waits until the command has ended and was cleared up. Called by exactly one
 * thread. */
void local_run_pump(struct local_run *run);
/* Ends it as kill() does; does nothing once its leader has exited. Never waits. */
void local_run_end(struct local_run *run, int signal, enum sp_exit_how how);
/* True once the leader has exited, whether or not the pump has noticed; run->lock is held. */
bool local_run_leader_exited(const struct local_run *run);
/* Waits with run->lock held (given up meanwhile) until something changed; 0, SP_ABORTED,
 * SP_TIMED_OUT, SP_IO. */
int local_run_wait_change(struct local_run *run, struct sp_cancel *cancel, struct sp_error *err);
/* Tells every waiting call that something changed; run->lock is held. */
void local_run_changed(struct local_run *run);
/* Tells the pump that something changed; run->lock is held. */
void local_run_wake_pump(struct local_run *run);
/* Same, for waiting calls that poll by themselves: see write_stdin. */
struct local_waiter {
	int fd;
	struct local_waiter *next;
};
int local_waiter_add(struct local_run *run, struct local_waiter *waiter, struct sp_error *err);
void local_waiter_remove(struct local_run *run, struct local_waiter *waiter);

/* ---- exec.c, process.c ---- */

int local_exec(void *self, const struct sp_exec_options *options, struct sp_exec_result *ret_result,
	       struct sp_error *err);
int local_spawn(void *self, const struct sp_exec_options *options, struct sp_process *ret_process,
		struct sp_error *err);

extern const struct sp_process_ops local_process_ops;

/* pthread_mutex_t * cleanup: LOCAL_LOCK(&thing->lock) holds until the block ends. */
static inline void local_unlock(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

static inline pthread_mutex_t *local_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

#define LOCAL_LOCK(mutex)                                                                          \
	pthread_mutex_t *locked_ SP_CLEANUP(local_unlock) SP_UNUSED = local_lock(mutex)

#endif
