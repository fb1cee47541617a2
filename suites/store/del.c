/* SPDX-License-Identifier: MIT */
/* Deleting, keeping, and that records are copies. */
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>

void store_delete_gone(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	SP_REQUIRE(store_delete(t, sp_case_store(t), record.key));
	SP_REQUIRE(store_lacks(t, sp_case_store(t), record.key));
	/* Deleting again is fine, as is writing again. */
	SP_REQUIRE(store_delete(t, sp_case_store(t), record.key));
	store_keeps(t, sp_case_store(t), &record);
}

void store_delete_absent(struct sp_case *t)
{
	store_delete(t, sp_case_store(t), sp_case_unique(t));
}

void store_delete_others(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct sp_record record = store_record(t, key);
	struct sp_record longer = store_record(t, sp_case_format(t, "%s2", key));
	struct sp_record same_thread = store_record(t, sp_case_unique(t));

	same_thread.thread_id = record.thread_id;
	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	SP_REQUIRE(store_put(t, sp_case_store(t), &longer));
	SP_REQUIRE(store_put(t, sp_case_store(t), &same_thread));
	SP_REQUIRE(store_delete(t, sp_case_store(t), key));
	SP_REQUIRE(store_lacks(t, sp_case_store(t), key));
	SP_REQUIRE(store_holds(t, sp_case_store(t), &longer));
	store_holds(t, sp_case_store(t), &same_thread);
}

/* Everything that is kept under keys that begin so; false after a recorded error. */
static bool traces(struct sp_case *t, const char *prefix, uint64_t *ret_count)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!sp_backdoor_count(&sp_case_subject(t)->backdoor, prefix, ret_count, &err))
		return true;
	sp_case_error(t, SP_HERE, "the back door cannot count: %s", err.message);
	return false;
}

void store_delete_traces(struct sp_case *t)
{
	const char *prefix = sp_case_unique(t);
	const unsigned n = 20;
	uint64_t count = 0;

	for (unsigned i = 0; i < n; i++) {
		struct sp_record record =
		    store_version(t, sp_case_format(t, "%s-%u", prefix, i), i);

		SP_REQUIRE(store_put(t, sp_case_store(t), &record));
		record.thread_id = (char *)sp_case_format(t, "moved-%u", i);
		SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	}
	SP_REQUIRE(traces(t, prefix, &count));
	SP_REQUIRE(
	    SP_CHECK_INT(t, n, (long long)count, "one row a key, however often it was written"));
	for (unsigned i = 0; i < n; i++)
		SP_REQUIRE(
		    store_delete(t, sp_case_store(t), sp_case_format(t, "%s-%u", prefix, i)));
	SP_REQUIRE(traces(t, prefix, &count));
	SP_CHECK_INT(t, 0, (long long)count, "nothing is kept of deleted keys");
}

void store_keep_untouched(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));
	struct sp_record updated = store_version(t, sp_case_unique(t), 2);

	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	SP_REQUIRE(store_put(t, sp_case_store(t), &updated));
	SP_REQUIRE(store_put(t, sp_case_store(t), &updated));
	for (unsigned i = 0; i < sp_case_rounds(t) * 3; i++) {
		struct sp_record other = store_record(t, sp_case_unique(t));

		SP_REQUIRE(store_keeps(t, sp_case_store(t), &other));
		SP_REQUIRE(store_holds(t, sp_case_store(t), &updated));
	}
	store_holds(t, sp_case_store(t), &record);
}

/*
 * Behind a border between languages this memory is not the store's; the other side looks there.
 * True when both answers are known.
 */
static bool copies_there(struct sp_case *t, bool *ret_put, bool *ret_got)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_copies(sp_case_store(t), sp_case_unique(t), ret_put, ret_got,
				 sp_case_cancel(t), &err);

	return rc != SP_UNSUPPORTED && SP_CHECK_OK(t, rc, &err, "a look at the objects over there");
}

void store_alias_input(struct sp_case *t)
{
	bool put = true, got = true;
	char id[] = "sb-mine", run[] = "run-mine";
	struct sp_record record = store_record(t, sp_case_unique(t)), same = record;

	record.provider_sandbox_id = id;
	record.latest_run_id = run;
	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	memset(id, 'x', sizeof(id) - 1);
	memset(run, 'x', sizeof(run) - 1);
	record.updated_at = 99;
	same.provider_sandbox_id = (char *)"sb-mine";
	same.latest_run_id = (char *)"run-mine";
	SP_REQUIRE(store_holds(t, sp_case_store(t), &same));
	if (copies_there(t, &put, &got))
		SP_CHECK(t, put, "an object is kept as it was when it was handed over");
}

void store_alias_output(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false, put = true, own = true;
	int rc;

	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	rc = sp_store_get(sp_case_store(t), record.key, &got, &found, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "get") && SP_CHECK(t, found, "there is a record"));
	memset(got.provider_sandbox_id, 'x', strlen(got.provider_sandbox_id));
	memset(got.thread_id, 'x', strlen(got.thread_id));
	got.updated_at = 99;
	SP_REQUIRE(store_holds(t, sp_case_store(t), &record));
	if (copies_there(t, &put, &own))
		SP_CHECK(t, own, "a change of an object that was got does not change the record");
}

void store_cancel_before(struct sp_case *t)
{
	struct sp_record old = store_record(t, sp_case_unique(t)), record = old;
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	bool found;

	record.updated_at = 2;
	sp_cancel_abort(cancel, "enough");
	if (store_put(t, sp_case_store(t), &old)) {
		SP_CHECK_CODE(t, SP_ABORTED,
			      sp_store_upsert(sp_case_store(t), &record, NULL, cancel, &err), &err,
			      "an upsert under an aborted cancel");
		SP_CHECK_CODE(t, SP_ABORTED, sp_store_del(sp_case_store(t), old.key, cancel, &err),
			      &err, "a delete under an aborted cancel");
		SP_CHECK_CODE(t, SP_ABORTED,
			      sp_store_get(sp_case_store(t), old.key, &got, &found, cancel, &err),
			      &err, "a get under an aborted cancel");
		store_holds(t, sp_case_store(t), &old);
	}
	sp_cancel_unref(cancel);
}
