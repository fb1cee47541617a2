/* SPDX-License-Identifier: MIT */
/*
 * Cancels that outlive their call. The thread waits for all of them at once and holds no reference
 * to any: whoever unwatches has the last one.
 */
#include "conn.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <base/cleanup.h>

/* More are nonsense. */
#define MAX_LISTENERS 1000

static struct drv_watch *new_watch(struct sp_cancel *cancel, const char *kind, const char *handle)
{
	struct drv_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->fd = fcntl(sp_cancel_fd(cancel), F_DUPFD_CLOEXEC, 3);
	watch->handle = strdup(handle);
	if (watch->fd < 0 || !watch->handle) {
		sp_close(watch->fd);
		free(watch->handle);
		free(watch);
		return NULL;
	}
	watch->cancel = sp_cancel_ref(cancel);
	watch->kind = kind;
	return watch;
}

static int listen_for(struct sp_driver *driver, const struct drv_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = watch->id};

	return epoll_ctl(driver->fired, EPOLL_CTL_ADD, watch->fd, &event);
}

struct drv_watch *drv_watch(struct sp_driver *driver, struct sp_cancel *cancel, const char *kind,
			    const char *handle)
{
	struct drv_watch *watch = new_watch(cancel, kind, handle);
	bool listens;

	if (!watch)
		return NULL;
	pthread_mutex_lock(&driver->lock);
	watch->id = ++driver->last_watch;
	watch->next = driver->watches;
	driver->watches = watch;
	listens = !listen_for(driver, watch);
	pthread_mutex_unlock(&driver->lock);
	if (!listens) {
		drv_unwatch(driver, watch);
		watch = NULL;
	}
	return watch;
}

void drv_unwatch(struct sp_driver *driver, struct drv_watch *watch)
{
	struct drv_watch **at = &driver->watches;

	if (!watch)
		return;
	pthread_mutex_lock(&driver->lock);
	while (*at && *at != watch)
		at = &(*at)->next;
	if (*at)
		*at = watch->next;
	(void)epoll_ctl(driver->fired, EPOLL_CTL_DEL, watch->fd, NULL);
	pthread_mutex_unlock(&driver->lock);
	sp_cancel_unref(watch->cancel);
	sp_close(watch->fd);
	free(watch->handle);
	free(watch);
}

static void nothing(void *arg)
{
	(void)arg;
}

int drv_leave_listeners(struct sp_cancel *cancel, const cJSON *result, struct sp_error *err)
{
	int64_t n = 0;
	uint64_t id;
	int rc = 0;

	if (cJSON_HasObjectItem(result, "listeners"))
		rc = drv_get_range(result, "listeners", 0, MAX_LISTENERS, &n, err);
	while (!rc && cancel && n-- > 0)
		(void)sp_cancel_watch(cancel, nothing, NULL, &id);
	return rc;
}

/* The watch, as long as it is watched. Called with the lock held. */
static struct drv_watch *find(struct sp_driver *driver, uint64_t id)
{
	struct drv_watch *at = driver->watches;

	while (at && at->id != id)
		at = at->next;
	return at;
}

static struct sp_cancel *cancel_of(struct sp_driver *driver, uint64_t id)
{
	const struct drv_watch *watch;
	struct sp_cancel *cancel;

	pthread_mutex_lock(&driver->lock);
	watch = find(driver, id);
	cancel = watch ? sp_cancel_ref(watch->cancel) : NULL;
	pthread_mutex_unlock(&driver->lock);
	return cancel;
}

/* A cancel fires once, so it is told once. */
static void tell(struct sp_driver *driver, uint64_t id, const struct sp_error *why)
{
	const struct drv_watch *watch;

	pthread_mutex_lock(&driver->lock);
	watch = find(driver, id);
	if (watch) {
		(void)epoll_ctl(driver->fired, EPOLL_CTL_DEL, watch->fd, NULL);
		drv_send_cancel(driver, watch->kind, watch->handle, 0, why);
	}
	pthread_mutex_unlock(&driver->lock);
}

void drv_look_at_watches(struct sp_driver *driver)
{
	struct epoll_event event;

	while (epoll_wait(driver->fired, &event, 1, 0) == 1) {
		struct sp_cancel *cancel = cancel_of(driver, event.data.u64);
		struct sp_error why = SP_ERROR_INIT;
		bool fired;

		if (!cancel)
			continue;
		/* Without the lock: checking one may call its watchers. */
		fired = sp_cancel_check(cancel, &why) != 0;
		sp_cancel_unref(cancel);
		if (!fired)
			return;
		tell(driver, event.data.u64, &why);
	}
}
