/* SPDX-License-Identifier: MIT */
/*
 * One running driver from inside the client. Whoever has the turn reads what the driver says, a
 * caller that waits or the driver's own thread; that one also writes what did not fit into the pipe
 * at once. So no call ever waits for another one; callers wait for their own answer alone.
 */
#ifndef SP_DRIVER_CONN_H
#define SP_DRIVER_CONN_H

#include <pthread.h>
#include <stdatomic.h>

#include <base/child.h>
#include <base/json.h>

#include "driver.h"
#include "lines.h"
#include "trace.h"
#include "value.h"

/* Bytes of the driver's standard error that are kept. */
#define DRV_TAIL_MAX 4096

struct drv_call;

/*
 * Called by whoever reads when the answer of a posted call is there, whatever it is; `call` is
 * NULL when it could not be sent. The answer may be taken out of it.
 */
typedef void (*drv_answered_fn)(void *arg, struct drv_call *call);
/* Called by whoever reads with a notification of the driver; `params` may be NULL. */
typedef void (*drv_heard_fn)(void *arg, const char *method, const cJSON *params);

/* A request that is not answered yet. */
struct drv_call {
	struct drv_call *next;
	int64_t id;
	/* Where its frame begins in all that was sent. */
	uint64_t begins;
	/* Static. */
	const char *method;
	/* Becomes readable when there is something to look at; kept for the next call. */
	int event;
	bool done;
	/* The whole answer, or NULL and an error. */
	cJSON *answer;
	struct sp_error err;
	/* Nobody waits: whoever reads frees it. */
	bool posted;
	drv_answered_fn answered;
	void *arg;
};

/* Whose turn it is to read what the driver says. */
enum drv_turn {
	DRV_TURN_FREE,
	/* The leader's: a caller that waits for its answer. */
	DRV_TURN_CALLER,
	DRV_TURN_THREAD,
};

/* A cancel that outlives its call: of a process or of a reader. */
struct drv_watch {
	struct drv_watch *next;
	uint64_t id;
	struct sp_cancel *cancel;
	/* Of the cancel's descriptor: several watches may have the same cancel. */
	int fd;
	/* "process" or "reader", and the handle. */
	const char *kind;
	char *handle;
};

/* A lease that may be lost. */
struct drv_lease;

/* A sandbox by its id, for journals. */
struct drv_sandbox;

struct sp_driver {
	atomic_uint refs;
	pthread_mutex_t lock;
	pthread_t io;
	bool io_started;
	/* Wakes the thread: something to write, to watch, or the end. */
	int wake;

	struct sp_child child;
	/* Attached: a socket is both. -1 when closed. */
	int in, out, err;
	bool attached;
	uint64_t grace_ms;
	/* Value of the mark in its environment. */
	char mark[33];

	enum drv_turn turn;
	struct drv_call *leader;
	/* The thread waits for the turn; callers give it up and do not take it. */
	bool thread_wants;
	pthread_cond_t turn_free;
	/* Readable when something came while the turn was free. */
	int gate;
	/* Of whoever has the turn. */
	struct drv_lines lines;
	/* Bytes of all frames so far. */
	uint64_t sent;
	/* What the pipe did not take yet. */
	struct sp_buf outgoing;
	size_t max_frame;
	int64_t last_id;
	struct drv_call *calls;
	struct drv_call *spare;
	struct drv_watch *watches;
	uint64_t last_watch;
	/* Readable when one of the watched cancels has fired; the thread's. */
	int fired;
	struct drv_lease *leases;
	struct drv_sandbox *sandboxes;
	/* Last words, oldest first. */
	struct sp_buf tail;

	/* When `initialize` must have been answered; 0: no limit, or it was. */
	uint64_t start_deadline;
	bool closing;
	bool broken;
	/* Why it is broken; told once. */
	struct sp_error cause;
	bool told;
	/* First violation since the last check. */
	struct sp_error violation;

	/* What `initialize` answered. */
	char *name, *version;
	bool has_provider, has_store, has_lock, has_journal;
	char *provider_name, *memory_dir;
	struct sp_capabilities provider;
	struct sp_store_capabilities store;
	struct sp_lock_capabilities lock_caps;

	struct drv_trace *trace;
	/* Takes what the driver tells unasked, instead of the client's tables; or NULL. */
	drv_heard_fn heard;
	void *heard_arg;
};

/*
 * Calls and waits for the answer. `params` is a whole JSON object; its latched error (a frame
 * beyond the ceiling) is SP_INVALID. `cancel` is passed on; the answer is waited for all the same.
 * `ret_result` may be NULL; free it with cJSON_Delete().
 */
int drv_call(struct sp_driver *driver, const char *method, struct sp_buf *params,
	     struct sp_cancel *cancel, cJSON **ret_result, struct sp_error *err);
/*
 * Calls without waiting. `answered` may be NULL; it is called in any case, also on failure. The id
 * of the request, or 0 when it could not be sent.
 */
