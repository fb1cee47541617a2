/* SPDX-License-Identifier: MIT */
/* The records of the ensure suite: what each case demands, why, and how it sees the defect. */
#include <suites/ensure/cases.h>
#include <suites/ensure/ensure.h>

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "ensure.key.golden",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-key-forgets-tenant"),
		.requirement = "The key of known inputs is the published one, byte for byte.",
		.rationale = "A store is shared with other implementations; a key that differs "
			     "makes a "
			     "second sandbox (contract:C191).",
		.detection = "Seven golden vectors, with a tenant, an undefined member, other "
			     "alphabets "
			     "and one sandbox a run.",
		.run = ensure_key_golden,
	},
	{
		.id = "ensure.key.canonical",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-key-as-written"),
		.requirement = "The key depends on what a workspace says and not on how it is "
			       "written.",
		.rationale = "Member order, blanks and escapes differ between writers of the same "
			     "value; "
			     "an undefined member does count (contract:C191).",
		.detection = "Pairs of workspaces whose keys must be equal, or must differ.",
		.run = ensure_key_canonical,
	},
	{
		.id = "ensure.key.refused",
		SP_CASE_HERE,
		.clause = "N1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-key-of-anything"),
		.requirement = "A key whose parts are missing or are not what they have to be is "
			       "refused, "
			       "and nothing is made.",
		.rationale = "A key without a thread would be everybody's; secrets in a workspace "
			     "would be "
			     "hashed and handed on.",
		.detection = "Eight wrong inputs: *invalid*, and no create.",
		.run = ensure_key_refused,
	},
	{
		.id = "ensure.create.record",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-record-without-run", "ensure-record-in-seconds"),
		.requirement = "A key without a record gets one sandbox and a whole record of it.",
		.rationale = "What is missing in the record cannot be resumed, restored or told "
			     "apart "
			     "later.",
		.detection = "Every field of the stored record.",
		.run = ensure_create_record,
	},
	{
		.id = "ensure.create.bootstrap",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-records-first", "ensure-bootstraps-again"),
		.requirement = "The bootstrap runs once, in the new sandbox, before there is a "
			       "record of it.",
		.rationale = "A record of a sandbox that is not set up sends the next caller into "
			     "it; a "
			     "second bootstrap overwrites work.",
		.detection = "The bootstrap looks at the store and leaves a file; a second ensure "
			     "does not "
			     "call it.",
		.run = ensure_create_bootstrap,
	},
	{
		.id = "ensure.create.wishes",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-create-without-env", "ensure-create-without-id",
			       "ensure-create-without-network"),
		.requirement = "Key, workspace, network, variables and cancel reach create().",
		.rationale = "The key as the id lets two parties reach one sandbox without the "
			     "store "
			     "(sandbox-contract 1.3).",
		.detection = "What create() was asked for, and the variables in the sandbox.",
		.run = ensure_create_wishes,
	},
	{
		.id = "ensure.create.snapshot",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-forgets-snapshot", "ensure-snapshots-early"),
		.requirement = "A snapshot that was asked for is taken after the bootstrap, and "
			       "the record "
			       "names it.",
		.rationale = "A snapshot that no record names is billed and never used.",
		.detection = "The stage counts snapshots; the record has the id.",
		.run = ensure_create_snapshot,
	},
	{
		.id = "ensure.create.unsupported",
		SP_CASE_HERE,
		.clause = "N2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-skips-snapshot"),
		.requirement = "A snapshot that the provider cannot take is refused before "
			       "anything is made.",
		.rationale = "A silent skip tells the caller that there is something to come back "
			     "to "
			     "(contract:C1).",
		.detection = "*unsupported*, and no create.",
		.run = ensure_create_unsupported,
	},
	{
		.id = "ensure.resume.same",
		SP_CASE_HERE,
		.clause = "N3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-always-creates", "ensure-resume-unrecorded"),
		.requirement = "A second ensure gives the same sandbox, and the record has its run "
			       "and its "
			       "time.",
		.rationale = "The whole point of ensure.",
		.detection = "The id, the count of creates, a command in it, the record.",
		.run = ensure_resume_same,
	},
	{
		.id = "ensure.resume.stored-id",
		SP_CASE_HERE,
		.clause = "N3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-resumes-by-key", "ensure-remembers"),
		.requirement = "The sandbox that is resumed is the one that the store names now.",
		.rationale = "A memory of the process, or the key in place of the provider's id, "
			     "finds "
			     "another one or none (contract:C182).",
		.detection = "The record is pointed at another sandbox behind ensure's back.",
		.run = ensure_resume_stored_id,
	},
	{
		.id = "ensure.resume.env",
		SP_CASE_HERE,
		.clause = "N3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-env-stays", "ensure-key-has-secrets"),
		.requirement = "A resumed sandbox has the variables of this call.",
		.rationale = "A rotated secret stays old, or is missing after a restart "
			     "(sandbox-contract "
			     "1.6, E2).",
		.detection = "A command prints the variable before and after.",
		.run = ensure_resume_env,
	},
	{
		.id = "ensure.resume.snapshot-kept",
		SP_CASE_HERE,
		.clause = "N3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-resume-drops-snapshot"),
		.requirement = "A resume keeps the snapshot that the record names.",
		.rationale = "A full replace that forgets it loses the way back and orphans the "
			     "snapshot.",
		.detection = "The record before and after.",
		.run = ensure_resume_snapshot_kept,
	},
	{
		.id = "ensure.error.resume",
		SP_CASE_HERE,
		.clause = "N4",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-error-is-gone"),
		.requirement = "An error of resume() is the answer; sandbox and record stay as "
			       "they are.",
		.rationale = "A passing error that reads as absence replaces live work with an "
			     "empty, "
			     "billed sandbox (field:L09, field:L23).",
		.detection = "Each code in turn: the same code comes back, no create, the record "
			     "is equal "
			     "in every field, the sandbox lives.",
		.run = ensure_error_resume,
	},
	{
		.id = "ensure.error.backend",
		SP_CASE_HERE,
		.clause = "N4",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_CONTROL,
		.faults = LIST("ensure-error-is-gone"),
		.requirement = "A back end that refuses, fails or does not answer is no absence.",
		.rationale = "The same through the whole stack: 401, 403, 500, 502, 503, the "
			     "edge's page, "
			     "a dropped connection (field:L09).",
		.detection = "Control fails every read of the sandbox; no create; afterwards it is "
			     "resumed.",
		.run = ensure_error_backend,
	},
	{
		.id = "ensure.gone.recreate",
		SP_CASE_HERE,
		.clause = "N5",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-gone-is-an-error"),
		.requirement = "A sandbox that is gone for good is made anew, with its bootstrap.",
		.rationale = "Otherwise the key is lost for ever.",
		.detection = "The sandbox is removed behind ensure's back.",
		.run = ensure_gone_recreate,
	},
	{
		.id = "ensure.gone.full-replace",
		SP_CASE_HERE,
		.clause = "N5",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-record-merged"),
		.requirement = "The record of the new sandbox keeps nothing of the old one.",
		.rationale = "A merge keeps a snapshot of another life, which is restored later "
			     "(field:T01).",
		.detection = "A record with a snapshot, a provider without: the new record has "
			     "none.",
		.run = ensure_gone_full_replace,
	},
	{
		.id = "ensure.restore.snapshot",
		SP_CASE_HERE,
		.clause = "N6",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-never-restores", "ensure-restore-drops-snapshot"),
		.requirement = "A sandbox that is gone comes back from the record's snapshot, "
			       "without a "
			       "bootstrap.",
		.rationale = "Making it anew throws away what the snapshot has.",
		.detection = "The stage's restore tells from which; outcome, record, count of "
			     "bootstraps.",
		.run = ensure_restore_snapshot,
	},
	{
		.id = "ensure.restore.wishes",
		SP_CASE_HERE,
		.clause = "N6",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-restore-without-env", "ensure-restore-without-network"),
		.requirement = "What is restored has the variables and the network of this call.",
		.rationale = "The snapshot's secrets are old by nature (contract:C100, "
			     "contract:C125).",
		.detection = "What restore() was given, env_set() after it, and the value in the "
			     "sandbox.",
		.run = ensure_restore_wishes,
	},
	{
		.id = "ensure.restore.error",
		SP_CASE_HERE,
		.clause = "N6",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-restore-error-creates"),
		.requirement = "An error of restore() is the answer, and the record stays.",
		.rationale = "Making a new sandbox overwrites the only way back.",
		.detection = "restore() fails: the same code, no create, an equal record; then "
			     "it works.",
		.run = ensure_restore_error,
	},
	{
		.id = "ensure.restore.lost-snapshot",
		SP_CASE_HERE,
		.clause = "N6",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-restore-stuck"),
		.requirement = "When the snapshot is gone for good as well, the sandbox is made "
			       "anew.",
		.rationale = "Nothing is left to come back to, and the key would fail for ever.",
		.detection = "A snapshot that was deleted.",
		.run = ensure_restore_lost_snapshot,
	},
	{
		.id = "ensure.race.threads",
		SP_CASE_HERE,
		.clause = "N7",
		.level = SP_MUST,
		.faults = LIST("ensure-no-lock"),
		.requirement = "Four callers of one key at once get one sandbox.",
		.rationale = "Look-up, create and record are one step, or the loser's sandbox runs "
			     "on "
			     "unowned (contract:C184, field:L11).",
		.detection = "The first is held in its bootstrap; after the rounds nobody else "
			     "came to "
			     "one; one id, one create.",
		.run = ensure_race_threads,
	},
	{
		.id = "ensure.race.instances",
		SP_CASE_HERE,
		.clause = "N7",
		.level = SP_MUST,
		.faults = LIST("ensure-lock-of-instance"),
		.requirement = "Two instances that ensure one key get one sandbox.",
		.rationale = "A lock inside the instance excludes nobody else (contract:C185).",
		.detection = "The second instance is pending while the first is held, then resumes "
			     "the "
			     "same id.",
		.run = ensure_race_instances,
	},
	{
		.id = "ensure.race.processes",
		SP_CASE_HERE,
		.clause = "N7",
		.level = SP_MUST,
		.needs = SP_NEED_PEER,
		.faults = LIST("ensure-lock-of-process"),
		.requirement = "Four processes that ensure one key get one sandbox.",
		.rationale = "Servers run in several processes; a lock inside one of them makes a "
			     "duplicate in each (contract:C185, field:L11).",
		.detection = "Real processes with instances of their own; the first stands in its "
			     "bootstrap while the others ask.",
		.run = ensure_race_processes,
	},
	{
		.id = "ensure.race.keys",
		SP_CASE_HERE,
		.clause = "N7",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-one-lock"),
		.requirement = "Two keys do not wait for each other.",
		.rationale = "One lock for all makes every create wait for the slowest bootstrap "
			     "(contract:C187).",
		.detection = "Each stands in its bootstrap while the other does.",
		.run = ensure_race_keys,
	},
	{
		.id = "ensure.race.destroy",
		SP_CASE_HERE,
		.clause = "N7",
		.level = SP_MUST,
		.faults = LIST("ensure-destroy-unlocked"),
		.requirement = "An ensure that comes during a destroy of its key waits for its "
			       "end.",
		.rationale = "Else it resumes what is being removed, or its new record is removed "
			     "(contract:C283).",
		.detection = "The destroy is held; the ensure is pending after the rounds; record "
			     "and "
			     "sandbox agree afterwards.",
		.run = ensure_race_destroy,
	},
	{
		.id = "ensure.fail.lock",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-ignores-lock-error"),
		.requirement = "Without the lock nothing is done.",
		.rationale = "Going on without it makes the duplicate that the lock is there for.",
		.detection = "acquire() fails: the same code, no create.",
		.run = ensure_fail_lock,
	},
	{
		.id = "ensure.fail.look-up",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-look-up-error-is-none"),
		.requirement = "A store that cannot be read is an error and not an empty one.",
		.rationale = "Reading it as empty replaces live work (field:T17).",
		.detection = "get() fails: the same code, no create.",
		.run = ensure_fail_look_up,
	},
	{
		.id = "ensure.fail.create",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-records-failed-create"),
		.requirement = "A create that fails leaves no record, and the next ensure works.",
		.rationale = "A record of nothing is resumed later.",
		.detection = "create() fails: the same code, no record, then a success.",
		.run = ensure_fail_create,
	},
	{
		.id = "ensure.fail.bootstrap",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-leaks", "ensure-bootstrap-error-ignored"),
		.requirement = "A bootstrap that fails removes the sandbox and is the answer.",
		.rationale = "The sandbox would be billed and found by nobody (field:L02).",
		.detection = "The bootstrap fails: the same code, none alive, no record.",
		.run = ensure_fail_bootstrap,
	},
	{
		.id = "ensure.fail.snapshot",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-leaks-late"),
		.requirement = "A snapshot that fails removes the sandbox and is the answer.",
		.rationale = "The late steps are the forgotten ones (sandbox-contract 4.3, "
			     "field:L02).",
		.detection = "snapshot() fails: the same code, none alive, no record.",
		.run = ensure_fail_snapshot,
	},
	{
		.id = "ensure.fail.record",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-leaks-late", "ensure-leaks-snapshot"),
		.requirement = "A record that cannot be written removes sandbox and snapshot and "
			       "is the "
			       "answer.",
		.rationale = "Without a record nobody finds them again (contract:C194).",
		.detection = "upsert() fails: the same code, none alive, no snapshot, no record.",
		.run = ensure_fail_record,
	},
	{
		.id = "ensure.fail.unknown",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-retries-create"),
		.requirement = "A create whose outcome is unknown is not tried again.",
		.rationale = "It may have been carried out; trying again makes two.",
		.detection = "create() does its work and tells *unknown-outcome*: one create.",
		.run = ensure_fail_unknown,
	},
	{
		.id = "ensure.fail.record-unknown",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-unknown-is-done"),
		.requirement = "A record whose outcome is unknown leaves no sandbox that somebody "
			       "might "
			       "trust.",
		.rationale = "The caller is told of a failure, so nobody has the handle.",
		.detection = "upsert() does its work and tells *unknown-outcome*: none alive, the "
			     "next "
			     "ensure makes one.",
		.run = ensure_fail_record_unknown,
	},
	{
		.id = "ensure.fail.resumed-env",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-late-failure-kills"),
		.requirement = "env_set() failing after a resume is the answer; the sandbox stays.",
		.rationale = "It is live work.",
		.detection = "env_set() fails: the same code, the sandbox lives, an equal record.",
		.run = ensure_fail_resumed_env,
	},
	{
		.id = "ensure.fail.resumed-record",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-late-failure-kills", "ensure-upsert-error-ignored"),
		.requirement = "A record that cannot be written after a resume is the answer; the "
			       "sandbox "
			       "stays.",
		.rationale = "It is live work; and a caller that is not told believes that the "
			     "store "
			     "knows.",
		.detection = "upsert() fails: the same code, the sandbox lives, an equal record.",
		.run = ensure_fail_resumed_record,
	},
	{
		.id = "ensure.fail.restored-env",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-leaks-late"),
		.requirement = "env_set() failing after a restore removes the restored sandbox; "
			       "record and "
			       "snapshot stay.",
		.rationale = "The record still names the snapshot, so the next ensure restores a "
			     "second "
			     "one.",
		.detection = "env_set() fails: none alive, an equal record, the snapshot is there.",
		.run = ensure_fail_restored_env,
	},
	{
		.id = "ensure.fail.restored-record",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.faults = LIST("ensure-leaks-late"),
		.requirement = "A record that cannot be written after a restore removes the "
			       "restored "
			       "sandbox; record and snapshot stay.",
		.rationale = "Nobody would find it again.",
		.detection = "upsert() fails: none alive, an equal record, the snapshot is there.",
		.run = ensure_fail_restored_record,
	},
	{
		.id = "ensure.fail.first-error",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-last-error-wins"),
		.requirement = "When the clean-up fails too, the first error is the answer and "
			       "what stayed "
			       "is named.",
		.rationale = "The second error hides why it failed; an id that is not told cannot "
			     "be "
			     "cleaned up by hand.",
		.detection = "Bootstrap and destroy fail: the bootstrap's code and words, and the "
			     "sandbox's id.",
		.run = ensure_fail_first_error,
	},
	{
		.id = "ensure.fail.lock-free",
		SP_CASE_HERE,
		.clause = "N8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-keeps-lock"),
		.requirement = "After a failure the key's lock is free.",
		.rationale = "One failure must not poison the key (contract:C186).",
		.detection = "Locks taken and given back are counted; the next caller works.",
		.run = ensure_fail_lock_free,
	},
	{
		.id = "ensure.abort.before",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-deaf"),
		.requirement = "A cancel that has fired before makes nothing.",
		.rationale = "The caller is not there to use it.",
		.detection = "*aborted* with the reason, and no create.",
		.run = ensure_abort_before,
	},
	{
		.id = "ensure.abort.bootstrap",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-deaf", "ensure-cleanup-under-request"),
		.requirement = "An abort during a bootstrap removes the sandbox, also when the "
			       "bootstrap "
			       "succeeds.",
		.rationale = "The clean-up must not run under the cancel that ended the work "
			     "(field:L01).",
		.detection = "The bootstrap aborts its caller and answers 0: *aborted*, none "
			     "alive, no "
			     "record.",
		.run = ensure_abort_bootstrap,
	},
	{
		.id = "ensure.abort.hanging",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-bootstrap-deaf"),
		.requirement = "A bootstrap that hangs gets the caller's abort.",
		.rationale = "Otherwise the key stays locked for good.",
		.detection = "The bootstrap waits for its cancel alone; the caller aborts.",
		.run = ensure_abort_hanging,
	},
	{
		.id = "ensure.abort.deadline",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-bootstrap-deaf"),
		.requirement = "A bootstrap that hangs gets the caller's deadline.",
		.rationale = "The same with a deadline, which is *timed-out*.",
		.detection = "The bootstrap waits for its cancel alone; the deadline is set to "
			     "now.",
		.run = ensure_abort_deadline,
	},
	{
		.id = "ensure.abort.waiting",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-deaf"),
		.requirement = "A caller that waits for the lock can give up, and the holder is "
			       "not "
			       "disturbed.",
		.rationale = "A holder may take minutes.",
		.detection = "The waiter is joined while the holder is held.",
		.run = ensure_abort_waiting,
	},
	{
		.id = "ensure.abort.watchers",
		SP_CASE_HERE,
		.clause = "N9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-watcher-left"),
		.requirement = "Nothing of ensure stays on the caller's cancel.",
		.rationale = "A cancel that lives for a whole request collects them.",
		.detection = "Watchers and references are counted after a create and a resume.",
		.run = ensure_abort_watchers,
	},
	{
		.id = "ensure.owner.collision",
		SP_CASE_HERE,
		.clause = "N10",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-thread-unchecked"),
		.requirement = "Two threads with one key: the second is refused, the first keeps "
			       "its "
			       "sandbox.",
		.rationale = "The hash has 32 effective bits; a collision is known, and it would "
			     "hand one "
			     "thread the other's files (contract:C190).",
		.detection = "The threads t0412789 and t0649192 for a provider named render.",
		.run = ensure_owner_collision,
	},
	{
		.id = "ensure.owner.thread",
		SP_CASE_HERE,
		.clause = "N10",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-thread-unchecked"),
		.requirement = "A record of another thread is refused.",
		.rationale = "The same on any provider.",
		.detection = "A record of another thread under this key.",
		.run = ensure_owner_thread,
	},
	{
		.id = "ensure.owner.provider",
		SP_CASE_HERE,
		.clause = "N10",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-provider-unchecked"),
		.requirement = "A record of another provider is refused.",
		.rationale = "Its id means nothing here: resume() would say gone, and the record "
			     "would be "
			     "overwritten.",
		.detection = "A record of another provider under this key.",
		.run = ensure_owner_provider,
	},
	{
		.id = "ensure.owner.run",
		SP_CASE_HERE,
		.clause = "N10",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-run-unchecked"),
		.requirement = "With one sandbox a run, a record of another run is refused.",
		.rationale = "The hash is as weak for runs as it is for threads.",
		.detection = "A record of another run under this key.",
		.run = ensure_owner_run,
	},
	{
		.id = "ensure.owner.alike",
		SP_CASE_HERE,
		.clause = "N10",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-run-in-thread"),
		.requirement = "Thread and run that read alike when they are joined are told "
			       "apart.",
		.rationale = "They are joined by a colon, so \"a:b\" in run \"c\" has the key of "
			     "\"a\" in "
			     "run \"b:c\" (contract:C190).",
		.detection = "These two, one after the other.",
		.run = ensure_owner_alike,
	},
	{
		.id = "ensure.age.refused",
		SP_CASE_HERE,
		.clause = "N11",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-bad-age-is-none"),
		.requirement = "A duration that is not understood is refused, and nothing is made.",
		.rationale = "Read as no limit it keeps what was meant to be thrown away "
			     "(sandbox-contract "
			     "4.3).",
		.detection = "Sixteen durations: *invalid*, and no create.",
		.run = ensure_age_refused,
	},
	{
		.id = "ensure.age.limit",
		SP_CASE_HERE,
		.clause = "N11",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-age-ignored", "ensure-hours-are-minutes"),
		.requirement = "A record is resumed up to its limit and replaced beyond it.",
		.rationale = "Hours and minutes, on both sides of the limit; a time to come is "
			     "not old.",
		.detection = "Records written with a chosen time, far enough from the limit for "
			     "any clock.",
		.run = ensure_age_limit,
	},
	{
		.id = "ensure.age.replaced",
		SP_CASE_HERE,
		.clause = "N11",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-expired-left", "ensure-expired-snapshot-left"),
		.requirement = "The sandbox of a record that is too old is destroyed, and its "
			       "snapshot "
			       "deleted.",
		.rationale = "The record was the only way to them (sandbox-contract 4.3).",
		.detection = "Neither is there after the ensure.",
		.run = ensure_age_replaced,
	},
	{
		.id = "ensure.age.stuck",
		SP_CASE_HERE,
		.clause = "N11",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-expired-blind", "ensure-snapshot-error-ignored"),
		.requirement = "An old sandbox or snapshot that cannot be removed keeps its "
			       "record, and the error is the answer.",
		.rationale = "Overwriting the record orphans it.",
		.detection = "destroy() fails, then deleting the snapshot: the same code, an equal "
			     "record, no create; then it works.",
		.run = ensure_age_stuck,
	},
	{
		.id = "ensure.destroy.all",
		SP_CASE_HERE,
		.clause = "N12",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-destroy-keeps-record", "ensure-leaks-snapshot"),
		.requirement = "destroy() removes sandbox, snapshot and record; a key without a "
			       "record is "
			       "fine.",
		.rationale = "What stays is billed, or is resumed later.",
		.detection = "None alive, no snapshot, no record; again; and a new one can be "
			     "made.",
		.run = ensure_destroy_all,
	},
	{
		.id = "ensure.destroy.error",
		SP_CASE_HERE,
		.clause = "N12",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-destroy-forgets-first", "ensure-snapshot-error-ignored"),
		.requirement = "When destroying fails the record stays.",
		.rationale = "Without it the sandbox that still runs cannot be found (field:L08).",
		.detection = "destroy() of the provider fails, then deleting the snapshot: the "
			     "same code, an equal record; then it works.",
		.run = ensure_destroy_error,
	},
	{
		.id = "ensure.destroy.aborted",
		SP_CASE_HERE,
		.clause = "N12",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-destroy-under-request"),
		.requirement = "destroy() works although the request is over.",
		.rationale = "It is called exactly then (sandbox-contract 4.2).",
		.detection = "The options' cancel has fired.",
		.run = ensure_destroy_aborted,
	},
	{
		.id = "ensure.destroy.owner",
		SP_CASE_HERE,
		.clause = "N12",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-thread-unchecked"),
		.requirement = "destroy() refuses a key that is another thread's.",
		.rationale = "A collision would destroy somebody else's sandbox (contract:C190).",
		.detection = "A record of another thread: *conflict*, its sandbox lives.",
		.run = ensure_destroy_owner,
	},
	{
		.id = "ensure.needs.store",
		SP_CASE_HERE,
		.clause = "N13",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-falls-back"),
		.requirement = "Ensure without a store is refused.",
		.rationale = "A silent store in memory loses every sandbox at the next restart.",
		.detection = "NULL and an empty reference: *invalid*, and no create.",
		.run = ensure_needs_store,
	},
	{
		.id = "ensure.needs.lock",
		SP_CASE_HERE,
		.clause = "N13",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-falls-back"),
		.requirement = "Ensure without a lock is refused.",
		.rationale = "A silent lock of one process makes duplicates in the next.",
		.detection = "NULL and an empty reference: *invalid*, and no create.",
		.run = ensure_needs_lock,
	},
	{
		.id = "ensure.needs.pairing",
		SP_CASE_HERE,
		.clause = "N13",
		.level = SP_SHOULD,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("lock-of-one-process"),
		.requirement = "A store that outlives the process, or is shared, has a lock that "
			       "excludes "
			       "between processes.",
		.rationale = "A lock of one process beside it makes duplicates as soon as there "
			     "are two "
			     "(contract:C185).",
		.detection = "What both declare.",
		.run = ensure_needs_pairing,
	},
	{
		.id = "ensure.lock.name",
		SP_CASE_HERE,
		.clause = "N14",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-lock-bare", "ensure-unlocks-early"),
		.requirement = "Everything happens under the one lock \"sandbox:\" and the key.",
		.rationale = "Other implementations on the same store exclude each other by this "
			     "name.",
		.detection = "The stage notes the name, counts, and notes each call that comes "
			     "while no lock is held.",
		.run = ensure_lock_name,
	},
	{
		.id = "ensure.lock.fence",
		SP_CASE_HERE,
		.clause = "N14",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-no-fence"),
		.requirement = "The lock's token goes with every record where the store knows "
			       "fences.",
		.rationale = "A holder that was slow must not overwrite a newer one's record.",
		.detection = "The stage hands out tokens and looks at the upserts.",
		.run = ensure_lock_fence,
	},
	{
		.id = "ensure.lock.fenced-off",
		SP_CASE_HERE,
		.clause = "N14",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-leaks-late"),
		.requirement = "A record that a newer holder has fenced off removes what was made.",
		.rationale = "Two holders, one key: the other's sandbox is the one that counts.",
		.detection = "upsert() answers *conflict*: none alive, no record.",
		.run = ensure_lock_fenced_off,
	},
	{
		.id = "ensure.lock.lost",
		SP_CASE_HERE,
		.clause = "N14",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-ignores-lost-lease"),
		.requirement = "When the lease is lost nothing is recorded, and what was made is "
			       "removed.",
		.rationale = "Somebody else holds the key by then (sandbox-contract 4.4, L4).",
		.detection = "The lease is lost during a bootstrap that succeeds: *unavailable*, "
			     "no "
			     "upsert, none alive.",
		.run = ensure_lock_lost,
	},
	{
		.id = "ensure.lock.lost-reaches",
		SP_CASE_HERE,
		.clause = "N14",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("ensure-lost-lease-late"),
		.requirement = "The loss of the lease reaches the work that is under way.",
		.rationale = "Work that goes on for minutes after the loss meets the next holder's "
			     "(sandbox-contract 4.4, L4).",
		.detection = "The bootstrap waits for its cancel alone, and the lease is lost.",
		.run = ensure_lock_lost_reaches,
	},
};

const struct sp_suite sp_suite_ensure = {
	.version = SP_SUITE_VERSION,
	.name = "ensure",
	.summary = "One live sandbox for a key, whoever asks and however often; nothing is "
		   "orphaned.",
	.subject = SP_SUBJECT_ENSURE,
	.cases = cases,
	.n_cases = sizeof(cases) / sizeof(cases[0]),
	.clauses_version = "1",
};
