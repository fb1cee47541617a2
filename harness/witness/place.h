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
	/* Names of FIFOs that are there from the start; lives as long as the case. */
	const char *stock;
};

#define SP_PLACE_INIT { NULL, NULL, NULL, NULL, NULL }
/* struct sp_place place SP_PLACE = SP_PLACE_INIT; */
#define SP_PLACE SP_CLEANUP(sp_place_close)

/*
 * Makes the folder with its hold FIFO and the witnesses' scripts; needs mkfifo in the
 * sandbox. `name` tells several places of one case apart ([a-z0-9]). False after a recorded
 * failure.
 */
bool sp_place_open(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
		   struct sp_place *place);

/* What a place has from the start: a service counts commands, so what belongs together is one. */
struct sp_place_options {
	/*
	 * Names of FIFOs, each followed by a blank: SP_STOCK_…; NULL for none. A witness that is
	 * made with such a name has its FIFOs already, and needs no command.
	 */
	const char *stock;
	/*
	 * In /dev/shm, where there is one: `tail -f` is told of changes there; on a layered file
	 * system it looks once a second, which would make every wait a second long.
	 */
	bool in_memory;
};

/* Stock of one FIFO. */
#define SP_STOCK_FIFO(name) name " "
/* Stock of a token's. */
#define SP_STOCK_TOKEN(name) name ".token " name ".ready "
/* Stock of an answerer's. */
#define SP_STOCK_ANSWERER(name) name ".ask " name ".tell "

/* sp_place_open() with these. */
bool sp_place_open_with(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
			const struct sp_place_options *options, struct sp_place *place);
/*
 * For witnesses: FIFOs of these names (each followed by a blank), out of the stock or made now.
 * False after a recorded failure.
 */
bool sp_place_fifos(const struct sp_place *place, const char *names);
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
