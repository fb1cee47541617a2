/* SPDX-License-Identifier: MIT */
/* Base64 as the sandbox's base64(1) writes it: in lines, and cut anywhere by a cap. */
#ifndef SP_JOURNAL_DECODE_H
#define SP_JOURNAL_DECODE_H

#include <sandproof/error.h>
#include <sandproof/types.h>

/*
 * Decodes, white space left out. `cut`: the provider dropped the rest, so a remainder at the end is
 * left out too; otherwise it is SP_PROTOCOL, as is everything that is no base64.
 */
int sp_journal_decode_read(const char *text, size_t len, bool cut, struct sp_bytes *ret_bytes,
			   struct sp_error *err);

#endif
