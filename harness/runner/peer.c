/* SPDX-License-Identifier: MIT */
/* A peer as the case sees it. */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "nursery.h"
#include "worker.h"

struct sp_peer {
	struct sp_peer *next;
	struct sp_case *t;
	int in, out, pidfd;
	/* What was read and not heard yet, after the line that was. */
	struct sp_buf read;
	size_t heard;
	bool done;
	bool refused;
	struct sp_error error;
};

static struct sp_where own_place(struct sp_case *t)
{
	return (struct sp_where){t->def->file, t->def->line};
}

static void peer_free(struct sp_peer *peer)
{
	sp_close(peer->in);
	sp_close(peer->out);
	sp_close(peer->pidfd);
	sp_buf_done(&peer->read);
	free(peer);
}

/* ---- lines ---- */

/* Waits until there is something to read, or the case's cancel fires. */
static bool await_bytes(struct sp_peer *peer)
{
	struct sp_cancel *cancel = sp_case_cancel(peer->t);
	struct pollfd fds[] = {{.fd = peer->out, .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};

	while (!fds[0].revents) {
		(void)poll(fds, SP_COUNT(fds), -1);
		if (!fds[0].revents && sp_cancel_check(cancel, NULL))
			return false;
	}
	return true;
}

static bool read_more(struct sp_peer *peer)
{
	char piece[16384];
	ssize_t n = -1;

	if (!await_bytes(peer))
		return false;
	while ((n = read(peer->out, piece, sizeof(piece))) < 0 && errno == EINTR)
		;
	return n > 0 && !sp_buf_add(&peer->read, piece, (size_t)n);
}

/* The next line of any kind, without its end; valid until the next call. */
static char *next_line(struct sp_peer *peer)
{
	char *end;

	/* A line is taken out of the buffer when the next one is asked for. */
	sp_buf_consume(&peer->read, peer->heard);
	peer->heard = 0;
	while (!(end = peer->read.len ? memchr(peer->read.data, '\n', peer->read.len) : NULL))
		if (!read_more(peer))
			return NULL;
	*end = '\0';
	peer->heard = (size_t)(end - peer->read.data) + 1;
	return peer->read.data;
}

const char *sp_peer_hear(struct sp_peer *peer)
{
	const char *line;

	if (!peer || peer->done || peer->refused)
		return NULL;
	/* A hang of the subject over there is a hang of the subject. */
	sp_guard_enter_other(peer->t->guard);
	line = next_line(peer);
	sp_guard_leave_other(peer->t->guard);
	if (line && !strcmp(line, SP_PEER_DONE)) {
		peer->done = true;
		return NULL;
	}
	sp_case_note(peer->t, "another process: %s", line ? line : "its end");
	return line;
}

bool sp_peer_say(struct sp_peer *peer, const char *format, ...)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_PEER_LINE);
	va_list args;

	if (!peer)
		return false;
	va_start(args, format);
	sp_buf_vaddf(&line, format, args);
	va_end(args);
	sp_buf_addc(&line, '\n');
	return !line.error && !sp_write_all(peer->in, sp_buf_str(&line), line.len);
}

/* ---- starting ---- */

/* Pipes, fork, and the first line; what goes wrong is recorded. */
static bool start(struct sp_peer *peer, const struct sp_peer_order *order, const void *arg)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	int rc = pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ? -errno : 0;

	peer->in = in[1];
	peer->out = out[0];
	if (!rc)
		rc = sp_nursery_order(peer->t->worker->nursery, order, arg, in[0], out[1],
				      &peer->pidfd);
	if (!rc && sp_peer_say(peer, "go"))
		return true;
	sp_case_error(peer->t, own_place(peer->t), "another process could not be started: %s",
		      strerror(-rc));
	return false;
}

/* What the peer said first. */
static bool began(struct sp_peer *peer, enum sp_peer_place place)
{
	const char *line = next_line(peer);
	int code = SP_INTERNAL, at = 0;

	if (line && !strcmp(line, SP_PEER_READY))
		return true;
	if (line && !strncmp(line, SP_PEER_CANNOT, strlen(SP_PEER_CANNOT))) {
		sp_skip(peer->t, "needs a process with mounts of its own:%s",
			line + strlen(SP_PEER_CANNOT));
		return false;
	}
	if (!line || sscanf(line, SP_PEER_REFUSED " %d %n", &code, &at) < 1) {
		sp_case_error(peer->t, own_place(peer->t), "another process ended before it began");
		return false;
	}
	peer->refused = true;
	sp_error_set(&peer->error, (enum sp_code)code, "%s", line + at);
	sp_case_note(peer->t, "another process could not open the subject: %s: %s",
		     sp_code_name(code), line + at);
	if (place == SP_PEER_PLAIN)
		sp_case_error(peer->t, own_place(peer->t),
			      "another process could not open the subject: %s: %s",
			      sp_code_name(code), line + at);
	return place != SP_PEER_PLAIN;
}

struct sp_peer *sp_case_peer(struct sp_case *t, enum sp_peer_place place, sp_peer_fn fn,
			     const void *arg, size_t arg_len)
{
	const struct sp_peer_order order = {.fn = fn,
					    .place = place,
					    .kind = t->opened->kind,
					    .spec = t->opened->spec,
					    .cancel_at = t->cancel_at,
					    .arg_len = arg_len};
	struct sp_peer *peer;

	if (!(t->def->needs & SP_NEED_PEER)) {
		sp_case_error(t, own_place(t),
			      "the case starts another process and does not declare SP_NEED_PEER");
		return NULL;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer) {
		sp_case_error(t, own_place(t), "no memory for another process");
		return NULL;
	}
	*peer = (struct sp_peer){.next = t->peers,
				 .t = t,
				 .in = -1,
				 .out = -1,
				 .pidfd = -1,
				 .read = SP_BUF_INIT(2 * SP_PEER_LINE)};
	t->peers = peer;
	return start(peer, &order, arg) && began(peer, place) ? peer : NULL;
}

int sp_peer_refused(struct sp_peer *peer, struct sp_error *err)
{
	if (!peer || !peer->refused)
		return 0;
	if (err)
		*err = peer->error;
	return (int)peer->error.code;
}

/* ---- ending ---- */

void sp_peer_kill(struct sp_peer *peer)
{
	struct pollfd fd = {.events = POLLIN};

	if (!peer || peer->pidfd < 0)
		return;
	fd.fd = peer->pidfd;
	(void)sp_pidfd_signal(peer->pidfd, SIGKILL);
	/* KILL cannot be refused: this ends. */
	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
}

bool sp_peer_end(struct sp_peer *peer)
{
	if (!peer)
		return false;
	peer->in = sp_close(peer->in);
	while (sp_peer_hear(peer))
		;
	return peer->done || peer->refused;
}

void sp_peers_end(struct sp_case *t)
{
	while (t->peers) {
		struct sp_peer *peer = t->peers;

		t->peers = peer->next;
		sp_peer_kill(peer);
		peer_free(peer);
	}
}
