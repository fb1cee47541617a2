/* SPDX-License-Identifier: MIT */
/*
 * What a restart of the server leaves of a store and of a lock that were open meanwhile. Runs
 * beside a private server (ci/postgres): restarts it, looks, and prints what was wrong.
 */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <threads.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>

#include "pool.h"

#define N_RECORDS 10
#define LIMIT_MS 60000

static bool good = true;

static void expect(bool condition, const char *what, const struct sp_error *err)
{
	if (condition)
		return;
	good = false;
	printf("not so: %s (%s: %s)\n", what, err ? sp_code_name(err->code) : "",
	       err ? err->message : "");
}

static struct sp_record numbered(char *key, size_t size, int n)
{
	snprintf(key, size, "restart-%d", n);
	return (struct sp_record){.key = key,
				  .provider = (char *)"p",
				  .provider_sandbox_id = (char *)"i",
				  .thread_id = (char *)"t",
				  .updated_at = n};
}

/* "fast" ends the sessions in order, "immediate" as if the power had gone. */
static void restart(const char *how)
{
	static const char text[] =
	    "set -- $(printf '%s\\n' /usr/lib/postgresql/*/bin/pg_ctl | sort -V | tail -1) -D "
	    "\"$SANDPROOF_POSTGRES_DIR/data\" -l \"$SANDPROOF_POSTGRES_DIR/server.log\" -m \"$1\" "
	    "-w restart;"
	    "test \"$(id -u)\" != 0 || set -- setpriv --reuid=65534 --regid=65534 --clear-groups "
	    "--inh-caps=-all \"$@\"; exec \"$@\"";
	const char *const argv[] = {"bash", "-c", text, "bash", how, NULL};
	/* The server outlives the command that starts it. */
	struct sp_child child = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;

	child.argv = argv;
	child.outlives = true;
	expect(!sp_child_start(&child, &err) && !sp_child_wait(&child, NULL, &err) && !child.code,
	       "the server is started again", &err);
	sp_child_detach(&child);
}

static void expect_lost(struct sp_lease *lease)
{
	struct sp_cancel *lost = sp_lease_lost(lease);
	struct pollfd fd = {.fd = sp_cancel_fd(lost), .events = POLLIN};

	(void)poll(&fd, 1, LIMIT_MS);
	expect(sp_cancel_check(lost, NULL) != 0, "a lease that the restart ended is lost", NULL);
}

static void check_records(struct sp_store *store)
{
	for (int n = 0; n < N_RECORDS; n++) {
		struct sp_record got SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
		struct sp_error err = SP_ERROR_INIT;
		bool found = false;
		char key[32];

		(void)numbered(key, sizeof(key), n);
		expect(!sp_store_get(store, key, &got, &found, NULL, &err) && found &&
			   got.updated_at == n,
		       "an acknowledged record is there after a restart", &err);
	}
}

static void survive(const char *how, struct sp_store *store, struct sp_lock *lock)
{
	struct sp_lease held = SP_LEASE_INIT, next = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char key[32];

	for (int n = 0; n < N_RECORDS; n++) {
		struct sp_record record = numbered(key, sizeof(key), n);

		expect(!sp_store_upsert(store, &record, NULL, NULL, &err), "an upsert before",
		       &err);
	}
	expect(!sp_lock_acquire(lock, "restart", NULL, &held, &err), "a lock before", &err);
	restart(how);
	expect_lost(&held);
	check_records(store);
	expect(!sp_lock_acquire(lock, "other", NULL, &next, &err), "a lock after a restart", &err);
	expect(sp_lease_fence(&next) > sp_lease_fence(&held), "its token is higher", NULL);
	sp_lease_done(&next);
	sp_lease_done(&held);
	expect(!sp_store_del(store, "restart-0", NULL, &err), "a delete after a restart", &err);
}

