/* SPDX-License-Identifier: MIT */
/* Faults of what a failure or an abort leaves. */
#include "wrap_ensure.h"

#include <stdio.h>
#include <string.h>

/* ---- Steps whose failure is not told ---- */

static int get_or_none(struct fault_ensure_call *call, const char *key,
		       struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	(void)err;
	if (fault_asked_get(call, key, ret_record, ret_found, cancel, NULL))
		*ret_found = false;
	return 0;
}
ENSURE_HOOKS(look_up_error_is_none, .get = get_or_none)

static int create_or_record(struct fault_ensure_call *call, struct sp_create_options *options,
			    struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct sp_record record = {
		.key = call->key,
		.provider = (char *)sp_provider_name(call->asked->provider),
		.provider_sandbox_id = call->key,
		.thread_id = (char *)call->asked->thread_id,
	};
	int rc = sp_provider_create(call->asked->provider, options, ret_sandbox, err);

	if (rc)
		(void)fault_asked_upsert(call, &record, NULL, NULL, NULL);
	return rc;
}
ENSURE_HOOKS(records_failed_create, .create = create_or_record)

static int bootstrap_or_not(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	(void)err;
	(void)call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, cancel, NULL);
	return 0;
}
ENSURE_HOOKS(bootstrap_error_ignored, .bootstrap = bootstrap_or_not)

static int create_again(struct fault_ensure_call *call, struct sp_create_options *options,
			struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	int rc = sp_provider_create(call->asked->provider, options, ret_sandbox, err);

	return rc ? sp_provider_create(call->asked->provider, options, ret_sandbox, err) : 0;
}
ENSURE_HOOKS(retries_create, .create = create_again)

static int upsert_unknown_is_done(struct fault_ensure_call *call, struct sp_record *record,
				  const uint64_t *fence, struct sp_cancel *cancel,
				  struct sp_error *err)
{
	int rc = fault_asked_upsert(call, record, fence, cancel, err);

	return rc == SP_UNKNOWN_OUTCOME ? 0 : rc;
}
ENSURE_HOOKS(unknown_is_done, .upsert = upsert_unknown_is_done)

static int upsert_or_not(struct fault_ensure_call *call, struct sp_record *record,
			 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)err;
	(void)fault_asked_upsert(call, record, fence, cancel, NULL);
	return 0;
}
ENSURE_HOOKS(upsert_error_ignored, .upsert = upsert_or_not)

/* ---- What is left ---- */

static int remove_nothing(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	(void)call, (void)id, (void)cancel, (void)err;
	return 0;
}
ENSURE_HOOKS(leaks, .remove = remove_nothing)

/* Only the bootstrap has a clean-up. */
static int remove_after_bootstrap(struct fault_ensure_call *call, const char *id,
				  struct sp_cancel *cancel, struct sp_error *err)
{
	return call->bootstrap_failed ? fault_asked_remove(call, id, cancel, err) : 0;
}
ENSURE_HOOKS(leaks_late, .remove = remove_after_bootstrap)

static int delete_no_snapshot(struct fault_ensure_call *call, const char *snapshot_id,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	(void)call, (void)snapshot_id, (void)cancel, (void)err;
	return 0;
}
ENSURE_HOOKS(leaks_snapshot, .snapshot_delete = delete_no_snapshot)

static int kill_after_failure(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
			      enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	(void)sandbox, (void)outcome, (void)err;
	if (rc && call->resumed && fault_has_record(call, &record))
		(void)fault_asked_remove(call, record.provider_sandbox_id, NULL, NULL);
	return rc;
}
ENSURE_HOOKS(late_failure_kills, .after = kill_after_failure)

static int last_error(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
		      enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	(void)sandbox, (void)outcome;
	return rc && call->remove_rc ?
		       sp_error_set(err, (enum sp_code)call->remove_rc, "the clean-up failed") :
		       rc;
}
ENSURE_HOOKS(last_error_wins, .after = last_error)

/* ---- Aborts ---- */

static void hear_nothing(struct fault_ensure_call *call)
{
	call->options.cancel = NULL;
}
ENSURE_HOOKS(deaf, .before = hear_nothing)

