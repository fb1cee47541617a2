/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/model.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/json_out.h>

/* How long a slow boot takes, as measured on the service. */
#define SLOW_BOOT_MS 1600

/* One who waits for the end of a sandbox. */
struct ending {
	struct sandbox *sandbox;
	sandbox_done_fn done;
	void *arg;
};

static bool is_over(const struct sandbox *sandbox)
{
	return sandbox->handle && sandbox->proven && !sandbox->n_pending && !sandbox->users;
}

/*
 * The engine's side is given back when nothing of it is needed, but not from within its own
 * callbacks.
 */
static void maybe_release(struct sandbox *sandbox)
{
	if (is_over(sandbox))
		sandbox->workspace->api->release_due = true;
}

bool sandbox_release_due(struct api *api)
{
	struct workspace *workspace;
	struct sandbox *sandbox;
	bool left = false;

	api->release_due = false;
	TAILQ_FOREACH (workspace, &api->workspaces, entry) {
		TAILQ_FOREACH (sandbox, &workspace->sandboxes, entry) {
			if (is_over(sandbox)) {
				exec_finalize(sandbox);
				fake_sandbox_free(SP_TAKE(sandbox->handle));
			}
			left = left || sandbox->handle;
		}
	}
	return left;
}

void sandbox_pending_done(struct sandbox *sandbox)
{
	sandbox->n_pending--;
	maybe_release(sandbox);
}

static void restore_over(void *arg)
{
	struct sandbox *sandbox = arg;

	sandbox->restore_hold = NULL;
}

static void on_booted(void *arg, int rc, const struct sp_error *err)
{
	struct sandbox *sandbox = arg;

	if (rc && !sandbox->terminated_ms) {
		sandbox->boot_failed = true;
		fprintf(stderr, "sandproof fake-api: sandbox %s: %s\n", sandbox->id, err->message);
	}
	if (!rc && !sandbox->terminated_ms && *sandbox->source_id)
		sandbox->restore_hold = hold_reach(sandbox->workspace, SP_STEP_RESTORE, SP_AFTER,
						   sandbox->source_id, restore_over, sandbox);
	sandbox_pending_done(sandbox);
}

/* A restored one begins only now. */
static void begin(void *arg)
{
	struct sandbox *sandbox = arg;

	sandbox->restore_hold = NULL;
	sandbox->begun = true;
	if (!sandbox->boot_failed)
		fake_sandbox_begin(sandbox->handle);
	else
		sandbox_pending_done(sandbox);
}

static void stand_before_restore(struct sandbox *sandbox)
{
	sandbox->restore_hold = hold_reach(sandbox->workspace, SP_STEP_RESTORE, SP_BEFORE,
					   sandbox->source_id, begin, sandbox);
	if (!sandbox->restore_hold)
		begin(sandbox);
}

/* It was asked to end while it stood at a hold. */
static void leave_restore(struct sandbox *sandbox)
{
	hold_leave(SP_TAKE(sandbox->restore_hold));
	if (sandbox->begun)
		return;
	sandbox->begun = true;
	sandbox_pending_done(sandbox);
}

static bool slow_boot(api_faults faults)
{
	return api_fault_on(faults, API_FAULT_SLOW_BOOT) ||
	       api_fault_on(faults, API_FAULT_CREATE_404) ||
	       api_fault_on(faults, API_FAULT_CREATE_429) ||
	       api_fault_on(faults, API_FAULT_CREATE_503);
}

