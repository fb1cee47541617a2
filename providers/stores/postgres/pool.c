/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/thread.h>

#include "schema.h"

/* Idle sessions that are kept. */
#define IDLE_MAX 8
#define PARAMS_MAX 8
/* How long a server may take to say that it stopped a statement; the session is dropped then. */
#define STOP_MS 5000
/* It is told again after this time, twice that, and so on. */
#define STOP_AGAIN_MS 50
/* How long a server may take to let somebody in, where the connection text says nothing. */
#define CONNECT_S 30

/* ---- errors ---- */

static const struct {
	/* Beginning of a SQLSTATE. */
	const char *state;
	enum sp_code code;
	const char *words;
} errors[] = {
    {"08", SP_UNAVAILABLE, "the connection failed; try again"},
    {"57014", SP_UNAVAILABLE, "somebody ended the statement at the server; try again"},
    {"57P", SP_UNAVAILABLE, "the server is shutting down or starting; try again"},
    {"53100", SP_IO, "the server's disk is full; nothing was written"},
    {"53", SP_UNAVAILABLE, "the server lacks resources; try again"},
    {"55P03", SP_UNAVAILABLE, "somebody else keeps the table locked; try again"},
    {"40", SP_UNAVAILABLE, "the server undid it in favour of somebody else; try again"},
    {"25006", SP_DENIED, "the server takes no writes (a standby, or read-only)"},
    {"42501", SP_DENIED, "this user lacks the rights; grant them on the schema sandproof"},
    {"28", SP_DENIED, "the server refused this user"},
    {"22", SP_PROTOCOL, "the server refused a value"},
    {"42", SP_PROTOCOL, "the tables are not what they were made as; restore them"},
    {"58", SP_IO, "the server could not read or write"},
    {"XX", SP_PROTOCOL, "the server reports damage"},
};

