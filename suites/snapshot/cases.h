/* SPDX-License-Identifier: MIT */
/* The functions behind the records of snapshot.c. */
#ifndef SUITE_SNAPSHOT_CASES_H
#define SUITE_SNAPSHOT_CASES_H

#include <sandproof/case.h>

void snap_take_round_trip(struct sp_case *t);
void snap_take_cycles(struct sp_case *t);
void snap_take_removed(struct sp_case *t);
void snap_take_wakes(struct sp_case *t);
void snap_exclude_overlay(struct sp_case *t);
void snap_exclude_restored(struct sp_case *t);
void snap_exclude_call(struct sp_case *t);
void snap_exclude_old_overlay(struct sp_case *t);
void snap_foreign_filesystem(struct sp_case *t);
void snap_foreign_in_place(struct sp_case *t);
void snap_runtime_foreign_locked(struct sp_case *t);
void snap_runtime_foreign(struct sp_case *t);
void snap_runtime_foreign_declared(struct sp_case *t);
void snap_runtime_commands_wait(struct sp_case *t);
void snap_runtime_sets_wait(struct sp_case *t);
void snap_runtime_starting(struct sp_case *t);
void snap_runtime_written_back(struct sp_case *t);
void snap_runtime_write_back_fails(struct sp_case *t);
void snap_label_lengths(struct sp_case *t);
void snap_label_characters(struct sp_case *t);
void snap_label_same(struct sp_case *t);
void snap_label_same_start(struct sp_case *t);
void snap_restore_today(struct sp_case *t);
void snap_restore_secrecy(struct sp_case *t);
void snap_restore_policy(struct sp_case *t);
void snap_restore_independent(struct sp_case *t);
void snap_restore_unknown(struct sp_case *t);
void snap_delete_idempotent(struct sp_case *t);
void snap_fail_capture(struct sp_case *t);
void snap_fail_lost_answer(struct sp_case *t);
void snap_fail_abort(struct sp_case *t);
void snap_fail_restore(struct sp_case *t);
void snap_fail_gone(struct sp_case *t);
void snap_fail_dying(struct sp_case *t);

#endif
