/* SPDX-License-Identifier: MIT */
/* Three prepared statements, each a transaction of its own. */
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>
#include <providers/stores/limits.h>

#include "pool.h"

enum { GET = 0, UPSERT, DELETE };

static const char *const statements[] = {
    [GET] = "SELECT provider, sandbox_id, snapshot_id, thread_id, run_id, updated_at "
	    "FROM sandproof.records WHERE key = $1::bytea",
    [UPSERT] = "INSERT INTO sandproof.records AS old VALUES($1::bytea, $2::bytea, $3::bytea, "
	       "$4::bytea, $5::bytea, $6::bytea, $7::bigint, $8::bigint) "
	       "ON CONFLICT(key) DO UPDATE SET provider = excluded.provider, "
	       "sandbox_id = excluded.sandbox_id, snapshot_id = excluded.snapshot_id, "
	       "thread_id = excluded.thread_id, run_id = excluded.run_id, "
	       "updated_at = excluded.updated_at, fence = coalesce(excluded.fence, old.fence) "
	       "WHERE excluded.fence IS NULL OR old.fence IS NULL OR excluded.fence >= old.fence",
    [DELETE] = "DELETE FROM sandproof.records WHERE key = $1::bytea",
};

enum {
	COLUMN_PROVIDER = 0,
	COLUMN_SANDBOX,
	COLUMN_SNAPSHOT,
	COLUMN_THREAD,
	COLUMN_RUN,
	COLUMN_UPDATED,
};

static const struct sp_store_capabilities *capabilities(void *self)
{
	static const struct sp_store_capabilities declared = {
	    .version = SP_STORE_CAPABILITIES_VERSION,
	    .durable = true,
	    .multi_process = true,
	    .fence = true,
	};

	(void)self;
	return &declared;
}

static struct pg_param text_param(const char *text)
{
	return (struct pg_param){text, text ? (int)strlen(text) : 0};
}

/* One statement on a session of its own; what was lost and does no harm is tried once more. */
static int run(struct pg_pool *pool, unsigned number, const struct pg_param *params, int n_params,
	       PGresult **ret_result, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = SP_UNKNOWN_OUTCOME;

	for (unsigned i = 0; rc == SP_UNKNOWN_OUTCOME && i < (number == GET ? 2 : 1); i++) {
		struct pg_session *session = NULL;

		rc = pg_take(pool, &session, cancel, err);
		if (!rc)
			rc = pg_run(pool, session, number, params, n_params, ret_result, cancel,
				    err);
		pg_give(pool, session);
	}
	return number == GET ? pg_harmless(rc, cancel, err) : rc;
}

/* ---- get ---- */

/* A text of the row, copied; false for bytes that no text has, and without memory. */
static bool take_text(const PGresult *result, int column, char **ret_text)
{
	const char *text = PQgetvalue(result, 0, column);
	size_t len = (size_t)PQgetlength(result, 0, column);

	if (PQgetisnull(result, 0, column))
		return true;
	if (memchr(text, '\0', len) || !sp_utf8_valid(text, len))
		return false;
	*ret_text = strndup(text, len);
	return *ret_text != NULL;
}

static int take_row(const PGresult *result, const char *key, struct sp_record *ret_record,
		    struct sp_error *err)
{
	struct sp_record r SP_CLEANUP(sp_record_done) = {.key = strdup(key)};

	r.updated_at = pg_number(result, 0, COLUMN_UPDATED);
	if (!r.key || !take_text(result, COLUMN_PROVIDER, &r.provider) ||
	    !take_text(result, COLUMN_SANDBOX, &r.provider_sandbox_id) ||
	    !take_text(result, COLUMN_SNAPSHOT, &r.latest_snapshot_id) ||
	    !take_text(result, COLUMN_THREAD, &r.thread_id) ||
	    !take_text(result, COLUMN_RUN, &r.latest_run_id))
		return sp_error_set(
		    err, SP_PROTOCOL,
		    "the record of this key is damaged in the database; write it again or "
		    "delete it");
	*ret_record = r;
	r = (struct sp_record)SP_RECORD_INIT;
	return 0;
}

static int get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
	       struct sp_cancel *cancel, struct sp_error *err)
{
	PGresult *result = NULL;
	int rc = sp_stores_check_key(key, err);

	if (!rc) {
		const struct pg_param params[] = {text_param(key)};

		rc = run(self, GET, params, 1, &result, cancel, err);
	}
	if (rc)
		return rc;
	if (PQntuples(result))
		rc = take_row(result, key, ret_record, err);
	if (!rc)
		*ret_found = PQntuples(result) > 0;
	PQclear(result);
	return rc;
}

/* ---- upsert, del ---- */

/* Tokens are unsigned, the column is signed: moved, so that the order stays. */
static int64_t signed_fence(uint64_t fence)
{
	return (int64_t)(fence ^ UINT64_C(1) << 63);
}

static int upsert(void *self, const struct sp_record *record, const uint64_t *fence,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	unsigned char updated[8], moved[8];
	PGresult *result = NULL;
	int rc = sp_stores_check_record(record, err);

	if (!rc) {
		const struct pg_param params[] = {
		    text_param(record->key),
		    text_param(record->provider),
		    text_param(record->provider_sandbox_id),
		    text_param(record->latest_snapshot_id),
		    text_param(record->thread_id),
		    text_param(record->latest_run_id),
		    pg_param_number(record->updated_at, updated),
		    fence ? pg_param_number(signed_fence(*fence), moved)
			  : (struct pg_param){NULL, 0},
		};

		rc = run(self, UPSERT, params, SP_COUNT(params), &result, cancel, err);
	}
	if (rc)
		return rc;
	if (!strcmp(PQcmdTuples(result), "0"))
		rc = sp_error_set(err, SP_CONFLICT,
				  "the record was written under a newer lock; this holder has lost "
				  "it");
	PQclear(result);
	return rc;
}

static int del(void *self, const char *key, struct sp_cancel *cancel, struct sp_error *err)
{
	PGresult *result = NULL;
	int rc = sp_stores_check_key(key, err);

	if (!rc) {
		const struct pg_param params[] = {text_param(key)};

		rc = run(self, DELETE, params, 1, &result, cancel, err);
	}
	PQclear(result);
	return rc;
}

static void close_store(void *self)
{
	pg_pool_done(self);
	free(self);
}

static const struct sp_store_ops ops = {
    .version = SP_STORE_VERSION,
    .capabilities = capabilities,
    .get = get,
    .upsert = upsert,
    .del = del,
    .close = close_store,
};

int sp_postgres_store_open(const struct sp_postgres_options *options, struct sp_store *ret_store,
			   struct sp_error *err)
{
	struct pg_pool *pool = calloc(1, sizeof(*pool));
	int rc;

	if (!pool)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = pg_pool_open(options, statements, pool, err);
	if (rc) {
		close_store(pool);
		return rc;
	}
	*ret_store = (struct sp_store){&ops, pool};
	return 0;
}
