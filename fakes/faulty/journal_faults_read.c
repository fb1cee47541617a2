/* SPDX-License-Identifier: MIT */
/* Faults of reading: positions, lines, live readers, and reads that fail. */
#include <string.h>

#include <base/utf8.h>

#include "journal_faults.h"

static struct sp_journal_steps healthy;

typedef struct sp_journal_words words_t;

#define CHANGE(name, step)                                                                         \
	static void change_##name(struct sp_journal_steps *steps)                                  \
	{                                                                                          \
		healthy = *steps;                                                                  \
		steps->step = name;                                                                \
	}

/* Changes one switch of the healthy journal. */
#define SWITCH(name, member, value)                                                                \
	static void change_##name(struct sp_journal_steps *steps)                                  \
	{                                                                                          \
		steps->member = value;                                                             \
	}

/* ---- Positions ---- */

static char *poll_off_by_one(const words_t *w, uint64_t from, uint64_t max)
{
	return healthy.compose_poll(w, from ? from - 1 : 0, max);
}
CHANGE(poll_off_by_one, compose_poll)

static char *follow_off_by_one(const words_t *w, uint64_t from)
{
	return healthy.compose_follow(w, from ? from - 1 : 0);
}
CHANGE(follow_off_by_one, compose_follow)

static uint64_t relative(uint64_t start, const unsigned char *line, size_t len, uint64_t from)
{
	(void)line;
	return start - from + len;
}
CHANGE(relative, end_position)

static uint64_t characters(uint64_t start, const unsigned char *line, size_t len, uint64_t from)
{
	(void)from;
	for (size_t i = 0; i < len; i++)
		start += (line[i] & 0xc0) != 0x80;
	return start;
}
CHANGE(characters, end_position)

static uint64_t narrow(uint64_t start, const unsigned char *line, size_t len, uint64_t from)
{
	(void)line, (void)from;
	return (uint32_t)(start + len);
}
CHANGE(narrow, end_position)

static char *end_is_beyond(const words_t *w, uint64_t from)
{
	return healthy.compose_look(w, from ? from + 1 : 0);
}
CHANGE(end_is_beyond, compose_look)

/* ---- Lines ---- */

static int decoded_strictly(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
			    struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	struct sp_utf8_decoder decoder = { .n_held = 0 };
	int rc = healthy.decode_read(text, len, cut, &bytes, err);

	if (rc)
		return rc;
	sp_utf8_decode(&decoder, bytes.data, bytes.len, &out);
	sp_utf8_finish(&decoder, &out);
	return sp_buf_take_bytes(&out, ret_bytes) ? sp_error_set(err, SP_INTERNAL, "no memory") : 0;
}
CHANGE(decoded_strictly, decode_read)

static size_t partial(const unsigned char *data, size_t len)
{
	size_t end = healthy.line_end(data, len);

	return end ? end : len;
}
CHANGE(partial, line_end)

static size_t nul_ends(const unsigned char *data, size_t len)
{
	const unsigned char *nul = memchr(data, '\0', len);
	size_t end = healthy.line_end(data, len);

	return nul && (!end || (size_t)(nul - data) < end) ? (size_t)(nul - data) + 1 : end;
}
CHANGE(nul_ends, line_end)

static size_t glued(const unsigned char *data, size_t len)
{
	size_t skip = 0, end;

	while (skip < len && data[skip] == '\n')
		skip++;
	end = healthy.line_end(data + skip, len - skip);
	return end ? skip + end : 0;
}
CHANGE(glued, line_end)

SWITCH(partial_dropped, keep_partial, false)
SWITCH(follow_drifts, reread_replaced, false)

static int read_without_ceiling(void *self, struct sp_sandbox *sandbox, const char *run_id,
				uint64_t from, const struct sp_journal_options *options,
				struct sp_journal_reader *ret_reader, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;
	struct sp_journal_options other = *options;

	other.line_ceiling = 0;
	return in->ops->read(in->self, sandbox, run_id, from, &other, ret_reader, err);
}

static int wrap_no_ceiling(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .read = read_without_ceiling };

	return fault_wrap_journal(journal, &changed, err);
}

/* ---- Live readers ---- */

static char *filtered(const words_t *w, uint64_t from)
{
	return journal_around(healthy.compose_follow(w, from), "", " | grep -a ''");
}
CHANGE(filtered, compose_follow)

