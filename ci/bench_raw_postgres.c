/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>
#include <ci/bench_stores.h>

#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <providers/stores/postgres/postgres.h>

struct raw {
	PGconn *pg;
	const struct sp_record *record;
};

int bench_postgres_store(const char *conninfo, struct sp_store *ret_store, struct sp_error *err)
{
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;

	options.conninfo = conninfo;
	return sp_postgres_store_open(&options, ret_store, err);
}

static void check(struct raw *raw, PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		bench_die(PQerrorMessage(raw->pg), NULL);
}

static void raw_upsert(void *arg)
{
	struct raw *raw = arg;
	const struct sp_record *r = raw->record;
	uint64_t updated = htobe64((uint64_t)r->updated_at);
	const char *values[8] = {
	    r->key,	  r->provider,	    r->provider_sandbox_id, r->latest_snapshot_id,
	    r->thread_id, r->latest_run_id, (const char *)&updated, NULL};
	const int formats[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	int lengths[8] = {0};
	PGresult *result;

	for (int i = 0; i < 6; i++)
		lengths[i] = (int)strlen(values[i]);
	lengths[6] = sizeof(updated);
	result = PQexecPrepared(raw->pg, "put", 8, values, lengths, formats, 1);
	check(raw, result);
	PQclear(result);
}

static void raw_get(void *arg)
{
	struct raw *raw = arg;
	const char *const values[] = {raw->record->key};
	const int lengths[] = {(int)strlen(raw->record->key)}, formats[] = {1};
	PGresult *result = PQexecPrepared(raw->pg, "get", 1, values, lengths, formats, 1);

	check(raw, result);
	for (int i = 0; i < 5; i++)
		free(strndup(PQgetvalue(result, 0, i), (size_t)PQgetlength(result, 0, i)));
	PQclear(result);
}

static void raw_close(void *arg)
{
	struct raw *raw = arg;

	PQfinish(raw->pg);
	free(raw);
}

static void prepare(struct raw *raw, const char *name, const char *sql)
{
	PGresult *result = PQprepare(raw->pg, name, sql, 0, NULL);

	check(raw, result);
	PQclear(result);
}

void bench_postgres_raw(const char *conninfo, const struct sp_record *record,
			struct bench_raw *ret_raw)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (!raw)
		bench_die("no memory", NULL);
	raw->pg = PQconnectdb(conninfo);
	raw->record = record;
	PQclear(PQexec(raw->pg, "SET synchronous_commit = on"));
	prepare(raw, "put",
		"INSERT INTO sandproof.records AS old VALUES($1::bytea, $2::bytea, $3::bytea, "
		"$4::bytea, "
		"$5::bytea, $6::bytea, $7::bigint, $8::bigint) ON CONFLICT(key) DO UPDATE SET "
		"provider = excluded.provider, sandbox_id = excluded.sandbox_id, "
		"snapshot_id = excluded.snapshot_id, thread_id = excluded.thread_id, "
		"run_id = excluded.run_id, updated_at = excluded.updated_at, "
		"fence = coalesce(excluded.fence, old.fence) WHERE excluded.fence IS NULL "
		"OR old.fence IS NULL OR excluded.fence >= old.fence");
	prepare(raw, "get",
		"SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, updated_at "
		"FROM sandproof.records WHERE key = $1::bytea");
	*ret_raw = (struct bench_raw){raw, raw_upsert, raw_get, raw_close};
}
