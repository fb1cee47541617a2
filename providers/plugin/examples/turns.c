/* SPDX-License-Identifier: MIT */
/*
 * An example of a lock as a plugin, with nothing but libc: who asks for a key
 * stands in a line with the holder at its head. README.md says how it is built and judged. Replace
 * the line by your service; where a holder can lose its lock, abort its `lost` and declare `lease`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sandproof/plugin.h>

#include "utf8.h"

struct turns {
	/* Guards the line: every call may be made from any thread. */
	pthread_mutex_t guard;
	/* Everybody who holds or waits, in the order in which they came. */
	struct turn *first;
};

/* A place in the line; the first one of a key holds it. It is the lease as well. */
struct turn {
	struct turn *next;
	struct turns *line;
	char *key;
	/* Readable once this is the holder, so that a release wakes nobody else. */
	int granted;
	struct sp_cancel *lost;
};

/* ---- one place; the line is guarded by the caller ---- */

static struct turn *first_of(const struct turns *line, const char *key)
{
	struct turn *turn = line->first;

	while (turn && strcmp(turn->key, key))
		turn = turn->next;
	return turn;
}

static void come(struct turns *line, struct turn *turn)
{
	struct turn **at = &line->first;

	while (*at)
		at = &(*at)->next;
	*at = turn;
	if (first_of(line, turn->key) == turn)
		eventfd_write(turn->granted, 1);
}

/* Holding or waiting: whoever was behind the holder is the holder then. */
static void go(struct turns *line, struct turn *turn)
{
	bool held = first_of(line, turn->key) == turn;
	struct turn **at = &line->first, *next;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	next = first_of(line, turn->key);
	if (held && next)
		eventfd_write(next->granted, 1);
}

/* ---- the lease ---- */

static void free_turn(struct turn *turn)
{
	sp_cancel_unref(turn->lost);
	if (turn->granted >= 0)
		close(turn->granted);
	free(turn->key);
	free(turn);
}

static uint64_t turn_fence(void *self)
{
	(void)self;
	/* Tokens are not offered. */
	return 0;
}

static struct sp_cancel *turn_lost(void *self)
{
	return ((struct turn *)self)->lost;
}

static void turn_release(void *self)
{
	struct turn *turn = self;

	pthread_mutex_lock(&turn->line->guard);
	go(turn->line, turn);
	pthread_mutex_unlock(&turn->line->guard);
	free_turn(turn);
}

static const struct sp_lease_ops turn_ops = {
    .version = SP_LEASE_VERSION,
    .fence = turn_fence,
    .lost = turn_lost,
    .release = turn_release,
};

static struct turn *new_turn(struct turns *line, const char *key, struct sp_error *err)
{
	struct turn *turn = calloc(1, sizeof(*turn));

	if (turn) {
		turn->line = line;
		turn->granted = eventfd(0, EFD_CLOEXEC);
		turn->key = strdup(key);
		turn->lost = sp_cancel_new();
		if (turn->granted >= 0 && turn->key && turn->lost)
			return turn;
		free_turn(turn);
	}
	sp_error_set(err, SP_INTERNAL, "no memory or descriptor for a lock");
	return NULL;
}

/* ---- the lock ---- */

static int check_key(const char *key, struct sp_error *err)
{
	if (!key || !*key)
		return sp_error_set(err, SP_INVALID, "the key is empty");
	return utf8_check("the key", key, SP_KEY_TAKEN, err);
}

/* 0 when it is the holder, else the cancel's code. */
static int wait_for(const struct turn *turn, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[] = {{.fd = turn->granted, .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};

	for (;;) {
		int rc;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return sp_error_set_errno(err, errno, "poll failed");
		if (fds[0].revents & POLLIN)
			return 0;
		rc = sp_cancel_check(cancel, err);
		if (rc)
			return rc;
	}
}

static int turns_acquire(void *self, const char *key, struct sp_cancel *cancel,
			 struct sp_lease *ret_lease, struct sp_error *err)
{
	struct turns *line = self;
	struct turn *turn;
	int rc = check_key(key, err);

	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (rc)
		return rc;
	turn = new_turn(line, key, err);
	if (!turn)
		return SP_INTERNAL;
	pthread_mutex_lock(&line->guard);
	come(line, turn);
	pthread_mutex_unlock(&line->guard);
	rc = wait_for(turn, cancel, err);
	if (rc)
		turn_release(turn);
	else
		*ret_lease = (struct sp_lease){&turn_ops, turn};
	return rc;
}

static const struct sp_lock_capabilities *turns_capabilities(void *self)
{
	static const struct sp_lock_capabilities declared = {
	    .version = SP_LOCK_CAPABILITIES_VERSION,
	    .lease = false,
	    .multi_process = false,
	    .fence = false,
	};

	(void)self;
	return &declared;
}

static void turns_close(void *self)
{
	struct turns *line = self;

	pthread_mutex_destroy(&line->guard);
	free(line);
}

static const struct sp_lock_ops turns_ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = turns_capabilities,
    .acquire = turns_acquire,
    .close = turns_close,
};

/* `config` is what follows the file's name in the SPEC: plugin:./lock.so:CONFIG. */
static int open_lock(const char *config, struct sp_lock *ret_lock, struct sp_error *err)
{
	struct turns *line = calloc(1, sizeof(*line));

	(void)config;
	if (!line)
		return sp_error_set(err, SP_INTERNAL, "no memory for a lock");
	pthread_mutex_init(&line->guard, NULL);
	*ret_lock = (struct sp_lock){&turns_ops, line};
	return 0;
}

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static const struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "turns",
	    .open_lock = open_lock,
	};

	return host_version >= SP_PLUGIN_VERSION ? &plugin : NULL;
}
