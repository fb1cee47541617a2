/* SPDX-License-Identifier: MIT */
/* Faults of the paths: create, resume, restore, and the record of each. */
#include "wrap_ensure.h"

#include <stdio.h>
#include <string.h>

/* ---- Create ---- */

static int upsert_without_run(struct fault_ensure_call *call, struct sp_record *record,
			      const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	record->latest_run_id = NULL;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(without_run, .upsert = upsert_without_run)

static int upsert_in_seconds(struct fault_ensure_call *call, struct sp_record *record,
			     const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	record->updated_at /= 1000;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(in_seconds, .upsert = upsert_in_seconds)

static int record_first(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
			struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record record = {
		.key = call->key,
		.provider = (char *)sp_provider_name(call->asked->provider),
		.provider_sandbox_id = call->id,
		.thread_id = (char *)call->asked->thread_id,
	};

	(void)fault_asked_upsert(call, &record, NULL, cancel, NULL);
	return call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, cancel, err);
}
ENSURE_HOOKS(records_first, .bootstrap = record_first)

static int bootstrap_again(struct fault_ensure_call *call, int rc, struct sp_sandbox *sandbox,
			   enum sp_ensure_outcome *outcome, struct sp_error *err)
{
	if (!rc && *outcome == SP_ENSURE_RESUMED && call->asked->bootstrap)
		(void)call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, NULL, err);
	return rc;
}
ENSURE_HOOKS(bootstraps_again, .after = bootstrap_again)

static int create_without_env(struct fault_ensure_call *call, struct sp_create_options *options,
			      struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	options->n_env = 0;
	return sp_provider_create(call->asked->provider, options, ret_sandbox, err);
}
ENSURE_HOOKS(without_env, .create = create_without_env)

static int create_without_network(struct fault_ensure_call *call, struct sp_create_options *options,
				  struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	options->network = SP_NETWORK_DEFAULT;
	return sp_provider_create(call->asked->provider, options, ret_sandbox, err);
}
ENSURE_HOOKS(without_network, .create = create_without_network)

/* The bootstrap is then in no snapshot. */
static void ask_no_snapshot(struct fault_ensure_call *call)
{
	call->options.snapshot_after_setup = false;
}

static int snapshot_then_bootstrap(struct fault_ensure_call *call, struct sp_sandbox *sandbox,
				   struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	int rc = call->asked->snapshot_after_setup
			 ? sp_sandbox_snapshot(sandbox, "after-setup", &ref, cancel, err)
			 : 0;

	snprintf(call->text, sizeof(call->text), "%s", ref.id ? ref.id : "");
	return rc ? rc
		  : call->asked->bootstrap(call->asked->bootstrap_arg, sandbox, cancel, err);
}

