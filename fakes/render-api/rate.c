/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/rate.h>

#define WINDOW_MS 60000
#define LIMIT_ENFORCED 100
/* Large enough that a client which obeys the headers is never slowed down. */
#define LIMIT_TOLD 1000000

static bool enforced(const struct workspace *workspace)
{
	return api_fault_on(workspace->faults, API_FAULT_RATE_LIMIT);
}

struct rate_state rate_look(struct workspace *workspace)
{
	int64_t limit = enforced(workspace) ? LIMIT_ENFORCED : LIMIT_TOLD;
	int64_t now = workspace_now(workspace);
	struct rate_state state = { .limit = limit };

	if (now - workspace->rate_start_ms >= WINDOW_MS || now < workspace->rate_start_ms) {
		workspace->rate_start_ms = now;
		workspace->rate_used = 0;
	}
	if (workspace->rate_used < limit)
		state.remaining = limit - workspace->rate_used;
	state.reset_s = (workspace->rate_start_ms + WINDOW_MS - now + 999) / 1000;
	return state;
}

bool rate_count(struct workspace *workspace)
{
	struct rate_state state = rate_look(workspace);

	workspace->rate_used++;
	return !enforced(workspace) || state.remaining > 0;
}
