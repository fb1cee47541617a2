/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include <sandproof/cancel.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/utf8.h>

static bool readable(struct sp_cancel *cancel)
{
	struct pollfd fd = { .fd = sp_cancel_fd(cancel), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void count(void *arg)
{
	++*(int *)arg;
}

Test(cancel, null_never_fires)
{
	uint64_t id = 9;
	int calls = 0;

	cr_assert_eq(sp_cancel_check(NULL, NULL), 0);
	cr_assert_eq(sp_cancel_fd(NULL), -1);
	cr_assert_eq(sp_cancel_watch(NULL, count, &calls, &id), 0);
	sp_cancel_unwatch(NULL, id);
	sp_cancel_abort(NULL, "x");
	sp_cancel_set_deadline(NULL, 1);
	cr_assert_eq(sp_cancel_watchers(NULL), 0);
	cr_assert_eq(sp_cancel_refs(NULL), 0);
	cr_assert_null(sp_cancel_ref(NULL));
	cr_assert_null(sp_cancel_unref(NULL));
	cr_assert_eq(calls, 0);
}

enum act { ABORT, PAST, FUTURE, REMOVE };

/* Two acts one after the other: the first that fires wins and stays. */
static const struct {
	enum act first, second;
	int expected;
} orders[] = {
	{ ABORT, ABORT, SP_ABORTED },	{ ABORT, PAST, SP_ABORTED },
	{ ABORT, REMOVE, SP_ABORTED },	{ PAST, ABORT, SP_TIMED_OUT },
	{ PAST, FUTURE, SP_TIMED_OUT }, { PAST, REMOVE, SP_TIMED_OUT },
	{ FUTURE, ABORT, SP_ABORTED },	{ FUTURE, PAST, SP_TIMED_OUT },
	{ FUTURE, REMOVE, 0 },		{ REMOVE, REMOVE, 0 },
};

static void act(struct sp_cancel *cancel, enum act what, const char *reason)
{
	switch (what) {
	case ABORT:
		sp_cancel_abort(cancel, reason);
		break;
	case PAST:
		sp_cancel_set_deadline(cancel, 1);
		break;
	case FUTURE:
		sp_cancel_set_deadline(cancel, sp_now() + 3600 * SP_SECOND);
		break;
	case REMOVE:
		sp_cancel_set_deadline(cancel, 0);
		break;
	}
}

Test(cancel, first_wins)
{
	for (size_t i = 0; i < SP_COUNT(orders); i++) {
		struct sp_cancel *cancel = sp_cancel_new();
		struct sp_error err = SP_ERROR_INIT;

		act(cancel, orders[i].first, "one");
		act(cancel, orders[i].second, "two");
		for (int again = 0; again < 2; again++) {
			cr_expect_eq(sp_cancel_check(cancel, &err), orders[i].expected, "row %zu",
				     i);
			cr_expect_eq(readable(cancel), orders[i].expected != 0, "row %zu", i);
		}
		cr_expect_eq(err.code, orders[i].expected);
		if (orders[i].expected == SP_ABORTED)
			cr_expect_str_eq(err.message, orders[i].first == ABORT ? "one" : "two");
		sp_cancel_unref(cancel);
	}
}

Test(cancel, deadline_comes_through_the_descriptor)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct pollfd fd = { .fd = sp_cancel_fd(cancel), .events = POLLIN };
	int calls = 0;
	uint64_t id;

	sp_cancel_watch(cancel, count, &calls, &id);
	sp_cancel_set_deadline(cancel, sp_now() + SP_MS);
	cr_assert_eq(poll(&fd, 1, -1), 1);
	cr_assert_eq(sp_cancel_check(cancel, NULL), SP_TIMED_OUT);
	cr_assert_eq(calls, 1, "the check that notices it tells the watchers");
	cr_assert(readable(cancel), "it stays readable");
	sp_cancel_unref(cancel);
}

Test(cancel, watchers_run_once_in_order_and_are_gone)
{
	struct sp_cancel *cancel = sp_cancel_new();
	int calls[3] = { 0 };
	uint64_t ids[3];

	for (int i = 0; i < 3; i++)
		cr_assert_eq(sp_cancel_watch(cancel, count, &calls[i], &ids[i]), 0);
	cr_assert_eq(sp_cancel_watchers(cancel), 3);
	sp_cancel_unwatch(cancel, ids[1]);
	sp_cancel_unwatch(cancel, ids[1]);
	sp_cancel_unwatch(cancel, 12345);
	cr_assert_eq(sp_cancel_watchers(cancel), 2);
	sp_cancel_abort(cancel, NULL);
	sp_cancel_abort(cancel, NULL);
	cr_assert(calls[0] == 1 && calls[1] == 0 && calls[2] == 1);
	cr_assert_eq(sp_cancel_watchers(cancel), 0);
	for (int i = 0; i < 3; i++)
		sp_cancel_unwatch(cancel, ids[i]);
	sp_cancel_unref(cancel);
}

Test(cancel, a_watch_after_the_end_runs_at_once)
{
	static const enum act ways[] = { ABORT, PAST };

	for (size_t i = 0; i < SP_COUNT(ways); i++) {
		struct sp_cancel *cancel = sp_cancel_new();
		int calls = 0;
		uint64_t id = 0;

		act(cancel, ways[i], "x");
		cr_assert_eq(sp_cancel_watch(cancel, count, &calls, &id), 0);
		cr_assert_eq(calls, 1);
		cr_assert_eq(sp_cancel_watchers(cancel), 0);
		sp_cancel_unwatch(cancel, id);
		sp_cancel_unref(cancel);
	}
}

struct self {
	struct sp_cancel *cancel;
	uint64_t id;
	int calls;
};

static void remove_self(void *arg)
{
	struct self *self = arg;
	struct sp_error err = SP_ERROR_INIT;

	sp_cancel_unwatch(self->cancel, self->id);
	/* The cancel can be used from a watcher. */
	self->calls += sp_cancel_check(self->cancel, &err) == SP_ABORTED;
	sp_cancel_abort(self->cancel, "again");
}

Test(cancel, a_watcher_may_remove_itself)
{
	struct self self = { .cancel = sp_cancel_new() };

	sp_cancel_watch(self.cancel, remove_self, &self, &self.id);
	sp_cancel_abort(self.cancel, "x");
	cr_assert_eq(self.calls, 1);
	sp_cancel_unref(self.cancel);
}

struct slow {
	struct sp_cancel *cancel;
	uint64_t id;
	sem_t entered, asked, go;
	atomic_bool finished;
	/* What the remover saw when it came back. */
	atomic_bool finished_before;
	atomic_bool returned;
};

static void slow_watcher(void *arg)
{
	struct slow *slow = arg;

	sem_post(&slow->entered);
	sem_wait(&slow->go);
	atomic_store(&slow->finished, true);
}

static void *abort_it(void *arg)
{
	sp_cancel_abort(((struct slow *)arg)->cancel, "x");
	return NULL;
}

static void *remove_it(void *arg)
{
	struct slow *slow = arg;

	sem_post(&slow->asked);
	sp_cancel_unwatch(slow->cancel, slow->id);
	atomic_store(&slow->finished_before, atomic_load(&slow->finished));
	atomic_store(&slow->returned, true);
	return NULL;
}

Test(cancel, unwatch_waits_for_a_running_watcher)
{
	struct slow slow = { .cancel = sp_cancel_new() };
	pthread_t firing, removing;

	sem_init(&slow.entered, 0, 0);
	sem_init(&slow.asked, 0, 0);
	sem_init(&slow.go, 0, 0);
	sp_cancel_watch(slow.cancel, slow_watcher, &slow, &slow.id);
	pthread_create(&firing, NULL, abort_it, &slow);
	sem_wait(&slow.entered);
	pthread_create(&removing, NULL, remove_it, &slow);
	sem_wait(&slow.asked);
	/* Rounds in which a removal that does not wait would come back. */
	for (int i = 0; i < 1000 && !atomic_load(&slow.returned); i++) {
		cr_assert_eq(sp_cancel_check(slow.cancel, NULL), SP_ABORTED,
			     "a running watcher holds nobody else up");
		sched_yield();
	}
	sem_post(&slow.go);
	pthread_join(removing, NULL);
	pthread_join(firing, NULL);
	cr_assert(atomic_load(&slow.finished_before), "it came back while the watcher ran");
	sp_cancel_unref(slow.cancel);
}

Test(cancel, references_and_descriptors)
{
	int before = sp_count_fds();
	struct sp_cancel *cancel = sp_cancel_new();
	uint64_t id;
	int calls = 0;

	cr_assert_eq(sp_cancel_refs(cancel), 1);
	cr_assert_eq(sp_cancel_ref(cancel), cancel);
	cr_assert_eq(sp_cancel_refs(cancel), 2);
	cr_assert_null(sp_cancel_unref(cancel));
	cr_assert_eq(sp_cancel_refs(cancel), 1);
	/* A forgotten watcher is freed with the cancel and does not run. */
	sp_cancel_watch(cancel, count, &calls, &id);
	sp_cancel_unref(cancel);
	cr_assert_eq(calls, 0);
	cr_assert_eq(sp_count_fds(), before);
}

Test(cancel, a_long_reason_is_cut_at_a_character)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	char reason[1024];

	for (size_t i = 0; i + 2 < sizeof(reason); i += 2)
		memcpy(reason + i, "\xC3\xA9", 3);
	sp_cancel_abort(cancel, reason);
	cr_assert_eq(sp_cancel_check(cancel, &err), SP_ABORTED);
	cr_assert_gt(strlen(err.message), SP_ERROR_TEXT - 4);
	cr_assert(sp_utf8_valid(err.message, strlen(err.message)));
	sp_cancel_unref(cancel);
}

Test(cancel, races)
{
	const char *argv[] = { SP_TEST_BIN_DIR "/sp_base_cancel_helper", NULL };
	struct sp_run_result result = { 0 };
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_run(argv, NULL, NULL, 0, 4096, NULL, &result, &err), 0, "%s", err.message);
	cr_assert_eq(result.code, 0, "%s%s", result.out, result.err);
	sp_run_result_done(&result);
}
