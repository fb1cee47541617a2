/* SPDX-License-Identifier: MIT */
/* Several instances and processes, a holder that dies, and a lease that is lost. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <suites/lock/cases.h>
#include <suites/lock/scene.h>

void lock_second_excludes(struct sp_case *t)
{
	struct lock_asker asker = {lock_second(t), sp_case_unique(t), SP_LEASE_INIT};
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	struct sp_call *call SP_CALL = NULL;

	if (!asker.lock)
		return;
	SP_REQUIRE(lock_take(t, sp_case_lock(t), asker.key, &lease));
	call = lock_ask(t, &asker);
	if (lock_still_waits(t, asker.lock, call, "another instance")) {
		sp_lease_done(&lease);
		lock_given(t, call, "another instance gets what was given back");
	}
	sp_call_abort(call, "enough");
	sp_call_join(call);
	sp_lease_done(&asker.lease);
}

void lock_second_fence(struct sp_case *t)
{
	struct sp_lock *locks[2] = {sp_case_lock(t), lock_second(t)};
	const char *key = sp_case_unique(t);
	uint64_t last = 0;

	for (unsigned i = 0; locks[1] && i < 6; i++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		SP_REQUIRE(lock_take(t, locks[i % 2], key, &lease));
		SP_REQUIRE(SP_CHECK(t, sp_lease_fence(&lease) > last,
				    "token %llu of another instance is higher than %llu",
				    (unsigned long long)sp_lease_fence(&lease),
				    (unsigned long long)last));
		last = sp_lease_fence(&lease);
	}
}

/* Two instances of a lock that excludes within one process only: the duplicate must be visible. */
void lock_second_declared(struct sp_case *t)
{
	const struct sp_lock_capabilities *declared = sp_lock_capabilities(sp_case_lock(t));
	struct sp_lease one LOCK_LEASE = SP_LEASE_INIT, two LOCK_LEASE = SP_LEASE_INIT;
	struct sp_lock *second;
	const char *key = sp_case_unique(t);

	if (declared && declared->multi_process) {
		sp_skip(t, "needs a lock of one process: multi_process is declared true");
		return;
	}
	second = lock_second(t);
	if (!second)
		return;
	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &one));
	lock_take(t, second, key, &two);
}

/* ---- processes ---- */

static void copy_key(struct sp_peer_side *side, char *key, size_t size)
{
	snprintf(key, size, "%.*s", (int)side->arg_len, (const char *)side->arg);
}

/* "asks PID", "held TOKEN", then a line gives it back: "free". */
static void hold_key(struct sp_peer_side *side)
{
	struct sp_lease lease = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char key[128], line[16];
	int rc;

	copy_key(side, key, sizeof(key));
	sp_side_say(side, "asks %d", (int)getpid());
	rc = sp_lock_acquire(&side->subject->lock, key, side->cancel, &lease, &err);
	if (rc) {
		sp_side_say(side, "failed %s: %s", sp_code_name(rc), err.message);
		return;
	}
	sp_side_say(side, "held %llu", (unsigned long long)sp_lease_fence(&lease));
	(void)sp_side_hear(side, line, sizeof(line));
	sp_lease_done(&lease);
	sp_side_say(side, "free");
}

static struct sp_peer *asker(struct sp_case *t, const char *key, int *ret_pid)
{
	struct sp_peer *peer = sp_case_peer(t, SP_PEER_PLAIN, hold_key, key, strlen(key));
	const char *line = peer ? sp_peer_hear(peer) : NULL;

	return peer && SP_CHECK(t, line && sscanf(line, "asks %d", ret_pid) == 1,
				"another process asks, but says \"%s\"", line ? line : "") ?
		       peer :
		       NULL;
}

static struct sp_peer *holder(struct sp_case *t, const char *key)
{
	int pid;

	return asker(t, key, &pid);
}

static bool hears_held(struct sp_case *t, struct sp_peer *peer, unsigned long long *ret_fence)
{
	const char *line = sp_peer_hear(peer);

	return SP_CHECK(t, line && sscanf(line, "held %llu", ret_fence) == 1,
			"another process holds the lock: %s", line ? line : "it ended");
}

void lock_process_excludes(struct sp_case *t)
{
	struct lock_asker asker = {sp_case_lock(t), sp_case_unique(t), SP_LEASE_INIT};
	struct sp_call *call SP_CALL = NULL;
	struct sp_peer *peer = holder(t, asker.key);
	unsigned long long fence = 0;

	if (!peer || !hears_held(t, peer, &fence))
		return;
	call = lock_ask(t, &asker);
	if (lock_still_waits(t, asker.lock, call, "a caller for what another process holds")) {
		sp_peer_say(peer, "free");
		lock_given(t, call, "what another process gave back is given");
	}
	sp_call_abort(call, "enough");
	sp_call_join(call);
	sp_lease_done(&asker.lease);
}

#define PEERS 3
#define TURNS 8

