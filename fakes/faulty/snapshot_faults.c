/* SPDX-License-Identifier: MIT */
/* Faults of the snapshot suite: replaced steps of the Render provider, then faults of any provider.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

/* ---- Steps ---- */

/* One file a command, so that no later command hides it. */
static void env_on_disk(struct sp_render_steps *steps)
{
	steps->shell.load_overlay = "[[ ! -e @D@/env ]]||{ . @D@/env;"
				    "command -p cp -- @D@/env /var/tmp/tsai-env.@ID@;};";
}

static void call_on_disk(struct sp_render_steps *steps)
{
	steps->shell.load_call_env = ". @D@/@ID@.env;command -p mv -- @D@/@ID@.env /var/tmp/;";
}

static void leaves_old_file(struct sp_render_steps *steps)
{
	steps->snapshot_wake = "true";
}

static void wakes_nobody(struct sp_render_steps *steps)
{
	steps->snapshot_wake = "";
}

static void always_hides(struct sp_render_steps *steps)
{
	steps->snapshot_wake = "command -p rm -rf -- /tmp/tsai @D@/env";
}

static void hides_nothing(struct sp_render_steps *steps)
{
	steps->snapshot_hide = "true";
}

static void not_alone(struct sp_render_steps *steps)
{
	steps->snapshot_alone = false;
}

/* Nothing waits for a start, and only the sandbox's own file is looked for. */
static void takes_sent(struct sp_render_steps *steps)
{
	steps->snapshot_alone = false;
	steps->snapshot_hide = "command -p rm -f -- @D@/env @D@/env.back";
}

static void no_write_back(struct sp_render_steps *steps)
{
	steps->snapshot_writes_back = false;
}

static void lost_by_write_back(struct sp_render_steps *steps)
{
	steps->snapshot_outlives_write_back = false;
}

static void failed_stays(struct sp_render_steps *steps)
{
	steps->snapshot_cleans_up = false;
}

static void lost_stays(struct sp_render_steps *steps)
{
	steps->snapshot_finds_lost = false;
}

static void loses_policy(struct sp_render_steps *steps)
{
	steps->restore_sends_policy = false;
}

static char *uncut_name(const char *label)
{
	char *name = NULL;

	return asprintf(&name, "tsai-%s", label ? label : "none") < 0 ? NULL : name;
}

static void label_uncut(struct sp_render_steps *steps)
{
	steps->snapshot_name = uncut_name;
}

static char *bytes_name(const char *label)
{
	char *name = NULL;

	return asprintf(&name, "tsai-%.59s", label ? label : "none") < 0 ? NULL : name;
}

static void label_by_bytes(struct sp_render_steps *steps)
{
	steps->snapshot_name = bytes_name;
}

/* ---- Any provider ---- */

static int empty_restore(struct sp_provider *inner, const char *snapshot_id SP_UNUSED,
			 const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			 struct sp_error *err)
{
	return sp_provider_create(inner, options, ret_inner, err);
}
static const struct fault_hooks restores_empty = {.restore = empty_restore};
FAULT_WRAP(wrap_restores_empty, restores_empty)

static int bare_restore(struct sp_provider *inner, const char *snapshot_id,
			const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			struct sp_error *err)
{
	struct sp_create_options changed = *options;

	changed.env = NULL;
	changed.n_env = 0;
	return sp_provider_restore(inner, snapshot_id, &changed, ret_inner, err);
}
static const struct fault_hooks loses_env = {.restore = bare_restore};
FAULT_WRAP(wrap_loses_env, loses_env)

