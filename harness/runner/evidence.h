/* SPDX-License-Identifier: MIT */
/* Values as evidence shows them: redacted first, then quoted and cut. */
#ifndef SP_RUNNER_EVIDENCE_H
#define SP_RUNNER_EVIDENCE_H

#include <stddef.h>

#include <base/buf.h>
#include <redact/redact.h>

/* Longest value in evidence, and in a line of the dialogue. */
#define SP_EVIDENCE_MAX 2048
#define SP_EVIDENCE_SHORT 160

/*
 * Appends `data` in double quotes, at most about `max` bytes of it, with \n, \t
 * and \xNN for what cannot be printed; says the whole length when it was cut.
 * NULL is shown as NULL.
 */
void sp_show(struct sp_buf *out, struct sp_redact *redact, const void *data, size_t len,
	     size_t max);
/* Same, from around byte `at` of the redacted form on. */
void sp_show_around(struct sp_buf *out, struct sp_redact *redact, const void *data, size_t len,
		    size_t at, size_t max);
/* First byte in which the redacted forms differ; the shorter length when one is a prefix. */
size_t sp_first_difference(struct sp_redact *redact, const void *a, size_t a_len, const void *b,
			   size_t b_len);
/* Appends plain text, redacted and cut at a character to `max` bytes. */
void sp_show_plain(struct sp_buf *out, struct sp_redact *redact, const char *text, size_t max);

#endif
