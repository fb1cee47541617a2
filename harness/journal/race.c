/* SPDX-License-Identifier: MIT */
#include "race.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/thread.h>

/*
 * How long a provider may take to come back from a call that was aborted before it is left alone.
 */
#define COME_BACK_MS 2000

enum kind { RACE_EXEC, RACE_SPAWN };

struct race {
	atomic_int refs;
	atomic_bool done;
	int fd;
	enum kind kind;
	struct sp_sandbox sandbox;
	char *command;
	struct sp_cancel *cancel;
	struct race_result result;
};

static void unref(struct race *race)
{
	if (atomic_fetch_sub(&race->refs, 1) != 1)
		return;
	/* Nobody took the process: its caller has gone. */
	if (race->result.process.ops) {
		(void)sp_process_kill(&race->result.process, SIGKILL, NULL, NULL);
		sp_process_done(&race->result.process);
	}
	sp_exec_result_done(&race->result.exec);
	sp_cancel_unref(race->cancel);
	sp_close(race->fd);
	free(race->command);
	free(race);
}

static void call(struct race *race)
{
	struct race_result *result = &race->result;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = race->command;
	switch (race->kind) {
	case RACE_EXEC:
		options.cancel = race->cancel;
		result->rc = sp_sandbox_exec(&race->sandbox, &options, &result->exec, &result->err);
		break;
	case RACE_SPAWN:
		result->rc = sp_sandbox_spawn(&race->sandbox, &options, &result->process,
					      &result->err);
		break;
	}
}

static void *run(void *arg)
{
	struct race *race = arg;

	call(race);
	atomic_store(&race->done, true);
	(void)eventfd_write(race->fd, 1);
	unref(race);
	return NULL;
}

static struct race *start(enum kind kind, struct sp_sandbox *sandbox, char *command)
{
	struct race *race = calloc(1, sizeof(*race));

	if (!race) {
		free(command);
		return NULL;
	}
	atomic_init(&race->refs, 2);
	race->kind = kind;
	race->command = command;
	race->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	race->cancel = sp_cancel_new();
	race->sandbox = *sandbox;
	if (race->fd < 0 || !race->cancel || !command || sp_thread_detached(run, race)) {
		atomic_store(&race->refs, 1);
		unref(race);
		return NULL;
	}
	return race;
}

struct race *race_exec(struct sp_sandbox *sandbox, char *command)
{
	return start(RACE_EXEC, sandbox, command);
}

struct race *race_spawn(struct sp_sandbox *sandbox, char *command)
{
	return start(RACE_SPAWN, sandbox, command);
}

int race_fd(const struct race *race)
{
	return race->fd;
}

struct race_result *race_result(struct race *race)
{
	return atomic_load(&race->done) ? &race->result : NULL;
}

void race_poll(int a, int b, uint64_t deadline)
{
	struct pollfd fds[] = {
		{ .fd = a, .events = POLLIN },
		{ .fd = b, .events = POLLIN },
	};

	(void)poll(fds, SP_COUNT(fds), sp_until_ms(deadline));
}

int race_wait(struct race *race, struct sp_cancel *cancel, uint64_t deadline)
{
	while (!atomic_load(&race->done)) {
		int rc = sp_cancel_check(cancel, NULL);

		if (rc)
			return rc;
		if (deadline && sp_now() >= deadline)
			return SP_UNAVAILABLE;
		race_poll(race->fd, sp_cancel_fd(cancel), deadline);
	}
	return 0;
}

void race_abort(struct race *race)
{
	sp_cancel_abort(race->cancel, "the reader has gone");
}

struct race *race_drop(struct race *race)
{
	if (!race)
		return NULL;
	if (!atomic_load(&race->done)) {
		race_abort(race);
		(void)race_wait(race, NULL, sp_deadline_ms(COME_BACK_MS));
	}
	unref(race);
	return NULL;
}