static int fail_result(const PGresult *result, struct sp_error *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	enum sp_code code = SP_INTERNAL;
	const char *words = "the server refused";

	for (size_t i = 0; state && i < SP_COUNT(errors); i++) {
		if (strncmp(state, errors[i].state, strlen(errors[i].state)))
			continue;
		code = errors[i].code;
		words = errors[i].words;
		break;
	}
	sp_error_set(err, code, "PostgreSQL: %s", words);
	if (err) {
		err->sys_errno = code == SP_IO && state && !strcmp(state, "53100") ? ENOSPC : 0;
		/* The primary message holds no value; details and hints may. */
		sp_error_set_detail(err, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
	}
	return code;
}

static bool says(const PGconn *pg, const char *words)
{
	return strstr(PQerrorMessage(pg), words) != NULL;
}

/* A session that could not be had. What libpq says may name host and user, never a password. */
static int fail_connect(PGconn *pg, struct sp_error *err)
{
	enum sp_code code = SP_UNAVAILABLE;
	const char *words = "there is no connection to the server; see that it runs and that host, "
			    "port and user of the connection text are right";

	if (PQconnectionNeedsPassword(pg)) {
		code = SP_DENIED;
		words = "the server wants a password: PGPASSWORD, or a connection text in a file "
			"(postgres:@FILE)";
	} else if (says(pg, "authentication failed") || says(pg, "pg_hba.conf") ||
		   (says(pg, "role \"") && says(pg, "does not exist"))) {
		code = SP_DENIED;
		words = "the server refused this user";
	} else if (says(pg, "database \"") && says(pg, "does not exist")) {
		code = SP_INVALID;
		words = "the server has no such database; create it or name another";
	}
	sp_error_set(err, code, "PostgreSQL: %s", words);
	if (err)
		sp_error_set_detail(err, PQerrorMessage(pg));
	return code;
}

/* ---- waiting ---- */

/*
 * Waits for the session's socket, the cancel or the deadline (absolute, 0: none); 0, the cancel's
 * code, or SP_UNAVAILABLE.
 */
static int await_socket(PGconn *pg, short events, uint64_t deadline, struct sp_cancel *cancel,
			struct sp_error *err)
{
	struct pollfd fds[] = {{.fd = PQsocket(pg), .events = events},
			       {.fd = sp_cancel_fd(cancel), .events = POLLIN}};
	int rc = 0;

	while (!rc && !fds[0].revents) {
		if (poll(fds, SP_COUNT(fds), sp_until_ms(deadline)) < 0)
			fds[0].revents = 0;
		if (!fds[0].revents)
			rc = sp_cancel_check(cancel, err);
		if (!rc && !fds[0].revents && deadline && sp_now() >= deadline)
			rc = sp_error_set(err, SP_UNAVAILABLE,
					  "PostgreSQL: whoever listens there does not answer; see "
					  "that host and port are those of the server");
	}
	return rc;
}

/* libpq leaves its own connect_timeout to those who wait themselves. */
static uint64_t connect_deadline(PGconn *pg)
{
	PQconninfoOption *options = PQconninfo(pg);
	long seconds = CONNECT_S;

	for (PQconninfoOption *at = options; at && at->keyword; at++)
		if (!strcmp(at->keyword, "connect_timeout") && at->val && *at->val)
			seconds = strtol(at->val, NULL, 10);
	PQconninfoFree(options);
	return seconds > 0 && seconds < INT32_MAX ? sp_deadline_ms((uint64_t)seconds * 1000) : 0;
}

static int connect_session(const char *conninfo, PGconn **ret_pg, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	const char *const names[] = {"dbname", "client_encoding", "fallback_application_name",
				     NULL};
	const char *const values[] = {conninfo, "UTF8", "sandproof", NULL};
	PGconn *pg = PQconnectStartParams(names, values, 1);
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	uint64_t deadline = pg ? connect_deadline(pg) : 0;
	int rc = pg ? 0 : sp_error_set(err, SP_INTERNAL, "out of memory");

	while (!rc && PQstatus(pg) != CONNECTION_BAD && next != PGRES_POLLING_OK &&
	       next != PGRES_POLLING_FAILED) {
		rc = await_socket(pg, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline,
				  cancel, err);
		if (!rc)
			next = PQconnectPoll(pg);
	}
	if (!rc && PQstatus(pg) != CONNECTION_OK)
		rc = fail_connect(pg, err);
	if (rc) {
		PQfinish(pg);
		return rc;
	}
	(void)PQsetnonblocking(pg, 1);
	*ret_pg = pg;
	return 0;
}

static int lost(struct sp_error *err)
{
	return sp_error_set(
	    err, SP_UNKNOWN_OUTCOME,
	    "PostgreSQL: the connection was lost before the answer; it may or may not "
	    "have been carried out");
}

/*
 * Everything is sent and something came; 0, the cancel's code, SP_UNAVAILABLE at the deadline, or
 * SP_UNKNOWN_OUTCOME.
 */
static int await_answer(PGconn *pg, uint64_t deadline, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int left;

	while ((left = PQflush(pg)) > 0 || (!left && PQisBusy(pg))) {
		int rc =
		    await_socket(pg, left > 0 ? POLLIN | POLLOUT : POLLIN, deadline, cancel, err);

		if (rc)
			return rc;
		if (!PQconsumeInput(pg))
			return lost(err);
	}
	return left < 0 ? lost(err) : 0;
}

static void *ask_to_stop(void *arg)
{
	char ignored[256];

	(void)PQcancel(arg, ignored, sizeof(ignored));
	PQfreeCancel(arg);
	return NULL;
}

/* libpq waits for a server that may not answer, so this is left to a thread. */
static void tell_to_stop(PGconn *pg)
{
	PGcancel *request = PQgetCancel(pg);

	if (request && sp_thread_detached(ask_to_stop, request))
		PQfreeCancel(request);
}

/*
 * Tells the server to stop, and waits until it has said what became of it. Again and again: one
 * that has not begun yet overhears it.
 */
static int stop(struct pg_session *session)
{
	uint64_t end = sp_deadline_ms(session->stop_ms), pause = STOP_AGAIN_MS;
	PGconn *pg = session->pg;
	int rc = SP_UNAVAILABLE;

	while (rc == SP_UNAVAILABLE && sp_now() < end) {
		uint64_t next = sp_deadline_ms(pause);

		tell_to_stop(pg);
		rc = await_answer(pg, next < end ? next : end, NULL, NULL);
		pause *= 2;
	}
	return rc;
}

static int not_stopped(struct sp_error *err)
{
	return sp_error_set(err, SP_UNKNOWN_OUTCOME,
			    "PostgreSQL: the call was given up, and the server has not said "
			    "whether it stopped; it may or may not be carried out");
}

/* The last result of what was sent; the others are cleared. NULL when the session is lost. */
static int take_result(struct pg_session *session, PGresult **ret_result, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	PGresult *result = NULL, *next;
	PGconn *pg = session->pg;
	int rc = await_answer(pg, 0, cancel, err);

	if (rc == SP_ABORTED || rc == SP_TIMED_OUT) {
		session->stopped = true;
		if (stop(session))
			return not_stopped(err);
	} else if (rc) {
		return rc;
	}
	/* After a stop the answer is there: it was done all the same, or it was not. */
	while ((next = PQgetResult(pg))) {
		PQclear(result);
		result = next;
	}
	if (rc && PQresultStatus(result) == PGRES_FATAL_ERROR) {
		PQclear(result);
		return rc;
	}
	*ret_result = result;
	return result ? 0 : lost(err);
}

static int judge_result(PGconn *pg, PGresult *result, PGresult **ret_result, struct sp_error *err)
{
	ExecStatusType status = PQresultStatus(result);
	bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
	int rc = 0;

	if (!good && PQstatus(pg) == CONNECTION_BAD)
		rc = lost(err);
	else if (!good)
		rc = fail_result(result, err);
	if (!rc && ret_result)
		*ret_result = result;
	else
		PQclear(result);
	return rc;
}

static int finish(struct pg_session *session, bool sent, PGresult **ret_result,
		  struct sp_cancel *cancel, struct sp_error *err)
{
	PGresult *result = NULL;
	int rc;

	/* What could not even be begun was not done. */
	if (!sent)
		return sp_error_set(err, SP_UNAVAILABLE,
				    "PostgreSQL: there is no connection to the server; try again");
	rc = take_result(session, &result, cancel, err);
	return rc ? rc : judge_result(session->pg, result, ret_result, err);
}

int pg_exec(struct pg_session *session, const char *sql, PGresult **ret_result,
	    struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_cancel_check(cancel, err);

	return rc ? rc : finish(session, PQsendQuery(session->pg, sql), ret_result, cancel, err);
}

int pg_harmless(int rc, struct sp_cancel *cancel, struct sp_error *err)
{
	if (rc != SP_UNKNOWN_OUTCOME)
		return rc;
	rc = sp_cancel_check(cancel, err);
	return rc ? rc
		  : sp_error_set(err, SP_UNAVAILABLE,
				 "PostgreSQL: the connection was lost; try again");
}

static int prepare(struct pg_pool *pool, struct pg_session *session, unsigned number,
		   const char *name, struct sp_cancel *cancel, struct sp_error *err)
{
	int rc;

	if (session->prepared & 1u << number)
		return 0;
	rc = finish(session, PQsendPrepare(session->pg, name, pool->statements[number], 0, NULL),
		    NULL, cancel, err);
	if (!rc)
		session->prepared |= 1u << number;
	return pg_harmless(rc, cancel, err);
}

int pg_run(struct pg_pool *pool, struct pg_session *session, unsigned number,
	   const struct pg_param *params, int n_params, PGresult **ret_result,
	   struct sp_cancel *cancel, struct sp_error *err)
{
	const char *values[PARAMS_MAX];
	int lengths[PARAMS_MAX], formats[PARAMS_MAX];
	char name[16];
	int rc = sp_cancel_check(cancel, err);

	snprintf(name, sizeof(name), "sp%u", number);
	if (!rc)
		rc = prepare(pool, session, number, name, cancel, err);
	if (rc)
		return rc;
	for (int i = 0; i < n_params && i < PARAMS_MAX; i++) {
		values[i] = params[i].data;
		lengths[i] = params[i].len;
		formats[i] = 1;
	}
	return finish(session,
		      PQsendQueryPrepared(session->pg, name, n_params, values, lengths, formats, 1),
		      ret_result, cancel, err);
}

/* ---- sessions ---- */

void pg_drop(struct pg_session *session)
{
	if (!session)
		return;
	PQfinish(session->pg);
	free(session);
}

/* An idle session that the server ended has something to read. */
static bool is_alive(struct pg_session *session)
{
	struct pollfd fd = {.fd = PQsocket(session->pg), .events = POLLIN};

	/* Its last words come first, and only then the end. */
	while (PQstatus(session->pg) == CONNECTION_OK && poll(&fd, 1, 0) > 0)
		if (!PQconsumeInput(session->pg))
			return false;
	return PQstatus(session->pg) == CONNECTION_OK;
}

static struct pg_session *take_idle(struct pg_pool *pool)
{
	struct pg_session *session;

	pthread_mutex_lock(&pool->lock);
	session = pool->idle;
	if (session) {
		pool->idle = session->next;
		pool->n_idle--;
	}
	pthread_mutex_unlock(&pool->lock);
	return session;
}

/* An acknowledged write is on the disk, whatever the server's default is; more than that stays. */
#define SETTLE                                                                                     \
	"SET statement_timeout = 0; SET lock_timeout = 0; "                                        \
	"SELECT set_config('synchronous_commit', 'on', false) "                                    \
	"WHERE current_setting('synchronous_commit') <> 'remote_apply'"

/*
 * Limits of the server would end those who wait for a lock, or hold one; ours is the caller's
 * cancel.
 */
static int settle(struct pg_session *session, struct sp_cancel *cancel, struct sp_error *err)
{
	const char *sql = PQserverVersion(session->pg) < 140000
			      ? SETTLE
			      : "SET idle_session_timeout = 0; " SETTLE;

	return pg_harmless(pg_exec(session, sql, NULL, cancel, err), cancel, err);
}

int pg_take(struct pg_pool *pool, struct pg_session **ret_session, struct sp_cancel *cancel,
	    struct sp_error *err)
{
	struct pg_session *session;
	int rc = sp_cancel_check(cancel, err);

	while (!rc && (session = take_idle(pool))) {
		if (is_alive(session)) {
			*ret_session = session;
			return 0;
		}
		pg_drop(session);
	}
	session = rc ? NULL : calloc(1, sizeof(*session));
	if (session)
		session->stop_ms = pool->stop_ms;
	else if (!rc)
		rc = sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!rc)
		rc = connect_session(pool->conninfo, &session->pg, cancel, err);
	if (!rc)
		rc = settle(session, cancel, err);
	if (rc) {
		pg_drop(session);
		return rc;
	}
	*ret_session = session;
	return 0;
}

