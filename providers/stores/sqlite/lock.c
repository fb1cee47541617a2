/* SPDX-License-Identifier: MIT */
/*
 * Leases as rows. Within this process the in-memory lock decides whose turn it
 * is, so that only one caller a key competes with other processes. One thread
 * per service looks again and again whether the leases are still ours, and
 * extends them.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <providers/stores/limits.h>
#include <providers/stores/memory.h>

#include "db.h"

#define LEASE_MS 15000
#define BEAT_MS 250
/* Pauses of a waiter between looks: from, to. */
#define LOOK_MIN_MS 1
#define LOOK_MAX_MS 16

#define OWNER_LEN 20

struct sqlite_lock;

struct lease {
	struct lease *next;
	struct sqlite_lock *service;
	/* The turn within this process. */
	struct sp_lease turn;
	struct sp_cancel *lost;
	char *key;
	char owner[OWNER_LEN + 1];
	uint64_t fence;
	/* On the clock of sqlite_now_ms(). */
	int64_t expires;
};

struct sqlite_lock {
	struct sqlite_db db;
	sqlite3_stmt *look, *tidy, *take, *token, *extend, *check, *release;
	struct sp_lock turns;
	int64_t lease_ms;
	uint32_t beat_ms;

	pthread_mutex_t lock;
	/* Leases that are held. Under `lock`, as is `stop`. */
	struct lease *leases;
	pthread_t beater;
	bool beating;
	int stop_fd;
};

static const struct sp_lock_capabilities *capabilities(void *self)
{
	static const struct sp_lock_capabilities declared = {
	    .version = SP_LOCK_CAPABILITIES_VERSION,
	    .lease = true,
	    .multi_process = true,
	    .fence = true,
	};

	(void)self;
	return &declared;
}