static struct sandbox *allocate(struct workspace *workspace, const struct sandbox_wish *wish)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox)
		return NULL;
	sandbox->workspace = workspace;
	sandbox->number = ++workspace->last_sandbox;
	memcpy(sandbox->id, "sbx-", 4);
	memcpy(sandbox->id + 4, workspace->prefix, 5);
	sp_random_id(sandbox->id + 9, 20);
	sandbox->plan = wish->plan;
	sandbox->network.name = wish->network;
	sandbox->timeout_s = wish->timeout_s;
	sandbox->idle_s = wish->idle_s;
	sandbox->created_ms = workspace_now(workspace);
	sandbox->awake_ms = sandbox->created_ms;
	sandbox->pinned = -1;
	sandbox->active_ms = sandbox->created_ms;
	sandbox->boot_ms = sandbox->created_ms + (slow_boot(workspace->faults) ? SLOW_BOOT_MS : 0);
	TAILQ_INIT(&sandbox->execs);
	TAILQ_INIT(&sandbox->wakers);
	return sandbox;
}

int sandbox_new(struct workspace *workspace, const struct sandbox_wish *wish,
		struct sandbox **ret_sandbox, struct sp_error *err)
{
	struct sandbox *sandbox = allocate(workspace, wish);

	if (!sandbox)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	const struct snapshot *snapshot = wish->snapshot;
	struct failure_plan plan = FAILURE_NONE;

	if (snapshot)
		plan = failure_take(workspace, SP_STEP_RESTORE);
	struct fake_sandbox_options options = {
		.id = sandbox->id,
		.archive = snapshot ? snapshot->path : NULL,
		.archive_limit = plan.how == SP_FAIL_DISK_FULL,
		.held = snapshot,
		/* An allow-list is enforced as deny-all. */
		.deny_network = strcmp(wish->network, "allow-all") != 0,
		.env = wish->env,
		.n_env = wish->n_env,
	};

	sandbox->n_pending = 1;
	TAILQ_INSERT_HEAD(&workspace->sandboxes, sandbox, entry);
	int rc = fake_sandbox_create(workspace->api->engine, &options, on_booted, sandbox,
				     &sandbox->handle, err);

	if (rc) {
		TAILQ_REMOVE(&workspace->sandboxes, sandbox, entry);
		free(sandbox);
		return rc;
	}
	sandbox->network.domains = wish->domains;
	sandbox->network.n_domains = wish->n_domains;
	sandbox->begun = !snapshot;
	if (snapshot) {
		memcpy(sandbox->source_id, snapshot->source_id, sizeof(sandbox->source_id));
		sandbox->boot_failed = plan.how >= 0 && plan.how != SP_FAIL_DISK_FULL;
		stand_before_restore(sandbox);
	}
	*ret_sandbox = sandbox;
	return 0;
}

void sandbox_free(struct sandbox *sandbox)
{
	struct exec *exec;

	while ((exec = TAILQ_FIRST(&sandbox->execs)))
		exec_free(exec);
	for (size_t i = 0; i < sandbox->network.n_domains; i++)
		free(sandbox->network.domains[i]);
	free(sandbox->network.domains);
	TAILQ_REMOVE(&sandbox->workspace->sandboxes, sandbox, entry);
	free(sandbox);
}

struct sandbox *sandbox_find(struct workspace *workspace, const char *id)
{
	struct sandbox *sandbox;

	if (strncmp(id, "sbx-", 4) || strncmp(id + 4, workspace->prefix, 5))
		return NULL;
	TAILQ_FOREACH (sandbox, &workspace->sandboxes, entry)
		if (!strcmp(sandbox->id, id))
			return sandbox;
	return NULL;
}

struct sandbox *sandbox_find_any(struct api *api, const char *id)
{
	struct workspace *workspace;

	TAILQ_FOREACH (workspace, &api->workspaces, entry) {
		struct sandbox *sandbox = sandbox_find(workspace, id);

		if (sandbox)
			return sandbox;
	}
	return NULL;
}

enum fake_state sandbox_state(const struct sandbox *sandbox)
{
	if (sandbox->terminated_ms)
		return FAKE_TERMINATED;
	if (sandbox->restore_hold)
		return FAKE_CREATING;
	if (sandbox->boot_failed)
		return FAKE_ERRORED;
	if (sandbox->pinned >= 0)
		return (enum fake_state)sandbox->pinned;
	if (sandbox->suspending)
		return FAKE_SUSPENDING;
	if (sandbox->waking)
		return FAKE_RESUMING;
	enum fake_state state = fake_sandbox_state(sandbox->handle);

