/* SPDX-License-Identifier: MIT */
/*
 * TWOPATH: the same bytes through two independent doors. What fs wrote is
 * measured by a command (POSIX `cksum`: CRC and length), what a command wrote
 * is read by fs; a fault of one door does not hide behind the same fault of
 * the other.
 */
#ifndef SP_WITNESS_TWOPATH_H
#define SP_WITNESS_TWOPATH_H

#include <witness/shell.h>

/* CRC of POSIX `cksum` over `data` and its length. */
uint32_t sp_cksum(const void *data, size_t len);
/*
 * Fails the case at `where` unless `cksum` in the sandbox finds exactly these bytes in the
 * file. `path` needs no quoting.
 */
bool sp_twopath_check_file(struct sp_case *t, struct sp_sandbox *sandbox, const char *path,
			   const void *data, size_t len, struct sp_where where, const char *what);
/* Same for the output of a command, without letting the bytes pass exec(): "COMMAND | cksum". */
bool sp_twopath_check_output(struct sp_case *t, struct sp_sandbox *sandbox, const char *command,
			     const void *data, size_t len, struct sp_where where,
			     const char *what);

#endif
