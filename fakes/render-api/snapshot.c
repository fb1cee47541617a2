/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: taken by the engine, kept as archives in our folder until they are deleted or expire.
 */
#include <fakes/render-api/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/json_out.h>

/* What the service gives one that asks for no other time. */
#define LIFE_MS (INT64_C(7) * 24 * 3600 * 1000)
/* Bytes after which a disk that is made to be full is full. */
#define FULL_AFTER 2048
/*
 * Deleted ones are known, so that a second deletion is told from a wrong id; the
 * oldest beyond these are forgotten.
 */
#define GONE_KEPT 1000

static const char *const status_names[SNAPSHOT_STATUS_MAX_] = {
	[SNAPSHOT_CREATING] = "creating",
	[SNAPSHOT_AVAILABLE] = "available",
	[SNAPSHOT_FAILED] = "failed",
};

const char *snapshot_status_name(enum snapshot_status status)
{
	return status_names[status];
}

int snapshot_status_from_name(const char *name)
{
	for (int i = 0; i < SNAPSHOT_STATUS_MAX_; i++)
		if (!strcmp(status_names[i], name))
			return i;
	return -1;
}

const char *snapshot_kind_name(enum fake_kind kind)
{
	return kind == FAKE_RUNTIME ? "runtime" : "filesystem";
}

/* ---- the end ---- */

static void on_removed(void *arg, int rc, const struct sp_error *err)
{
	struct snapshot *snapshot = arg;
	sandbox_done_fn done = snapshot->gone_done;

	if (rc)
		fprintf(stderr, "sandproof fake-api: %s: %s\n", snapshot->id, err->message);
	free(SP_TAKE(snapshot->path));
	snapshot->gone_done = NULL;
	if (done)
		done(snapshot->gone_arg);
}

/* The archive of one that is gone and that nobody writes any more. */
static void remove_archive(struct snapshot *snapshot)
{
	struct fake_engine *engine = snapshot->workspace->api->engine;
	struct sp_error err = SP_ERROR_INIT;
	int rc = 0;

	if (snapshot->path)
		rc = fake_archive_remove(engine, snapshot->path, on_removed, snapshot, &err);
	if (rc || !snapshot->path)
		on_removed(snapshot, rc, &err);
}

void snapshot_delete(struct snapshot *snapshot, sandbox_done_fn done, void *arg)
{
	if (snapshot->gone) {
		if (done)
			done(arg);
		return;
	}
	snapshot->gone = true;
	snapshot->workspace->n_gone++;
	snapshot->gone_done = done;
	snapshot->gone_arg = arg;
	hold_leave(SP_TAKE(snapshot->hold));
	if (!snapshot->capturing)
		remove_archive(snapshot);
}

static void snapshot_free(struct snapshot *snapshot)
{
	TAILQ_REMOVE(&snapshot->workspace->snapshots, snapshot, entry);
	free(snapshot->name);
	free(snapshot->error);
	free(snapshot->path);
	free(snapshot);
}

void snapshots_free(struct workspace *workspace)
{
	struct snapshot *snapshot;

	while ((snapshot = TAILQ_FIRST(&workspace->snapshots)))
		snapshot_free(snapshot);
}

static bool forget_oldest(struct workspace *workspace)
{
	struct snapshot *snapshot;

	TAILQ_FOREACH_REVERSE (snapshot, &workspace->snapshots, snapshot_list, entry)
		if (snapshot->gone && !snapshot->capturing && !snapshot->path)
			break;
	if (!snapshot)
		return false;
	snapshot_free(snapshot);
	workspace->n_gone--;
	return true;
}

void snapshots_tick(struct workspace *workspace, int64_t now)
{
	struct snapshot *snapshot;

	TAILQ_FOREACH (snapshot, &workspace->snapshots, entry)
		if (!snapshot->gone && snapshot->status != SNAPSHOT_CREATING &&
		    now >= snapshot->expires_ms)
			snapshot_delete(snapshot, NULL, NULL);
	while (workspace->n_gone > GONE_KEPT && forget_oldest(workspace))
		;
}

/* ---- taking ---- */

static void set_failed(struct snapshot *snapshot, const char *why)
{
	snapshot->status = SNAPSHOT_FAILED;
	snapshot->error = strdup(why);
}

/* All of it is there: from now on it can be used. */
static void set_available(void *arg)
{
	struct snapshot *snapshot = arg;

	snapshot->hold = NULL;
	snapshot->status = SNAPSHOT_AVAILABLE;
	snapshot->available = ++snapshot->workspace->last_available;
	if (!snapshot->own_expiry)
		snapshot->expires_ms = snapshot->captured_ms + LIFE_MS;
}

/* One that waits for the engine: the sandbox must not be given back before. */
struct capture {
	struct snapshot *snapshot;
	struct sandbox *sandbox;
};

static void on_captured(void *arg, int rc, const struct sp_error *err)
{
	struct capture *capture = arg;
	struct snapshot *snapshot = capture->snapshot;
	struct stat st;

	sandbox_pending_done(capture->sandbox);
	free(capture);
	snapshot->capturing = false;
	if (rc) {
		set_failed(snapshot, err->message);
		free(SP_TAKE(snapshot->path));
	} else {
		snapshot->size = stat(snapshot->path, &st) ? 0 : st.st_size;
		snapshot->captured_ms = workspace_now(snapshot->workspace);
	}
	if (snapshot->gone) {
		remove_archive(snapshot);
		return;
	}
	if (rc)
		return;
	snapshot->hold = hold_reach(snapshot->workspace, SP_STEP_CAPTURE, SP_AFTER,
				    snapshot->source_id, set_available, snapshot);
	if (!snapshot->hold)
		set_available(snapshot);
}

