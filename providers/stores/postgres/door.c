/* SPDX-License-Identifier: MIT */
/* The back door: sessions of its own, one of them in another database, where this one can be closed
 * from. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

#include "pool.h"

#define RAW_CEILING (4UL * 1024 * 1024)
/* The database that every cluster has. */
#define OTHER_DATABASE "postgres"

enum { COUNT = 0, RAW, DAMAGE, HOLDER, END_ONE };

static const char *const statements[] = {
    [COUNT] = "SELECT (SELECT count(*) FROM sandproof.records "
	      "WHERE substring(key from 1 for length($1::bytea)) = $1::bytea) + "
	      "(SELECT count(*) FROM sandproof.lock_keys "
	      "WHERE substring(key from 1 for length($1::bytea)) = $1::bytea)",
    [RAW] = "SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, "
	    "decode(updated_at::text, 'escape') FROM sandproof.records WHERE key = $1::bytea",
    [DAMAGE] = "UPDATE sandproof.records SET sandbox_id = '\\xfffe80' WHERE key = $1::bytea",
    [HOLDER] = "SELECT l.pid::bigint FROM pg_catalog.pg_locks l JOIN sandproof.lock_keys k "
	       "ON l.objid::bigint = k.id AND l.locktype = 'advisory' AND l.granted "
	       "AND l.classid::bigint = $2::bigint WHERE k.key = $1::bytea",
    [END_ONE] = "SELECT pg_terminate_backend($1::bigint::integer, 10000)",
};

struct door {
	struct pg_pool pool;
	/* Holds a lock while that trouble is on. */
	struct pg_session *locker;
	/* A session in the other database while this one is closed, and the name of this one. */
	struct pg_session *outside;
	char *database;
	/* Folder of the socket of a server that a killed process may leave in trouble, or NULL. */
	char *own_server;
	bool on[SP_TROUBLE_MAX_];
};

static int run(struct door *door, unsigned number, const struct pg_param *params, int n,
	       PGresult **ret_result, struct sp_error *err)
{
	struct pg_session *session = NULL;
	int rc = pg_take(&door->pool, &session, NULL, err);

	if (!rc)
		rc = pg_run(&door->pool, session, number, params, n, ret_result, NULL, err);
	pg_give(&door->pool, session);
	return rc;
}

static struct pg_param key_param(const char *key)
{
	return (struct pg_param){key, (int)strlen(key)};
}

static int count(void *self, const char *prefix, uint64_t *ret_count, struct sp_error *err)
{
	const struct pg_param params[] = {key_param(prefix)};
	PGresult *result = NULL;
	int rc = run(self, COUNT, params, 1, &result, err);

	if (!rc)
		*ret_count = (uint64_t)pg_number(result, 0, 0);
	PQclear(result);
	return rc;
}

/* "[name type:value]" of each column: nothing reads like something else. */
static void add_columns(const PGresult *result, struct sp_buf *out)
{
	for (int i = 0; i < PQnfields(result); i++) {
		bool null = PQgetisnull(result, 0, i);

		sp_buf_addf(out, "[%s %s:", PQfname(result, i), null ? "null" : "bytes");
		if (!null)
			sp_buf_add(out, PQgetvalue(result, 0, i),
				   (size_t)PQgetlength(result, 0, i));
		sp_buf_addc(out, ']');
	}
}

static int raw(void *self, const char *key, char **ret_text, struct sp_error *err)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(RAW_CEILING);
	const struct pg_param params[] = {key_param(key)};
	PGresult *result = NULL;
	int rc = run(self, RAW, params, 1, &result, err);

	if (!rc && !PQntuples(result))
		rc = sp_error_set(err, SP_NOT_FOUND, "there is no row of this key");
	if (!rc)
		add_columns(result, &out);
	PQclear(result);
	if (rc)
		return rc;
	*ret_text = sp_buf_take(&out, NULL);
	return *ret_text ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");
}

