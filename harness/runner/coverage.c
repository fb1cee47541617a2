/* SPDX-License-Identifier: MIT */
#include "coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/thread.h>

/* A dump that stands still, since the crash left a lock behind, ends by itself. */
#define DUMP_LIMIT_S 5

/* Present only in a build with coverage. */
void __gcov_dump(void) __attribute__((weak));

/* What a handler of signals can see; set once, before it is installed. */
static struct {
	const struct sp_run_options *run;
	pid_t pid;
	int asked[2];
} watched;

static bool is_wanted(const struct sp_run_options *run)
{
	return __gcov_dump || run->dump;
}

void sp_coverage_dump(const struct sp_run_options *run)
{
	if (run->dump)
		run->dump(run->opener);
	if (__gcov_dump)
		__gcov_dump();
}

static void end_by(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

/* Whoever is interrupted may hold any lock, so the dump is another thread's. */
static void on_term(int sig)
{
	char byte = (char)sig;
	int saved = errno;

	/* A child of ours that has not executed its program yet. */
	if (getpid() != watched.pid)
		end_by(sig);
	else
		(void)!write(watched.asked[1], &byte, 1);
	errno = saved;
}

static void *wait_for_term(void *arg)
{
	char byte;

	(void)arg;
	while (read(watched.asked[0], &byte, 1) < 0 && errno == EINTR)
		;
	sp_coverage_dump(watched.run);
	/* The whole process, by the same signal as without us. */
	signal(byte, SIG_DFL);
	kill(getpid(), byte);
	return NULL;
}

/*
 * The crashed process cannot be trusted with a dump, and a copy of it has the same counters: the
 * copy may stand still or crash as it likes.
 */
static void on_crash(int sig)
{
	pid_t pid = getpid() == watched.pid ? _Fork() : -1;

	if (!pid) {
		signal(sig, SIG_DFL);
		alarm(DUMP_LIMIT_S);
		sp_coverage_dump(watched.run);
		_exit(0);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	end_by(sig);
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	sigaction(sig, &action, NULL);
}

void sp_coverage_watch(const struct sp_run_options *run)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

	if (!is_wanted(run) || pipe2(watched.asked, O_CLOEXEC))
		return;
	watched.run = run;
	watched.pid = getpid();
	if (sp_thread_detached(wait_for_term, NULL))
		return;
	handle(SIGTERM, on_term);
	for (size_t i = 0; i < SP_COUNT(crashes); i++)
		handle(crashes[i], on_crash);
}
