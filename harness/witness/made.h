/* SPDX-License-Identifier: MIT */
/* Sandboxes that a case makes itself: in the runner's books, and gone when the scope is left. */
#ifndef SP_WITNESS_MADE_H
#define SP_WITNESS_MADE_H

#include <base/cleanup.h>
#include <sandproof/case.h>

/* struct sp_sandbox mine SP_MADE = SP_SANDBOX_INIT; destroyed and closed when the scope is left. */
#define SP_MADE SP_CLEANUP(sp_made_end)
/* See SP_MADE. */
void sp_made_end(struct sp_sandbox *sandbox);

/* Creates; false after a recorded failure. */
bool sp_made_create(struct sp_case *t, const struct sp_create_options *options,
		    struct sp_sandbox *ret_sandbox);

#endif
