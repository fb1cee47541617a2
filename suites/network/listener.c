/* SPDX-License-Identifier: MIT */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SENTINEL "sentinel"

static int bound(int type, unsigned *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd SP_CLOSE = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(fd, (struct sockaddr *)&at, &len) ||
	    (type == SOCK_STREAM && listen(fd, 64)))
		return -1;
	*ret_port = ntohs(at.sin_port);
	return SP_TAKE_FD(fd);
}

bool net_open(struct sp_case *t, struct net_listener *listener)
{
	listener->t = t;
	listener->tcp = bound(SOCK_STREAM, &listener->tcp_port);
	listener->udp = bound(SOCK_DGRAM, &listener->udp_port);
	if (listener->tcp >= 0 && listener->udp >= 0)
		return true;
	sp_case_error(t, SP_HERE, "cannot listen on loopback: %s", strerror(errno));
	return false;
}

void net_close(struct net_listener *listener)
{
	listener->tcp = sp_close(listener->tcp);
	listener->udp = sp_close(listener->udp);
}

const char *net_knock(const struct net_listener *listener, const char *word)
{
	return sp_case_format(listener->t,
			      "bash -c '(exec 3<>/dev/tcp/127.0.0.1/%u && echo %s >&3) 2>/dev/null "
			      "&& echo tcp; "
			      "(exec 4<>/dev/udp/127.0.0.1/%u && echo %s >&4) 2>/dev/null && echo "
			      "udp; :'",
			      listener->tcp_port, word, listener->udp_port, word);
}

/* The case's own knock, which stands behind everything that came before it. */
static bool send_sentinel(int type, unsigned port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd SP_CLOSE = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	return fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)) &&
	       write(fd, SENTINEL "\n", sizeof(SENTINEL)) == (ssize_t)sizeof(SENTINEL);
}

/* Next message of a socket: a datagram, or all that one connection says. */
static bool next_message(const struct net_listener *listener, int type, char text[64])
{
	int fd SP_CLOSE =
		type == SOCK_STREAM ? accept4(listener->tcp, NULL, NULL, SOCK_CLOEXEC) : -1;
	ssize_t n = type == SOCK_STREAM ? read(fd, text, 63) : recv(listener->udp, text, 63, 0);

	text[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static int hits_of(struct net_listener *listener, int type, unsigned port, const char *word)
{
	size_t len = strlen(word);
	char text[64];
	int hits = 0;

	if (!send_sentinel(type, port))
		return -1;
	while (next_message(listener, type, text)) {
		if (!strncmp(text, SENTINEL, sizeof(SENTINEL) - 1))
			return hits;
		hits |= !strncmp(text, word, len);
	}
	return -1;
}

int net_hits(struct net_listener *listener, const char *word)
{
	int tcp = hits_of(listener, SOCK_STREAM, listener->tcp_port, word);
	int udp = hits_of(listener, SOCK_DGRAM, listener->udp_port, word);

	if (tcp >= 0 && udp >= 0)
		return tcp + udp;
	sp_case_error(listener->t, SP_HERE, "the listener lost its sentinel: %s", strerror(errno));
	return -1;
}
