/* SPDX-License-Identifier: MIT */
/*
 * What the service knows: workspaces, their sandboxes, and the records of
 * what was run or transferred. A workspace has a clock of its own, which
 * control can move forward.
 */
#ifndef FAKE_RENDER_API_MODEL_H
#define FAKE_RENDER_API_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <cjson/cJSON.h>

#include <base/buf.h>
#include <fakes/render-api/api.h>
#include <fakes/render-api/hold.h>
#include <fakes/render-api/record.h>

/* "xxx-" and 20 characters. */
#define ID_SIZE 25
/* "sbx-" and 25 characters. */
#define SANDBOX_ID_SIZE 30
/* Command text kept by the service's records. */
#define TIMELINE_TEXT 4096
/* Milliseconds that a token lives. */
#define TOKEN_LIFE_MS 300000

TAILQ_HEAD(sandbox_list, sandbox);
TAILQ_HEAD(snapshot_list, snapshot);
TAILQ_HEAD(exec_list, exec);
TAILQ_HEAD(waker_list, waker);

struct workspace {
	struct api *api;
	TAILQ_ENTRY(workspace) entry;
	char id[ID_SIZE];
	char group_id[ID_SIZE];
	char user_id[ID_SIZE];
	char api_key[API_TOKEN_LEN + 1];
	/* First characters of the ids of its sandboxes, as on the service. */
	char prefix[6];
	int64_t created_ms;
	/* The server's switches at first; control turns them on and off. */
	api_faults faults;
	/* How far control moved the clock. */
	int64_t clock_ahead_ms;
	struct request_log log;
	struct hold_list holds;
	struct failure_list failures;
	/* Newest first. */
	struct sandbox_list sandboxes;
	size_t n_terminated;
	uint64_t last_sandbox;
	/* Newest first; those that are gone are remembered for a while. */
	struct snapshot_list snapshots;
	size_t n_gone;
	uint64_t last_snapshot;
	/* Counts what became available. */
	uint64_t last_available;
	/* The minute that is being counted, and its requests. */
	int64_t rate_start_ms;
	int64_t rate_used;
};

/* A new workspace with ids and a key of its own; NULL when memory is short. */
struct workspace *workspace_new(struct api *api);
/* Every sandbox of it is terminated already. */
void workspace_free(struct workspace *workspace);
struct workspace *workspace_find(struct api *api, const char *id);
struct workspace *workspace_find_key(struct api *api, const char *api_key);
/* Its clock, milliseconds since 1970. */
int64_t workspace_now(const struct workspace *workspace);
/* Ends or suspends what has reached its time; drops tokens that expired. */
void workspace_tick(struct workspace *workspace);

/* How a sandbox reaches the network; the policy's wire name is kept for the echo. */
struct network_policy {
	const char *name;
	char **domains;
	size_t n_domains;
};

struct sandbox {
	struct workspace *workspace;
	TAILQ_ENTRY(sandbox) entry;
	/* Position in the order of creation; the cursor of a list. */
	uint64_t number;
	char id[SANDBOX_ID_SIZE];
	/* NULL once it is terminated, proven, and nobody reads from it any more. */
	struct fake_sandbox *handle;
	const char *plan;
	struct network_policy network;
	int64_t timeout_s;
	int64_t idle_s;
	int64_t created_ms;
	/* When it last began to run, and when something was last done in it. */
	int64_t awake_ms;
	int64_t active_ms;
	/* Not `running` before this (slow boot). */
	int64_t boot_ms;
	/* 0 until it was asked to end. */
	int64_t terminated_ms;
	bool boot_failed;
	/* Restored: the hold that stands before it begins, or before it is told that it is done. */
	struct hold *restore_hold;
	bool begun;
	/* Source of the snapshot that it is restored from, or "". */
	char source_id[SANDBOX_ID_SIZE];
	/* The engine has proven that nothing of it is left. */
	bool proven;
	/* The boot and the ends that the engine still owes an answer for. */
	unsigned n_pending;
	/* Streams and transfers that hold something of the engine's. */
	unsigned users;
	/* Requests that point here. */
	unsigned n_requests;
	/* Newest first. */
	struct exec_list execs;
	size_t n_execs;
	uint64_t last_exec;
	/* Requests that wait until it is awake; the hold that stands in between, if any. */
	struct waker_list wakers;
	bool waking;
	struct hold *wake_hold;
	/*
	 * On its way to suspension, and the hold that stands in between; when it got there, or 0.
	 */
	bool suspending;
	struct hold *suspend_hold;
	int64_t suspended_ms;
	/* A state that control keeps it in, or -1. */
	int pinned;
};

