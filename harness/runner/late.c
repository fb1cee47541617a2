/* SPDX-License-Identifier: MIT */
#include "late.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>

#include "worker.h"

static void look_why(struct sp_case *t)
{
	struct sp_shared *shared = t->worker->options->shared;
	struct sp_health *health = &t->opened->subject.health;
	struct sp_error why = SP_ERROR_INIT;

	if (!health->ops->stuck(health->self, &why))
		return;
	snprintf(shared->stuck, sizeof(shared->stuck), "%s", why.message);
	sp_case_note(t, "the time is up: %s", why.message);
}

static void *watch(void *arg)
{
	struct sp_late *late = arg;
	struct pollfd fds[] = {
		{ .fd = late->stop, .events = POLLIN },
		{ .fd = sp_cancel_fd(sp_case_cancel(late->t)), .events = POLLIN },
	};

	while (poll(fds, SP_COUNT(fds), -1) < 0)
		;
	if (!fds[0].revents)
		look_why(late->t);
	return NULL;
}

void sp_late_start(struct sp_late *late, struct sp_case *t)
{
	const struct sp_health *health = &t->opened->subject.health;

	*late = (struct sp_late){ .t = t, .stop = -1 };
	if (!health->ops || health->ops->version < 2 || !health->ops->stuck)
		return;
	late->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (late->stop >= 0 && pthread_create(&late->thread, NULL, watch, late))
		late->stop = sp_close(late->stop);
}

void sp_late_stop(struct sp_late *late)
{
	if (late->stop < 0)
		return;
	(void)eventfd_write(late->stop, 1);
	pthread_join(late->thread, NULL);
	late->stop = sp_close(late->stop);
}
