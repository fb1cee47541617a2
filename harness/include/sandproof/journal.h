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
	/* Milliseconds until the first byte must have come; 0 is 10,000; UINT32_MAX is never. */
	uint32_t first_byte_ms;
	/* Milliseconds between two polls; UINT32_MAX means 250. */
	uint32_t poll_ms;
	/* Longest line in bytes; 0 is 64 MiB. A longer one is SP_PROTOCOL with the ceiling named. */
	uint64_t line_ceiling;
	struct sp_cancel *cancel;
};

#define SP_JOURNAL_OPTIONS_INIT { .version = SP_JOURNAL_OPTIONS_VERSION, .poll_ms = UINT32_MAX }

/* One complete line, without its newline. Owned by the caller. */
struct sp_journal_line {
	struct sp_bytes text;
	/* Absolute byte offset after the line's newline. */
	uint64_t end_position;
	/* True for this run's exit sentinel; `exit_code` is then set. */
	bool is_exit;
	int exit_code;
};

#define SP_JOURNAL_LINE_INIT { SP_BYTES_INIT, 0, false, 0 }

#define SP_JOURNAL_READER_VERSION 1

struct sp_journal_reader_ops {
	unsigned version;
	/* Next line; `*ret_end` true after an abort (quiet, no error). SP_TIMED_OUT: no first byte; SP_PROTOCOL; what exec and spawn answer. */
	int (*next)(void *self, struct sp_journal_line *ret_line, bool *ret_end, struct sp_error *err);
	/* Ends the follower and frees the reader; never waits for it. */
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
	SP_JOURNAL_PRODUCING = 0,
	SP_JOURNAL_FINISHED,
	SP_JOURNAL_UNKNOWN,
};

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
	/* Starts `command` with its stdout in the run's journal. The request's cancel does not reach it. */
	int (*start)(void *self, struct sp_sandbox *sandbox, const char *run_id, const char *command,
		     const struct sp_journal_options *options, struct sp_process *ret_process,
		     struct sp_error *err);
	/* Reads complete lines from byte `from` on. */
	int (*read)(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
		    const struct sp_journal_options *options, struct sp_journal_reader *ret_reader,
		    struct sp_error *err);
	/* Says whether the run has finished, from the journal's tail alone. */
	int (*probe)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		     const struct sp_journal_options *options, enum sp_journal_state *ret_state,
		     int *ret_exit_code, struct sp_error *err);
	/* Last bytes (at most `max`) of the run's stderr. */
	int (*stderr_tail)(void *self, struct sp_sandbox *sandbox, const char *run_id, size_t max,
			   const struct sp_journal_options *options, struct sp_bytes *ret_bytes,
			   struct sp_error *err);
	/* Lists the folder. */
	int (*list)(void *self, struct sp_sandbox *sandbox, const struct sp_journal_options *options,
		    struct sp_journal_list *ret_list, struct sp_error *err);
	/* Removes both files of a run; absent ones are fine. */
	int (*remove)(void *self, struct sp_sandbox *sandbox, const char *run_id,
		      const struct sp_journal_options *options, struct sp_error *err);
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
