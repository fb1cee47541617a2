/* SPDX-License-Identifier: MIT */
#include "schema.h"

#include <stdio.h>
#include <stdlib.h>

#include <base/cleanup.h>

/*
 * Step n brings tables of version n to version n + 1. Steps are never changed, only added. Texts
 * are bytes here: no encoding, no collation and no locale of the server has a say in them.
 */
static const char *const migrations[] = {
    "CREATE TABLE sandproof.records(key bytea PRIMARY KEY, provider bytea NOT NULL, "
    "sandbox_id bytea NOT NULL, snapshot_id bytea, thread_id bytea NOT NULL, run_id bytea, "
    "updated_at bigint NOT NULL, fence bigint)",

    "CREATE TABLE sandproof.lock_keys(id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "key bytea NOT NULL UNIQUE);"
    "CREATE SEQUENCE sandproof.tokens",
};

/* One number; `fallback` without a row or with null. */
static int number(struct pg_session *session, const char *sql, long fallback, long *ret_number,
		  struct sp_error *err)
{
	PGresult *result = NULL;
	int rc = pg_exec(session, sql, &result, NULL, err);

	if (rc)
		return rc;
	*ret_number = PQntuples(result) && !PQgetisnull(result, 0, 0)
			  ? strtol(PQgetvalue(result, 0, 0), NULL, 10)
			  : fallback;
	PQclear(result);
	return 0;
}

static int read_version(struct pg_session *session, long *ret_version, struct sp_error *err)
{
	long exists = 0;
	int rc = number(session,
			"SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'sandproof' "
			"AND tablename = 'meta'",
			0, &exists, err);

	*ret_version = 0;
	if (!rc && exists)
		rc = number(session, "SELECT version FROM sandproof.meta", 0, ret_version, err);
	return rc;
}

static int step(struct pg_session *session, long from, struct sp_error *err)
{
	char mark[96];
	int rc = 0;

	if (!from)
		rc = pg_exec(session,
			     "CREATE SCHEMA IF NOT EXISTS sandproof;"
			     "CREATE TABLE sandproof.meta(version integer NOT NULL);"
			     "INSERT INTO sandproof.meta VALUES(0)",
			     NULL, NULL, err);
	for (size_t i = (size_t)from; !rc && i < SP_COUNT(migrations); i++)
		rc = pg_exec(session, migrations[i], NULL, NULL, err);
	snprintf(mark, sizeof(mark), "UPDATE sandproof.meta SET version = %zu",
		 SP_COUNT(migrations));
	return rc ? rc : pg_exec(session, mark, NULL, NULL, err);
}

static int judge(long version, struct sp_error *err)
{
	if (version <= (long)SP_COUNT(migrations))
		return 0;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "the tables have version %ld and this program knows %zu: a newer one "
			    "made them; use that one",
			    version, SP_COUNT(migrations));
}

/* Everything that is missing, in one transaction, and nobody else's at the same time. */
static int migrate(struct pg_session *session, struct sp_error *err)
{
	char guard[96];
	long version = 0;
	int rc = pg_exec(session, "BEGIN", NULL, NULL, err);

	snprintf(guard, sizeof(guard), "SELECT pg_advisory_xact_lock(%d, 0)", PG_LOCK_CLASS);
	if (!rc)
		rc = pg_exec(session, guard, NULL, NULL, err);
	/* Another process may have been faster. */
	if (!rc)
		rc = read_version(session, &version, err);
	if (!rc)
		rc = judge(version, err);
	if (!rc && version < (long)SP_COUNT(migrations))
		rc = step(session, version, err);
	if (!rc)
		return pg_exec(session, "COMMIT", NULL, NULL, err);
	(void)pg_exec(session, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int pg_schema_up(struct pg_session *session, struct sp_error *err)
{
	long version = 0;
	int rc = read_version(session, &version, err);

	if (!rc)
		rc = judge(version, err);
	if (!rc && version < (long)SP_COUNT(migrations))
		rc = migrate(session, err);
	return rc;
}
