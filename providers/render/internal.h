/* SPDX-License-Identifier: MIT */
/* What the files of the Render provider share. Order: core, api, run, wrapper, queue, kill,
 * handles. */
#ifndef SP_RENDER_INTERNAL_H
#define SP_RENDER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/json.h>

#include "render.h"
#include "sse.h"
#include "wake.h"

/* Random part of a command's id: 65 bits. */
#define RENDER_ID_LEN 13
/* Largest JSON answer of the control plane that is read. */
#define RENDER_ANSWER_MAX (16 * 1024 * 1024)
/* Largest file that is read whole. */
#define RENDER_FILE_MAX ((size_t)1 << 30)
/* Silence after which an exchange is given up; the service sends a comment every 15 s. */
#define RENDER_IDLE_MS 60000
/* What cleaning up after a failure may take. */
#define RENDER_CLEANUP_MS 30000
/* Longest Retry-After that is waited for. */
#define RENDER_RETRY_MAX_MS 60000
#define RENDER_RETRIES 4
/* One argument of execve(2) with its NUL. */
#define RENDER_ARG_MAX (128 * 1024)

struct render_process;

/* An open provider. Sandboxes and processes hold references, so the transport outlives them. */
struct render_core {
	atomic_uint refs;
	char *token;
	char *owner_id;
	/* Without a trailing slash. */
	char *base_url;
	/* Host (with port) that a mint may name besides *.sandbox.onrender.com, or NULL. */
	char *local_host;
	char *plan;
	char *private_dir;
	uint32_t poll_ms;
	uint32_t start_timeout_ms;
	struct sp_capabilities capabilities;
	enum sp_snapshot_kind snapshot_kind;
	/* Seconds; 0: the service's default. */
	uint32_t snapshot_lifetime_s;
	struct sp_transport transport;
	struct sp_render_steps steps;
	/* The edge has rejected a command once: all later ones are wrapped. */
	atomic_bool wrap;
	pthread_mutex_t lock;
	/* Released processes whose pump is still to be joined. */
	struct render_process *released;
};

struct render_core *render_core_ref(struct render_core *core);
void render_core_unref(struct render_core *core);
/* Checks and copies options into a new core with one reference. */
int render_core_new(const struct sp_render_options *options, struct render_core **ret_core,
		    struct sp_error *err);

/* ---- api.c: one exchange with the control plane or the proxy ---- */

struct render_request {
	const char *method;
	const char *url;
	const char *bearer;
	const char *content_type;
	const char *accept;
	const void *body;
	size_t body_len;
	/* NULL: `body` is sent. */
	struct render_source *source;
	/* What takes a body of success piece by piece; NULL: it is read whole. */
	struct render_sink *sink;
};

/* A body that is made while it is sent. */
struct render_source {
	/* As body_read of a request; its words of trouble in `error`. */
	int64_t (*read)(void *arg, void *buffer, size_t max);
	/* Begins anew, for another try. */
	int (*rewind)(void *arg, struct sp_error *err);
	void *arg;
	struct sp_error error;
	bool gzip;
};

/* Takes the body of an answer whose status says success, to its orderly end. */
struct render_sink {
	int (*take)(void *arg, struct sp_http_stream *stream, struct sp_cancel *cancel,
		    struct sp_error *err);
	void *arg;
};

/* What came back: status, and the body as far as it was read. */
struct render_answer {
	int status;
	/* Milliseconds of Retry-After, or -1. */
	int retry_after_ms;
	bool edge;
	bool is_archive;
	struct sp_bytes body;
};

/* Names the type that means a folder. */
#define RENDER_ARCHIVE_TYPE "application/x-tar"

void render_answer_done(struct render_answer *answer);
/* Opens an exchange with the provider's standing options. */
int render_open_stream(struct render_core *core, const struct render_request *request,
		       struct sp_cancel *cancel, struct sp_http_stream *ret_stream,
		       struct sp_error *err);
/* Reads status, the headers that matter, and a body of at most `max` bytes. */
int render_read_answer(struct sp_http_stream *stream, size_t max, struct sp_cancel *cancel,
		       struct render_answer *ret_answer, struct sp_error *err);
/* Sends a request and reads the whole answer, whatever its status. */
int render_exchange(struct render_core *core, const struct render_request *request, size_t max,
		    struct sp_cancel *cancel, struct render_answer *ret_answer,
		    struct sp_error *err);
