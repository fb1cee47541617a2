/* SPDX-License-Identifier: MIT */
/*
 * One served connection from inside. Each request runs on a thread of its own, so that a kill gets
 * by a read that waits. One thread at a time has the turn to read. It puts it down while it carries
 * a request out, and takes it up again when that was done before the next request came; otherwise
 * the kernel wakes one that waits for it. So short calls, one after another, wake nobody.
 */
#ifndef SP_DRIVER_SERVER_H
#define SP_DRIVER_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include <base/cleanup.h>

#include "lines.h"
#include "serve.h"
#include "value.h"

enum serve_kind {
	SERVE_SANDBOX,
	SERVE_PROCESS,
	SERVE_LEASE,
	SERVE_READER,
};

struct serve;

/* Something that the client holds by a handle. */
struct serve_handle {
	struct serve_handle *next;
	struct serve *serve;
	enum serve_kind kind;
	char name[24];
	/* The list and the calls that use it. */
	unsigned refs;
	union {
		struct sp_sandbox sandbox;
		struct sp_process process;
		struct sp_lease lease;
		struct sp_journal_reader reader;
	};
	/* Of a process or reader: what `$/cancel` fires. Of a lease: its lost signal, borrowed. */
	struct sp_cancel *cancel;
	uint64_t watch;
};

/* A request that is being carried out. */
struct serve_call {
	struct serve_call *next;
	struct serve *serve;
	int64_t id;
	/* Waits for what others do, perhaps for ever: given up at the end of the input. */
	bool waits;
	struct sp_cancel *cancel;
	/* What it works on; given back at its end. */
	struct serve_handle *handle;
	/* A lease that may be told to be lost once the answer is out. */
	struct serve_handle *made_lease;
};

struct serve {
	const struct sp_serve_offer *offer;
	int out;
	size_t max_frame;
	bool initialized;

	/* Of whoever has the turn. */
	int in;
	struct drv_lines lines;
	/* The client said what it may not say. */
	struct sp_error problem;
	/* What waits for the turn waits for this: `in` while the turn is down, and `more`. */
	int gate;
	/* An event: there are lines that were read, or the end; `in` tells of neither. */
	int more;
	/* `in` is a file, of which there is always more. */
	bool is_file;
	/* An event: the input has ended and the last call is over. */
	int drained;

	pthread_mutex_t writing;

	/* All below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool turn_is_down, ended;
	unsigned threads, idle;
	struct serve_call *calls;
	struct serve_handle *handles;
	uint64_t last_handle;
	/* Cancels that never fired and are used again: making one takes system calls. */
	struct sp_cancel *spare[8];
	size_t n_spare;
};

/*
 * Carries one method out: appends the members of the result. 0, or a code with `err` filled.
 */
typedef int (*serve_fn)(struct serve_call *call, cJSON *params, struct sp_buf *result,
			struct sp_error *err);

/* One row of a table of methods. */
struct serve_method {
	const char *name;
	serve_fn fn;
};

/* Ended by a row without name. */
extern const struct serve_method serve_provider_methods[];
extern const struct serve_method serve_sandbox_methods[];
extern const struct serve_method serve_process_methods[];
extern const struct serve_method serve_store_methods[];
extern const struct serve_method serve_journal_methods[];

/* ---- The turn to read; what is not said to be otherwise needs it ---- */

/* 0, or an error without descriptors. Whoever opens has the turn. */
int serve_turn_open(struct serve *serve, struct sp_error *err);
void serve_turn_close(struct serve *serve);
/* Puts it down. */
void serve_turn_put(struct serve *serve);
/* Without it: takes it up when nobody else did. */
bool serve_turn_try(struct serve *serve);
/* Without it: waits for it. False when there is nothing more to read. */
bool serve_turn_wait(struct serve *serve);
/* There is nothing more to read: whoever waits is told. */
void serve_turn_end(struct serve *serve);

/* Sends one line; `frame` ends with its newline. */
void serve_send(struct serve *serve, const struct sp_buf *frame);

/* ---- Handles ---- */

/* A new handle, in the list, with one more reference for the caller; NULL without memory. */
struct serve_handle *serve_handle_new(struct serve *serve, enum serve_kind kind);
/* The one that params name, for the length of the call; SP_INVALID when there is none. */
int serve_handle_get(struct serve_call *call, const cJSON *params, enum serve_kind kind,
		     struct serve_handle **ret_handle, struct sp_error *err);
void serve_handle_put(struct serve_handle *handle);
/* Takes it out of the list and ends the other calls that use it. */
void serve_handle_close(struct serve_call *call, struct serve_handle *handle);
/* Fires the cancel of a handle by its name. */
void serve_handle_cancel(struct serve *serve, enum serve_kind kind, const char *name,
			 const cJSON *why);
/* Appends how many watchers the table left on a cancel of what is finished, where there are any. */
void serve_put_listeners(struct sp_buf *result, struct sp_cancel *cancel);
/* Fires a cancel as `$/cancel` says. */
void serve_fire(struct sp_cancel *cancel, const cJSON *why);

/* Registers a sandbox, process or lease and appends its handle; done with it on failure. */
int serve_put_sandbox(struct serve *serve, struct sp_sandbox *sandbox, struct sp_buf *result,
		      struct sp_error *err);
int serve_put_process(struct serve *serve, struct sp_process *process, struct sp_cancel *cancel,
		      struct sp_buf *result, struct sp_error *err);

#endif
