/* SPDX-License-Identifier: MIT */
/* The functions behind the records of lock.c, by file. */
#ifndef SUITE_LOCK_CASES_H
#define SUITE_LOCK_CASES_H

#include <sandproof/case.h>

/* hold.c */
void lock_hold_excludes(struct sp_case *t);
void lock_hold_independent(struct sp_case *t);
void lock_hold_again(struct sp_case *t);
void lock_hold_forgets(struct sp_case *t);
void lock_hold_order(struct sp_case *t);
void lock_hold_given_up(struct sp_case *t);
void lock_hold_not_reentrant(struct sp_case *t);
void lock_cancel_before(struct sp_case *t);
void lock_cancel_watchers(struct sp_case *t);
void lock_key_exact(struct sp_case *t);
void lock_key_long(struct sp_case *t);
void lock_key_hash(struct sp_case *t);
void lock_key_refused(struct sp_case *t);
void lock_fence_grows(struct sp_case *t);
void lock_fence_refused(struct sp_case *t);

/* shared.c */
void lock_second_excludes(struct sp_case *t);
void lock_second_fence(struct sp_case *t);
void lock_second_declared(struct sp_case *t);
void lock_process_excludes(struct sp_case *t);
void lock_process_counts(struct sp_case *t);
void lock_crash_freed(struct sp_case *t);
void lock_crash_waiter(struct sp_case *t);
void lock_lost_signal(struct sp_case *t);
void lock_lost_release(struct sp_case *t);
void lock_lost_never(struct sp_case *t);

#endif
