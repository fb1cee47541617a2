/* SPDX-License-Identifier: MIT */
/* One holder a key within one instance, its order, its release, its keys. */
#include <stdlib.h>
#include <string.h>

#include <suites/lock/cases.h>
#include <suites/lock/scene.h>

void lock_hold_excludes(struct sp_case *t)
{
	struct lock_asker asker = {sp_case_lock(t), sp_case_unique(t), SP_LEASE_INIT};
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	struct sp_call *call SP_CALL = NULL;

	SP_REQUIRE(lock_take(t, asker.lock, asker.key, &lease));
	call = lock_ask(t, &asker);
	if (lock_still_waits(t, asker.lock, call, "a second caller for a key that is held")) {
		sp_lease_done(&lease);
		lock_given(t, call, "the lock goes to the one who waited");
	}
	sp_call_abort(call, "enough");
	sp_call_join(call);
	sp_lease_done(&asker.lease);
}

void lock_hold_independent(struct sp_case *t)
{
	struct sp_lease one LOCK_LEASE = SP_LEASE_INIT, two LOCK_LEASE = SP_LEASE_INIT;

	/* Both are held at once: a lock that serialises keys would never answer the second. */
	SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_unique(t), &one));
	lock_take(t, sp_case_lock(t), sp_case_unique(t), &two);
}

void lock_hold_again(struct sp_case *t)
{
	const char *key = sp_case_unique(t);

	for (unsigned i = 0; i < 3; i++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
		SP_REQUIRE(SP_CHECK(t, !sp_cancel_check(sp_lease_lost(&lease), NULL),
				    "a lease that is held is not lost"));
	}
}

/* Gives the caller up once N ROUNDS have gone by, on another thread. */
struct patience {
	struct sp_case *t;
	struct sp_lock *lock;
	struct sp_cancel *cancel;
};

static int lose_patience(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct patience *patience = arg;
	const char *other = sp_case_unique(patience->t);
	int rc = 0;

	for (unsigned i = 0; !rc && i < sp_case_rounds(patience->t); i++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		rc = sp_lock_acquire(patience->lock, other, cancel, &lease, &result->err);
	}
	sp_cancel_abort(patience->cancel, "it waits");
	return rc;
}

/* Which of the two threads is first is chance, so several attempts are made: each has to wait. */
#define ATTEMPTS 8

static bool attempt_waits(struct sp_case *t, const char *key)
{
	struct patience patience = {t, sp_case_lock(t), sp_cancel_new()};
	struct sp_lease inner LOCK_LEASE = SP_LEASE_INIT;
	struct sp_call *call SP_CALL = sp_call_start(t, lose_patience, &patience);
	struct sp_error err = SP_ERROR_INIT;
	bool waits = false;

	if (call) {
		int rc = sp_lock_acquire(patience.lock, key, patience.cancel, &inner, &err);

		waits = SP_CHECK_CODE(t, SP_ABORTED, rc, &err,
				      "the holder itself waits as everybody does");
		sp_call_join(call);
	}
	sp_cancel_unref(patience.cancel);
	return waits;
}

void lock_hold_not_reentrant(struct sp_case *t)
{
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	const char *key = sp_case_unique(t);

	if (!lock_take(t, sp_case_lock(t), key, &lease))
		return;
	for (unsigned i = 0; i < ATTEMPTS; i++)
		SP_REQUIRE(attempt_waits(t, key));
}

#define WAITERS 4
#define KEYS 4

/* Works on beside them until one of the calls has answered. */
static bool await_any(struct sp_case *t, struct sp_call *const *calls, unsigned n)
{
	const char *other = sp_case_unique(t);

	for (;;) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		for (unsigned i = 0; i < n; i++)
			if (!sp_call_pending(calls[i]))
				return true;
		if (!lock_take(t, sp_case_lock(t), other, &lease))
			return false;
	}
}

void lock_hold_forgets(struct sp_case *t)
{
	struct sp_backdoor *door = &sp_case_subject(t)->backdoor;
	const char *prefix = sp_case_unique(t);
	struct sp_error err = SP_ERROR_INIT;
	uint64_t count = 0;

	for (unsigned n = 0; n < KEYS; n++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_format(t, "%s-%u", prefix, n),
				     &lease));
		/* Or nothing at all could be kept under another name. */
		SP_REQUIRE(SP_CHECK_OK(t, sp_backdoor_count(door, prefix, &count, &err), &err,
				       "a look through the back door"));
		SP_CHECK(t, count >= 1, "what is held is kept somewhere");
	}
	SP_REQUIRE(SP_CHECK_OK(t, sp_backdoor_count(door, prefix, &count, &err), &err,
			       "another look"));
	SP_CHECK_INT(t, 0, (long long)count, "entries of keys that nobody holds");
}

