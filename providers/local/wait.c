/* SPDX-License-Identifier: MIT */
/* Who is waiting for a run, and how they hear of it: one event descriptor a waiting call. */
#include <providers/local/internal.h>

#include <errno.h>
#include <sys/eventfd.h>

void local_run_changed(struct local_run *run)
{
	for (struct local_waiter *waiter = run->waiters; waiter; waiter = waiter->next)
		eventfd_write(waiter->fd, 1);
}

void local_run_wake_pump(struct local_run *run)
{
	if (run->wake >= 0)
		eventfd_write(run->wake, 1);
}

int local_waiter_add(struct local_run *run, struct local_waiter *waiter, struct sp_error *err)
{
	waiter->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waiter->fd < 0)
		return sp_error_set_errno(err, errno, "cannot make an event descriptor");
	waiter->next = run->waiters;
	run->waiters = waiter;
	return 0;
}

void local_waiter_remove(struct local_run *run, struct local_waiter *waiter)
{
	struct local_waiter **place = &run->waiters;

	while (*place != waiter)
		place = &(*place)->next;
	*place = waiter->next;
	sp_close(waiter->fd);
}