/* A wrong text is told without any part of it. */
static void check_bad_texts(void)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
	    {"host=/nowhere dbname=x password=geheim", SP_UNAVAILABLE},
	    {"geheim", SP_INVALID},
	    {"password geheim", SP_INVALID},
	    {"postgresql://u:geheim@[", SP_INVALID},
	    {"postgresql://u:x@geheim@/nowhere", SP_INVALID},
	    {"postgresql://u:12/geheim@localhost/x", SP_INVALID},
	    {"postgresql://u:x?geheim@localhost/x", SP_INVALID},
	    {"", SP_INVALID},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
		struct sp_store store = SP_STORE_INIT;
		struct sp_error err = SP_ERROR_INIT;

		options.conninfo = rows[i].text;
		expect(sp_postgres_store_open(&options, &store, &err) == rows[i].code,
		       "a wrong connection text has its code", &err);
		expect(!strstr(err.message, "geheim") && !strstr(err.detail, "geheim"),
		       "no message holds a part of the text", NULL);
	}
}

static long ask(PGconn *pg, const char *sql)
{
	PGresult *result = PQexec(pg, sql);
	long value = PQntuples(result) ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;

	PQclear(result);
	return value;
}

/* Somebody listens and never says a word: opening has an end of its own. */
static void check_mute(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd SP_CLOSE = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	socklen_t len = sizeof(address);
	char text[128];

	expect(!bind(fd, (struct sockaddr *)&address, len) && !listen(fd, 4) &&
		   !getsockname(fd, (struct sockaddr *)&address, &len),
	       "a listener", NULL);
	snprintf(text, sizeof(text), "host=127.0.0.1 port=%u dbname=x connect_timeout=1",
		 ntohs(address.sin_port));
	options.conninfo = text;
	expect(sp_postgres_store_open(&options, &store, &err) == SP_UNAVAILABLE,
	       "a server that says nothing is unavailable", &err);
}

static void check_wrong_name(const char *conninfo, const char *more, int code)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char text[512];

	snprintf(text, sizeof(text), "%s %s", conninfo, more);
	options.conninfo = text;
	expect(sp_postgres_store_open(&options, &store, &err) == code,
	       "a database or user that is not there is told", &err);
}

/* ---- cancels ---- */

/* An upsert on a thread of its own. */
struct pending {
	struct sp_store *store;
	struct sp_record record;
	struct sp_cancel *cancel;
	struct sp_error err;
	atomic_int tid;
};

static int upsert_aside(void *arg)
{
	struct pending *pending = arg;

	atomic_store(&pending->tid, gettid());
	return sp_store_upsert(pending->store, &pending->record, NULL, pending->cancel,
			       &pending->err);
}

/* Whether the thread sleeps: it has sent what it had to, and waits for the answer. */
static bool is_asleep(pid_t tid)
{
	char path[64], text[256] = "";
	FILE *file;
	char state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = tid ? fopen(path, "re") : NULL;
	if (file && fgets(text, sizeof(text), file) && strrchr(text, ')'))
		(void)sscanf(strrchr(text, ')'), ") %c", &state);
	if (file)
		fclose(file);
	return state == 'S';
}

/* Whether a line of /proc/PID/status has this bit in its mask. */
static bool has_bit(pid_t pid, const char *line, unsigned bit)
{
	char path[64], text[128];
	unsigned long long mask = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(text, sizeof(text), file))
		if (!strncmp(text, line, strlen(line)))
			mask = strtoull(text + strlen(line), NULL, 16);
	if (file)
		fclose(file);
	return mask >> bit & 1;
}

/*
 * The word to stop comes before the server has begun the statement, and is overheard: it is told
 * again, and nothing happens later. `pg` holds the table while that is so.
 */
