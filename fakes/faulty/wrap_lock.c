/* SPDX-License-Identifier: MIT */
#include "wrap_lock.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

static void free_lease(struct fault_lease *lease)
{
	sp_lease_done(&lease->inner);
	sp_cancel_unref(lease->cancel);
	free(lease->key);
	free(lease);
}

static uint64_t lease_fence(void *self)
{
	struct fault_lease *lease = self;

	if (lease->lock->hooks->fence)
		return lease->lock->hooks->fence(lease);
	return sp_lease_fence(&lease->inner);
}

static struct sp_cancel *lease_lost(void *self)
{
	struct fault_lease *lease = self;

	if (lease->lock->hooks->lost)
		return lease->lock->hooks->lost(lease);
	return sp_lease_lost(&lease->inner);
}

static void lease_release(void *self)
{
	struct fault_lease *lease = self;
	struct fault_lock *lock = lease->lock;

	if (lock->hooks->release)
		lock->hooks->release(lease);
	else
		sp_lease_done(&lease->inner);
	if (!lease->inner.ops) {
		free_lease(lease);
		return;
	}
	pthread_mutex_lock(&lock->lock);
	lease->next = lock->left;
	lock->left = lease;
	pthread_mutex_unlock(&lock->lock);
}

static const struct sp_lease_ops lease_ops = {
    .version = SP_LEASE_VERSION,
    .fence = lease_fence,
    .lost = lease_lost,
    .release = lease_release,
};

static const struct sp_lock_capabilities *capabilities(void *self)
{
	return &((struct fault_lock *)self)->capabilities;
}

static int acquire(void *self, const char *key, struct sp_cancel *cancel,
		   struct sp_lease *ret_lease, struct sp_error *err)
{
	struct fault_lock *lock = self;
	struct fault_lease *lease = calloc(1, sizeof(*lease));
	int rc;

	if (!lease)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	lease->lock = lock;
	lease->key = strdup(key);
	if (lock->hooks->acquire)
		rc = lock->hooks->acquire(lock, key, cancel, lease, err);
	else
		rc = sp_lock_acquire(&lock->inner, key, cancel, &lease->inner, err);
	if (rc) {
		free_lease(lease);
		return rc;
	}
	*ret_lease = (struct sp_lease){&lease_ops, lease};
	return 0;
}

static void close_lock(void *self)
{
	struct fault_lock *lock = self;

	while (lock->left) {
		struct fault_lease *lease = lock->left;

		lock->left = lease->next;
		free_lease(lease);
	}
	if (lock->hooks->close)
		lock->hooks->close(lock);
	sp_lock_done(&lock->inner);
	pthread_mutex_destroy(&lock->lock);
	free(lock);
}

static const struct sp_lock_ops ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = capabilities,
    .acquire = acquire,
    .close = close_lock,
};

int fault_wrap_lock(struct sp_lock *lock, const struct fault_lock_hooks *hooks,
		    struct sp_error *err)
{
	const struct sp_lock_capabilities *declared = sp_lock_capabilities(lock);
	struct fault_lock *faulty = calloc(1, sizeof(*faulty));

	if (!faulty || !declared) {
		free(faulty);
		return sp_error_set(err, SP_INTERNAL, "no memory or no declaration for a fault");
	}
	faulty->inner = *lock;
	faulty->hooks = hooks;
	faulty->capabilities = *declared;
	if (hooks->capabilities)
		hooks->capabilities(&faulty->capabilities);
	pthread_mutex_init(&faulty->lock, NULL);
	*lock = (struct sp_lock){&ops, faulty};
	return 0;
}
