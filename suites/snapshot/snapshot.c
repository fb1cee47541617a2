/* SPDX-License-Identifier: MIT */
/* The records of the snapshot suite: what each case demands, why, and how it sees the defect. */
#include <suites/snapshot/cases.h>
#include <suites/snapshot/scene.h>
#include <suites/snapshot/snapshot.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct sp_case_def cases[] = {
    {
	.id = "snapshot.take.round-trip",
	SP_CASE_HERE,
	.tags = LIST("live-core"),
	.clause = "S1",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS, SP_FIFO_TOOLS, "find", "xargs"),
	.faults = LIST("snapshot-restores-empty", "snapshot-stops-sandbox"),
	.requirement = "Files, modes, links and names come back as they were; the source, and what "
		       "runs in it, goes on.",
	.rationale = "A restore that gives an empty tree is reported as success (field:S10, "
		     "field:S07); a snapshot stopped its sandbox (field:S16).",
	.detection = "A manifest of kinds, modes, links, names and content is compared; a command "
		     "that stood still before ends by itself after.",
	.run = snap_take_round_trip,
    },
    {
	.id = "snapshot.take.cycles",
	SP_CASE_HERE,
	.clause = "S1",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS, "find", "xargs"),
	.faults = LIST("snapshot-second-is-first"),
	.requirement = "A restored sandbox can be snapshotted like any other, and what was added, "
		       "changed and removed in it comes back so.",
	.rationale = "From the second cycle on changes were lost (field:S05), and what had been "
		     "removed came back (field:S08).",
	.detection = "Three cycles, each from what the one before restored; a file is added, one "
		     "changed, one removed, a folder becomes a file, a link a folder; manifests.",
	.run = snap_take_cycles,
    },
    {
	.id = "snapshot.take.removed",
	SP_CASE_HERE,
	.clause = "S1",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS, "find"),
	.faults = LIST("snapshot-restores-empty"),
	.requirement = "What the sandbox removed of its image stays removed after a restore.",
	.rationale = "A snapshot of what was written forgets what was taken away (field:S08).",
	.detection = "A file of /etc is removed, a folder is removed and made again; the restored "
		     "sandbox has neither's content.",
	.run = snap_take_removed,
    },
    {
	.id = "snapshot.take.wakes",
	SP_CASE_HERE,
	.clause = "S4",
	.level = SP_MUST,
	.needs =
	    SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS | SP_NEED_SUSPENSION,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-wakes-nobody"),
	.requirement = "A suspended sandbox is woken and snapshotted.",
	.rationale = "The service refuses to capture what does not run (contract:C121, render:14).",
	.detection = "Control suspends it; the snapshot is restored and holds the planted file.",
	.run = snap_take_wakes,
    },
    {
	.id = "snapshot.exclude.overlay",
	SP_CASE_HERE,
	.clause = "S2",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-env-on-disk"),
	.requirement = "A snapshot holds none of the sandbox's secrets, whatever their names.",
	.rationale = "The variables lay on the disk and every snapshot took them (contract:C102, "
		     "render:8). Filters by name missed what is named otherwise (field:S02).",
	.detection = "Three secrets arrive; the archive itself is searched for each, and for a "
		     "planted text that it must hold.",
	.run = snap_exclude_overlay,
    },
    {
	.id = "snapshot.exclude.restored",
	SP_CASE_HERE,
	.tags = LIST("live-core"),
	.clause = "S2",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
	.faults = LIST("snapshot-env-on-disk"),
	.requirement = "After a rotation a restored sandbox holds nothing of the old secret.",
	.rationale = "The form that works without a back door (contract:C100, contract:C102).",
	.detection = "Snapshot, rotation, restore with today's secret; files and processes of the "
		     "restored sandbox are searched for the old one.",
	.limits = "What a snapshot holds and a restore removes; snapshot.exclude.overlay looks "
		  "into the archive.",
	.run = snap_exclude_restored,
    },
    {
	.id = "snapshot.exclude.call",
	SP_CASE_HERE,
	.clause = "S2",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SPAWN | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS, SP_FIFO_TOOLS),
	.faults = LIST("snapshot-call-on-disk"),
	.requirement = "A running command's own secret is in no file of a snapshot.",
	.rationale = "The file of a long-running command stayed for every later snapshot "
		     "(contract:C104, render:11).",
	.detection =
	    "A command with a secret of its own stands still during the capture; the archive is "
	    "searched, without what a runtime snapshot keeps of running processes.",
	.limits = "A runtime snapshot keeps the environment of running processes by its nature.",
	.run = snap_exclude_call,
    },
    {
	.id = "snapshot.exclude.old-overlay",
	SP_CASE_HERE,
	.clause = "S2",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-leaves-old-file"),
	.requirement = "What an older version left on the disk is gone before the capture.",
	.rationale =
	    "Sandboxes outlive versions; the old file went into every snapshot (render:14).",
	.detection = "The file is planted with a secret of its own; the archive is searched.",
	.run = snap_exclude_old_overlay,
    },
    {
	.id = "snapshot.foreign.filesystem",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-env-on-disk"),
	.requirement = "Filesystem kind: what another process sets during the capture is not in "
		       "it, and is not overwritten after it.",
	.rationale = "The queue covers one process only (contract:C103, render:9).",
	.detection = "HOLD: the capture stands at a gate while another instance, with a queue of "
		     "its own, acts; then the archive itself is searched, and a planted text must "
		     "be found in it. Exactly one file is written meanwhile: the other's.",
	.run = snap_foreign_filesystem,
    },
    {
	.id = "snapshot.foreign.in-place",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-always-hides"),
	.requirement = "Filesystem kind: the variables stay in place, so commands of other "
		       "processes have them during the capture.",
	.rationale = "What lies in memory is not captured, so there is nothing to take out, and "
		     "nothing that could be lost.",
	.detection =
	    "HOLD: the capture stands at a gate while another instance, with a queue of its own, "
	    "acts; then the archive itself is searched, and a planted text must be found in it.",
	.run = snap_foreign_in_place,
    },
    {
	.id = "snapshot.runtime.foreign-locked",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-hides-nothing"),
	.requirement = "Runtime kind, under the caller's lock: what another process had set is not "
		       "in the snapshot, is put back, and can be rotated after.",
	.rationale =
	    "The capture takes memory, and with it what any process has written there (render:10).",
	.detection = "Another instance sets its secret before and another after; the archive is "
		     "searched, both handles' commands see the last.",
	.run = snap_runtime_foreign_locked,
    },
    {
	.id = "snapshot.runtime.foreign",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_SHOULD,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-hides-nothing"),
	.requirement = "Runtime kind, without a lock: what another process sets during the capture "
		       "is not in it.",
	.rationale = "Only a lock inside the sandbox can do it (contract:C103).",
	.detection =
	    "HOLD: the capture stands at a gate while another instance, with a queue of its own, "
	    "acts; then the archive itself is searched, and a planted text must be found in it.",
	.run = snap_runtime_foreign,
    },
    {
	.id = "snapshot.runtime.foreign-declared",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-lock-claimed"),
	.requirement = "Runtime kind with snapshot_lock declared: what another process sets during "
		       "the capture is not in it.",
	.rationale = "The declaration is a promise (contract:C103).",
	.detection =
	    "HOLD: the capture stands at a gate while another instance, with a queue of its own, "
	    "acts; then the archive itself is searched, and a planted text must be found in it.",
	.run = snap_runtime_foreign_declared,
    },
    {
	.id = "snapshot.runtime.commands-wait",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-not-alone"),
	.requirement = "Runtime kind: a command that is asked for during the capture has its "
		       "environment, and does not bring it into the snapshot.",
	.rationale = "It started while the variables were away (contract:C109, render:10).",
	.detection = "A command is asked for while the capture is held; the gate opens; its "
		     "variables and the archive are looked at.",
	.run = snap_runtime_commands_wait,
    },
    {
	.id = "snapshot.runtime.sets-wait",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-not-alone"),
	.requirement = "Runtime kind: what the handle sets during the capture is not in it, and is "
		       "not undone by what is put back.",
	.rationale = "The old value came back over the new one, or the new one was captured "
		     "(render:12, contract:C109).",
	.detection = "A secret is set while the capture is held; the gate opens; the archive is "
		     "searched for both, and the next commands of two handles have the new one.",
	.run = snap_runtime_sets_wait,
    },
    {
	.id = "snapshot.runtime.starting",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-takes-what-was-sent"),
	.requirement = "Runtime kind: what was sent for a command that is starting is in no file "
		       "of the snapshot.",
	.rationale = "The file of its variables lies in memory for a moment, and memory is "
		     "captured (contract:C104, render:11).",
	.detection = "HOLD: a command stands between the upload of its variables and its start; a "
		     "snapshot is asked for; the gate opens; the archive is searched.",
	.run = snap_runtime_starting,
    },
    {
	.id = "snapshot.runtime.written-back",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-forgets-to-write-back"),
	.requirement =
	    "Runtime kind: after the snapshot the variables are back, for every process.",
	.rationale = "What was taken out for the capture has to come back (render:10).",
	.detection = "Another instance's command sees the variable at once after the snapshot.",
	.run = snap_runtime_written_back,
    },
    {
	.id = "snapshot.runtime.write-back-fails",
	SP_CASE_HERE,
	.clause = "S3",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-lost-by-write-back"),
	.requirement = "Runtime kind: when the variables cannot be put back the reference is "
		       "answered all the same, and the next command has them.",
	.rationale =
	    "The reference was lost, and a billed snapshot with it (contract:C120, render:13).",
	.detection = "Control fills the disk under the write-back, once.",
	.run = snap_runtime_write_back_fails,
    },
    {
	.id = "snapshot.label.lengths",
	SP_CASE_HERE,
	.clause = "S5",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_SNAPSHOTS,
	.faults = LIST("snapshot-label-uncut", "snapshot-label-cut-in-reference"),
	.requirement = "Labels of 0 to 300 characters, and none, are taken; the reference has the "
		       "whole label.",
	.rationale = "A longer label was refused by the service (contract:C117, render:23).",
	.detection = "Eight lengths around the limit, and no label.",
	.run = snap_label_lengths,
    },
    {
	.id = "snapshot.label.characters",
	SP_CASE_HERE,
	.clause = "S5",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_SNAPSHOTS,
	.faults = LIST("snapshot-label-cut-by-bytes"),
	.requirement = "Labels are free text; one that is cut is cut between characters.",
	.rationale = "A cut inside a character is no text, and is refused or stored as something "
		     "else (contract:C119).",
	.detection = "Characters of 2, 3 and 4 bytes on every side of the cut; slash, dots, "
		     "quotes, control characters, a name that looks like an id; bytes that are no "
		     "text are invalid.",
	.run = snap_label_characters,
    },
    {
	.id = "snapshot.label.same",
	SP_CASE_HERE,
	.clause = "S5",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-by-label", "snapshot-newest-wins"),
	.requirement = "Two snapshots under one label are two.",
	.rationale = "The same label overwrote the earlier snapshot (contract:C118, field:S15).",
	.detection = "Both are restored and hold their own content; the first is deleted before "
		     "the second is used.",
	.run = snap_label_same,
    },
    {
	.id = "snapshot.label.same-start",
	SP_CASE_HERE,
	.clause = "S5",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-by-label", "snapshot-newest-wins"),
	.requirement = "Two long labels with the same beginning are two snapshots.",
	.rationale = "Cut names collide (render:23).",
	.detection = "The same with two labels of 71 characters that differ in the last.",
	.run = snap_label_same_start,
    },
    {
	.id = "snapshot.restore.today",
	SP_CASE_HERE,
	.tags = LIST("live-core"),
	.clause = "S6",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-restore-loses-env"),
	.requirement = "A restored sandbox has the variables of the restore and no others.",
	.rationale = "It kept what the snapshot held, or had none (contract:C100, contract:C125, "
		     "render:24).",
	.detection = "One restore with today's variables, {exec, spawn} by {base, own}; one "
		     "without any.",
	.run = snap_restore_today,
    },
    {
	.id = "snapshot.restore.secrecy",
	SP_CASE_HERE,
	.clause = "S6",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-restore-env-in-text"),
	.requirement = "Neither taking nor restoring a snapshot tells a value in a request or in a "
		       "recorded command.",
	.rationale = "Restore is the path on which variables travel that nobody looks at "
		     "(contract:C94, contract:C100).",
	.detection = "Both values arrive; every request and both sandboxes' timelines are "
		     "searched for them.",
	.run = snap_restore_secrecy,
    },
    {
	.id = "snapshot.restore.policy",
	SP_CASE_HERE,
	.clause = "S6",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS | SP_NEED_NETWORK_POLICY,
	.tools = LIST(SP_VARS_TOOLS, "bash"),
	.faults = LIST("snapshot-restore-loses-policy"),
	.requirement = "The network policy of the restore holds in the restored sandbox.",
	.rationale = "A policy that is not sent again is gone (contract:C125).",
	.detection = "A listener of ours is reached without the policy and not with it.",
	.run = snap_restore_policy,
    },
    {
	.id = "snapshot.restore.independent",
	SP_CASE_HERE,
	.clause = "S7",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-restore-is-source"),
	.requirement = "A restored sandbox, its source and other restores are independent, and "
		       "outlive source and snapshot.",
	.rationale = "A restore in place changed the source; a deleted source took its snapshots "
		     "along (field:S20, field:S22).",
	.detection = "Changes on each side; the source is destroyed, restored from again, then the "
		     "snapshot is deleted.",
	.run = snap_restore_independent,
    },
    {
	.id = "snapshot.restore.unknown",
	SP_CASE_HERE,
	.clause = "S7",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-restore-falls-back"),
	.requirement =
	    "Deleted and unknown snapshots, and what is no reference, are errors; nothing is made.",
	.rationale = "An empty sandbox instead of a restored one is lost work that looks like "
		     "success (field:S10).",
	.detection = "Six references; the runner counts sandboxes.",
	.limits =
	    "A snapshot of another workspace is an unknown one here: a case has one workspace.",
	.run = snap_restore_unknown,
    },
    {
	.id = "snapshot.delete.idempotent",
	SP_CASE_HERE,
	.clause = "S7",
	.level = SP_MUST,
	.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-delete-noop", "snapshot-delete-refused"),
	.requirement = "What was used is deleted, twice too, and cannot be restored then.",
	.rationale = "Snapshots are billed until they are gone (field:S21).",
	.detection = "Restores, destroys what came of it, deletes twice, restores.",
	.run = snap_delete_idempotent,
    },
    {
	.id = "snapshot.fail.capture",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-failed-stays", "snapshot-failure-stops"),
	.requirement = "A capture that fails is an error; no snapshot is left, and the sandbox "
		       "works with its variables.",
	.rationale = "A failed artefact is billed as well (field:S14, contract:C122).",
	.detection = "Control fills the disk under the capture, and refuses the request; snapshots "
		     "are counted, the next command and the next snapshot work.",
	.run = snap_fail_capture,
    },
    {
	.id = "snapshot.fail.lost-answer",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-lost-answer-stays"),
	.requirement = "A snapshot whose answer was lost is found again, or is not there.",
	.rationale = "Nobody knows its id, so nobody can delete it, and it is billed until it "
		     "expires (field:S14).",
	.detection = "Control takes the snapshot and drops the answer; snapshots are counted "
		     "against the references that the caller has, and the one that was found again "
		     "is restored. An older one has the same label.",
	.run = snap_fail_lost_answer,
    },
    {
	.id = "snapshot.fail.abort",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-failed-stays"),
	.requirement =
	    "An aborted snapshot leaves nothing, and the sandbox works with its variables.",
	.rationale = "Nobody waits for it any more, and nobody would delete it (field:S14).",
	.detection = "The capture is held, the call aborted; snapshots are counted.",
	.run = snap_fail_abort,
    },
    {
	.id = "snapshot.fail.restore",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-restore-falls-back"),
	.requirement = "A restore that fails is an error; no sandbox is left, the snapshot is, and "
		       "the next try works.",
	.rationale = "A half-made sandbox runs on and is billed (contract:C126).",
	.detection = "Control fails five steps of a restore, and a variable's name is refused; "
		     "sandboxes and snapshots are counted after each.",
	.run = snap_fail_restore,
    },
    {
	.id = "snapshot.fail.gone",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX | SP_NEED_SNAPSHOTS,
	.faults = LIST("snapshot-error-silent"),
	.requirement = "A snapshot of a sandbox that was terminated, or has failed, is *gone*.",
	.rationale = "There is nothing to capture, and waiting for it to wake is for ever.",
	.detection = "Control puts the sandbox into each state.",
	.run = snap_fail_gone,
    },
    {
	.id = "snapshot.fail.dying",
	SP_CASE_HERE,
	.clause = "S8",
	.level = SP_MUST,
	.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SNAPSHOTS,
	.tools = LIST(SP_VARS_TOOLS),
	.faults = LIST("snapshot-error-silent", "snapshot-failed-stays"),
	.requirement = "When the sandbox is destroyed during the capture the snapshot is whole, or "
		       "an error that leaves nothing.",
	.rationale = "A snapshot that nobody knows of is billed until it expires (field:S14).",
	.detection = "The capture is held, the sandbox destroyed through another handle; snapshots "
		     "are counted.",
	.run = snap_fail_dying,
    },
};

const struct sp_suite sp_suite_snapshot = {
    .version = SP_SUITE_VERSION,
    .name = "snapshot",
    .summary = "what a snapshot holds and must not hold, whoever writes meanwhile, and what comes "
	       "back of it",
    .subject = SP_SUBJECT_PROVIDER,
    .cases = cases,
    .n_cases = SP_COUNT(cases),
    .clauses_version = "2",
};
