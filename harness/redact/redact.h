/* SPDX-License-Identifier: MIT */
/*
 * Secrets, and every form in which they could leave: raw, shell-quoted, base64 (all three
 * alignments, both alphabets), URL, hex and JSON.
 */
#ifndef SP_REDACT_H
#define SP_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include <base/buf.h>

/* A set of secrets; opaque, thread-safe. */
struct sp_redact;

struct sp_redact *sp_redact_new(void);
struct sp_redact *sp_redact_free(struct sp_redact *redact);
/*
 * Adds a secret (copied); one shorter than 6 bytes is ignored, since it would erase
 * ordinary text. 0 or -ENOMEM.
 */
int sp_redact_add(struct sp_redact *redact, const char *secret);
/*
 * Appends `text` with every form of every secret replaced by "[redacted]". Cut only
 * afterwards. 0 or the buffer's error.
 */
int sp_redact_text(struct sp_redact *redact, const char *text, size_t len, struct sp_buf *out);
/*
 * The same up to the first `most` bytes of what that appends, or a little more: for a text of which
 * the rest is not shown. 0 or the buffer's error; `ret_seen`: bytes of `text` that were looked at.
 */
int sp_redact_head(struct sp_redact *redact, const char *text, size_t len, size_t most,
		   struct sp_buf *out, size_t *ret_seen);
/* Looks for any form of one secret; NULL, or the name of the form found ("base64"). */
const char *sp_redact_find(const char *secret, const void *data, size_t len);
/* A SPEC without what it may hold: userinfo and password= values replaced. malloc'ed. */
char *sp_redact_spec(const char *spec);
/* True when a SPEC carries a password or userinfo, which a command line must not. */
bool sp_redact_spec_has_secret(const char *spec);

#endif
