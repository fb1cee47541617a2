/* SPDX-License-Identifier: MIT */
/* The records of the lifecycle suite: what each case demands, why, and how it sees the defect. */
#include "lifecycle.h"

#include <base/cleanup.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "lifecycle.create.ready",
		SP_CASE_HERE,
		.clause = "L1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-create-early"),
		.requirement =
			"create() gives a sandbox that takes commands, with an id and a "
			"workspace root to write in.",
		.rationale =
			"A caller's first command is the first thing that happens to a "
			"new sandbox (contract:C165).",
		.detection = "The first command says where it is and that it may write there.",
		.run = life_create_ready,
	},
	{
		.id = "lifecycle.create.independent",
		SP_CASE_HERE,
		.clause = "L1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-create-reuses", "life-create-clears-the-way"),
		.requirement = "Two creates give two sandboxes that share no files.",
		.rationale =
			"A provider that hands out one sandbox twice mixes two users' "
			"work.",
		.detection = "Both write a file of one name; the first reads its own.",
		.run = life_create_independent,
	},
	{
		.id = "lifecycle.create.env",
		SP_CASE_HERE,
		.clause = "L1",
		.level = SP_MUST,
		.needs = SP_NEED_ENV | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-create-env-dropped"),
		.requirement = "The variables given to create() are in the first command.",
		.rationale =
			"Secrets belong to create(); a later env_set would leave a window "
			"without them.",
		.detection = "The first command prints one, and an empty one.",
		.run = life_create_env,
	},
	{
		.id = "lifecycle.create.aborted",
		SP_CASE_HERE,
		.clause = "L2",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-create-ignores-abort"),
		.requirement =
			"A create whose cancel has fired makes nothing and tells the "
			"reason.",
		.rationale = "An abort that is looked at too late leaves a billed sandbox.",
		.detection = "Aborts first, then creates; the back end counts.",
		.run = life_create_aborted,
	},
	{
		.id = "lifecycle.create.aborted-during",
		SP_CASE_HERE,
		.clause = "L2",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_ENV | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-abort-leaves"),
		.requirement = "An abort while a sandbox is being made removes it.",
		.rationale = "Otherwise nobody knows its id (Render provider, item 20).",
		.detection =
			"GATE: stands before and after each request of a create with a variable, "
			"thirteen places, and aborts there; the back end counts.",
		.run = life_create_aborted_during,
	},
	{
		.id = "lifecycle.create.fails-part-way",
		SP_CASE_HERE,
		.clause = "L2",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_ENV | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-failed-create-stays"),
		.requirement = "A create that fails part way removes what it made.",
		.rationale =
			"Sandboxes of failed creates are billed and nobody looks for "
			"them.",
		.detection =
			"Makes the create, a look and the environment's upload fail in "
			"turn; the back end counts.",
		.run = life_create_fails_part_way,
	},
	{
		.id = "lifecycle.create.lost-answer",
		SP_CASE_HERE,
		.clause = "L3",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-create-repeats"),
		.requirement =
			"A create whose answer was lost is an unknown outcome and is not "
			"sent again.",
		.rationale =
			"The request may have been carried out; sending it again makes "
			"two.",
		.detection =
			"The back end does it and drops the connection; one more sandbox "
			"is listed, not two.",
		.run = life_create_lost_answer,
	},
	{
		.id = "lifecycle.resume.same",
		SP_CASE_HERE,
		.clause = "L4",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-new"),
		.requirement = "resume() finds the sandbox of that id, from any instance.",
		.rationale = "Another process has nothing but the id.",
		.detection =
			"A file written through the first handle is read through another "
			"instance's.",
		.run = life_resume_same,
	},
	{
		.id = "lifecycle.resume.closed",
		SP_CASE_HERE,
		.clause = "L4",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-close-destroys"),
		.requirement = "close() drops the handle and leaves the sandbox.",
		.rationale = "A handle's end is not the sandbox's.",
		.detection = "Closes, resumes, reads the file.",
		.run = life_resume_closed,
	},
	{
		.id = "lifecycle.resume.gone",
		SP_CASE_HERE,
		.clause = "L5",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-replaces"),
		.requirement = "resume() of a destroyed sandbox answers \"gone for good\".",
		.rationale = "The caller makes a new one only then.",
		.detection = "Destroys, then resumes.",
		.run = life_resume_gone,
	},
	{
		.id = "lifecycle.resume.odd-ids",
		SP_CASE_HERE,
		.clause = "L5",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-id-is-path"),
		.requirement = "An id is found whole or not at all; it is never a path.",
		.rationale = "An id that somebody else chose reached the folder of another "
			     "(contract:C163).",
		.detection = "Resumes a live sandbox's id with parts of paths around it.",
		.run = life_resume_odd_ids,
	},
	{
		.id = "lifecycle.resume.states",
		SP_CASE_HERE,
		.clause = "L5",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-suspended-gone"),
		.requirement =
			"A running or suspended sandbox is found, an errored or "
			"terminated one is gone.",
		.rationale =
			"A suspended one that passes for gone is made again, and the old "
			"one is billed on (contract:C161).",
		.detection = "Puts a sandbox into each state and resumes it.",
		.run = life_resume_states,
	},
	{
		.id = "lifecycle.resume.changes",
		SP_CASE_HERE,
		.clause = "L5",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-impatient", "life-resume-end-is-error"),
		.requirement =
			"resume() waits while a sandbox is resuming or suspending, and "
			"answers by the state that follows.",
		.rationale =
			"An error here makes ensure fail instead of making a new one "
			"(Render provider, item 22).",
		.detection =
			"Resumes on a thread in each passing state; after the rounds, the "
			"state that stays.",
		.run = life_resume_changes,
	},
	{
		.id = "lifecycle.resume.creating",
		SP_CASE_HERE,
		.clause = "L5",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-end-is-error"),
		.requirement =
			"resume() waits while a sandbox is being created, and answers by the "
			"state that follows.",
		.rationale =
			"Who finds the id of a sandbox that another process makes would make a "
			"second one, or fail (Render provider, item 22).",
		.detection =
			"Control puts it back to creating; resumes on a thread; after the rounds, "
			"the state that stays: running, errored, terminated.",
		.run = life_resume_creating,
	},
	{
		.id = "lifecycle.resume.transient",
		SP_CASE_HERE,
		.clause = "L6",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-null-on-error"),
		.requirement = "A failing service is an error and never \"gone for good\".",
		.rationale =
			"\"Gone\" makes the caller create a second, billed sandbox "
			"(contract:C160).",
		.detection = "Twelve failures of the look; each resume is an error.",
		.run = life_resume_transient,
	},
	{
		.id = "lifecycle.resume.not-found",
		SP_CASE_HERE,
		.clause = "L6",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-404-is-gone"),
		.requirement =
			"A 404 is \"gone\" only if a list that follows succeeds without "
			"the sandbox.",
		.rationale = "A workspace without the service answers 404 to everything.",
		.detection =
			"The look answers 404 while the list has it, and while the list "
			"fails too.",
		.run = life_resume_404,
	},
	{
		.id = "lifecycle.destroy.again",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-once"),
		.requirement =
			"destroy() of what is gone is a success, by handle and by id, "
			"from any instance.",
		.rationale = "Clean-up is repeated; an error there hides the first one.",
		.detection =
			"Destroys twice by handle, twice by id, once through another "
			"instance.",
		.run = life_destroy_again,
	},
	{
		.id = "lifecycle.destroy.unknown",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-unknown-throws", "life-destroy-neighbours"),
		.requirement =
			"destroy by an id that never was is a success, and removes nothing.",
		.rationale =
			"A record whose sandbox was never made could not be cleaned up "
			"(field:L07).",
		.detection =
			"The id of a live one with another last character; the live one works on.",
		.run = life_destroy_unknown,
	},
	{
		.id = "lifecycle.destroy.at-once",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-busy"),
		.requirement = "Two destroys of one sandbox at once are both a success.",
		.rationale =
			"The loser of two clean-ups took the winner's work for a failure "
			"(field:L07).",
		.detection =
			"HOLD: the first stands before the service has ended anything; the "
			"second, by "
			"id, comes; then the gate opens.",
		.run = life_destroy_at_once,
	},
	{
		.id = "lifecycle.destroy.by-id",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-id-noop"),
		.requirement = "destroy by id removes the sandbox.",
		.rationale = "Clean-up after a crash has nothing but ids.",
		.detection = "Destroys by id, then resumes.",
		.run = life_destroy_by_id,
	},
	{
		.id = "lifecycle.destroy.others",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-neighbours"),
		.requirement = "destroy() leaves other sandboxes alone.",
		.rationale = "One user's clean-up must not end another's work.",
		.detection = "Two sandboxes, one destroyed; the other's file is read.",
		.run = life_destroy_others,
	},
	{
		.id = "lifecycle.destroy.all-of-it",
		SP_CASE_HERE,
		.clause = "L7",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.tools = LIST("setsid"),
		.faults = LIST("life-destroy-noop"),
		.requirement = "destroy() leaves nothing of the sandbox in the back end.",
		.rationale = "What stays is billed.",
		.detection =
			"A process of a session of its own ignores TERM; the back end "
			"counts after destroy.",
		.run = life_destroy_processes,
	},
	{
		.id = "lifecycle.destroy.refused",
		SP_CASE_HERE,
		.clause = "L8",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroy-swallows"),
		.requirement = "A destroy that the service did not carry out is an error.",
		.rationale =
			"\"Already gone\" for a refused key leaves everything behind "
			"(contract:C166).",
		.detection =
			"Five failures of the terminate; each destroy, by handle and by "
			"id, is an error, and the sandbox works on.",
		.run = life_destroy_refused,
	},
	{
		.id = "lifecycle.destroy.then-use",
		SP_CASE_HERE,
		.clause = "L8",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-destroyed-answers", "life-destroyed-takes-env"),
		.requirement = "Every call on a destroyed sandbox answers \"gone\".",
		.rationale = "A call that seems to work has done nothing.",
		.detection =
			"Fifteen calls through the handle that destroyed it and through "
			"another one.",
		.run = life_destroy_then_use,
	},
	{
		.id = "lifecycle.list.live",
		SP_CASE_HERE,
		.clause = "L9",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX,
		.faults = LIST("life-list-empty", "life-list-skips"),
		.requirement = "list() has each live sandbox once and a destroyed one not at all.",
		.rationale = "A sweep that trusts the list removes or forgets the wrong ones.",
		.detection = "Lists three that were made in one go, and again after a destroy.",
		.run = life_list_live,
	},
	{
		.id = "lifecycle.list.fails",
		SP_CASE_HERE,
		.clause = "L9",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-list-empty-on-error"),
		.requirement = "A list that fails is an error, not an empty list.",
		.rationale = "An empty list says that everything is gone.",
		.detection = "Three failures of the list.",
		.run = life_list_fails,
	},
	{
		.id = "lifecycle.lifetime.ends",
		SP_CASE_HERE,
		.clause = "L10",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-lifetime-dropped"),
		.requirement = "The lifetime asked for is the sandbox's.",
		.rationale = "It is the last net under every leak.",
		.detection =
			"Moves the back end's clock to just before and just after its "
			"end, and resumes.",
		.run = life_expires,
	},
	{
		.id = "lifecycle.sleep.files",
		SP_CASE_HERE,
		.clause = "L11",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-wake-wipes"),
		.requirement =
			"A command wakes a suspended sandbox, with everything in /tmp and "
			"in the memory-backed directory.",
		.rationale = "Environment files live there.",
		.detection = "Writes in three places, suspends, reads.",
		.run = life_sleep_files,
	},
	{
		.id = "lifecycle.sleep.transfers",
		SP_CASE_HERE,
		.clause = "L11",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-write-does-not-wake"),
		.requirement = "A write alone and a read alone wake a suspended sandbox.",
		.rationale = "Otherwise the first file call after a pause fails.",
		.detection = "Suspends, writes; suspends, reads.",
		.run = life_sleep_upload,
	},
	{
		.id = "lifecycle.sleep.env",
		SP_CASE_HERE,
		.clause = "L11",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_ENV | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-wake-loses-env"),
		.requirement = "The first command after waking has its environment.",
		.rationale = "A restart takes memory with it; the provider has to notice.",
		.detection = "Suspends and prints the variable.",
		.run = life_sleep_env,
	},
	{
		.id = "lifecycle.sleep.durable",
		SP_CASE_HERE,
		.clause = "L12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_NO_SANDBOX,
		.faults = LIST("life-resume-fresh-disk"),
		.requirement =
			"Files survive stop and start without a snapshot, where "
			"durable_filesystem is declared.",
		.rationale = "The declaration decides whether ensure resumes or restores.",
		.detection =
			"Stops it, resumes through another instance, reads content, link "
			"and mode.",
		.run = life_sleep_durable,
	},
};

const struct sp_suite sp_suite_lifecycle = {
	.version = SP_SUITE_VERSION,
	.name = "lifecycle",
	.summary = "sandboxes are made, found, woken and removed, and none is lost or doubled",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "1",
};
