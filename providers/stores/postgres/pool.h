/* SPDX-License-Identifier: MIT */
/* Sessions: made when none is idle, watched while they work, given back or dropped. */
#ifndef SP_STORES_POSTGRES_POOL_H
#define SP_STORES_POSTGRES_POOL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>

#include "postgres.h"

/* First number of all our advisory locks ("SPlk"). */
#define PG_LOCK_CLASS 0x53506c6b

/* One session; used by one thread at a time. */
struct pg_session {
	struct pg_session *next;
	PGconn *pg;
	/* Statements of the pool that were prepared in it, a bit each. */
	unsigned prepared;
	/* It was told to stop: a word that comes late would end the next statement, so there is
	 * none. */
	bool stopped;
	uint32_t stop_ms;
};

struct pg_pool {
	char *conninfo;
	pthread_mutex_t lock;
	struct pg_session *idle;
	unsigned n_idle;
	/* Texts of the statements that are prepared, by number; static. */
	const char *const *statements;
	uint32_t stop_ms;
};

/* A parameter: bytes, or null. */
struct pg_param {
	const void *data;
	int len;
};

/* Parses the text, connects once, brings the schema up. Free it in any case. */
int pg_pool_open(const struct sp_postgres_options *options, const char *const *statements,
		 struct pg_pool *ret_pool, struct sp_error *err);
/* Closes what is idle; everything else was given back. */
void pg_pool_done(struct pg_pool *pool);

/* A session that lives, as far as can be seen without asking. */
int pg_take(struct pg_pool *pool, struct pg_session **ret_session, struct sp_cancel *cancel,
	    struct sp_error *err);
/* Gives it back; one that is broken is dropped. NULL is fine. */
void pg_give(struct pg_pool *pool, struct pg_session *session);
/* Drops it: the server ends what it held. */
void pg_drop(struct pg_session *session);

/*
 * Runs statement `number` with binary parameters and a binary result. A cancel stops it at the
 * server and waits for that to be told, so that it cannot happen later. SP_UNKNOWN_OUTCOME: the
 * session ended before the answer, or the server does not say that it stopped; other codes mean
 * that nothing was done.
 */
int pg_run(struct pg_pool *pool, struct pg_session *session, unsigned number,
	   const struct pg_param *params, int n_params, PGresult **ret_result,
	   struct sp_cancel *cancel, struct sp_error *err);
/* Runs a constant text; the result of its last statement may be left out. */
int pg_exec(struct pg_session *session, const char *sql, PGresult **ret_result,
	    struct sp_cancel *cancel, struct sp_error *err);

/*
 * The code of what does no harm if it happened after all: an unknown outcome is that of the cancel,
 * or SP_UNAVAILABLE.
 */
int pg_harmless(int rc, struct sp_cancel *cancel, struct sp_error *err);

/* A signed 64-bit number of a binary result, and one as a parameter in network order. */
int64_t pg_number(const PGresult *result, int row, int column);
struct pg_param pg_param_number(int64_t value, unsigned char room[8]);

#endif
