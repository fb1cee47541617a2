/* SPDX-License-Identifier: MIT */
/* Faults of holders and waiters: order, release, tokens, the lost signal. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <base/sha256.h>

#include "wrap.h"
#include "wrap_lock.h"

#define LOCK_ACQUIRE(name)                                                                         \
	static int name(struct fault_lock *lock, const char *key, struct sp_cancel *cancel,        \
			struct fault_lease *lease, struct sp_error *err)

/* ---- release ---- */

static void never_released_release(struct fault_lease *lease)
{
	(void)lease;
}

static const struct fault_lock_hooks never_released = {.release = never_released_release};
FAULT_WRAP_LOCK(wrap_never_released, never_released)

/* What stands for the first key stays for as long as the instance. */
static void keeps_entries_release(struct fault_lease *lease)
{
	char *other SP_FREE = NULL;
	bool first;

	pthread_mutex_lock(&lease->lock->lock);
	first = !lease->lock->count++;
	pthread_mutex_unlock(&lease->lock->lock);
	sp_lease_done(&lease->inner);
	if (first && asprintf(&other, "%s.entry", lease->key) >= 0)
		(void)sp_lock_acquire(&lease->lock->inner, other, NULL, &lease->inner, NULL);
}

static const struct fault_lock_hooks keeps_entries = {.release = keeps_entries_release};
FAULT_WRAP_LOCK(wrap_keeps_entries, keeps_entries)

/* One that was held once is broken. */
LOCK_ACQUIRE(poisoned_acquire)
{
	if (lock->data && !strcmp(lock->data, key))
		return sp_error_set(err, SP_IO, "the previous holder failed");
	return sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);
}

static void poisoned_release(struct fault_lease *lease)
{
	free(lease->lock->data);
	lease->lock->data = strdup(lease->key);
	sp_lease_done(&lease->inner);
}

static void free_data(struct fault_lock *lock)
{
	free(lock->data);
	lock->data = NULL;
}

static const struct fault_lock_hooks poisoned = {
    .acquire = poisoned_acquire, .release = poisoned_release, .close = free_data};
FAULT_WRAP_LOCK(wrap_poisoned, poisoned)

/* The key whose lost lease was given back: it is open to everybody. Of all instances of this
 * process. */
static char *opened_key;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_ACQUIRE(by_key_acquire)
{
	char other[SP_KEY_TAKEN + 64], id[17];
	bool open;

	sp_random_id(id, 16);
	pthread_mutex_lock(&opened_lock);
	open = opened_key && !strcmp(opened_key, key);
	pthread_mutex_unlock(&opened_lock);
	snprintf(other, sizeof(other), "%.1000s-%s", key, id);
	return sp_lock_acquire(&lock->inner, open ? other : key, cancel, &lease->inner, err);
}

static void by_key_release(struct fault_lease *lease)
{
	struct sp_cancel *lost = sp_lease_lost(&lease->inner);

	pthread_mutex_lock(&opened_lock);
	if (lost && sp_cancel_check(lost, NULL)) {
		free(opened_key);
		opened_key = strdup(lease->key);
	}
	pthread_mutex_unlock(&opened_lock);
	sp_lease_done(&lease->inner);
}

static void by_key_close(struct fault_lock *lock)
{
	(void)lock;
	pthread_mutex_lock(&opened_lock);
	free(opened_key);
	opened_key = NULL;
	pthread_mutex_unlock(&opened_lock);
}

static const struct fault_lock_hooks by_key = {
    .acquire = by_key_acquire, .release = by_key_release, .close = by_key_close};
FAULT_WRAP_LOCK(wrap_by_key, by_key)

/* ---- waiting ---- */

/* The key that was taken first, and who waits for it. */
struct line {
	char *key;
	unsigned waiting;
	bool yielded;
};

static struct line *line_of(struct fault_lock *lock, const char *key)
{
	struct line *line = lock->data;

	if (!line && (line = lock->data = calloc(1, sizeof(*line))))
		line->key = strdup(key);
	return line && line->key && !strcmp(line->key, key) ? line : NULL;
}

static void free_line(struct fault_lock *lock)
{
	struct line *line = lock->data;

	if (line)
		free(line->key);
	free(line);
}

/* The first that is served while others wait goes to the end of the queue. */
LOCK_ACQUIRE(last_first_acquire)
{
	struct line *line;
	bool yields = false;
	int rc;

	pthread_mutex_lock(&lock->lock);
	line = line_of(lock, key);
	if (line)
		line->waiting++;
	pthread_mutex_unlock(&lock->lock);
	rc = sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);
	pthread_mutex_lock(&lock->lock);
	if (line) {
		line->waiting--;
		yields = !rc && line->waiting && !line->yielded;
		line->yielded = line->yielded || yields;
	}
	pthread_mutex_unlock(&lock->lock);
	if (!yields)
		return rc;
	sp_lease_done(&lease->inner);
	return sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);
}