/* What a create asks for; texts are borrowed. */
struct sandbox_wish {
	const char *plan;
	const char *network;
	char **domains;
	size_t n_domains;
	const struct sp_env *env;
	size_t n_env;
	int64_t timeout_s;
	int64_t idle_s;
	/* What it is restored from, or NULL. */
	const struct snapshot *snapshot;
};

/* Makes one and lets it boot. `wish->domains` is taken over on success. */
int sandbox_new(struct workspace *workspace, const struct sandbox_wish *wish,
		struct sandbox **ret_sandbox, struct sp_error *err);
void sandbox_free(struct sandbox *sandbox);
struct sandbox *sandbox_find(struct workspace *workspace, const char *id);
/* Over all workspaces, for the proxy. */
struct sandbox *sandbox_find_any(struct api *api, const char *id);
enum fake_state sandbox_state(const struct sandbox *sandbox);
/* Number of sandboxes that count against the group's limit. */
size_t sandbox_count_active(const struct workspace *workspace);

/* Says that the end of a sandbox has been proven. */
typedef void (*sandbox_done_fn)(void *arg);
/* Ends it; `done` (may be NULL) is called exactly once, at once when the end is proven already. */
void sandbox_terminate(struct sandbox *sandbox, sandbox_done_fn done, void *arg);
/* Gives back to the engine what is over. True while the engine still has sandboxes of ours. */
bool sandbox_release_due(struct api *api);
/*
 * Suspends a running one. Where a hold stands in between it is `suspending` until that is released;
 * so it is when this returns 0. SP_CONFLICT: it does not run.
 */
int sandbox_suspend(struct sandbox *sandbox, struct sp_error *err);
/*
 * Puts it into a state by wire name, except terminated; one on the way is kept until the next
 * call. SP_INVALID, SP_CONFLICT.
 */
int sandbox_set_state(struct sandbox *sandbox, const char *state, struct sp_error *err);
/* The engine has answered for one of the calls that `n_pending` counts. */
void sandbox_pending_done(struct sandbox *sandbox);
/* Somebody begins or ends to hold a command or a transfer of it; both count as activity. */
void sandbox_use(struct sandbox *sandbox);
void sandbox_unuse(struct sandbox *sandbox);

/* One that waits for a sandbox to be awake; part of what waits. */
struct waker {
	TAILQ_ENTRY(waker) entry;
	struct sandbox *sandbox;
	/* Called once, when the sandbox runs or never will: look at its state. */
	void (*go)(void *arg);
	void *arg;
};
/*
 * Wakes a suspended sandbox; `waker->go` may run before this returns. Also answers for a running
 * one.
 */
void sandbox_wake(struct sandbox *sandbox, struct waker *waker);
/* It waits no longer; fine for one that does not wait. */
void waker_cancel(struct waker *waker);

/*
 * Writes a sandbox as the service shows it in this era; its environment is never shown. `is_new`:
 * the answer of a create, which says `creating` whatever has become of it.
 */
void sandbox_json(struct sp_buf *buf, const char *name, const struct sandbox *sandbox, bool is_new);

/* Where a snapshot is in its life. */
enum snapshot_status {
	SNAPSHOT_CREATING = 0,
	SNAPSHOT_AVAILABLE,
	SNAPSHOT_FAILED,
	SNAPSHOT_STATUS_MAX_,
};

