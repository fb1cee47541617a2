/* SPDX-License-Identifier: MIT */
/* The functions of the lifecycle suite's cases, by theme; lifecycle.c has their records. */
#ifndef SUITE_LIFECYCLE_CASES_H
#define SUITE_LIFECYCLE_CASES_H

#include <sandproof/case.h>

/* create.c */
void life_create_ready(struct sp_case *t);
void life_create_independent(struct sp_case *t);
void life_create_env(struct sp_case *t);
void life_create_aborted(struct sp_case *t);
void life_create_aborted_during(struct sp_case *t);
void life_create_fails_part_way(struct sp_case *t);
void life_create_lost_answer(struct sp_case *t);

/* resume.c */
void life_resume_same(struct sp_case *t);
void life_resume_closed(struct sp_case *t);
void life_resume_gone(struct sp_case *t);
void life_resume_odd_ids(struct sp_case *t);
void life_resume_states(struct sp_case *t);
void life_resume_changes(struct sp_case *t);
void life_resume_creating(struct sp_case *t);
void life_resume_transient(struct sp_case *t);
void life_resume_404(struct sp_case *t);

/* destroy.c */
void life_destroy_again(struct sp_case *t);
void life_destroy_unknown(struct sp_case *t);
void life_destroy_at_once(struct sp_case *t);
void life_destroy_by_id(struct sp_case *t);
void life_destroy_others(struct sp_case *t);
void life_destroy_processes(struct sp_case *t);
void life_destroy_refused(struct sp_case *t);
void life_destroy_then_use(struct sp_case *t);

/* list.c */
void life_list_live(struct sp_case *t);
void life_list_fails(struct sp_case *t);
void life_expires(struct sp_case *t);

/* sleep.c */
void life_sleep_files(struct sp_case *t);
void life_sleep_upload(struct sp_case *t);
void life_sleep_env(struct sp_case *t);
void life_sleep_durable(struct sp_case *t);

#endif
