/* SPDX-License-Identifier: MIT */
/*
 * A session for each holder. Within this process the in-memory lock decides whose
 * turn it is, since a session may take its own advisory lock again. One thread per service watches
 * the sockets of the holders: a session that ends has given its lock back.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <providers/stores/limits.h>
#include <providers/stores/memory.h>

#include "pool.h"

/* How long a server may take for a release; the session is dropped then. */
#define RELEASE_MS 5000

enum { FIND = 0, ADD, TIDY, LOCK, TOKEN, FORGET, UNLOCK };

static const char *const statements[] = {
    [FIND] = "SELECT id::bigint FROM sandproof.lock_keys WHERE key = $1::bytea",
    [ADD] = "INSERT INTO sandproof.lock_keys(key) VALUES($1::bytea) ON CONFLICT DO NOTHING "
	    "RETURNING id::bigint",
    /* Rows of holders that died; no more at once than the server has room to lock. */
    [TIDY] = "DELETE FROM sandproof.lock_keys WHERE id IN (SELECT id FROM sandproof.lock_keys "
	     "WHERE pg_try_advisory_xact_lock($1::bigint::integer, id) LIMIT 64)",
    [LOCK] = "SELECT pg_advisory_lock($1::bigint::integer, $2::bigint::integer)",
    /* No row where the lock that was waited for stands for this key no more. */
    [TOKEN] = "SELECT nextval('sandproof.tokens') FROM sandproof.lock_keys "
	      "WHERE key = $1::bytea AND id = $2::bigint",
    [FORGET] = "DELETE FROM sandproof.lock_keys WHERE id = $1::bigint",
    [UNLOCK] = "SELECT pg_advisory_unlock($1::bigint::integer, $2::bigint::integer)",
};

struct lease {
	struct lease *next;
	struct postgres_lock *service;
	/* The turn within this process. */
	struct sp_lease turn;
	struct pg_session *session;
	struct sp_cancel *lost;
	int64_t id;
	uint64_t fence;
	bool gone;
};

struct postgres_lock {
	struct pg_pool pool;
	struct sp_lock turns;
	pthread_mutex_t lock;
	/* Leases that are held, and whether the watcher is to end. Under `lock`. */
	struct lease *leases;
	bool stop;
	pthread_t watcher;
	bool watching;
	/* The list has changed. */
	int wake_fd;
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

/* ---- watching ---- */

/* The sockets of all that are held, after the wake-up descriptor; NULL without memory or at the
 * end. */
static struct pollfd *sockets(struct postgres_lock *service, nfds_t *ret_n)
{
	struct pollfd *fds = NULL;
	nfds_t n = 1;

