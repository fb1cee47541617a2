/* SPDX-License-Identifier: MIT */
/* The lock's table over a driver. */
#include "client.h"

#include <stdlib.h>
#include <string.h>

struct drv_lease {
	struct drv_lease *next;
	struct sp_driver *driver;
	char *handle;
	uint64_t fence;
	struct sp_cancel *lost;
	/* Told of before its maker had it: nobody's yet. */
	bool early;
};

/* Of leases that nobody knows, since they were released just now or are not known yet. */
#define MAX_EARLY 64

static void unlist(struct drv_lease *lease)
{
	struct drv_lease **at = &lease->driver->leases;

	while (*at && *at != lease)
		at = &(*at)->next;
	if (*at)
		*at = lease->next;
}

static void free_lease(struct drv_lease *lease)
{
	sp_cancel_unref(lease->lost);
	free(lease->handle);
	free(lease);
}

static uint64_t lease_fence(void *self)
{
	return ((struct drv_lease *)self)->fence;
}

static struct sp_cancel *lease_lost(void *self)
{
	return ((struct drv_lease *)self)->lost;
}

static void lease_release(void *self)
{
	struct drv_lease *lease = self;
	struct sp_driver *driver = lease->driver;
	struct sp_buf params DRV_PARAMS;

	/* Waited for: whoever asks next, on whatever way, finds the lock free. */
	drv_open(&params, "lease", lease->handle);
	(void)drv_call_plain(driver, "lock/release", &params, NULL, NULL);
	pthread_mutex_lock(&driver->lock);
	unlist(lease);
	pthread_mutex_unlock(&driver->lock);
	free_lease(lease);
}

static const struct sp_lease_ops lease_ops = {
    .version = SP_LEASE_VERSION,
    .fence = lease_fence,
    .lost = lease_lost,
    .release = lease_release,
};

/* A lease of an answer that its caller has not read yet. With the lock held. */
static struct sp_cancel *add_early(struct sp_driver *driver, const char *handle)
{
	struct drv_lease *lease;
	size_t n = 0;

	for (struct drv_lease *at = driver->leases; at; at = at->next)
		n += at->early;
	lease = n < MAX_EARLY ? calloc(1, sizeof(*lease)) : NULL;
	if (!lease)
		return NULL;
	*lease = (struct drv_lease){.driver = driver, .early = true};
	lease->handle = strdup(handle);
	lease->lost = sp_cancel_new();
	if (!lease->handle || !lease->lost) {
		free_lease(lease);
		return NULL;
	}
	lease->next = driver->leases;
	driver->leases = lease;
	return sp_cancel_ref(lease->lost);
}

/* The signal of a lease that was lost before its maker had it. With the lock held. */
static struct sp_cancel *take_early(struct sp_driver *driver, const char *handle)
{
	struct sp_cancel *lost;

	for (struct drv_lease *at = driver->leases; at; at = at->next) {
		if (!at->early || strcmp(at->handle, handle))
			continue;
		lost = sp_cancel_ref(at->lost);
		unlist(at);
		free_lease(at);
		return lost;
	}
	return NULL;
}

void drv_leases_done(struct sp_driver *driver)
{
	while (driver->leases) {
		struct drv_lease *lease = driver->leases;

		driver->leases = lease->next;
		free_lease(lease);
	}
}

void drv_lease_lost(struct sp_driver *driver, const cJSON *params)
{
	const char *handle = sp_json_str(params, "lease");
	const char *reason = sp_json_str(params, "reason");
	struct sp_cancel *lost = NULL;

	if (!handle) {
		drv_break(driver, "sent lock/lost without its lease");
		return;
	}
	pthread_mutex_lock(&driver->lock);
	for (struct drv_lease *at = driver->leases; at; at = at->next)
		if (!strcmp(at->handle, handle))
			lost = sp_cancel_ref(at->lost);
	if (!lost)
		lost = add_early(driver, handle);
	pthread_mutex_unlock(&driver->lock);
	if (lost)
		sp_cancel_abort(lost, reason ? reason : "the driver lost the lease");
	sp_cancel_unref(lost);
}

static const struct sp_lock_capabilities *lock_capabilities(void *self)
{
	return &((struct sp_driver *)self)->lock_caps;
}

static int make_lease(struct sp_driver *driver, const char *handle, uint64_t fence,
		      struct sp_lease *ret_lease, struct sp_error *err)
{
	struct drv_lease *lease = calloc(1, sizeof(*lease));
	struct sp_cancel *early;

	if (lease) {
		lease->driver = driver;
		lease->fence = fence;
		lease->handle = strdup(handle);
		lease->lost = sp_cancel_new();
	}
	if (!lease || !lease->handle || !lease->lost) {
		if (lease)
			free_lease(lease);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	pthread_mutex_lock(&driver->lock);
	early = take_early(driver, handle);
	if (early) {
		sp_cancel_unref(lease->lost);
		lease->lost = early;
	}
	lease->next = driver->leases;
	driver->leases = lease;
	pthread_mutex_unlock(&driver->lock);
	*ret_lease = (struct sp_lease){&lease_ops, lease};
	return 0;
}

static int lock_acquire(void *self, const char *key, struct sp_cancel *cancel,
			struct sp_lease *ret_lease, struct sp_error *err)
{
	struct sp_driver *driver = self;
	struct sp_buf params DRV_PARAMS;
	cJSON *result DRV_RESULT;
	const char *handle = NULL;
	uint64_t fence = 0;
	int rc = drv_check_text("the key", key, err);

	if (rc)
		return rc;
	drv_open(&params, "key", key);
	rc = drv_call_for(driver, "lock/acquire", &params, cancel, &result, err);
	if (rc)
		return rc;
	if (drv_get_text(result, "lease", &handle, err) ||
	    drv_get_uint_opt(result, "fence", &fence, err))
		return drv_nonsense(driver, "lock/acquire", err);
	return make_lease(driver, handle, fence, ret_lease, err);
}

static void lock_close(void *self)
{
	sp_driver_unref(self);
}

static const struct sp_lock_ops lock_ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = lock_capabilities,
    .acquire = lock_acquire,
    .close = lock_close,
};

int sp_driver_lock(struct sp_driver *driver, struct sp_lock *ret_lock, struct sp_error *err)
{
	if (!driver->has_lock)
		return drv_not_offered(driver, "lock", err);
	*ret_lock = (struct sp_lock){&lock_ops, sp_driver_ref(driver)};
	return 0;
}