void pg_give(struct pg_pool *pool, struct pg_session *session)
{
	bool keep = session && !session->stopped && PQstatus(session->pg) == CONNECTION_OK &&
		    PQtransactionStatus(session->pg) == PQTRANS_IDLE;

	pthread_mutex_lock(&pool->lock);
	keep = keep && pool->n_idle < IDLE_MAX;
	if (keep) {
		session->next = pool->idle;
		pool->idle = session;
		pool->n_idle++;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!keep)
		pg_drop(session);
}

/* ---- pools ---- */

/*
 * What a URL has beyond its one '@' before the path is a piece of a password, which libpq would
 * take for a host, a port or a database, and tell.
 */
static bool is_torn_url(const char *text)
{
	const char *at = strstr(text, "://");
	const char *first = at ? strchr(at, '@') : NULL;

	if (strncmp(text, "postgresql://", 13) && strncmp(text, "postgres://", 11))
		return false;
	return first && (strchr(first + 1, '@') || first > at + 3 + strcspn(at + 3, "/?#"));
}

static int check_conninfo(const char *conninfo, struct sp_error *err)
{
	PQconninfoOption *options = conninfo && *conninfo ? PQconninfoParse(conninfo, NULL) : NULL;
	bool torn = options && is_torn_url(conninfo);

	PQconninfoFree(options);
	/* libpq's own words may quote what it did not understand, which may be a password. */
	if (!options)
		return sp_error_set(
		    err, SP_INVALID,
		    "the connection text cannot be read; it needs \"host=… dbname=…\" or "
		    "\"postgresql://…\"");
	if (torn)
		return sp_error_set(err, SP_INVALID,
				    "the user or the password of the URL holds '@', '/', '?' or "
				    "'#'; write %%40, %%2F, %%3F and %%23 for them");
	return 0;
}