/* Beside the file with the number: one byte for each process that asks, that is in; then "go". */
static void beside(char at[256], const char *path, const char *what)
{
	snprintf(at, 256, "%s.%s", path, what);
}

static void add_mark(const char *path, const char *what)
{
	char at[256];
	FILE *file;

	beside(at, path, what);
	file = fopen(at, "a");
	if (file) {
		fputc('x', file);
		fclose(file);
	}
}

static long marks(const char *path, const char *what)
{
	struct stat stat_of;
	char at[256];

	beside(at, path, what);
	return stat(at, &stat_of) ? 0 : (long)stat_of.st_size;
}

/* Whoever is in stays until the case has looked who else is, and leaves the store to the others. */
static void stay(struct sp_peer_side *side, const char *path)
{
	add_mark(path, "in");
	while (!marks(path, "go") && !sp_cancel_check(side->cancel, NULL))
		(void)poll(NULL, 0, 1);
}

/* Adds one to the number in a file, read and written under the lock: "did N" after all turns. */
static void add_up(struct sp_peer_side *side)
{
	char key[64], path[200], go[8];

	if (sscanf(side->arg, "%63s %199s", key, path) != 2)
		return;
	sp_side_say(side, "here");
	if (!sp_side_hear(side, go, sizeof(go)))
		return;
	for (unsigned i = 0; i < TURNS; i++) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
		unsigned n = 0;
		FILE *file;

		if (!i)
			add_mark(path, "asks");
		if (sp_lock_acquire(&side->subject->lock, key, side->cancel, &lease, NULL))
			return;
		file = fopen(path, "r");
		if (file && fscanf(file, "%u", &n) != 1)
			n = 0;
		if (file)
			fclose(file);
		if (!i)
			stay(side, path);
		file = fopen(path, "w");
		if (!file)
			return;
		fprintf(file, "%u", n + 1);
		fclose(file);
	}
	sp_side_say(side, "did %d", TURNS);
}

static unsigned read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned n = 0;

	if (file && fscanf(file, "%u", &n) != 1)
		n = 0;
	if (file)
		fclose(file);
	return n;
}

/* All have asked and one is in; after rounds for each of them it is the only one. */
static bool one_is_in(struct sp_case *t, const char *path)
{
	const char *other = sp_case_unique(t);

	for (unsigned i = 0; i < 2 * PEERS * sp_case_rounds(t);) {
		struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

		if (marks(path, "in") > 1)
			break;
		if (!lock_take(t, sp_case_lock(t), other, &lease))
			return false;
		sp_lease_done(&lease);
		/* Rounds one after another would keep the others from their store. */
		(void)poll(NULL, 0, 2);
		i = marks(path, "asks") == PEERS && marks(path, "in") ? i + 1 : 0;
	}
	return SP_CHECK_INT(t, 1, marks(path, "in"), "processes that hold the lock at once");
}

void lock_process_counts(struct sp_case *t)
{
	const char *root = getenv("TMPDIR");
	const char *path = sp_case_format(t, "%s/%s", root ? root : "/tmp", sp_case_unique(t));
	const char *arg = sp_case_format(t, "%s %s", sp_case_unique(t), path);
	static const char *const places[] = {"asks", "in", "go"};
	struct sp_peer *peers[PEERS];
	bool good = true;

	for (unsigned i = 0; good && i < PEERS; i++) {
		peers[i] = sp_case_peer(t, SP_PEER_PLAIN, add_up, arg, strlen(arg) + 1);
		good = peers[i] && SP_CHECK_STR(t, "here", sp_peer_hear(peers[i]), "it is there");
	}
	for (unsigned i = 0; good && i < PEERS; i++)
		sp_peer_say(peers[i], "go");
	good = good && one_is_in(t, path);
	add_mark(path, "go");
	for (unsigned i = 0; good && i < PEERS; i++)
		good = SP_CHECK_STR(t, sp_case_format(t, "did %d", TURNS), sp_peer_hear(peers[i]),
				    "process %u had its turns", i);
	if (good)
		SP_CHECK_INT(t, PEERS * TURNS, read_number(path), "additions under the lock");
	for (size_t i = 0; i < SP_COUNT(places); i++) {
		char at[256];

		beside(at, path, places[i]);
		(void)remove(at);
	}
	(void)remove(path);
}

/* ---- a holder that dies ---- */

/* What the dead holder had is taken away, where that is not done by its death. */
static bool take_away(struct sp_case *t, const char *key)
{
	struct sp_backdoor *door = &sp_case_subject(t)->backdoor;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_backdoor_expire(door, key, &err);

	if (rc && rc != SP_NOT_FOUND)
		sp_case_error(t, SP_HERE, "the back door cannot expire a lease: %s", err.message);
	return !rc || rc == SP_NOT_FOUND;
}

