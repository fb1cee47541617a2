/* SPDX-License-Identifier: MIT */
#include <ensure/work.h>

#include <poll.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>

#define LEASE_LOST "the lock was lost"

/* Hands on what the caller's cancel says; true once it has fired. */
static bool hand_on(struct work *work)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_cancel_check(work->caller, &err);

	if (rc == SP_TIMED_OUT)
		sp_cancel_set_deadline(work->cancel, 1);
	else if (rc)
		sp_cancel_abort(work->cancel, err.message);
	return rc != 0;
}

static void *wait_for_either(void *arg)
{
	struct work *work = arg;
	struct pollfd fds[] = { { .fd = work->stop, .events = POLLIN },
				{ .fd = sp_cancel_fd(work->caller), .events = POLLIN },
				{ .fd = sp_cancel_fd(work->lost), .events = POLLIN } };

	/* A negative number is one that poll() passes over. */
	while (!fds[0].revents) {
		(void)poll(fds, SP_COUNT(fds), -1);
		if (hand_on(work))
			break;
		if (sp_cancel_check(work->lost, NULL)) {
			sp_cancel_abort(work->cancel, LEASE_LOST);
			break;
		}
	}
	return NULL;
}

int work_begin(struct work *work, struct sp_cancel *caller, struct sp_cancel *lost,
	       struct sp_error *err)
{
	work->caller = caller;
	work->lost = lost;
	work->cancel = lost ? sp_cancel_new() : sp_cancel_ref(caller);
	if (!lost)
		return 0;
	work->stop = eventfd(0, EFD_CLOEXEC);
	if (!work->cancel || work->stop < 0)
		return sp_error_set(err, SP_INTERNAL, "no descriptor or memory for a cancel");
	if (pthread_create(&work->thread, NULL, wait_for_either, work)) {
		work->stop = sp_close(work->stop);
		return sp_error_set(err, SP_INTERNAL, "no thread to watch the lock's lease");
	}
	return 0;
}

void work_end(struct work *work)
{
	if (work->stop >= 0 && work->cancel) {
		(void)eventfd_write(work->stop, 1);
		pthread_join(work->thread, NULL);
	}
	work->stop = sp_close(work->stop);
	work->cancel = sp_cancel_unref(work->cancel);
}
