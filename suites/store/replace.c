/* SPDX-License-Identifier: MIT */
/* An upsert replaces the record whole, and is both an insert and an update. */
#include <stdlib.h>
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>

/* Puts the full record, then one that lacks what is named, and looks. */
static void clear_fields(struct sp_case *t, bool snapshot, bool run)
{
	struct sp_record full = store_record(t, sp_case_unique(t)), less = full;

	if (snapshot)
		less.latest_snapshot_id = NULL;
	if (run)
		less.latest_run_id = NULL;
	less.provider_sandbox_id = (char *)"sb-2";
	less.updated_at = 2;
	SP_REQUIRE(store_keeps(t, sp_case_store(t), &full));
	SP_REQUIRE(store_keeps(t, sp_case_store(t), &less));
	/* And back: what was cleared can be set again. */
	store_keeps(t, sp_case_store(t), &full);
}

void store_replace_both(struct sp_case *t)
{
	clear_fields(t, true, true);
}

void store_replace_snapshot(struct sp_case *t)
{
	clear_fields(t, true, false);
}

void store_replace_run(struct sp_case *t)
{
	clear_fields(t, false, true);
}

void store_replace_values(struct sp_case *t)
{
	const char *key = sp_case_unique(t);

	for (unsigned n = 1; n <= 3; n++) {
		struct sp_record record = store_version(t, key, n);

		record.thread_id = (char *)sp_case_format(t, "thread-%u", n);
		SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	}
}

/* What is stored of a key, raw; NULL after a recorded failure. */
static char *raw_form(struct sp_case *t, const char *key)
{
	struct sp_error err = SP_ERROR_INIT;
	char *text = NULL;
	int rc = sp_backdoor_raw(&sp_case_subject(t)->backdoor, key, &text, &err);

	if (rc)
		sp_case_error(t, SP_HERE, "the back door cannot read a row: %s", err.message);
	return rc ? NULL : text;
}

void store_replace_raw(struct sp_case *t)
{
	struct sp_record full = store_record(t, sp_case_unique(t)), cleared = full;
	struct sp_record bare, empty;
	char *raw_cleared SP_FREE = NULL, *raw_bare SP_FREE = NULL, *raw_empty SP_FREE = NULL;

	cleared.latest_snapshot_id = cleared.latest_run_id = NULL;
	bare = empty = cleared;
	bare.key = (char *)sp_case_unique(t);
	empty.key = (char *)sp_case_unique(t);
	empty.latest_snapshot_id = empty.latest_run_id = (char *)"";
	SP_REQUIRE(store_put(t, sp_case_store(t), &full));
	SP_REQUIRE(store_put(t, sp_case_store(t), &cleared));
	SP_REQUIRE(store_put(t, sp_case_store(t), &bare));
	SP_REQUIRE(store_put(t, sp_case_store(t), &empty));
	raw_cleared = raw_form(t, cleared.key);
	raw_bare = raw_form(t, bare.key);
	raw_empty = raw_form(t, empty.key);
	if (!raw_cleared || !raw_bare || !raw_empty)
		return;
	SP_CHECK_STR(t, raw_bare, raw_cleared, "a cleared field is stored as one that never was");
	SP_CHECK(t, strcmp(raw_bare, raw_empty) != 0, "absent is stored otherwise than empty: %s",
		 raw_bare);
}
