/* SPDX-License-Identifier: MIT */
/* Each waiter has a descriptor of its own: a cancel is a descriptor as well, and one poll waits for
 * both. */
#include "wake.h"

#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <base/cleanup.h>

struct wake_waiter {
	struct wake_waiter *next;
	int fd;
};

static void leave(struct wake_list *list, struct wake_waiter *waiter)
{
	struct wake_waiter **at = &list->first;

	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
}

int wake_wait(struct wake_list *list, pthread_mutex_t *lock, struct sp_cancel *one,
	      struct sp_cancel *two, struct sp_error *err)
{
	int fd SP_CLOSE = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct wake_waiter self = {.next = list->first, .fd = fd};
	struct pollfd fds[3] = {
	    {.fd = fd, .events = POLLIN},
	    {.fd = sp_cancel_fd(one), .events = POLLIN},
	    {.fd = sp_cancel_fd(two), .events = POLLIN},
	};
	int rc;

	if (fd < 0)
		return sp_error_set(err, SP_INTERNAL, "no descriptor to wait with");
	list->first = &self;
	pthread_mutex_unlock(lock);
	/* Negative descriptors are left out by poll(2). */
	poll(fds, 3, -1);
	pthread_mutex_lock(lock);
	leave(list, &self);
	rc = sp_cancel_check(one, err);
	return rc ? rc : sp_cancel_check(two, err);
}

void wake_all(struct wake_list *list)
{
	const uint64_t one = 1;

	for (struct wake_waiter *waiter = list->first; waiter; waiter = waiter->next)
		if (write(waiter->fd, &one, sizeof(one)) < 0)
			continue;
}