/* The contract's code for an answer that is not the one wanted; `what` says what was asked ("create
 * a sandbox"). */
int render_status_error(const struct render_answer *answer, const char *what, struct sp_error *err);
/*
 * A call of the control plane: `path` below the base URL, the workspace added. Waits out 429 by
 * Retry-After. Answers 0 only for status `want`.
 */
int render_call(struct render_core *core, const char *method, const char *path, const char *query,
		const struct sp_buf *body, int want, const char *what, struct sp_cancel *cancel,
		struct render_answer *ret_answer, struct sp_error *err);
/* Same, but once sent it is waited for: an answer that is not read could leave something that
 * nobody knows of. */
int render_call_through(struct render_core *core, const char *method, const char *path,
			const struct sp_buf *body, int want, const char *what,
			struct sp_cancel *cancel, struct render_answer *ret_answer,
			struct sp_error *err);
/* Waits, or ends with the cancel. */
int render_pause(uint32_t milliseconds, struct sp_cancel *cancel, struct sp_error *err);
/*
 * The pause after one of `last` milliseconds (0: none yet): longer each time, up to the set pace.
 * The first is no shorter than makes sense at that pace, since every look is a request that counts.
 */
uint32_t render_next_pause(const struct render_core *core, uint32_t last);
/* True for an id that can stand in a URL and in a shell word as it is. */
bool render_id_ok(const char *id);

/* ---- state.c: what the service says about a sandbox ---- */

enum render_state {
	RENDER_CREATING = 0,
	RENDER_RUNNING,
	RENDER_SUSPENDING,
	RENDER_SUSPENDED,
	RENDER_RESUMING,
	RENDER_ERRORED,
	RENDER_TERMINATED,
};

/* Reads one sandbox. SP_GONE by the rule of the two answers; SP_PROTOCOL for a state that is not
 * known. */
int render_get_state(struct render_core *core, const char *id, struct sp_cancel *cancel,
		     enum render_state *ret_state, struct sp_error *err);
/* After a 404 for `id`: SP_GONE only if a list that was sent now succeeds without it. Never 0. */
int render_confirm_gone(struct render_core *core, const char *id, struct sp_cancel *cancel,
			struct sp_error *err);
/* sp_render_check() of a core. */
int render_check(struct render_core *core, struct sp_cancel *cancel, struct sp_error *err);
/* Ids of the live sandboxes of the workspace. */
int render_list(struct render_core *core, struct sp_cancel *cancel, struct sp_id_list *ret_list,
		struct sp_error *err);
/*
 * Waits until it is running or suspended. SP_GONE when it errored or was terminated. With
 * `made_now` the service has just said that it is being created, so the first look has time.
 */
int render_wait_ready(struct render_core *core, const char *id, bool made_now,
		      struct sp_cancel *cancel, struct sp_error *err);
/* Ends a sandbox; already gone is fine. */
int render_terminate(struct render_core *core, const char *id, struct sp_cancel *cancel,
		     struct sp_error *err);
/* Posts a create, from a snapshot where `snapshot` is its id, and gives the new id. */
int render_post_create(struct render_core *core, const char *snapshot,
		       const struct sp_create_options *options, char **ret_id,
		       struct sp_error *err);

/* ---- snapshot.c ---- */

int render_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
		    struct sp_cancel *cancel, struct sp_error *err);
int render_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
			   struct sp_error *err);
/* Snapshot id in a reference, malloc'ed. SP_INVALID. */
int render_snapshot_id(const char *ref_text, char **ret_id, struct sp_error *err);
/*
 * Takes a snapshot as it is and waits until it is available; what fails is
 * deleted. SP_CONFLICT: not running.
 */
int render_capture(struct render_core *core, const char *id, const char *name,
		   enum sp_snapshot_kind kind, struct sp_cancel *cancel, char **ret_ref,
		   struct sp_error *err);

/* ---- snapshot_lost.c ---- */

/* The newest snapshot of a sandbox's group at some time. */
struct render_newest {
	/* NULL: nobody could tell, and nothing can be found again. */
	char *group;
	/* "" when the group had none. */
	char *snapshot;
};

/* What a snapshot was asked for with. Borrowed texts. */
struct render_wish {
	const char *sandbox;
	const char *name;
	const char *kind;
};

