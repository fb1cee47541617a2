/* SPDX-License-Identifier: MIT */
/* Why a driver does not answer, as far as it can be seen from outside: what stands in its input. */
#include "conn.h"

#include <inttypes.h>
#include <sys/ioctl.h>

#include <base/cleanup.h>

/* Calls that are named at most. */
#define MAX_NAMED 4

/* How much of all that was sent the driver has taken out of its input. Called with the lock held.
 */
static uint64_t bytes_read(const struct sp_driver *driver)
{
	int left = 0;

	/* What stands in a socket's other end cannot be asked. */
	if (driver->attached || driver->in < 0 || ioctl(driver->in, FIONREAD, &left) < 0)
		left = 0;
	return driver->sent - driver->outgoing.len - (uint64_t)left;
}

/* The oldest call that was, or was not, read: the list begins with the newest. */
static const struct drv_call *oldest(const struct sp_driver *driver, uint64_t read_to, bool is_read)
{
	const struct drv_call *found = NULL;

	for (const struct drv_call *at = driver->calls; at; at = at->next)
		if ((at->begins < read_to) == is_read)
			found = at;
	return found;
}

static void name_calls(const struct sp_driver *driver, struct sp_buf *out)
{
	size_t n = 0;

	for (const struct drv_call *at = driver->calls; at; at = at->next, n++)
		if (n < MAX_NAMED)
			sp_buf_addf(out, "%s%" PRId64 " (%s)", n ? ", " : "", at->id, at->method);
	if (n > MAX_NAMED)
		sp_buf_addf(out, " and %zu more", n - MAX_NAMED);
}

bool sp_driver_stuck(struct sp_driver *driver, struct sp_error *ret_why)
{
	struct sp_buf names SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct drv_call *taken, *waiting;
	uint64_t read_to;
	bool is_stuck;

	pthread_mutex_lock(&driver->lock);
	is_stuck = driver->calls != NULL;
	read_to = bytes_read(driver);
	taken = oldest(driver, read_to, true);
	waiting = oldest(driver, read_to, false);
	name_calls(driver, &names);
	if (taken && waiting)
		sp_error_set(ret_why, SP_TIMED_OUT,
			     "the driver has not read call %" PRId64 " (%s) while call %" PRId64
			     " (%s) is not answered: it takes one call after another, where two "
			     "have to be in flight at a time",
			     waiting->id, waiting->method, taken->id, taken->method);
	else if (waiting)
		sp_error_set(ret_why, SP_TIMED_OUT,
			     "the driver does not read its input: call %" PRId64
			     " (%s) stands in it",
			     waiting->id, waiting->method);
	else if (is_stuck)
		sp_error_set(ret_why, SP_TIMED_OUT, "the driver has read and not answered call %s",
			     sp_buf_str(&names));
	pthread_mutex_unlock(&driver->lock);
	return is_stuck;
}
