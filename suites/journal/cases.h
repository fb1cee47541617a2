/* SPDX-License-Identifier: MIT */
/* The functions behind the records of journal.c, by file. */
#ifndef SUITE_JOURNAL_CASES_H
#define SUITE_JOURNAL_CASES_H

#include <sandproof/case.h>

/* writing.c */
void journal_write_exact(struct sp_case *t);
void journal_write_code(struct sp_case *t);
void journal_write_stderr(struct sp_case *t);
void journal_write_append(struct sp_case *t);
void journal_write_again(struct sp_case *t);
void journal_write_syntax(struct sp_case *t);
void journal_write_blocked(struct sp_case *t);
void journal_write_request_ends(struct sp_case *t);

/* offsets.c */
void journal_offset_absolute(struct sp_case *t);
void journal_follow_absolute(struct sp_case *t);
void journal_offset_every(struct sp_case *t);
void journal_follow_every(struct sp_case *t);
void journal_offset_resume(struct sp_case *t);
void journal_follow_resume(struct sp_case *t);
void journal_offset_beyond_end(struct sp_case *t);
void journal_follow_beyond_end(struct sp_case *t);
void journal_offset_at_end(struct sp_case *t);
void journal_follow_at_end(struct sp_case *t);
void journal_offset_huge(struct sp_case *t);
void journal_follow_huge(struct sp_case *t);

/* lines.c */
void journal_line_unterminated(struct sp_case *t);
void journal_follow_unterminated(struct sp_case *t);
void journal_line_half(struct sp_case *t);
void journal_follow_half(struct sp_case *t);
void journal_line_bytes(struct sp_case *t);
void journal_follow_bytes(struct sp_case *t);
void journal_line_empty(struct sp_case *t);
void journal_line_ceiling(struct sp_case *t);
void journal_follow_ceiling(struct sp_case *t);

/* marks.c */
void journal_mark_forged(struct sp_case *t);
void journal_follow_forged(struct sp_case *t);
void journal_mark_fused(struct sp_case *t);
void journal_mark_spellings(struct sp_case *t);
void journal_mark_probe(struct sp_case *t);
void journal_mark_two(struct sp_case *t);

/* live.c */
void journal_poll_causal(struct sp_case *t);
void journal_follow_causal(struct sp_case *t);
void journal_poll_before_file(struct sp_case *t);
void journal_follow_before_file(struct sp_case *t);
void journal_poll_abort(struct sp_case *t);
void journal_follow_abort(struct sp_case *t);
void journal_follow_kill_fails(struct sp_case *t);
void journal_follow_stream_ends(struct sp_case *t);
void journal_poll_first_byte(struct sp_case *t);
void journal_follow_first_byte(struct sp_case *t);
void journal_poll_later_gaps(struct sp_case *t);
void journal_follow_later_gaps(struct sp_case *t);
void journal_declared_strategy(struct sp_case *t);

/* trouble.c */
void journal_trouble_unavailable(struct sp_case *t);
void journal_trouble_code(struct sp_case *t);
void journal_trouble_cap(struct sp_case *t);
void journal_trouble_cut_frame(struct sp_case *t);
void journal_trouble_diagnostics(struct sp_case *t);
void journal_follow_diagnostics(struct sp_case *t);
void journal_place_directory(struct sp_case *t);
void journal_place_fifo(struct sp_case *t);
void journal_place_unreadable(struct sp_case *t);
void journal_change_truncated(struct sp_case *t);
void journal_change_replaced(struct sp_case *t);
void journal_change_replaced_longer(struct sp_case *t);
void journal_follow_truncated(struct sp_case *t);
void journal_follow_replaced(struct sp_case *t);
void journal_follow_replaced_longer(struct sp_case *t);

/* ends.c */
void journal_write_direct(struct sp_case *t);
void journal_ends_reader(struct sp_case *t);
void journal_ends_host(struct sp_case *t);
void journal_ends_host_killed(struct sp_case *t);
void journal_ends_killed(struct sp_case *t);
void journal_readers_two(struct sp_case *t);
void journal_takeover_live(struct sp_case *t);
void journal_takeover_killed(struct sp_case *t);

/* names_cases.c */
void journal_names_vectors(struct sp_case *t);
void journal_names_look_alikes(struct sp_case *t);
void journal_names_refused(struct sp_case *t);
void journal_names_hostile(struct sp_case *t);
void journal_names_hostile_folder(struct sp_case *t);

/* attach.c */
void journal_attach_there(struct sp_case *t);
void journal_attach_unknown(struct sp_case *t);
void journal_attach_terminal(struct sp_case *t);
void journal_attach_late(struct sp_case *t);
void journal_attach_bounded(struct sp_case *t);
void journal_attach_broken_probe(struct sp_case *t);

/* sweep.c */
void journal_list_names(struct sp_case *t);
void journal_list_times(struct sp_case *t);
void journal_remove_own(struct sp_case *t);
void journal_sweep_finished_only(struct sp_case *t);
void journal_sweep_records(struct sp_case *t);
void journal_sweep_age(struct sp_case *t);
void journal_sweep_no_times(struct sp_case *t);
void journal_sweep_cap(struct sp_case *t);
void journal_sweep_failed(struct sp_case *t);

/* shells.c */
void journal_shell_dash(struct sp_case *t);
void journal_shell_bash(struct sp_case *t);
void journal_shell_busybox(struct sp_case *t);

#endif
