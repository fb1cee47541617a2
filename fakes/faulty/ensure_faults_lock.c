/* SPDX-License-Identifier: MIT */
/* Faults of the lock: none, too small, too large, lost. */
#include "wrap_ensure.h"
#include "wrap_lock.h"

#include <string.h>

static int take_none(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		     struct sp_lease *ret_lease, struct sp_error *err)
{
	(void)call, (void)key, (void)cancel, (void)err;
	*ret_lease = fault_empty_lease();
	return 0;
}
ENSURE_HOOKS(no_lock, .acquire = take_none)

/* ---- Locks of one instance, of one process ---- */

static void mutex_release(void *self)
{
	pthread_mutex_unlock(self);
}

static const struct sp_lease_ops mutex_ops = { .version = SP_LEASE_VERSION,
					       .release = mutex_release };

static int take_mutex(pthread_mutex_t *mutex, struct sp_lease *ret_lease)
{
	pthread_mutex_lock(mutex);
	*ret_lease = (struct sp_lease){ &mutex_ops, mutex };
	return 0;
}

static int take_of_instance(struct fault_ensure_call *call, const char *key,
			    struct sp_cancel *cancel, struct sp_lease *ret_lease,
			    struct sp_error *err)
{
	(void)key, (void)cancel, (void)err;
	return take_mutex(&call->ensure->lock, ret_lease);
}
ENSURE_HOOKS(lock_of_instance, .acquire = take_of_instance)

static int take_of_process(struct fault_ensure_call *call, const char *key,
			   struct sp_cancel *cancel, struct sp_lease *ret_lease,
			   struct sp_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)call, (void)key, (void)cancel, (void)err;
	return take_mutex(&mutex, ret_lease);
}
ENSURE_HOOKS(lock_of_process, .acquire = take_of_process)

/* ---- Names ---- */

static int take_one(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		    struct sp_lease *ret_lease, struct sp_error *err)
{
	(void)key;
	return sp_lock_acquire(call->asked->lock, "sandbox:", cancel, ret_lease, err);
}
ENSURE_HOOKS(one_lock, .acquire = take_one)

static int take_bare(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		     struct sp_lease *ret_lease, struct sp_error *err)
{
	const char *colon = strchr(key, ':');

	return sp_lock_acquire(call->asked->lock, colon ? colon + 1 : key, cancel, ret_lease, err);
}
ENSURE_HOOKS(lock_bare, .acquire = take_bare)

/* ---- Destroying without it ---- */

static int destroy_unlocked(struct fault_ensure_call *call, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	int rc;

	if (!fault_has_record(call, &record))
		return 0;
	rc = fault_asked_remove(call, record.provider_sandbox_id, NULL, err);
	return rc ? rc : sp_store_del(call->asked->store, call->key, NULL, err);
}
ENSURE_HOOKS(destroys_unlocked, .destroy = destroy_unlocked)

/* ---- Errors, leases, fences ---- */

static int take_or_go_on(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
			 struct sp_lease *ret_lease, struct sp_error *err)
{
	(void)err;
	if (sp_lock_acquire(call->asked->lock, key, cancel, ret_lease, NULL))
		*ret_lease = fault_empty_lease();
	return 0;
}
ENSURE_HOOKS(ignores_lock_error, .acquire = take_or_go_on)

/* A lease whose end is the call's business: kept after a failure. */
static void no_release(void *self)
{
	(void)self;
}

static const struct sp_lease_ops kept_ops = { .version = SP_LEASE_VERSION,
					      .release = no_release };

static int take_to_keep(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
			struct sp_lease *ret_lease, struct sp_error *err)
{
	int rc = sp_lock_acquire(call->asked->lock, key, cancel, &call->lease, err);

	if (!rc)
		*ret_lease = (struct sp_lease){ &kept_ops, call };
	return rc;
}

static int release_after_success(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
				 enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	(void)sandbox, (void)outcome, (void)err;
	if (!rc)
		sp_lease_done(&call->lease);
	return rc;
}
ENSURE_HOOKS(keeps_lock, .acquire = take_to_keep, .after = release_after_success)

/* Given back before the record is written. */
static int upsert_unlocked(struct fault_ensure_call *call, struct sp_record *record,
			   const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	sp_lease_done(&call->lease);
	return fault_asked_upsert(call, record, fence, cancel, err);
}

static int release_at_last(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
			   enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	(void)sandbox, (void)outcome, (void)err;
	sp_lease_done(&call->lease);
	return rc;
}
ENSURE_HOOKS(unlocks_early, .acquire = take_to_keep, .upsert = upsert_unlocked,
	     .after = release_at_last)