void render_newest_done(struct render_newest *newest);
/* Looks at it; `ret_newest`, all NULL before, stays so where that fails. */
void render_newest_look(struct render_core *core, const char *id, struct sp_cancel *cancel,
			struct render_newest *ret_newest);
/*
 * Id of the one snapshot that is newer than `before` and is what was asked for, malloc'ed. NULL
 * when there is none or more than one, or the service does not say.
 */
char *render_find_lost(struct render_core *core, const struct render_newest *before,
		       const struct render_wish *wish);

/* ---- mint.c: tokens ---- */

struct render_grant {
	char *token;
	char *uri;
};

void render_grant_done(struct render_grant *grant);
/* True when a token may go to the host of this URL. */
bool render_uri_ok(const struct render_core *core, const char *uri);
/*
 * Mints a token for `operation` ("runs/stream", "files/upload", "files/download"), `path` for
 * files. Waits while the sandbox is starting; sends the token nowhere.
 */
int render_mint(struct render_core *core, const char *id, const char *operation, const char *path,
		const char *method, struct sp_cancel *cancel, struct render_grant *ret_grant,
		struct sp_error *err);

/*
 * After an answer `rc` that a starting sandbox may give: waits until it is up and answers 0 (try
 * again); SP_GONE, or `rc` when the state does not explain it.
 */
int render_settle_start(struct render_core *core, const char *id, int rc, struct sp_cancel *cancel,
			struct sp_error *err);

/* ---- run.c: one command on the proxy ---- */

enum render_event_type {
	RENDER_OUTPUT = 0,
	RENDER_EXIT,
	RENDER_ERROR,
	RENDER_END,
};

struct render_event {
	enum render_event_type type;
	enum sp_stream stream;
	/* Output; belongs to the run, valid until the next event. */
	const unsigned char *data;
	size_t len;
	int code;
	/* Status and message of an error event. */
	int status;
	const char *message;
};

struct render_run {
	struct sp_http_stream stream;
	struct sse sse;
	struct sp_buf text;
	unsigned char window[32 * 1024];
	size_t head, len;
	bool ended;
};

/* Decodes the data of one event. SP_PROTOCOL. `text` holds the decoded output or message. */
int render_decode_event(const char *type, const char *data, size_t len, struct sp_buf *text,
			struct render_event *ret_event, struct sp_error *err);
/*
 * Starts `text` and returns when the proxy has accepted it. `ret_sent` (may be NULL) tells after a
 * failure whether the text may have reached the proxy.
 */
int render_run_open(struct render_core *core, const char *id, const char *text, size_t len,
		    struct sp_cancel *cancel, struct render_run **ret_run, bool *ret_sent,
		    struct sp_error *err);
/* True when the text, as it will be sent, is short enough for one argument. */
bool render_run_fits(const struct render_core *core, const char *text, size_t len);
/* Waits for the next event. */
int render_run_next(struct render_run *run, struct sp_cancel *cancel,
		    struct render_event *ret_event, struct sp_error *err);
/* Drops the stream; the command runs on. NULL is fine. */
void render_run_close(struct render_run *run);
/* SP_UNKNOWN_OUTCOME for an event that ends a run without an exit. */
int render_run_lost(const struct render_event *event, struct sp_error *err);
/* Runs a bare text to its end, at most `max` bytes of each output. */
int render_shell(struct render_core *core, const char *id, const char *text, size_t max,
		 struct sp_cancel *cancel, struct sp_exec_result *ret_result, struct sp_error *err);

/* ---- transfer.c: files ---- */

/* One upload or download with its token, tried again where that helps. */
int render_transfer(struct render_core *core, const char *id, const char *operation,
		    const char *path, struct render_request *request, struct sp_cancel *cancel,
		    struct render_answer *ret_answer, struct sp_error *err);

int render_upload(struct render_core *core, const char *id, const char *path, const void *data,
		  size_t len, struct sp_cancel *cancel, struct sp_error *err);
int render_download(struct render_core *core, const char *id, const char *path,
		    struct sp_bytes *ret_bytes, bool *ret_is_archive, struct sp_cancel *cancel,
		    struct sp_error *err);

/* ---- wrapper.c: the texts that run in the sandbox ---- */