static int finish(sqlite3_stmt *stmt, int rc)
{
	int reset = sqlite3_reset(stmt);

	sqlite3_clear_bindings(stmt);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

/* ---- taking ---- */

struct attempt {
	struct lease *lease;
	bool taken;
};

/* Whether somebody else has a lease that has not run out. */
static int look(struct lease *lease, bool *ret_busy)
{
	sqlite3_stmt *stmt = lease->service->look;
	int rc;

	sqlite3_bind_text(stmt, 1, lease->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, sqlite_boot_id(), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, sqlite_now_ms());
	rc = sqlite3_step(stmt);
	*ret_busy = rc == SQLITE_ROW;
	return finish(stmt, rc);
}

/* Rows of holders that died, of whatever key: nobody would remove them. */
static int tidy(struct lease *lease)
{
	sqlite3_stmt *stmt = lease->service->tidy;

	sqlite3_bind_text(stmt, 1, sqlite_boot_id(), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, sqlite_now_ms());
	return finish(stmt, sqlite3_step(stmt));
}

static int take_token(struct lease *lease)
{
	sqlite3_stmt *stmt = lease->service->token;
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		lease->fence = (uint64_t)sqlite3_column_int64(stmt, 0);
	/* The rest of an UPDATE with RETURNING is done by stepping to its end. */
	while (rc == SQLITE_ROW)
		rc = sqlite3_step(stmt);
	return finish(stmt, rc);
}

static int write_row(struct lease *lease)
{
	sqlite3_stmt *stmt = lease->service->take;

	lease->expires = sqlite_now_ms() + lease->service->lease_ms;
	sqlite3_bind_text(stmt, 1, lease->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, lease->owner, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, sqlite_boot_id(), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, lease->expires);
	return finish(stmt, sqlite3_step(stmt));
}

/* Looks again inside the transaction: what was free a moment ago may be taken. */
static int take_inside(struct attempt *attempt)
{
	bool busy = false;
	int rc = look(attempt->lease, &busy);

	if (rc != SQLITE_OK || busy)
		return rc;
	rc = tidy(attempt->lease);
	if (rc == SQLITE_OK)
		rc = take_token(attempt->lease);
	if (rc == SQLITE_OK)
		rc = write_row(attempt->lease);
	attempt->taken = rc == SQLITE_OK;
	return rc;
}

static int try_take(struct sqlite_db *db, void *arg)
{
	struct attempt *attempt = arg;
	bool busy = false;
	/* Waiters only read: they do not stand in the way of those who write. */
	int rc = look(attempt->lease, &busy);

	attempt->taken = false;
	if (rc != SQLITE_OK || busy)
		return rc;
	rc = sqlite_db_exec(db, "BEGIN IMMEDIATE");
	if (rc != SQLITE_OK)
		return rc;
	rc = take_inside(attempt);
	if (rc == SQLITE_OK && attempt->taken)
		rc = sqlite_db_exec(db, "COMMIT");
	if (rc != SQLITE_OK || !attempt->taken) {
		attempt->taken = false;
		(void)sqlite_db_exec(db, "ROLLBACK");
	}
	return rc;
}

/* Until this process is the one whose row stands. */
static int compete(struct lease *lease, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fd = {.fd = sp_cancel_fd(cancel), .events = POLLIN};
	struct attempt attempt = {.lease = lease};
	int rc, pause = LOOK_MIN_MS;

	for (;;) {
		rc = sqlite_db_run(&lease->service->db, try_take, &attempt, "taking a lock", cancel,
				   err);
		if (rc || attempt.taken)
			return rc;
		(void)poll(&fd, 1, pause);
		pause = pause * 2 < LOOK_MAX_MS ? pause * 2 : LOOK_MAX_MS;
		rc = sp_cancel_check(cancel, err);
		if (rc)
			return rc;
	}
}

/* ---- keeping ---- */

static void lose(struct lease *lease, const char *why)
{
	sp_cancel_abort(lease->lost, why);
}

/* One row: is it ours, and does it need more time? */
static int try_keep(struct sqlite_db *db, void *arg)
{
	struct lease *lease = arg;
	struct sqlite_lock *service = lease->service;
	int64_t now = sqlite_now_ms();
	sqlite3_stmt *stmt = service->check;
	int rc;

	sqlite3_bind_text(stmt, 1, lease->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, lease->owner, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_DONE)
		lose(lease, "somebody else holds the lock now");
	if (rc != SQLITE_ROW || lease->expires - now > service->lease_ms * 2 / 3)
		return finish(stmt, rc);
	(void)finish(stmt, rc);
	stmt = service->extend;
	sqlite3_bind_text(stmt, 1, lease->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, lease->owner, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, now + service->lease_ms);
	rc = finish(stmt, sqlite3_step(stmt));
	if (rc == SQLITE_OK && sqlite3_changes(db->handle))
		lease->expires = now + service->lease_ms;
	return rc;
}

/* One attempt a beat: a file that is busy now is asked again at the next. */
static void keep_all(struct sqlite_lock *service)
{
	pthread_mutex_lock(&service->lock);
	for (struct lease *lease = service->leases; lease; lease = lease->next) {
		if (sp_cancel_check(lease->lost, NULL))
			continue;
		pthread_mutex_lock(&service->db.lock);
		(void)try_keep(&service->db, lease);
		pthread_mutex_unlock(&service->db.lock);
		if (sqlite_now_ms() >= lease->expires)
			lose(lease, "the lease ran out: it could not be extended in time");
	}
	pthread_mutex_unlock(&service->lock);
}

static void *beat(void *arg)
{
	struct sqlite_lock *service = arg;
	struct pollfd stop = {.fd = service->stop_fd, .events = POLLIN};

	while (poll(&stop, 1, (int)service->beat_ms) <= 0)
		keep_all(service);
	return NULL;
}

/* The thread is there from the first lease on. */
static int start_beating(struct sqlite_lock *service, struct sp_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&service->lock);
	if (!service->beating) {
		rc = pthread_create(&service->beater, NULL, beat, service);
		service->beating = rc == 0;
	}
	pthread_mutex_unlock(&service->lock);
	return rc ? sp_error_set_errno(err, rc, "no thread that keeps leases") : 0;
}

/* ---- leases ---- */

static uint64_t lease_fence(void *self)
{
	return ((struct lease *)self)->fence;
}

static struct sp_cancel *lease_lost(void *self)
{
	return ((struct lease *)self)->lost;
}

static int try_release(struct sqlite_db *db, void *arg)
{
	struct lease *lease = arg;
	sqlite3_stmt *stmt = lease->service->release;

	(void)db;
	/* The owner's name stands in the row: a lost lease frees nobody else's. */
	sqlite3_bind_text(stmt, 1, lease->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, lease->owner, -1, SQLITE_STATIC);
	return finish(stmt, sqlite3_step(stmt));
}

static void free_lease(struct lease *lease)
{
	sp_lease_done(&lease->turn);
	sp_cancel_unref(lease->lost);
	free(lease->key);
	free(lease);
}