int64_t drv_post(struct sp_driver *driver, const char *method, struct sp_buf *params,
		 drv_answered_fn answered, void *arg);
/* Sends a notification. */
void drv_notify(struct sp_driver *driver, const char *method, const struct sp_buf *params);
/* An answer that makes no sense: the driver is broken. Returns SP_PROTOCOL with the reason. */
int drv_nonsense(struct sp_driver *driver, const char *method, struct sp_error *err);
/* Breaks the driver, if it is not broken yet; every call ends. */
void drv_break(struct sp_driver *driver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Has the cancel told to the driver by handle until it is unwatched; NULL without memory. */
struct drv_watch *drv_watch(struct sp_driver *driver, struct sp_cancel *cancel, const char *kind,
			    const char *handle);
void drv_unwatch(struct sp_driver *driver, struct drv_watch *watch);
/*
 * Leaves as many watchers on the cancel as the result of a finished call says that the driver's own
 * back end left listeners. SP_INVALID for nonsense.
 */
int drv_leave_listeners(struct sp_cancel *cancel, const cJSON *result, struct sp_error *err);

/* ---- Between the parts ---- */

/*
 * Like sp_driver_open(), but nothing is said yet, `initialize` included: what is said is up to the
 * caller, and so is the time that its answer may take.
 */
int drv_open_silent(const struct sp_driver_options *options, drv_heard_fn heard, void *heard_arg,
		    struct sp_driver **ret_driver, struct sp_error *err);
/* Starts the program or connects; no thread yet. */
int drv_start(struct sp_driver *driver, const struct sp_driver_options *options,
	      struct sp_error *err);
/* Has the gate watch the output. Before there is a thread. */
int drv_turn_open(struct sp_driver *driver, struct sp_error *err);
/*
 * Takes the turn for a caller, when it is free: the descriptor to wait for, or -1. The caller then
 * reads by drv_turn_read() and asks drv_turn_is_over() after each step.
 */
int drv_turn_lead(struct sp_driver *driver, struct drv_call *call);
/* Reads once and hands over what came. False when only the thread can tell what is wrong. */
bool drv_turn_read(struct sp_driver *driver);
/*
 * Whether the call is answered. If it led, the turn is free again: then, when it reads no more
 * (`reads` is false), or when the thread wants it.
 */
bool drv_turn_is_over(struct sp_driver *driver, struct drv_call *call, bool *reads);
/* The thread's: takes the turn when the gate told of something and nobody has it. */
bool drv_turn_take(struct sp_driver *driver);
/* The thread's: has the turn, as soon as the caller that reads has given it up. */
void drv_turn_insist(struct sp_driver *driver);
/* The thread's: gives it back. */
void drv_turn_give(struct sp_driver *driver);
/* What the thread runs. */
void *drv_io_main(void *driver);
void drv_wake(struct sp_driver *driver);
/* Hands over the whole lines that were read. With the turn. */
void drv_dispatch_lines(struct sp_driver *driver);
/* Writes what the pipe takes; called with the lock held. False: the input is closed. */
bool drv_flush(struct sp_driver *driver);
/* Sends a frame that ends with its newline; called with the lock held. */
void drv_send(struct sp_driver *driver, const struct sp_buf *frame);
/*
 * The answer of a call, or the driver's end, is there; called with the lock held. `wake`: who waits
 * is another thread.
 */
void drv_finish_call(struct sp_driver *driver, struct drv_call *call, bool wake);
/* Ends every call with an error; called with the lock held. */
void drv_fail_calls(struct sp_driver *driver);
/*
 * Tells the driver why a call (`handle` NULL), or what it made, is cancelled; called with the lock
 * held.
 */
void drv_send_cancel(struct sp_driver *driver, const char *kind, const char *handle, int64_t id,
		     const struct sp_error *why);
/* The thread's: tells the driver of a cancel that has fired. */
void drv_look_at_watches(struct sp_driver *driver);
/* `lock/lost` of the driver. */
void drv_lease_lost(struct sp_driver *driver, const cJSON *params);
/* Frees what is left of the leases' list. */
void drv_leases_done(struct sp_driver *driver);
/*
 * Ends the program and everything that it started: the end of its input and the grace (or none,
 * when it is not asked), TERM, the grace again, KILL.
 */
void drv_end(struct sp_driver *driver, bool ask);
/* KILLs whatever carries the driver's group, descent or mark, walk after walk until none is left.
 */
void drv_kill_tree(struct sp_driver *driver);
/* Reads what there is on standard error; closes it at its end. With the lock held. */
void drv_drain_err(struct sp_driver *driver);
/* The program is on its way out, so that its end is worth waiting for. */
bool drv_is_ending(struct sp_driver *driver);
/* Waits up to `ms` for the program's end, and reads what it still says. True when it ended. */
bool drv_await_end(struct sp_driver *driver, uint64_t ms);

#endif
