/* SPDX-License-Identifier: MIT */
/*
 * A place: a folder of the case's own in the sandbox, /tmp/<unique>-<name>,
 * for FIFOs, locks and marks. It is outside the workspace, so that no test of
 * files sees it, and it goes away with everything that waits in it.
 *
 * It holds one FIFO, "hold", at which a command can stand until the place is
 * closed or the command is ended: SP_HOLD.
 */
#ifndef SP_WITNESS_PLACE_H
#define SP_WITNESS_PLACE_H

#include <witness/shell.h>

struct sp_place {
	struct sp_case *t;
	/* Borrowed; NULL while there is no folder. */
	struct sp_sandbox *sandbox;
	/* Absolute path without quotes or blanks; lives as long as the case. */
	const char *dir;
	/* Shell text that stands still until the place is closed: "read -r hold <'…/hold'". */
	const char *hold;
};

#define SP_PLACE_INIT { NULL, NULL, NULL, NULL }
/* struct sp_place place SP_PLACE = SP_PLACE_INIT; */
#define SP_PLACE SP_CLEANUP(sp_place_close)

/*
 * Makes the folder with its hold FIFO and the witnesses' scripts; needs mkfifo in the
 * sandbox. `name` tells several places of one case apart ([a-z0-9]). False after a recorded
 * failure.
 */
bool sp_place_open(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
		   struct sp_place *place);
/* Same folder seen through another sandbox (or handle); owns nothing. */
struct sp_place sp_place_through(const struct sp_place *place, struct sp_sandbox *sandbox);
/* Absolute path of something in the place; lives as long as the case. */
const char *sp_place_path(const struct sp_place *place, const char *name);
/*
 * Lets everything go that stands in the place (holders, probes that survived) and removes the
 * folder. Never a check; does nothing once the sandbox is gone.
 */
void sp_place_close(struct sp_place *place);
/* The sandbox was destroyed: there is nothing left to close. */
void sp_place_forget(struct sp_place *place);

#endif