static const struct fault_lock_hooks last_first = {.acquire = last_first_acquire,
						   .close = free_line};
FAULT_WRAP_LOCK(wrap_last_first, last_first)

/* A waiter on a thread of its own, which goes on waiting when its caller has gone. */
struct ghost {
	struct ghost *next;
	struct fault_lock *lock;
	char *key;
	pthread_t thread;
	struct sp_cancel *cancel;
	struct sp_lease lease;
	struct sp_error err;
	int rc, fd;
};

static void *haunt(void *arg)
{
	struct ghost *ghost = arg;

	ghost->rc = sp_lock_acquire(&ghost->lock->inner, ghost->key, ghost->cancel, &ghost->lease,
				    &ghost->err);
	eventfd_write(ghost->fd, 1);
	return NULL;
}

static void free_ghost(struct ghost *ghost)
{
	sp_cancel_abort(ghost->cancel, "closed");
	pthread_join(ghost->thread, NULL);
	sp_lease_done(&ghost->lease);
	sp_cancel_unref(ghost->cancel);
	sp_close(ghost->fd);
	free(ghost->key);
	free(ghost);
}

static int await_ghost(struct ghost *ghost, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[] = {{.fd = ghost->fd, .events = POLLIN},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};
	int rc = 0;

	while (!rc && !(fds[0].revents & POLLIN)) {
		(void)poll(fds, SP_COUNT(fds), -1);
		if (!(fds[0].revents & POLLIN))
			rc = sp_cancel_check(cancel, err);
	}
	return rc;
}

LOCK_ACQUIRE(gone_acquire)
{
	struct ghost *ghost = calloc(1, sizeof(*ghost));
	int rc;

	if (!ghost)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	*ghost = (struct ghost){.lock = lock,
				.key = strdup(key),
				.cancel = sp_cancel_new(),
				.fd = eventfd(0, EFD_CLOEXEC)};
	pthread_create(&ghost->thread, NULL, haunt, ghost);
	rc = await_ghost(ghost, cancel, err);
	if (!rc) {
		lease->inner = ghost->lease;
		ghost->lease = (struct sp_lease)SP_LEASE_INIT;
		rc = ghost->rc;
		if (rc && err)
			*err = ghost->err;
	} else {
		/* Nobody tells it. */
		pthread_mutex_lock(&lock->lock);
		ghost->next = lock->data;
		lock->data = ghost;
		pthread_mutex_unlock(&lock->lock);
		return rc;
	}
	free_ghost(ghost);
	return rc;
}

static void gone_close(struct fault_lock *lock)
{
	while (lock->data) {
		struct ghost *ghost = lock->data;

		lock->data = ghost->next;
		free_ghost(ghost);
	}
}

static const struct fault_lock_hooks gone = {.acquire = gone_acquire, .close = gone_close};
FAULT_WRAP_LOCK(wrap_gone, gone)

/* Waits for the place at the head of the queue: a file, which a process that dies leaves there. */
static int take_place(const char *path, struct sp_cancel *cancel, struct sp_error *err)
{
	int fd, rc = 0;

	while (!rc && (fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0) {
		if (errno != EEXIST)
			return sp_error_set_errno(err, errno, "%s cannot be made", path);
		(void)poll(NULL, 0, 1);
		rc = sp_cancel_check(cancel, err);
	}
	if (!rc)
		close(fd);
	return rc;
}

LOCK_ACQUIRE(queue_acquire)
{
	char path[PATH_MAX];
	char digest[SP_SHA256_HEX];
	int rc = sp_sha256_hex(key, strlen(key), digest);

	snprintf(path, sizeof(path), "%s/queue-%.16s", sp_tmp_root(), digest);
	if (!rc)
		rc = take_place(path, cancel, err);
	if (!rc) {
		rc = sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);
		(void)unlink(path);
	}
	return rc;
}

static const struct fault_lock_hooks queue = {.acquire = queue_acquire};
FAULT_WRAP_LOCK(wrap_queue, queue)

LOCK_ACQUIRE(ignores_cancel_acquire)
{
	(void)cancel;
	return sp_lock_acquire(&lock->inner, key, NULL, &lease->inner, err);
}

static const struct fault_lock_hooks ignores_cancel = {.acquire = ignores_cancel_acquire};
FAULT_WRAP_LOCK(wrap_ignores_cancel, ignores_cancel)