/* `tail -f` on a file that is not there, and nobody who tries again. */
static char *no_creation(const words_t *w, uint64_t from)
{
	return journal_text("tail -c +%llu -f %s 2>/dev/null", (unsigned long long)from + 1,
			    w->journal);
}

static void change_gives_up(struct sp_journal_steps *steps)
{
	steps->compose_follow = no_creation;
	steps->refollow = false;
}

static char *absent_is_error(const words_t *w, uint64_t from)
{
	return journal_around(healthy.compose_look(w, from), "( ",
			      " ); c=$?; [ $c != 1 ] || c=4; exit $c");
}
CHANGE(absent_is_error, compose_look)

SWITCH(abort_fails, quiet_abort, false)
SWITCH(abort_needs_kill, race_abort, false)
SWITCH(follower_left, kill_follower, false)
SWITCH(stream_end_ends, refollow, false)

static uint32_t no_deadline(uint32_t asked, bool seen)
{
	(void)asked, (void)seen;
	return UINT32_MAX;
}
CHANGE(no_deadline, first_byte_ms)

static uint32_t every_gap(uint32_t asked, bool seen)
{
	(void)seen;
	return asked;
}
CHANGE(every_gap, first_byte_ms)

static enum sp_journal_strategy blind(enum sp_journal_strategy asked, bool can_follow)
{
	(void)can_follow;
	return asked == SP_JOURNAL_AUTO ? SP_JOURNAL_POLL : asked;
}
CHANGE(blind, strategy)

static void declare_nothing(struct sp_capabilities *capabilities)
{
	capabilities->follow = false;
}

static const struct fault_hooks undeclared = { .capabilities = declare_nothing };
FAULT_WRAP(wrap_undeclared, undeclared)

/* One reader at a time: what it has read is gone. */
static char *consuming(const words_t *w, uint64_t from, uint64_t max)
{
	char *text SP_FREE = healthy.compose_poll(w, from, max);

	return text ? journal_text("%s && : > %s", text, w->journal) : NULL;
}
CHANGE(consuming, compose_poll)

/* ---- Trouble ---- */

static void change_silent(struct sp_journal_steps *steps)
{
	steps->look_first = false;
	steps->tell_failed_read = false;
}

static int as_if_cut(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
		     struct sp_error *err)
{
	(void)cut;
	return healthy.decode_read(text, len, true, ret_bytes, err);
}
CHANGE(as_if_cut, decode_read)

static int never_cut(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
		     struct sp_error *err)
{
	(void)cut;
	return healthy.decode_read(text, len, false, ret_bytes, err);
}
CHANGE(never_cut, decode_read)

static char *poll_talks(const words_t *w, uint64_t from, uint64_t max)
{
	return journal_text("tail -c +%llu %s | head -c %llu | base64",
			    (unsigned long long)from + 1, w->journal, (unsigned long long)max);
}

static char *follow_talks(const words_t *w, uint64_t from)
{
	char *text SP_FREE = healthy.compose_follow(w, from);

	return text ? journal_text("cat %s >/dev/null; %s", w->journal, text) : NULL;
}

static void change_talks(struct sp_journal_steps *steps)
{
	healthy = *steps;
	steps->compose_poll = poll_talks;
	steps->compose_follow = follow_talks;
}

static char *list_talks(const words_t *w)
{
	return journal_text("ls -1 %s; true", w->dir);
}
CHANGE(list_talks, compose_list)

static char *look_blind(const words_t *w, uint64_t from)
{
	if (!from)
		return journal_text("test -e %s", w->journal);
	return journal_text(
		"test -e %s || exit 1; tail -c +%llu %s 2>/dev/null | head -c 1 | base64",
		w->journal, (unsigned long long)from, w->journal);
}
CHANGE(look_blind, compose_look)

SWITCH(unlooked, look_first, false)
SWITCH(unverified, verify_place, false)

