/* SPDX-License-Identifier: MIT */
/*
 * A call of the subject on a thread of its own: start it, ask whether it is
 * pending, join it with its results.
 *
 *	struct sp_call *call SP_CALL = sp_call_wait(t, &process);
 *
 * Each call has a cancel of its own. It fires when the case's cancel fires (so
 * nothing hangs for good) and when the scope is left while the call is
 * pending (then it is aborted and joined); no thread is ever detached.
 * Everything handed to a call is borrowed until it is joined.
 */
#ifndef SP_WITNESS_CALL_H
#define SP_WITNESS_CALL_H

#include <base/cleanup.h>
#include <sandproof/case.h>

struct sp_call;

#define SP_CALL SP_CLEANUP(sp_call_done)

/* What a call left; owned by the call and valid once it is joined. */
struct sp_call_result {
	/* What the call answered. */
	int rc;
	struct sp_error err;
	/* Of wait(). */
	struct sp_exit exit;
	/* Of exec(). */
	struct sp_exec_result exec;
	/* Of spawn(); whoever wants to keep it takes it (sp_spawned_take). */
	struct sp_process process;
	/* Of read(): everything up to the end of the stream. */
	struct sp_bytes bytes;
};

/*
 * Any call: `fn` runs on the thread with the call's cancel and fills `result`.
 * Each function here returns NULL after a recorded error; the others accept NULL and
 * then say "not pending" and "no result".
 */
typedef int (*sp_call_fn)(void *arg, struct sp_cancel *cancel, struct sp_call_result *result);
struct sp_call *sp_call_start(struct sp_case *t, sp_call_fn fn, void *arg);

/* sp_sandbox_exec(); the options are copied, their cancel is replaced by the call's. */
struct sp_call *sp_call_exec(struct sp_case *t, struct sp_sandbox *sandbox,
			     const struct sp_exec_options *options);
/*
 * sp_sandbox_spawn(); the options' cancel stays the caller's, or is the
 * call's own where they have none.
 */
struct sp_call *sp_call_spawn(struct sp_case *t, struct sp_sandbox *sandbox,
			      const struct sp_exec_options *options);
/* sp_process_wait(). */
struct sp_call *sp_call_wait(struct sp_case *t, struct sp_process *process);
/* sp_process_kill(). */
struct sp_call *sp_call_kill(struct sp_case *t, struct sp_process *process, int signal);
/*
 * sp_process_read() until the end of the stream; at most `max` bytes are
 * kept, more are read and dropped.
 */
struct sp_call *sp_call_read(struct sp_case *t, struct sp_process *process, enum sp_stream stream,
			     size_t max);
/* sp_sandbox_destroy(). */
struct sp_call *sp_call_destroy(struct sp_case *t, struct sp_sandbox *sandbox);

/* True until the call has answered. */
bool sp_call_pending(struct sp_call *call);
/*
 * True while the call is pending and its thread sleeps: it has come to where it waits. For calls
 * whose rounds cost less than the start of a thread.
 */
bool sp_call_asleep(struct sp_call *call);
/* Whether a thread of this machine sleeps; of a process, `tid` is its `pid`. False for none. */
bool sp_thread_asleep(int pid, int tid);
/* Aborts the call's own cancel. */
void sp_call_abort(struct sp_call *call, const char *reason);
/* The call's own cancel, to set a deadline on it. Borrowed. */
struct sp_cancel *sp_call_cancel(struct sp_call *call);
/* Waits for the answer; may be called again. NULL for a NULL call. */
struct sp_call_result *sp_call_join(struct sp_call *call);
/* See SP_CALL. */
void sp_call_done(struct sp_call **call);

#endif