	if (state == FAKE_RUNNING && workspace_now(sandbox->workspace) < sandbox->boot_ms)
		return FAKE_CREATING;
	return state;
}

size_t sandbox_count_active(const struct workspace *workspace)
{
	struct sandbox *sandbox;
	size_t n = 0;

	TAILQ_FOREACH (sandbox, &workspace->sandboxes, entry) {
		enum fake_state state = sandbox_state(sandbox);

		if (state != FAKE_TERMINATED && state != FAKE_SUSPENDED)
			n++;
	}
	return n;
}

/* Whoever waits looks at the state and decides. */
static void let_wakers_go(struct sandbox *sandbox)
{
	struct waker *waker;

	sandbox->waking = false;
	while ((waker = TAILQ_FIRST(&sandbox->wakers))) {
		TAILQ_REMOVE(&sandbox->wakers, waker, entry);
		waker->sandbox = NULL;
		waker->go(waker->arg);
	}
}

static void on_destroyed(void *arg, int rc, const struct sp_error *err)
{
	struct ending *ending = arg;
	struct sandbox *sandbox = ending->sandbox;

	sandbox->n_pending--;
	if (rc)
		fprintf(stderr, "sandproof fake-api: ending %s: %s\n", sandbox->id, err->message);
	if (!sandbox->proven) {
		sandbox->proven = true;
		sandbox->workspace->n_terminated++;
	}
	if (ending->done)
		ending->done(ending->arg);
	free(ending);
	maybe_release(sandbox);
}

/* It goes on from where it is: neither on its way to suspension nor kept anywhere. */
static void leave_suspension(struct sandbox *sandbox)
{
	hold_leave(SP_TAKE(sandbox->suspend_hold));
	sandbox->suspending = false;
	sandbox->pinned = -1;
}

void sandbox_terminate(struct sandbox *sandbox, sandbox_done_fn done, void *arg)
{
	struct ending *ending;

	if (!sandbox->terminated_ms)
		sandbox->terminated_ms = workspace_now(sandbox->workspace);
	hold_leave(SP_TAKE(sandbox->wake_hold));
	leave_suspension(sandbox);
	leave_restore(sandbox);
	let_wakers_go(sandbox);
	ending = sandbox->proven ? NULL : calloc(1, sizeof(*ending));
	if (!ending) {
		/* Proven already; or memory is out, and then the next terminate proves it. */
		if (done)
			done(arg);
		return;
	}
	*ending = (struct ending){ .sandbox = sandbox, .done = done, .arg = arg };
	sandbox->n_pending++;
	fake_sandbox_destroy(sandbox->handle, on_destroyed, ending);
}

void sandbox_use(struct sandbox *sandbox)
{
	sandbox->users++;
	sandbox->active_ms = workspace_now(sandbox->workspace);
}

void sandbox_unuse(struct sandbox *sandbox)
{
	sandbox->users--;
	sandbox->active_ms = workspace_now(sandbox->workspace);
	maybe_release(sandbox);
}

/* Its times begin anew. */
static void set_awake(struct sandbox *sandbox)
{
	sandbox->awake_ms = workspace_now(sandbox->workspace);
	sandbox->active_ms = sandbox->awake_ms;
	sandbox->suspended_ms = 0;
}

static void awake(void *arg)
{
	struct sandbox *sandbox = arg;

	sandbox->wake_hold = NULL;
	let_wakers_go(sandbox);
}

