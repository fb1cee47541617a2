/* SPDX-License-Identifier: MIT */
/* The suite's case functions. */
#ifndef SUITE_PLATFORM_CASES_H
#define SUITE_PLATFORM_CASES_H

#include <sandproof/case.h>

void plat_stream_dropped(struct sp_case *t);
void plat_shell_leads(struct sp_case *t);
void plat_shell_fresh(struct sp_case *t);
void plat_memory_only_dev(struct sp_case *t);
void plat_snapshot_filesystem(struct sp_case *t);
void plat_snapshot_runtime(struct sp_case *t);
void plat_snapshot_name(struct sp_case *t);
void plat_asleep_files(struct sp_case *t);
void plat_asleep_command(struct sp_case *t);
void plat_asleep_upload(struct sp_case *t);
void plat_asleep_look(struct sp_case *t);
void plat_upload_mode(struct sp_case *t);
void plat_upload_folder(struct sp_case *t);
void plat_download_tar(struct sp_case *t);

#endif
