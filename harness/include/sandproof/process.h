/* SPDX-License-Identifier: MIT */
/*
 * A process that was spawned in a sandbox.
 *
 * Threads: all calls may be made from any thread; at most one reader a stream
 * at a time. kill(), signal() and release() never wait for a read or a wait.
 *
 * Unread output: a provider holds up to `unread_bound` bytes of each stream
 * for a reader that has not come yet; past the bound the process stands still
 * until somebody reads or kills. Nothing is lost, and kill never waits for a
 * reader. wait() therefore resolves without a reader as long as the unread
 * output fits the bound.
 */
#ifndef SANDPROOF_PROCESS_H
#define SANDPROOF_PROCESS_H

#include <sandproof/cancel.h>
#include <sandproof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a process ended. Exactly one holds (field:K24). */
enum sp_exit_how {
	/* It ended by itself; `code` is its exit code. */
	SP_EXITED = 0,
	/*
	 * A signal that this handle did not send ended it. A provider that sees
	 * only the code says SP_EXITED.
	 */
	SP_SIGNALLED,
	/* kill() of this handle ended it, before or after it started. */
	SP_KILLED,
	/* The cancel given to exec() or spawn() was aborted. */
	SP_EXIT_ABORTED,
	/* The deadline of that cancel passed. */
	SP_EXIT_TIMED_OUT,
};

/* How a process ended. */
struct sp_exit {
	enum sp_exit_how how;
	/*
	 * 0 to 255. Death by signal n is 128 + n and never 0; a process
	 * killed before it started is 143.
	 */
	int code;
	/* Signal number where the provider knows it, else 0. */
	int signal;
};

#define SP_PROCESS_VERSION 1

struct sp_process_ops {
	unsigned version;

	/*
	 * Waits for bytes of one stream and copies up to `max` of them to
	 * `buffer`. `*ret_len` = 0 means the end of the stream, again and again.
	 * The streams end when the process has ended or was killed. A character
	 * is delivered whole where `output` is utf8, unless `max` is below 4.
	 * Errors: SP_ABORTED, SP_TIMED_OUT (of `cancel`; the stream stays
	 * readable), SP_UNKNOWN_OUTCOME (transport ended without an exit).
	 */
	int (*read)(void *self, enum sp_stream stream, void *buffer, size_t max, size_t *ret_len,
		    struct sp_cancel *cancel, struct sp_error *err);

	/*
	 * Writes all `len` bytes to the process's stdin. SP_UNSUPPORTED without
	 * writable_stdin; SP_GONE after it ended.
	 */
	int (*write_stdin)(void *self, const void *data, size_t len, struct sp_cancel *cancel,
			   struct sp_error *err);

	/*
	 * End of file for the process once everything written was read. Idempotent.
	 * SP_UNSUPPORTED without writable_stdin.
	 */
	int (*close_stdin)(void *self, struct sp_error *err);

	/*
	 * Waits until the process can no longer act, and says how it ended. May
	 * be called at any time, any number of times, from several threads.
	 * `cancel` ends only this waiting. Errors: SP_ABORTED, SP_TIMED_OUT,
	 * SP_UNKNOWN_OUTCOME.
	 */
	int (*wait)(void *self, struct sp_exit *ret_exit, struct sp_cancel *cancel,
		    struct sp_error *err);

	/*
	 * Ends it: sends `signal`, then KILL after the declared grace if
	 * anything within the declared reach survives; SIGKILL goes at once.
	 * TERM, INT, HUP, QUIT and KILL are sent as asked; every other one
	 * becomes KILL; 0 means TERM. When it returns 0 everything within
	 * reach is dead, or the process will never start. Idempotent; after the exit it
	 * does nothing and signals nobody. Errors: SP_UNSUPPORTED,
	 * SP_UNAVAILABLE, SP_DENIED, SP_ABORTED, SP_TIMED_OUT.
	 */
	int (*kill)(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err);

	/*
	 * Optional. Tells it: delivers exactly `signal` to the command's process group, and nothing
	 * after it. SP_UNSUPPORTED for one outside `signals`; SP_GONE after the exit.
	 */
	int (*signal)(void *self, int signal, struct sp_cancel *cancel, struct sp_error *err);

	/*
	 * Drops the handle and leaves the process as it is. Never fails,
	 * never waits for the process.
	 */
	void (*release)(void *self);
};

/* A reference to a process: two pointers, copied freely; release it once. */
struct sp_process {
	const struct sp_process_ops *ops;
	void *self;
};

#define SP_PROCESS_INIT { NULL, NULL }

/* Callers use these: they answer SP_UNSUPPORTED where a table has no entry. */

/* See sp_process_ops.read. */
int sp_process_read(struct sp_process *process, enum sp_stream stream, void *buffer, size_t max,
		    size_t *ret_len, struct sp_cancel *cancel, struct sp_error *err);
/* See sp_process_ops.write_stdin. */
int sp_process_write_stdin(struct sp_process *process, const void *data, size_t len,
			   struct sp_cancel *cancel, struct sp_error *err);
/* See sp_process_ops.close_stdin. */
int sp_process_close_stdin(struct sp_process *process, struct sp_error *err);
/* See sp_process_ops.wait. */
int sp_process_wait(struct sp_process *process, struct sp_exit *ret_exit, struct sp_cancel *cancel,
		    struct sp_error *err);
/* See sp_process_ops.kill. */
int sp_process_kill(struct sp_process *process, int signal, struct sp_cancel *cancel,
		    struct sp_error *err);
/* See sp_process_ops.signal. */
int sp_process_signal(struct sp_process *process, int signal, struct sp_cancel *cancel,
		      struct sp_error *err);
/* Releases the handle and clears the reference; a cleared one is fine. */
void sp_process_done(struct sp_process *process);

#ifdef __cplusplus
}
#endif
#endif
