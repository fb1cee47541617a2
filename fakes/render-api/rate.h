/* SPDX-License-Identifier: MIT */
/* The rate limit of a workspace: always told, enforced by the switch `rate-limit` only. */
#ifndef FAKE_RENDER_API_RATE_H
#define FAKE_RENDER_API_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include <fakes/render-api/model.h>

struct rate_state {
	int64_t limit;
	int64_t remaining;
	/* Seconds until the count begins anew, at least 1. */
	int64_t reset_s;
};

/* Counts one request; false when it is beyond the limit. */
bool rate_count(struct workspace *workspace);
struct rate_state rate_look(struct workspace *workspace);

#endif
