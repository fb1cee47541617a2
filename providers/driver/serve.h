/* SPDX-License-Identifier: MIT */
/* The driver's side of the protocol over tables of the contract. */
#ifndef SP_DRIVER_SERVE_H
#define SP_DRIVER_SERVE_H

#include <sandproof/journal.h>
#include <sandproof/provider.h>
#include <sandproof/store.h>

/* What is offered; NULL: not. Borrowed. */
struct sp_serve_offer {
	struct sp_provider *provider;
	struct sp_store *store;
	struct sp_lock *lock;
	struct sp_journal *journal;
};

/*
 * Speaks on two descriptors (which may be one socket) until the client's side ends, then ends what
 * is still called and closes every handle. 0; SP_PROTOCOL for a client that does not keep to the
 * protocol. The process must ignore SIGPIPE.
 */
int sp_serve(int in, int out, const struct sp_serve_offer *offer, struct sp_error *err);

#endif