void lock_crash_freed(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct sp_lease before LOCK_LEASE = SP_LEASE_INIT, lease LOCK_LEASE = SP_LEASE_INIT;
	struct sp_peer *peer;
	unsigned long long fence = 0, first;

	/* So that tokens which each process counts for itself never grow by chance. */
	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &before));
	first = sp_lease_fence(&before);
	sp_lease_done(&before);
	peer = holder(t, key);
	if (!peer || !hears_held(t, peer, &fence))
		return;
	SP_REQUIRE(SP_CHECK(t, fence > first,
			    "another process's token %llu is higher than %llu", fence, first));
	sp_peer_kill(peer);
	if (!take_away(t, key))
		return;
	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
	SP_CHECK(t, sp_lease_fence(&lease) > fence,
		 "token %llu is higher than the dead holder's %llu",
		 (unsigned long long)sp_lease_fence(&lease), fence);
}

/* Rounds of the lock until the process slept in all of them: it stands in the queue by now. */
static bool in_queue(struct sp_case *t, int pid)
{
	for (unsigned i = 0; i < sp_case_rounds(t);) {
		struct sp_lease other LOCK_LEASE = SP_LEASE_INIT;

		i = sp_thread_asleep(pid, pid) ? i + 1 : 0;
		if (!lock_take(t, sp_case_lock(t), sp_case_unique(t), &other))
			return false;
		sp_lease_done(&other);
		/* Rounds one after another would keep it from its store. */
		(void)poll(NULL, 0, 3);
	}
	return true;
}

/* Several, since one that sleeps may as well sleep on its way to its place. */
#define WAITERS 3

void lock_crash_waiter(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT, again LOCK_LEASE = SP_LEASE_INIT;
	struct sp_peer *peers[WAITERS];

	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
	for (unsigned i = 0; i < WAITERS; i++) {
		int pid = 0;

		peers[i] = asker(t, key, &pid);
		if (!peers[i] || !in_queue(t, pid))
			return;
	}
	for (unsigned i = 0; i < WAITERS; i++)
		sp_peer_kill(peers[i]);
	SP_REQUIRE(SP_CHECK(t, !sp_cancel_check(sp_lease_lost(&lease), NULL),
			    "the holder keeps the lock when waiters die"));
	sp_lease_done(&lease);
	lock_take(t, sp_case_lock(t), key, &again);
}

/* ---- a lease that is lost ---- */

void lock_lost_signal(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;
	struct sp_lease other LOCK_LEASE = SP_LEASE_INIT;

	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lease));
	SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_unique(t), &other));
	if (!take_away(t, key))
		return;
	SP_REQUIRE(lock_await_lost(t, &lease));
	SP_CHECK(t, !sp_cancel_check(sp_lease_lost(&other), NULL),
		 "another lease is not lost with it");
}

void lock_lost_release(struct sp_case *t)
{
	const char *key = sp_case_unique(t);
	struct lock_asker asker = {sp_case_lock(t), key, SP_LEASE_INIT};
	struct sp_lease lost LOCK_LEASE = SP_LEASE_INIT, next LOCK_LEASE = SP_LEASE_INIT;
	struct sp_lock *second = lock_second(t);
	struct sp_call *call SP_CALL = NULL;

	if (!second)
		return;
	SP_REQUIRE(lock_take(t, sp_case_lock(t), key, &lost));
	if (!take_away(t, key))
		return;
	SP_REQUIRE(lock_take(t, second, key, &next));
	SP_CHECK(t, sp_lease_fence(&next) > sp_lease_fence(&lost),
		 "the next holder's token is higher");
	SP_REQUIRE(lock_await_lost(t, &lost));
	/* Giving back what was lost frees nobody else's. */
	sp_lease_done(&lost);
	call = lock_ask(t, &asker);
	if (lock_still_waits(t, asker.lock, call, "a caller behind the next holder") &&
	    SP_CHECK(t, !sp_cancel_check(sp_lease_lost(&next), NULL), "the next holder keeps it")) {
		sp_lease_done(&next);
		lock_given(t, call, "then it is given");
	}
	sp_call_abort(call, "enough");
	sp_call_join(call);
	sp_lease_done(&asker.lease);
}

void lock_lost_never(struct sp_case *t)
{
	const struct sp_lock_capabilities *declared = sp_lock_capabilities(sp_case_lock(t));
	struct sp_lease lease LOCK_LEASE = SP_LEASE_INIT;

	if (declared && declared->lease) {
		sp_skip(t, "needs a lock that is never lost: lease is declared true");
		return;
	}
	SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_unique(t), &lease));
	for (unsigned i = 0; i < sp_case_rounds(t); i++) {
		struct sp_lease other LOCK_LEASE = SP_LEASE_INIT;

		SP_REQUIRE(lock_take(t, sp_case_lock(t), sp_case_unique(t), &other));
	}
	SP_CHECK(t, sp_lease_lost(&lease) && !sp_cancel_check(sp_lease_lost(&lease), NULL),
		 "the signal is there and has not fired");
}
