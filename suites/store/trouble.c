/* SPDX-License-Identifier: MIT */
/* Damaged records, foreign files, and places where nothing can be written: the answer tells the
 * truth. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>
#include <witness/call.h>

/* ---- damage ---- */

/* A get of a damaged record: none or a typed error, never a made-up one. */
static bool get_is_honest(struct sp_case *t, const struct sp_record *record)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;
	int rc = sp_store_get(sp_case_store(t), record->key, &got, &found, sp_case_cancel(t), &err);

	if (rc)
		return SP_CHECK_CODE(t, SP_PROTOCOL, rc, &err, "get of a damaged record");
	return SP_CHECK(t, !found, "a damaged record is none or an error, not sandbox \"%s\"",
			got.provider_sandbox_id ? got.provider_sandbox_id : "");
}

void store_damage_one(struct sp_case *t)
{
	struct sp_backdoor *door = &sp_case_subject(t)->backdoor;
	struct sp_record bad = store_version(t, sp_case_unique(t), 1);
	struct sp_record good = store_version(t, sp_case_unique(t), 2);
	unsigned damaged = 0;

	SP_REQUIRE(store_put(t, sp_case_store(t), &good));
	for (int how = 0; how < SP_DAMAGE_MAX_; how++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		SP_REQUIRE(store_put(t, sp_case_store(t), &bad));
		rc = sp_backdoor_damage(door, bad.key, (enum sp_damage)how, &err);
		if (rc == SP_UNSUPPORTED)
			continue;
		if (rc) {
			sp_case_error(t, SP_HERE, "the back door cannot damage: %s", err.message);
			return;
		}
		damaged++;
		SP_REQUIRE(get_is_honest(t, &bad));
		SP_REQUIRE(store_holds(t, sp_case_store(t), &good));
		/* Writing over it repairs it. */
		SP_REQUIRE(store_keeps(t, sp_case_store(t), &bad));
	}
	if (!damaged)
		sp_skip(t, "needs records that can be damaged: this back end excludes it");
}

/* Begins a trouble; false when the case is over. */
static bool begin(struct sp_case *t, enum sp_trouble trouble, const char *what)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_backdoor_trouble(&sp_case_subject(t)->backdoor, trouble, true, &err);

	if (rc == SP_UNSUPPORTED)
		sp_skip(t, "needs %s: %s", what, err.message);
	else if (rc)
		sp_case_error(t, SP_HERE, "the back door cannot make trouble: %s", err.message);
	return rc == 0;
}

static void end(struct sp_case *t, enum sp_trouble trouble)
{
	struct sp_error err = SP_ERROR_INIT;

	if (sp_backdoor_trouble(&sp_case_subject(t)->backdoor, trouble, false, &err))
		sp_case_error(t, SP_HERE, "the back door cannot end a trouble: %s", err.message);
}

/* Another instance must not come to be; where it does, it must not answer that there is nothing. */
static void second_is_refused(struct sp_case *t, const struct sp_record *record, int code,
			      const char *what)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_subject *second = NULL;
	bool found = false;
	int rc = sp_case_try_second(t, &second, &err);

	if (!rc)
		rc = sp_store_get(&second->store, record->key, &got, &found, sp_case_cancel(t),
				  &err);
	SP_CHECK_CODE(t, code, rc, &err, "%s is refused, not taken for an empty store", what);
}

void store_damage_foreign(struct sp_case *t)
{
	struct sp_record record = store_version(t, sp_case_unique(t), 1);

	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	if (!begin(t, SP_TROUBLE_FOREIGN, "a file that can be replaced"))
		return;
	second_is_refused(t, &record, SP_PROTOCOL, "a file that holds \"null\"");
	end(t, SP_TROUBLE_FOREIGN);
	store_holds(t, sp_case_store(t), &record);
}

void store_damage_newer(struct sp_case *t)
{
	struct sp_record record = store_version(t, sp_case_unique(t), 1);

	SP_REQUIRE(store_put(t, sp_case_store(t), &record));
	if (!begin(t, SP_TROUBLE_NEWER, "data with a version"))
		return;
	second_is_refused(t, &record, SP_UNSUPPORTED, "data of a newer version");
	end(t, SP_TROUBLE_NEWER);
	store_holds(t, sp_case_store(t), &record);
}

/* ---- locked, cut ---- */

struct pending {
	struct sp_store *store;
	const struct sp_record *record;
};

static int put_pending(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct pending *pending = arg;

	return sp_store_upsert(pending->store, pending->record, NULL, cancel, &result->err);
}

/* The call has come to where it waits, or has answered: what happens sooner meets it at its door.
 */
