/* SPDX-License-Identifier: MIT */
/* The records of the env suite: what each case demands, why, and how it sees the defect. */
#include <suites/env/cases.h>
#include <suites/env/env.h>
#include <witness/vars.h>

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "env.value.bytes",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-escapes-newlines"),
		.requirement = "Every byte but NUL arrives in a value as it was: by exec, by "
			       "spawn, by env_set.",
		.rationale = "Values pass quoting, a file and a shell; each of them has eaten "
			     "bytes (field:E08, contract:C110).",
		.detection = "One value of all 255 bytes; what a child of the shell inherits is "
			     "compared by CRC and length.",
		.limits = "A NUL cannot stand in a C text; a driver refuses it before it comes "
			  "here.",
		.run = env_value_bytes,
	},
	{
		.id = "env.value.shapes",
		SP_CASE_HERE,
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-escapes-newlines", "env-drops-empty", "env-unquoted"),
		.requirement = "Twenty shapes of values arrive as they were, and nothing that a "
			       "value says is done.",
		.rationale = "A newline started a new line of a sourced file, an empty value was "
			     "dropped, a substitution ran (field:E08, field:E11).",
		.detection = "All of them at once on each way, compared by CRC; a variable that "
			     "one of them tries to set stays absent.",
		.run = env_value_shapes,
	},
	{
		.id = "env.value.created",
		SP_CASE_HERE,
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-create-escapes"),
		.requirement = "What is given at creation arrives byte for byte, however much.",
		.rationale = "Creation is a path of its own, with other quoting and other limits "
			     "(field:E14, contract:C110).",
		.detection = "All shapes, all bytes, 100 KiB and a hundred more in one create; "
			     "compared by CRC and length.",
		.run = env_value_created,
	},
	{
		.id = "env.value.many",
		SP_CASE_HERE,
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-first-64"),
		.requirement = "One hundred variables, one of them of 100 KiB, arrive together.",
		.rationale = "Limits that nobody named drop the rest (issue: 100 variables).",
		.detection = "Each is compared by CRC and length, on each way.",
		.run = env_value_many,
	},
	{
		.id = "env.value.too-long",
		SP_CASE_HERE,
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-accepts-any-length"),
		.requirement = "A value that no program can be given is refused, or arrives "
			       "whole; nothing changes by the refusal.",
		.rationale = "The kernel hands over 128 KiB a variable. A longer one in the "
			     "shell's environment keeps every later program from starting, and "
			     "its file stays (contract:C110).",
		.detection = "128 KiB and 1 MiB by exec and env_set; after a refusal no effect, "
			     "what was set before is there, programs start.",
		.run = env_value_too_long,
	},
	{
		.id = "env.value.too-much",
		SP_CASE_HERE,
		.clause = "E1",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-accepts-any-length"),
		.requirement = "Variables that together are more than a program can be given are "
			       "refused, or arrive whole.",
		.rationale = "The kernel bounds the sum as well, and a shell that sourced them "
			     "can start nothing any more.",
		.detection = "Eighty values of 100 KiB; the same looks as for one that is too "
			     "long.",
		.run = env_value_too_much,
	},
	{
		.id = "env.name.refused",
		SP_CASE_HERE,
		.clause = "E2",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST("grep"),
		.faults = LIST("env-drops-bad-names", "env-any-name"),
		.requirement = "A name that cannot be delivered is refused with an error, and "
			       "nothing runs; it is never dropped and never taken for shell.",
		.rationale = "Six names are read-only in bash, and exporting one silently "
			     "stopped every command (contract:C106, render:15). Others were "
			     "dropped, or ran (field:E09, field:E10).",
		.detection = "Eighteen names by exec and env_set: delivered to the child, or "
			     "SP_INVALID without effect.",
		.run = env_name_refused,
	},
	{
		.id = "env.name.created",
		SP_CASE_HERE,
		.clause = "E2",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.tools = LIST("grep"),
		.faults = LIST("env-create-drops-bad-names"),
		.requirement = "A create with a name that cannot be delivered is refused, and "
			       "makes nothing.",
		.rationale = "The name was dropped, or a billed sandbox stayed behind the error "
			     "(contract:C106, field:E10).",
		.detection = "Thirteen names, each beside a good one: SP_INVALID, or delivered to "
			     "the child; the runner counts sandboxes.",
		.run = env_name_created,
	},
	{
		.id = "env.name.swallowed",
		SP_CASE_HERE,
		.clause = "E2",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST("grep"),
		.faults = LIST("env-any-name"),
		.requirement = "A name whose value the shell makes itself is delivered or refused.",
		.rationale = "RANDOM is accepted and its value is not delivered (contract:C111).",
		.detection = "Twenty-one names are set and read back from what a child inherits.",
		.run = env_name_swallowed,
	},
	{
		.id = "env.name.all-or-none",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E2",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-names-after-merge", "env-drops-bad-names"),
		.requirement = "One refused name refuses the whole call and changes nothing.",
		.rationale = "A refused call left its bad name behind, and every later command "
			     "broke (contract:C107, render:16).",
		.detection = "A call with two good names and a bad one; then a command, another "
			     "call, another command.",
		.run = env_name_all_or_none,
	},
	{
		.id = "env.set.merges",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-first-value-stays"),
		.requirement = "env_set adds to what is set and replaces what has the same name.",
		.rationale = "A merge that keeps the old value keeps yesterday's secret.",
		.detection = "Two overlapping calls, a call of nothing, one name twice in a call.",
		.run = env_set_merges,
	},
	{
		.id = "env.set.call-wins",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-call-stays"),
		.requirement = "A command's own value wins over the sandbox's, for this command "
			       "only.",
		.rationale = "Per-call values that stay reach commands that they were not given "
			     "to (field:E14, contract:1.4).",
		.detection = "Three names with other values for one command; the next command "
			     "has the sandbox's.",
		.run = env_set_call_wins,
	},
	{
		.id = "env.set.create",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-create-ignored"),
		.requirement = "What was given at creation is seen by exec and spawn; a call's "
			       "own value wins.",
		.rationale = "Variables of the creation were missing on some paths (field:E14).",
		.detection = "{exec, spawn} by {base, own}.",
		.run = env_set_create,
	},
	{
		.id = "env.set.resume",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-resume-cannot-set"),
		.requirement = "What is set after a resume is what every later command of that "
			       "handle sees.",
		.rationale = "A sandbox that is found again may hold older secrets or none, so "
			     "they are set again (contract:C99, contract:E2).",
		.detection = "Another instance finds the sandbox by id and sets today's values; "
			     "{exec, spawn} by {base, own}.",
		.run = env_set_resume,
	},
	{
		.id = "env.set.shared",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_SHOULD,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-handle-keeps-own"),
		.requirement = "What one handle sets reaches the commands of every other handle "
			       "on the sandbox.",
		.rationale = "A rotation by one process leaves the others with yesterday's "
			     "secret otherwise (render:7, field:E14). A provider whose variables "
			     "live in the handle cannot do it.",
		.detection = "A handle found later sees the first one's value; after it has set "
			     "another one, the first handle's command sees that.",
		.run = env_set_shared,
	},
	{
		.id = "env.set.rotation",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("env-old-file-stays", "env-first-value-stays"),
		.requirement = "After a rotation no file and no process of the sandbox holds the "
			       "old value.",
		.rationale = "Older files stayed beside the new one, and the next snapshot took "
			     "them (contract:C101, render:30).",
		.detection = "Sets a secret, then another; commands see the new one; files and "
			     "processes are searched for the old one.",
		.run = env_set_rotation,
	},
	{
		.id = "env.set.other-handle",
		SP_CASE_HERE,
		.clause = "E3",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("env-old-file-stays"),
		.requirement = "After another handle has set today's value, no file of the "
			       "sandbox holds the old one.",
		.rationale = "One file a handle left the first handle's secrets on disk "
			     "(contract:C99, render:7).",
		.detection = "Another instance finds the sandbox by id and sets today's secret; "
			     "its commands have it, and files and processes are searched for the "
			     "old one.",
		.run = env_set_other_handle,
	},
	{
		.id = "env.set.concurrent",
		SP_CASE_HERE,
		.clause = "E4",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-no-queue"),
		.requirement = "Two env_set calls at once lose nothing, and a command that is "
			       "asked for after them has both.",
		.rationale = "Each wrote a file of its own variables only (contract:C108, "
			     "render:12).",
		.detection = "The first one's write is held; the second and a command come "
			     "meanwhile, then the gate opens.",
		.run = env_set_concurrent,
	},
	{
		.id = "env.set.failed",
		SP_CASE_HERE,
		.clause = "E4",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-set-failure-silent"),
		.requirement = "An env_set whose write fails is an error and leaves what was set.",
		.rationale = "A silent failure runs the next command with yesterday's value and "
			     "says that it is today's.",
		.detection = "Control fills the disk under the write; the next command has the "
			     "old value, and a second try works.",
		.run = env_set_failed,
	},
	{
		.id = "env.set.lost",
		SP_CASE_HERE,
		.clause = "E4",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-missing-runs-anyway"),
		.requirement = "When the sandbox has lost its variables, they are set again "
			       "before the next command; none runs without.",
		.rationale = "A restart of the platform empties the memory-backed directory "
			     "(contract:C287).",
		.detection = "Everything in the directory is removed; the next command finds its "
			     "variables.",
		.run = env_set_lost,
	},
	{
		.id = "env.secret.requests",
		SP_CASE_HERE,
		.clause = "E5",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-in-command-text", "git-token-in-text"),
		.requirement = "No request holds a value, outside the content of an uploaded file.",
		.rationale = "Export prefixes put every secret into the command text "
			     "(contract:C94, field:E01).",
		.detection = "Values of exec, spawn, env_set, create and git are searched for in "
			     "target, headers and body of everything received, after they were "
			     "seen to arrive.",
		.run = env_secret_requests,
	},
	{
		.id = "env.secret.timeline",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E5",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-in-command-text"),
		.requirement = "The platform's record of commands holds no value.",
		.rationale = "The text of every command is stored and shown (contract:C94, "
			     "field:E03, render:6).",
		.detection = "The timeline is searched after exec, spawn and git; it must hold "
			     "the text of a command that is looked for.",
		.run = env_secret_timeline,
	},
	{
		.id = "env.secret.argv",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E5",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SPAWN,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS, SP_FIFO_TOOLS),
		.faults = LIST("env-in-command-text", "env-export-prefix"),
		.requirement = "No process has a value on its command line, in the sandbox or "
			       "outside; and outside none has one in its environment.",
		.rationale = "Command lines are for everybody to read (contract:E3, field:E01).",
		.detection = "A command with a secret of its own stands still; every cmdline is "
			     "searched, inside by a command, outside by the case.",
		.limits = "Processes of another machine: live, only the inside is seen.",
		.run = env_secret_argv,
	},
	{
		.id = "env.secret.own-argv",
		SP_CASE_HERE,
		.clause = "E5",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, "tr"),
		.faults = LIST("env-export-prefix", "env-in-command-text"),
		.requirement = "A command finds no value on its own command line, nor on those "
			       "of the processes that it descends from.",
		.rationale = "Command lines are for everybody to read (contract:E3, field:E01); a "
			     "provider that can do nothing but exec has them too.",
		.detection = "A command with a secret of its own prints its command line and its "
			     "parents', with a word that shows that they can be read.",
		.run = env_secret_own_argv,
	},
	{
		.id = "env.secret.logs",
		SP_CASE_HERE,
		.clause = "E5",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS),
		.faults = LIST("env-logs-values"),
		.requirement = "A provider that logs on standard output or error logs no value.",
		.rationale = "Logs are kept, sent on, read by many (contract:E3, contract:C114).",
		.detection = "Both outputs of this process are turned aside while values are set, "
			     "used and refused; what was said is searched, and holds what the "
			     "case itself has said.",
		.limits = "What a provider in another process (a driver) logs goes elsewhere.",
		.run = env_secret_logs,
	},
	{
		.id = "env.secret.other-environ",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SPAWN,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS, SP_FIFO_TOOLS),
		.faults = LIST("env-call-stays", "env-call-to-all"),
		.requirement = "A command's own value is in no other process's environment.",
		.rationale = "An agent's token was readable in the environment of its supervisor "
			     "(field:E05).",
		.detection = "The command stands still; among all environments only its own "
			     "holds the value.",
		.run = env_secret_other_environ,
	},
	{
		.id = "env.secret.call-file",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SPAWN,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS, SP_FIFO_TOOLS),
		.faults = LIST("env-call-file-stays"),
		.requirement = "Once a command has its own values, no file holds them: while it "
			       "runs and after.",
		.rationale = "A long-running command kept its file for the next snapshot "
			     "(contract:C104, render:11).",
		.detection = "The command stands still; all files are searched, then again after "
			     "its end.",
		.run = env_secret_call_file,
	},
	{
		.id = "env.secret.never-started",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("env-aborted-file-stays"),
		.requirement = "A command that was ended before it started leaves no file with "
			       "its values, also not later.",
		.rationale = "The file of a command that never loads it stays for ever "
			     "(render:3, render:11).",
		.detection = "An exec is held with its file in place, and at its start; aborted; "
			     "released; all files are searched.",
		.run = env_secret_never_started,
	},
	{
		.id = "env.secret.at-rest",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("env-state-file", "env-on-disk"),
		.requirement = "No file outside the memory-backed directory ever holds a value.",
		.rationale = "A shell-state file with all exports was kept on disk (field:E16); "
			     "an overlay in /tmp went into snapshots (render:8).",
		.detection = "Files are searched after exec, spawn and three more commands.",
		.run = env_secret_at_rest,
	},
	{
		.id = "env.secret.other-user",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV | SP_NEED_SPAWN,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS, SP_FIFO_TOOLS, "setpriv", "stat"),
		.faults = LIST("env-world-readable"),
		.requirement = "Files with values are 0600 in a 0700 folder; another user of the "
			       "sandbox reads neither them nor a command's environment.",
		.rationale = "An agent that runs as a plain user must not read root's secrets "
			     "(render:35).",
		.detection = "Each file that holds a value is opened as user 65534 and its modes "
			     "are looked at.",
		.run = env_secret_other_user,
	},
	{
		.id = "env.secret.other-user-held",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS, "setpriv", "stat"),
		.faults = LIST("env-world-readable"),
		.requirement = "The same for a command's own file between its upload and its "
			       "start.",
		.rationale = "It is there only for a moment, and that is enough for a reader "
			     "that waits for it (render:35).",
		.detection = "The start is held with the file in place; it is found, looked at, "
			     "and tried as another user.",
		.run = env_secret_other_user_held,
	},
	{
		.id = "env.secret.host",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_NO_SANDBOX | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("env-host-leaks"),
		.requirement = "What stands in the environment of the program that uses the "
			       "provider is in no environment of the sandbox.",
		.rationale = "Commands inherited the caller's environment, cluster tokens "
			     "included (contract:C112, field:E06).",
		.detection = "A secret is put into our own environment before the creation; "
			     "every environment in the sandbox is searched.",
		.run = env_secret_host,
	},
	{
		.id = "env.secret.git",
		SP_CASE_HERE,
		.clause = "E6",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_VARS_TOOLS, SP_SEARCH_TOOLS),
		.faults = LIST("git-token-in-text"),
		.requirement = "A git call's token is in the environment of that one command, "
			       "and in no argument and no file.",
		.rationale = "Tokens stood in arguments and in configuration variables "
			     "(contract:C96).",
		.detection = "A stand-in for git notes its arguments and proves that the token "
			     "came; both are compared.",
		.run = env_secret_git,
	},
	{
		.id = "env.error.refused",
		SP_CASE_HERE,
		.clause = "E7",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.faults = LIST("env-value-in-error"),
		.requirement = "The error about a refused name or value does not hold the value.",
		.rationale = "Errors are logged (contract:C114).",
		.detection = "Refused names and lengths on exec, spawn, env_set and create; "
			     "message and detail are searched.",
		.run = env_error_refused,
	},
	{
		.id = "env.error.name",
		SP_CASE_HERE,
		.clause = "E7",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_ENV,
		.faults = LIST("env-quotes-any-name"),
		.requirement = "A name that cannot be one is not repeated in the error.",
		.rationale = "\"TOKEN=secret\" in the name's place is a common slip; the name "
			     "then is the secret (contract:C114).",
		.detection = "Such a name on exec, spawn and env_set; message and detail are "
			     "searched.",
		.run = env_error_name,
	},
	{
		.id = "env.error.upload",
		SP_CASE_HERE,
		.clause = "E7",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.faults = LIST("env-value-in-error"),
		.requirement = "The error of a failed transfer does not hold the value.",
		.rationale = "Clients put what they sent into what they say (contract:C114).",
		.detection = "Control fails the upload in five ways; message and detail are "
			     "searched.",
		.run = env_error_upload,
	},
	{
		.id = "env.error.start",
		SP_CASE_HERE,
		.clause = "E7",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_FRESH | SP_NEED_ENV,
		.tools = LIST(SP_SEARCH_TOOLS),
		.faults = LIST("env-value-in-error"),
		.requirement = "The error of a failed start does not hold the value, and no file "
			       "is left that does.",
		.rationale = "The same, and the variables of what never ran stay behind "
			     "(contract:C114).",
		.detection = "Control fails the start in five ways, and a folder is missing; "
			     "errors and files are searched.",
		.run = env_error_start,
	},
};

const struct sp_suite sp_suite_env = {
	.version = SP_SUITE_VERSION,
	.name = "env",
	.summary = "variables byte for byte, names refused and never dropped, secrets nowhere "
		   "but where they belong",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "2",
};
