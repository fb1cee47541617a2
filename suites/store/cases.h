/* SPDX-License-Identifier: MIT */
/* The functions behind the records of store.c, by file. */
#ifndef SUITE_STORE_CASES_H
#define SUITE_STORE_CASES_H

#include <sandproof/case.h>

/* fields.c */
void store_get_absent(struct sp_case *t);
void store_get_whole(struct sp_case *t);
void store_get_bare(struct sp_case *t);
void store_value_times(struct sp_case *t);
void store_value_look_alikes(struct sp_case *t);
void store_value_long(struct sp_case *t);
void store_input_long_key(struct sp_case *t);
void store_input_long_value(struct sp_case *t);
void store_input_not_utf8(struct sp_case *t);
void store_input_missing(struct sp_case *t);

/* replace.c */
void store_replace_both(struct sp_case *t);
void store_replace_snapshot(struct sp_case *t);
void store_replace_run(struct sp_case *t);
void store_replace_values(struct sp_case *t);
void store_replace_raw(struct sp_case *t);

/* keys.c */
void store_key_look_alikes(struct sp_case *t);
void store_key_hostile(struct sp_case *t);
void store_key_bare(struct sp_case *t);
void store_key_patterns(struct sp_case *t);
void store_key_long(struct sp_case *t);
void store_key_hash(struct sp_case *t);

/* del.c */
void store_delete_gone(struct sp_case *t);
void store_delete_absent(struct sp_case *t);
void store_delete_others(struct sp_case *t);
void store_delete_traces(struct sp_case *t);
void store_keep_untouched(struct sp_case *t);
void store_alias_input(struct sp_case *t);
void store_alias_output(struct sp_case *t);
void store_cancel_before(struct sp_case *t);

/* fence.c */
void store_fence_older(struct sp_case *t);
void store_fence_wide(struct sp_case *t);
void store_fence_none(struct sp_case *t);
void store_fence_apart(struct sp_case *t);
void store_fence_second(struct sp_case *t);
void store_fence_refused(struct sp_case *t);

/* instances.c */
void store_second_reads(struct sp_case *t);
void store_second_commute(struct sp_case *t);
void store_second_late(struct sp_case *t);
void store_reopen_keeps(struct sp_case *t);
void store_reopen_volatile(struct sp_case *t);
void store_threads_apart(struct sp_case *t);
void store_threads_torn(struct sp_case *t);

/* process.c */
void store_process_reads(struct sp_case *t);
void store_process_apart(struct sp_case *t);
void store_process_torn(struct sp_case *t);
void store_crash_between(struct sp_case *t);
void store_crash_during(struct sp_case *t);

/* trouble.c */
void store_damage_one(struct sp_case *t);
void store_damage_foreign(struct sp_case *t);
void store_damage_newer(struct sp_case *t);
void store_trouble_locked(struct sp_case *t);
void store_trouble_waits(struct sp_case *t);
void store_trouble_down(struct sp_case *t);
void store_trouble_full(struct sp_case *t);
void store_trouble_read_only(struct sp_case *t);

#endif
