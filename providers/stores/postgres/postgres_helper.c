/* SPDX-License-Identifier: MIT */
/*
 * What a restart of the server leaves of a store and of a lock that were open meanwhile. Runs
 * beside a private server (ci/postgres): restarts it, looks, and prints what was wrong.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>

#include "postgres.h"

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

static void check_no_database(const char *conninfo)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char text[512];

	snprintf(text, sizeof(text), "%s dbname=nowhere", conninfo);
	options.conninfo = text;
	expect(sp_postgres_store_open(&options, &store, &err) == SP_INVALID,
	       "a database that is not there is told", &err);
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

static long ask(PGconn *pg, const char *sql)
{
	PGresult *result = PQexec(pg, sql);
	long value = PQntuples(result) ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;

	PQclear(result);
	return value;
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

	options.conninfo = getenv("SANDPROOF_POSTGRES");
	if (!options.conninfo)
		return 77;
	if (sp_postgres_store_open(&options, &store, &err) ||
	    sp_postgres_lock_open(&options, &lock, &err)) {
		printf("cannot open: %s %s\n", err.message, err.detail);
		return 1;
	}
	check_bad_texts();
	check_no_database(options.conninfo);
	check_trouble(options.conninfo);
	check_overtaken((char *)options.conninfo);
	survive("fast", &store, &lock);
	survive("immediate", &store, &lock);
	sp_store_done(&store);
	sp_lock_done(&lock);
	return good ? 0 : 1;
}