/* What one command is made of. */
struct render_command {
	const char *text;
	/* Real absolute folder, or NULL for the start folder. */
	const char *dir;
	/* Per-call variables. */
	const struct sp_env *env;
	size_t n_env;
	/* This handle has set an environment: the command must not start without it. */
	bool overlay_expected;
	/* The text is in an uploaded file. */
	bool in_file;
	/* Ids of ended commands whose files go now; NULL-terminated or NULL. */
	const char *const *sweep;
	char id[RENDER_ID_LEN + 1];
	uint64_t mark;
};

/* Appends a piece of shell with the private folder filled in. */
int render_fill_in(const char *piece, const char *private_dir, struct sp_buf *out);
/* Gives a command its random id and mark. */
void render_command_init(struct render_command *command);
/* Text of the wrapped command. */
int render_compose(const struct sp_render_steps *steps, const char *private_dir,
		   const struct render_command *command, struct sp_buf *out);
/*
 * Text that removes the uploaded files of a command whose upload was given up. The service may
 * still store what it was sent, later than any removal, so a folder takes the name: no upload
 * replaces one.
 */
int render_compose_bar(const char *private_dir, const struct render_command *command,
		       struct sp_buf *out);
/* Text that ends a command: exit 0 when that is done, 1 when it cannot be. */
int render_compose_kill(const struct sp_render_steps *steps, const char *private_dir,
			const char *id, uint64_t mark, int signal, uint32_t grace_ms,
			struct sp_buf *out);
/* Text that delivers one signal: exit 0 when delivered, 3 when it has ended, 4 when it has not
 * begun. */
int render_compose_signal(const struct sp_render_steps *steps, const char *private_dir,
			  const char *id, uint64_t mark, int signal, struct sp_buf *out);
/* Content of an environment file. */
int render_compose_env(const struct sp_env *env, size_t n_env, struct sp_buf *out);
/* Base64 form of a text, for the edge's rules and for bytes that JSON cannot carry. */
int render_compose_wrapped(const char *text, size_t len, struct sp_buf *out);

/* ---- sandbox.c ---- */

struct render_env_set {
	char **names;
	char **values;
	size_t len;
};

/* One who waits for a turn; on its stack. */
struct render_turn {
	struct render_turn *next;
};

struct render_sandbox {
	struct render_core *core;
	char *id;
	/* Real path of /workspace. */
	char *root;
	/* Private folder with the id filled in. */
	char *dir;
	atomic_uint refs;
	atomic_bool destroyed;

	/* The queue (queue.c): starts share it, env writes have it alone, in order of arrival. */
	pthread_mutex_t lock;
	struct wake_list changed;
	struct render_turn *first_turn;
	unsigned starting;
	bool writing;

	/* What this handle has set; changed only by who has the queue alone. */
	struct render_env_set env;
	atomic_bool env_dirty;
	/* The overlay that a runtime snapshot took out, until it is put back. As `env`. */
	struct sp_bytes kept;

	/* Ended commands whose files are still there. Under `lock`. */
	char (*ended)[RENDER_ID_LEN + 1];
	size_t n_ended;
};

struct render_sandbox *render_sandbox_ref(struct render_sandbox *sandbox);
void render_sandbox_unref(struct render_sandbox *sandbox);
/* Makes the handle of a sandbox that takes commands: prepares the private folder and asks for the
 * root. */
int render_sandbox_open(struct render_core *core, const char *id, bool restored,
			struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			struct sp_error *err);
/* Remembers a command whose files can go. */
void render_command_ended(struct render_sandbox *sandbox, const char *id);
/* SP_GONE when this handle destroyed it. */
int render_sandbox_check(struct render_sandbox *sandbox, struct sp_error *err);

/* ---- queue.c ---- */

/* Waits for a turn. `alone`: nobody else has one. */
int render_queue_enter(struct render_sandbox *sandbox, bool alone, struct sp_cancel *cancel,
		       struct sp_error *err);
void render_queue_leave(struct render_sandbox *sandbox, bool alone);

/* ---- env.c ---- */

bool render_name_allowed(const char *name);
/* SP_INVALID names the first variable that is refused, by its place when it has no name. */
int render_check_names(const struct render_core *core, const struct sp_env *env, size_t n_env,
		       struct sp_error *err);
/* SP_INVALID when a command would get more than a program can be given. Only with the queue. */
int render_env_check_room(const struct render_sandbox *sandbox, const struct sp_env *env,
			  size_t n_env, struct sp_error *err);
int render_env_set(void *self, const struct sp_env *env, size_t n_env, struct sp_cancel *cancel,
		   struct sp_error *err);