static void check_overheard(struct sp_store *store, PGconn *pg)
{
	struct pending pending = {.store = store, .cancel = sp_cancel_new()};
	struct sp_record got SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	char key[32];
	bool found = false;
	thrd_t writer;
	pid_t pid;
	int rc = 0;

	pending.record = numbered(key, sizeof(key), 1);
	expect(!sp_store_upsert(store, &pending.record, NULL, NULL, &pending.err), "an upsert",
	       &pending.err);
	/* The one session that is idle after an upsert of ours. */
	pid = (pid_t)ask(pg, "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO "
			     "sandproof.records%' ORDER BY state_change DESC LIMIT 1");
	(void)ask(pg, "BEGIN; LOCK TABLE sandproof.records IN ACCESS EXCLUSIVE MODE");
	pending.record.updated_at = 2;
	expect(pid > 0 && !kill(pid, SIGSTOP), "the session's process is stopped", NULL);
	thrd_create(&writer, upsert_aside, &pending);
	while (!is_asleep(atomic_load(&pending.tid)))
		thrd_yield();
	sp_cancel_abort(pending.cancel, "enough");
	while (pid > 0 && !has_bit(pid, "ShdPnd:", SIGINT - 1))
		thrd_yield();
	kill(pid, SIGCONT);
	thrd_join(writer, &rc);
	expect(rc == SP_ABORTED, "an upsert that was given up is stopped", &pending.err);
	(void)ask(pg, "ROLLBACK");
	expect(!sp_store_get(store, key, &got, &found, NULL, NULL) && found && got.updated_at == 1,
	       "what was aborted does not happen later", NULL);
	sp_cancel_unref(pending.cancel);
}

/* A server that stands still keeps nobody who has given up, and the answer is honest. */
static void check_frozen(const char *conninfo, PGconn *pg)
{
	struct pending pending = {.store = &(struct sp_store)SP_STORE_INIT,
				  .cancel = sp_cancel_new()};
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	const char *dir = getenv("SANDPROOF_POSTGRES_DIR");
	char path[512], key[32];
	FILE *file;
	int pid = 0;

	options.conninfo = conninfo;
	options.stop_ms = 100;
	expect(!sp_postgres_store_open(&options, pending.store, &pending.err), "a store",
	       &pending.err);
	pending.record = numbered(key, sizeof(key), 1);
	expect(!upsert_aside(&pending), "an upsert", &pending.err);
	snprintf(path, sizeof(path), "%s/data/postmaster.pid", dir ? dir : "");
	file = fopen(path, "re");
	expect(file && fscanf(file, "%d", &pid) == 1 && pid > 1, "the server's pid", NULL);
	if (file)
		fclose(file);
	(void)ask(pg, "BEGIN; LOCK TABLE sandproof.records IN ACCESS EXCLUSIVE MODE");
	expect(pid > 1 && !kill(pid, SIGSTOP), "the server stands still", NULL);
	sp_cancel_set_deadline(pending.cancel, sp_deadline_ms(100));
	expect(upsert_aside(&pending) == SP_UNKNOWN_OUTCOME,
	       "a write that nobody knows to be stopped says so", &pending.err);
	expect(pid > 1 && !kill(pid, SIGCONT), "the server goes on", NULL);
	(void)ask(pg, "ROLLBACK");
	sp_cancel_unref(pending.cancel);
	sp_store_done(pending.store);
}

/* ---- locks ---- */

struct waiter {
	struct sp_lock *lock;
	const char *key;
	struct sp_lease lease;
	struct sp_error err;
	atomic_bool over;
};

static int acquire_aside(void *arg)
{
	struct waiter *waiter = arg;
	int rc = sp_lock_acquire(waiter->lock, waiter->key, NULL, &waiter->lease, &waiter->err);

	atomic_store(&waiter->over, true);
	return rc;
}

/* What the server's own settings become in a session of ours. */
static const struct {
	const char *given, *asked, *is;
} settings[] = {
    {"statement_timeout=1h", "SHOW statement_timeout", "0"},
    {"lock_timeout=1h", "SHOW lock_timeout", "0"},
    {"idle_session_timeout=1h", "SHOW idle_session_timeout", "0"},
    {"synchronous_commit=off", "SHOW synchronous_commit", "on"},
    {"synchronous_commit=remote_apply", "SHOW synchronous_commit", "remote_apply"},
};