int pg_pool_open(const struct sp_postgres_options *options, const char *const *statements,
		 struct pg_pool *pool, struct sp_error *err)
{
	struct pg_session *session = NULL;
	int rc = check_conninfo(options->conninfo, err);

	*pool = (struct pg_pool){.lock = PTHREAD_MUTEX_INITIALIZER, .statements = statements};
	if (rc)
		return rc;
	pool->stop_ms = options->stop_ms ? options->stop_ms : STOP_MS;
	pool->conninfo = strdup(options->conninfo);
	if (!pool->conninfo)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = pg_take(pool, &session, NULL, err);
	/* A schema is made whole or not at all, and looked for first. */
	if (!rc)
		rc = pg_harmless(pg_schema_up(session, err), NULL, err);
	pg_give(pool, session);
	return rc;
}

void pg_pool_done(struct pg_pool *pool)
{
	struct pg_session *session;

	while ((session = take_idle(pool)))
		pg_drop(session);
	free(pool->conninfo);
	pthread_mutex_destroy(&pool->lock);
	*pool = (struct pg_pool){.lock = PTHREAD_MUTEX_INITIALIZER};
}

int64_t pg_number(const PGresult *result, int row, int column)
{
	uint64_t big;

	if (PQgetlength(result, row, column) != sizeof(big))
		return 0;
	memcpy(&big, PQgetvalue(result, row, column), sizeof(big));
	return (int64_t)be64toh(big);
}

struct pg_param pg_param_number(int64_t value, unsigned char room[8])
{
	uint64_t big = htobe64((uint64_t)value);

	memcpy(room, &big, sizeof(big));
	return (struct pg_param){room, sizeof(big)};
}
