/* SPDX-License-Identifier: MIT */
/* The records of the journal suite: what each case demands, why, and how it sees the defect. */
#include "journal.h"

#include <witness/fifo.h>

#include "cases.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Following is there where both of these are. */
#define FOLLOW (SP_NEED_SPAWN | SP_NEED_KILL)

/* How cases look. */
#define FILES "The files are read by a command of the case, which derives names and marks itself."
#define WAITS                                                                                      \
	"ROUNDS: \"waits\" means still pending after as many round trips; then the missing "       \
	"bytes are written."
#define GATES                                                                                      \
	"GATE: the next line is written only after the last one was read, so nothing can be "      \
	"held back."
#define BY_HAND "The case writes the journal itself, byte for byte."
#define RELAYED                                                                                    \
	"A relay before the sandbox gives the journal this answer; a journal that finds the "      \
	"sandbox by itself is a named skip."
#define COUNTED "The relay counts commands; the records count questions."
#define IN_SHELL                                                                                   \
	"Every command of the journal runs in it: start, probe, both readers, stderr, list, "      \
	"remove."

static const struct sp_case_def cases[] = {
	{
		.id = "journal.write.exact",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J1",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-mark-spaced", "journal-echo-mark"),
		.requirement = "A run leaves exactly its stdout and its sentinel, at the name that "
			       "its id has.",
		.rationale = "Other implementations read the same file (contract 3.1 to 3.3).",
		.detection = FILES,
		.run = journal_write_exact,
	},
	{
		.id = "journal.write.direct",
		SP_CASE_HERE,
		.clause = "J1",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-piped"),
		.requirement = "The run's stdout is the journal itself, not a pipe to somebody who "
			       "writes it.",
		.rationale = "With the host the pipe breaks, and SIGPIPE ends the run "
			     "(contract:C36, field:J16).",
		.detection = "The run looks at its own descriptor 1.",
		.run = journal_write_direct,
	},
	{
		.id = "journal.write.code",
		SP_CASE_HERE,
		.clause = "J2",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-no-subshell", "journal-code-lost"),
		.requirement = "Every way to end leaves the sentinel with the code: exit, a "
			       "missing program, a "
			       "signal.",
		.rationale = "An `exit` in the command skips a sentinel that follows it in the "
			     "same shell "
			     "(contract:C35).",
		.detection = FILES,
		.run = journal_write_code,
	},
	{
		.id = "journal.write.stderr",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J3",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-stderr-spliced", "journal-stderr-head"),
		.requirement =
			"stderr stands in its own file, and the tail of it can be asked for.",
		.rationale = "A diagnostic between two halves of a record spoils both (field:J15).",
		.detection = FILES,
		.run = journal_write_stderr,
	},
	{
		.id = "journal.write.append",
		SP_CASE_HERE,
		.clause = "J4",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-truncates"),
		.requirement = "A start never takes away what is in a journal: it appends, or is "
			       "refused with "
			       "conflict.",
		.rationale = "A truncating redirect loses the first of two parts (contract:C37).",
		.detection = FILES,
		.run = journal_write_append,
	},
	{
		.id = "journal.write.again",
		SP_CASE_HERE,
		.clause = "J4",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-reuse-appends"),
		.requirement = "A second run under one id is refused with conflict, or read apart "
			       "from the first.",
		.rationale = "Behind an old mark a new run looks finished and empty (contract:C44, "
			     "field:J14).",
		.detection = "Two runs with codes 0 and 7: the second's reader must have its lines "
			     "and 7.",
		.run = journal_write_again,
	},
	{
		.id = "journal.write.syntax",
		SP_CASE_HERE,
		.clause = "J2",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-syntax-silent"),
		.requirement = "A command whose own syntax swallows the wrapper leaves a sentinel "
			       "or tells a "
			       "failure.",
		.rationale =
			"A comment, an open quote or a here-document leave a run that never ends "
			"(contract:C49).",
		.detection = "Start's error, the code of the run's process, or a sentinel: one of "
			     "them must be "
			     "there.",
		.run = journal_write_syntax,
	},
	{
		.id = "journal.write.blocked",
		SP_CASE_HERE,
		.clause = "J2",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-folder-ignored"),
		.requirement =
			"Where no journal can be made, the start tells it, and no reader waits.",
		.rationale = "A start that fails in silence is followed for ever (contract:C51).",
		.detection = "A file stands where the folder has to be.",
		.run = journal_write_blocked,
	},
	{
		.id = "journal.write.request-ends",
		SP_CASE_HERE,
		.clause = "J4",
		.level = SP_MUST,
		.needs = SP_NEED_SPAWN,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-request-kills-run"),
		.requirement =
			"The cancel of the request that started a run does not reach the run.",
		.rationale = "A dropped client must not end its agent (contract:C45).",
		.detection = "The request is aborted; the run must still answer over its FIFO. "
			     "Watchers on the "
			     "cancel would show a tie.",
		.run = journal_write_request_ends,
	},
	{
		.id = "journal.offset.absolute",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative", "journal-offset-characters"),
		.requirement =
			"Positions are bytes of the file, also for a reader that began later.",
		.rationale =
			"Relative positions and counted characters both look right from byte 0 "
			"(contract:C73).",
		.detection = BY_HAND,
		.run = journal_offset_absolute,
	},
	{
		.id = "journal.follow.absolute",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative"),
		.requirement = "A follower's positions are bytes of the file as well.",
		.rationale = "See journal.offset.absolute.",
		.detection = BY_HAND,
		.run = journal_follow_absolute,
	},
	{
		.id = "journal.offset.every",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-poll-off-by-one", "journal-decoded-strictly"),
		.requirement = "From every byte p, inside a line or a character too, exactly the "
			       "bytes from p on "
			       "come.",
		.rationale = "`tail -c +N` counts from 1 (field:J03); a window that opens inside a "
			     "character is "
			     "refused by strict decoders (field:J04).",
		.detection = "Every split point of a small journal, compared byte for byte.",
		.run = journal_offset_every,
	},
	{
		.id = "journal.follow.every",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-follow-off-by-one"),
		.requirement = "A follower begins at any byte as well.",
		.rationale = "See journal.offset.every.",
		.detection = "Every eighth byte, two of which are inside long characters.",
		.run = journal_follow_every,
	},
	{
		.id = "journal.offset.resume",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative", "journal-poll-off-by-one"),
		.requirement = "A reader that continues where another stopped loses and repeats "
			       "nothing, after every "
			       "line.",
		.rationale = "A position that was saved before or after delivery is one line off "
			     "(field:J09).",
		.detection = "After each line of a small journal another reader takes over at its "
			     "end_position.",
		.run = journal_offset_resume,
	},
	{
		.id = "journal.follow.resume",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative", "journal-follow-off-by-one"),
		.requirement = "A follower that continues loses and repeats nothing.",
		.rationale = "See journal.offset.resume.",
		.detection = "After three of the lines.",
		.run = journal_follow_resume,
	},
	{
		.id = "journal.offset.beyond-end",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unlooked"),
		.requirement = "A position beyond the end is an error, not silence.",
		.rationale = "A reader that stands beyond the end waits for ever (field:J10).",
		.detection = BY_HAND,
		.run = journal_offset_beyond_end,
	},
	{
		.id = "journal.follow.beyond-end",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unlooked"),
		.requirement = "A follower beyond the end is told so.",
		.rationale = "See journal.offset.beyond-end.",
		.detection = BY_HAND,
		.run = journal_follow_beyond_end,
	},
	{
		.id = "journal.offset.at-end",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-end-is-beyond"),
		.requirement = "A reader at the end of a live journal waits and gets what comes.",
		.rationale = "\"At the end\" is the usual place to continue, and no error.",
		.detection = WAITS,
		.run = journal_offset_at_end,
	},
	{
		.id = "journal.follow.at-end",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-end-is-beyond"),
		.requirement = "A follower at the end of a live journal waits and gets what comes.",
		.rationale = "See journal.offset.at-end.",
		.detection = WAITS,
		.run = journal_follow_at_end,
	},
	{
		.id = "journal.offset.huge",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-32-bit"),
		.requirement = "Positions beyond 4 GiB are exact.",
		.rationale =
			"32 bits wrap; and a reader that reads from the start does not get there.",
		.detection = "A sparse file of 5 GiB, read at its end.",
		.limits = "Only the sandbox's own tail is measured: one that cannot seek takes its "
			  "time.",
		.run = journal_offset_huge,
	},
	{
		.id = "journal.follow.huge",
		SP_CASE_HERE,
		.clause = "J5",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-32-bit"),
		.requirement = "A follower's positions beyond 4 GiB are exact.",
		.rationale = "See journal.offset.huge.",
		.detection = "A sparse file of 5 GiB, followed at its end.",
		.run = journal_follow_huge,
	},
	{
		.id = "journal.line.unterminated",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-tail-lost"),
		.requirement = "A last line without its newline is delivered, and then the exit; "
			       "its end is the byte "
			       "after its text.",
		.rationale = "The sentinel stands on the same line, and the run would never look "
			     "finished "
			     "(contract:C48, field:J05). That a line which ends in the exact "
			     "sentinel is a line "
			     "and an exit is our rule.",
		.detection = "The run prints `a`, newline, `b` and exits with 3; a reader that "
			     "continues after `b` "
			     "gets the exit once.",
		.run = journal_line_unterminated,
	},
	{
		.id = "journal.follow.unterminated",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-tail-lost"),
		.requirement = "A follower delivers a last line without its newline as well.",
		.rationale = "See journal.line.unterminated.",
		.detection = "See journal.line.unterminated.",
		.run = journal_follow_unterminated,
	},
	{
		.id = "journal.line.half",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-partial-delivered", "journal-partial-dropped"),
		.requirement = "While the writer may go on, only whole lines come out, each once, "
			       "however it was "
			       "split.",
		.rationale = "Half a record is delivered or merged with the next (field:J06), or a "
			     "poll moves past "
			     "it (contract:C74); a character is split between reads (field:J01).",
		.detection = WAITS,
		.run = journal_line_half,
	},
	{
		.id = "journal.follow.half",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-partial-delivered"),
		.requirement = "A follower gives whole lines only.",
		.rationale = "See journal.line.half.",
		.detection = WAITS,
		.run = journal_follow_half,
	},
	{
		.id = "journal.line.bytes",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J6",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-decoded-strictly", "journal-nul-ends"),
		.requirement = "Lines hold the file's bytes: NUL, invalid UTF-8, a byte order "
			       "mark, all 256.",
		.rationale = "A reader that decodes loses what is no text.",
		.detection = BY_HAND,
		.run = journal_line_bytes,
	},
	{
		.id = "journal.follow.bytes",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-follow-drifts"),
		.requirement = "A follower's lines and positions are the file's, also where output "
			       "is UTF-8 text.",
		.rationale = "An invalid byte arrives as three, and a mark at the start not at "
			     "all: the next "
			     "position is wrong (contract:C76).",
		.detection = BY_HAND,
		.run = journal_follow_bytes,
	},
	{
		.id = "journal.line.empty",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-empty-lines-glued"),
		.requirement = "Empty lines are lines.",
		.rationale = "Splitters that skip them make positions and lines disagree.",
		.detection = "The run prints empty lines, blanks and a carriage return.",
		.run = journal_line_empty,
	},
	{
		.id = "journal.line.ceiling",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-no-ceiling"),
		.requirement = "A line longer than the ceiling is a protocol error that names the "
			       "ceiling; one of "
			       "exactly the ceiling is a line.",
		.rationale = "Without a ceiling a line that never ends fills the memory.",
		.detection = "The long line has no newline: only its length can end the waiting.",
		.run = journal_line_ceiling,
	},
	{
		.id = "journal.follow.ceiling",
		SP_CASE_HERE,
		.clause = "J6",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-no-ceiling"),
		.requirement = "A follower keeps the ceiling as well.",
		.rationale = "See journal.line.ceiling.",
		.detection = "See journal.line.ceiling.",
		.run = journal_follow_ceiling,
	},
	{
		.id = "journal.mark.forged",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-any-mark", "journal-mark-loose", "journal-nonce-shared"),
		.requirement = "Nothing that a program prints ends its run: no mark without, or "
			       "with another, nonce, "
			       "no code that is no integer.",
		.rationale = "A program that printed a similar line ended a live run, or made a "
			     "failure a pass "
			     "(field:J13, contract:C65).",
		.detection = BY_HAND,
		.run = journal_mark_forged,
	},
	{
		.id = "journal.follow.forged",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-any-mark"),
		.requirement = "A follower takes no forged mark either.",
		.rationale = "See journal.mark.forged.",
		.detection = BY_HAND,
		.run = journal_follow_forged,
	},
	{
		.id = "journal.mark.fused",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-mark-first-on-line"),
		.requirement = "A foreign mark as the last word, without newline, is output; the "
			       "wrapper's own mark "
			       "on the same line is the exit.",
		.rationale = "Whoever takes the first mark on the line reports another run's code "
			     "(field:J13).",
		.detection = "The run prints another run's mark with code 0 and exits with 7.",
		.run = journal_mark_fused,
	},
	{
		.id = "journal.mark.spellings",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-mark-strict"),
		.requirement = "Every spelling of the mark that the contract accepts is accepted.",
		.rationale = "Another implementation may write it with other spaces or key order "
			     "(contract 3.2).",
		.detection = BY_HAND,
		.run = journal_mark_spellings,
	},
	{
		.id = "journal.mark.probe",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-probe-first", "journal-exit-made-up"),
		.requirement = "The probe says unknown, producing or finished from the journal "
			       "alone; the last mark "
			       "counts, with or without newline, with output behind it.",
		.rationale = "A probe must not enter the run to find out whether it is over.",
		.detection = BY_HAND,
		.run = journal_mark_probe,
	},
	{
		.id = "journal.mark.two",
		SP_CASE_HERE,
		.clause = "J7",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-reader-first-mark"),
		.requirement = "Reader and probe have one verdict.",
		.rationale = "A reader stops at the first mark, a probe begins at the end "
			     "(contract 3.2).",
		.detection = BY_HAND,
		.run = journal_mark_two,
	},
	{
		.id = "journal.poll.causal",
		SP_CASE_HERE,
		.clause = "J8",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-poll-off-by-one"),
		.requirement = "Polling delivers each line before the next is written.",
		.rationale = "The form of journal.follow.causal for every provider.",
		.detection = GATES,
		.run = journal_poll_causal,
	},
	{
		.id = "journal.follow.causal",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J8",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-follow-filtered"),
		.requirement = "Following delivers each line before the next is written.",
		.rationale = "A filter behind `tail -f` holds lines back while the run lives "
			     "(field:J12).",
		.detection = GATES,
		.run = journal_follow_causal,
	},
	{
		.id = "journal.poll.before-file",
		SP_CASE_HERE,
		.clause = "J8",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-absent-is-error"),
		.requirement = "A reader that polls waits for a journal that is not there yet.",
		.rationale = "Reader and run start in any order (contract:C57).",
		.detection = WAITS,
		.run = journal_poll_before_file,
	},
	{
		.id = "journal.follow.before-file",
		SP_CASE_HERE,
		.clause = "J8",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-follow-gives-up"),
		.requirement = "A reader that follows waits for a journal that is not there yet.",
		.rationale = "`tail -f` on a missing file exits (contract:C53).",
		.detection = WAITS,
		.run = journal_follow_before_file,
	},
	{
		.id = "journal.poll.abort",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-abort-fails"),
		.requirement =
			"An abort ends a polling reader in silence, and neither run nor files.",
		.rationale = "An abort told as a failure makes a stopped client a broken run "
			     "(contract:C62).",
		.detection =
			"The run must still answer over its FIFO and end as if nobody had read.",
		.run = journal_poll_abort,
	},
	{
		.id = "journal.follow.abort",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-abort-fails", "journal-follower-left"),
		.requirement = "An abort ends a following reader in silence, its follower in the "
			       "sandbox with it, "
			       "and neither run nor files.",
		.rationale = "See journal.poll.abort; a follower that is left lives as long as the "
			     "sandbox.",
		.detection = "The relay keeps the follower's handle: its wait() must answer.",
		.run = journal_follow_abort,
	},
	{
		.id = "journal.follow.kill-fails",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-abort-needs-kill"),
		.requirement = "A follower that cannot be killed does not hold up its reader.",
		.rationale = "A reader that awaits the provider's kill hangs with it.",
		.detection = "The relay refuses every kill.",
		.run = journal_follow_kill_fails,
	},
	{
		.id = "journal.follow.stream-ends",
		SP_CASE_HERE,
		.clause = "J12",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-stream-end-ends"),
		.requirement = "The end of a follower's stream is not the end of the run: the "
			       "reader goes on, or "
			       "answers an error.",
		.rationale =
			"Platforms close long streams in good order after some hours (field:J18).",
		.detection =
			"The relay ends the first stream after its first bytes; the run writes on.",
		.run = journal_follow_stream_ends,
	},
	{
		.id = "journal.poll.first-byte",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-deadline-none"),
		.requirement =
			"Without a first byte within the deadline the reader answers timed-out.",
		.rationale = "A reader of a hopeless run waits for ever (contract:C58).",
		.detection = "A deadline of one millisecond and an empty journal.",
		.limits = "The length of the default is not measured.",
		.run = journal_poll_first_byte,
	},
	{
		.id = "journal.follow.first-byte",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-deadline-none"),
		.requirement = "A follower has the same deadline.",
		.rationale = "See journal.poll.first-byte.",
		.detection = "See journal.poll.first-byte.",
		.run = journal_follow_first_byte,
	},
	{
		.id = "journal.poll.later-gaps",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-deadline-every-gap"),
		.requirement = "The deadline is for the first byte: a quiet run is waited for.",
		.rationale = "Healthy agents think for minutes (contract:C60).",
		.detection = "That the deadline has passed is told by a second reader that had the "
			     "same one and "
			     "nothing to read; no clock is read.",
		.run = journal_poll_later_gaps,
	},
	{
		.id = "journal.follow.later-gaps",
		SP_CASE_HERE,
		.clause = "J9",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-deadline-every-gap"),
		.requirement = "A follower waits for a quiet run as well.",
		.rationale = "See journal.poll.later-gaps.",
		.detection = "See journal.poll.later-gaps.",
		.run = journal_follow_later_gaps,
	},
	{
		.id = "journal.declared.strategy",
		SP_CASE_HERE,
		.clause = "J11",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-strategy-blind", "journal-follow-undeclared"),
		.requirement = "`follow` is declared exactly where background processes and kill "
			       "are, and readers "
			       "follow exactly there; elsewhere a forced follow is unsupported.",
		.rationale = "A declaration that nobody checks is wrong sooner or later "
			     "(contract:C261).",
		.detection = "The relay counts what a reader starts when it may choose.",
		.run = journal_declared_strategy,
	},
	{
		.id = "journal.trouble.unavailable",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-failed-read-silent"),
		.requirement =
			"Commands that cannot be sent are an error of the reader and of the probe.",
		.rationale = "A failing read that looks like \"no data yet\" is silence for ever "
			     "(contract:C77).",
		.detection = RELAYED,
		.run = journal_trouble_unavailable,
	},
	{
		.id = "journal.trouble.code",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-failed-read-silent"),
		.requirement = "Commands that fail in the sandbox are an error of the reader and "
			       "of the probe.",
		.rationale = "See journal.trouble.unavailable.",
		.detection = RELAYED,
		.run = journal_trouble_code,
	},
	{
		.id = "journal.trouble.cap",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-cap-corrupts"),
		.requirement =
			"Answers that the provider cuts at its output cap lose and change nothing.",
		.rationale = "A cap in the middle of a base64 frame spoils the journal.",
		.detection = RELAYED,
		.run = journal_trouble_cap,
	},
	{
		.id = "journal.trouble.cut-frame",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-cut-frame-taken"),
		.requirement = "A frame that was cut in base64 is an error; no wrong byte comes "
			       "out of it.",
		.rationale = "A lenient decoder gives the wrong last bytes.",
		.detection = RELAYED,
		.run = journal_trouble_cut_frame,
	},
	{
		.id = "journal.trouble.diagnostics",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-diagnostics-kept", "journal-list-diagnostics"),
		.requirement = "What a tool says about a missing file becomes no line, no name and "
			       "no stderr of the "
			       "run.",
		.rationale = "Some platforms fold stderr into stdout (contract:C81, contract 3, "
			     "rule 2).",
		.detection = RELAYED,
		.run = journal_trouble_diagnostics,
	},
	{
		.id = "journal.follow.diagnostics",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-diagnostics-kept"),
		.requirement = "What a follower's tools say becomes no line.",
		.rationale = "See journal.trouble.diagnostics.",
		.detection = RELAYED,
		.run = journal_follow_diagnostics,
	},
	{
		.id = "journal.place.directory",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unlooked"),
		.requirement = "A folder at the journal's name is an error.",
		.rationale = "Its reads fail and look like \"no data yet\".",
		.detection = "Polled, followed where that is declared, and probed.",
		.run = journal_place_directory,
	},
	{
		.id = "journal.place.fifo",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-blind"),
		.requirement = "A FIFO at the journal's name is an error, and nobody waits at it.",
		.rationale = "Opening it blocks whoever reads.",
		.detection = "See journal.place.directory.",
		.run = journal_place_fifo,
	},
	{
		.id = "journal.place.unreadable",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS, "setpriv"),
		.faults = LIST("journal-place-unlooked"),
		.requirement = "A journal that cannot be opened is an error.",
		.rationale = "See journal.place.directory.",
		.detection = "The journal's commands run as a user who may not read it.",
		.run = journal_place_unreadable,
	},
	{
		.id = "journal.change.truncated",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was truncated under its reader is an error; what is "
			       "new is read from "
			       "its start.",
		.rationale = "A position that is not valid any more reads nothing, or the middle "
			     "of a line "
			     "(field:J10).",
		.detection = "Two lines are read, the file is cut and written anew.",
		.run = journal_change_truncated,
	},
	{
		.id = "journal.change.replaced",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was replaced by a shorter one is an error.",
		.rationale = "See journal.change.truncated.",
		.detection = "Two lines are read, and a new file takes the name.",
		.run = journal_change_replaced,
	},
	{
		.id = "journal.change.replaced-longer",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was replaced by a longer one is an error.",
		.rationale = "Its length looks like progress, and its bytes belong to nothing that "
			     "was read.",
		.detection = "Two lines are read, and a longer file takes the name.",
		.run = journal_change_replaced_longer,
	},
	{
		.id = "journal.follow.truncated",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was truncated under its reader is an error; what is "
			       "new is read from "
			       "its start.",
		.rationale = "A position that is not valid any more reads nothing, or the middle "
			     "of a line "
			     "(field:J10).",
		.detection = "Two lines are read, the file is cut and written anew.",
		.run = journal_follow_truncated,
	},
	{
		.id = "journal.follow.replaced",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was replaced by a shorter one is an error.",
		.rationale = "See journal.change.truncated.",
		.detection = "Two lines are read, and a new file takes the name.",
		.run = journal_follow_replaced,
	},
	{
		.id = "journal.follow.replaced-longer",
		SP_CASE_HERE,
		.clause = "J10",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-place-unverified"),
		.requirement = "A journal that was replaced by a longer one is an error.",
		.rationale = "Its length looks like progress, and its bytes belong to nothing that "
			     "was read.",
		.detection = "Two lines are read, and a longer file takes the name.",
		.run = journal_follow_replaced_longer,
	},
	{
		.id = "journal.ends.reader",
		SP_CASE_HERE,
		.clause = "J12",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-run-dies-with-handle"),
		.requirement = "A run goes on without its reader and without anybody who holds its "
			       "handle.",
		.rationale = "A client that goes away ended the agent (field:J16).",
		.detection =
			"The run must answer over its FIFO, and a later reader gets everything.",
		.run = journal_ends_reader,
	},
	{
		.id = "journal.ends.host",
		SP_CASE_HERE,
		.clause = "J12",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-run-dies-with-handle"),
		.requirement = "A run goes on when the host that started it closes everything.",
		.rationale = "See journal.ends.reader.",
		.detection = "Another instance starts and reads, and is closed; this one reads on.",
		.run = journal_ends_host,
	},
	{
		.id = "journal.ends.host-killed",
		SP_CASE_HERE,
		.clause = "J12",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_PEER | FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-names-per-host"),
		.requirement = "A run goes on when the host that started it is KILLed while it "
			       "reads; the next host "
			       "finds everything.",
		.rationale =
			"A host dies without a goodbye; its successor has nothing but the run id.",
		.detection = "Another process starts the run and reads it, and is KILLed.",
		.run = journal_ends_host_killed,
	},
	{
		.id = "journal.ends.killed",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J12",
		.level = SP_MUST,
		.needs = FOLLOW,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-exit-made-up"),
		.requirement = "A run that was killed with its wrapper is never finished: no exit "
			       "is made up, and "
			       "its files stay.",
		.rationale = "An end without a mark told as success hides a killed run "
			     "(contract:C61, field:J19).",
		.detection = WAITS,
		.run = journal_ends_killed,
	},
	{
		.id = "journal.readers.two",
		SP_CASE_HERE,
		.clause = "J13",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-reader-consumes"),
		.requirement = "Two readers of different hosts at once each get every line.",
		.rationale = "A reader that consumes, locks or truncates starves the other.",
		.detection = GATES,
		.run = journal_readers_two,
	},
	{
		.id = "journal.takeover.live",
		SP_CASE_HERE,
		.clause = "J13",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative", "journal-follow-off-by-one"),
		.requirement = "At every line of a live run a reader of another host can take "
			       "over, exactly once.",
		.rationale = "The position and what was delivered are one (field:J09).",
		.detection = GATES,
		.run = journal_takeover_live,
	},
	{
		.id = "journal.takeover.killed",
		SP_CASE_HERE,
		.clause = "J13",
		.level = SP_MUST,
		.needs = SP_NEED_FRESH | SP_NEED_PEER,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-offset-relative"),
		.requirement = "Whoever takes over from a KILLed host at the last position that it "
			       "told gets the "
			       "rest exactly once.",
		.rationale = "See journal.takeover.live.",
		.detection =
			"Two hosts, processes of their own, are KILLed in the middle of a read.",
		.run = journal_takeover_killed,
	},
	{
		.id = "journal.names.vectors",
		SP_CASE_HERE,
		.clause = "J14",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-names-raw", "journal-names-cut", "journal-nonce-shared"),
		.requirement = "Each run id has the file name and the nonce of the golden vectors.",
		.rationale =
			"A successor, or another implementation, composes the same (contract A.1).",
		.detection = "A journal is written at the vector's name with the vector's nonce; "
			     "the probe of the "
			     "id must find it.",
		.limits = "The id that is one NUL byte, which no C text can be.",
		.run = journal_names_vectors,
	},
	{
		.id = "journal.names.look-alikes",
		SP_CASE_HERE,
		.clause = "J14",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-names-loose", "journal-names-raw"),
		.requirement =
			"Run ids that look alike once they are encoded have files of their own.",
		.rationale = "`_40` and `@` shared one file before `_` was escaped (contract 3.1).",
		.detection = "Twelve runs in one folder, read back one by one.",
		.run = journal_names_look_alikes,
	},
	{
		.id = "journal.names.refused",
		SP_CASE_HERE,
		.clause = "J14",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-empty-id"),
		.requirement = "The empty run id is invalid, and nothing is made for it.",
		.rationale = "Its files would be the hidden `.ndjson` and `.err`.",
		.detection = "Every operation is asked.",
		.run = journal_names_refused,
	},
	{
		.id = "journal.names.hostile",
		SP_CASE_HERE,
		.clause = "J14",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-names-unprotected"),
		.requirement = "A run id is never run by a shell, in no operation.",
		.rationale = "One command that forgets the encoder is enough.",
		.detection = "CANARY: each id would touch a file; first the unprotected form must "
			     "touch it "
			     "(contract:C43, contract:C269).",
		.run = journal_names_hostile,
	},
	{
		.id = "journal.names.hostile-folder",
		SP_CASE_HERE,
		.clause = "J14",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-quotes-naive"),
		.requirement =
			"A journal folder is never run by a shell either: every path is quoted.",
		.rationale = "Encoded ids hide lost quotes, a folder does not.",
		.detection = "CANARY, as in journal.names.hostile.",
		.run = journal_names_hostile_folder,
	},
	{
		.id = "journal.attach.there",
		SP_CASE_HERE,
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-asks-first"),
		.requirement = "A journal that is there is attached to, and no record is asked.",
		.rationale = "The file is the truth (contract 3.6).",
		.detection = COUNTED,
		.run = journal_attach_there,
	},
	{
		.id = "journal.attach.unknown",
		SP_CASE_HERE,
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-ignores-records", "attach-creates"),
		.requirement = "A run that nobody knows is not-found at once, after one probe; "
			       "nothing is made.",
		.rationale = "Polling for it, or following it, waits for ever (contract:C54, "
			     "contract:C56).",
		.detection = COUNTED,
		.run = journal_attach_unknown,
	},
	{
		.id = "journal.attach.terminal",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-ignores-records"),
		.requirement =
			"A run that is over and whose journal is gone is a conflict at once.",
		.rationale = "See journal.attach.unknown.",
		.detection = COUNTED,
		.run = journal_attach_terminal,
	},
	{
		.id = "journal.attach.late",
		SP_CASE_HERE,
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-hasty"),
		.requirement = "The journal of a run that the records know is waited for.",
		.rationale = "The record comes before the file (contract:C57, contract:C80).",
		.detection = WAITS,
		.run = journal_attach_late,
	},
	{
		.id = "journal.attach.bounded",
		SP_CASE_HERE,
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-unbounded"),
		.requirement = "The waiting is bounded, and the message names the bound.",
		.rationale = "Records that cannot tell decide nothing, and nobody waits for ever "
			     "(contract:C58).",
		.detection = "A bound of seven milliseconds.",
		.run = journal_attach_bounded,
	},
	{
		.id = "journal.attach.broken-probe",
		SP_CASE_HERE,
		.clause = "J15",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("attach-fails-open"),
		.requirement =
			"A probe that cannot run never means \"attach\", and the message says so.",
		.rationale =
			"Following would make the file and wait on it for ever (contract:C55).",
		.detection = RELAYED,
		.run = journal_attach_broken_probe,
	},
	{
		.id = "journal.list.names",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J16",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-decode-open"),
		.requirement = "Each name is decoded to its run, and a name that is not exactly "
			       "what its run would "
			       "have to nobody.",
		.rationale = "A plausible wrong run id is answered by somebody else's record "
			     "(contract:C93).",
		.detection = "The names of the golden vectors (contract A.2) lie in the folder.",
		.run = journal_list_names,
	},
	{
		.id = "journal.list.times",
		SP_CASE_HERE,
		.clause = "J16",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-other-times"),
		.requirement = "A missing and an empty folder have no names; times are those of "
			       "the files' last "
			       "change; the folder's own time shows that they can be told.",
		.rationale = "\"Unavailable\" where it is not so switches off the age gate for "
			     "ever (contract 3.3).",
		.detection = "One file gets a time of the case's.",
		.run = journal_list_times,
	},
	{
		.id = "journal.remove.own",
		SP_CASE_HERE,
		.clause = "J16",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-remove-half", "journal-remove-strict"),
		.requirement = "Removing takes both files of the run and of nobody else, and again "
			       "does nothing.",
		.rationale = "A second clean-up that fails turns a done sweep into a kept run "
			     "(contract:C79).",
		.detection = "Three runs whose ids begin alike.",
		.run = journal_remove_own,
	},
	{
		.id = "journal.sweep.finished-only",
		SP_CASE_HERE,
		.tags = LIST("live-core"),
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("sweep-takes-live", "sweep-lies", "journal-decode-open"),
		.requirement = "A sweep removes the files of finished runs only, tells of "
			       "everything that it kept "
			       "and why, and again removes nothing.",
		.rationale = "A sweep that deletes a live run's journal loses its output; one that "
			     "reports what it "
			     "did not do hides a full disk.",
		.detection = "Finished, failed, live, a stranger's file, and a name that stands "
			     "for a finished run "
			     "without being its own.",
		.run = journal_sweep_finished_only,
	},
	{
		.id = "journal.sweep.records",
		SP_CASE_HERE,
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("sweep-paused-is-over", "sweep-error-is-unknown",
			       "journal-decode-open"),
		.requirement = "The owner's records decide: only terminal runs go; paused ones, "
			       "and runs whose "
			       "record cannot be read, stay; nobody is asked about a name that is "
			       "no run's own.",
		.rationale = "contract:C88, contract:C89, contract:C90, contract:C93.",
		.detection = "Marks in the journals say the opposite of the records.",
		.run = journal_sweep_records,
	},
	{
		.id = "journal.sweep.age",
		SP_CASE_HERE,
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("sweep-age-strict", "sweep-orphans-at-once"),
		.requirement = "A run without record goes when its newest file is exactly the age "
			       "or older, and "
			       "stays when one file is a second younger.",
		.rationale =
			"Off by one, a run is listed and called fresh for ever (contract:C86).",
		.detection = "Times of files and the clock are the case's.",
		.run = journal_sweep_age,
	},
	{
		.id = "journal.sweep.no-times",
		SP_CASE_HERE,
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("journal-times-unwitnessed"),
		.requirement =
			"Where times cannot be told a run without record stays, whatever its age.",
		.rationale = "A `stat` that does not know its flags answers nothing, which is no "
			     "age (contract "
			     "3.7).",
		.detection = RELAYED,
		.run = journal_sweep_no_times,
	},
	{
		.id = "journal.sweep.cap",
		SP_CASE_HERE,
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("sweep-no-cap"),
		.requirement = "A sweep removes as many runs as it may, and says of the rest that "
			       "it stopped there.",
		.rationale = "Unlimited deletions hold up everybody (contract:C92).",
		.detection = "Four finished runs, three may go; a second sweep takes the last.",
		.run = journal_sweep_cap,
	},
	{
		.id = "journal.sweep.failed",
		SP_CASE_HERE,
		.clause = "J17",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS),
		.faults = LIST("sweep-lies"),
		.requirement = "A run whose files could not be removed is kept and told as such.",
		.rationale = "A deletion that is reported and was not done (contract 3.7).",
		.detection = "`rm -f` does not remove a folder that has the journal's name.",
		.run = journal_sweep_failed,
	},
	{
		.id = "journal.shell.dash",
		SP_CASE_HERE,
		.clause = "J18",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS, "dash"),
		.faults = LIST("journal-bashism"),
		.requirement = "Every command works in dash.",
		.rationale = "The strictest common shell (contract:C279).",
		.detection = IN_SHELL,
		.run = journal_shell_dash,
	},
	{
		.id = "journal.shell.bash",
		SP_CASE_HERE,
		.clause = "J18",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS, "bash"),
		.faults = LIST("journal-echo-mark"),
		.requirement = "Every command works in bash.",
		.rationale = "`echo` and other words differ there (contract:C279).",
		.detection = IN_SHELL,
		.run = journal_shell_bash,
	},
	{
		.id = "journal.shell.busybox",
		SP_CASE_HERE,
		.clause = "J18",
		.level = SP_MUST,
		.tools = LIST(SP_FIFO_TOOLS, "busybox"),
		.faults = LIST("journal-long-options"),
		.requirement = "Every command works in busybox with its own tools.",
		.rationale = "Small images have no others (contract:C279).",
		.detection = IN_SHELL,
		.run = journal_shell_busybox,
	},
};

const struct sp_suite sp_suite_journal = {
	.version = SP_SUITE_VERSION,
	.name = "journal",
	.summary = "What a run printed is read whole, by anybody, from any byte, once.",
	.subject = SP_SUBJECT_JOURNAL,
	.cases = cases,
	.n_cases = sizeof(cases) / sizeof(cases[0]),
	.clauses_version = "1",
};