void lock_hold_order(struct sp_case *t)
{
	struct lock_asker askers[WAITERS];
	struct sp_call *calls[WAITERS] = {NULL};
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	const char *key = sp_case_unique(t);
	bool good;

	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
	good = true;
	for (unsigned i = 0; good && i < WAITERS; i++) {
		askers[i] = (struct lock_asker){sp_case_lock(t), key, SP_LEASE_INIT};
		calls[i] = lock_ask(t, &askers[i]);
		/* It stands in the queue before the next one comes. */
		good = calls[i] && lock_still_waits(t, sp_case_lock(t), calls[i], "a caller");
	}
	sp_lease_done(&lease);
	for (unsigned i = 0; good && i < WAITERS; i++) {
		good = await_any(t, &calls[i], WAITERS - i);
		for (unsigned k = i + 1; good && k < WAITERS; k++)
			good = SP_CHECK(t, sp_call_pending(calls[k]), "caller %u waits behind %u",
					k, i);
		good = good && lock_given(t, calls[i], "the turn comes in the order of asking");
		if (good)
			sp_lease_done(&askers[i].lease);
	}
	for (unsigned i = 0; i < WAITERS; i++) {
		bool asked = calls[i] != NULL;

		sp_call_abort(calls[i], "enough");
		sp_call_join(calls[i]);
		sp_call_done(&calls[i]);
		if (asked)
			sp_lease_done(&askers[i].lease);
	}
}

void lock_hold_given_up(struct sp_case *t)
{
	struct lock_asker first = {sp_case_lock(t), sp_case_unique(t), SP_LEASE_INIT};
	struct lock_asker second = first;
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	struct sp_call *one SP_CALL = NULL, *two SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(lock_take(t, first.lock, first.key, &lease));
	one = lock_ask(t, &first);
	if (!lock_still_waits(t, first.lock, one, "the first caller"))
		return;
	two = lock_ask(t, &second);
	if (lock_still_waits(t, first.lock, two, "the second caller")) {
		sp_call_abort(one, "enough");
		result = sp_call_join(one);
		if (result)
			SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err,
				      "a caller that gave up");
		sp_lease_done(&lease);
		lock_given(t, two, "the one behind a caller that gave up gets the lock");
	}
	sp_call_abort(two, "enough");
	sp_call_join(two);
	sp_lease_done(&first.lease);
	sp_lease_done(&second.lease);
}

void lock_cancel_before(struct sp_case *t)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT, after LOCK_LEASE = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *key = sp_case_unique(t);

	sp_cancel_abort(cancel, "enough");
	SP_CHECK_CODE(t, SP_ABORTED, sp_lock_acquire(sp_case_lock(t), key, cancel, &lease, &err),
		      &err, "acquire under an aborted cancel");
	sp_lease_done(&lease);
	sp_cancel_unref(cancel);
	lock_take(t, sp_case_lock(t), key, &after);
}

void lock_cancel_watchers(struct sp_case *t)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_lease lease = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_lock_acquire(sp_case_lock(t), sp_case_unique(t), cancel, &lease, &err);

	if (SP_CHECK_OK(t, rc, &err, "acquire")) {
		SP_CHECK_INT(t, 0, (long long)sp_cancel_watchers(cancel),
			     "watchers of the cancel once the lock is held");
		/* The caller's cancel was for the waiting: firing now it takes nothing away. */
		sp_cancel_abort(cancel, "late");
		SP_CHECK(t, !sp_cancel_check(sp_lease_lost(&lease), NULL),
			 "a held lease does not go with the cancel of its acquire");
		sp_lease_done(&lease);
		SP_CHECK_INT(t, 1, (long long)sp_cancel_refs(cancel), "references that are left");
	}
	sp_cancel_unref(cancel);
}

/* ---- keys ---- */

#define N_KEYS_MAX 40