static const struct sp_fault faults[] = {
	JOURNAL_STEP_FAULT(
		"journal-poll-off-by-one", poll_off_by_one, "J5",
		"A polling read begins one byte early.", FAULT_LIST("field:J03"),
		FAULT_LIST("journal.offset.every", "journal.offset.resume", "journal.poll.causal")),
	JOURNAL_STEP_FAULT("journal-follow-off-by-one", follow_off_by_one, "J5",
			   "A follower begins one byte early.", FAULT_LIST("field:J03"),
			   FAULT_LIST("journal.follow.every", "journal.follow.resume",
				      "journal.takeover.live")),
	JOURNAL_STEP_FAULT("journal-offset-relative", relative, "J5",
			   "Positions count from where the reader began.",
			   FAULT_LIST("contract:C73", "field:J09"),
			   FAULT_LIST("journal.offset.absolute", "journal.follow.absolute",
				      "journal.offset.resume", "journal.follow.resume",
				      "journal.takeover.live", "journal.takeover.killed")),
	JOURNAL_STEP_FAULT("journal-offset-characters", characters, "J5",
			   "Positions count characters.", FAULT_LIST("contract:2.2"),
			   FAULT_LIST("journal.offset.absolute")),
	JOURNAL_STEP_FAULT("journal-offset-32-bit", narrow, "J5", "Positions have 32 bits.",
			   FAULT_LIST("contract:3.4"),
			   FAULT_LIST("journal.offset.huge", "journal.follow.huge")),
	JOURNAL_STEP_FAULT("journal-end-is-beyond", end_is_beyond, "J5",
			   "A reader at the end of a journal is told that it is beyond it.",
			   FAULT_LIST("field:J10"),
			   FAULT_LIST("journal.offset.at-end", "journal.follow.at-end")),
	JOURNAL_STEP_FAULT("journal-decoded-strictly", decoded_strictly, "J6",
			   "Each read is decoded as text.",
			   FAULT_LIST("field:J01", "field:J04", "contract:C69"),
			   FAULT_LIST("journal.offset.every", "journal.line.bytes")),
	JOURNAL_STEP_FAULT("journal-partial-delivered", partial, "J6",
			   "What is there is a line, ended or not.", FAULT_LIST("field:J06"),
			   FAULT_LIST("journal.line.half", "journal.follow.half")),
	JOURNAL_STEP_FAULT("journal-partial-dropped", partial_dropped, "J6",
			   "A poll moves past an unfinished line.", FAULT_LIST("contract:C74"),
			   FAULT_LIST("journal.line.half")),
	JOURNAL_STEP_FAULT("journal-nul-ends", nul_ends, "J6", "A NUL ends a line.",
			   FAULT_LIST("contract:3.4"), FAULT_LIST("journal.line.bytes")),
	JOURNAL_STEP_FAULT("journal-empty-lines-glued", glued, "J6",
			   "Empty lines are put before the next one.", FAULT_LIST("contract:3.4"),
			   FAULT_LIST("journal.line.empty")),
	JOURNAL_STEP_FAULT(
		"journal-follow-drifts", follow_drifts, "J6",
		"A follower counts the replacement of an invalid byte as the file's bytes.",
		FAULT_LIST("contract:C76"), FAULT_LIST("journal.follow.bytes")),
	JOURNAL_FAULT("journal-no-ceiling", no_ceiling, "J6",
		      "The ceiling of lines that is asked for is ignored.",
		      FAULT_LIST("contract:3.4"),
		      FAULT_LIST("journal.line.ceiling", "journal.follow.ceiling")),
	JOURNAL_STEP_FAULT("journal-follow-filtered", filtered, "J8",
			   "A filter behind the follower holds lines back.",
			   FAULT_LIST("field:J12"), FAULT_LIST("journal.follow.causal")),
	JOURNAL_STEP_FAULT("journal-follow-gives-up", gives_up, "J8",
			   "A follower of a journal that is not there yet ends.",
			   FAULT_LIST("contract:C53"), FAULT_LIST("journal.follow.before-file")),
	JOURNAL_STEP_FAULT("journal-absent-is-error", absent_is_error, "J8",
			   "A journal that is not there yet is an error.",
			   FAULT_LIST("contract:C57"), FAULT_LIST("journal.poll.before-file")),
	JOURNAL_STEP_FAULT("journal-abort-fails", abort_fails, "J9",
			   "An abort is told as an error.", FAULT_LIST("contract:C62"),
			   FAULT_LIST("journal.poll.abort", "journal.follow.abort")),
	JOURNAL_STEP_FAULT("journal-abort-needs-kill", abort_needs_kill, "J9",
			   "An aborted reader waits until its provider has let it go.",
			   FAULT_LIST("contract:C276", "contract:3.5"),
			   FAULT_LIST("journal.follow.kill-fails"),
			   .hangs = "The reader sits in a call that nothing ends, so that the case "
				    "cannot leave it either, whatever it has counted."),
	JOURNAL_STEP_FAULT("journal-follower-left", follower_left, "J9",
			   "A reader that ends leaves its follower in the sandbox.",
			   FAULT_LIST("contract:3.5"), FAULT_LIST("journal.follow.abort")),
	JOURNAL_STEP_FAULT("journal-stream-end-ends", stream_end_ends, "J12",
			   "The end of a stream is taken for the end of the run.",
			   FAULT_LIST("field:J18", "contract:C61"),
			   FAULT_LIST("journal.follow.stream-ends")),
	JOURNAL_STEP_FAULT("journal-deadline-none", no_deadline, "J9",
			   "The first byte has no deadline.", FAULT_LIST("contract:C58"),
			   FAULT_LIST("journal.poll.first-byte", "journal.follow.first-byte")),
	JOURNAL_STEP_FAULT("journal-deadline-every-gap", every_gap, "J9",
			   "Every gap has the first byte's deadline.", FAULT_LIST("contract:C60"),
			   FAULT_LIST("journal.poll.later-gaps", "journal.follow.later-gaps")),
	JOURNAL_STEP_FAULT("journal-strategy-blind", blind, "J11",
			   "Readers that may choose poll, whatever is declared.",
			   FAULT_LIST("contract:C261"), FAULT_LIST("journal.declared.strategy")),
	JOURNAL_PROVIDER_FAULT("journal-follow-undeclared", undeclared, "J11",
			       "Following works and is declared false.",
			       FAULT_LIST("contract:C261"),
			       FAULT_LIST("journal.declared.strategy")),
	JOURNAL_STEP_FAULT("journal-reader-consumes", consuming, "J13",
			   "What one reader has read is taken away from the others.",
			   FAULT_LIST("contract:3"), FAULT_LIST("journal.readers.two")),
	JOURNAL_STEP_FAULT("journal-failed-read-silent", silent, "J10",
			   "A read that failed looks like \"no data yet\".",
			   FAULT_LIST("contract:C77"),
			   FAULT_LIST("journal.trouble.unavailable", "journal.trouble.code")),
	JOURNAL_STEP_FAULT("journal-cut-frame-taken", as_if_cut, "J10",
			   "What is left over at the end of a frame is thrown away.",
			   FAULT_LIST("field:F02", "contract:3.4"),
			   FAULT_LIST("journal.trouble.cut-frame")),
	JOURNAL_STEP_FAULT("journal-cap-corrupts", never_cut, "J10",
			   "That an answer was cut is not looked at.", FAULT_LIST("contract:3.4"),
			   FAULT_LIST("journal.trouble.cap")),
	JOURNAL_STEP_FAULT("journal-diagnostics-kept", talks, "J10",
			   "Reads do not silence their tools.", FAULT_LIST("contract:3"),
			   FAULT_LIST("journal.trouble.diagnostics", "journal.follow.diagnostics")),
	JOURNAL_STEP_FAULT("journal-list-diagnostics", list_talks, "J10",
			   "What `ls` says of a missing folder is a name.",
			   FAULT_LIST("contract:C81"), FAULT_LIST("journal.trouble.diagnostics")),
	JOURNAL_STEP_FAULT("journal-place-unlooked", unlooked, "J10",
			   "The place is not looked at before a read.", FAULT_LIST("field:J10"),
			   FAULT_LIST("journal.offset.beyond-end", "journal.follow.beyond-end",
				      "journal.place.directory", "journal.place.unreadable")),
	JOURNAL_STEP_FAULT("journal-place-blind", look_blind, "J10",
			   "Whatever has the journal's name is read.", FAULT_LIST("contract:3.6"),
			   FAULT_LIST("journal.place.fifo")),
	JOURNAL_STEP_FAULT("journal-place-unverified", unverified, "J10",
			   "A journal that changes under its reader is not noticed.",
			   FAULT_LIST("field:J10"),
			   FAULT_LIST("journal.change.truncated", "journal.change.replaced",
				      "journal.change.replaced-longer", "journal.follow.truncated",
				      "journal.follow.replaced", "journal.follow.replaced-longer")),
};
FAULT_TABLE(fault_journal_read, faults);
