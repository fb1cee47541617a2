/* SPDX-License-Identifier: MIT */
/*
 * The journal (sandbox-contract 3): a command's stdout goes to an append-only
 * file in the sandbox, which anybody reads by byte offset and resumes.
 */
#ifndef SANDPROOF_JOURNAL_H
#define SANDPROOF_JOURNAL_H

#include <sandproof/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a reader reads. */
enum sp_journal_strategy {
	/* Follow where the sandbox can, else poll. */
	SP_JOURNAL_AUTO = 0,
	SP_JOURNAL_FOLLOW,
	SP_JOURNAL_POLL,
};

#define SP_JOURNAL_OPTIONS_VERSION 1

/* Options of the calls below. */
struct sp_journal_options {
	unsigned version;
	/* Folder of the journals, absolute; NULL is /tmp/tanstack-runs. */
	const char *dir;
	enum sp_journal_strategy strategy;
	/*
	 * Milliseconds until the first byte must have come; 0 is 10,000; UINT32_MAX
	 * is never. Later gaps have no limit: a silent run is a legitimate one.
	 */
	uint32_t first_byte_ms;
	/* Milliseconds between two polls; UINT32_MAX means 250, and 100 for attach(). */
	uint32_t poll_ms;
	/*
	 * Longest line in bytes; 0 is 64 MiB. A longer one is SP_PROTOCOL with the ceiling named.
	 */
	uint64_t line_ceiling;
	/* Referenced by a reader until it is closed. Ends reading, never the run. */
	struct sp_cancel *cancel;
	/*
	 * The reader ends (`ret_end`) once everything that was there is delivered, also without an
	 * exit; an unfinished last line is then delivered as `unterminated`. It polls, whatever
	 * the strategy, and an absent journal is an empty one.
	 */
	bool until_end;
};

#define SP_JOURNAL_OPTIONS_INIT { .version = SP_JOURNAL_OPTIONS_VERSION, .poll_ms = UINT32_MAX }

/* One line, without its newline. Owned by the caller. */
struct sp_journal_line {
	struct sp_bytes text;
	/*
	 * Absolute byte offset where the next line begins: after the newline, or after
	 * the text where there is none.
	 */
	uint64_t end_position;
	/* True for this run's exit sentinel; `exit_code` is then set. */
	bool is_exit;
	int exit_code;
	/*
	 * The command's last line, which it did not end: its sentinel stands on the
	 * same line and is the next one that is delivered.
	 */
	bool unterminated;
};

#define SP_JOURNAL_LINE_INIT { SP_BYTES_INIT, 0, false, 0, false }

/* Frees the text and clears the struct. */
void sp_journal_line_done(struct sp_journal_line *line);

#define SP_JOURNAL_READER_VERSION 1

struct sp_journal_reader_ops {
	unsigned version;
	/*
	 * Next line. `*ret_end` true, and no line, after an abort (quiet, no error),
	 * after the exit was delivered, and where `until_end` says so. SP_TIMED_OUT: no first byte
	 * in time. SP_CONFLICT: the journal was cut or replaced under the reader. SP_PROTOCOL: a
	 * line beyond the ceiling, a read that is no base64. Else what exec and spawn answer; then
	 * the same call may be made again and loses nothing. Everything before an error was
	 * delivered exactly once.
	 */
	int (*next)(void *self, struct sp_journal_line *ret_line, bool *ret_end,
		    struct sp_error *err);
	/*
	 * Ends the follower and frees the reader; never waits for what
	 * the follower still has to say.
	 */
	void (*close)(void *self);
};

/* A reader; close it once. */
struct sp_journal_reader {
	const struct sp_journal_reader_ops *ops;
	void *self;
};

#define SP_JOURNAL_READER_INIT { NULL, NULL }

/* What is known about a run's end. */
enum sp_journal_state {
	/* There is a journal, and no sentinel of this run in its tail. */
	SP_JOURNAL_PRODUCING = 0,
	SP_JOURNAL_FINISHED,
	/* There is no journal. */
	SP_JOURNAL_UNKNOWN,
};

/* What the owner's records say about a run. */
enum sp_journal_record {
	/* No record of it. */
	SP_RECORD_ABSENT = 0,
	/* Running, or interrupted: it may go on. */
	SP_RECORD_OPEN,
	/* Over for good. */
	SP_RECORD_TERMINAL,
};

/* Asks the owner's records. A negative sp_code means that they cannot tell now. */
typedef int (*sp_journal_record_fn)(void *arg, const char *run_id,
				    enum sp_journal_record *ret_record);

#define SP_JOURNAL_SWEEP_VERSION 1

/* How to sweep. */
struct sp_journal_sweep_options {
	unsigned version;
	/* NULL: a run is over exactly when its journal says so, and everything else is kept. */
	sp_journal_record_fn record;
	void *arg;
	/* Runs removed in one sweep; 0 is 200. */
	size_t max_deletes;
	/* Seconds that the newest file of a run without record must be old. */
	int64_t orphan_age_s;
	/* What is called now, in seconds since 1970; 0 is this machine's clock. */
	int64_t now_s;
};

#define SP_JOURNAL_SWEEP_OPTIONS_INIT { .version = SP_JOURNAL_SWEEP_VERSION, .orphan_age_s = 3600 }

