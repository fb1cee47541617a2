/* SPDX-License-Identifier: MIT */
/* Who reads the next request of a served connection. */
#include "server.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void tell(int event)
{
	const uint64_t one = 1;

	(void)!write(event, &one, sizeof(one));
}

/* Each wakes one that waits, and is told again only when it is asked for. */
static int watch(struct serve *serve, int how, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(serve->gate, how, fd, &event);
}

int serve_turn_open(struct serve *serve, struct sp_error *err)
{
	serve->gate = epoll_create1(EPOLL_CLOEXEC);
	serve->more = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	serve->drained = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (serve->gate < 0 || serve->drained < 0 ||
	    watch(serve, EPOLL_CTL_ADD, serve->more, EPOLLIN | EPOLLET))
		return sp_error_set_errno(err, errno, "no descriptors to wait for requests");
	if (!watch(serve, EPOLL_CTL_ADD, serve->in, EPOLLONESHOT))
		return 0;
	serve->is_file = errno == EPERM;
	return serve->is_file ? 0 : sp_error_set_errno(err, errno, "the input cannot be watched");
}

void serve_turn_close(struct serve *serve)
{
	sp_close(serve->gate);
	sp_close(serve->more);
	sp_close(serve->drained);
}

void serve_turn_put(struct serve *serve)
{
	bool has_more = serve->is_file || drv_lines_ready(&serve->lines);

	pthread_mutex_lock(&serve->lock);
	serve->turn_is_down = true;
	if (has_more)
		tell(serve->more);
	else
		(void)watch(serve, EPOLL_CTL_MOD, serve->in, EPOLLIN | EPOLLONESHOT);
	pthread_mutex_unlock(&serve->lock);
}

bool serve_turn_try(struct serve *serve)
{
	bool taken;

	pthread_mutex_lock(&serve->lock);
	taken = serve->turn_is_down;
	serve->turn_is_down = false;
	if (taken && !serve->is_file)
		(void)watch(serve, EPOLL_CTL_MOD, serve->in, EPOLLONESHOT);
	pthread_mutex_unlock(&serve->lock);
	return taken;
}

bool serve_turn_wait(struct serve *serve)
{
	struct epoll_event event;
	bool taken = false, ended = false;

	while (!taken && !ended) {
		if (epoll_wait(serve->gate, &event, 1, -1) != 1)
			continue;
		pthread_mutex_lock(&serve->lock);
		ended = serve->ended;
		taken = !ended && serve->turn_is_down;
		if (taken)
			serve->turn_is_down = false;
		pthread_mutex_unlock(&serve->lock);
	}
	return taken;
}

void serve_turn_end(struct serve *serve)
{
	pthread_mutex_lock(&serve->lock);
	serve->ended = true;
	if (!serve->calls)
		tell(serve->drained);
	pthread_mutex_unlock(&serve->lock);
	/* From now on everybody is woken. */
	tell(serve->more);
	(void)watch(serve, EPOLL_CTL_MOD, serve->more, EPOLLIN);
}
