/* SPDX-License-Identifier: MIT */
/*
 * Messages between supervisor and worker. The socket keeps their borders
 * (SOCK_SEQPACKET); inside are numbers and texts, each checked when read,
 * since a worker that went wrong may send anything.
 */
#ifndef SP_RUNNER_WIRE_H
#define SP_RUNNER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest message; evidence is bounded below it. */
#define SP_WIRE_MAX (96 * 1024)

/* What a subject's store and lock declare, as far as the two have to go together; bits. */
enum sp_pairing {
	/* The store outlives the process, or is shared. */
	SP_PAIRING_STORE_OUTLIVES = 1 << 0,
	/* The lock excludes within one process only. */
	SP_PAIRING_LOCK_LOCAL = 1 << 1,
};

enum sp_wire_type {
	/* Supervisor: run a case. index, deadline_ms. */
	SP_WIRE_RUN = 1,
	/*
	 * Supervisor: remove what earlier workers of this slot left. n, then the id of each
	 * sandbox; n, then the key of each record.
	 */
	SP_WIRE_CLEAN,
	/* Supervisor: remove the shared sandbox, close everything and end. */
	SP_WIRE_QUIT,
	/* Worker: a subject is open. kind, enum sp_pairing, capabilities as JSON text or NULL. */
	SP_WIRE_OPENED,
	/* Worker: a subject could not be opened. kind, reason. */
	SP_WIRE_NOT_OPENED,
	/* Worker: a secret, so that the supervisor's evidence is redacted too. text. */
	SP_WIRE_SECRET,
	/* Worker: the case's function begins, or has returned (enum sp_phase). */
	SP_WIRE_PHASE,
	/* Worker: a sandbox was made, or is gone. id. */
	SP_WIRE_MADE,
	SP_WIRE_GONE,
	/* Worker: a record may be there from now on, or is not any more. key. */
	SP_WIRE_WROTE,
	SP_WIRE_FORGOT,
	/* Worker: left behind. case id, kind, id of the thing or NULL, message. */
	SP_WIRE_LEAK,
	/* Worker: a case ended. See worker.c, send_result(). */
	SP_WIRE_RESULT,
	/*
	 * Worker: ends by itself after the result, since it cannot be
	 * trusted with another case. reason.
	 */
	SP_WIRE_RETIRE,
	/* Worker: what it was told to remove is removed, as far as it could be. */
	SP_WIRE_CLEANED,
	/* Worker: everything is removed and closed; it ends now. */
	SP_WIRE_BYE,
};

/* What of a case is running. */
enum sp_phase {
	SP_PHASE_BODY = 1,
	SP_PHASE_TEARDOWN,
};

/* A message that is being built or read. */
struct sp_wire {
	size_t len;
	size_t at;
	/* Something did not fit or was not there. */
	bool bad;
	unsigned char data[SP_WIRE_MAX];
};

/* Begins a message. */
void sp_wire_start(struct sp_wire *wire, enum sp_wire_type type);
/* Appends a number; one that does not fit latches `bad`. */
void sp_wire_put(struct sp_wire *wire, uint64_t number);
/* NULL stays NULL. */
void sp_wire_put_text(struct sp_wire *wire, const char *text);
/* Sends the whole message, waiting for room; 0 or -errno. */
int sp_wire_send(struct sp_wire *wire, int fd);

/*
 * Receives one message: its type, 0 at the end of the connection, or -errno
 * (-EAGAIN with `flags` MSG_DONTWAIT).
 */
int sp_wire_recv(struct sp_wire *wire, int fd, int flags);
uint64_t sp_wire_get(struct sp_wire *wire);
/* A malloc'ed text, or NULL for a NULL that was sent or a message that is bad. */
char *sp_wire_get_text(struct sp_wire *wire);

#endif