/* All are held at once. */
static void keys_apart(struct sp_case *t, const char *const *keys, size_t n)
{
	struct sp_lease leases[N_KEYS_MAX];
	size_t held = 0;

	for (size_t i = 0; i < n; i++)
		leases[i] = (struct sp_lease)SP_LEASE_INIT;
	while (held < n && lock_take(t, sp_case_lock(t), keys[held], &leases[held]))
		held++;
	while (held)
		sp_lease_done(&leases[--held]);
}

void lock_key_exact(struct sp_case *t)
{
	static const char *const parts[] = {
	    "a_b", "a:b", "a/b", "A_B", "ab", "ab ", " ab", "ab\n", "a\xcc\x81", "\xc3\xa1",
	    "%",   "_",	  "*",	 "..",	"'",  "\"",  ";",   "1",    "01",	 ""};
	const char *unique = sp_case_unique(t);
	const char *keys[SP_COUNT(parts)];

	for (size_t i = 0; i < SP_COUNT(parts); i++)
		keys[i] = sp_case_format(t, "%s%s", unique, parts[i]);
	keys_apart(t, keys, SP_COUNT(keys));
}

void lock_key_long(struct sp_case *t)
{
	static const size_t lengths[] = {63, 64, 255, 256, SP_KEY_TAKEN};
	const char *keys[2 * SP_COUNT(lengths)];
	const char *unique = sp_case_unique(t);
	char *fill SP_FREE = malloc(SP_KEY_TAKEN + 1);

	if (!fill)
		return;
	memset(fill, 'k', SP_KEY_TAKEN);
	fill[SP_KEY_TAKEN] = '\0';
	for (size_t i = 0; i < SP_COUNT(lengths); i++)
		for (size_t k = 0; k < 2; k++)
			keys[2 * i + k] = sp_case_format(t, "%s%.*s%c", unique,
							 (int)(lengths[i] - strlen(unique) - 1),
							 fill, k ? 'x' : 'y');
	keys_apart(t, keys, SP_COUNT(keys));
}

void lock_key_hash(struct sp_case *t)
{
	/* Equal 32-bit FNV-1a, CRC-32 and string hash of Java, whatever follows. */
	static const char *const parts[] = {"costarring", "liquid", "plumless",
					    "buckeroo",	  "AaAa",   "BBBB"};
	const char *unique = sp_case_unique(t);
	const char *keys[SP_COUNT(parts)];

	for (size_t i = 0; i < SP_COUNT(parts); i++)
		keys[i] = sp_case_format(t, "%s%s", parts[i], unique);
	keys_apart(t, keys, SP_COUNT(keys));
}

void lock_key_refused(struct sp_case *t)
{
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT, other LOCK_LEASE = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *key SP_FREE = malloc(1024 * 1024 + 1);
	int rc;

	if (!key)
		return;
	memset(key, 'k', 1024 * 1024);
	key[1024 * 1024] = '\0';
	rc = sp_lock_acquire(sp_case_lock(t), key, sp_case_cancel(t), &lease, &err);
	if (rc) {
		SP_CHECK_CODE(t, SP_INVALID, rc, &err, "a key of 1 MiB is held whole or refused");
		SP_CHECK(t, err.message[strcspn(err.message, "0123456789")] != '\0',
			 "the refusal names the limit: %s", err.message);
	}
	/* Cut to what must be taken it is another key. */
	key[SP_KEY_TAKEN] = '\0';
	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &other));
	rc = sp_lock_acquire(sp_case_lock(t), "a\xff", sp_case_cancel(t), &lease, &err);
	SP_CHECK_CODE(t, SP_INVALID, rc, &err, "a key that is no UTF-8 is refused");
}

/* ---- tokens ---- */

void lock_fence_grows(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	uint64_t last = 0;

	for (unsigned i = 0; i < 4; i++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
		uint64_t fence;

		SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
		fence = sp_lease_fence(&lease);
		SP_REQUIRE(SP_CHECK(t, fence > last, "token %llu is higher than %llu",
				    (unsigned long long)fence, (unsigned long long)last));
		SP_REQUIRE(SP_CHECK(t, sp_lease_fence(&lease) == fence, "and stays what it is"));
		last = fence;
	}
}

void lock_fence_refused(struct sp_case *t)
{
	const struct sp_lock_capabilities *declared = sp_lock_capabilities(sp_case_lock(t));
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

	if (declared && declared->fence) {
		sp_skip(t, "needs a lock without tokens: fence is declared true");
		return;
	}
	SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_unique(t), &lease));
	SP_CHECK(t, sp_lease_fence(&lease) == 0, "a lock without tokens gives 0");
}