/* The same lease without its signal. */
static void deaf_release(void *self)
{
	sp_lease_done(&((struct fault_ensure_call *)self)->lease);
}

static const struct sp_lease_ops deaf_ops = { .version = SP_LEASE_VERSION,
					      .release = deaf_release };

static int take_deaf(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
		     struct sp_lease *ret_lease, struct sp_error *err)
{
	int rc = sp_lock_acquire(call->asked->lock, key, cancel, &call->lease, err);

	if (!rc)
		*ret_lease = (struct sp_lease){ &deaf_ops, call };
	return rc;
}
ENSURE_HOOKS(ignores_lost_lease, .acquire = take_deaf)

static int bootstrap_under_caller(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	(void)cancel;
	return call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, call->asked->cancel,
				      err);
}
ENSURE_HOOKS(lost_lease_late, .bootstrap = bootstrap_under_caller)

static int upsert_without_fence(struct fault_ensure_call *call, struct sp_record *record,
				const uint64_t *fence, struct sp_cancel *cancel,
				struct sp_error *err)
{
	(void)fence;
	return fault_asked_upsert(call, record, NULL, cancel, err);
}
ENSURE_HOOKS(no_fence, .upsert = upsert_without_fence)

/* ---- What the lock itself declares ---- */

static void one_process(struct sp_lock_capabilities *capabilities)
{
	capabilities->multi_process = false;
}

static const struct fault_lock_hooks of_one_process = { .capabilities = one_process };
FAULT_WRAP_LOCK(wrap_of_one_process, of_one_process)

static const struct sp_fault faults[] = {
	{
		.version = SP_FAULT_VERSION,
		.id = "lock-of-one-process",
		.summary = "A lock that excludes only within its process stands beside a shared "
			   "store.",
		.sources = SOURCES("contract:C185"),
		.clause = "ensure N13",
		.cases = SOURCES("ensure.needs.pairing"),
		.seam = SP_FAULT_LOCK,
		.wrap_lock = wrap_of_one_process,
	},
	ENSURE_FAULT("ensure-no-lock", no_lock, "N7", "No lock is taken.",
		     SOURCES("contract:C277", "contract:C184", "field:L11"), "ensure.race.threads"),
	ENSURE_FAULT("ensure-lock-of-instance", lock_of_instance, "N7",
		     "Each instance has a lock of its own.", SOURCES("contract:C185"),
		     "ensure.race.instances"),
	ENSURE_FAULT("ensure-lock-of-process", lock_of_process, "N7",
		     "Each process has a lock of its own.", SOURCES("contract:C185", "field:L11"),
		     "ensure.race.processes"),
	ENSURE_FAULT("ensure-one-lock", one_lock, "N7", "All keys share one lock.",
		     SOURCES("contract:C187"), "ensure.race.keys"),
	ENSURE_FAULT("ensure-destroy-unlocked", destroys_unlocked, "N7",
		     "destroy() takes no lock.", SOURCES("contract:C283"), "ensure.race.destroy"),
	ENSURE_FAULT("ensure-ignores-lock-error", ignores_lock_error, "N8",
		     "A lock that cannot be had is done without.", SOURCES("contract:C184"),
		     "ensure.fail.lock"),
	ENSURE_FAULT("ensure-keeps-lock", keeps_lock, "N8",
		     "The lock is not given back after a failure.", SOURCES("contract:C186"),
		     "ensure.fail.lock-free"),
	ENSURE_FAULT("ensure-lock-bare", lock_bare, "N14", "The lock's name is the bare key.",
		     SOURCES("contract:C184"), "ensure.lock.name"),
	ENSURE_FAULT("ensure-unlocks-early", unlocks_early, "N14",
		     "The lock is given back before the record is written.",
		     SOURCES("contract:C184", "contract:C284"), "ensure.lock.name"),
	ENSURE_FAULT("ensure-no-fence", no_fence, "N14", "Records carry no fence.",
		     SOURCES("field:T11"), "ensure.lock.fence"),
	ENSURE_FAULT("ensure-ignores-lost-lease", ignores_lost_lease, "N14",
		     "The loss of the lease is not noticed.", SOURCES("field:T11", "field:L22"),
		     "ensure.lock.lost"),
	ENSURE_FAULT("ensure-lost-lease-late", lost_lease_late, "N14",
		     "The loss of the lease does not reach the bootstrap.", SOURCES("field:T11"),
		     "ensure.lock.lost-reaches"),
};
FAULT_TABLE(fault_ensure_lock, faults);
