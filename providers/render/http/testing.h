/* SPDX-License-Identifier: MIT */
/*
 * For tests only: a server of a few lines. A thread accepts on a Unix socket (or on loopback),
 * reads one request after another, and does what the test's script says.
 */
#ifndef SP_HTTP_TESTING_H
#define SP_HTTP_TESTING_H

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

/* What the server does with the next request. */
struct answer {
	/* Sent at once; NULL ends the script. */
	const char *text;
	size_t len;
	/* Then the connection is closed; otherwise it is kept for the next request. */
	bool close;
	/* Close without reading the request, once it has come: earlier, nothing was sent yet. */
	bool refuse;
	/* Before closing, wait until the client has gone. */
	bool linger;
	/* Sent byte by byte. */
	bool trickle;
	/* Sent again and again behind `text`, until the client has gone; NULL: nothing. */
	const char *endless;
};

struct server {
	pthread_t thread;
	int listener;
	/* Ends the server's waits. */
	int stop[2];
	char *folder;
	char path[100];
	int port;
	const struct answer *script;
	/* Read after server_stop(). */
	struct sp_buf requests;
	int connections;
};

/* False when the test is over. */
static SP_UNUSED bool wait_readable(const struct server *server, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
			       {.fd = server->stop[0], .events = POLLIN}};

	poll(fds, 2, -1);
	return !(fds[1].revents);
}

/* One request with its body; false at the end of the connection. */
static SP_UNUSED bool read_request(struct server *server, int fd)
{
	struct sp_buf request SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(8 << 20);
	size_t want = 0;
	char piece[4096];

	while (!want || request.len < want) {
		const char *end, *length;
		ssize_t n;

		if (!wait_readable(server, fd))
			return false;
		n = read(fd, piece, sizeof(piece));
		if (n <= 0)
			return false;
		sp_buf_add(&request, piece, (size_t)n);
		end = strstr(sp_buf_str(&request), "\r\n\r\n");
		length = strstr(sp_buf_str(&request), "Content-Length: ");
		if (end)
			want = (size_t)(end + 4 - request.data) +
			       (length && length < end ? strtoul(length + 16, NULL, 10) : 0);
	}
	sp_buf_add(&server->requests, request.data, request.len);
	sp_buf_adds(&server->requests, "\n----\n");
	return true;
}

/* False when the client has gone. */
static SP_UNUSED bool send_bytes(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static SP_UNUSED void send_answer(int fd, const struct answer *answer)
{
	size_t len = answer->len ? answer->len : strlen(answer->text);
	size_t step = answer->trickle ? 1 : len;

	for (size_t at = 0; at < len; at += step)
		if (!send_bytes(fd, answer->text + at, step))
			return;
	while (answer->endless && send_bytes(fd, answer->endless, strlen(answer->endless)))
		;
}

static SP_UNUSED void serve_connection(struct server *server, int fd)
{
	char byte;

	while (server->script->text) {
		const struct answer *answer = server->script;

		if (!(answer->refuse ? wait_readable(server, fd) : read_request(server, fd)))
			return;
		server->script++;
		send_answer(fd, answer);
		if (answer->linger && wait_readable(server, fd) && read(fd, &byte, 1) < 0)
			return;
		if (answer->close || answer->refuse)
			return;
	}
	/* Kept, until the client closes or the test ends. */
	if (wait_readable(server, fd))
		return;
}

static SP_UNUSED void *serve(void *arg)
{
	struct server *server = arg;

	while (wait_readable(server, server->listener)) {
		int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			break;
		server->connections++;
		serve_connection(server, fd);
		close(fd);
	}
	return NULL;
}

static SP_UNUSED void start(struct server *server, bool tcp, const struct answer *script)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_in loopback = {.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(loopback);
	int rc;

	memset(server, 0, sizeof(*server));
	server->requests.ceiling = 16 << 20;
	server->script = script;
	cr_assert_eq(sp_tmp_dir("http-", &server->folder, NULL), 0);
	snprintf(server->path, sizeof(server->path), "%s/s", server->folder);
	snprintf(local.sun_path, sizeof(local.sun_path), "%s", server->path);
	server->listener = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = tcp ? bind(server->listener, (struct sockaddr *)&loopback, sizeof(loopback))
		 : bind(server->listener, (struct sockaddr *)&local, sizeof(local));
	cr_assert_eq(rc, 0);
	cr_assert_eq(listen(server->listener, 8), 0);
	if (tcp)
		getsockname(server->listener, (struct sockaddr *)&loopback, &len);
	server->port = ntohs(loopback.sin_port);
	cr_assert_eq(pipe(server->stop), 0);
	cr_assert_eq(pthread_create(&server->thread, NULL, serve, server), 0);
}

/* Ends the thread; what it saw can be read then. */
static SP_UNUSED void stop(struct server *server)
{
	sp_close(server->stop[1]);
	pthread_join(server->thread, NULL);
	sp_close(server->stop[0]);
	sp_close(server->listener);
	sp_remove_tree(server->folder);
	free(server->folder);
}

#endif
