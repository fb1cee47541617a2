/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/listen.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <base/cleanup.h>

#define BACKLOG 1024

/* Longest text of a host that we accept ("127.255.255.255", "localhost", "::1"). */
#define HOST_MAX 16

/* A server that was KILLed leaves its socket behind; one that still answers is left alone. */
static bool is_stale(const struct sockaddr_un *address)
{
	struct stat st;
	int fd SP_CLOSE = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	return connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	       errno == ECONNREFUSED;
}

static int bind_unix(int fd, const struct sockaddr_un *address)
{
	/* Only our own user may talk to it; the mask covers the time before any chmod could. */
	mode_t mask = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address));
	int saved = errno;

	umask(mask);
	errno = saved;
	return rc;
}

static int listen_unix(const char *path, struct api_listener *listener, struct sp_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return sp_error_set(
		    err, SP_INVALID,
		    "the path of the Unix socket has %zu bytes and a socket address "
		    "holds %zu; use a shorter path (a shorter TMPDIR, for instance)",
		    strlen(path), sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);

	int fd SP_CLOSE = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return sp_error_set_errno(err, errno, "making a Unix socket");
	int rc = bind_unix(fd, &address);

	if (rc && errno == EADDRINUSE && is_stale(&address) && !unlink(path))
		rc = bind_unix(fd, &address);
	if (rc)
		return sp_error_set_errno(err, errno, "binding the Unix socket %s", path);
	if (lstat(path, &st) || listen(fd, BACKLOG)) {
		int saved = errno;

		unlink(path);
		return sp_error_set_errno(err, saved, "listening on the Unix socket %s", path);
	}
	/* Clients may stand in another folder. */
	listener->unix_path = realpath(path, NULL);
	if (!listener->unix_path) {
		unlink(path);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	listener->fd = SP_TAKE_FD(fd);
	snprintf(listener->origin, sizeof(listener->origin), "http://localhost");
	return 0;
}

union inet_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Fills an address from a loopback host; its length, or 0 when it is no loopback host. */
static socklen_t loopback(const char *host, uint16_t port, union inet_address *address)
{
	memset(address, 0, sizeof(*address));
	if (!strcmp(host, "::1")) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_addr = in6addr_loopback;
		address->v6.sin6_port = htons(port);
		return sizeof(address->v6);
	}
	address->v4.sin_family = AF_INET;
	address->v4.sin_port = htons(port);
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
		      &address->v4.sin_addr) != 1)
		return 0;
	return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127 ? sizeof(address->v4) : 0;
}

/* Splits "HOST:PORT" or "[HOST]:PORT". */
static bool split(const char *text, char host[HOST_MAX], uint16_t *ret_port)
{
	bool bracket = *text == '[';
	const char *start = text + bracket;
	const char *colon = strrchr(text, ':');
	const char *end = bracket ? strchr(start, ']') : colon;
	char *rest;

	if (!colon || !end || end + bracket != colon || end - start >= HOST_MAX || !colon[1])
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	if (colon[1] < '0' || colon[1] > '9')
		return false;
	unsigned long port = strtoul(colon + 1, &rest, 10);

	*ret_port = (uint16_t)port;
	return !*rest && port <= UINT16_MAX;
}

static int listen_inet(const char *text, struct api_listener *listener, struct sp_error *err)
{
	char host[HOST_MAX];
	char shown[INET6_ADDRSTRLEN];
	uint16_t port;
	union inet_address address;
	socklen_t len = 0;
	const int on = 1;

	if (split(text, host, &port))
		len = loopback(host, port, &address);
	if (!len)
		return sp_error_set(
		    err, SP_INVALID,
		    "the fake API server cannot listen on `%s`: say unix:PATH, or "
		    "HOST:PORT with a loopback host (127.0.0.1:0 takes any free port)",
		    text);

	int fd SP_CLOSE =
	    socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return sp_error_set_errno(err, errno, "making a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address.any, len) || listen(fd, BACKLOG) ||
	    getsockname(fd, &address.any, &len))
		return sp_error_set_errno(
			err, errno, "listening on %s (port 0 takes any that is free)", text);
	if (address.any.sa_family == AF_INET6) {
		snprintf(listener->origin, sizeof(listener->origin), "http://[::1]:%u",
			 ntohs(address.v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &address.v4.sin_addr, shown, sizeof(shown));
		snprintf(listener->origin, sizeof(listener->origin), "http://%s:%u", shown,
			 ntohs(address.v4.sin_port));
	}
	listener->fd = SP_TAKE_FD(fd);
	return 0;
}

int api_listen(const char *address, struct api_listener *ret_listener, struct sp_error *err)
{
	struct api_listener listener = API_LISTENER_INIT;
	int rc;

	if (!address)
		address = "127.0.0.1:0";
	rc = !strncmp(address, "unix:", 5) ? listen_unix(address + 5, &listener, err)
					   : listen_inet(address, &listener, err);
	if (!rc)
		*ret_listener = listener;
	return rc;
}

void api_listener_done(struct api_listener *listener)
{
	struct stat st;

	listener->fd = sp_close(listener->fd);
	if (listener->unix_path && !lstat(listener->unix_path, &st) && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		unlink(listener->unix_path);
	free(SP_TAKE(listener->unix_path));
}