static int remove_under_request(struct fault_ensure_call *call, const char *id,
				struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = sp_cancel_check(call->asked->cancel, err);

	return rc ? rc : fault_asked_remove(call, id, cancel, err);
}
ENSURE_HOOKS(cleanup_under_request, .remove = remove_under_request)

static int bootstrap_deaf(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	(void)cancel;
	return call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, NULL, err);
}
ENSURE_HOOKS(bootstraps_deaf, .bootstrap = bootstrap_deaf)

static void watch_nothing(void *arg)
{
	(void)arg;
}

static int leave_watcher(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
			 enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	uint64_t id;

	(void)sandbox, (void)outcome, (void)err;
	(void)sp_cancel_watch(call->asked->cancel, watch_nothing, NULL, &id);
	return rc;
}
ENSURE_HOOKS(watcher_left, .after = leave_watcher)

/* ---- Records that are too old ---- */

static void bad_age_is_none(struct fault_ensure_call *call)
{
	const char *text = call->asked->max_age;
	size_t digits = text ? strspn(text, "0123456789") : 0;

	if (!digits || (strcmp(text + digits, "h") && strcmp(text + digits, "m")) || digits > 6 ||
	    strspn(text, "0") == digits)
		call->options.max_age = NULL;
}
ENSURE_HOOKS(bad_ages_are_none, .before = bad_age_is_none)

static void ignore_age(struct fault_ensure_call *call)
{
	call->options.max_age = NULL;
}
ENSURE_HOOKS(age_ignored, .before = ignore_age)

static void hours_are_minutes(struct fault_ensure_call *call)
{
	char *unit;

	if (!call->asked->max_age)
		return;
	snprintf(call->text, sizeof(call->text), "%s", call->asked->max_age);
	unit = strchr(call->text, 'h');
	if (unit)
		*unit = 'm';
	call->options.max_age = call->text;
}
ENSURE_HOOKS(hours_as_minutes, .before = hours_are_minutes)

/* What goes before a new sandbox is there is the old one. */
static int leave_old(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	return call->id[0] ? fault_asked_remove(call, id, cancel, err) : 0;
}
ENSURE_HOOKS(expired_left, .remove = leave_old)

static int leave_old_snapshot(struct fault_ensure_call *call, const char *snapshot_id,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	return call->id[0] ? sp_provider_snapshot_delete(call->asked->provider, snapshot_id, cancel,
							 err) :
			     0;
}
ENSURE_HOOKS(expired_snapshot_left, .snapshot_delete = leave_old_snapshot)

static int remove_blindly(struct fault_ensure_call *call, const char *id, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	(void)err;
	(void)fault_asked_remove(call, id, cancel, NULL);
	return 0;
}
ENSURE_HOOKS(expired_blind, .remove = remove_blindly)

static int delete_blindly(struct fault_ensure_call *call, const char *snapshot_id,
			  struct sp_cancel *cancel, struct sp_error *err)
{
	(void)err;
	(void)sp_provider_snapshot_delete(call->asked->provider, snapshot_id, cancel, NULL);
	return 0;
}
ENSURE_HOOKS(snapshot_error_ignored, .snapshot_delete = delete_blindly)

/* ---- Destroying ---- */

static int delete_nothing(struct fault_ensure_call *call, const char *key, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	(void)call, (void)key, (void)cancel, (void)err;
	return 0;
}
ENSURE_HOOKS(destroy_keeps_record, .del = delete_nothing)

static int forget_then_destroy(struct fault_ensure_call *call, struct sp_error *err)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (!fault_has_record(call, &record))
		return 0;
	(void)sp_store_del(call->asked->store, call->key, NULL, NULL);
	return fault_asked_remove(call, record.provider_sandbox_id, NULL, err);
}
ENSURE_HOOKS(destroy_forgets_first, .destroy = forget_then_destroy)

static int destroy_under_request(struct fault_ensure_call *call, struct sp_error *err)
{
	struct sp_ensure *inner = &call->ensure->inner;
	int rc = sp_cancel_check(call->asked->cancel, err);

	return rc ? rc : inner->ops->destroy(inner->self, &call->options, err);
}
ENSURE_HOOKS(destroys_under_request, .destroy = destroy_under_request)

