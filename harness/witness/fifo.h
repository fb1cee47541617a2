/* SPDX-License-Identifier: MIT */
/*
 * FIFO: handshakes between the case and a command, and bystanders that answer.
 *
 * "Wait until it has come this far" is a blocking FIFO: the command writes a
 * line, the case reads it. A command ends the read also by dying, because the
 * reader's own writing end is closed before it reads; so a dead answerer is an
 * answer and no hang.
 */
#ifndef SP_WITNESS_FIFO_H
#define SP_WITNESS_FIFO_H

#include <witness/place.h>

/* Tools that a case with FIFOs lists: SP_FIFO_TOOLS, NULL. */
#define SP_FIFO_TOOLS "mkfifo"

/* One FIFO of a place. */
struct sp_fifo {
	const struct sp_place *place;
	/* Absolute path. */
	const char *path;
};

/* Makes a FIFO. False after a recorded failure. */
bool sp_fifo_make(const struct sp_place *place, const char *name, struct sp_fifo *fifo);
/*
 * Waits for one line of the command; it lives as long as the case. NULL after a recorded failure.
 */
const char *sp_fifo_take(const struct sp_fifo *fifo);
/*
 * Same where the command is known to hold the FIFO open: its death then ends the waiting, with the
 * text "dead".
 */
const char *sp_fifo_take_held(const struct sp_fifo *fifo);
/* Gives a waiting command one line. It must be waiting or come: this blocks until it reads. */
bool sp_fifo_put(const struct sp_fifo *fifo, const char *line);

/* A process that answers each line with itself, until it gets "end" and exits with code 23. */
struct sp_answerer {
	const struct sp_place *place;
	const char *name;
	/* Its command, to be embedded: "sh /tmp/…/answer NAME". */
	const char *shell;
};

/* Exit code of an answerer that was asked to end. */
#define SP_ANSWERER_CODE 23

/* Makes its FIFOs. False after a recorded failure. */
bool sp_answerer_make(const struct sp_place *place, const char *name, struct sp_answerer *answerer);
/* Waits until it answers. False after a recorded failure. */
bool sp_answerer_await(const struct sp_answerer *answerer);
/* Asks. False, and the case fails at `where`, when it is dead. `what` names it for the reader. */
bool sp_answerer_check(const struct sp_answerer *answerer, struct sp_where where,
		       const char *what);
/* Asks it to end; the same check. */
bool sp_answerer_end(const struct sp_answerer *answerer);

#endif
