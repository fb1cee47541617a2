/* SPDX-License-Identifier: MIT */
/* The records of the fs suite: what each case demands, why, and how it sees the defect. */
#include "fs.h"

#include <base/cleanup.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "fs.bytes.exact",
		SP_CASE_HERE,
		.clause = "F1",
		.level = SP_MUST,
		.faults = LIST("fs-text-mode", "fs-empty-is-an-error"),
		.requirement = "Any bytes are written and read as they are, of any length.",
		.rationale =
			"Text conversions, line ends and byte order marks were added or "
			"lost (field:F01, F14, F15).",
		.detection =
			"Ten contents and all 256 byte values, each read back, its size "
			"told by a command.",
		.run = fs_bytes_exact,
	},
	{
		.id = "fs.bytes.two-paths",
		SP_CASE_HERE,
		.clause = "F1",
		.level = SP_MUST,
		.tools = LIST("sha256sum"),
		.faults = LIST("fs-write-cut", "fs-write-in-an-argument"),
		.requirement =
			"What one side writes the other side reads, also when it is "
			"large.",
		.rationale =
			"A write that reports success and a file that is not whole "
			"(field:F07).",
		.detection =
			"TWOPATH: 5 MiB by the call, summed by a command, copied by a "
			"command, read by the call.",
		.run = fs_bytes_two_paths,
	},
	{
		.id = "fs.bytes.sizes",
		SP_CASE_HERE,
		.clause = "F1",
		.level = SP_MUST,
		.tools = LIST("sha256sum"),
		.faults = LIST("fs-write-large-is-nothing"),
		.requirement = "A file of any size is there, whole, when write() answers.",
		.rationale =
			"Above some size nothing was written, or an argument was too long "
			"(field:F07, contract:C134).",
		.detection =
			"21 sizes from 1 byte to 2 MiB around pages, pipes and arguments; a "
			"command and read() compare.",
		.run = fs_bytes_sizes,
	},
	{
		.id = "fs.write.replaces",
		SP_CASE_HERE,
		.clause = "F2",
		.level = SP_MUST,
		.faults = LIST("fs-write-appends"),
		.requirement = "write() replaces the whole content.",
		.rationale = "The tail of a longer old content survives.",
		.detection = "A long content, a short one, an empty one.",
		.run = fs_write_replaces,
	},
	{
		.id = "fs.write.parents",
		SP_CASE_HERE,
		.clause = "F2",
		.level = SP_MUST,
		.faults = LIST("fs-write-needs-folder"),
		.requirement = "write() makes missing folders.",
		.rationale = "Callers write into trees that are not there yet (contract 1.5).",
		.detection = "Writes two folders deep.",
		.run = fs_write_parents,
	},
	{
		.id = "fs.write.refuses",
		SP_CASE_HERE,
		.clause = "F2",
		.level = SP_MUST,
		.faults = LIST("fs-write-swallows"),
		.requirement =
			"write() where a folder is, or below a file, is an error and changes "
			"nothing.",
		.rationale =
			"Success without a file is lost work (field:F07).",
		.detection =
			"To a folder and below a file; a command looks at what is there.",
		.run = fs_write_refuses,
	},
	{
		.id = "fs.write.atomic",
		SP_CASE_HERE,
		.clause = "F2",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.tools = LIST("sha256sum"),
		.faults = LIST("fs-write-in-two-steps"),
		.requirement =
			"Where atomic_write is declared, a reader sees the old or the new "
			"content.",
		.rationale = "A reader between truncate and write sees neither (field:F21).",
		.detection =
			"A command sums the file a hundred times while two contents are "
			"written by turns; every digest is one of two.",
		.run = fs_write_atomic,
	},
	{
		.id = "fs.read.missing",
		SP_CASE_HERE,
		.clause = "F3",
		.level = SP_MUST,
		.faults = LIST("fs-read-missing-is-empty"),
		.requirement = "read() of what is missing is \"not found\".",
		.rationale = "An empty content for a missing file is a lie.",
		.detection = "A missing file, and one below a missing folder.",
		.run = fs_read_missing,
	},
	{
		.id = "fs.read.folder",
		SP_CASE_HERE,
		.clause = "F3",
		.level = SP_MUST,
		.faults = LIST("fs-read-folder-as-file"),
		.requirement = "read() of a folder is a conflict.",
		.rationale =
			"The platform sends a folder as an archive; its bytes are no "
			"file's (Render provider, item 28).",
		.detection =
			"Reads a folder, an empty one, one that is named like an archive, and a "
			"link.",
		.run = fs_read_folder,
	},
	{
		.id = "fs.read.tar",
		SP_CASE_HERE,
		.clause = "F3",
		.level = SP_MUST,
		.tools = LIST("sha256sum", "tar"),
		.faults = LIST("fs-tar-is-a-folder"),
		.requirement = "An archive is read as itself.",
		.rationale =
			"Whoever tells folders by the archive's look mistakes it (Render "
			"provider, item 28).",
		.detection =
			"Five, of tar and gzip, one cut off, one without an ending; digests are "
			"compared.",
		.run = fs_read_tar,
	},
	{
		.id = "fs.list.types",
		SP_CASE_HERE,
		.clause = "F4",
		.level = SP_MUST,
		.tools = LIST("mkfifo"),
		.faults = LIST("fs-list-follows-links"),
		.requirement =
			"list() tells file, folder, link and everything else apart, and "
			"follows no link.",
		.rationale = "A link to a folder was listed as a file (contract:C133).",
		.detection = "One of each, a dangling link among them.",
		.run = fs_list_types,
	},
	{
		.id = "fs.list.refuses",
		SP_CASE_HERE,
		.clause = "F4",
		.level = SP_MUST,
		.faults = LIST("fs-list-empty-on-error"),
		.requirement =
			"list() of what is missing or no folder is an error; an empty "
			"folder is an empty list.",
		.rationale =
			"An empty list for an error reads as \"nothing there\" "
			"(field:F11).",
		.detection = "A missing folder, a file, an empty folder.",
		.run = fs_list_refuses,
	},
	{
		.id = "fs.lstat.types",
		SP_CASE_HERE,
		.clause = "F5",
		.level = SP_MUST,
		.tools = LIST("mkfifo"),
		.faults = LIST("fs-lstat-follows-links"),
		.requirement =
			"lstat() describes the entry itself: type, full mode, and a size "
			"for regular files.",
		.rationale = "A followed link hides where writing would go (contract 1.5 F7).",
		.detection = "One of each with a mode of its own.",
		.run = fs_lstat_types,
	},
	{
		.id = "fs.lstat.refuses",
		SP_CASE_HERE,
		.clause = "F5",
		.level = SP_MUST,
		.faults = LIST("fs-lstat-failure-is-missing", "fs-exists-means-no-error"),
		.requirement =
			"What cannot be looked at is an error of lstat() and never \"not "
			"found\", and is not there for exists().",
		.rationale =
			"A failed look was read as absence, and what was there was made anew"
			"(contract:C129, field:F09).",
		.detection =
			"Below a file, and below a link that leads to itself.",
		.run = fs_lstat_refuses,
	},
	{
		.id = "fs.exists.answers",
		SP_CASE_HERE,
		.clause = "F5",
		.level = SP_MUST,
		.tools = LIST("mkfifo"),
		.faults = LIST("fs-exists-follows-links"),
		.requirement =
			"exists() is true for every entry, a dangling link included, and "
			"false for confirmed absence.",
		.rationale = "What is there and not seen is overwritten.",
		.detection = "Four entries, one missing, one below a missing folder.",
		.run = fs_exists_answers,
	},
	{
		.id = "fs.mkdir.makes",
		SP_CASE_HERE,
		.clause = "F6",
		.level = SP_MUST,
		.faults = LIST("fs-mkdir-ignores-errors", "fs-mkdir-once"),
		.requirement =
			"mkdir() makes parents, accepts a folder and refuses where a file "
			"is.",
		.rationale =
			"Ignored exit codes made failures look like success "
			"(contract:C131).",
		.detection = "Twice the same path; then on and below a file.",
		.run = fs_mkdir_makes,
	},
	{
		.id = "fs.remove.tree",
		SP_CASE_HERE,
		.clause = "F7",
		.level = SP_MUST,
		.faults = LIST("fs-remove-follows-links"),
		.requirement =
			"remove() takes a whole tree or a link itself, never what a link "
			"leads to, and accepts absence.",
		.rationale =
			"Clean-up that follows a link empties somebody else's folder "
			"(field:F17).",
		.detection =
			"A tree with hidden files and a link out of it, twice; a link, a "
			"dangling one, a file.",
		.run = fs_remove_tree,
	},
	{
		.id = "fs.remove.refused",
		SP_CASE_HERE,
		.clause = "F7",
		.level = SP_MUST,
		.faults = LIST("fs-remove-ignores-errors"),
		.requirement =
			"A remove that was not carried out is an error.",
		.rationale =
			"Exit codes of the tool were ignored (contract:C128, field:F17).",
		.detection =
			"A file that the kernel keeps whoever asks, /proc/1/status.",
		.run = fs_remove_refused,
	},
	{
		.id = "fs.rename.posix",
		SP_CASE_HERE,
		.clause = "F8",
		.level = SP_MUST,
		.faults = LIST("fs-rename-into-folder"),
		.requirement = "rename() does what rename(2) does.",
		.rationale = "mv moves *into* a folder instead of refusing (field:F19).",
		.detection =
			"Ten pairs of files and folders; what is there afterwards is "
			"listed.",
		.run = fs_rename_as_posix,
	},
	{
		.id = "fs.names.odd",
		SP_CASE_HERE,
		.clause = "F9",
		.level = SP_MUST,
		.faults = LIST("fs-names-unquoted"),
		.requirement = "Every call works on names of any text.",
		.rationale =
			"A leading dash, a newline or a quote ends up as an option or as "
			"shell (field:F01, contract:C134).",
		.detection =
			"11 names through write, read, exists, lstat, rename and remove; "
			"a command looks at all of them between the calls.",
		.run = fs_names_odd,
	},
	{
		.id = "fs.names.whole",
		SP_CASE_HERE,
		.clause = "F9",
		.level = SP_MUST,
		.faults = LIST("fs-dash-is-option"),
		.requirement =
			"A path may begin with a dash or any other mark.",
		.rationale =
			"With nothing before it a name is an option, a home or a history "
			"(contract 1.5 F8).",
		.detection =
			"Twelve beginnings of a relative path through write, read, exists, "
			"lstat, rename"
			"and remove; a command looks.",
		.run = fs_names_whole,
	},
	{
		.id = "fs.names.folders",
		SP_CASE_HERE,
		.clause = "F9",
		.level = SP_MUST,
		.faults = LIST("fs-mkdir-double-quotes"),
		.requirement =
			"Folders may have any name that files may have.",
		.rationale =
			"The same quoting, in other calls (field:F01).",
		.detection =
			"11 names through mkdir, write into it, list, rename and remove; a "
			"command looks at all of them between the calls.",
		.run = fs_names_folders,
	},
	{
		.id = "fs.names.bytes",
		SP_CASE_HERE,
		.clause = "F9",
		.level = SP_MUST,
		.faults = LIST("fs-names-as-text"),
		.requirement =
			"A name that is no text is taken as it is, or refused by read() and "
			"write() as"
			"invalid; it never stands for another.",
		.rationale =
			"A conversion makes one name of many, and the wrong file is removed "
			"(field:F01).",
		.detection =
			"A name of bytes that are not UTF-8 beside the name that a conversion "
			"would make of"
			"it, through all calls; the other file stays.",
		.run = fs_names_bytes,
	},
	{
		.id = "fs.names.listed",
		SP_CASE_HERE,
		.clause = "F9",
		.level = SP_MUST,
		.faults = LIST("fs-list-splits-lines"),
		.requirement = "list() gives names of any bytes, in their order.",
		.rationale = "Listings that are split at newlines invent entries.",
		.detection = "11 names made by a command; each is listed once, with its path.",
		.run = fs_names_listed,
	},
	{
		.id = "fs.paths.workspace",
		SP_CASE_HERE,
		.clause = "F10",
		.level = SP_MUST,
		.faults = LIST("fs-workspace-is-real"),
		.requirement =
			"/workspace, relative paths and the real root lead to the same "
			"place.",
		.rationale = "Providers map it in some calls only (Render provider, item 34).",
		.detection =
			"Written by one, read by the others, \"..\" and \"//\" among "
			"them, and 11 names at the end.",
		.run = fs_paths_workspace,
	},
	{
		.id = "fs.paths.look-alike",
		SP_CASE_HERE,
		.clause = "F10",
		.level = SP_MUST,
		.faults = LIST("fs-workspace-is-prefix"),
		.requirement =
			"A path that only begins like /workspace leads elsewhere, or is refused.",
		.rationale =
			"A test of the beginning lets /workspace-evil through (contract:C137).",
		.detection =
			"A write beside /workspace; a command looks there and where the "
			"beginning would lead.",
		.run = fs_paths_look_alike,
	},
	{
		.id = "fs.abort.before",
		SP_CASE_HERE,
		.clause = "F11",
		.level = SP_MUST,
		.faults = LIST("fs-ignores-abort"),
		.requirement = "A call whose cancel has fired does nothing and tells the reason.",
		.rationale =
			"A cancel that reads as \"missing\" or as done (Render provider, "
			"item 17).",
		.detection = "All eight calls; the file is as it was.",
		.run = fs_abort_before,
	},
	{
		.id = "fs.abort.during",
		SP_CASE_HERE,
		.clause = "F11",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("fs-abort-is-missing"),
		.requirement = "An abort while a call is under way rejects with it.",
		.rationale =
			"exists() read a cancel as \"missing\" (Render provider, item "
			"17).",
		.detection =
			"GATE before and after the token and the command or transfer of "
			"each call; abort; then open, and go on.",
		.run = fs_abort_during,
	},
	{
		.id = "fs.trouble.not-absence",
		SP_CASE_HERE,
		.clause = "F12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("fs-failure-is-absence", "fs-lstat-failure-is-absence"),
		.requirement =
			"A service that fails is an error, and neither success nor "
			"absence.",
		.rationale = "Every failed look read as \"absent\" (contract:C130, field:F09).",
		.detection = "Four failures under all eight calls.",
		.run = fs_failure_is_not_absence,
	},
	{
		.id = "fs.trouble.disk-full",
		SP_CASE_HERE,
		.clause = "F12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("fs-write-swallows"),
		.requirement =
			"A write that finds no room is an error, leaves what was there as it "
			"was, and the next one works.",
		.rationale = "A full disk that nobody is told of loses work (field:F07).",
		.detection = "The back end's disk is full once over a file, once where none is.",
		.run = fs_disk_full,
	},
	{
		.id = "fs.costs.counted",
		SP_CASE_HERE,
		.clause = "F13",
		.level = SP_SHOULD,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("fs-write-asks-first"),
		.requirement =
			"read and write cost one transfer, a write below a missing folder "
			"one command and one transfer more, every other call one command.",
		.rationale =
			"Each command is recorded, billed and slow (Render provider, item "
			"28).",
		.detection = "COUNT: what the back end received for each call.",
		.run = fs_costs,
	},
};

const struct sp_suite sp_suite_fs = {
	.version = SP_SUITE_VERSION,
	.name = "fs",
	.summary = "files are what was written, and no failure looks like absence",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = SP_COUNT(cases),
	.clauses_version = "2",
};