/* The variables of a restore are exported by a command, and set as ever as well. */
static int env_in_text_restore(struct sp_provider *inner, const char *snapshot_id,
			       const struct sp_create_options *options,
			       struct sp_sandbox *ret_inner, struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_options exec = SP_EXEC_OPTIONS_INIT;
	int rc = sp_provider_restore(inner, snapshot_id, options, ret_inner, err);

	for (size_t i = 0; i < options->n_env; i++) {
		sp_buf_addf(&text, "export %s=", options->env[i].name);
		sp_buf_add_shell(&text, options->env[i].value);
		sp_buf_addc(&text, '\n');
	}
	exec.command = sp_buf_str(&text);
	exec.cancel = options->cancel;
	if (!rc)
		(void)sp_sandbox_exec(ret_inner, &exec, &result, NULL);
	return rc;
}
static const struct fault_hooks env_in_text = {.restore = env_in_text_restore};
FAULT_WRAP(wrap_env_in_text, env_in_text)

/* Whatever goes wrong, the caller gets a sandbox. */
static int falls_back_restore(struct sp_provider *inner, const char *snapshot_id,
			      const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			      struct sp_error *err)
{
	int rc = sp_provider_restore(inner, snapshot_id, options, ret_inner, err);

	return rc ? sp_provider_create(inner, options, ret_inner, err) : 0;
}
static const struct fault_hooks falls_back = {.restore = falls_back_restore};
FAULT_WRAP(wrap_falls_back, falls_back)

/* Restore in place: the first sandbox that lives. */
static int in_place_restore(struct sp_provider *inner, const char *snapshot_id,
			    const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			    struct sp_error *err)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc = sp_provider_list(inner, &list, options->cancel, err);

	if (rc || !list.len)
		return rc ? rc : sp_provider_restore(inner, snapshot_id, options, ret_inner, err);
	return sp_provider_resume(inner, list.ids[0], ret_inner, options->cancel, err);
}
static const struct fault_hooks is_source = {.restore = in_place_restore};
FAULT_WRAP(wrap_is_source, is_source)

static int noop_delete(struct sp_provider *inner SP_UNUSED, const char *snapshot_id SP_UNUSED,
		       struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	return 0;
}
static const struct fault_hooks delete_noop = {.snapshot_delete = noop_delete};
FAULT_WRAP(wrap_delete_noop, delete_noop)

static int silent_snapshot(struct fault_sandbox *sandbox, const char *label,
			   struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	if (!sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err))
		return 0;
	ret_ref->id = strdup("none/none");
	return ret_ref->id ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a fault");
}
static const struct fault_hooks error_silent = {.snapshot = silent_snapshot};
FAULT_WRAP(wrap_error_silent, error_silent)

static int cut_snapshot(struct fault_sandbox *sandbox, const char *label,
			struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			struct sp_error *err)
{
	int rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);

	if (!rc && ret_ref->label && strlen(ret_ref->label) > 59)
		ret_ref->label[59] = '\0';
	return rc;
}
static const struct fault_hooks label_cut = {.snapshot = cut_snapshot};
FAULT_WRAP(wrap_label_cut, label_cut)

/* Storage by the stored name: who has the name has the snapshot. `data`: "ID LABEL". */
static int by_label_snapshot(struct fault_sandbox *sandbox, const char *label,
			     struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	char *known = sandbox->data;
	size_t id_len = known ? strcspn(known, " ") : 0;
	int rc;

	if (known && label && !strncmp(known + id_len + 1, label, 59)) {
		ret_ref->id = strndup(known, id_len);
		ret_ref->label = strdup(label);
		return 0;
	}
	rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);
	if (rc || !label)
		return rc;
	free(known);
	if (asprintf((char **)&sandbox->data, "%s %s", ret_ref->id, label) < 0)
		sandbox->data = NULL;
	return 0;
}
static const struct fault_hooks by_label = {.snapshot = by_label_snapshot};
FAULT_WRAP(wrap_by_label, by_label)

/* One disk image a lineage: the first snapshot of this process is everybody's. */
static char *first_snapshot;

