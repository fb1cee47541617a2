/* SPDX-License-Identifier: MIT */
/* Several processes on the same data; one that is killed at any moment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>

#define PEERS 3
#define WRITES 20

/* What a peer is told: keys are PREFIX-N. */
struct order {
	char prefix[96];
	unsigned from, to;
};

static struct order make_order(const char *prefix, unsigned from, unsigned to)
{
	struct order order = {.from = from, .to = to};

	snprintf(order.prefix, sizeof(order.prefix), "%s", prefix);
	return order;
}

/* The texts of version n, in memory of the caller. */
struct texts {
	char key[128], provider[32], sandbox[32], snapshot[32], thread[160], run[32];
};

/* As store_version(), without a case. */
static struct sp_record peer_version(struct texts *texts, const char *key, unsigned n)
{
	snprintf(texts->key, sizeof(texts->key), "%s", key);
	snprintf(texts->provider, sizeof(texts->provider), "fake-%u", n);
	snprintf(texts->sandbox, sizeof(texts->sandbox), "sb-%u", n);
	snprintf(texts->snapshot, sizeof(texts->snapshot), "snap-%u", n);
	snprintf(texts->thread, sizeof(texts->thread), "thread-of-%s", key);
	snprintf(texts->run, sizeof(texts->run), "run-%u", n);
	return (struct sp_record){
	    texts->key, texts->provider, texts->sandbox, texts->snapshot, texts->thread, texts->run,
	    n};
}

/* Upserts, and says so: "acked N" or what went wrong. */
static bool peer_put(struct sp_peer_side *side, const char *key, unsigned n)
{
	struct texts texts;
	struct sp_record record = peer_version(&texts, key, n);
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(&side->subject->store, &record, NULL, side->cancel, &err);

	if (!rc)
		return sp_side_say(side, "acked %u", n);
	sp_side_say(side, "failed %s: %s", sp_code_name(rc), err.message);
	return false;
}

/* ---- different keys at once ---- */

static void write_range(struct sp_peer_side *side)
{
	const struct order *order = side->arg;
	char go[8], key[128];

	sp_side_say(side, "here");
	if (!sp_side_hear(side, go, sizeof(go)))
		return;
	for (unsigned n = order->from; n < order->to; n++) {
		snprintf(key, sizeof(key), "%s-%u", order->prefix, n);
		if (!peer_put(side, key, n))
			return;
	}
}

/* Hears "acked N" for each of a range. */
static bool hear_acks(struct sp_case *t, struct sp_peer *peer, unsigned from, unsigned to)
{
	for (unsigned n = from; n < to; n++)
		if (!SP_CHECK_STR(t, sp_case_format(t, "acked %u", n), sp_peer_hear(peer),
				  "answer to upsert %u of another process", n))
			return false;
	return true;
}

static void write_at_once(struct sp_case *t, const char *prefix)
{
	struct sp_peer *peers[PEERS];

	for (unsigned i = 0; i < PEERS; i++) {
		struct order order = make_order(prefix, i * WRITES, (i + 1) * WRITES);

		peers[i] = sp_case_peer(t, SP_PEER_PLAIN, write_range, &order, sizeof(order));
		if (!peers[i])
			return;
		SP_REQUIRE(SP_CHECK_STR(t, "here", sp_peer_hear(peers[i]), "it is there"));
	}
	/* All at once. */
	for (unsigned i = 0; i < PEERS; i++)
		sp_peer_say(peers[i], "go");
	for (unsigned i = 0; i < PEERS; i++)
		SP_REQUIRE(hear_acks(t, peers[i], i * WRITES, (i + 1) * WRITES));
	for (unsigned n = 0; n < PEERS * WRITES; n++) {
		struct sp_record record =
		    store_version(t, sp_case_format(t, "%s-%u", prefix, n), n);

		SP_REQUIRE(store_holds(t, sp_case_store(t), &record));
	}
	for (unsigned i = 0; i < PEERS; i++)
		SP_CHECK(t, sp_peer_end(peers[i]), "process %u ends by itself", i);
}

void store_process_apart(struct sp_case *t)
{
	const char *prefix = sp_case_unique(t);

	store_expect(t, prefix, 0, PEERS * WRITES);
	write_at_once(t, prefix);
}

/* ---- one key, written by one and read by others ---- */

/* Writes the same key again and again until the case has heard enough. */
static void write_versions(struct sp_peer_side *side)
{
	const struct order *order = side->arg;

	for (unsigned n = order->from; n < order->to; n++)
		if (!peer_put(side, order->prefix, n))
			return;
}

