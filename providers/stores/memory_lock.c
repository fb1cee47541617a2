/* SPDX-License-Identifier: MIT */
/*
 * Each key that is held has an entry; its waiters stand in a queue, each with an eventfd of its
 * own, so that a release wakes exactly the next one and a cancel wakes exactly its own.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>

#include "limits.h"
#include "memory.h"

struct waiter {
	struct waiter *next;
	int fd;
	/* The lock was handed over. Under the service's lock. */
	bool granted;
};

struct held {
	/* First, so that a bare key can be looked up. */
	const char *key;
	char *text;
	struct waiter *first;
	struct waiter **last;
};

struct memory_lock {
	pthread_mutex_t lock;
	void *root;
	uint64_t fence;
};

struct memory_lease {
	struct memory_lock *service;
	struct held *entry;
	struct sp_cancel *lost;
	uint64_t fence;
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct held *)a)->key, ((const struct held *)b)->key);
}

static const struct sp_lock_capabilities *capabilities(void *self)
{
	static const struct sp_lock_capabilities declared = {
	    .version = SP_LOCK_CAPABILITIES_VERSION,
	    .fence = true,
	};

	(void)self;
	return &declared;
}

/* ---- entries; all under the service's lock ---- */

static struct held *find(struct memory_lock *service, const char *key)
{
	const struct held wanted = {.key = key};
	struct held **found = tfind(&wanted, &service->root, by_key);

	return found ? *found : NULL;
}

static struct held *add(struct memory_lock *service, const char *key)
{
	struct held *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->text = strdup(key);
	entry->key = entry->text;
	entry->last = &entry->first;
	if (entry->text && tsearch(entry, &service->root, by_key))
		return entry;
	free(entry->text);
	free(entry);
	return NULL;
}

/* To the next in the queue, or to nobody: then the entry goes. */
static void hand_over(struct memory_lock *service, struct held *entry)
{
	struct waiter *next = entry->first;

	if (!next) {
		tdelete(entry, &service->root, by_key);
		free(entry->text);
		free(entry);
		return;
	}
	entry->first = next->next;
	if (!entry->first)
		entry->last = &entry->first;
	next->granted = true;
	eventfd_write(next->fd, 1);
}

static void leave_queue(struct held *entry, struct waiter *waiter)
{
	struct waiter **at = &entry->first;

	while (*at && *at != waiter)
		at = &(*at)->next;
	if (*at)
		*at = waiter->next;
	for (entry->last = &entry->first; *entry->last; entry->last = &(*entry->last)->next)
		;
}

/* ---- waiting ---- */

/* Waits for the turn without the lock; 0 or the cancel's code. */
static int await_turn(struct waiter *waiter, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[] = {{.fd = waiter->fd, .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};
	int rc = 0;

	while (!rc && !(fds[0].revents & POLLIN)) {
		(void)poll(fds, SP_COUNT(fds), -1);
		if (!(fds[0].revents & POLLIN))
			rc = sp_cancel_check(cancel, err);
	}
	return rc;
}

/* Enters the queue with the lock held and returns with it held. */
static int queue_up(struct memory_lock *service, struct held *entry, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct waiter waiter = {.fd = eventfd(0, EFD_CLOEXEC)};
	int rc;

	if (waiter.fd < 0)
		return sp_error_set_errno(err, errno, "no descriptor to wait for a lock");
	*entry->last = &waiter;
	entry->last = &waiter.next;
	pthread_mutex_unlock(&service->lock);
	rc = await_turn(&waiter, cancel, err);
	pthread_mutex_lock(&service->lock);
	if (rc && waiter.granted)
		hand_over(service, entry);
	else if (rc)
		leave_queue(entry, &waiter);
	sp_close(waiter.fd);
	return rc;
}

/* ---- leases ---- */

static uint64_t lease_fence(void *self)
{
	return ((struct memory_lease *)self)->fence;
}

static struct sp_cancel *lease_lost(void *self)
{
	return ((struct memory_lease *)self)->lost;
}

static void lease_release(void *self)
{
	struct memory_lease *lease = self;
	struct memory_lock *service = lease->service;

	pthread_mutex_lock(&service->lock);
	hand_over(service, lease->entry);
	pthread_mutex_unlock(&service->lock);
	sp_cancel_unref(lease->lost);
	free(lease);
}

static const struct sp_lease_ops lease_ops = {
    .version = SP_LEASE_VERSION,
    .fence = lease_fence,
    .lost = lease_lost,
    .release = lease_release,
};

/* ---- the service ---- */

/* Makes the caller the holder; the lease's memory is there already. */
static int take(struct memory_lock *service, const char *key, struct sp_cancel *cancel,
		struct memory_lease *lease, struct sp_error *err)
{
	struct held *entry;
	int rc = 0;

	pthread_mutex_lock(&service->lock);
	entry = find(service, key);
	if (entry) {
		rc = queue_up(service, entry, cancel, err);
	} else {
		entry = add(service, key);
		if (!entry)
			rc = sp_error_set(err, SP_INTERNAL, "no memory for a lock");
	}
	lease->entry = entry;
	lease->fence = rc ? 0 : ++service->fence;
	pthread_mutex_unlock(&service->lock);
	return rc;
}

static int acquire(void *self, const char *key, struct sp_cancel *cancel,
		   struct sp_lease *ret_lease, struct sp_error *err)
{
	struct memory_lock *service = self;
	struct memory_lease *lease;
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = sp_cancel_check(cancel, err);
	if (rc)
		return rc;
	lease = calloc(1, sizeof(*lease));
	if (lease) {
		lease->service = service;
		lease->lost = sp_cancel_new();
	}
	rc = lease && lease->lost ? take(service, key, cancel, lease, err)
				  : sp_error_set(err, SP_INTERNAL, "no memory for a lock");
	if (!rc) {
		*ret_lease = (struct sp_lease){&lease_ops, lease};
		return 0;
	}
	if (lease)
		sp_cancel_unref(lease->lost);
	free(lease);
	return rc;
}

static void close_lock(void *self)
{
	struct memory_lock *service = self;

	pthread_mutex_destroy(&service->lock);
	free(service);
}

static const struct sp_lock_ops ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = capabilities,
    .acquire = acquire,
    .close = close_lock,
};

int sp_memory_lock_open(struct sp_lock *ret_lock, struct sp_error *err)
{
	struct memory_lock *service = calloc(1, sizeof(*service));

	if (!service)
		return sp_error_set(err, SP_INTERNAL, "no memory for a lock");
	pthread_mutex_init(&service->lock, NULL);
	*ret_lock = (struct sp_lock){&ops, service};
	return 0;
}
