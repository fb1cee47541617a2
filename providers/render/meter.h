/* SPDX-License-Identifier: MIT */
/*
 * What a run costs the service: requests to its control plane are counted over all processes of the
 * run, kept within a budget, and paced by the service's own headers, so that nobody is ever refused
 * for asking too fast. What goes to a sandbox's own host is neither counted nor held up.
 */
#ifndef SP_RENDER_METER_H
#define SP_RENDER_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sandproof/transport.h>

/* Lies in memory that all processes of the run share. */
struct sp_meter {
	/* Set before anything is opened; 0: no limit. */
	uint64_t max_requests;
	uint64_t max_sandboxes;
	/* Requests that were sent to the control plane, and creates among them. */
	_Atomic uint64_t requests;
	_Atomic uint64_t sandboxes;
	/* Requests that were refused here because a limit was reached. */
	_Atomic uint64_t refused;
	/* Requests that waited for the service's next window, and until when (sp_now()). */
	_Atomic uint64_t paced;
	_Atomic uint64_t wait_until;
};

/* Makes one, shared with all children, and frees it. NULL when memory is short. */
struct sp_meter *sp_meter_new(void);
struct sp_meter *sp_meter_free(struct sp_meter *meter);

/* True when a limit is reached: nothing more should be begun. */
bool sp_meter_used_up(struct sp_meter *meter);

/*
 * Puts a meter around a transport, which it then owns. `token` (copied) is the key by which
 * requests to the control plane are known. With `sandboxes` used up no more are made; with
 * `requests` used up only what looks, ends and deletes goes through. A request that is refused is
 * SP_RATE_LIMITED.
 */
int sp_meter_wrap(struct sp_meter *meter, const char *token, struct sp_transport *transport,
		  struct sp_error *err);

#endif
