/* SPDX-License-Identifier: MIT */
/* --coverage DIR: counters of plugins that were built with coverage. */
#ifndef SP_CLI_COVERAGE_H
#define SP_CLI_COVERAGE_H

#include <stddef.h>

#include <sandproof/error.h>

/*
 * Makes the folder and has every process from here on put its counters below it, under the whole
 * path of the object file (GCOV_PREFIX). SP_IO names the folder.
 */
int cli_coverage_begin(const char *dir, struct sp_error *err);
/*
 * Puts a link to the compiler's notes (.gcno) beside each file of counters, so that lcov and gcovr
 * find both below the folder. `ret_files`: files of counters there.
 */
int cli_coverage_end(const char *dir, size_t *ret_files, struct sp_error *err);

#endif
