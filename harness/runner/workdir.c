/* SPDX-License-Identifier: MIT */
#include "workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

#define PREFIX "sandproof-"
#define LOCK_NAME "lock"
#define RANDOM_LENGTH 6

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Locked before it has its name: whoever finds the name finds the lock held. */
static int take_lock(const char *path, int *ret_lock)
{
	int dir SP_CLOSE = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int lock SP_CLOSE = -1;

	if (dir < 0)
		return -errno;
	lock = openat(dir, LOCK_NAME ".new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) ||
	    renameat(dir, LOCK_NAME ".new", dir, LOCK_NAME))
		return -errno;
	*ret_lock = SP_TAKE_FD(lock);
	return 0;
}

/* Ours, with a lock that nobody holds. A folder without one is another's, or is being made. */
static bool is_stale(int root, const char *name)
{
	int dir SP_CLOSE = -1, lock SP_CLOSE = -1;
	struct stat st;

	if (strncmp(name, PREFIX, strlen(PREFIX)) || strlen(name) != strlen(PREFIX) + RANDOM_LENGTH)
		return false;
	dir = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) || st.st_uid != geteuid() || (st.st_mode & 077))
		return false;
	lock = openat(dir, LOCK_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return lock >= 0 && !fstat(lock, &st) && S_ISREG(st.st_mode) &&
	       !flock(lock, LOCK_EX | LOCK_NB);
}

/* Best effort: what cannot be removed is no reason not to run. */
static void remove_stale(const char *root)
{
	DIR *dir SP_CLEANUP(close_dir) = opendir(root);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_stale(dirfd(dir), entry->d_name))
			(void)sp_remove_tree_at(dirfd(dir), entry->d_name);
}

int sp_workdir_make(struct sp_workdir *workdir, struct sp_error *err)
{
	int rc;

	remove_stale(sp_tmp_root());
	rc = sp_tmp_dir(PREFIX, &workdir->path, err);
	if (rc)
		return rc;
	rc = sp_tmp_room(workdir->path, err);
	if (!rc && (rc = take_lock(workdir->path, &workdir->lock)))
		(void)sp_error_set_errno(err, -rc, "cannot write into the temporary folder %s",
					 workdir->path);
	if (!rc)
		return 0;
	sp_workdir_remove(workdir);
	return SP_IO;
}

void sp_workdir_remove(struct sp_workdir *workdir)
{
	if (workdir->path)
		(void)sp_remove_tree(workdir->path);
	free(workdir->path);
	sp_close(workdir->lock);
	*workdir = (struct sp_workdir)SP_WORKDIR_INIT;
}
