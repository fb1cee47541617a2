/* SPDX-License-Identifier: MIT */
/* The functions behind the records of store.c, by file. */
#ifndef SUITE_STORE_CASES_H
#define SUITE_STORE_CASES_H

#include <sandproof/case.h>

/* replace.c */
void store_replace_both(struct sp_case *t);

#endif
