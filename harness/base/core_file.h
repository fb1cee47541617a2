/* SPDX-License-Identifier: MIT */
/* Secrets and core files. */
#ifndef SP_BASE_CORE_FILE_H
#define SP_BASE_CORE_FILE_H

/*
 * From now on neither this process nor one that it starts leaves memory in a core file, whoever
 * collects them: for programs that hold somebody's key. Cannot be taken back.
 */
void sp_no_core_file(void);

#endif