static int first_for_all(struct fault_sandbox *sandbox, const char *label,
			 struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			 struct sp_error *err)
{
	int rc;

	if (first_snapshot) {
		ret_ref->id = strdup(first_snapshot);
		ret_ref->label = label ? strdup(label) : NULL;
		return 0;
	}
	rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);
	if (!rc)
		first_snapshot = strdup(ret_ref->id);
	return rc;
}
static const struct fault_hooks second_is_first = {.snapshot = first_for_all};
FAULT_WRAP(wrap_second_is_first, second_is_first)

/* The newest snapshot that this process knows of, whoever asks. */
static pthread_mutex_t newest_lock = PTHREAD_MUTEX_INITIALIZER;
static char newest[512];

static int newest_snapshot(struct fault_sandbox *sandbox, const char *label,
			   struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	int rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&newest_lock);
	snprintf(newest, sizeof(newest), "%s", ret_ref->id);
	pthread_mutex_unlock(&newest_lock);
	return 0;
}

static int newest_restore(struct sp_provider *inner, const char *snapshot_id,
			  const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			  struct sp_error *err)
{
	char id[sizeof(newest)];

	pthread_mutex_lock(&newest_lock);
	snprintf(id, sizeof(id), "%s", *newest ? newest : snapshot_id);
	pthread_mutex_unlock(&newest_lock);
	return sp_provider_restore(inner, id, options, ret_inner, err);
}
static const struct fault_hooks newest_wins = {
    .snapshot = newest_snapshot, .restore = newest_restore};
FAULT_WRAP(wrap_newest_wins, newest_wins)

/* A capture that stops its source, which nobody tells the handle. */
static int stopping_snapshot(struct fault_sandbox *sandbox, const char *label,
			     struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
			     struct sp_error *err)
{
	int rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);

	if (!rc)
		atomic_store(&sandbox->count, 1);
	return rc;
}

/* The same, where a capture failed and nobody starts the sandbox again. */
static int failing_stops_snapshot(struct fault_sandbox *sandbox, const char *label,
				  struct sp_snapshot_ref *ret_ref, struct sp_cancel *cancel,
				  struct sp_error *err)
{
	int rc = sp_sandbox_snapshot(&sandbox->inner, label, ret_ref, cancel, err);

	if (rc)
		atomic_store(&sandbox->count, 1);
	return rc;
}

static int stopped_exec(struct fault_sandbox *sandbox, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	if (atomic_load(&sandbox->count))
		return sp_error_set(err, SP_UNAVAILABLE, "the sandbox is stopped");
	return sp_sandbox_exec(&sandbox->inner, options, ret_result, err);
}
static const struct fault_hooks stops = {.snapshot = stopping_snapshot, .exec = stopped_exec};
FAULT_WRAP(wrap_stops, stops)
static const struct fault_hooks failure_stops = {
    .snapshot = failing_stops_snapshot, .exec = stopped_exec};
FAULT_WRAP(wrap_failure_stops, failure_stops)

/* A reference is counted at each restore and never given back. */
static atomic_bool restored_once;

static int counting_restore(struct sp_provider *inner, const char *snapshot_id,
			    const struct sp_create_options *options, struct sp_sandbox *ret_inner,
			    struct sp_error *err)
{
	int rc = sp_provider_restore(inner, snapshot_id, options, ret_inner, err);

	if (!rc)
		atomic_store(&restored_once, true);
	return rc;
}

static int counting_delete(struct sp_provider *inner, const char *snapshot_id,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	/* Once: what cleans up after the case must succeed. */
	if (atomic_exchange(&restored_once, false))
		return sp_error_set(err, SP_CONFLICT, "the snapshot is in use");
	return sp_provider_snapshot_delete(inner, snapshot_id, cancel, err);
}
static const struct fault_hooks delete_refused = {
    .restore = counting_restore, .snapshot_delete = counting_delete};
FAULT_WRAP(wrap_delete_refused, delete_refused)

