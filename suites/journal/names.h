/* SPDX-License-Identifier: MIT */
/*
 * The names and marks of a journal as the contract gives them, derived here a second time and
 * independently: a journal that is read with these, and written with them, can be shared with any
 * other implementation.
 */
#ifndef SUITE_JOURNAL_NAMES_H
#define SUITE_JOURNAL_NAMES_H

#include <sandproof/case.h>

/* File name of a run without its ending. Lives as long as the case. */
const char *journal_token(struct sp_case *t, const char *run_id);
/* Nonce of a run, 32 hex digits. Lives as long as the case. */
const char *journal_nonce(struct sp_case *t, const char *run_id);
/* The run's exit sentinel for a code, without its newline. Lives as long as the case. */
const char *journal_mark(struct sp_case *t, const char *run_id, int code);
/*
 * The command that runs `command` with its stdout in the journal of `run_id` in `dir`, byte for
 * byte as the contract has it. Lives as long as the case.
 */
const char *journal_form(struct sp_case *t, const char *dir, const char *run_id,
			 const char *command);

#endif