/* ---- who holds ---- */

struct holder {
	pthread_t thread;
	char *key;
};

/* The thread that took the lock last may take that key again: under a key that nobody else has. */
LOCK_ACQUIRE(reentrant_acquire)
{
	char other[SP_KEY_TAKEN + 64], id[17];
	struct holder *holder;
	bool again;
	int rc;

	sp_random_id(id, 16);
	snprintf(other, sizeof(other), "%.1000s-%s", key, id);
	pthread_mutex_lock(&lock->lock);
	holder = lock->data;
	again = holder && holder->key && !strcmp(holder->key, key) &&
		pthread_equal(holder->thread, pthread_self());
	pthread_mutex_unlock(&lock->lock);
	rc = sp_lock_acquire(&lock->inner, again ? other : key, cancel, &lease->inner, err);
	pthread_mutex_lock(&lock->lock);
	if (!rc && !lock->data)
		lock->data = calloc(1, sizeof(*holder));
	holder = lock->data;
	if (!rc && holder && !holder->key)
		*holder = (struct holder){pthread_self(), strdup(key)};
	pthread_mutex_unlock(&lock->lock);
	return rc;
}

static void reentrant_close(struct fault_lock *lock)
{
	struct holder *holder = lock->data;

	if (holder)
		free(holder->key);
	free(holder);
}

static const struct fault_lock_hooks reentrant = {.acquire = reentrant_acquire,
						  .close = reentrant_close};
FAULT_WRAP_LOCK(wrap_reentrant, reentrant)

static void one_process_capabilities(struct sp_lock_capabilities *capabilities)
{
	capabilities->multi_process = false;
}

static const struct fault_lock_hooks one_process = {.capabilities = one_process_capabilities};
FAULT_WRAP_LOCK(wrap_one_process, one_process)

/* ---- tokens ---- */

static uint64_t repeats_fence(struct fault_lease *lease)
{
	/* Seconds, as it were: many holders share one. */
	return sp_lease_fence(&lease->inner) / 1000000 + 1;
}

static const struct fault_lock_hooks repeats = {.fence = repeats_fence};
FAULT_WRAP_LOCK(wrap_repeats, repeats)

/* A number that changes with every look. */
static uint64_t moves_fence(struct fault_lease *lease)
{
	return sp_lease_fence(&lease->inner) + ++lease->number;
}

static const struct fault_lock_hooks moves = {.fence = moves_fence};
FAULT_WRAP_LOCK(wrap_moves, moves)

/* Counted by the instance. */
static uint64_t in_memory_fence(struct fault_lease *lease)
{
	if (!lease->number)
		lease->number = ++lease->lock->count;
	return lease->number;
}

static const struct fault_lock_hooks in_memory = {.fence = in_memory_fence};
FAULT_WRAP_LOCK(wrap_in_memory, in_memory)

static void no_fence_capabilities(struct sp_lock_capabilities *capabilities)
{
	capabilities->fence = false;
}

static const struct fault_lock_hooks no_fence = {.capabilities = no_fence_capabilities};
FAULT_WRAP_LOCK(wrap_no_fence, no_fence)

/* ---- the lost signal ---- */

/* A signal of its own that nobody fires. */
static struct sp_cancel *never_lost_lost(struct fault_lease *lease)
{
	if (!lease->cancel)
		lease->cancel = sp_cancel_new();
	return lease->cancel;
}

static const struct fault_lock_hooks never_lost = {.lost = never_lost_lost};
FAULT_WRAP_LOCK(wrap_never_lost, never_lost)

static struct sp_cancel *fires_lost(struct fault_lease *lease)
{
	struct sp_cancel *lost = never_lost_lost(lease);

	sp_cancel_abort(lost, "the lease ran out");
	return lost;
}

static const struct fault_lock_hooks fires = {.lost = fires_lost};
FAULT_WRAP_LOCK(wrap_fires, fires)

/* One signal for all: that of the first lease. */
LOCK_ACQUIRE(loses_all_acquire)
{
	int rc = sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&lock->lock);
	if (!lock->data)
		lock->data = sp_cancel_ref(sp_lease_lost(&lease->inner));
	lease->cancel = sp_cancel_ref(lock->data);
	pthread_mutex_unlock(&lock->lock);
	return 0;
}

static struct sp_cancel *own_lost(struct fault_lease *lease)
{
	return lease->cancel;
}

static void unref_data(struct fault_lock *lock)
{
	sp_cancel_unref(lock->data);
}

static const struct fault_lock_hooks loses_all = {
    .acquire = loses_all_acquire, .lost = own_lost, .close = unref_data};
