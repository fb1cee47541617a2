/* SPDX-License-Identifier: MIT */
/* The functions of the fs suite's cases, by theme; fs.c has their records. */
#ifndef SUITE_FS_CASES_H
#define SUITE_FS_CASES_H

#include <sandproof/case.h>

/* content.c */
void fs_bytes_exact(struct sp_case *t);
void fs_bytes_two_paths(struct sp_case *t);
void fs_bytes_sizes(struct sp_case *t);
void fs_write_replaces(struct sp_case *t);
void fs_write_parents(struct sp_case *t);
void fs_write_refuses(struct sp_case *t);
void fs_read_missing(struct sp_case *t);
void fs_read_folder(struct sp_case *t);
void fs_read_tar(struct sp_case *t);

/* names.c */
void fs_names_odd(struct sp_case *t);
void fs_names_whole(struct sp_case *t);
void fs_names_folders(struct sp_case *t);
void fs_names_bytes(struct sp_case *t);
void fs_names_listed(struct sp_case *t);
void fs_paths_workspace(struct sp_case *t);
void fs_paths_look_alike(struct sp_case *t);

/* tree.c */
void fs_list_types(struct sp_case *t);
void fs_list_refuses(struct sp_case *t);
void fs_lstat_types(struct sp_case *t);
void fs_lstat_refuses(struct sp_case *t);
void fs_exists_answers(struct sp_case *t);
void fs_mkdir_makes(struct sp_case *t);
void fs_remove_tree(struct sp_case *t);
void fs_remove_refused(struct sp_case *t);
void fs_rename_as_posix(struct sp_case *t);

/* trouble.c */
void fs_abort_before(struct sp_case *t);
void fs_abort_during(struct sp_case *t);
void fs_failure_is_not_absence(struct sp_case *t);
void fs_disk_full(struct sp_case *t);
void fs_costs(struct sp_case *t);
void fs_write_atomic(struct sp_case *t);

#endif