/* ---- Falling back ---- */

static const struct sp_store_capabilities *no_store_capabilities(void *self)
{
	static const struct sp_store_capabilities nothing = SP_STORE_CAPABILITIES_INIT;

	(void)self;
	return &nothing;
}

static int no_store_get(void *self, const char *key, struct sp_record *ret_record, bool *ret_found,
			struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)key, (void)ret_record, (void)cancel, (void)err;
	*ret_found = false;
	return 0;
}

static int no_store_upsert(void *self, const struct sp_record *record, const uint64_t *fence,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)record, (void)fence, (void)cancel, (void)err;
	return 0;
}

static const struct sp_store_ops no_store = { .version = SP_STORE_VERSION,
					      .capabilities = no_store_capabilities,
					      .get = no_store_get,
					      .upsert = no_store_upsert };

static const struct sp_lock_capabilities *no_lock_capabilities(void *self)
{
	static const struct sp_lock_capabilities nothing = SP_LOCK_CAPABILITIES_INIT;

	(void)self;
	return &nothing;
}

static int no_lock_acquire(void *self, const char *key, struct sp_cancel *cancel,
			   struct sp_lease *ret_lease, struct sp_error *err)
{
	(void)self, (void)key, (void)cancel, (void)err;
	*ret_lease = fault_empty_lease();
	return 0;
}

static const struct sp_lock_ops no_lock = { .version = SP_LOCK_VERSION,
					    .capabilities = no_lock_capabilities,
					    .acquire = no_lock_acquire };

static void fall_back(struct fault_ensure_call *call)
{
	const struct sp_ensure_options *asked = call->asked;

	if (!asked->store || !asked->store->ops) {
		call->store = (struct sp_store){ &no_store, NULL };
		call->options.store = &call->store;
	}
	if (!asked->lock || !asked->lock->ops) {
		call->lock = (struct sp_lock){ &no_lock, NULL };
		call->options.lock = &call->lock;
	}
}
ENSURE_HOOKS(falls_back, .before = fall_back)