static void unlink_lease(struct lease *lease)
{
	struct sqlite_lock *service = lease->service;
	struct lease **at = &service->leases;

	pthread_mutex_lock(&service->lock);
	while (*at && *at != lease)
		at = &(*at)->next;
	if (*at)
		*at = lease->next;
	pthread_mutex_unlock(&service->lock);
}

static void lease_release(void *self)
{
	struct lease *lease = self;

	unlink_lease(lease);
	/* A row that cannot be removed now runs out. */
	(void)sqlite_db_run(&lease->service->db, try_release, lease, "giving a lock back", NULL,
			    NULL);
	free_lease(lease);
}

static const struct sp_lease_ops lease_ops = {
    .version = SP_LEASE_VERSION,
    .fence = lease_fence,
    .lost = lease_lost,
    .release = lease_release,
};

static struct lease *new_lease(struct sqlite_lock *service, const char *key)
{
	struct lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return NULL;
	lease->service = service;
	lease->key = strdup(key);
	lease->lost = sp_cancel_new();
	sp_random_id(lease->owner, OWNER_LEN);
	if (lease->key && lease->lost)
		return lease;
	free_lease(lease);
	return NULL;
}

static int acquire(void *self, const char *key, struct sp_cancel *cancel,
		   struct sp_lease *ret_lease, struct sp_error *err)
{
	struct sqlite_lock *service = self;
	struct lease *lease;
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = start_beating(service, err);
	if (rc)
		return rc;
	lease = new_lease(service, key);
	if (!lease)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = sp_lock_acquire(&service->turns, key, cancel, &lease->turn, err);
	if (!rc)
		rc = compete(lease, cancel, err);
	if (rc) {
		free_lease(lease);
		return rc;
	}
	pthread_mutex_lock(&service->lock);
	lease->next = service->leases;
	service->leases = lease;
	pthread_mutex_unlock(&service->lock);
	*ret_lease = (struct sp_lease){&lease_ops, lease};
	return 0;
}

/* ---- opening ---- */

static void close_lock(void *self)
{
	struct sqlite_lock *service = self;

	if (service->beating) {
		eventfd_write(service->stop_fd, 1);
		pthread_join(service->beater, NULL);
	}
	sp_close(service->stop_fd);
	sp_lock_done(&service->turns);
	sqlite3_finalize(service->look);
	sqlite3_finalize(service->tidy);
	sqlite3_finalize(service->take);
	sqlite3_finalize(service->token);
	sqlite3_finalize(service->extend);
	sqlite3_finalize(service->check);
	sqlite3_finalize(service->release);
	sqlite_db_done(&service->db);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

static const struct sp_lock_ops ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = capabilities,
    .acquire = acquire,
    .close = close_lock,
};

static int prepare(struct sqlite_lock *service, struct sp_error *err)
{
	const struct {
		sqlite3_stmt **stmt;
		const char *sql;
	} rows[] = {
	    {&service->look, "SELECT 1 FROM leases WHERE key = ?1 AND boot = ?2 AND expires > ?3"},
	    {&service->tidy, "DELETE FROM leases WHERE boot <> ?1 OR expires <= ?2"},
	    {&service->take,
	     "INSERT OR REPLACE INTO leases(key, owner, boot, expires) VALUES(?1, ?2, ?3, ?4)"},
	    {&service->token, "UPDATE tokens SET last = last + 1 RETURNING last"},
	    {&service->extend, "UPDATE leases SET expires = ?3 WHERE key = ?1 AND owner = ?2"},
	    {&service->check, "SELECT 1 FROM leases WHERE key = ?1 AND owner = ?2"},
	    {&service->release, "DELETE FROM leases WHERE key = ?1 AND owner = ?2"},
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++)
		rc = sqlite_db_prepare(&service->db, rows[i].sql, rows[i].stmt, err);
	return rc;
}

int sp_sqlite_lock_open(const struct sp_sqlite_options *options, struct sp_lock *ret_lock,
			struct sp_error *err)
{
	struct sqlite_lock *service = calloc(1, sizeof(*service));
	int rc;

	if (!service)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_mutex_init(&service->lock, NULL);
	service->lease_ms = options->lease_ms ? options->lease_ms : LEASE_MS;
	service->beat_ms = options->beat_ms ? options->beat_ms : BEAT_MS;
	service->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = sqlite_db_open(options, &service->db, err);
	if (!rc)
		rc = prepare(service, err);
	if (!rc)
		rc = sp_memory_lock_open(&service->turns, err);
	if (rc) {
		close_lock(service);
		return rc;
	}
	*ret_lock = (struct sp_lock){&ops, service};
	return 0;
}