static void resume(void *arg)
{
	struct sandbox *sandbox = arg;
	struct sp_error err = SP_ERROR_INIT;

	sandbox->wake_hold = NULL;
	if (fake_sandbox_resume(sandbox->handle, &err)) {
		fprintf(stderr, "sandproof fake-api: waking %s: %s\n", sandbox->id, err.message);
		sandbox->boot_failed = true;
	} else {
		set_awake(sandbox);
		sandbox->wake_hold = hold_reach(sandbox->workspace, SP_STEP_RESUME, SP_AFTER,
						sandbox->id, awake, sandbox);
	}
	if (!sandbox->wake_hold)
		awake(sandbox);
}

static void start_waking(struct sandbox *sandbox)
{
	sandbox->waking = true;
	sandbox->wake_hold = hold_reach(sandbox->workspace, SP_STEP_RESUME, SP_BEFORE, sandbox->id,
					resume, sandbox);
	if (!sandbox->wake_hold)
		resume(sandbox);
}

void sandbox_wake(struct sandbox *sandbox, struct waker *waker)
{
	enum fake_state state = sandbox_state(sandbox);

	if (state != FAKE_SUSPENDED && state != FAKE_RESUMING && state != FAKE_SUSPENDING) {
		waker->go(waker->arg);
		return;
	}
	waker->sandbox = sandbox;
	TAILQ_INSERT_TAIL(&sandbox->wakers, waker, entry);
	/* One on its way is woken when it is there. */
	if (state == FAKE_SUSPENDED)
		start_waking(sandbox);
}

void waker_cancel(struct waker *waker)
{
	if (!waker->sandbox)
		return;
	TAILQ_REMOVE(&waker->sandbox->wakers, waker, entry);
	waker->sandbox = NULL;
}

/* ---- suspension ---- */

/* It is over: whoever came meanwhile wakes it again. */
static void suspended(void *arg)
{
	struct sandbox *sandbox = arg;

	sandbox->suspend_hold = NULL;
	sandbox->suspending = false;
	sandbox->suspended_ms = workspace_now(sandbox->workspace);
	if (!TAILQ_EMPTY(&sandbox->wakers))
		start_waking(sandbox);
}

static int suspend(struct sandbox *sandbox, struct sp_error *err)
{
	int rc = fake_sandbox_suspend(sandbox->handle, err);

	sandbox->suspend_hold = NULL;
	if (rc) {
		sandbox->suspending = false;
		let_wakers_go(sandbox);
		return rc;
	}
	sandbox->suspend_hold = hold_reach(sandbox->workspace, SP_STEP_SUSPEND, SP_AFTER,
					   sandbox->id, suspended, sandbox);
	if (!sandbox->suspend_hold)
		suspended(sandbox);
	return 0;
}

static void suspend_now(void *arg)
{
	struct sandbox *sandbox = arg;
	struct sp_error err = SP_ERROR_INIT;

	if (suspend(sandbox, &err))
		fprintf(stderr, "sandproof fake-api: suspending %s: %s\n", sandbox->id,
			err.message);
}

int sandbox_suspend(struct sandbox *sandbox, struct sp_error *err)
{
	enum fake_state state = sandbox_state(sandbox);

	if (state != FAKE_RUNNING)
		return sp_error_set(err, SP_CONFLICT, "sandbox %s is %s", sandbox->id,
				    fake_state_name(state));
	if (failure_take(sandbox->workspace, SP_STEP_SUSPEND).how >= 0)
		return sp_error_set(err, SP_CONFLICT, "suspending %s failed on request of a test",
				    sandbox->id);
	sandbox->suspending = true;
	sandbox->suspend_hold = hold_reach(sandbox->workspace, SP_STEP_SUSPEND, SP_BEFORE,
					   sandbox->id, suspend_now, sandbox);
	return sandbox->suspend_hold ? 0 : suspend(sandbox, err);
}

/* ---- states by control ---- */

