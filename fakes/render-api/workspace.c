/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/clock.h>
#include <base/files.h>

/* Terminated sandboxes stay readable; the oldest beyond these are forgotten. */
#define TERMINATED_KEPT 1000
/* A suspended one can be woken for so long. */
#define SUSPENDED_MS (INT64_C(30) * 24 * 3600 * 1000)

struct workspace *workspace_new(struct api *api)
{
	struct workspace *workspace = calloc(1, sizeof(*workspace));

	if (!workspace)
		return NULL;
	workspace->api = api;
	memcpy(workspace->id, "tea-", 4);
	sp_random_id(workspace->id + 4, 20);
	memcpy(workspace->group_id, "sbg-", 4);
	sp_random_id(workspace->group_id + 4, 20);
	memcpy(workspace->user_id, "usr-", 4);
	sp_random_id(workspace->user_id + 4, 20);
	memcpy(workspace->api_key, "rnd_", 4);
	sp_random_id(workspace->api_key + 4, API_TOKEN_LEN - 4);
	sp_random_id(workspace->prefix, 5);
	workspace->created_ms = sp_wall_ms();
	workspace->faults = api->faults;
	workspace->log = (struct request_log)REQUEST_LOG_INIT;
	TAILQ_INIT(&workspace->holds);
	TAILQ_INIT(&workspace->failures);
	TAILQ_INIT(&workspace->sandboxes);
	TAILQ_INIT(&workspace->snapshots);
	TAILQ_INSERT_TAIL(&api->workspaces, workspace, entry);
	return workspace;
}

void workspace_free(struct workspace *workspace)
{
	struct sandbox *sandbox;

	hold_release_all(workspace);
	failure_clear_all(workspace);
	while ((sandbox = TAILQ_FIRST(&workspace->sandboxes)))
		sandbox_free(sandbox);
	snapshots_free(workspace);
	record_clear(&workspace->log);
	TAILQ_REMOVE(&workspace->api->workspaces, workspace, entry);
	free(workspace);
}

struct workspace *workspace_find(struct api *api, const char *id)
{
	struct workspace *workspace;

	TAILQ_FOREACH (workspace, &api->workspaces, entry)
		if (!strcmp(workspace->id, id))
			return workspace;
	return NULL;
}

struct workspace *workspace_find_key(struct api *api, const char *api_key)
{
	struct workspace *workspace;

	TAILQ_FOREACH (workspace, &api->workspaces, entry)
		if (api_secret_equal(workspace->api_key, api_key))
			return workspace;
	return NULL;
}

int64_t workspace_now(const struct workspace *workspace)
{
	return sp_wall_ms() + workspace->clock_ahead_ms;
}

static void tick_sandbox(struct sandbox *sandbox, int64_t now)
{
	struct sp_error ignored;

	if (sandbox->terminated_ms)
		return;
	/*
	 * What a sandbox lives counts from its last waking; while it is
	 * suspended something else counts.
	 */
	if (sandbox->suspended_ms ? now - sandbox->suspended_ms >= SUSPENDED_MS :
				    sandbox->timeout_s &&
					    now - sandbox->awake_ms >= sandbox->timeout_s * 1000) {
		sandbox_terminate(sandbox, NULL, NULL);
		return;
	}
	if (sandbox->idle_s && !sandbox->users && sandbox_state(sandbox) == FAKE_RUNNING &&
	    now - sandbox->active_ms >= sandbox->idle_s * 1000)
		sandbox_suspend(sandbox, &ignored);
}

/* True when there was one that nobody holds. */
static bool forget_oldest(struct workspace *workspace)
{
	struct sandbox *sandbox;

	TAILQ_FOREACH_REVERSE (sandbox, &workspace->sandboxes, sandbox_list, entry)
		if (sandbox->proven && !sandbox->handle && !sandbox->n_requests)
			break;
	if (!sandbox)
		return false;
	sandbox_free(sandbox);
	workspace->n_terminated--;
	return true;
}

void workspace_tick(struct workspace *workspace)
{
	int64_t now = workspace_now(workspace);
	struct sandbox *sandbox;

	TAILQ_FOREACH (sandbox, &workspace->sandboxes, entry)
		tick_sandbox(sandbox, now);
	snapshots_tick(workspace, now);
	while (workspace->n_terminated > TERMINATED_KEPT && forget_oldest(workspace))
		;
}