static void claim_lock(struct sp_capabilities *capabilities)
{
	capabilities->snapshot_lock = true;
}
static const struct fault_hooks lock_claimed = {.capabilities = claim_lock};
FAULT_WRAP(wrap_lock_claimed, lock_claimed)

#define COMMON(id_, clause_, summary_, sources_, ...)                                              \
	.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,          \
	.clause = "snapshot " clause_, .cases = FAULT_LIST(__VA_ARGS__)
#define STEP(change_, ...)                                                                         \
	{                                                                                          \
		COMMON(__VA_ARGS__), .seam = SP_FAULT_RENDER_STEP, .change_steps = change_         \
	}
#define CALL(name_, ...)                                                                           \
	{                                                                                          \
		COMMON(__VA_ARGS__), .seam = SP_FAULT_PROVIDER, .wrap_provider = wrap_##name_      \
	}

static const struct sp_fault faults[] = {
    STEP(env_on_disk, "snapshot-env-on-disk", "S2", "The sandbox's variables lie on the disk.",
	 FAULT_LIST("render:9", "render:25", "contract:C102", "contract:C103", "field:S02",
		    "render:8"),
	 "snapshot.exclude.overlay", "snapshot.exclude.restored", "snapshot.foreign.filesystem"),
    STEP(call_on_disk, "snapshot-call-on-disk", "S2",
	 "A running command's own variables lie in a file on the disk.",
	 FAULT_LIST("contract:C104", "render:11"), "snapshot.exclude.call"),
    STEP(leaves_old_file, "snapshot-leaves-old-file", "S2",
	 "What an older version left on the disk stays there.", FAULT_LIST("render:14"),
	 "snapshot.exclude.old-overlay"),
    STEP(wakes_nobody, "snapshot-wakes-nobody", "S4",
	 "A snapshot is asked for without a command before it.",
	 FAULT_LIST("contract:C121", "render:14"), "snapshot.take.wakes"),
    STEP(always_hides, "snapshot-always-hides", "S3",
	 "The variables are taken out for every capture.", FAULT_LIST("contract:C109"),
	 "snapshot.foreign.in-place"),
    STEP(hides_nothing, "snapshot-hides-nothing", "S3",
	 "The variables stay in memory while it is captured.",
	 FAULT_LIST("render:25", "contract:C102", "render:10"), "snapshot.runtime.foreign-locked",
	 "snapshot.runtime.foreign"),
    STEP(not_alone, "snapshot-not-alone", "S3", "Commands start while the variables are away.",
	 FAULT_LIST("contract:C109", "render:12"), "snapshot.runtime.commands-wait",
	 "snapshot.runtime.sets-wait"),
    STEP(takes_sent, "snapshot-takes-what-was-sent", "S3",
	 "A capture does not wait for what was sent for a starting command.",
	 FAULT_LIST("contract:C104", "render:11"), "snapshot.runtime.starting"),
    STEP(no_write_back, "snapshot-forgets-to-write-back", "S3",
	 "The variables are not put back after a capture.", FAULT_LIST("render:10"),
	 "snapshot.runtime.written-back"),
    STEP(lost_by_write_back, "snapshot-lost-by-write-back", "S3",
	 "A failed write-back is the snapshot's answer.", FAULT_LIST("contract:C120", "render:13"),
	 "snapshot.runtime.write-back-fails"),
    STEP(label_uncut, "snapshot-label-uncut", "S5", "A label is sent as it is.",
	 FAULT_LIST("contract:C117", "render:23"), "snapshot.label.lengths"),
    STEP(label_by_bytes, "snapshot-label-cut-by-bytes", "S5",
	 "A label is cut after 59 bytes, wherever that is.",
	 FAULT_LIST("contract:C119", "render:23"), "snapshot.label.characters"),
    STEP(loses_policy, "snapshot-restore-loses-policy", "S6",
	 "A restore does not send the network policy.", FAULT_LIST("contract:C125", "render:24"),
	 "snapshot.restore.policy"),
    STEP(failed_stays, "snapshot-failed-stays", "S8",
	 "A snapshot that failed, or that nobody waits for, is left.",
	 FAULT_LIST("field:S14", "contract:C126"), "snapshot.fail.capture", "snapshot.fail.abort",
	 "snapshot.fail.dying"),
    STEP(lost_stays, "snapshot-lost-answer-stays", "S8",
	 "A snapshot whose answer was lost is not looked for.", FAULT_LIST("field:S14"),
	 "snapshot.fail.lost-answer"),
    CALL(restores_empty, "snapshot-restores-empty", "S1", "A restore gives an empty sandbox.",
	 FAULT_LIST("field:S07", "field:S10"), "snapshot.take.round-trip",
	 "snapshot.take.removed"),
    CALL(second_is_first, "snapshot-second-is-first", "S1",
	 "A later snapshot is the first one again.", FAULT_LIST("field:S05"),
	 "snapshot.take.cycles"),
    CALL(lock_claimed, "snapshot-lock-claimed", "S3",
	 "A lock in the sandbox is declared and there is none.", FAULT_LIST("contract:C103"),
	 "snapshot.runtime.foreign-declared"),
    CALL(label_cut, "snapshot-label-cut-in-reference", "S5", "The reference has the cut label.",
	 FAULT_LIST("contract:C117", "render:23"), "snapshot.label.lengths"),
    CALL(by_label, "snapshot-by-label", "S5", "Snapshots with one stored name are one.",
	 FAULT_LIST("contract:C118", "field:S15"), "snapshot.label.same",
	 "snapshot.label.same-start"),
    CALL(newest_wins, "snapshot-newest-wins", "S5",
	 "A restore takes the newest snapshot for the one that was named.",
	 FAULT_LIST("contract:C123"), "snapshot.label.same", "snapshot.label.same-start"),
    CALL(stops, "snapshot-stops-sandbox", "S1", "Taking a snapshot stops the sandbox.",
	 FAULT_LIST("field:S16"), "snapshot.take.round-trip"),
    CALL(failure_stops, "snapshot-failure-stops", "S8",
	 "After a snapshot that failed the sandbox stays stopped.", FAULT_LIST("contract:C122"),
	 "snapshot.fail.capture"),
    CALL(delete_refused, "snapshot-delete-refused", "S7",
	 "What was restored once cannot be deleted.", FAULT_LIST("field:S22"),
	 "snapshot.delete.idempotent"),
    CALL(loses_env, "snapshot-restore-loses-env", "S6",
	 "The variables of a restore reach no command.", FAULT_LIST("contract:C100", "render:24"),
	 "snapshot.restore.today"),
    CALL(env_in_text, "snapshot-restore-env-in-text", "S6",
	 "The variables of a restore stand in a command's text.",
	 FAULT_LIST("contract:C94", "contract:C100"), "snapshot.restore.secrecy"),
    CALL(is_source, "snapshot-restore-is-source", "S7",
	 "A restore gives a sandbox that is there already.", FAULT_LIST("field:S20"),
	 "snapshot.restore.independent"),
    CALL(falls_back, "snapshot-restore-falls-back", "S7",
	 "A restore that fails gives an empty sandbox.", FAULT_LIST("field:S10"),
	 "snapshot.restore.unknown", "snapshot.fail.restore"),
    CALL(delete_noop, "snapshot-delete-noop", "S7",
	 "Deleting a snapshot answers success and deletes nothing.", FAULT_LIST("field:S21"),
	 "snapshot.delete.idempotent"),
    CALL(error_silent, "snapshot-error-silent", "S8",
	 "A snapshot that could not be taken answers success.", FAULT_LIST("field:S14"),
	 "snapshot.fail.gone", "snapshot.fail.dying"),
};

FAULT_TABLE(fault_snapshot, faults);
