/* SPDX-License-Identifier: MIT */
#include <poll.h>

#include <suites/lock/scene.h>

bool lock_take(struct sp_case *t, struct sp_lock *lock, const char *key, struct sp_lease *ret_lease)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_lock_acquire(lock, key, sp_case_cancel(t), ret_lease, &err);

	return SP_CHECK_OK(t, rc, &err, "acquire of the key %.200s", key);
}

static int run_ask(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct lock_asker *asker = arg;

	return sp_lock_acquire(asker->lock, asker->key, cancel, &asker->lease, &result->err);
}

struct sp_call *lock_ask(struct sp_case *t, struct lock_asker *asker)
{
	return sp_call_start(t, run_ask, asker);
}

bool lock_given(struct sp_case *t, struct sp_call *call, const char *what)
{
	struct sp_call_result *result = sp_call_join(call);

	return result && SP_CHECK_OK(t, result->rc, &result->err, "%s", what);
}

bool lock_still_waits(struct sp_case *t, struct sp_lock *lock, struct sp_call *call,
		      const char *what)
{
	const char *other = sp_case_unique(t);

	/* A lock in this process is faster than a thread: only rounds while it sleeps count. */
	for (unsigned i = 0; i < sp_case_rounds(t) && sp_call_pending(call);) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		i = sp_call_asleep(call) ? i + 1 : 0;
		if (!lock_take(t, lock, other, &lease))
			return false;
	}
	return SP_CHECK(t, sp_call_pending(call), "%s waits", what);
}

bool lock_await_lost(struct sp_case *t, struct sp_lease *lease)
{
	struct sp_cancel *lost = sp_lease_lost(lease), *cancel = sp_case_cancel(t);
	struct pollfd fds[] = {{.fd = sp_cancel_fd(lost), .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};

	while (lost && !sp_cancel_check(lost, NULL) && !sp_cancel_check(cancel, NULL))
		(void)poll(fds, SP_COUNT(fds), -1);
	return SP_CHECK(t, lost && sp_cancel_check(lost, NULL) != 0,
			"the lost signal of the lease fires");
}

struct sp_lock *lock_second(struct sp_case *t)
{
	struct sp_subject *second = sp_case_second(t);

	return second ? &second->lock : NULL;
}