static int damage(void *self, const char *key, enum sp_damage how, struct sp_error *err)
{
	const struct pg_param params[] = {key_param(key)};

	if (how != SP_DAMAGE_GARBAGE)
		return sp_error_set(err, SP_UNSUPPORTED, "the table's types take no such value");
	return run(self, DAMAGE, params, 1, NULL, err);
}

static int expire(void *self, const char *key, struct sp_error *err)
{
	unsigned char class[8], pid[8];
	const struct pg_param params[] = {key_param(key), pg_param_number(PG_LOCK_CLASS, class)};
	struct pg_param holder;
	PGresult *result = NULL;
	int rc = run(self, HOLDER, params, 2, &result, err);

	if (!rc && !PQntuples(result))
		rc = sp_error_set(err, SP_NOT_FOUND, "nobody holds this key");
	if (!rc)
		holder = pg_param_number(pg_number(result, 0, 0), pid);
	PQclear(result);
	return rc ? rc : run(self, END_ONE, &holder, 1, NULL, err);
}

/* ---- trouble ---- */

static int lock_tables(struct door *door, bool begin, struct sp_error *err)
{
	int rc;

	if (!begin) {
		pg_drop(door->locker);
		door->locker = NULL;
		return 0;
	}
	rc = pg_take(&door->pool, &door->locker, NULL, err);
	return rc ? rc
		  : pg_exec(door->locker,
			    "BEGIN; LOCK TABLE sandproof.records IN ACCESS EXCLUSIVE MODE", NULL,
			    NULL, err);
}

static int change_version(struct door *door, bool begin, struct sp_error *err)
{
	struct pg_session *session = NULL;
	int rc = pg_take(&door->pool, &session, NULL, err);

	if (!rc)
		rc = pg_exec(session,
			     begin ? "UPDATE sandproof.meta SET version = version + 1000"
				   : "UPDATE sandproof.meta SET version = version - 1000",
			     NULL, NULL, err);
	pg_give(&door->pool, session);
	return rc;
}

/* A session in the other database of the same server. */
static int go_outside(struct door *door, struct sp_error *err)
{
	const char *const names[] = {"dbname", "dbname", NULL};
	const char *const values[] = {door->pool.conninfo, OTHER_DATABASE, NULL};
	struct pg_session *here = NULL;
	int rc = pg_take(&door->pool, &here, NULL, err);

	if (rc)
		return rc;
	free(door->database);
	door->database = strdup(PQdb(here->pg));
	pg_give(&door->pool, here);
	door->outside = calloc(1, sizeof(*door->outside));
	if (!door->database || !door->outside)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!strcmp(door->database, OTHER_DATABASE))
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the database " OTHER_DATABASE
				    " cannot be closed from another one");
	door->outside->pg = PQconnectdbParams(names, values, 1);
	if (PQstatus(door->outside->pg) == CONNECTION_OK && !PQsetnonblocking(door->outside->pg, 1))
		return 0;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "there is no way to close the database from another one");
}

/* A statement with the quoted name of our database in place of @. */
static int exec_outside(struct door *door, const char *format, struct sp_error *err)
{
	struct sp_buf sql SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096);
	char *name = PQescapeIdentifier(door->outside->pg, door->database, strlen(door->database));
	char *text = PQescapeLiteral(door->outside->pg, door->database, strlen(door->database));

	for (const char *at = format; *at; at++) {
		if (*at == '@')
			sp_buf_adds(&sql, name ? name : "");
		else if (*at == '#')
			sp_buf_adds(&sql, text ? text : "");
		else
			sp_buf_addc(&sql, *at);
	}
	PQfreemem(name);
	PQfreemem(text);
	return pg_exec(door->outside, sp_buf_str(&sql), NULL, NULL, err);
}

static void come_back(struct door *door)
{
	pg_drop(door->outside);
	door->outside = NULL;
}