	pthread_mutex_lock(&service->lock);
	for (struct lease *lease = service->leases; lease; lease = lease->next)
		n++;
	if (!service->stop)
		fds = calloc(n, sizeof(*fds));
	if (fds)
		fds[0] = (struct pollfd){.fd = service->wake_fd, .events = POLLIN};
	n = 1;
	for (struct lease *lease = service->leases; fds && lease; lease = lease->next)
		if (!lease->gone)
			fds[n++] =
			    (struct pollfd){.fd = PQsocket(lease->session->pg), .events = POLLIN};
	pthread_mutex_unlock(&service->lock);
	*ret_n = n;
	return fds;
}

/* A session that has something to say while it rests has ended, or tells a notice. */
static void look(struct lease *lease)
{
	struct pollfd fd = {.fd = PQsocket(lease->session->pg), .events = POLLIN};

	if (lease->gone || poll(&fd, 1, 0) <= 0)
		return;
	if (PQconsumeInput(lease->session->pg) && PQstatus(lease->session->pg) == CONNECTION_OK)
		return;
	lease->gone = true;
	sp_cancel_abort(lease->lost, "the session that held the lock has ended");
}

static void *watch(void *arg)
{
	struct postgres_lock *service = arg;
	struct pollfd *fds;
	nfds_t n;

	while ((fds = sockets(service, &n))) {
		eventfd_t ignored;

		(void)poll(fds, n, -1);
		if (fds[0].revents)
			(void)eventfd_read(service->wake_fd, &ignored);
		free(fds);
		pthread_mutex_lock(&service->lock);
		for (struct lease *lease = service->leases; lease; lease = lease->next)
			look(lease);
		pthread_mutex_unlock(&service->lock);
	}
	return NULL;
}

/* The thread is there from the first holder on. */
static int start_watching(struct postgres_lock *service, struct sp_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&service->lock);
	if (!service->watching) {
		rc = pthread_create(&service->watcher, NULL, watch, service);
		service->watching = rc == 0;
	}
	pthread_mutex_unlock(&service->lock);
	return rc ? sp_error_set_errno(err, rc, "no thread that watches leases") : 0;
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

static void free_lease(struct lease *lease)
{
	pg_give(&lease->service->pool, lease->session);
	sp_lease_done(&lease->turn);
	sp_cancel_unref(lease->lost);
	free(lease);
}

static void unlink_lease(struct lease *lease)
{
	struct postgres_lock *service = lease->service;
	struct lease **at = &service->leases;

	pthread_mutex_lock(&service->lock);
	while (*at && *at != lease)
		at = &(*at)->next;
	if (*at)
		*at = lease->next;
	pthread_mutex_unlock(&service->lock);
	eventfd_write(service->wake_fd, 1);
}

/* Class and number of an advisory lock. */
static int run_lock(struct lease *lease, unsigned number, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	unsigned char class[8], id[8];
	const struct pg_param params[] = {pg_param_number(PG_LOCK_CLASS, class),
					  pg_param_number(lease->id, id)};

	return pg_run(&lease->service->pool, lease->session, number, params, 2, NULL, cancel, err);
}

/*
 * The row first, while nobody else holds what it stands for; who waits for it looks whether it
 * still does. A server that does not answer is not waited for.
 */
static int give_back(struct lease *lease)
{
	struct sp_cancel *limit = sp_cancel_new();
	unsigned char id[8];
	const struct pg_param params[] = {pg_param_number(lease->id, id)};
	int rc;

	sp_cancel_set_deadline(limit, sp_deadline_ms(RELEASE_MS));
	rc = pg_run(&lease->service->pool, lease->session, FORGET, params, 1, NULL, limit, NULL);
	if (!rc)
		rc = run_lock(lease, UNLOCK, limit, NULL);
	sp_cancel_unref(limit);
	return rc;
}

static void lease_release(void *self)
{
	struct lease *lease = self;

	unlink_lease(lease);
	/* A session that cannot give its lock back is dropped, and the lock with it. */
	if (lease->gone || give_back(lease)) {
		pg_drop(lease->session);
		lease->session = NULL;
	}
	free_lease(lease);
}

static const struct sp_lease_ops lease_ops = {
    .version = SP_LEASE_VERSION,
    .fence = lease_fence,
    .lost = lease_lost,
    .release = lease_release,
};

/* ---- acquiring ---- */

/* One number of a statement's first row; found false without a row. */
static int ask(struct lease *lease, unsigned number, const struct pg_param *params, int n,
	       int64_t *ret_value, bool *ret_found, struct sp_cancel *cancel, struct sp_error *err)
{
	PGresult *result = NULL;
	int rc =
	    pg_run(&lease->service->pool, lease->session, number, params, n, &result, cancel, err);

	if (rc)
		return rc;
	*ret_found = PQntuples(result) > 0;
	if (*ret_found)
		*ret_value = pg_number(result, 0, 0);
	PQclear(result);
	return 0;
}

/*
 * The number that stands for the key's text; a new text gets a row. Not found: a row was there,
 * and vanished between two looks.
 */
static int find_id(struct lease *lease, const char *key, bool *ret_found, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	const struct pg_param params[] = {{key, (int)strlen(key)}};
	int rc = ask(lease, FIND, params, 1, &lease->id, ret_found, cancel, err);

	if (!rc && !*ret_found)
		rc = ask(lease, ADD, params, 1, &lease->id, ret_found, cancel, err);
	return rc;
}

/*
 * One try: waits for the lock of the key's number, then for the word that this still is the key's.
 * The token is taken while the lock is held, so that it grows from holder to holder.
 */
static int take_once(struct lease *lease, const char *key, bool *ret_taken,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	unsigned char id[8];
	int64_t token = 0;
	bool found = false;
	int rc = find_id(lease, key, &found, cancel, err);

	if (rc || !found)
		return rc;
	rc = run_lock(lease, LOCK, cancel, err);
	if (!rc) {
		const struct pg_param params[] = {{key, (int)strlen(key)},
						  pg_param_number(lease->id, id)};

		rc = ask(lease, TOKEN, params, 2, &token, ret_taken, cancel, err);
	}
	if (!rc && !*ret_taken)
		rc = run_lock(lease, UNLOCK, cancel, err);
	lease->fence = (uint64_t)token;
	return rc;
}

static int take(struct lease *lease, const char *key, struct sp_cancel *cancel,
		struct sp_error *err)
{
	bool taken = false;
	int rc = pg_take(&lease->service->pool, &lease->session, cancel, err);

