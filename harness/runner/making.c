/* SPDX-License-Identifier: MIT */
#include "making.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* What a handler of signals can see; set once, before it is installed. */
static struct {
	struct sp_shared *shared;
	void (*before)(int sig);
	atomic_bool due;
} watched;

static void end_now(int sig)
{
	if (watched.before != SIG_DFL) {
		watched.before(sig);
		return;
	}
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
}

static void on_term(int sig)
{
	int saved = errno;

	atomic_store(&watched.due, true);
	if (!atomic_load(&watched.shared->making))
		end_now(sig);
	errno = saved;
}

void sp_making_watch(struct sp_shared *shared)
{
	struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART}, before;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGTERM, NULL, &before))
		return;
	/* One that was killed in this place may have left it. */
	atomic_store(&shared->making, 0);
	watched.shared = shared;
	watched.before = before.sa_handler;
	sigaction(SIGTERM, &action, NULL);
}

struct sp_shared *sp_making_begin(struct sp_shared *shared, bool outlives)
{
	if (!outlives)
		return NULL;
	atomic_fetch_add(&shared->making, 1);
	return shared;
}

void sp_making_end(struct sp_shared **making)
{
	/* The handler sets before it looks, and we look after we counted: one of us sees it. */
	if (*making && atomic_fetch_sub(&(*making)->making, 1) == 1 && atomic_load(&watched.due))
		end_now(SIGTERM);
}
