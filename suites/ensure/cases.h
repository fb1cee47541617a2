/* SPDX-License-Identifier: MIT */
/* The functions behind the records of ensure.c, by file. */
#ifndef SUITE_ENSURE_CASES_H
#define SUITE_ENSURE_CASES_H

#include <sandproof/case.h>

/* key.c */
void ensure_key_golden(struct sp_case *t);
void ensure_key_canonical(struct sp_case *t);
void ensure_key_refused(struct sp_case *t);

/* create.c */
void ensure_create_record(struct sp_case *t);
void ensure_create_bootstrap(struct sp_case *t);
void ensure_create_wishes(struct sp_case *t);
void ensure_create_snapshot(struct sp_case *t);
void ensure_create_unsupported(struct sp_case *t);

/* resume.c */
void ensure_resume_same(struct sp_case *t);
void ensure_resume_stored_id(struct sp_case *t);
void ensure_resume_env(struct sp_case *t);
void ensure_resume_snapshot_kept(struct sp_case *t);
void ensure_error_resume(struct sp_case *t);
void ensure_error_backend(struct sp_case *t);
void ensure_gone_recreate(struct sp_case *t);
void ensure_gone_full_replace(struct sp_case *t);

/* restore.c */
void ensure_restore_snapshot(struct sp_case *t);
void ensure_restore_wishes(struct sp_case *t);
void ensure_restore_error(struct sp_case *t);
void ensure_restore_lost_snapshot(struct sp_case *t);

/* race.c */
void ensure_race_threads(struct sp_case *t);
void ensure_race_instances(struct sp_case *t);
void ensure_race_processes(struct sp_case *t);
void ensure_race_keys(struct sp_case *t);
void ensure_race_destroy(struct sp_case *t);

/* failures.c */
void ensure_fail_lock(struct sp_case *t);
void ensure_fail_look_up(struct sp_case *t);
void ensure_fail_create(struct sp_case *t);
void ensure_fail_bootstrap(struct sp_case *t);
void ensure_fail_snapshot(struct sp_case *t);
void ensure_fail_record(struct sp_case *t);
void ensure_fail_unknown(struct sp_case *t);
void ensure_fail_record_unknown(struct sp_case *t);
void ensure_fail_resumed_env(struct sp_case *t);
void ensure_fail_resumed_record(struct sp_case *t);
void ensure_fail_restored_env(struct sp_case *t);
void ensure_fail_restored_record(struct sp_case *t);
void ensure_fail_first_error(struct sp_case *t);
void ensure_fail_lock_free(struct sp_case *t);

/* abort.c */
void ensure_abort_before(struct sp_case *t);
void ensure_abort_bootstrap(struct sp_case *t);
void ensure_abort_hanging(struct sp_case *t);
void ensure_abort_deadline(struct sp_case *t);
void ensure_abort_waiting(struct sp_case *t);
void ensure_abort_watchers(struct sp_case *t);

/* owner.c */
void ensure_owner_collision(struct sp_case *t);
void ensure_owner_thread(struct sp_case *t);
void ensure_owner_provider(struct sp_case *t);
void ensure_owner_run(struct sp_case *t);
void ensure_owner_alike(struct sp_case *t);
void ensure_lock_name(struct sp_case *t);
void ensure_lock_fence(struct sp_case *t);
void ensure_lock_fenced_off(struct sp_case *t);
void ensure_lock_lost(struct sp_case *t);
void ensure_lock_lost_reaches(struct sp_case *t);

/* age.c */
void ensure_age_refused(struct sp_case *t);
void ensure_age_limit(struct sp_case *t);
void ensure_age_replaced(struct sp_case *t);
void ensure_age_stuck(struct sp_case *t);
void ensure_destroy_all(struct sp_case *t);
void ensure_destroy_error(struct sp_case *t);
void ensure_destroy_aborted(struct sp_case *t);
void ensure_destroy_owner(struct sp_case *t);

/* needs.c */
void ensure_needs_store(struct sp_case *t);
void ensure_needs_lock(struct sp_case *t);
void ensure_needs_pairing(struct sp_case *t);

#endif
