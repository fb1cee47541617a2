/* SPDX-License-Identifier: MIT */
/*
 * Control: the back door of a fake backend. It makes races deterministic by
 * holding steps, failing them, and counting what is there. It belongs to the
 * backend, not to the provider, so it works for a foreign client too. Every
 * operation is scoped to one workspace.
 */
#ifndef SANDPROOF_CONTROL_H
#define SANDPROOF_CONTROL_H

#include <sandproof/cancel.h>
#include <sandproof/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The steps of the backend, in one table: X(identifier, wire name, what
 * "before" and "after" mean). A hold before a step stops the request with
 * nothing done; a hold after it stops the answer with everything done.
 */
#define SP_CONTROL_STEPS(X)                                                                        \
	X(CREATE, "create", "create a sandbox")                                                    \
	X(GET, "get", "read one sandbox")                                                          \
	X(LIST, "list", "list sandboxes")                                                          \
	X(TERMINATE, "terminate", "terminate a sandbox")                                           \
	X(MINT_RUN, "mint_run", "mint a run token")                                                \
	X(RUN, "run", "start a command on the proxy; after: the stream's headers")                 \
	X(EXIT, "exit",                                                                            \
	  "deliver the terminal event of a stream; before: the command has ended, its last "       \
	  "output and exit are withheld")                                                          \
	X(MINT_UPLOAD, "mint_upload", "mint an upload token")                                      \
	X(UPLOAD, "upload", "receive a file; after: the file is in place")                         \
	X(MINT_DOWNLOAD, "mint_download", "mint a download token")                                 \
	X(DOWNLOAD, "download", "send a file")                                                     \
	X(SNAPSHOT, "snapshot", "create a snapshot")                                               \
	X(CAPTURE, "capture",                                                                      \
	  "capture what a snapshot holds; before: it is `creating`, the sandbox runs on; after: "  \
	  "all is captured and it is still `creating`")                                            \
	X(RESTORE, "restore",                                                                      \
	  "fill a new sandbox from a snapshot, which stays `creating` meanwhile; its holds go by " \
	  "the snapshot's source sandbox")                                                         \
	X(SNAPSHOT_DELETE, "snapshot_delete", "delete a snapshot")                                 \
	X(SUSPEND, "suspend",                                                                      \
	  "suspend a sandbox; it is `suspending` meanwhile, and who asked is not kept waiting")    \
	X(RESUME, "resume", "wake a sandbox; it is `resuming` meanwhile")

/* One value a step, SP_STEP_CREATE and so on. */
enum sp_control_step {
#define SP_CONTROL_STEP_ENUM(identifier, wire, text) SP_STEP_##identifier,
	SP_CONTROL_STEPS(SP_CONTROL_STEP_ENUM)
#undef SP_CONTROL_STEP_ENUM
	SP_STEP_MAX_,
};

/* Wire name of a step, or NULL for a value outside the table. */
const char *sp_control_step_name(enum sp_control_step step);
/* Step of a wire name, or -1. */
int sp_control_step_from_name(const char *name);

/* Which side of a step is held. */
enum sp_control_when {
	SP_BEFORE = 0,
	SP_AFTER,
};

/* How a step is made to fail. */
enum sp_control_how {
	/* Answer `status` with a JSON error body; nothing is done. */
	SP_FAIL_STATUS = 0,
	/*
	 * Do nothing and close the connection without an answer. exit: end the stream in good
	 * order, without its terminal event.
	 */
	SP_FAIL_DROP,
	/* Do it and close the connection without an answer. */
	SP_FAIL_LOST_ANSWER,
	/* Close a stream or transfer in the middle, without its terminal event. */
	SP_FAIL_CUT,
	/* Answer 429 with rate-limit headers. */
	SP_FAIL_RATE_LIMIT,
	/* Answer 403 with the edge's HTML page. */
	SP_FAIL_EDGE,
	/*
	 * The disk becomes full in the middle. Upload: answers 507; capture: the snapshot fails;
	 * restore: the sandbox is errored.
	 */
	SP_FAIL_DISK_FULL,
};

/* One request that the backend received. Texts are owned by the list. */
struct sp_control_request {
	char *method;
	/* Path and query. */
	char *target;
	/* Header lines joined by '\n', values of Authorization left out. */
	char *headers;
	/* Body bytes, at most the first 1 MiB. */
	struct sp_bytes body;
	/* True when a body was longer than what is kept. */
	bool cut;
};

/* What the backend received, oldest first. Owned by the caller. */
struct sp_control_requests {
	struct sp_control_request *items;
	size_t len;
};

#define SP_CONTROL_REQUESTS_INIT { NULL, 0 }

