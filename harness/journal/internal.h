/* SPDX-License-Identifier: MIT */
/* Shared between the files of the journal; nobody else includes it. */
#ifndef SP_JOURNAL_INTERNAL_H
#define SP_JOURNAL_INTERNAL_H

#include <base/buf.h>
#include <base/cleanup.h>

#include "journal.h"

#define JOURNAL_DEFAULT_DIR "/tmp/tanstack-runs"
#define JOURNAL_FIRST_BYTE_MS 10000
#define JOURNAL_POLL_MS 250
#define JOURNAL_ATTACH_POLL_MS 100
#define JOURNAL_LINE_CEILING (UINT64_C(64) * 1024 * 1024)
/* Positions are safe integers of every language that might read them. */
#define JOURNAL_POSITION_MAX ((UINT64_C(1) << 53) - 1)
/* First window of an exit probe, and the one after it when that was full of something else. */
#define JOURNAL_TAIL 4096
#define JOURNAL_TAIL_WIDE (64 * 1024)
/* What is looked through in the sandbox after that: a search takes the memory of a longest line. */
#define JOURNAL_SEARCH (UINT64_C(64) << 20)

struct journal {
	struct sp_journal_steps steps;
	bool can_follow;
	/* The declaration is known, and says that it cannot. */
	bool cannot_follow;
	enum sp_output output;
};

/* Options with their defaults filled in. */
struct journal_options {
	/* Without a trailing slash; malloc'ed. */
	char *dir;
	enum sp_journal_strategy strategy;
	uint32_t first_byte_ms;
	uint32_t poll_ms;
	uint64_t line_ceiling;
	bool until_end;
	/* Borrowed. */
	struct sp_cancel *cancel;
};

/* SP_INVALID for another version or a folder that is not absolute. */
int journal_options_make(const struct sp_journal_options *given, struct journal_options *ret,
			 struct sp_error *err);
void journal_options_done(struct journal_options *options);

/* The names of one run. All texts malloc'ed. */
struct journal_run {
	char *run_id;
	char nonce[33];
	char *dir, *journal, *stderr_file;
};

/* Quoted names of a run below options->dir; SP_INVALID for an id that is empty or no UTF-8. */
int journal_run_make(const struct journal *journal, const struct journal_options *options,
		     const char *run_id, struct journal_run *ret, struct sp_error *err);
void journal_run_done(struct journal_run *run);
struct sp_journal_words journal_run_words(const struct journal_run *run);

/* Runs a composed command, which is freed (NULL: memory was short). */
int journal_exec(struct sp_sandbox *sandbox, char *command, struct sp_cancel *cancel,
		 struct sp_exec_result *ret_result, struct sp_error *err);
/*
 * An error for a command that ended with a code it should not have; its stderr becomes the detail.
 */
int journal_bad_code(const char *what, const struct sp_exec_result *result, struct sp_error *err);
/*
 * Sets the error for the code of a look at a file of the run (its quoted name); 0 for
 * SP_JOURNAL_ABSENT and code 0.
 */
int journal_look_code(const struct journal_run *run, const char *file,
		      const struct sp_exec_result *result, struct sp_error *err);
/* Waits, at most until the cancel fires; that is 0 too. */
void journal_pause(uint32_t ms, struct sp_cancel *cancel);

/* start.c */
int journal_start(void *self, struct sp_sandbox *sandbox, const char *run_id, const char *command,
		  const struct sp_journal_options *options, struct sp_process *ret_process,
		  struct sp_error *err);
/* A process that has ended already. SP_INTERNAL without memory. */
int journal_ended_process(int code, struct sp_process *ret_process, struct sp_error *err);

/* read.c */
int journal_read(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
		 const struct sp_journal_options *options, struct sp_journal_reader *ret_reader,
		 struct sp_error *err);

/* probe.c */
int journal_probe(void *self, struct sp_sandbox *sandbox, const char *run_id,
		  const struct sp_journal_options *options, enum sp_journal_state *ret_state,
		  int *ret_exit_code, struct sp_error *err);
int journal_stderr_tail(void *self, struct sp_sandbox *sandbox, const char *run_id, size_t max,
			const struct sp_journal_options *options, struct sp_bytes *ret_bytes,
			struct sp_error *err);
int journal_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
		   sp_journal_record_fn record, void *arg,
		   const struct sp_journal_options *options, struct sp_error *err);

/* list.c */
int journal_list(void *self, struct sp_sandbox *sandbox, const struct sp_journal_options *options,
		 struct sp_journal_list *ret_list, struct sp_error *err);
int journal_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
		   const struct sp_journal_options *options, struct sp_error *err);

/* sweep.c */
int journal_sweep(void *self, struct sp_sandbox *sandbox,
		  const struct sp_journal_sweep_options *sweep,
		  const struct sp_journal_options *options, struct sp_journal_sweep *ret_sweep,
		  struct sp_error *err);

#endif
