/* SPDX-License-Identifier: MIT */
/* The functions of the caps suite's cases; caps.c has their records. */
#ifndef SUITE_CAPS_CASES_H
#define SUITE_CAPS_CASES_H

#include <sandproof/case.h>

/* declared.c */
void caps_consistent(struct sp_case *t);
void caps_constant(struct sp_case *t);

/* kept.c */
void caps_basics_work(struct sp_case *t);
void caps_ports_work(struct sp_case *t);
void caps_fork_works(struct sp_case *t);
void caps_memory_dir(struct sp_case *t);
void caps_false_refuses(struct sp_case *t);

#endif
