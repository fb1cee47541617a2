/* SPDX-License-Identifier: MIT */
/*
 * What a case left behind: processes, descriptors, temporary files, and what
 * the back end counts. Everything that appears is labelled with the case in
 * which it appeared, so a leak is laid to its case also when it is proven
 * later.
 *
 * Descriptors are not so simple: a provider may keep idle connections. More
 * descriptors than ever seen before are therefore a suspicion only. The proof
 * is to close the subject: what its caches held goes with it, and what stays
 * is a leak. The subject is then opened anew, and that many descriptors raise
 * no suspicion again (but keep their labels until the worker ends, where the
 * proof is made once more).
 */
#ifndef SP_RUNNER_LEAKS_H
#define SP_RUNNER_LEAKS_H

#include <stdbool.h>
#include <stddef.h>

#include <sandproof/sandbox.h>

struct sp_worker;
struct sp_opened;
struct sp_leaks;

/* Takes what is there now as the base. NULL without memory. */
struct sp_leaks *sp_leaks_new(struct sp_worker *w);
struct sp_leaks *sp_leaks_free(struct sp_leaks *leaks);

/*
 * Around something that legitimately stays (a subject, the shared sandbox): what appears in
 * between belongs to the base.
 */
void sp_leaks_absorb_begin(struct sp_leaks *leaks);
void sp_leaks_absorb_end(struct sp_leaks *leaks);
/* Remembers how the shared sandbox of a subject looks, to find it again like that. */
void sp_leaks_shared_base(struct sp_leaks *leaks, struct sp_opened *opened);

/* After a case, its own sandboxes being gone. May close and drop what it has to. */
void sp_leaks_check(struct sp_leaks *leaks, struct sp_opened *opened);
/* After everything was closed: what still has a label was leaked. */
void sp_leaks_final(struct sp_leaks *leaks);

#endif