/* Those on the way: the sandbox stays in one until the next call. */
static int pin(struct sandbox *sandbox, enum fake_state state, struct sp_error *err)
{
	enum fake_state now = sandbox_state(sandbox);

	if (sandbox->pinned < 0 && (now == FAKE_ERRORED || now == FAKE_CREATING))
		return sp_error_set(err, SP_CONFLICT, "sandbox %s is %s", sandbox->id,
				    fake_state_name(now));
	sandbox->pinned = (int)state;
	return 0;
}

static int set_running(struct sandbox *sandbox, struct sp_error *err)
{
	int rc = fake_sandbox_resume(sandbox->handle, err);

	if (rc)
		return rc;
	hold_leave(SP_TAKE(sandbox->wake_hold));
	set_awake(sandbox);
	let_wakers_go(sandbox);
	return 0;
}

/* One that was kept on the way may be there already. */
static int set_suspended(struct sandbox *sandbox, struct sp_error *err)
{
	if (fake_sandbox_state(sandbox->handle) != FAKE_SUSPENDED)
		return sandbox_suspend(sandbox, err);
	if (!TAILQ_EMPTY(&sandbox->wakers) && !sandbox->waking)
		start_waking(sandbox);
	return 0;
}

int sandbox_set_state(struct sandbox *sandbox, const char *name, struct sp_error *err)
{
	int state = fake_state_from_name(name);

	if (state < 0 || state == FAKE_TERMINATED)
		return sp_error_set(err, SP_INVALID, "there is no state `%s` of a sandbox", name);
	if (sandbox->terminated_ms)
		return sp_error_set(err, SP_CONFLICT, "sandbox %s is terminated", sandbox->id);
	if (state == FAKE_CREATING || state == FAKE_SUSPENDING || state == FAKE_RESUMING) {
		hold_leave(SP_TAKE(sandbox->suspend_hold));
		sandbox->suspending = false;
		return pin(sandbox, (enum fake_state)state, err);
	}
	leave_suspension(sandbox);
	if (state == FAKE_RUNNING)
		return set_running(sandbox, err);
	if (state == FAKE_SUSPENDED)
		return set_suspended(sandbox, err);
	fake_sandbox_set_errored(sandbox->handle);
	let_wakers_go(sandbox);
	return 0;
}

static void network_json(struct sp_buf *buf, const struct network_policy *network)
{
	json_open(buf, "networkPolicy", '{');
	json_str(buf, "default", network->name);
	if (network->n_domains) {
		json_open(buf, "allowedDomains", '[');
		for (size_t i = 0; i < network->n_domains; i++)
			json_str(buf, NULL, network->domains[i]);
		json_close(buf, ']');
	}
	json_close(buf, '}');
}

/* The earlier eras have no word for being on the way to suspension. */
static const char *shown_state(const struct sandbox *sandbox)
{
	enum fake_state state = sandbox_state(sandbox);

	if (state == FAKE_SUSPENDING && sandbox->workspace->api->era != FAKE_ERA_C)
		state = FAKE_RUNNING;
	return fake_state_name(state);
}

void sandbox_json(struct sp_buf *buf, const char *name, const struct sandbox *sandbox, bool is_new)
{
	const struct workspace *workspace = sandbox->workspace;

	json_open(buf, name, '{');
	json_str(buf, "id", sandbox->id);
	json_str(buf, "status", is_new ? fake_state_name(FAKE_CREATING) : shown_state(sandbox));
	json_str(buf, "plan", sandbox->plan);
	network_json(buf, &sandbox->network);
	json_str(buf, "region", "oregon");
	json_int(buf, "timeoutSeconds", sandbox->timeout_s);
	json_time(buf, "createdAt", sandbox->created_ms);
	if (sandbox->terminated_ms)
		json_time(buf, "terminatedAt", sandbox->terminated_ms);
	else
		json_str(buf, "terminatedAt", NULL);
	if (workspace->api->era == FAKE_ERA_C) {
		json_str(buf, "sandboxGroupId", workspace->group_id);
		json_int(buf, "idleTimeoutSeconds", sandbox->idle_s);
	}
	json_close(buf, '}');
}
