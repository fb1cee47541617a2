/* SPDX-License-Identifier: MIT */
/* Run ids as file names, and back (sandbox-contract 3.1, vectors A.1 and A.2). */
#ifndef SP_JOURNAL_NAMES_H
#define SP_JOURNAL_NAMES_H

#include <stddef.h>

#include <sandproof/types.h>

/* Endings of the two files of a run. */
#define SP_JOURNAL_ENDING ".ndjson"
#define SP_JOURNAL_STDERR_ENDING ".err"

/*
 * The file name of a run id without its ending; malloc'ed. NULL: the id
 * is empty, or memory is short.
 */
char *sp_journal_encode(const char *run_id, size_t len);
/*
 * The run id of a listed file name with either ending. Fail closed: SP_INVALID
 * for every name that is not exactly the one that its run id encodes to.
 */
int sp_journal_decode(const char *file, struct sp_bytes *ret_run_id);
/* The nonce of a run's sentinel: 32 lower-case hex digits and a NUL. 0 or SP_INTERNAL. */
int sp_journal_nonce(const char *run_id, size_t len, char ret_nonce[33]);

#endif
