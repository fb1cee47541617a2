/* SPDX-License-Identifier: MIT */
/*
 * Files: temporary folders that go away, whole reads and writes, recursive
 * removal without following links.
 */
#ifndef SP_BASE_FILES_H
#define SP_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <sandproof/error.h>
#include <sandproof/types.h>

/* Folder for temporary files: $TMPDIR when it is absolute, else /tmp. */
const char *sp_tmp_root(void);
/*
 * Makes a private folder (0700) "<root>/<prefix>XXXXXX"; malloc'ed path. A full or read-only
 * place is SP_IO and names it.
 */
int sp_tmp_dir(const char *prefix, char **ret_path, struct sp_error *err);
/*
 * Whether a folder for temporary files still has the room that anything needs to run in it: below
 * that things fail somewhere in the middle, with a reason that nobody understands. SP_IO names the
 * folder and says how much is free.
 */
int sp_tmp_room(const char *root, struct sp_error *err);
/*
 * Removes a file or tree, never following links and never leaving the file system it starts on.
 * Missing is fine. 0 or -errno of the first failure; goes on after one.
 */
int sp_remove_tree(const char *path);
/* Same, of `name` in `dirfd`. */
int sp_remove_tree_at(int dirfd, const char *name);
/* Makes a folder with its parents; 0 or -errno. */
int sp_mkdirs(const char *path, mode_t mode);
/* Reads a file whole; SP_IO, or SP_INVALID beyond `max`. */
int sp_read_file(const char *path, size_t max, struct sp_bytes *ret_bytes, struct sp_error *err);
/*
 * Writes a file whole under a temporary name beside it, then renames. A link stays and what it
 * leads to is replaced; a device or pipe is written into and stays. SP_IO names the path.
 */
int sp_write_file(const char *path, const void *data, size_t len, mode_t mode,
		  struct sp_error *err);
/* Writes all bytes, retrying; 0 or -errno. */
int sp_write_all(int fd, const void *data, size_t len);
/* Sets or clears O_NONBLOCK; 0 or -errno. */
int sp_set_nonblock(int fd, bool on);
/* Fills with random bytes from the kernel; aborts the program if there are none. */
void sp_random(void *data, size_t len);
/* `n` random characters of [0-9a-v] and a NUL. */
void sp_random_id(char *buffer, size_t n);
/* Number of open descriptors of this process, or -errno. */
int sp_count_fds(void);

#endif
