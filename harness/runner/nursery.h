/* SPDX-License-Identifier: MIT */
/*
 * A process beside the worker from which the other processes of a case are
 * forked. It is there before the worker opens anything, so that no descriptor,
 * file lock or thread of an open subject is ever carried over a fork.
 */
#ifndef SP_RUNNER_NURSERY_H
#define SP_RUNNER_NURSERY_H

#include <sandproof/case.h>

struct sp_worker_options;

/* A process to be started. Pointers are into the program, which both sides share. */
struct sp_peer_order {
	sp_peer_fn fn;
	enum sp_peer_place place;
	enum sp_subject_kind kind;
	const char *spec;
	/* Limit of its calls, on the clock of sp_now(). */
	uint64_t cancel_at;
	/* Length of the argument, which is sent along. */
	size_t arg_len;
};

/* Longest argument of a peer. */
#define SP_PEER_ARG_MAX (60 * 1024)

/* Forks the nursery; 0 or -errno. It ends when `*ret_sock` is closed, and with the worker. */
int sp_nursery_start(const struct sp_worker_options *options, int *ret_sock);
/*
 * Forks a peer with its standard pipes (handed over, also after a failure) and
 * returns a descriptor that tells of its end. The peer does nothing before it reads a
 * first byte, so its end cannot be missed. 0 or -errno.
 */
int sp_nursery_order(int sock, const struct sp_peer_order *order, const void *arg, int in, int out,
		     int *ret_pidfd);

/* What runs in the peer: peer_side.c. Never returns. */
_Noreturn void sp_peer_main(const struct sp_worker_options *options,
			    const struct sp_peer_order *order, const void *arg, int in, int out);

#endif