struct snapshot {
	struct workspace *workspace;
	TAILQ_ENTRY(snapshot) entry;
	/* Position in the order of creation; the cursor of a list. */
	uint64_t number;
	char id[ID_SIZE];
	/* The source may be over and forgotten. */
	char source_id[SANDBOX_ID_SIZE];
	enum fake_kind kind;
	enum snapshot_status status;
	const char *plan;
	int64_t requested_ms;
	/* 0 until it is available. */
	int64_t captured_ms;
	int64_t expires_ms;
	/* The client said when it expires. */
	bool own_expiry;
	/* NULL: none. */
	char *name;
	/* Place in the order in which they became available. */
	uint64_t available;
	int64_t size;
	/* Why it failed. */
	char *error;
	/* Its archive, once it is complete. */
	char *path;
	struct hold *hold;
	/* The engine still writes the archive. */
	bool capturing;
	/* Deleted or expired. */
	bool gone;
	/* Who waits until the archive is gone. */
	sandbox_done_fn gone_done;
	void *gone_arg;
};

/* What a client asks for; the name is borrowed. */
struct snapshot_wish {
	enum fake_kind kind;
	const char *name;
	/* 0: the default. */
	int64_t expires_ms;
};

/* One of a running sandbox, creating; NULL when memory is short. */
struct snapshot *snapshot_new(struct sandbox *sandbox, const struct snapshot_wish *wish);
/* Begins to take it. */
void snapshot_begin(struct snapshot *snapshot);
/* NULL also for what is gone, unless `or_gone`. */
struct snapshot *snapshot_find(struct workspace *workspace, const char *id, bool or_gone);
/* Of those with this name the one that became available last; else any one, or NULL. */
struct snapshot *snapshot_find_name(struct workspace *workspace, const char *name);
/* Number of those that are not gone. */
size_t snapshot_count(const struct workspace *workspace);
/* Takes it away; `done` (may be NULL) when its archive is gone, at once when it is already. */
void snapshot_delete(struct snapshot *snapshot, sandbox_done_fn done, void *arg);
/* Takes away what has expired; forgets the oldest of what is gone. */
void snapshots_tick(struct workspace *workspace, int64_t now);
/* Frees all of a workspace's; the engine is over. */
void snapshots_free(struct workspace *workspace);
/* "creating" and so on; status of such a name, or -1. */
const char *snapshot_status_name(enum snapshot_status status);
int snapshot_status_from_name(const char *name);
const char *snapshot_kind_name(enum fake_kind kind);
/* Writes a snapshot as the service shows it. */
void snapshot_json(struct sp_buf *buf, const char *name, const struct snapshot *snapshot);

/* What a token is good for. */
enum operation {
	OP_RUN_SYNC = 0,
	OP_RUN_STREAM,
	OP_UPLOAD,
	OP_DOWNLOAD,
};

/* A record of one run or transfer, born with its token. */
struct exec {
	struct sandbox *sandbox;
	TAILQ_ENTRY(exec) entry;
	uint64_t number;
	char id[ID_SIZE];
	char token[API_TOKEN_LEN + 1];
	int64_t expires_ms;
	bool used;
	enum operation operation;
	/*
	 * Path of a transfer, or the command named by the mint; at most TIMELINE_TEXT bytes of it.
	 */
	char *text;
	/* Index of the text that the proxy ran, or -1. */
	ssize_t timeline;
	int64_t started_ms;
	/* 0 until reported, or until the sandbox is over. */
	int64_t stopped_ms;
	bool has_code;
	int exit_code;
};

/* A new record and its token; NULL when memory is short. `text` may be NULL. */
struct exec *exec_new(struct sandbox *sandbox, enum operation operation, const char *text);
void exec_free(struct exec *exec);
struct exec *exec_find(struct sandbox *sandbox, const char *id);
/*
 * Takes a token to its use. NULL with the reason when it is not good for this; `path` NULL for
 * runs.
 */
struct exec *exec_redeem(struct sandbox *sandbox, const char *token, enum operation operation,
			 const char *path, const char **ret_why);
/* Forgets the texts of a sandbox whose engine is gone, and says that everything has stopped. */
void exec_finalize(struct sandbox *sandbox);
const char *operation_name(enum operation operation);
/* Writes a record as it is looked at. */
void exec_json(struct sp_buf *buf, const char *name, const struct exec *exec);
/* The same as the answer to a report: another name for the id, and no user. */
void exec_report_json(struct sp_buf *buf, const struct exec *exec);

#endif