/* Frees the list and clears the struct. */
void sp_control_requests_done(struct sp_control_requests *requests);

/* One live thing of the backend. */
struct sp_census_sandbox {
	char *id;
	/* Wire name of the state ("running"). */
	char *state;
	/* Processes in the sandbox, its init not counted. */
	size_t processes;
	/* Commands whose streams are open or that still run. */
	size_t commands;
	/*
	 * Files, folders and links that were created in the sandbox, all layers and
	 * the memory-backed directory.
	 */
	size_t files;
};

/* One snapshot of the backend, failed ones included. */
struct sp_census_snapshot {
	char *id;
	/* Its source, which may be over. */
	char *sandbox_id;
	/* NULL: none. */
	char *name;
	/* Wire names: "filesystem" or "runtime"; "creating", "available" or "failed". */
	char *kind;
	char *status;
};

/* What lives in the workspace. Owned by the caller. */
struct sp_census {
	/* Sandboxes that are not terminated. */
	struct sp_census_sandbox *sandboxes;
	size_t n_sandboxes;
	/*
	 * Snapshots that are not deleted or expired, newest first. NULL where
	 * the backend only counts them.
	 */
	struct sp_census_snapshot *snapshots;
	size_t n_snapshots;
	/* Holds set and not yet released. */
	size_t n_holds;
	/* Commands run by the backend since it started (all workspaces). */
	uint64_t commands_total;
	/* What this mode of the backend cannot hold ("isolation", "hostile-files"); owned texts. */
	char **cannot_hold;
	size_t n_cannot_hold;
};

#define SP_CENSUS_INIT { NULL, 0, NULL, 0, 0, 0, NULL, 0 }

/* Frees the census and clears the struct. */
void sp_census_done(struct sp_census *census);

#define SP_CONTROL_VERSION 1

struct sp_control_ops {
	unsigned version;
	/*
	 * Holds the next occurrence of a step, once. `sandbox_id` NULL: of any sandbox of the
	 * workspace. `*ret_hold` names the hold.
	 */
	int (*hold)(void *self, enum sp_control_step step, enum sp_control_when when,
		    const char *sandbox_id, uint64_t *ret_hold, struct sp_error *err);
	/*
	 * Waits until something stands at the hold. SP_ABORTED or SP_TIMED_OUT by
	 * `cancel`; SP_NOT_FOUND: no such hold.
	 */
	int (*await_held)(void *self, uint64_t hold, struct sp_cancel *cancel,
			  struct sp_error *err);
	/* Lets it go, or cancels a hold that nothing reached. */
	int (*release)(void *self, uint64_t hold, struct sp_error *err);
	/*
	 * Makes the nth occurrence from now on (1 is the next) of a step fail; nth 0: every one
	 * until cleared with how = -1.
	 */
	int (*fail)(void *self, enum sp_control_step step, unsigned nth, int how, int status,
		    struct sp_error *err);
	/*
	 * Everything received for the workspace since it was made or last taken
	 * (`take`: forget it afterwards).
	 */
	int (*requests)(void *self, bool take, struct sp_control_requests *ret_requests,
			struct sp_error *err);
	/* Counts what lives. */
	int (*census)(void *self, struct sp_census *ret_census, struct sp_error *err);
	/*
	 * Puts a sandbox into a state by wire name: "running", "suspended", "errored",
	 * "terminated"; or "creating", "suspending", "resuming", in which it then stays, whoever
	 * uses it, until it is put into another one.
	 */
	int (*set_state)(void *self, const char *sandbox_id, const char *state,
			 struct sp_error *err);
	/* Moves the workspace's clock forward. */
	int (*advance)(void *self, uint64_t milliseconds, struct sp_error *err);
	/*
	 * All that a snapshot holds, as the bytes of a tar archive, to be searched. SP_NOT_FOUND:
	 * it does not exist or is not complete; SP_INVALID: longer than `max`.
	 */
	int (*snapshot_read)(void *self, const char *snapshot_id, size_t max,
			     struct sp_bytes *ret_bytes, struct sp_error *err);
	/*
	 * Puts other bytes in the place of a complete snapshot's, whatever they are:
	 * a damaged or hostile archive.
	 */
	int (*snapshot_plant)(void *self, const char *snapshot_id, const void *data, size_t len,
			      struct sp_error *err);
	/*
	 * Releases every hold, clears every failure, destroys every sandbox
	 * and snapshot of the workspace.
	 */
	int (*reset)(void *self, struct sp_error *err);
	/* Frees the client. */
	void (*close)(void *self);
};

/* A reference to a control: two pointers, copied freely; close it once. Thread-safe. */
struct sp_control {
	const struct sp_control_ops *ops;
	void *self;
};

#define SP_CONTROL_INIT { NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