static void await_waiting(struct sp_call *call)
{
	while (sp_call_pending(call) && !sp_call_asleep(call))
		sched_yield();
}

/*
 * Aborts an upsert while it waits. "Unavailable" that it said by itself before is as good as
 * aborted; so is no answer, which is the case's end.
 */
static int abort_waiting(struct sp_case *t, struct pending *pending)
{
	struct sp_call *call SP_CALL = sp_call_start(t, put_pending, pending);
	struct sp_call_result *result;
	bool waits;

	await_waiting(call);
	waits = sp_call_pending(call);
	sp_call_abort(call, "enough");
	result = sp_call_join(call);
	return !result || (!waits && result->rc == SP_UNAVAILABLE) ? SP_ABORTED : result->rc;
}

void store_trouble_locked(struct sp_case *t)
{
	struct sp_record old = store_version(t, sp_case_unique(t), 1);
	struct sp_record new = store_version(t, old.key, 2);
	struct pending pending = {sp_case_store(t), &new};
	int rc = SP_UNAVAILABLE;

	SP_REQUIRE(store_put(t, sp_case_store(t), &old));
	if (!begin(t, SP_TROUBLE_LOCKED, "data that can be locked"))
		return;
	/* "Unavailable" in the very moment of the abort is chance once, and deafness thrice. */
	for (unsigned i = 0; i < 3 && rc == SP_UNAVAILABLE; i++)
		rc = abort_waiting(t, &pending);
	SP_CHECK(t, rc == SP_ABORTED,
		 "an upsert into locked data ends by its cancel, or is unavailable at once, not %s",
		 sp_code_name(rc));
	end(t, SP_TROUBLE_LOCKED);
	SP_REQUIRE(store_holds(t, sp_case_store(t), &old));
	store_keeps(t, sp_case_store(t), &new);
}

void store_trouble_waits(struct sp_case *t)
{
	struct sp_record old = store_version(t, sp_case_unique(t), 1);
	struct sp_record new = store_version(t, old.key, 2);
	struct pending pending = {sp_case_store(t), &new};
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(store_put(t, sp_case_store(t), &old));
	if (!begin(t, SP_TROUBLE_LOCKED, "data that can be locked"))
		return;
	call = sp_call_start(t, put_pending, &pending);
	await_waiting(call);
	end(t, SP_TROUBLE_LOCKED);
	result = sp_call_join(call);
	if (result && result->rc != SP_UNAVAILABLE)
		SP_CHECK_OK(t, result->rc, &result->err, "an upsert that waited for a lock");
	store_holds(t, sp_case_store(t), result && !result->rc ? &new : &old);
}

void store_trouble_down(struct sp_case *t)
{
	struct sp_record old = store_version(t, sp_case_unique(t), 1);
	struct sp_record new = store_version(t, old.key, 2);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(store_put(t, sp_case_store(t), &old));
	if (!begin(t, SP_TROUBLE_DOWN, "a server that can be away"))
		return;
	rc = sp_store_upsert(sp_case_store(t), &new, NULL, sp_case_cancel(t), &err);
	SP_CHECK(t, rc == SP_UNAVAILABLE || rc == SP_UNKNOWN_OUTCOME,
		 "an upsert without a server is unavailable or of unknown outcome, not %s: %s",
		 sp_code_name(rc), err.message);
	end(t, SP_TROUBLE_DOWN);
	/* The store comes back by itself, with what it had acknowledged. */
	SP_REQUIRE(store_holds(t, sp_case_store(t), &old));
	store_keeps(t, sp_case_store(t), &new);
}

/* ---- places ---- */

#define VALUE_LEN (16 * 1024)
/* More than the small disk has room for. */
#define N_VALUES 128

/* The key is "PREFIX-N", with the prefix that the case gave. */
static void number_key(const struct sp_peer_side *side, unsigned n, char *key, size_t size)
{
	snprintf(key, size, "%.*s-%u", (int)side->arg_len, (const char *)side->arg, n);
}

static struct sp_record numbered(char *key, char *value, unsigned n)
{
	return (struct sp_record){.key = key,
				  .provider = (char *)"fake",
				  .provider_sandbox_id = (char *)"sb",
				  .latest_snapshot_id = value,
				  .thread_id = (char *)"thread",
				  .updated_at = n};
}

/* Counts how many of the first n are there, whole. */
static unsigned count_whole(struct sp_peer_side *side, const char *value, unsigned n)
{
	unsigned whole = 0;

	for (unsigned i = 0; i < n; i++) {
		struct sp_record got STORE_RECORD = SP_RECORD_INIT;
		bool found = false;
		char key[128];

		number_key(side, i, key, sizeof(key));
		if (!sp_store_get(&side->subject->store, key, &got, &found, side->cancel, NULL) &&
		    found && got.latest_snapshot_id && !strcmp(got.latest_snapshot_id, value) &&
		    got.updated_at == i)
			whole++;
	}
	return whole;
}

