/* SPDX-License-Identifier: MIT */
/*
 * Races on one cancel, and children started from several threads at once. A
 * plain program, because ThreadSanitizer does not run under Criterion. Exit
 * code 0: every watcher ran at most once and never after it was removed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <base/child.h>
#include <base/clock.h>

#define ROUNDS 200
#define THREADS 4

static atomic_int errors;

struct watch {
	atomic_int calls;
	atomic_bool removed;
};

static void on_fire(void *arg)
{
	struct watch *watch = arg;

	if (atomic_fetch_add(&watch->calls, 1) || atomic_load(&watch->removed))
		atomic_fetch_add(&errors, 1);
}

static void *use(void *arg)
{
	struct sp_cancel *cancel = arg;

	for (int i = 0; i < 50; i++) {
		struct watch watch = { 0 };
		uint64_t id;

		if (sp_cancel_watch(cancel, on_fire, &watch, &id))
			atomic_fetch_add(&errors, 1);
		sp_cancel_check(cancel, NULL);
		sp_cancel_watchers(cancel);
		sp_cancel_unwatch(cancel, id);
		atomic_store(&watch.removed, true);
		if (i == 20)
			sp_cancel_abort(cancel, "first or not");
		if (i == 10)
			sp_cancel_set_deadline(cancel, sp_now() + 1000);
	}
	sp_cancel_unref(cancel);
	return NULL;
}

static void *start_children(void *arg)
{
	static const char *const argv[] = { "true", NULL };

	(void)arg;
	for (int i = 0; i < 10; i++) {
		struct sp_run_result result;

		if (sp_run(argv, NULL, "x", 1, 10, NULL, &result, NULL)) {
			atomic_fetch_add(&errors, 1);
			continue;
		}
		if (result.code)
			atomic_fetch_add(&errors, 1);
		sp_run_result_done(&result);
	}
	return NULL;
}

static void run_threads(void *(*fn)(void *), struct sp_cancel *cancel)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, fn, sp_cancel_ref(cancel)))
			atomic_fetch_add(&errors, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct sp_cancel *cancel = sp_cancel_new();

		run_threads(use, cancel);
		if (sp_cancel_refs(cancel) != 1 || sp_cancel_watchers(cancel))
			atomic_fetch_add(&errors, 1);
		sp_cancel_unref(cancel);
	}
	run_threads(start_children, NULL);
	printf("errors %d\n", atomic_load(&errors));
	return atomic_load(&errors) ? 1 : 0;
}
