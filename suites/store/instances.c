/* SPDX-License-Identifier: MIT */
/* Several instances on the same data, one after the other and at once. */
#include <pthread.h>
#include <stdatomic.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>
#include <witness/call.h>

void store_second_reads(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct sp_store *first = sp_case_store(t), *second = store_second(t);

	if (!second)
		return;
	/* Both have looked before: what they might keep is old afterwards. */
	SP_REQUIRE(store_lacks(t, first, one.key) && store_lacks(t, second, one.key));
	SP_REQUIRE(store_put(t, first, &one) && store_holds(t, second, &one));
	SP_REQUIRE(store_put(t, second, &two) && store_holds(t, first, &two));
	SP_REQUIRE(store_delete(t, first, one.key) && store_lacks(t, second, one.key));
	SP_REQUIRE(store_put(t, second, &one) && store_holds(t, first, &one));
}

void store_second_commute(struct sp_case *t)
{
	struct sp_record a = store_version(t, sp_case_unique(t), 1);
	struct sp_record b = store_version(t, sp_case_unique(t), 2);
	struct sp_record c = store_version(t, sp_case_unique(t), 3);
	struct sp_store *first = sp_case_store(t), *second = store_second(t);

	if (!second)
		return;
	SP_REQUIRE(store_put(t, first, &a) && store_put(t, second, &b) && store_put(t, first, &c));
	for (unsigned i = 0; i < 2; i++) {
		struct sp_store *store = i ? second : first;

		SP_REQUIRE(store_holds(t, store, &a) && store_holds(t, store, &b) &&
			   store_holds(t, store, &c));
	}
}

void store_second_late(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t)), late = record;
	struct sp_store *second = store_second(t);

	if (!second)
		return;
	late.updated_at = 2;
	late.latest_run_id = NULL;
	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	SP_REQUIRE(store_delete(t, sp_case_store(t), record.key));
	SP_REQUIRE(store_put(t, second, &late));
	store_holds(t, sp_case_store(t), &late);
}

void store_reopen_keeps(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t)), bare = record, gone = record;
	struct sp_subject *again;

	bare.key = (char *)sp_case_unique(t);
	bare.latest_snapshot_id = bare.latest_run_id = NULL;
	gone.key = (char *)sp_case_unique(t);
	SP_REQUIRE(store_put(t, sp_case_store(t), &record) &&
		   store_put(t, sp_case_store(t), &bare) && store_put(t, sp_case_store(t), &gone));
	SP_REQUIRE(store_delete(t, sp_case_store(t), gone.key));
	again = sp_case_reopen(t);
	if (!again)
		return;
	SP_REQUIRE(store_holds(t, &again->store, &record));
	SP_REQUIRE(store_holds(t, &again->store, &bare));
	store_lacks(t, &again->store, gone.key);
}

void store_reopen_volatile(struct sp_case *t)
{
	const struct sp_store_capabilities *declared = sp_store_capabilities(sp_case_store(t));
	struct sp_record record = store_record(t, sp_case_unique(t));
	struct sp_subject *again;

	if (declared && declared->durable) {
		sp_skip(t, "needs a store that forgets: durable is declared true");
		return;
	}
	SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	again = sp_case_reopen(t);
	if (again)
		store_lacks(t, &again->store, record.key);
}

/* ---- threads ---- */

#define THREADS 4
#define WRITES 12

struct writer {
	struct sp_case *t;
	struct sp_store *store;
	struct sp_record records[WRITES];
};

static int write_all(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct writer *writer = arg;

	for (unsigned i = 0; i < WRITES; i++) {
		int rc =
		    sp_store_upsert(writer->store, &writer->records[i], NULL, cancel, &result->err);

		if (rc)
			return rc;
	}
	return 0;
}

void store_threads_apart(struct sp_case *t)
{
	struct writer writers[THREADS];
	struct sp_call *calls[THREADS] = {NULL};

	for (unsigned i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){.t = t, .store = sp_case_store(t)};
		for (unsigned k = 0; k < WRITES; k++)
			writers[i].records[k] = store_version(t, sp_case_unique(t), k);
	}
	for (unsigned i = 0; i < THREADS; i++)
		calls[i] = sp_call_start(t, write_all, &writers[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		struct sp_call_result *result = sp_call_join(calls[i]);

		if (result)
			SP_CHECK_OK(t, result->rc, &result->err, "upserts of thread %u", i);
	}
	for (unsigned i = 0; i < THREADS * WRITES; i++)
		store_holds(t, sp_case_store(t), &writers[i / WRITES].records[i % WRITES]);
	for (unsigned i = 0; i < THREADS; i++)
		sp_call_done(&calls[i]);
}

struct flipper {
	struct sp_store *store;
	const struct sp_record *one, *two;
	/* Upserts that were answered. */
	atomic_uint written;
	/* The reader has seen enough. */
	atomic_bool enough;
};

/* Answered upserts that a reader has to stand beside. */
#define FLIPS 8

/* Writes the two records in turn until the reader is satisfied. */
static int flip(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct flipper *flipper = arg;
	int rc = 0;

	while (!rc && !atomic_load(&flipper->enough)) {
		unsigned n = atomic_load(&flipper->written);

		rc = sp_store_upsert(flipper->store, n % 2 ? flipper->two : flipper->one, NULL,
				     cancel, &result->err);
		atomic_store(&flipper->written, n + 1);
	}
	return rc;
}

/* Looks whether a read is one of the two, whole. */
static bool one_of(struct sp_case *t, struct sp_store *store, const struct sp_record *one,
		   const struct sp_record *two)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;
	int rc = sp_store_get(store, one->key, &got, &found, sp_case_cancel(t), &err);

	return SP_CHECK_OK(t, rc, &err, "get while somebody writes") &&
	       SP_CHECK(t, found, "there is a record all the time") &&
	       store_same(t, got.updated_at == one->updated_at ? one : two, &got);
}

void store_threads_torn(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct flipper flipper = {.store = sp_case_store(t), .one = &one, .two = &two};
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;
	bool whole = true;

	SP_REQUIRE(store_put(t, sp_case_store(t), &two));
	call = sp_call_start(t, flip, &flipper);
	/* Reads from before the first upsert to after the last that counts. */
	while (whole && sp_call_pending(call) && atomic_load(&flipper.written) < FLIPS)
		whole = one_of(t, sp_case_store(t), &one, &two);
	atomic_store(&flipper.enough, true);
	/* A writer that waits for readers has none any more. */
	if (!whole)
		sp_call_abort(call, "enough");
	result = sp_call_join(call);
	if (result && whole)
		SP_CHECK_OK(t, result->rc, &result->err, "the upserts");
}
