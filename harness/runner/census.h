/* SPDX-License-Identifier: MIT */
/* What the back end counts, compared with what may be there. Only where it has control. */
#ifndef SP_RUNNER_CENSUS_H
#define SP_RUNNER_CENSUS_H

#include <stdbool.h>
#include <stddef.h>

struct sp_worker;
struct sp_opened;

/* How a shared sandbox looked before the first case used it. */
struct sp_shared_look {
	bool known;
	size_t processes;
	size_t commands;
	/*
	 * Everything that was created in it; a provider's own bookkeeping
	 * counts too, hence the listing.
	 */
	size_t files;
	/* /tmp is the sandbox's own, so that what lies there is laid to the case. */
	bool own_tmp;
	/*
	 * Sorted lines of what is in /tmp (its own) and in its home, or NULL
	 * when it could not be listed.
	 */
	char *listing;
};

/* Looks at the shared sandbox of a subject; without control or sandbox nothing is known. */
void sp_shared_look_take(struct sp_shared_look *look, struct sp_opened *opened);
void sp_shared_look_done(struct sp_shared_look *look);

/*
 * Counts after a case. Sandboxes beyond the shared ones, snapshots and holds
 * are leaks and are removed; a shared sandbox that is not as found is one too
 * and is dropped. A number that is still moving is asked for again, a bounded
 * number of rounds.
 */
void sp_census_check(struct sp_worker *w, struct sp_opened *opened, struct sp_shared_look *look);

#endif
