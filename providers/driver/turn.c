/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is to read what the driver says. A caller that waits reads for itself, and for
 * whoever else waits, so that its answer wakes one thread and not two; while no caller reads, the
 * driver's thread is woken by what comes. Handing on wakes nobody: the kernel does, when there is
 * something to read.
 */
#include "conn.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <base/cleanup.h>

/* Has the gate tell of what comes, once, or of nothing. */
static void set_gate(struct sp_driver *driver, bool open)
{
	struct epoll_event event = {.events = EPOLLONESHOT | (open ? EPOLLIN : 0)};

	if (driver->out >= 0)
		(void)epoll_ctl(driver->gate, EPOLL_CTL_MOD, driver->out, &event);
}

int drv_turn_open(struct sp_driver *driver, struct sp_error *err)
{
	struct epoll_event event = {.events = EPOLLONESHOT | EPOLLIN};

	driver->gate = epoll_create1(EPOLL_CLOEXEC);
	if (driver->gate < 0 || epoll_ctl(driver->gate, EPOLL_CTL_ADD, driver->out, &event))
		return sp_error_set_errno(err, errno, "the driver's output cannot be watched");
	return 0;
}

/* Called with the lock held. */
static void free_turn(struct sp_driver *driver)
{
	driver->turn = DRV_TURN_FREE;
	driver->leader = NULL;
	set_gate(driver, true);
	pthread_cond_broadcast(&driver->turn_free);
}

int drv_turn_lead(struct sp_driver *driver, struct drv_call *call)
{
	int out = -1;

	pthread_mutex_lock(&driver->lock);
	if (driver->turn == DRV_TURN_FREE && !driver->thread_wants && !call->done) {
		driver->turn = DRV_TURN_CALLER;
		driver->leader = call;
		set_gate(driver, false);
		out = driver->out;
	}
	pthread_mutex_unlock(&driver->lock);
	return out;
}

bool drv_turn_read(struct sp_driver *driver)
{
	int rc = drv_lines_fill(&driver->lines, driver->out);

	if (rc > 0)
		drv_dispatch_lines(driver);
	return rc > 0 || rc == -EAGAIN;
}

bool drv_turn_is_over(struct sp_driver *driver, struct drv_call *call, bool *reads)
{
	bool done;

	pthread_mutex_lock(&driver->lock);
	done = call->done;
	if (done || driver->thread_wants)
		*reads = false;
	if (driver->leader == call && !*reads)
		free_turn(driver);
	pthread_mutex_unlock(&driver->lock);
	return done;
}

bool drv_turn_take(struct sp_driver *driver)
{
	struct epoll_event event;
	bool taken = false;

	if (epoll_wait(driver->gate, &event, 1, 0) != 1)
		return false;
	pthread_mutex_lock(&driver->lock);
	if (driver->turn == DRV_TURN_FREE) {
		driver->turn = DRV_TURN_THREAD;
		taken = true;
	}
	pthread_mutex_unlock(&driver->lock);
	return taken;
}

void drv_turn_insist(struct sp_driver *driver)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&driver->lock);
	driver->thread_wants = true;
	if (driver->leader)
		(void)!write(driver->leader->event, &one, sizeof(one));
	while (driver->turn == DRV_TURN_CALLER)
		pthread_cond_wait(&driver->turn_free, &driver->lock);
	driver->turn = DRV_TURN_THREAD;
	driver->thread_wants = false;
	pthread_mutex_unlock(&driver->lock);
}

void drv_turn_give(struct sp_driver *driver)
{
	pthread_mutex_lock(&driver->lock);
	free_turn(driver);
	pthread_mutex_unlock(&driver->lock);
}
