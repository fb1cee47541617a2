/* SPDX-License-Identifier: MIT */
/*
 * LISTEN: two sockets of the case's own on loopback, one for streams and one for
 * datagrams. Whether anything came is told by a sentinel that the case sends
 * itself: what came before it is there before it, so nobody waits.
 */
#ifndef SUITE_NETWORK_LISTENER_H
#define SUITE_NETWORK_LISTENER_H

#include <base/cleanup.h>
#include <sandproof/case.h>

struct net_listener {
	struct sp_case *t;
	int tcp, udp;
	unsigned tcp_port, udp_port;
};

#define NET_LISTENER_INIT { NULL, -1, -1, 0, 0 }
/* struct net_listener l NET_LISTENER = NET_LISTENER_INIT; */
#define NET_LISTENER SP_CLEANUP(net_close)

/* Opens both. False after a recorded error. */
bool net_open(struct sp_case *t, struct net_listener *listener);
void net_close(struct net_listener *listener);
/*
 * Shell text that sends `word` to both by bash's own sockets and prints
 * which one took it ("tcp", "udp").
 */
const char *net_knock(const struct net_listener *listener, const char *word);
/*
 * How many of both sockets have got `word` since the last call: 0, 1 or
 * 2; -1 after a recorded error.
 */
int net_hits(struct net_listener *listener, const char *word);

#endif