/* "N CODE WHOLE": what was acknowledged, what the next said, how much of it is there. */
static void fill_disk(struct sp_peer_side *side)
{
	char value[VALUE_LEN + 1], key[128];
	struct sp_record record;
	unsigned n = 0;
	int rc = 0;

	memset(value, 'v', VALUE_LEN);
	value[VALUE_LEN] = '\0';
	for (; n < N_VALUES; n++) {
		number_key(side, n, key, sizeof(key));
		record = numbered(key, value, n);
		rc = sp_store_upsert(&side->subject->store, &record, NULL, side->cancel, NULL);
		if (rc)
			break;
	}
	sp_side_say(side, "%u %d %u", n, rc, count_whole(side, value, n));
}

static void fill_small_disk(struct sp_case *t, const char *prefix)
{
	struct sp_peer *peer =
	    sp_case_peer(t, SP_PEER_SMALL_DISK, fill_disk, prefix, strlen(prefix));
	struct sp_error err = SP_ERROR_INIT;
	unsigned acked = 0, whole = 0;
	const char *line;
	int rc = 0;

	if (!peer)
		return;
	if (sp_peer_refused(peer, &err)) {
		SP_CHECK_CODE(t, SP_IO, sp_peer_refused(peer, NULL), &err,
			      "a store without room says so");
		return;
	}
	line = sp_peer_hear(peer);
	SP_REQUIRE(SP_CHECK(t, line && sscanf(line, "%u %d %u", &acked, &rc, &whole) == 3,
			    "the other process came to its end"));
	if (!rc && whole == N_VALUES) {
		sp_skip(t, "needs a store in the temporary folder: its disk was not filled");
		return;
	}
	SP_CHECK_INT(t, SP_IO, rc, "code of an upsert that the disk has no room for");
	SP_CHECK_INT(t, acked, whole, "acknowledged records that are there");
}

void store_trouble_full(struct sp_case *t)
{
	const char *prefix = sp_case_unique(t);

	/* They are here where the store is elsewhere. */
	store_expect(t, prefix, 0, N_VALUES);
	fill_small_disk(t, prefix);
}

/* "UPSERT-CODE GET-CODE FOUND". */
static void write_read_only(struct sp_peer_side *side)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	char key[128];
	struct sp_record record = numbered(key, NULL, 2);
	bool found = false;
	int put, get;

	snprintf(key, sizeof(key), "%.*s", (int)side->arg_len, (const char *)side->arg);
	put = sp_store_upsert(&side->subject->store, &record, NULL, side->cancel, NULL);
	get = sp_store_get(&side->subject->store, key, &got, &found, side->cancel, NULL);
	sp_side_say(side, "%d %d %d", put, get, found);
}

void store_trouble_read_only(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));
	struct sp_error err = SP_ERROR_INIT;
	int put = 0, get = 0, found = 0;
	struct sp_peer *peer;
	const char *line;

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	peer = sp_case_peer(t, SP_PEER_READ_ONLY_DISK, write_read_only, record.key,
			    strlen(record.key));
	if (!peer)
		return;
	if (sp_peer_refused(peer, &err)) {
		SP_CHECK(t, err.code == SP_DENIED || err.code == SP_IO,
			 "a store that cannot be written says denied or io, not %s: %s",
			 sp_code_name(err.code), err.message);
		return;
	}
	line = sp_peer_hear(peer);
	SP_REQUIRE(SP_CHECK(t, line && sscanf(line, "%d %d %d", &put, &get, &found) == 3,
			    "the other process came to its end"));
	if (!put) {
		struct sp_record got STORE_RECORD = SP_RECORD_INIT;
		bool there = false;
		int rc = sp_store_get(sp_case_store(t), record.key, &got, &there, sp_case_cancel(t),
				      &err);

		if (!rc && there && got.updated_at == 2)
			sp_skip(t, "needs a store in the temporary folder: it could write");
		else
			SP_CHECK(t, false, "an upsert on a read-only disk is told as done");
		return;
	}
	SP_CHECK(t, put == SP_DENIED || put == SP_IO,
		 "an upsert on a read-only disk says denied or io, not %s", sp_code_name(put));
	SP_CHECK(t, get || found,
		 "a record on a read-only disk is read, or an error tells why not");
	store_holds(t, sp_case_store(t), &record);
}
