/* SPDX-License-Identifier: MIT */
/*
 * CANARY: a random secret that is searched for in everything that can be
 * observed. It is made of letters and digits, so that its quoted, URL and
 * JSON forms are mostly the text itself; every form that redaction knows is
 * searched. A case first shows that the canary did arrive where it
 * should: a search that can find nothing proves nothing.
 */
#ifndef SP_WITNESS_CANARY_H
#define SP_WITNESS_CANARY_H

#include <sandproof/case.h>

/* Characters of a canary. */
#define SP_CANARY_LEN 32

/* A text that stands nowhere else, so that finding it proves a leak. */
struct sp_canary {
	char text[SP_CANARY_LEN + 1];
};

/* Makes one and tells the runner, so that no report holds it. */
void sp_canary_make(struct sp_case *t, struct sp_canary *canary);
/* Name of the form in which `data` holds it ("raw", "base64", "hex", …), or NULL. */
const char *sp_canary_find(const struct sp_canary *canary, const void *data, size_t len);
/*
 * Fails the case at `where` when `data` holds it in any form; the evidence names form
 * and `what`, never the secret.
 */
bool sp_canary_check_absent(struct sp_case *t, const struct sp_canary *canary, const void *data,
			    size_t len, struct sp_where where, const char *what);

#endif
