/* SPDX-License-Identifier: MIT */
#include <ensure/attempt.h>

#include <stdio.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>

/*
 * What removes something may take this long, whatever became of the request (sandbox-contract 4.2).
 */
#define OWN_LIMIT_MS 60000
#define LOCK_PREFIX "sandbox:"

/* ---- Cancels ---- */

static void unref(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

/* NULL, which means no limit, when there is no memory for one. */
static struct sp_cancel *own_limit(void)
{
	struct sp_cancel *cancel = sp_cancel_new();

	sp_cancel_set_deadline(cancel, sp_deadline_ms(OWN_LIMIT_MS));
	return cancel;
}

/* NULL where a lease cannot be lost. */
static struct sp_cancel *lost_signal(struct attempt *a)
{
	const struct sp_lock_capabilities *lock = sp_lock_capabilities(a->options->lock);

	return lock && lock->lease ? sp_lease_lost(&a->lease) : NULL;
}

int attempt_check(struct attempt *a, struct sp_error *err)
{
	/* At the sources, since the thread between may not have run yet. */
	if (sp_cancel_check(a->work.lost, NULL))
		return sp_error_set(err, SP_UNAVAILABLE,
				    "the lock of the key %s was lost meanwhile, and somebody else "
				    "may "
				    "hold it; nothing was recorded, ask again",
				    a->key);
	return sp_cancel_check(a->caller, err);
}

/* ---- Begin and end ---- */

/* A key is 64 bits of a weak hash: what is stored under it may be somebody else's. */
static int check_owner(struct attempt *a, struct sp_error *err)
{
	const struct sp_ensure_options *o = a->options;
	const struct sp_record *r = &a->record;

	if (!r->thread_id || strcmp(r->thread_id, o->thread_id) != 0)
		return sp_error_set(err, SP_CONFLICT,
				    "the key %s belongs to the thread %.100s; two threads have the "
				    "same key, take another sandbox_id for one of them",
				    a->key, r->thread_id ? r->thread_id : "(none)");
	if (!r->provider || strcmp(r->provider, a->provider_name) != 0)
		return sp_error_set(err, SP_CONFLICT,
				    "the key %s belongs to a sandbox of the provider %.100s, not "
				    "of %.100s",
				    a->key, r->provider ? r->provider : "(none)", a->provider_name);
	if (o->per_run && r->latest_run_id && strcmp(r->latest_run_id, o->run_id) != 0)
		return sp_error_set(err, SP_CONFLICT, "the key %s belongs to the run %.100s",
				    a->key, r->latest_run_id);
	return 0;
}

static int read_record(struct attempt *a, struct sp_error *err)
{
	int rc =
		sp_store_get(a->options->store, a->key, &a->record, &a->found, a->work.cancel, err);

	if (!rc && a->found)
		rc = check_owner(a, err);
	return rc;
}

int attempt_begin(struct attempt *a, const struct sp_ensure_options *options, bool patient,
		  struct sp_error *err)
{
	char name[sizeof(LOCK_PREFIX) + SP_ENSURE_KEY_SIZE];
	int rc;

	a->options = options;
	a->caller = patient ? own_limit() : sp_cancel_ref(options->cancel);
	a->provider_name = sp_provider_name(options->provider);
	rc = sp_ensure_key(options, a->provider_name, a->key, err);
	if (rc)
		return rc;
	snprintf(name, sizeof(name), LOCK_PREFIX "%s", a->key);
	rc = sp_lock_acquire(options->lock, name, a->caller, &a->lease, err);
	if (rc)
		return rc;
	rc = work_begin(&a->work, a->caller, lost_signal(a), err);
	return rc ? rc : read_record(a, err);
}

void attempt_done(struct attempt *a)
{
	sp_sandbox_done(&a->sandbox);
	work_end(&a->work);
	sp_lease_done(&a->lease);
	sp_snapshot_ref_done(&a->snapshot);
	sp_record_done(&a->record);
	a->caller = sp_cancel_unref(a->caller);
}

/* ---- Records ---- */

/* The fence that the store can judge; NULL: none. */
static const uint64_t *fence_of(struct attempt *a, uint64_t *fence)
{
	const struct sp_store_capabilities *store = sp_store_capabilities(a->options->store);

	*fence = sp_lease_fence(&a->lease);
	return store && store->fence && *fence ? fence : NULL;
}

int attempt_store(struct attempt *a, const char *sandbox_id, const char *snapshot_id,
		  struct sp_error *err)
{
	const struct sp_ensure_options *o = a->options;
	const char *run = o->run_id ? o->run_id : a->found ? a->record.latest_run_id : NULL;
	/* The record's texts are only read here; their type has no const for whoever owns one. */
	struct sp_record record = {
		.key = a->key,
		.provider = (char *)a->provider_name,
		.provider_sandbox_id = (char *)sandbox_id,
		.latest_snapshot_id = (char *)snapshot_id,
		.thread_id = (char *)o->thread_id,
		.latest_run_id = (char *)run,
		.updated_at = a->now_ms,
	};
	uint64_t fence;
	int rc = attempt_check(a, err);

	return rc ? rc
		  : sp_store_upsert(o->store, &record, fence_of(a, &fence), a->work.cancel, err);
}

/* ---- Removing ---- */

int attempt_destroy(struct attempt *a, const char *sandbox_id, struct sp_error *err)
{
	struct sp_cancel *limit SP_CLEANUP(unref) = own_limit();

	return sp_provider_destroy(a->options->provider, sandbox_id, limit, err);
}

bool attempt_has_snapshots(const struct attempt *a)
{
	const struct sp_capabilities *caps = sp_provider_capabilities(a->options->provider);

	return caps && caps->snapshots;
}

int attempt_delete_snapshot(struct attempt *a, const char *snapshot_id, struct sp_error *err)
{
	struct sp_cancel *limit SP_CLEANUP(unref) = NULL;

	if (!snapshot_id || !attempt_has_snapshots(a))
		return 0;
	limit = own_limit();
	return sp_provider_snapshot_delete(a->options->provider, snapshot_id, limit, err);
}

/* Adds to what is told already; a record that is full keeps its first words. */
static void also(struct sp_error *err, const char *what, const char *id, const struct sp_error *why)
{
	struct sp_error first;

	if (!err)
		return;
	first = *err;
	sp_error_set(err, first.code, "%.250s; and the %s %.60s could not be removed: %s: %.100s",
		     first.message, what, id, sp_code_name(why->code), why->message);
	err->sys_errno = first.sys_errno;
	err->http_status = first.http_status;
	err->retry_after_ms = first.retry_after_ms;
	sp_error_set_detail(err, first.detail);
}

int attempt_undo(struct attempt *a, int rc, struct sp_error *err)
{
	struct sp_error why = SP_ERROR_INIT;
	const char *id = a->made ? sp_sandbox_id(&a->sandbox) : NULL;

	/*
	 * A step that the loss of the lease ended tells it as an abort
	 * that the caller never asked for.
	 */
	if (rc == SP_ABORTED && !sp_cancel_check(a->caller, NULL) && attempt_check(a, NULL))
		rc = attempt_check(a, err);
	if (id && attempt_destroy(a, id, &why))
		also(err, "sandbox", id, &why);
	if (attempt_delete_snapshot(a, a->snapshot.id, &why))
		also(err, "snapshot", a->snapshot.id, &why);
	return rc;
}