/* What became of a run's files, and why. */
enum sp_journal_fate {
	SP_SWEPT_DELETED = 0,
	/* The name is no canonical one of any run: nobody was asked about it. */
	SP_KEPT_UNDECODABLE,
	/* The records, or the journal's tail, could not be read. */
	SP_KEPT_RECORD_ERROR,
	SP_KEPT_NOT_FINISHED,
	/* No record, and the sandbox could not tell times. */
	SP_KEPT_AGE_UNAVAILABLE,
	/* No record, and one of its files has no time. */
	SP_KEPT_AGE_MISSING,
	SP_KEPT_TOO_RECENT,
	SP_KEPT_DELETE_FAILED,
	SP_KEPT_MAX_DELETES,
};

/* Stable lower-case name ("not-finished"); "unknown" for a value outside the enum. */
const char *sp_journal_fate_name(int fate);

/* One run, or one name that is none. Owned by the caller. */
struct sp_journal_swept {
	/* NULL for a name that is not canonical. */
	char *run_id;
	/* The first of its files as listed. */
	char *file;
	enum sp_journal_fate fate;
	/*
	 * What was said when the removal failed, or when the journal's tail could not be read; may
	 * be NULL, and is for all other fates.
	 */
	char *reason;
};

/* What a sweep did, in the order of the listing. */
struct sp_journal_sweep {
	struct sp_journal_swept *runs;
	size_t len;
};

#define SP_JOURNAL_SWEEP_INIT { NULL, 0 }

/* Frees the answer and clears the struct. */
void sp_journal_sweep_done(struct sp_journal_sweep *sweep);

/* Names found in a journal folder. Owned by the caller. */
struct sp_journal_entry {
	/* File name as listed. */
	char *file;
	/* Decoded run id, or NULL when the name is not a canonical one. */
	char *run_id;
	/* Seconds since 1970, or -1 when unknown. */
	int64_t mtime;
};

/* A listing. `mtimes_known` is false when the sandbox could not say. */
struct sp_journal_list {
	struct sp_journal_entry *entries;
	size_t len;
	bool mtimes_known;
};

#define SP_JOURNAL_LIST_INIT { NULL, 0, false }

/* Frees the listing and clears the struct. */
void sp_journal_list_done(struct sp_journal_list *list);

#define SP_JOURNAL_VERSION 1

struct sp_journal_ops {
	unsigned version;
	/*
	 * Starts `command` with its stdout in the run's journal and its stderr
	 * beside it. The request's cancel does not reach it. SP_CONFLICT: the journal holds
	 * something already (a run id is used once), or something else is in its place;
	 * SP_IO: the folder cannot be made. The process's own code is 0 whatever the
	 * command's was, and 2 when the command's syntax swallowed the wrapper (an open quote):
	 * nothing ran then. Without background_processes the command has ended when this returns.
	 */
	int (*start)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		     const char *command, const struct sp_journal_options *options,
		     struct sp_process *ret_process, struct sp_error *err);
	/*
	 * Reads lines from byte `from` on; a `from` within a line gives its rest. SP_CONFLICT: the
	 * journal is shorter than `from`, or is no regular file. SP_DENIED: it cannot be read.
	 * SP_UNSUPPORTED: the strategy asked for is not offered. A journal that is not there yet is
	 * waited for. Of two sentinels the last one that is there counts; an earlier one is output.
	 */
	int (*read)(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
		    const struct sp_journal_options *options, struct sp_journal_reader *ret_reader,
		    struct sp_error *err);
	/*
	 * Says whether the run has finished, from the journal's tail alone; the same verdict as
	 * a reader's. Errors as read().
	 */
	int (*probe)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		     const struct sp_journal_options *options, enum sp_journal_state *ret_state,
		     int *ret_exit_code, struct sp_error *err);
	/* Last bytes (at most `max`, at least 1) of the run's stderr; empty when there is none. */
	int (*stderr_tail)(void *self, struct sp_sandbox *sandbox, const char *run_id, size_t max,
			   const struct sp_journal_options *options, struct sp_bytes *ret_bytes,
			   struct sp_error *err);
	/* Lists the folder; a missing one is empty, and a file in its place SP_CONFLICT. */
	int (*list)(void *self, struct sp_sandbox *sandbox,
		    const struct sp_journal_options *options, struct sp_journal_list *ret_list,
		    struct sp_error *err);
	/* Removes both files of a run; absent ones are fine. */
	int (*remove)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		      const struct sp_journal_options *options, struct sp_error *err);
	/*
	 * Optional. Decides whether a reader may attach: 0 as soon as the journal is there. Without
	 * one the records are asked once (`record` may be NULL): SP_NOT_FOUND, no such run;
	 * SP_CONFLICT, the run is over and its journal gone. Else it is waited for as long as for a
	 * first byte: SP_TIMED_OUT, whose message says whether the probe answered "no" or could not
	 * run. Creates nothing.
	 */
	int (*attach)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		      sp_journal_record_fn record, void *arg,
		      const struct sp_journal_options *options, struct sp_error *err);
	/*
	 * Optional. Removes the files of finished runs only, and says what it kept and why. Fails
	 * when the folder cannot be listed.
	 */
	int (*sweep)(void *self, struct sp_sandbox *sandbox,
		     const struct sp_journal_sweep_options *sweep,
		     const struct sp_journal_options *options, struct sp_journal_sweep *ret_sweep,
		     struct sp_error *err);
	/* Frees the implementation. */
	void (*close)(void *self);
};

/* A reference to a journal implementation: two pointers, copied freely; close it once. */
struct sp_journal {
	const struct sp_journal_ops *ops;
	void *self;
};

#define SP_JOURNAL_INIT { NULL, NULL }

#ifdef __cplusplus
}
#endif
#endif
