/* SPDX-License-Identifier: MIT */
/* The clauses in words, taken from the suites' READMEs when the program is built: one source. */
#ifndef SP_CLI_CLAUSES_H
#define SP_CLI_CLAUSES_H

/* The sentence of a clause ("kill", "K1"), or NULL for one that no README has. Static. */
const char *cli_clause_text(const char *suite, const char *clause);

#endif