	while (!rc && !taken)
		rc = take_once(lease, key, &taken, cancel, err);
	if (!rc)
		return 0;
	/* Whatever it held goes with it. */
	pg_drop(lease->session);
	lease->session = NULL;
	return pg_harmless(rc, cancel, err);
}

static int acquire(void *self, const char *key, struct sp_cancel *cancel,
		   struct sp_lease *ret_lease, struct sp_error *err)
{
	struct postgres_lock *service = self;
	struct lease *lease;
	int rc = sp_stores_check_key(key, err);

	if (!rc)
		rc = start_watching(service, err);
	if (rc)
		return rc;
	lease = calloc(1, sizeof(*lease));
	if (!lease)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	lease->service = service;
	lease->lost = sp_cancel_new();
	rc = lease->lost ? sp_lock_acquire(&service->turns, key, cancel, &lease->turn, err)
			 : sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!rc)
		rc = take(lease, key, cancel, err);
	if (rc) {
		free_lease(lease);
		return rc;
	}
	pthread_mutex_lock(&service->lock);
	lease->next = service->leases;
	service->leases = lease;
	pthread_mutex_unlock(&service->lock);
	eventfd_write(service->wake_fd, 1);
	*ret_lease = (struct sp_lease){&lease_ops, lease};
	return 0;
}

/* ---- opening ---- */

static void close_lock(void *self)
{
	struct postgres_lock *service = self;

	pthread_mutex_lock(&service->lock);
	service->stop = true;
	pthread_mutex_unlock(&service->lock);
	if (service->watching) {
		eventfd_write(service->wake_fd, 1);
		pthread_join(service->watcher, NULL);
	}
	sp_close(service->wake_fd);
	sp_lock_done(&service->turns);
	pg_pool_done(&service->pool);
	pthread_mutex_destroy(&service->lock);
	free(service);
}

static const struct sp_lock_ops ops = {
    .version = SP_LOCK_VERSION,
    .capabilities = capabilities,
    .acquire = acquire,
    .close = close_lock,
};

/* Whoever looks for such a row meanwhile looks again; what cannot be removed is in nobody's way. */
static void tidy(struct pg_pool *pool)
{
	struct pg_session *session = NULL;
	unsigned char class[8];
	const struct pg_param params[] = {pg_param_number(PG_LOCK_CLASS, class)};

	if (!pg_take(pool, &session, NULL, NULL))
		(void)pg_run(pool, session, TIDY, params, 1, NULL, NULL, NULL);
	pg_give(pool, session);
}

int sp_postgres_lock_open(const struct sp_postgres_options *options, struct sp_lock *ret_lock,
			  struct sp_error *err)
{
	struct postgres_lock *service = calloc(1, sizeof(*service));
	int rc;

	if (!service)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_mutex_init(&service->lock, NULL);
	service->wake_fd = eventfd(0, EFD_CLOEXEC);
	rc = pg_pool_open(options, statements, &service->pool, err);
	if (!rc)
		tidy(&service->pool);
	if (!rc)
		rc = sp_memory_lock_open(&service->turns, err);
	if (rc) {
		close_lock(service);
		return rc;
	}
	*ret_lock = (struct sp_lock){&ops, service};
	return 0;
}
