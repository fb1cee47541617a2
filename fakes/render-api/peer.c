/* SPDX-License-Identifier: MIT */
/*
 * Connections. The daemon does not look at a connection that is suspended, so
 * each one is in our own epoll set as well, for nothing but its other end's closing.
 */
#include <fakes/render-api/request.h>

#include <stdlib.h>
#include <sys/epoll.h>

static void begin(struct api *api, struct MHD_Connection *connection, void **socket_context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer || !info) {
		free(peer);
		return;
	}
	peer->connection = connection;
	peer->fd = info->connect_fd;
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = peer };

	epoll_ctl(api->epoll_fd, EPOLL_CTL_ADD, peer->fd, &event);
	TAILQ_INSERT_TAIL(&api->peers, peer, entry);
	*socket_context = peer;
}

void peer_on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
			enum MHD_ConnectionNotificationCode code)
{
	struct api *api = arg;
	struct peer *peer = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		begin(api, connection, socket_context);
	} else if (peer) {
		/*
		 * By hand: a child between fork and exec may hold a copy that keeps it in the set.
		 */
		epoll_ctl(api->epoll_fd, EPOLL_CTL_DEL, peer->fd, NULL);
		TAILQ_REMOVE(&api->peers, peer, entry);
		if (peer->request)
			peer->request->peer = NULL;
		free(peer);
		*socket_context = NULL;
	}
}

/*
 * The daemon waits for edges and takes a short read for "nothing more yet": an end of file that
 * came together with the last bytes has no edge of its own and would never be read. A connection
 * that is resumed is read afresh. Only between the daemon's turns, as here, may that be done
 * outside its callbacks.
 */
static void read_again(struct peer *peer)
{
	MHD_suspend_connection(peer->connection);
	MHD_resume_connection(peer->connection);
}

void peer_on_hangup(struct peer *peer)
{
	struct request *request = peer->request;

	peer->gone = true;
	if (request && (request->suspended || request->sent))
		request_client_gone(request);
	if (request && request->suspended)
		request_resume(request);
	else
		read_again(peer);
}

void peer_hangup_all(struct api *api)
{
	struct peer *peer;

	TAILQ_FOREACH (peer, &api->peers, entry)
		peer_on_hangup(peer);
}
