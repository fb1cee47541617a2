/* SPDX-License-Identifier: MIT */
/* The exit sentinel of a run: {"__exit":N,"__nonce":"..."} (sandbox-contract 3.2, vectors A.3). */
#ifndef SP_JOURNAL_SENTINEL_H
#define SP_JOURNAL_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True when the whole line, white space around it left out, is the
 * sentinel; `*ret_code` is set then.
 */
bool sp_journal_parse_sentinel(const char *line, size_t len, const char *nonce, int *ret_code);
/*
 * True when the line ends in the sentinel exactly as the wrapper writes it (code 0 to 255) and has
 * something before it: the command did not end its last line. `*ret_at` is where the sentinel
 * begins. This rule is ours.
 */
bool sp_journal_fused_sentinel(const char *line, size_t len, const char *nonce, size_t *ret_at,
			       int *ret_code);
/*
 * The last exit in a tail of the journal, in either form; a last line without newline counts. Where
 * the tail may begin within a line (`whole` false), the first line counts in the fused form only.
 */
bool sp_journal_find_exit(const char *text, size_t len, bool whole, const char *nonce,
			  int *ret_code);

#endif
