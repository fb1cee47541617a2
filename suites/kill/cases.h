/* SPDX-License-Identifier: MIT */
/* The functions behind the records of table.c, by file. */
#ifndef SUITE_KILL_CASES_H
#define SUITE_KILL_CASES_H

#include <sandproof/case.h>

/* shapes.c */
void kill_shape_foreground(struct sp_case *t);
void kill_shape_compound(struct sp_case *t);
void kill_shape_background(struct sp_case *t);
void kill_shape_grandchild(struct sp_case *t);
void kill_shape_double_fork(struct sp_case *t);
void kill_shape_closed(struct sp_case *t);
void kill_shape_trapped(struct sp_case *t);
void kill_shape_setsid(struct sp_case *t);
void kill_shape_setsid_fork(struct sp_case *t);
void kill_shape_jobs(struct sp_case *t);
void kill_shape_empty_env(struct sp_case *t);
void kill_shape_stopped_child(struct sp_case *t);
void kill_shape_stopped_leader(struct sp_case *t);
void kill_shape_breeder(struct sp_case *t);
void kill_shape_breeder_sessions(struct sp_case *t);

/* moments.c */
void kill_moment_before_mint(struct sp_case *t);
void kill_moment_before_run(struct sp_case *t);
void kill_moment_before_upload(struct sp_case *t);
void kill_moment_during_start(struct sp_case *t);
void kill_moment_twice(struct sp_case *t);
void kill_moment_together(struct sp_case *t);
void kill_moment_stronger(struct sp_case *t);
void kill_moment_after_exit(struct sp_case *t);
void kill_moment_after_exit_silent(struct sp_case *t);
void kill_moment_stdin_closed(struct sp_case *t);
void kill_wait_gate(struct sp_case *t);

/* abort.c */
void kill_abort_exec(struct sp_case *t);
void kill_abort_exec_trapped(struct sp_case *t);
void kill_deadline_exec(struct sp_case *t);
void kill_deadline_exec_trapped(struct sp_case *t);
void kill_abort_spawn(struct sp_case *t);
void kill_abort_spawn_trapped(struct sp_case *t);
void kill_deadline_spawn(struct sp_case *t);
void kill_abort_before(struct sp_case *t);
void kill_deadline_before(struct sp_case *t);
void kill_abort_no_request(struct sp_case *t);
void kill_abort_watchers(struct sp_case *t);
void kill_abort_after_exit(struct sp_case *t);
void kill_how_abort_first(struct sp_case *t);
void kill_how_deadline_first(struct sp_case *t);
void kill_how_kill_first(struct sp_case *t);

/* signals.c */
void kill_signal_term(struct sp_case *t);
void kill_signal_int(struct sp_case *t);
void kill_signal_hup(struct sp_case *t);
void kill_signal_quit(struct sp_case *t);
void kill_signal_zero(struct sp_case *t);
void kill_signal_kill(struct sp_case *t);
void kill_signal_others(struct sp_case *t);
void kill_signal_then_kill(struct sp_case *t);
void kill_tell_each(struct sp_case *t);
void kill_tell_group(struct sp_case *t);
void kill_tell_undeclared(struct sp_case *t);
void kill_tell_none(struct sp_case *t);
void kill_tell_after_exit(struct sp_case *t);

/* codes.c */
void kill_code_by_signal(struct sp_case *t);
void kill_code_in_shell(struct sp_case *t);
void kill_code_segv(struct sp_case *t);
void kill_code_self(struct sp_case *t);
void kill_code_supervisor(struct sp_case *t);
void kill_code_killed(struct sp_case *t);
void kill_how_exited(struct sp_case *t);

/* bystanders.c */
void kill_limit_sibling(struct sp_case *t);
void kill_limit_usable(struct sp_case *t);
void kill_limit_failed_start(struct sp_case *t);
void kill_limit_refused_start(struct sp_case *t);
void kill_limit_rewritten(struct sp_case *t);
void kill_limit_aimed(struct sp_case *t);
void kill_limit_half_written(struct sp_case *t);

/* streams.c */
void kill_stream_ends(struct sp_case *t);
void kill_stream_end_again(struct sp_case *t);
void kill_stream_bound_kill(struct sp_case *t);
void kill_stream_bound_read(struct sp_case *t);
void kill_wait_unread(struct sp_case *t);
void kill_wait_late(struct sp_case *t);
void kill_wait_many(struct sp_case *t);
void kill_wait_cancelled(struct sp_case *t);

/* ends.c */
void kill_exit_reaps(struct sp_case *t);
void kill_exit_leaves(struct sp_case *t);
void kill_destroy_tree(struct sp_case *t);
void kill_destroy_trapped(struct sp_case *t);
void kill_destroy_orphan(struct sp_case *t);
void kill_destroy_pending(struct sp_case *t);
void kill_declared_refuses(struct sp_case *t);
void kill_declared_whole(struct sp_case *t);
void kill_zombie_unreaped(struct sp_case *t);
void kill_zombie_orphan(struct sp_case *t);

#endif
