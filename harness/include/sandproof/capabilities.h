/* SPDX-License-Identifier: MIT */
/*
 * What a provider, store or lock declares. A declaration is a claim that the
 * suites test both ways: each field says what *true* must prove and what
 * *false* must refuse. A declaration is constant for the life of a provider.
 */
#ifndef SANDPROOF_CAPABILITIES_H
#define SANDPROOF_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How far kill(), abort and destroy of one command reach. Each value includes the ones before it.
 */
enum sp_kill_reach {
	/* Nothing is claimed; required value when `killable_processes` is false. */
	SP_REACH_NONE = 0,
	/* Everything that is still in the command's process group. */
	SP_REACH_GROUP,
	/*
	 * Also processes that left the group (setsid) but still carry the
	 * environment given to the command.
	 */
	SP_REACH_SESSION,
	/*
	 * Also a double fork with an empty environment; short only of a
	 * process that removes its own mark.
	 */
	SP_REACH_TREE,
};

/* What the bytes of an output stream are. */
enum sp_output {
	/* Exactly the bytes that were written. */
	SP_OUTPUT_BYTES = 0,
	/* UTF-8 text: a byte that is not valid UTF-8 arrives as U+FFFD. */
	SP_OUTPUT_UTF8,
};

/* Bits of `snapshot_kinds`. */
enum sp_snapshot_kind {
	SP_SNAPSHOT_FILESYSTEM = 1,
	SP_SNAPSHOT_RUNTIME = 2,
};

/* Bits of `signals`: one for each signal number, so that bit n stands for signal n (1 to 63). */
#define SP_SIGNAL_BIT(n) (UINT64_C(1) << (n))

#define SP_CAPABILITIES_VERSION 1

/* The declaration of a sandbox provider. */
struct sp_capabilities {
	unsigned version;

	/* The contract's eleven flags (sandbox-contract 1.2). */

	/* Files can be read and written. True for every provider; false fails `caps`. */
	bool fs;
	/* Commands can be run. True for every provider; false fails `caps`. */
	bool exec;
	/* env_set() reaches later commands. False: env_set() answers SP_UNSUPPORTED. */
	bool env;
	/* port_connect() gives a URL that answers. False: SP_UNSUPPORTED. */
	bool ports;
	/*
	 * A spawned process outlives the call that started it. False:
	 * spawn() answers SP_UNSUPPORTED.
	 */
	bool background_processes;
	/*
	 * write_stdin() reaches the process and close_stdin() is its end of file. False: both
	 * SP_UNSUPPORTED, nothing is swallowed.
	 */
	bool writable_stdin;
	/*
	 * kill() and abort end the process *inside the sandbox*, as far as `kill_reach` says.
	 * False: kill() answers SP_UNSUPPORTED.
	 */
	bool killable_processes;
	/* snapshot(), restore() and snapshot_delete() work. False: all three SP_UNSUPPORTED. */
	bool snapshots;
	/*
	 * A network policy given at create is enforced. False: a policy other than
	 * default answers SP_UNSUPPORTED.
	 */
	bool network_policy;
	/*
	 * Files survive stop and start without a snapshot. Proven by stopping; false is not tested.
	 */
	bool durable_filesystem;
	/* fork() gives an independent sandbox with the same files. False: SP_UNSUPPORTED. */
	bool fork;

	/* What goes beyond the flags. */

	/*
	 * How far a kill reaches. A shape beyond the declared reach is a named skip, never a pass.
	 */
	enum sp_kill_reach kill_reach;
	/*
	 * Milliseconds between the signal asked for and the KILL that
	 * follows it if anything survives.
	 */
	uint32_t kill_grace_ms;
	/*
	 * Signals that signal() delivers exactly as told (SP_SIGNAL_BIT); 0:
	 * signal() answers SP_UNSUPPORTED.
	 */
	uint64_t signals;
	/*
	 * True: when wait() resolves, nothing of the command's group runs any more. False:
	 * background children live on.
	 */
	bool exit_reaps_group;
	/* What read() and exec() deliver. */
	enum sp_output output;
	/*
	 * Bytes kept of each stream of exec(); what follows is dropped
	 * and reported as cut. 0: no cap.
	 */
	uint64_t output_cap;
	/*
	 * Bytes of unread output of a spawned process that are held per stream before it is made
	 * to stand still. 0: pipe only.
	 */
	uint64_t unread_bound;
	/* SP_SNAPSHOT_* bits; 0 exactly when `snapshots` is false. */
	unsigned snapshot_kinds;
	/*
	 * Absolute path of a memory-backed directory that no filesystem snapshot
	 * holds, or NULL. Static text.
	 */
	const char *memory_dir;
	/* True: the sandbox can be suspended and a command wakes it. */
	bool suspension;
	/* True: fs_write() shows readers the old or the new content, never a mixture. */
	bool atomic_write;
	/*
	 * True: a lock in the sandbox keeps other processes from writing the environment during a
	 * runtime snapshot. False: only the caller's own lock does.
	 */
	bool snapshot_lock;
	/*
	 * True: a journal is read by following (spawn); false: by polling (exec). Must equal
	 * background_processes && killable_processes.
	 */
	bool follow;
};

/* Everything false, zero and NULL, with the version set. */
#define SP_CAPABILITIES_INIT { .version = SP_CAPABILITIES_VERSION }

#define SP_STORE_CAPABILITIES_VERSION 1

/* The declaration of an instance store. */
struct sp_store_capabilities {
	unsigned version;
	/*
	 * Records survive closing and reopening, and kill -9 after an acknowledged write.
	 * False: a reopened store is empty.
	 */
	bool durable;
	/*
	 * Several processes may use it at once. False: a second process is
	 * refused or sees its own store.
	 */
	bool multi_process;
	/* upsert() honours a fence. False: a fence answers SP_UNSUPPORTED. */
	bool fence;
};

#define SP_STORE_CAPABILITIES_INIT { .version = SP_STORE_CAPABILITIES_VERSION }

#define SP_LOCK_CAPABILITIES_VERSION 1

/* The declaration of a lock service. */
struct sp_lock_capabilities {
	unsigned version;
	/*
	 * A holder can lose the lock, and its lease's lost signal then fires.
	 * False: a lease is never lost.
	 */
	bool lease;
	/* It excludes between processes. False: only within one. */
	bool multi_process;
	/* Leases carry growing fencing tokens. False: `fence` is always 0. */
	bool fence;
};

#define SP_LOCK_CAPABILITIES_INIT { .version = SP_LOCK_CAPABILITIES_VERSION }

#ifdef __cplusplus
}
#endif
#endif
