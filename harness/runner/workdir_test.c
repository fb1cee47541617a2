/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/files.h>

#include "workdir.h"

static void remove_dir(char **dir)
{
	if (*dir)
		sp_remove_tree(*dir);
	free(*dir);
}

static bool there(const char *dir, const char *name)
{
	char *path SP_FREE = NULL;
	struct stat st;

	return asprintf(&path, "%s/%s", dir, name) >= 0 && !lstat(path, &st);
}

static void make_folder(const char *dir, const char *name, mode_t mode, bool lock)
{
	char *path SP_FREE = NULL, *file SP_FREE = NULL;

	cr_assert(asprintf(&path, "%s/%s", dir, name) >= 0 &&
		  asprintf(&file, "%s/lock", path) >= 0);
	cr_assert_eq(mkdir(path, mode), 0);
	if (lock)
		cr_assert_eq(sp_write_file(file, "", 0, 0600, NULL), 0);
}

/* What a killed run left goes; what lives, what is another's and what is no run's stays. */
Test(workdir, the_next_run_removes_what_a_killed_one_left)
{
	char *root SP_CLEANUP(remove_dir) = NULL, *killed SP_FREE = NULL;
	struct sp_workdir first = SP_WORKDIR_INIT, alive = SP_WORKDIR_INIT, next = SP_WORKDIR_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool killed_there, alive_there, others[3];

	cr_assert_eq(sp_tmp_dir("workdir-test-", &root, &err), 0, "%s", err.message);
	setenv("TMPDIR", root, 1);
	cr_assert_eq(sp_workdir_make(&first, &err), 0, "%s", err.message);
	cr_assert_eq(sp_workdir_make(&alive, &err), 0, "%s", err.message);
	/* A process that is killed loses its lock and nothing else. */
	close(SP_TAKE_FD(first.lock));
	killed = SP_TAKE(first.path);
	make_folder(root, "sandproof-aaaaaa", 0700, false);
	make_folder(root, "sandproof-bbbbbb", 0755, true);
	make_folder(root, "sandproof-longer-name", 0700, true);
	cr_assert_eq(sp_workdir_make(&next, &err), 0, "%s", err.message);
	killed_there = !access(killed, F_OK);
	alive_there = !access(alive.path, F_OK);
	others[0] = there(root, "sandproof-aaaaaa");
	others[1] = there(root, "sandproof-bbbbbb");
	others[2] = there(root, "sandproof-longer-name");
	sp_workdir_remove(&alive);
	sp_workdir_remove(&next);
	unsetenv("TMPDIR");
	cr_expect(!killed_there, "the folder of a run that is no more");
	cr_expect(alive_there, "the folder of a run that lives");
	cr_expect(others[0], "a folder that is being made");
	cr_expect(others[1], "a folder that others may write");
	cr_expect(others[2], "a folder of another kind");
}