static int down(struct door *door, bool begin, struct sp_error *err)
{
	int rc;

	if (!begin) {
		rc = exec_outside(door, "ALTER DATABASE @ WITH ALLOW_CONNECTIONS true", err);
		come_back(door);
		return rc;
	}
	rc = go_outside(door, err);
	if (!rc && exec_outside(door, "ALTER DATABASE @ WITH ALLOW_CONNECTIONS false", err))
		rc = sp_error_set(err, SP_UNSUPPORTED,
				  "closing a database needs its owner or a superuser");
	/* Each is awaited: none is left when this returns. */
	if (!rc)
		rc = exec_outside(door,
				  "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
				  "WHERE datname = # AND pid <> pg_backend_pid()",
				  err);
	if (rc)
		come_back(door);
	return rc;
}

/* A killed process ends no trouble: what would stay is kept from servers that somebody needs. */
static int check_own(struct door *door, struct sp_error *err)
{
	struct pg_session *session = NULL;
	const char *host = NULL;
	bool own;
	int rc = door->own_server ? pg_take(&door->pool, &session, NULL, err) : 0;

	if (rc)
		return rc;
	if (session)
		host = PQhost(session->pg);
	own = host && *host == '/' && !strcmp(host, door->own_server);
	pg_give(&door->pool, session);
	return own ? 0
		   : sp_error_set(err, SP_UNSUPPORTED,
				  "a run that is killed would leave the database so; it is done to "
				  "the private server of ci/postgres alone");
}

/* The ends are not asked: what has begun was allowed, and a closed database answers nobody. */
static int down_own(struct door *door, bool begin, struct sp_error *err)
{
	int rc = begin ? check_own(door, err) : 0;

	return rc ? rc : down(door, begin, err);
}

static int change_own(struct door *door, bool begin, struct sp_error *err)
{
	int rc = begin ? check_own(door, err) : 0;

	return rc ? rc : change_version(door, begin, err);
}

static int trouble(void *self, enum sp_trouble kind, bool begin, struct sp_error *err)
{
	struct door *door = self;
	int rc = SP_UNSUPPORTED;

	if ((unsigned)kind >= SP_TROUBLE_MAX_ || door->on[kind] == begin)
		return sp_error_set(err, SP_INVALID, "that trouble has begun or ended already");
	switch (kind) {
	case SP_TROUBLE_LOCKED:
		rc = lock_tables(door, begin, err);
		break;
	case SP_TROUBLE_NEWER:
		rc = change_own(door, begin, err);
		break;
	case SP_TROUBLE_DOWN:
		rc = down_own(door, begin, err);
		break;
	case SP_TROUBLE_FOREIGN:
	case SP_TROUBLE_MAX_:
		return sp_error_set(err, SP_UNSUPPORTED,
				    "a server's data cannot be replaced by a file");
	}
	if (!rc)
		door->on[kind] = begin;
	return rc;
}

static void close_door(void *self)
{
	struct door *door = self;

	for (int kind = 0; kind < SP_TROUBLE_MAX_; kind++)
		if (door->on[kind])
			(void)trouble(door, (enum sp_trouble)kind, false, NULL);
	pg_drop(door->locker);
	pg_drop(door->outside);
	pg_pool_done(&door->pool);
	free(door->database);
	free(door->own_server);
	free(door);
}

static const struct sp_backdoor_ops ops = {
    .version = SP_BACKDOOR_VERSION,
    .count = count,
    .raw = raw,
    .damage = damage,
    .trouble = trouble,
    .expire = expire,
    .close = close_door,
};

int sp_postgres_backdoor_open(const struct sp_postgres_options *options,
			      struct sp_backdoor *ret_door, struct sp_error *err)
{
	struct door *door = calloc(1, sizeof(*door));
	int rc;

	if (!door)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = pg_pool_open(options, statements, &door->pool, err);
	if (!rc && options->own_server && !(door->own_server = strdup(options->own_server)))
		rc = sp_error_set(err, SP_INTERNAL, "out of memory");
	if (rc) {
		close_door(door);
		return rc;
	}
	*ret_door = (struct sp_backdoor){&ops, door};
	return 0;
}