/* The version that is there, whole; 0 after a recorded failure. */
static unsigned version_held(struct sp_case *t, struct sp_store *store, const char *key)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_record expected;
	bool found = false;
	int rc = sp_store_get(store, key, &got, &found, sp_case_cancel(t), &err);

	if (!SP_CHECK_OK(t, rc, &err, "get while another process writes") ||
	    !SP_CHECK(t, found, "there is a record"))
		return 0;
	expected = store_version(t, key, (unsigned)got.updated_at);
	return store_same(t, &expected, &got) ? (unsigned)got.updated_at : 0;
}

void store_process_torn(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct sp_record first = store_version(t, key, 1);
	struct order order = make_order(key, 2, 2 + WRITES);
	unsigned last = 1;
	struct sp_peer *peer;

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &first));
	peer = sp_case_peer(t, SP_PEER_PLAIN, write_versions, &order, sizeof(order));
	for (unsigned n = 2; peer && n < 2 + WRITES; n++) {
		unsigned held;

		SP_REQUIRE(hear_acks(t, peer, n, n + 1));
		held = version_held(t, sp_case_store(t), key);
		if (!held)
			return;
		SP_REQUIRE(
		    SP_CHECK(t, held >= n, "version %u was acknowledged, %u is read", n, held));
		SP_REQUIRE(SP_CHECK(t, held >= last, "version %u was read before %u", last, held));
		last = held;
	}
	if (peer)
		SP_CHECK(t, sp_peer_end(peer), "the writer ends by itself");
}

void store_process_reads(struct sp_case *t)
{
	struct sp_record record = store_version(t, sp_case_unique(t), 1);
	struct order order = make_order(record.key, 2, 3);
	struct sp_peer *peer;

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	peer = sp_case_peer(t, SP_PEER_PLAIN, write_versions, &order, sizeof(order));
	if (!peer)
		return;
	SP_REQUIRE(hear_acks(t, peer, 2, 3));
	record = store_version(t, record.key, 2);
	store_holds(t, sp_case_store(t), &record);
}

/* ---- killed ---- */

/* Writes and waits after each for a word. */
static void write_stepwise(struct sp_peer_side *side)
{
	const struct order *order = side->arg;
	char key[128], go[8];

	for (unsigned n = order->from; n < order->to; n++) {
		snprintf(key, sizeof(key), "%s-%u", order->prefix, n);
		if (!peer_put(side, key, n) || !sp_side_hear(side, go, sizeof(go)))
			return;
	}
}

static void kill_between(struct sp_case *t, const char *prefix)
{
	struct order order = make_order(prefix, 0, WRITES);
	struct sp_peer *peer =
	    sp_case_peer(t, SP_PEER_PLAIN, write_stepwise, &order, sizeof(order));
	struct sp_subject *again;

	for (unsigned n = 0; peer && n < WRITES / 2; n++) {
		SP_REQUIRE(hear_acks(t, peer, n, n + 1));
		if (n + 1 < WRITES / 2)
			sp_peer_say(peer, "go");
	}
	if (!peer)
		return;
	sp_peer_kill(peer);
	again = sp_case_reopen(t);
	for (unsigned n = 0; again && n < WRITES / 2; n++) {
		struct sp_record record =
		    store_version(t, sp_case_format(t, "%s-%u", prefix, n), n);

		SP_REQUIRE(store_holds(t, &again->store, &record));
	}
	if (again)
		store_lacks(t, &again->store, sp_case_format(t, "%s-%u", prefix, WRITES / 2));
}

void store_crash_between(struct sp_case *t)
{
	const char *prefix = sp_case_unique(t);

	store_expect(t, prefix, 0, WRITES / 2 + 1);
	kill_between(t, prefix);
}

static void kill_during(struct sp_case *t, const char *key)
{
	/* Killed in full flight, at another place each time: what is there is whole and no older
	 * than the last word. */
	for (unsigned round = 1; round <= 4; round++) {
		struct order order = make_order(key, 1000 * round, 1000 * round + 100000);
		struct sp_peer *peer =
		    sp_case_peer(t, SP_PEER_PLAIN, write_versions, &order, sizeof(order));
		struct sp_subject *again;
		unsigned held;

		if (!peer)
			return;
		SP_REQUIRE(hear_acks(t, peer, order.from, order.from + 3 * round));
		sp_peer_kill(peer);
		again = sp_case_reopen(t);
		held = again ? version_held(t, &again->store, key) : 0;
		if (!held)
			return;
		SP_REQUIRE(SP_CHECK(t, held >= order.from + 3 * round - 1,
				    "version %u was acknowledged, %u is there",
				    order.from + 3 * round - 1, held));
	}
}

void store_crash_during(struct sp_case *t)
{
	const char *key = sp_case_unique(t);

	sp_case_own_record(t, key);
	kill_during(t, key);
}
