/* SPDX-License-Identifier: MIT */
/* The driver's side of the protocol over what the registry opens. */
#include "registry_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <cli/options.h>
#include <providers/driver/serve.h>
#include <runner/coverage.h>

/* What one connection offers; each has instances of its own. */
struct offered {
	struct sp_subject subjects[3];
	size_t len;
};

/* What all connections share. */
struct server {
	struct cli_registry *registry;
	const struct cli_serve_driver_options *options;
	/* Opening and closing look at the registry's lists. */
	pthread_mutex_t lock;
	/* Tells of the signals that end a listening server, else -1. */
	int signals;
};

struct connection {
	struct server *server;
	int fd;
};

static struct sp_subject *open_kind(struct server *server, struct offered *offered,
				    enum sp_subject_kind kind, const char *spec,
				    struct sp_error *err)
{
	struct sp_subject *subject = &offered->subjects[offered->len];

	if (cli_registry_open(server->registry, kind, spec, NULL, subject, err))
		return NULL;
	offered->len++;
	return subject;
}

/* A provider is offered together with our journal on it, a store with its lock. */
static int open_offer(struct server *server, struct offered *offered, struct sp_serve_offer *offer,
		      struct sp_error *err)
{
	const struct cli_serve_driver_options *o = server->options;
	const char *lock = o->lock ? o->lock : o->store;
	struct sp_subject *subject;

	if (o->provider) {
		subject = open_kind(server, offered, SP_SUBJECT_JOURNAL,
				    cli_spec_default(SP_SUBJECT_JOURNAL), err);
		if (!subject)
			return err->code;
		offer->provider = &subject->provider;
		offer->journal = &subject->journal;
	}
	if (o->store) {
		subject = open_kind(server, offered, SP_SUBJECT_STORE, o->store, err);
		if (!subject)
			return err->code;
		offer->store = &subject->store;
	}
	if (lock) {
		subject = open_kind(server, offered, SP_SUBJECT_LOCK, lock, err);
		if (!subject)
			return err->code;
		offer->lock = &subject->lock;
	}
	return 0;
}

static void close_offer(struct server *server, struct offered *offered)
{
	pthread_mutex_lock(&server->lock);
	while (offered->len)
		sp_subject_done(&offered->subjects[--offered->len]);
	pthread_mutex_unlock(&server->lock);
}

static int serve(struct server *server, int in, int out, struct sp_error *err)
{
	struct offered offered = {.len = 0};
	struct sp_serve_offer offer = {NULL, NULL, NULL, NULL};
	int rc;

	for (size_t i = 0; i < SP_COUNT(offered.subjects); i++)
		offered.subjects[i] = (struct sp_subject)SP_SUBJECT_INIT;
	pthread_mutex_lock(&server->lock);
	rc = open_offer(server, &offered, &offer, err);
	pthread_mutex_unlock(&server->lock);
	if (!rc)
		rc = sp_serve(in, out, &offer, err);
	close_offer(server, &offered);
	return rc;
}

/* ---- Sockets ---- */

static void *serve_connection(void *arg)
{
	struct connection *connection = arg;
	struct sp_error err = SP_ERROR_INIT;

	if (serve(connection->server, connection->fd, connection->fd, &err))
		fprintf(stderr, "sandproof: a connection ended: %s\n", err.message);
	sp_close(connection->fd);
	free(connection);
	return NULL;
}

static int listen_unix(const char *path, struct sp_error *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd SP_CLOSE = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mode_t mask;
	int rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return sp_error_set(err, SP_INVALID, "--listen: the socket's path is too long");
	memcpy(at.sun_path, path, strlen(path));
	/* Whoever may connect runs commands as we do. */
	mask = umask(0177);
	rc = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 16);
	umask(mask);
	if (rc)
		return sp_error_set_errno(err, errno, "cannot listen at %s", path);
	printf("driver+unix:%s\n", path);
	return SP_TAKE_FD(fd);
}

static int listen_tcp(const char *text, struct sp_error *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	const int one = 1;
	uint64_t port;
	int fd SP_CLOSE = -1;
	int rc = strncmp(text, "127.0.0.1:", 10)
		     ? sp_error_set(err, SP_INVALID,
				    "--listen takes unix:PATH or 127.0.0.1:PORT (0: any port)")
		     : cli_parse_number("--listen 127.0.0.1:PORT", text + 10, 0, 65535, &port, err);

	if (rc)
		return rc;
	at.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return sp_error_set_errno(err, errno, "cannot listen at %s", text);
	printf("driver+tcp:127.0.0.1:%u\n", ntohs(at.sin_port));
	return SP_TAKE_FD(fd);
}

/* A descriptor that tells of the signals that end a server; made before there is a thread. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/*
 * Ends this process by the signal that came, as if nobody had waited for it, but for the socket,
 * which would stay. Connections may be in the middle of anything, so nothing is freed.
 */
static void end_by_signal(int signals, const char *path)
{
	struct signalfd_siginfo info;
	const struct sp_run_options none = {.jobs = 0};
	sigset_t set;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (path)
		unlink(path);
	sp_coverage_dump(&none);
	signal((int)info.ssi_signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, (int)info.ssi_signo);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise((int)info.ssi_signo);
}

/* Waits for a connection, or for the signal after which it does not return. */
static void await_connection(int listener, int signals, const char *path)
{
	struct pollfd fds[] = {{.fd = listener, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};

	while (poll(fds, SP_COUNT(fds), -1) < 0 && errno == EINTR)
		;
	if (fds[1].revents)
		end_by_signal(signals, path);
}

static int accept_all(struct server *server, int listener, const char *path, struct sp_error *err)
{
	for (;;) {
		struct connection *connection = malloc(sizeof(*connection));
		pthread_t thread;

		if (!connection)
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		await_connection(listener, server->signals, path);
		connection->server = server;
		connection->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (connection->fd < 0) {
			free(connection);
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return sp_error_set_errno(err, errno, "cannot accept a connection");
		}
		if (pthread_create(&thread, NULL, serve_connection, connection)) {
			sp_close(connection->fd);
			free(connection);
			continue;
		}
		pthread_detach(thread);
	}
}

static int serve_listener(struct server *server, struct sp_error *err)
{
	const char *text = server->options->listen;
	bool is_unix = !strncmp(text, "unix:", 5);
	int listener SP_CLOSE = is_unix ? listen_unix(text + 5, err) : listen_tcp(text, err);
	int rc;

	if (listener < 0)
		return err->code;
	fflush(stdout);
	rc = accept_all(server, listener, is_unix ? text + 5 : NULL, err);
	if (is_unix)
		unlink(text + 5);
	return rc;
}

int cli_serve_driver(const struct cli_serve_driver_options *options, struct sp_error *err)
{
	struct cli_registry_options registry = {
	    .provider = options->provider,
	    .store = options->store,
	    .lock = options->lock,
	    .settings = options->settings,
	    .shared_folder = getenv("SANDPROOF_SHARED"),
	};
	struct server server = {
	    .options = options,
	    .lock = PTHREAD_MUTEX_INITIALIZER,
	    .signals = -1,
	};
	int rc;

	signal(SIGPIPE, SIG_IGN);
	if (options->listen)
		server.signals = open_signals();
	server.registry = cli_registry_new(&registry);
	if (!server.registry)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = cli_registry_credentials(server.registry, err);
	if (!rc)
		rc = cli_registry_prepare(server.registry, err);
	if (!rc)
		rc = options->listen ? serve_listener(&server, err)
				     : serve(&server, STDIN_FILENO, STDOUT_FILENO, err);
	cli_registry_free(server.registry);
	return rc;
}