static const struct sp_fault faults[] = {
	ENSURE_FAULT("ensure-look-up-error-is-none", look_up_error_is_none, "N8",
		     "A store that cannot be read is taken for an empty one.",
		     SOURCES("field:T17", "field:L09"), "ensure.fail.look-up"),
	ENSURE_FAULT("ensure-records-failed-create", records_failed_create, "N8",
		     "A create that failed leaves a record.", SOURCES("contract:C194"),
		     "ensure.fail.create"),
	ENSURE_FAULT("ensure-bootstrap-error-ignored", bootstrap_error_ignored, "N8",
		     "A bootstrap that failed is taken for one that did not.",
		     SOURCES("field:L02"), "ensure.fail.bootstrap"),
	ENSURE_FAULT("ensure-retries-create", retries_create, "N8",
		     "A create that failed is tried once more, whatever became of the first.",
		     SOURCES("field:L01"), "ensure.fail.unknown"),
	ENSURE_FAULT("ensure-unknown-is-done", unknown_is_done, "N8",
		     "A record whose outcome is unknown counts as written.", SOURCES("field:T15"),
		     "ensure.fail.record-unknown"),
	ENSURE_FAULT("ensure-upsert-error-ignored", upsert_error_ignored, "N8",
		     "A record that could not be written is not told.", SOURCES("field:T15"),
		     "ensure.fail.resumed-record"),
	ENSURE_FAULT("ensure-leaks", leaks, "N8", "A failure removes nothing.",
		     SOURCES("field:L02", "contract:C194"), "ensure.fail.bootstrap"),
	ENSURE_FAULT("ensure-leaks-late", leaks_late, "N8",
		     "Only a failing bootstrap removes the sandbox.",
		     SOURCES("contract:C194", "field:L02"), "ensure.fail.snapshot",
		     "ensure.fail.record", "ensure.fail.restored-env",
		     "ensure.fail.restored-record", "ensure.lock.fenced-off"),
	ENSURE_FAULT("ensure-leaks-snapshot", leaks_snapshot, "N8",
		     "Snapshots that nothing leads to any more are left.", SOURCES("contract:C194"),
		     "ensure.fail.record", "ensure.destroy.all"),
	ENSURE_FAULT("ensure-late-failure-kills", late_failure_kills, "N8",
		     "A failure after a resume destroys the sandbox.",
		     SOURCES("field:L09"), "ensure.fail.resumed-env", "ensure.fail.resumed-record"),
	ENSURE_FAULT("ensure-last-error-wins", last_error_wins, "N8",
		     "The clean-up's error hides the first one.", SOURCES("field:L02"),
		     "ensure.fail.first-error"),
	ENSURE_FAULT("ensure-deaf", deaf, "N9", "The caller's cancel is not looked at.",
		     SOURCES("field:L01"), "ensure.abort.before", "ensure.abort.bootstrap",
		     "ensure.abort.waiting"),
	ENSURE_FAULT("ensure-cleanup-under-request", cleanup_under_request, "N9",
		     "The clean-up runs under the cancel that ended the work.",
		     SOURCES("field:L01"), "ensure.abort.bootstrap"),
	ENSURE_FAULT("ensure-bootstrap-deaf", bootstraps_deaf, "N9",
		     "The bootstrap gets no cancel.", SOURCES("field:L01"), "ensure.abort.hanging",
		     "ensure.abort.deadline"),
	ENSURE_FAULT("ensure-watcher-left", watcher_left, "N9",
		     "A watcher stays on the caller's cancel.", SOURCES("field:L01"),
		     "ensure.abort.watchers"),
	ENSURE_FAULT("ensure-bad-age-is-none", bad_ages_are_none, "N11",
		     "A duration that is not understood means no limit.", SOURCES("field:T10"),
		     "ensure.age.refused"),
	ENSURE_FAULT("ensure-age-ignored", age_ignored, "N11", "Records never get too old.",
		     SOURCES("field:T10"), "ensure.age.limit"),
	ENSURE_FAULT("ensure-hours-are-minutes", hours_as_minutes, "N11",
		     "Hours are read as minutes.", SOURCES("field:T10"), "ensure.age.limit"),
	ENSURE_FAULT("ensure-expired-left", expired_left, "N11",
		     "The sandbox of a record that is too old is left running.",
		     SOURCES("contract:C194", "field:L24"), "ensure.age.replaced"),
	ENSURE_FAULT("ensure-expired-snapshot-left", expired_snapshot_left, "N11",
		     "The snapshot of a record that is too old is left.", SOURCES("contract:C194"),
		     "ensure.age.replaced"),
	ENSURE_FAULT("ensure-expired-blind", expired_blind, "N11",
		     "An old sandbox that cannot be destroyed loses its record.",
		     SOURCES("field:L08"), "ensure.age.stuck"),
	ENSURE_FAULT("ensure-snapshot-error-ignored", snapshot_error_ignored, "N12",
		     "A snapshot that cannot be deleted loses its record.",
		     SOURCES("field:L08", "contract:C194"), "ensure.age.stuck",
		     "ensure.destroy.error"),
	ENSURE_FAULT("ensure-destroy-keeps-record", destroy_keeps_record, "N12",
		     "destroy() leaves the record.", SOURCES("field:L08"), "ensure.destroy.all"),
	ENSURE_FAULT("ensure-destroy-forgets-first", destroy_forgets_first, "N12",
		     "destroy() removes the record first.", SOURCES("contract:C229", "field:L08"),
		     "ensure.destroy.error"),
	ENSURE_FAULT("ensure-destroy-under-request", destroys_under_request, "N12",
		     "destroy() works under the request's cancel.", SOURCES("field:L01"),
		     "ensure.destroy.aborted"),
	ENSURE_FAULT("ensure-falls-back", falls_back, "N13",
		     "Without a store or a lock ensure goes on without.", SOURCES("contract:C185"),
		     "ensure.needs.store", "ensure.needs.lock"),
};
FAULT_TABLE(fault_ensure_failures, faults);
