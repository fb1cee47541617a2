/* SPDX-License-Identifier: MIT */
/* The records of the exec suite: what each case demands, why, and how it sees the defect. */
#include "exec.h"

#include <witness/fifo.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct sp_case_def cases[] = {
	{
		.id = "exec.code.passes-through",
		SP_CASE_HERE,
		.clause = "X1",
		.level = SP_MUST,
		.faults = LIST("exec-code-boolean"),
		.requirement = "Exit codes 0 to 255 arrive unchanged.",
		.rationale = "Callers branch on codes; a code that collapses hides what went "
			     "wrong (field:X04, contract:C145).",
		.detection = "Runs \"exit N\" for ten codes, those that shells use for "
			     "themselves among them, and compares each.",
		.run = exec_code_passes_through,
	},
	{
		.id = "exec.code.no-program",
		SP_CASE_HERE,
		.clause = "X1",
		.level = SP_MUST,
		.faults = LIST("exec-127-is-an-error"),
		.requirement = "A program that is missing or may not be executed is a normal "
			       "result with 127 or 126.",
		.rationale = "The shell's answer is a result of the command, not a failure of "
			     "the platform (contract:C145).",
		.detection = "Runs an absent program and a file without the right to execute.",
		.run = exec_code_no_program,
	},
	{
		.id = "exec.code.is-final",
		SP_CASE_HERE,
		.clause = "X1",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("exec-code-at-stream-end"),
		.requirement = "exec answers when the command has ended, not when its outputs "
			       "have.",
		.rationale = "A code that is read at the end of the output is not there yet and "
			     "reads as 0 (field:X03).",
		.detection = "The command closes both outputs and stands at a FIFO: exec is "
			     "still pending after N round trips; then it goes on and exits 42.",
		.run = exec_code_is_final,
	},
	{
		.id = "exec.code.syntax-error",
		SP_CASE_HERE,
		.clause = "X1",
		.level = SP_MUST,
		.faults = LIST("exec-syntax-error-is-zero"),
		.requirement = "A text that is no command gives a code other than 0 and the "
			       "shell's complaint, and harms no later command.",
		.rationale = "A missing code read as 0 reports a command that never ran as done "
			     "(contract:C145).",
		.detection = "Runs five broken texts, and a plain command after each.",
		.run = exec_code_syntax_error,
	},
	{
		.id = "exec.output.apart",
		SP_CASE_HERE,
		.clause = "X2",
		.level = SP_MUST,
		.faults = LIST("stderr-folded"),
		.requirement = "stdout and stderr arrive apart, also from a command that fails.",
		.rationale = "Diagnostics that end up in stdout become data (field:X17).",
		.detection = "Commands write to one or both; both fields are compared exactly.",
		.run = exec_output_apart,
	},
	{
		.id = "exec.output.undecorated",
		SP_CASE_HERE,
		.clause = "X2",
		.level = SP_MUST,
		.faults = LIST("exec-output-trimmed"),
		.requirement = "Output is what the command wrote and nothing else: no newline "
			       "added or taken, no byte changed.",
		.rationale = "Trimmed output breaks digests and keys (field:F14).",
		.detection = "Ten outputs with every kind of edge, a NUL and a byte order mark "
			     "among them.",
		.run = exec_output_undecorated,
	},
	{
		.id = "exec.output.split-characters",
		SP_CASE_HERE,
		.clause = "X2",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("decoded-per-chunk"),
		.requirement = "A character whose bytes are written one at a time arrives whole.",
		.rationale = "Decoding each piece by itself turns both halves into U+FFFD "
			     "(field:X09, contract:C69).",
		.detection = "Characters of two, three and four bytes, byte by byte with a "
			     "handshake between them, on both streams.",
		.run = exec_output_split_characters,
	},
	{
		.id = "exec.output.invalid-bytes",
		SP_CASE_HERE,
		.clause = "X2",
		.level = SP_MUST,
		.faults = LIST("exec-invalid-dropped"),
		.requirement = "A byte that is not UTF-8 arrives as it is (output: bytes) or as "
			       "U+FFFD (output: utf8), also at the very end.",
		.rationale = "Dropping it changes lengths silently (sandbox-contract 1.4).",
		.detection = "A stray byte between letters, an overlong form, and a character "
			     "cut off by the end of the stream.",
		.run = exec_output_invalid_bytes,
	},
	{
		.id = "exec.output.last-bytes",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.faults = LIST("exec-tail-lost"),
		.requirement = "Every byte that was written before the exit arrives.",
		.rationale = "Readers that are closed at the exit lose what was under way "
			     "(field:X11, contract:C142).",
		.detection = "Five times 40,000 numbered lines and a nonce as the final act; all "
			     "of it is compared.",
		.run = exec_output_last_bytes,
	},
	{
		.id = "exec.output.withheld-end",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("exec-private-deadline"),
		.requirement = "exec waits for the end of the output and the code, however late "
			       "the platform delivers them.",
		.rationale = "A drain of fixed length, or a private deadline, cuts a result that "
			     "looks whole (field:X11, field:X08).",
		.detection = "The back end withholds the last output and the exit: exec is "
			     "pending after N round trips; released, nothing is missing.",
		.run = exec_output_withheld_end,
	},
	{
		.id = "exec.output.long-line",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.faults = LIST("exec-line-ceiling"),
		.requirement = "A line may be as long as it likes.",
		.rationale = "Line readers with a ceiling fail on minified or base64 text "
			     "(field:X15).",
		.detection = "One line of 1 MiB, without and with its newline.",
		.run = exec_output_long_line,
	},
	{
		.id = "exec.output.instant",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.faults = LIST("exec-instant-output-lost"),
		.requirement = "A command that ends at once keeps its output.",
		.rationale = "Events sent before anybody listens are lost (field:X29).",
		.detection = "Sixty commands, fifteen where they count, that print a number.",
		.run = exec_output_instant,
	},
	{
		.id = "exec.output.burst",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.faults = LIST("exec-ring-buffer"),
		.requirement = "A burst larger than any buffer on the way loses nothing.",
		.rationale = "A bounded queue without back-pressure drops what the reader is too "
			     "slow for (field:X12).",
		.detection = "4 MiB of numbered lines at once; length and each line are compared.",
		.run = exec_output_burst,
	},
	{
		.id = "exec.output.slow-reader",
		SP_CASE_HERE,
		.clause = "X3",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN | SP_NEED_UNREAD_BOUND,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("spawn-streams-closed-at-exit"),
		.requirement = "Unread output within the bound is kept for a reader that comes "
			       "after the exit.",
		.rationale = "Readers destroyed at the exit lose it (field:X11).",
		.detection = "256 KiB are written and the exit is awaited before the first byte "
			     "is read.",
		.limits = "That the process stands still beyond the bound: kill.unread.* shows it.",
		.run = exec_output_slow_reader,
	},
	{
		.id = "exec.cap.prefix",
		SP_CASE_HERE,
		.clause = "X4",
		.level = SP_MUST,
		.needs = SP_NEED_OUTPUT_CAP,
		.faults = LIST("cap-hole", "cap-throws-away"),
		.requirement = "Output beyond the cap is dropped and reported: what is kept is a "
			       "prefix that uses the cap, and the other stream and the code are "
			       "whole.",
		.rationale = "A hole in the middle or an error instead of the result is worse "
			     "than a cut (field:X14, contract:C148).",
		.detection = "Numbered lines beyond the cap, then stderr and a code.",
		.run = exec_cap_prefix,
	},
	{
		.id = "exec.cap.in-bytes",
		SP_CASE_HERE,
		.clause = "X4",
		.level = SP_MUST,
		.needs = SP_NEED_OUTPUT_CAP,
		.faults = LIST("cap-in-characters"),
		.requirement = "The cap counts bytes and cuts at a character.",
		.rationale = "Counting characters lets four times the cap through (contract:C149).",
		.detection = "Characters of two, three and four bytes, one of them across the cap.",
		.run = exec_cap_in_bytes,
	},
	{
		.id = "exec.spawn.delivers",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("spawn-buffers-until-exit"),
		.requirement = "Output of a spawned command arrives while it runs.",
		.rationale = "A buffered stream makes following a journal impossible "
			     "(contract:C143).",
		.detection = "The command writes a line and stands at a FIFO: the line is read "
			     "within N round trips, before it goes on.",
		.run = exec_spawn_delivers,
	},
	{
		.id = "exec.spawn.streams-apart",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.faults = LIST("stderr-folded"),
		.requirement = "The streams of a spawned command arrive apart and end.",
		.rationale = "field:X17.",
		.detection = "Four lines alternate between the streams; each stream is read to "
			     "its end.",
		.run = exec_spawn_streams_apart,
	},
	{
		.id = "exec.spawn.own-code",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.faults = LIST("spawn-code-zero"),
		.requirement = "wait tells a spawned command's own code, and that it exited by "
			       "itself.",
		.rationale = "contract:C145.",
		.detection = "Five codes, each with its reason.",
		.run = exec_spawn_own_code,
	},
	{
		.id = "exec.spawn.small-reads",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.faults = LIST("decoded-per-chunk"),
		.requirement = "Reading in small pieces gives the same bytes.",
		.rationale = "A reader's buffer must not decide about characters (field:X09).",
		.detection = "Characters of one to four bytes, read four bytes at a time.",
		.run = exec_spawn_small_reads,
	},
	{
		.id = "exec.spawn.folder-and-redirection",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("spawn-folder-ignored"),
		.requirement = "A spawned command starts in its folder, and its redirections are "
			       "its own.",
		.rationale = "A prefix for the background took the folder's part of the line "
			     "(field:X25).",
		.detection = "A folder with a blank; the command writes pwd to a file there and "
			     "nothing to its stream.",
		.run = exec_spawn_folder_and_redirection,
	},
	{
		.id = "exec.spawn.parallel",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("exec-one-at-a-time"),
		.requirement = "Commands of one sandbox run side by side.",
		.rationale = "A queue that holds a command until the one before has ended stops "
			     "everything behind a long one.",
		.detection = "Two commands that can only end by each other; N round trips go "
			     "through a second instance meanwhile.",
		.run = exec_parallel_both_run,
	},
	{
		.id = "exec.spawn.background-child",
		SP_CASE_HERE,
		.clause = "X5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("exec-waits-for-pipe"),
		.requirement = "exec answers when its own process has ended, although a "
			       "background child holds the output open.",
		.rationale = "Waiting for the end of the stream hangs on every daemon (field:X10).",
		.detection = "A child in the background stands at a FIFO with the command's "
			     "stdout; exec is done within N round trips.",
		.run = exec_return_background_child,
	},
	{
		.id = "exec.stdin.empty",
		SP_CASE_HERE,
		.clause = "X6",
		.level = SP_MUST,
		.faults = LIST("stdin-left-open"),
		.requirement = "A command that reads stdin gets end of file at once.",
		.rationale = "A pipe that nobody closes hangs cat and grep (field:X20).",
		.detection = "cat and read find the end; exec is done within N round trips.",
		.run = exec_stdin_is_empty,
	},
	{
		.id = "exec.stdin.close-arrives",
		SP_CASE_HERE,
		.clause = "X6",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN | SP_NEED_STDIN,
		.faults = LIST("stdin-close-lost"),
		.requirement = "close_stdin is end of file for the process, once or twice.",
		.rationale = "A second holder of the pipe keeps the process waiting (field:X21).",
		.detection = "cat gets a line and the end, and the line after cat is read within "
			     "N round trips.",
		.run = exec_stdin_close_arrives,
	},
	{
		.id = "exec.stdin.kept-for-late-reader",
		SP_CASE_HERE,
		.clause = "X6",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN | SP_NEED_STDIN,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("stdin-dropped-at-close"),
		.requirement = "What was written before close_stdin is delivered, however late "
			       "it is read.",
		.rationale = "Closing at once throws queued input away (field:X22).",
		.detection = "The process first stands at a FIFO; input is written and closed "
			     "meanwhile.",
		.run = exec_stdin_kept_for_late_reader,
	},
	{
		.id = "exec.stdin.large",
		SP_CASE_HERE,
		.clause = "X6",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN | SP_NEED_STDIN,
		.faults = LIST("stdin-short-write"),
		.requirement = "Input of any size and any bytes arrives whole.",
		.rationale = "A short write that counts as done loses the rest.",
		.detection = "1 MiB of random bytes against POSIX cksum.",
		.run = exec_stdin_large,
	},
	{
		.id = "exec.stdin.refused",
		SP_CASE_HERE,
		.clause = "X6",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN | SP_NEED_NO_STDIN,
		.faults = LIST("stdin-swallowed"),
		.requirement = "Where stdin is not writable, writing is refused and the process "
			       "goes on.",
		.rationale = "A write that succeeds into nothing makes an agent wait for an "
			     "answer (contract:C146).",
		.detection = "write_stdin and close_stdin answer unsupported; the process ends "
			     "with its own code.",
		.run = exec_stdin_refused,
	},
	{
		.id = "exec.shell.posix",
		SP_CASE_HERE,
		.clause = "X7",
		.level = SP_MUST,
		.faults = LIST("command-first-line-only"),
		.requirement = "The command is interpreted by a POSIX shell, with every kind of "
			       "construct.",
		.rationale = "Journals and adapters are made of redirections and lists "
			     "(sandbox-contract 1.4).",
		.detection = "Pipes, here documents, functions, traps, loops, append and tail -c.",
		.run = exec_shell_posix,
	},
	{
		.id = "exec.shell.no-terminal",
		SP_CASE_HERE,
		.clause = "X7",
		.level = SP_MUST,
		.faults = LIST("exec-on-a-terminal"),
		.requirement = "No terminal is used where none was asked for.",
		.rationale = "A terminal turns newlines into CR LF, merges streams and wraps "
			     "lines (field:X18).",
		.detection = "test -t on three descriptors, /dev/tty, exact bytes, a line of "
			     "5,000 characters.",
		.run = exec_shell_no_terminal,
	},
	{
		.id = "exec.shell.no-profile",
		SP_CASE_HERE,
		.clause = "X7",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH,
		.faults = LIST("exec-login-shell"),
		.requirement = "The user's profiles are not run.",
		.rationale = "Planted profiles print, act and eat input before the command "
			     "(field:X19).",
		.detection = "Profiles that print, act and read are planted and proven live by a "
			     "login shell; a command shows none of it.",
		.run = exec_shell_no_profile,
	},
	{
		.id = "exec.shell.no-state",
		SP_CASE_HERE,
		.clause = "X7",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH,
		.faults = LIST("exec-shared-shell"),
		.requirement = "Each command starts from the same state, whatever the one before "
			       "did.",
		.rationale = "One long-lived shell is ended or changed by any command (field:X26).",
		.detection = "Nine commands that change a shell; folder, umask, options, "
			     "variables, traps afterwards equal those before.",
		.run = exec_shell_no_state,
	},
	{
		.id = "exec.text.quotes",
		SP_CASE_HERE,
		.clause = "X8",
		.level = SP_MUST,
		.faults = LIST("command-backslash-eaten"),
		.requirement = "The text reaches the shell byte for byte.",
		.rationale = "Escaping for the wrong shell makes quotes literal or loses them "
			     "(field:X33).",
		.detection = "Fifteen texts with every character that some layer could take for "
			     "its own.",
		.run = exec_text_quotes,
	},
	{
		.id = "exec.text.long",
		SP_CASE_HERE,
		.clause = "X8",
		.level = SP_MUST,
		.faults = LIST("command-over-128k-fails"),
		.requirement = "A command may be longer than one argument of the kernel.",
		.rationale = "The limit of 128 KiB shows up as an unrelated error (field:X32).",
		.detection = "Lengths around the limit and up to 1 MiB, and 45,000 quotes that "
			     "grow when quoted again.",
		.run = exec_text_long,
	},
	{
		.id = "exec.text.endings",
		SP_CASE_HERE,
		.clause = "X8",
		.level = SP_MUST,
		.faults = LIST("command-in-one-line-group"),
		.requirement = "However the text begins or ends, it is a command of its own.",
		.rationale = "A comment or here document at the end swallows a wrapper's next "
			     "words (contract:C49).",
		.detection = "Thirteen texts: comments, semicolons, newlines, here documents, a "
			     "leading dash, nothing at all.",
		.run = exec_text_endings,
	},
	{
		.id = "exec.text.imitations",
		SP_CASE_HERE,
		.clause = "X8",
		.level = SP_MUST,
		.faults = LIST("guest-text-read-as-login-error"),
		.requirement = "What a command prints is never taken for the platform's word.",
		.rationale = "A guest that prints the platform's error text was read as that "
			     "error (contract:C116).",
		.detection = "Eleven texts of platforms, transports and wrappers, on both "
			     "streams, with code 1.",
		.run = exec_text_imitations,
	},
	{
		.id = "exec.cwd.default",
		SP_CASE_HERE,
		.clause = "X9",
		.level = SP_MUST,
		.faults = LIST("cwd-default-lost"),
		.requirement = "A command starts in the workspace root; /workspace is that root; "
			       "any other folder is itself.",
		.rationale = "sandbox-contract 1.4 and 1.5, F1.",
		.detection = "pwd without a folder, in /workspace and in /.",
		.run = exec_cwd_default,
	},
	{
		.id = "exec.cwd.missing",
		SP_CASE_HERE,
		.clause = "X9",
		.level = SP_MUST,
		.faults = LIST("cwd-missing-ignored"),
		.requirement = "A missing folder is an error that names it, and nothing runs.",
		.rationale = "Running elsewhere writes into the wrong place (field:X24, "
			     "contract:C138).",
		.detection = "An absent folder and one below a file; the command's effect is "
			     "absent for exec and spawn.",
		.run = exec_cwd_missing,
	},
	{
		.id = "exec.cwd.odd-names",
		SP_CASE_HERE,
		.clause = "X9",
		.level = SP_MUST,
		.faults = LIST("cwd-unquoted"),
		.requirement = "A folder may have any name.",
		.rationale = "An unquoted folder is split or executed.",
		.detection = "Thirteen names: blanks, quotes, a newline, a leading dash.",
		.run = exec_cwd_odd_names,
	},
	{
		.id = "exec.env.one-command",
		SP_CASE_HERE,
		.clause = "X10",
		.level = SP_MUST,
		.faults = LIST("call-env-sticks"),
		.requirement = "Variables given to a command are there for it, empty ones too, "
			       "and gone for the next.",
		.rationale = "sandbox-contract 1.4; field:E11.",
		.detection = "Set and empty, for exec and spawn, and a command after them.",
		.run = exec_env_one_command,
	},
	{
		.id = "exec.env.exact-values",
		SP_CASE_HERE,
		.clause = "X10",
		.level = SP_MUST,
		.faults = LIST("env-newline-escaped"),
		.requirement = "A value arrives byte for byte.",
		.rationale = "A newline became two characters, or a second variable (field:E08, "
			     "contract:C110).",
		.detection = "Twenty-seven values, keys in PEM form among them.",
		.run = exec_env_exact_values,
	},
	{
		.id = "exec.env.refused-names",
		SP_CASE_HERE,
		.clause = "X10",
		.level = SP_MUST,
		.faults = LIST("env-bad-names-dropped"),
		.requirement = "A variable that cannot be set is an error, and the command does "
			       "not run.",
		.rationale = "The command ran without it, or silently never ran (field:E09, "
			     "field:E10, contract:C106).",
		.detection = "Fourteen names, the shell's read-only ones among them; the "
			     "command's effect stays absent.",
		.run = exec_env_refused_names,
	},
	{
		.id = "exec.outcome.cancel-unused",
		SP_CASE_HERE,
		.clause = "X11",
		.level = SP_MUST,
		.faults = LIST("exec-watcher-left"),
		.requirement = "A cancel that nobody fires changes nothing, and nothing of the "
			       "command stays on it.",
		.rationale = "Listeners that stay leak memory on every call (sandbox-contract "
			     "1.4, contract:C144).",
		.detection = "A command with a cancel of its own; watchers and references are "
			     "counted afterwards.",
		.run = exec_cancel_unused,
	},
	{
		.id = "exec.outcome.deadline",
		SP_CASE_HERE,
		.clause = "X11",
		.level = SP_MUST,
		.needs = SP_NEED_KILL,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("deadline-is-success"),
		.requirement = "A command that ran past its deadline is no success, even if it "
			       "exits 0 when told to end.",
		.rationale = "A result with code 0 and a flag beside it passes every check "
			     "(field:X06).",
		.detection = "The command stands at a FIFO and says exit 0 on TERM; then its "
			     "deadline is set into the past.",
		.run = exec_deadline_is_no_success,
	},
	{
		.id = "exec.outcome.no-deadline-of-its-own",
		SP_CASE_HERE,
		.clause = "X11",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("exec-sends-a-deadline"),
		.requirement = "Without a deadline none is sent.",
		.rationale = "A default of an inner layer ended long commands (field:X08).",
		.detection = "Every request of a plain command is searched for a deadline.",
		.limits = "A deadline that the provider keeps to itself: output.withheld-end "
			  "shows one that is short.",
		.run = exec_deadline_none_sent,
	},
	{
		.id = "exec.outcome.cut-stream",
		SP_CASE_HERE,
		.clause = "X12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("exec-end-is-success"),
		.requirement = "A stream that breaks off before the exit code is an unknown "
			       "outcome, never a code.",
		.rationale = "A code that is not known defaults to 0 (field:X03).",
		.detection = "The back end cuts the stream of one command, and ends another one "
			     "in good order before its exit event.",
		.run = exec_outcome_cut_stream,
	},
	{
		.id = "exec.outcome.all-waiters",
		SP_CASE_HERE,
		.clause = "X12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SPAWN,
		.faults = LIST("second-waiter-parked"),
		.requirement = "When a stream breaks, everybody who waits is told.",
		.rationale = "An error in the drain left waiters parked (contract:C153).",
		.detection = "Two waits and a read stand on a stream that is then cut: each "
			     "settles within N round trips.",
		.run = exec_outcome_all_waiters,
	},
	{
		.id = "exec.outcome.survives-later-failures",
		SP_CASE_HERE,
		.clause = "X12",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL,
		.faults = LIST("exec-asks-again-afterwards"),
		.requirement = "A result that has arrived survives whatever fails afterwards.",
		.rationale = "An auxiliary request's error replaced a finished result (field:X34).",
		.detection = "Before the exit is delivered every other step of the back end is "
			     "made to fail.",
		.run = exec_outcome_survives_later_failures,
	},
	{
		.id = "exec.outcome.wake",
		SP_CASE_HERE,
		.clause = "X13",
		.level = SP_MUST,
		.needs = SP_NEED_CONTROL | SP_NEED_SUSPENSION | SP_NEED_FRESH,
		.faults = LIST("exec-does-not-wake"),
		.requirement = "A command that a suspended sandbox accepts runs.",
		.rationale = "Commands were acknowledged by dead shells and never ran (field:X27).",
		.detection = "The sandbox is suspended; the next command's effect is there.",
		.run = exec_wake_runs,
	},
	{
		.id = "exec.git.works",
		SP_CASE_HERE,
		.clause = "X14",
		.level = SP_MUST,
		.tools = LIST("git"),
		.faults = LIST("git-message-is-a-word"),
		.requirement =
			"clone, status, add, commit, push, branch and pull do what git does.",
		.rationale = "Values pass a shell on their way to git (contract:1.7).",
		.detection =
			"Against a repository in the sandbox, with names and a message full of "
			"quotes; commands look at both sides.",
		.run = exec_git_works,
	},
	{
		.id = "exec.git.fails",
		SP_CASE_HERE,
		.clause = "X14",
		.level = SP_MUST,
		.tools = LIST("git"),
		.faults = LIST("git-ignores-codes"),
		.requirement = "A git that fails is an error, whatever the verb.",
		.rationale = "Codes were ignored, so a failed clone was an empty workspace "
			     "(contract:1.7).",
		.detection =
			"A clone of what is not there, of a branch that is not there, a status "
			"outside, a commit of nothing, a push to nowhere, an unknown verb.",
		.run = exec_git_fails,
	},
	{
		.id = "exec.git.values",
		SP_CASE_HERE,
		.clause = "X14",
		.level = SP_MUST,
		.tools = LIST("git"),
		.faults = LIST("git-values-in-text"),
		.requirement = "A value given to git is neither an option nor shell.",
		.rationale = "--upload-pack runs what follows it (contract:1.7).",
		.detection =
			"URL, folder and branch that begin with a dash are invalid; quotes and "
			"substitutions do nothing.",
		.run = exec_git_values,
	},
};

const struct sp_suite sp_suite_exec = {
	.version = SP_SUITE_VERSION,
	.name = "exec",
	.summary = "commands run as told, and output, code, folder and environment are told as "
		   "they were",
	.subject = SP_SUBJECT_PROVIDER,
	.cases = cases,
	.n_cases = sizeof(cases) / sizeof(cases[0]),
	.clauses_version = "2",
};