/* Limits end neither those who wait nor those who hold, and what is acknowledged is on the disk. */
static void check_settings(const char *conninfo)
{
	for (size_t i = 0; i < SP_COUNT(settings); i++) {
		struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
		struct pg_session *session = NULL;
		struct sp_error err = SP_ERROR_INIT;
		PGresult *result = NULL;
		struct pg_pool pool;
		char text[512];

		snprintf(text, sizeof(text), "%s options='-c %s'", conninfo, settings[i].given);
		options.conninfo = text;
		expect(!pg_pool_open(&options, NULL, &pool, &err) &&
			   !pg_take(&pool, &session, NULL, &err),
		       "a session", &err);
		expect(session && !pg_exec(session, settings[i].asked, &result, NULL, &err) &&
			   !strcmp(PQgetvalue(result, 0, 0), settings[i].is),
		       settings[i].given, &err);
		PQclear(result);
		pg_give(&pool, session);
		pg_pool_done(&pool);
	}
}

/* Somebody at the server ends a statement that waits: nothing was done, and it may be tried again.
 */
static void check_ended(struct sp_store *store, PGconn *pg)
{
	struct pending pending = {.store = store};
	char key[32];
	thrd_t writer;
	int rc = 0;

	pending.record = numbered(key, sizeof(key), 1);
	(void)ask(pg, "BEGIN; LOCK TABLE sandproof.records IN ACCESS EXCLUSIVE MODE");
	thrd_create(&writer, upsert_aside, &pending);
	while (!ask(pg, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
		;
	(void)ask(pg, "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted");
	thrd_join(writer, &rc);
	expect(rc == SP_UNAVAILABLE, "what was ended at the server may be tried again",
	       &pending.err);
	(void)ask(pg, "ROLLBACK");
}

#define ROWS "SELECT count(*) FROM sandproof.lock_keys"

/* A row stands for a key as long as somebody holds it, waiters notwithstanding. */
static void check_rows(const char *conninfo, struct sp_lock *lock, PGconn *pg)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct waiter waiter = {.lock = &(struct sp_lock)SP_LOCK_INIT, .key = "rows"};
	struct sp_lease held = SP_LEASE_INIT, third = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	thrd_t thread;
	int rc = 0;

	options.conninfo = conninfo;
	expect(!ask(pg, ROWS), "no row without a holder", NULL);
	expect(!sp_lock_acquire(lock, "rows", NULL, &held, &err), "a holder", &err);
	(void)ask(pg, "INSERT INTO sandproof.lock_keys(key) VALUES('a holder that died')");
	expect(ask(pg, ROWS) == 2, "a row each", NULL);
	/* Opening removes what nobody holds. */
	expect(!sp_postgres_lock_open(&options, waiter.lock, &err), "another service", &err);
	expect(ask(pg, ROWS) == 1, "the row of the holder that lives", NULL);
	thrd_create(&thread, acquire_aside, &waiter);
	while (
	    !ask(pg, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
		;
	sp_lease_done(&held);
	thrd_join(thread, &rc);
	expect(!rc && ask(pg, ROWS) == 1, "the next holder has a row of its own", &waiter.err);
	/* Whoever comes now waits for that one. */
	held = (struct sp_lease)SP_LEASE_INIT;
	{
		struct waiter late = {.lock = lock, .key = "rows"};

		thrd_create(&thread, acquire_aside, &late);
		while (!ask(pg, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT "
				"granted"))
			;
		expect(!atomic_load(&late.over), "a third one waits", &late.err);
		sp_lease_done(&waiter.lease);
		thrd_join(thread, &rc);
		expect(!rc, "and has its turn", &late.err);
		third = late.lease;
	}
	sp_lease_done(&third);
	expect(!ask(pg, ROWS), "no row is left", NULL);
	sp_lock_done(waiter.lock);
}

/* A run that is killed in the middle would leave it so. */
static void check_trouble(const char *conninfo)
{
	static const enum sp_trouble kinds[] = {SP_TROUBLE_DOWN, SP_TROUBLE_NEWER};
	const char *const own[] = {NULL, "/elsewhere", getenv("SANDPROOF_POSTGRES_DIR")};

	for (size_t i = 0; i < SP_COUNT(kinds) * SP_COUNT(own); i++) {
		struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
		struct sp_backdoor door = SP_BACKDOOR_INIT;
		struct sp_error err = SP_ERROR_INIT;
		enum sp_trouble kind = kinds[i / SP_COUNT(own)];
		size_t whose = i % SP_COUNT(own);
		int rc;

		options.conninfo = conninfo;
		options.own_server = own[whose];
		expect(!sp_postgres_backdoor_open(&options, &door, &err), "the back door", &err);
		rc = sp_backdoor_trouble(&door, kind, true, &err);
		expect(rc == (whose == 2 ? 0 : SP_UNSUPPORTED),
		       "trouble that could stay needs a server of one's own", &err);
		expect(rc || !sp_backdoor_trouble(&door, kind, false, &err), "its end", &err);
		door.ops->close(door.self);
	}
}

static int open_aside(void *arg)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	int rc;

	options.conninfo = arg;
	rc = sp_postgres_store_open(&options, &store, NULL);
	sp_store_done(&store);
	return rc;
}

/* A newer program that has its turn between our look at the version and ours is noticed. */
static void check_overtaken(char *conninfo)
{
	PGconn *pg = PQconnectdb(conninfo);
	thrd_t opener;
	int rc = 0;
	long known = ask(pg, "SELECT version FROM sandproof.meta");

	(void)ask(pg, "UPDATE sandproof.meta SET version = 1");
	(void)ask(pg, "SELECT pg_advisory_lock(1397779563, 0)");
	thrd_create(&opener, open_aside, conninfo);
	/* It has looked, and waits for its turn. */
	while (!ask(pg, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
		;
	(void)ask(pg, "UPDATE sandproof.meta SET version = 99");
	(void)ask(pg, "SELECT pg_advisory_unlock(1397779563, 0)");
	thrd_join(opener, &rc);
	expect(rc == SP_UNSUPPORTED, "a newer program that overtook is noticed", NULL);
	expect(ask(pg, "SELECT version FROM sandproof.meta") == 99, "its version stays", NULL);
	(void)ask(pg, "UPDATE sandproof.meta SET version = 2");
	expect(known == 2, "the version that this test puts back", NULL);
	PQfinish(pg);
}

int main(void)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_lock lock = SP_LOCK_INIT;
	struct sp_error err = SP_ERROR_INIT;
	PGconn *pg;

	options.conninfo = getenv("SANDPROOF_POSTGRES");
	if (!options.conninfo)
		return 77;
	if (sp_postgres_store_open(&options, &store, &err) ||
	    sp_postgres_lock_open(&options, &lock, &err)) {
		printf("cannot open: %s %s\n", err.message, err.detail);
		return 1;
	}
	pg = PQconnectdb(options.conninfo);
	check_bad_texts();
	check_mute();
	check_wrong_name(options.conninfo, "dbname=nowhere", SP_INVALID);
	check_wrong_name(options.conninfo, "user=nobody", SP_DENIED);
	check_overheard(&store, pg);
	check_frozen(options.conninfo, pg);
	check_settings(options.conninfo);
	check_ended(&store, pg);
	check_rows(options.conninfo, &lock, pg);
	PQfinish(pg);
	check_trouble(options.conninfo);
	check_overtaken((char *)options.conninfo);
	survive("fast", &store, &lock);
	survive("immediate", &store, &lock);
	sp_store_done(&store);
	sp_lock_done(&lock);
	return good ? 0 : 1;
}