static int upsert_early_snapshot(struct fault_ensure_call *call, struct sp_record *record,
				 const uint64_t *fence, struct sp_cancel *cancel,
				 struct sp_error *err)
{
	if (call->text[0])
		record->latest_snapshot_id = call->text;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(snapshots_early, .before = ask_no_snapshot, .bootstrap = snapshot_then_bootstrap,
	     .upsert = upsert_early_snapshot)

static int create_without_id(struct fault_ensure_call *call, struct sp_create_options *options,
			     struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	options->id = NULL;
	return sp_provider_create(call->asked->provider, options, ret_sandbox, err);
}
ENSURE_HOOKS(without_id, .create = create_without_id)

static int upsert_without_snapshot(struct fault_ensure_call *call, struct sp_record *record,
				   const uint64_t *fence, struct sp_cancel *cancel,
				   struct sp_error *err)
{
	record->latest_snapshot_id = NULL;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(forgets_snapshot, .upsert = upsert_without_snapshot)

static void skip_snapshot(struct fault_ensure_call *call)
{
	if (!sp_provider_capabilities(call->asked->provider)->snapshots)
		call->options.snapshot_after_setup = false;
}
ENSURE_HOOKS(skips_snapshot, .before = skip_snapshot)

/* ---- Resume ---- */

static int find_nothing(struct fault_ensure_call *call, const char *key,
			struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
			struct sp_error *err)
{
	(void)call, (void)key, (void)ret_record, (void)cancel, (void)err;
	*ret_found = false;
	return 0;
}
ENSURE_HOOKS(always_creates, .get = find_nothing)

static int upsert_unless_resumed(struct fault_ensure_call *call, struct sp_record *record,
				 const uint64_t *fence, struct sp_cancel *cancel,
				 struct sp_error *err)
{
	return call->resumed ? 0 : fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(resume_unrecorded, .upsert = upsert_unless_resumed)

static int resume_by_key(struct fault_ensure_call *call, const char *id,
			 struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	(void)id;
	return sp_provider_resume(call->asked->provider, call->key, ret_sandbox, cancel, err);
}
ENSURE_HOOKS(resumes_by_key, .resume = resume_by_key)

/* A cache in the process, which nobody else's write reaches. */
static int get_remembered(struct fault_ensure_call *call, const char *key,
			  struct sp_record *ret_record, bool *ret_found, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	struct fault_ensure *ensure = call->ensure;
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found && ensure->key && strcmp(ensure->key, key) == 0)
		fault_set_text(&ret_record->provider_sandbox_id, ensure->text);
	return rc;
}

static int upsert_remembered(struct fault_ensure_call *call, struct sp_record *record,
			     const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	fault_set_text(&call->ensure->key, record->key);
	fault_set_text(&call->ensure->text, record->provider_sandbox_id);
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(remembers, .get = get_remembered, .upsert = upsert_remembered)

static void drop_env_of_resume(struct fault_ensure_call *call)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (fault_has_record(call, &record))
		call->options.n_env = 0;
}
ENSURE_HOOKS(env_stays, .before = drop_env_of_resume)

static int upsert_drops_resumed(struct fault_ensure_call *call, struct sp_record *record,
				const uint64_t *fence, struct sp_cancel *cancel,
				struct sp_error *err)
{
	if (call->resumed)
		record->latest_snapshot_id = NULL;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(resume_drops_snapshot, .upsert = upsert_drops_resumed)

static int error_is_gone(struct fault_ensure_call *call, const char *id,
			 struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	(void)err;
	if (sp_provider_resume(call->asked->provider, id, ret_sandbox, cancel, NULL))
		*ret_sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
	return 0;
}
ENSURE_HOOKS(errors_are_gone, .resume = error_is_gone)

static int gone_is_error(struct fault_ensure_call *call, const char *id,
			 struct sp_sandbox *ret_sandbox, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	int rc = sp_provider_resume(call->asked->provider, id, ret_sandbox, cancel, err);

	return !rc && !ret_sandbox->ops ? sp_error_set(err, SP_GONE, "%s is gone", id) : rc;
}
ENSURE_HOOKS(gone_is_an_error, .resume = gone_is_error)

static int upsert_merged(struct fault_ensure_call *call, struct sp_record *record,
			 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;

	if (!record->latest_snapshot_id && fault_has_record(call, &old))
		record->latest_snapshot_id = old.latest_snapshot_id;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(record_merged, .upsert = upsert_merged)

/* ---- Restore ---- */

static int get_without_snapshot(struct fault_ensure_call *call, const char *key,
				struct sp_record *ret_record, bool *ret_found,
				struct sp_cancel *cancel, struct sp_error *err)
{
	int rc = fault_asked_get(call, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found)
		fault_set_text(&ret_record->latest_snapshot_id, NULL);
	return rc;
}
ENSURE_HOOKS(never_restores, .get = get_without_snapshot)

static int upsert_drops_restored(struct fault_ensure_call *call, struct sp_record *record,
				 const uint64_t *fence, struct sp_cancel *cancel,
				 struct sp_error *err)
{
	if (call->restored)
		record->latest_snapshot_id = NULL;
	return fault_asked_upsert(call, record, fence, cancel, err);
}
ENSURE_HOOKS(restore_drops_snapshot, .upsert = upsert_drops_restored)

static int restore_without_env(struct fault_ensure_call *call, const char *snapshot_id,
			       struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			       struct sp_error *err)
{
	options->n_env = 0;
	return sp_provider_restore(call->asked->provider, snapshot_id, options, ret_sandbox, err);
}
ENSURE_HOOKS(restores_without_env, .restore = restore_without_env)

static int restore_without_network(struct fault_ensure_call *call, const char *snapshot_id,
				   struct sp_create_options *options,
				   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	options->network = SP_NETWORK_DEFAULT;
	return sp_provider_restore(call->asked->provider, snapshot_id, options, ret_sandbox, err);
}
ENSURE_HOOKS(restores_without_network, .restore = restore_without_network)

static int restore_or_create(struct fault_ensure_call *call, const char *snapshot_id,
			     struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			     struct sp_error *err)
{
	if (!sp_provider_restore(call->asked->provider, snapshot_id, options, ret_sandbox, NULL))
		return 0;
	return sp_provider_create(call->asked->provider, options, ret_sandbox, err);
}
ENSURE_HOOKS(restore_error_creates, .restore = restore_or_create)

static int restore_stuck(struct fault_ensure_call *call, const char *snapshot_id,
			 struct sp_create_options *options, struct sp_sandbox *ret_sandbox,
			 struct sp_error *err)
{
	int rc = sp_provider_restore(call->asked->provider, snapshot_id, options, ret_sandbox, err);

	return rc == SP_GONE ? sp_error_set(err, SP_IO, "cannot restore %s", snapshot_id) : rc;
}
ENSURE_HOOKS(restores_stuck, .restore = restore_stuck)

static const struct sp_fault faults[] = {
	ENSURE_FAULT("ensure-record-without-run", without_run, "N2", "Records have no run.",
		     SOURCES("contract:C182"), "ensure.create.record"),
	ENSURE_FAULT("ensure-record-in-seconds", in_seconds, "N2",
		     "updated_at is written in seconds.", SOURCES("field:T09"),
		     "ensure.create.record"),
	ENSURE_FAULT("ensure-records-first", records_first, "N2",
		     "The record is written before the bootstrap.", SOURCES("contract:C184"),
		     "ensure.create.bootstrap"),
	ENSURE_FAULT("ensure-bootstraps-again", bootstraps_again, "N2",
		     "The bootstrap runs after every resume.", SOURCES("contract:C182"),
		     "ensure.create.bootstrap"),
	ENSURE_FAULT("ensure-create-without-env", without_env, "N2",
		     "The variables do not reach create().", SOURCES("contract:C100"),
		     "ensure.create.wishes"),
	ENSURE_FAULT("ensure-create-without-id", without_id, "N2",
		     "The key does not reach create().", SOURCES("contract:C162", "field:L11"),
		     "ensure.create.wishes"),
	ENSURE_FAULT("ensure-create-without-network", without_network, "N2",
		     "The network that was asked for does not reach create().",
		     SOURCES("field:N01"), "ensure.create.wishes"),
	ENSURE_FAULT("ensure-snapshots-early", snapshots_early, "N2",
		     "The snapshot after the set-up is taken before it.", SOURCES("contract:C194"),
		     "ensure.create.snapshot"),
	ENSURE_FAULT("ensure-forgets-snapshot", forgets_snapshot, "N2",
		     "The snapshot after the set-up is in no record.", SOURCES("contract:C194"),
		     "ensure.create.snapshot"),
	ENSURE_FAULT("ensure-skips-snapshot", skips_snapshot, "N2",
		     "A snapshot that the provider cannot take is left out silently.",
		     SOURCES("field:L10"), "ensure.create.unsupported"),
	ENSURE_FAULT("ensure-always-creates", always_creates, "N3", "Every ensure makes a sandbox.",
		     SOURCES("contract:C184", "field:L11"), "ensure.resume.same"),
	ENSURE_FAULT("ensure-resume-unrecorded", resume_unrecorded, "N3",
		     "A resume writes no record.", SOURCES("contract:C182"), "ensure.resume.same"),
	ENSURE_FAULT("ensure-resumes-by-key", resumes_by_key, "N3",
		     "The key is resumed and not the stored id.", SOURCES("contract:C182"),
		     "ensure.resume.stored-id"),
	ENSURE_FAULT("ensure-remembers", remembers, "N3",
		     "The sandbox is remembered in the process and not looked up.",
		     SOURCES("contract:C182", "field:L04"), "ensure.resume.stored-id"),
	ENSURE_FAULT("ensure-env-stays", env_stays, "N3",
		     "A resumed sandbox keeps its old variables.", SOURCES("contract:C100"),
		     "ensure.resume.env"),
	ENSURE_FAULT("ensure-resume-drops-snapshot", resume_drops_snapshot, "N3",
		     "A resume writes the record without its snapshot.", SOURCES("field:T01"),
		     "ensure.resume.snapshot-kept"),
	ENSURE_FAULT("ensure-error-is-gone", errors_are_gone, "N4",
		     "Every error of resume() is taken for absence.",
		     SOURCES("field:L09", "field:L23", "contract:C170"), "ensure.error.resume",
		     "ensure.error.backend"),
	ENSURE_FAULT("ensure-gone-is-an-error", gone_is_an_error, "N5",
		     "A sandbox that is gone for good is an error for ever.",
		     SOURCES("contract:C170", "field:L10"), "ensure.gone.recreate"),
	ENSURE_FAULT("ensure-record-merged", record_merged, "N5",
		     "The new record keeps the snapshot of the old one.",
		     SOURCES("contract:C177", "field:T01"), "ensure.gone.full-replace"),
	ENSURE_FAULT("ensure-never-restores", never_restores, "N6",
		     "The snapshot of the record is not used.", SOURCES("contract:C100"),
		     "ensure.restore.snapshot"),
	ENSURE_FAULT("ensure-restore-drops-snapshot", restore_drops_snapshot, "N6",
		     "A restore writes the record without its snapshot.", SOURCES("field:T01"),
		     "ensure.restore.snapshot"),
	ENSURE_FAULT("ensure-restore-without-env", restores_without_env, "N6",
		     "The variables do not reach restore().",
		     SOURCES("contract:C100", "contract:C125"), "ensure.restore.wishes"),
	ENSURE_FAULT("ensure-restore-without-network", restores_without_network, "N6",
		     "The network that was asked for does not reach restore().",
		     SOURCES("contract:C125"), "ensure.restore.wishes"),
	ENSURE_FAULT("ensure-restore-error-creates", restore_error_creates, "N6",
		     "An error of restore() makes an empty sandbox.", SOURCES("field:L09"),
		     "ensure.restore.error"),
	ENSURE_FAULT("ensure-restore-stuck", restores_stuck, "N6",
		     "A snapshot that is gone is an error for ever.", SOURCES("field:L10"),
		     "ensure.restore.lost-snapshot"),
};
FAULT_TABLE(fault_ensure_paths, faults);
