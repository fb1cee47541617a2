/* SPDX-License-Identifier: MIT */
/* The functions of the exec suite's cases, by theme; exec.c has their records. */
#ifndef SUITE_EXEC_CASES_H
#define SUITE_EXEC_CASES_H

#include <sandproof/case.h>

/* code.c */
void exec_code_passes_through(struct sp_case *t);
void exec_code_no_program(struct sp_case *t);
void exec_code_is_final(struct sp_case *t);
void exec_code_syntax_error(struct sp_case *t);

/* output.c */
void exec_output_apart(struct sp_case *t);
void exec_output_undecorated(struct sp_case *t);
void exec_output_split_characters(struct sp_case *t);
void exec_output_invalid_bytes(struct sp_case *t);
void exec_output_last_bytes(struct sp_case *t);
void exec_output_withheld_end(struct sp_case *t);
void exec_output_long_line(struct sp_case *t);
void exec_output_instant(struct sp_case *t);

/* volume.c */
void exec_output_burst(struct sp_case *t);
void exec_output_slow_reader(struct sp_case *t);
void exec_cap_prefix(struct sp_case *t);
void exec_cap_in_bytes(struct sp_case *t);

/* spawn.c */
void exec_spawn_delivers(struct sp_case *t);
void exec_spawn_streams_apart(struct sp_case *t);
void exec_spawn_own_code(struct sp_case *t);
void exec_spawn_small_reads(struct sp_case *t);
void exec_spawn_folder_and_redirection(struct sp_case *t);
void exec_parallel_both_run(struct sp_case *t);
void exec_return_background_child(struct sp_case *t);

/* stdin.c */
void exec_stdin_is_empty(struct sp_case *t);
void exec_stdin_close_arrives(struct sp_case *t);
void exec_stdin_kept_for_late_reader(struct sp_case *t);
void exec_stdin_large(struct sp_case *t);
void exec_stdin_refused(struct sp_case *t);

/* shell.c */
void exec_shell_posix(struct sp_case *t);
void exec_shell_no_terminal(struct sp_case *t);
void exec_shell_no_profile(struct sp_case *t);
void exec_shell_no_state(struct sp_case *t);

/* text.c */
void exec_text_quotes(struct sp_case *t);
void exec_text_long(struct sp_case *t);
void exec_text_endings(struct sp_case *t);
void exec_text_imitations(struct sp_case *t);

/* place.c */
void exec_cwd_default(struct sp_case *t);
void exec_cwd_missing(struct sp_case *t);
void exec_cwd_odd_names(struct sp_case *t);
void exec_env_one_command(struct sp_case *t);
void exec_env_exact_values(struct sp_case *t);
void exec_env_refused_names(struct sp_case *t);

/* outcome.c */
void exec_cancel_unused(struct sp_case *t);
void exec_deadline_is_no_success(struct sp_case *t);
void exec_deadline_none_sent(struct sp_case *t);
void exec_outcome_cut_stream(struct sp_case *t);
void exec_outcome_all_waiters(struct sp_case *t);
void exec_outcome_survives_later_failures(struct sp_case *t);
void exec_wake_runs(struct sp_case *t);

/* git.c */
void exec_git_works(struct sp_case *t);
void exec_git_fails(struct sp_case *t);
void exec_git_values(struct sp_case *t);

#endif