FAULT_WRAP_LOCK(wrap_loses_all, loses_all)

/* The signal is the cancel of the acquire. */
LOCK_ACQUIRE(tied_acquire)
{
	int rc = sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);

	if (!rc)
		lease->cancel = cancel ? sp_cancel_ref(cancel) : sp_cancel_new();
	return rc;
}

static const struct fault_lock_hooks tied = {.acquire = tied_acquire, .lost = own_lost};
FAULT_WRAP_LOCK(wrap_tied, tied)

static const struct sp_fault faults[] = {
    LOCK_FAULT("lock-never-released", never_released, "L2", "A release gives nothing back.",
	       FAULT_LIST("contract:C186"), FAULT_LIST("lock.hold.excludes", "lock.hold.again")),
    LOCK_FAULT("lock-poisoned", poisoned, "L2", "A key that was held once is broken.",
	       FAULT_LIST("contract:C186"), FAULT_LIST("lock.hold.again")),
    LOCK_FAULT("lock-release-by-key", by_key, "L4", "A release frees the key, whoever holds it.",
	       FAULT_LIST("contract:C235", "contract:C284"), FAULT_LIST("lock.lost.release")),
    LOCK_FAULT("lock-last-first", last_first, "L3",
	       "The first waiter goes to the end of the queue.", FAULT_LIST("contract:C184"),
	       FAULT_LIST("lock.hold.order")),
    LOCK_FAULT("lock-holds-for-the-gone", gone, "L3",
	       "A waiter that gave up is served nevertheless.", FAULT_LIST("contract:C186"),
	       FAULT_LIST("lock.hold.given-up")),
    LOCK_FAULT("lock-queue-of-the-dead", queue, "L4",
	       "A waiter that dies keeps its place in the queue.", FAULT_LIST("contract:C186"),
	       FAULT_LIST("lock.crash.waiter")),
    LOCK_FAULT("lock-ignores-cancel", ignores_cancel, "L2",
	       "acquire() does not look at its cancel.", FAULT_LIST("contract:C186"),
	       FAULT_LIST("lock.cancel.before")),
    LOCK_FAULT("lock-keeps-entries", keeps_entries, "L3",
	       "What stands for a key stays when nobody holds it any more.",
	       FAULT_LIST("field:T12"), FAULT_LIST("lock.hold.forgets")),
    LOCK_FAULT("lock-reentrant", reentrant, "L6", "The thread that holds a key may take it again.",
	       FAULT_LIST("contract:C184"), FAULT_LIST("lock.hold.not-reentrant")),
    LOCK_FAULT("lock-declares-one-process", one_process, "L5",
	       "A lock for several processes declares that it is none.",
	       FAULT_LIST("contract:C185", "contract:C261"), FAULT_LIST("lock.second.declared")),
    LOCK_FAULT("lock-fence-repeats", repeats, "L8", "Holders that follow soon share a token.",
	       FAULT_LIST("contract:C284"), FAULT_LIST("lock.fence.grows")),
    LOCK_FAULT("lock-fence-moves", moves, "L8", "The token of a lease changes with every look.",
	       FAULT_LIST("contract:C284"), FAULT_LIST("lock.fence.grows")),
    LOCK_FAULT("lock-fence-in-memory", in_memory, "L8", "Tokens are counted by the instance.",
	       FAULT_LIST("contract:C284"),
	       FAULT_LIST("lock.second.fence", "lock.crash.freed", "lock.lost.release")),
    LOCK_FAULT("lock-declares-no-fence", no_fence, "L8",
	       "Tokens are declared away and given nevertheless.", FAULT_LIST("contract:C261"),
	       FAULT_LIST("lock.fence.refused")),
    LOCK_FAULT("lock-never-lost", never_lost, "L4", "The lost signal never fires.",
	       FAULT_LIST("contract:C284"), FAULT_LIST("lock.lost.signal")),
    LOCK_FAULT("lock-fires-at-random", fires, "L4", "The lost signal fires while the lock is held.",
	       FAULT_LIST("contract:C284"), FAULT_LIST("lock.lost.never"),
	       .control = "lock.key.refused"),
    LOCK_FAULT("lock-loses-all", loses_all, "L4", "All leases of an instance share one signal.",
	       FAULT_LIST("contract:C284"), FAULT_LIST("lock.lost.signal")),
    LOCK_FAULT("lock-tied-to-the-cancel", tied, "L2",
	       "The lost signal is the cancel of the acquire.", FAULT_LIST("contract:C284"),
	       FAULT_LIST("lock.cancel.watchers")),
};

FAULT_TABLE(fault_lock_holders, faults);
