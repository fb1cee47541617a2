/* SPDX-License-Identifier: MIT */
/*
 * One timer descriptor tells both ways of firing: a deadline arms it, an
 * abort arms it for a time long past. Nobody reads it, so it stays readable.
 */
#include <sandproof/cancel.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>

#include <base/cleanup.h>
#include <base/clock.h>

struct watcher {
	struct watcher *next;
	uint64_t id;
	sp_cancel_fn fn;
	void *arg;
};

struct sp_cancel {
	atomic_size_t refs;
	int timer;
	pthread_mutex_t lock;
	/* Signalled whenever a watcher's function has returned. */
	pthread_cond_t returned;
	/* 0 until it fires. */
	enum sp_code fired;
	char reason[SP_ERROR_TEXT];
	uint64_t deadline;
	/* In the order of registration; a watcher leaves the list before it is called. */
	struct watcher *watchers;
	uint64_t last_id;
	/* The watcher that is being called, 0 for none, and by whom. */
	uint64_t running;
	pthread_t runner;
};

struct sp_cancel *sp_cancel_new(void)
{
	struct sp_cancel *cancel = calloc(1, sizeof(*cancel));

	if (!cancel)
		return NULL;
	cancel->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (cancel->timer < 0) {
		free(cancel);
		return NULL;
	}
	atomic_init(&cancel->refs, 1);
	pthread_mutex_init(&cancel->lock, NULL);
	pthread_cond_init(&cancel->returned, NULL);
	return cancel;
}

struct sp_cancel *sp_cancel_ref(struct sp_cancel *cancel)
{
	if (cancel)
		atomic_fetch_add(&cancel->refs, 1);
	return cancel;
}

struct sp_cancel *sp_cancel_unref(struct sp_cancel *cancel)
{
	if (!cancel || atomic_fetch_sub(&cancel->refs, 1) != 1)
		return NULL;
	while (cancel->watchers) {
		struct watcher *watcher = cancel->watchers;

		cancel->watchers = watcher->next;
		free(watcher);
	}
	sp_close(cancel->timer);
	pthread_cond_destroy(&cancel->returned);
	pthread_mutex_destroy(&cancel->lock);
	free(cancel);
	return NULL;
}

/* Arms the timer for an absolute time; 0 disarms it. */
static void arm(struct sp_cancel *cancel, uint64_t when)
{
	struct itimerspec spec = {
		.it_value.tv_sec = (time_t)(when / SP_SECOND),
		.it_value.tv_nsec = (long)(when % SP_SECOND),
	};

	timerfd_settime(cancel->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Fires if the deadline has passed. Called with the lock held. */
static void notice_deadline(struct sp_cancel *cancel)
{
	if (!cancel->fired && cancel->deadline && sp_now() >= cancel->deadline)
		cancel->fired = SP_TIMED_OUT;
}

/*
 * Calls the watchers of a cancel that has fired, without the lock, since they
 * may use the cancel. One thread does it; another one that comes meanwhile
 * goes on. Called with the lock held, returns without it.
 */
static void unlock_and_notify(struct sp_cancel *cancel)
{
	while (cancel->fired && !cancel->running && cancel->watchers) {
		struct watcher *watcher = cancel->watchers;

		cancel->watchers = watcher->next;
		cancel->running = watcher->id;
		cancel->runner = pthread_self();
		pthread_mutex_unlock(&cancel->lock);
		watcher->fn(watcher->arg);
		free(watcher);
		pthread_mutex_lock(&cancel->lock);
		cancel->running = 0;
		pthread_cond_broadcast(&cancel->returned);
	}
	pthread_mutex_unlock(&cancel->lock);
}

void sp_cancel_set_deadline(struct sp_cancel *cancel, uint64_t monotonic_ns)
{
	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	notice_deadline(cancel);
	if (!cancel->fired) {
		cancel->deadline = monotonic_ns;
		arm(cancel, monotonic_ns);
	}
	unlock_and_notify(cancel);
}

void sp_cancel_abort(struct sp_cancel *cancel, const char *reason)
{
	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	notice_deadline(cancel);
	if (!cancel->fired) {
		struct sp_error cut = SP_ERROR_INIT;

		sp_error_set_detail(&cut, reason ? reason : "aborted");
		snprintf(cancel->reason, sizeof(cancel->reason), "%s", cut.detail);
		cancel->fired = SP_ABORTED;
		arm(cancel, 1);
	}
	unlock_and_notify(cancel);
}

int sp_cancel_check(struct sp_cancel *cancel, struct sp_error *err)
{
	enum sp_code fired;

	if (!cancel)
		return 0;
	pthread_mutex_lock(&cancel->lock);
	notice_deadline(cancel);
	fired = cancel->fired;
	unlock_and_notify(cancel);
	/* The reason does not change any more once it has fired. */
	if (fired == SP_ABORTED)
		return sp_error_set(err, SP_ABORTED, "%s", cancel->reason);
	if (fired == SP_TIMED_OUT)
		return sp_error_set(err, SP_TIMED_OUT, "the deadline passed");
	return 0;
}

int sp_cancel_fd(struct sp_cancel *cancel)
{
	return cancel ? cancel->timer : -1;
}

int sp_cancel_watch(struct sp_cancel *cancel, sp_cancel_fn fn, void *arg, uint64_t *ret_id)
{
	struct watcher *watcher, **end;

	if (!cancel) {
		*ret_id = 0;
		return 0;
	}
	watcher = malloc(sizeof(*watcher));
	if (!watcher)
		return SP_INTERNAL;
	pthread_mutex_lock(&cancel->lock);
	notice_deadline(cancel);
	*ret_id = ++cancel->last_id;
	if (cancel->fired) {
		free(watcher);
		unlock_and_notify(cancel);
		fn(arg);
		return 0;
	}
	*watcher = (struct watcher){ .id = *ret_id, .fn = fn, .arg = arg };
	for (end = &cancel->watchers; *end; end = &(*end)->next)
		;
	*end = watcher;
	pthread_mutex_unlock(&cancel->lock);
	return 0;
}

void sp_cancel_unwatch(struct sp_cancel *cancel, uint64_t id)
{
	if (!cancel || !id)
		return;
	pthread_mutex_lock(&cancel->lock);
	for (struct watcher **at = &cancel->watchers; *at; at = &(*at)->next) {
		if ((*at)->id == id) {
			struct watcher *watcher = *at;

			*at = watcher->next;
			free(watcher);
			break;
		}
	}
	/* A watcher that removes itself must not wait for itself. */
	while (cancel->running == id && !pthread_equal(cancel->runner, pthread_self()))
		pthread_cond_wait(&cancel->returned, &cancel->lock);
	pthread_mutex_unlock(&cancel->lock);
}

size_t sp_cancel_watchers(struct sp_cancel *cancel)
{
	size_t n = 0;

	if (!cancel)
		return 0;
	pthread_mutex_lock(&cancel->lock);
	for (struct watcher *watcher = cancel->watchers; watcher; watcher = watcher->next)
		n++;
	pthread_mutex_unlock(&cancel->lock);
	return n;
}

size_t sp_cancel_refs(struct sp_cancel *cancel)
{
	return cancel ? atomic_load(&cancel->refs) : 0;
}