/* Begins in the engine; the words of a refusal in `err`. */
static int start_capture(struct snapshot *snapshot, struct sandbox *sandbox, uint64_t limit,
			 struct sp_error *err)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int rc;

	if (!capture ||
	    asprintf(&snapshot->path, "%s/%s.tar", snapshot->workspace->api->state_dir,
		     snapshot->id) < 0) {
		snapshot->path = NULL;
		free(capture);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	*capture = (struct capture){ snapshot, sandbox };
	rc = fake_sandbox_capture(sandbox->handle, snapshot->kind, snapshot->path, limit,
				  on_captured, capture, err);
	if (rc) {
		free(SP_TAKE(snapshot->path));
		free(capture);
		return rc;
	}
	snapshot->capturing = true;
	sandbox->n_pending++;
	return 0;
}

/* The source may have ended while it stood at a hold. */
static void begin(void *arg)
{
	struct snapshot *snapshot = arg;
	struct workspace *workspace = snapshot->workspace;
	struct sandbox *sandbox = sandbox_find(workspace, snapshot->source_id);
	struct failure_plan plan = failure_take(workspace, SP_STEP_CAPTURE);
	struct sp_error err = SP_ERROR_INIT;

	snapshot->hold = NULL;
	if (!sandbox || sandbox_state(sandbox) != FAKE_RUNNING)
		set_failed(snapshot, "the sandbox was not running any more");
	else if (plan.how >= 0 && plan.how != SP_FAIL_DISK_FULL)
		set_failed(snapshot, "failed on request of a test");
	else if (start_capture(snapshot, sandbox, plan.how < 0 ? 0 : FULL_AFTER, &err))
		set_failed(snapshot, err.message);
}

struct snapshot *snapshot_new(struct sandbox *sandbox, const struct snapshot_wish *wish)
{
	struct workspace *workspace = sandbox->workspace;
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot && wish->name)
		snapshot->name = strdup(wish->name);
	if (!snapshot || (wish->name && !snapshot->name)) {
		free(snapshot);
		return NULL;
	}
	snapshot->workspace = workspace;
	snapshot->number = ++workspace->last_snapshot;
	memcpy(snapshot->id, "snp-", 4);
	sp_random_id(snapshot->id + 4, 20);
	memcpy(snapshot->source_id, sandbox->id, sizeof(snapshot->source_id));
	snapshot->kind = wish->kind;
	snapshot->plan = sandbox->plan;
	snapshot->requested_ms = workspace_now(workspace);
	snapshot->own_expiry = wish->expires_ms;
	snapshot->expires_ms =
		wish->expires_ms ? wish->expires_ms : snapshot->requested_ms + LIFE_MS;
	TAILQ_INSERT_HEAD(&workspace->snapshots, snapshot, entry);
	return snapshot;
}

void snapshot_begin(struct snapshot *snapshot)
{
	snapshot->hold = hold_reach(snapshot->workspace, SP_STEP_CAPTURE, SP_BEFORE,
				    snapshot->source_id, begin, snapshot);
	if (!snapshot->hold)
		begin(snapshot);
}

/* ---- questions ---- */

struct snapshot *snapshot_find(struct workspace *workspace, const char *id, bool or_gone)
{
	struct snapshot *snapshot;

	TAILQ_FOREACH (snapshot, &workspace->snapshots, entry)
		if (!strcmp(snapshot->id, id))
			return snapshot->gone && !or_gone ? NULL : snapshot;
	return NULL;
}

struct snapshot *snapshot_find_name(struct workspace *workspace, const char *name)
{
	struct snapshot *snapshot, *best = NULL;

	TAILQ_FOREACH (snapshot, &workspace->snapshots, entry)
		if (!snapshot->gone && snapshot->name && !strcmp(snapshot->name, name) &&
		    (!best || snapshot->available > best->available))
			best = snapshot;
	return best;
}

size_t snapshot_count(const struct workspace *workspace)
{
	const struct snapshot *snapshot;
	size_t n = 0;

	TAILQ_FOREACH (snapshot, &workspace->snapshots, entry)
		n += !snapshot->gone;
	return n;
}

void snapshot_json(struct sp_buf *buf, const char *name, const struct snapshot *snapshot)
{
	bool available = snapshot->status == SNAPSHOT_AVAILABLE;

	json_open(buf, name, '{');
	json_str(buf, "id", snapshot->id);
	json_str(buf, "sandboxGroupId", snapshot->workspace->group_id);
	json_str(buf, "sourceSandboxId", snapshot->source_id);
	json_str(buf, "kind", snapshot_kind_name(snapshot->kind));
	json_str(buf, "status", snapshot_status_name(snapshot->status));
	json_str(buf, "plan", snapshot->plan);
	json_time(buf, "requestedAt", snapshot->requested_ms);
	if (available)
		json_time(buf, "capturedAt", snapshot->captured_ms);
	else
		json_str(buf, "capturedAt", NULL);
	json_time(buf, "expiresAt", snapshot->expires_ms);
	json_str(buf, "name", snapshot->name);
	if (available)
		json_int(buf, "sizeBytes", snapshot->size);
	else
		json_str(buf, "sizeBytes", NULL);
	json_str(buf, "error", snapshot->error);
	json_close(buf, '}');
}