/* Uploads what the handle has set, if the file may be old. Only with the queue. */
int render_env_refresh(struct render_sandbox *sandbox, struct sp_cancel *cancel,
		       struct sp_error *err);
/* Keeps an overlay that was taken out (its bytes are moved). Only with the queue alone. */
void render_env_keep(struct render_sandbox *sandbox, struct sp_bytes *bytes);
/* Puts it back, unless another one lies there; what fails is for the next start. Alone. */
int render_env_put_back(struct render_sandbox *sandbox, struct sp_cancel *cancel,
			struct sp_error *err);
/* Uploads a file into the private folder, making the folder when it is missing. */
int render_upload_private(struct render_sandbox *sandbox, const char *name, const void *data,
			  size_t len, struct sp_cancel *cancel, struct sp_error *err);
void render_env_done(struct render_env_set *set);

/* ---- exec.c ---- */

/* A started command. */
struct render_start {
	char id[RENDER_ID_LEN + 1];
	uint64_t mark;
	struct render_run *run;
};

/* Starts a command through wrapper and queue; on abort it has been ended when this returns. */
int render_start(struct render_sandbox *sandbox, const struct sp_exec_options *options,
		 struct render_start *ret_start, struct sp_error *err);
int render_exec(void *self, const struct sp_exec_options *options,
		struct sp_exec_result *ret_result, struct sp_error *err);
/* After code 125 or 126 without a word: 0 when the command said so, else why it never ran. */
int render_why(struct render_sandbox *sandbox, const char *id, int code, struct sp_error *err);
/* Ends a started command for an abort that has fired: the abort's code when that was carried out.
 */
int render_abort(struct render_sandbox *sandbox, const char *id, uint64_t mark, int fired,
		 struct sp_error *err);

/* ---- kill.c ---- */

int render_map_signal(int asked);
/* Carries a kill out and waits until it is done. */
int render_kill(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		struct sp_cancel *cancel, struct sp_error *err);
int render_signal(struct render_sandbox *sandbox, const char *id, uint64_t mark, int signal,
		  struct sp_cancel *cancel, struct sp_error *err);

/* ---- process.c ---- */

int render_spawn(void *self, const struct sp_exec_options *options, struct sp_process *ret_process,
		 struct sp_error *err);
/* Joins the pumps of released processes; `all` waits for those that have not ended. */
void render_join_released(struct render_core *core, bool all);

/* ---- steps.c ---- */

size_t render_cap(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		  size_t len);
char *render_snapshot_name(const char *label);

/* ---- path.c, fs.c ---- */

/* Real absolute path of a path of the contract, clean in Go's sense. SP_INVALID. */
int render_path(const struct render_sandbox *sandbox, const char *path, char **ret_path,
		struct sp_error *err);
int render_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		   struct sp_cancel *cancel, struct sp_error *err);
int render_fs_write(void *self, const char *path, const void *data, size_t len,
		    struct sp_cancel *cancel, struct sp_error *err);
int render_fs_list(void *self, const char *path, struct sp_dir_list *ret_list,
		   struct sp_cancel *cancel, struct sp_error *err);
int render_fs_mkdir(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err);
int render_fs_remove(void *self, const char *path, struct sp_cancel *cancel, struct sp_error *err);
int render_fs_rename(void *self, const char *from, const char *to, struct sp_cancel *cancel,
		     struct sp_error *err);
int render_fs_exists(void *self, const char *path, bool *ret_exists, struct sp_cancel *cancel,
		     struct sp_error *err);
int render_fs_lstat(void *self, const char *path, struct sp_stat *ret_stat,
		    struct sp_cancel *cancel, struct sp_error *err);

/* ---- look.c ---- */

/* See sp_platform_ops.look and sp_platform_ops.snapshots. */
int render_look(struct render_core *core, const char *id, struct sp_platform_sandbox *ret_sandbox,
		struct sp_cancel *cancel, struct sp_error *err);
int render_list_snapshots(struct render_core *core, const char *group,
			  struct sp_platform_snapshots *ret_snapshots, struct sp_cancel *cancel,
			  struct sp_error *err);

/* ---- timeline.c, platform.c ---- */

int render_timeline(void *self, struct sp_bytes *ret_texts, struct sp_cancel *cancel,
		    struct sp_error *err);
extern const struct sp_platform_ops render_platform_ops;

#endif
