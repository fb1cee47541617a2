/* SPDX-License-Identifier: MIT */
/*
 * JSON as the peer's key is made of it: members sorted at every level by
 * UTF-16 units, no blanks, texts and numbers as JavaScript's JSON.stringify()
 * prints them. One word is not JSON: a member whose value is `undefined` is
 * there all the same and changes the key (sandbox-contract 4.1).
 */
#ifndef SP_ENSURE_CANONICAL_H
#define SP_ENSURE_CANONICAL_H

#include <base/buf.h>
#include <sandproof/error.h>

/* Longest text that is read. */
#define SP_CANONICAL_MAX (1024 * 1024)

/* What becomes of members that are `undefined`. */
enum sp_undefined {
	/* Written as the bare word, as the key wants it. */
	SP_UNDEFINED_KEPT = 0,
	/* Left out; what is written is JSON then. */
	SP_UNDEFINED_DROPPED,
};

/*
 * Appends the canonical form of an object. SP_INVALID: no JSON, no object, a
 * key twice at one level, a number beyond 2^53, too deep or too long; the message has the
 * offset and never the text. `what` names the text in it.
 */
int sp_canonical_object(const char *what, const char *text, enum sp_undefined undefined,
			struct sp_buf *out, struct sp_error *err);

/* True when the object (canonical or not, valid) has this member at its top level. */
bool sp_canonical_has(const char *text, const char *member);

#endif
