/* SPDX-License-Identifier: MIT */
/*
 * The private folder of a run. A run that was killed cannot remove its own, so the next one does: a
 * lock says whose run still lives.
 */
#ifndef SP_RUNNER_WORKDIR_H
#define SP_RUNNER_WORKDIR_H

#include <sandproof/error.h>

struct sp_workdir {
	/* Owned; NULL when there is none. */
	char *path;
	/* Holds the lock as long as this process lives; close-on-exec. */
	int lock;
};

#define SP_WORKDIR_INIT { NULL, -1 }

/*
 * Removes what runs of this user left that do not live any more, then makes
 * "<root>/sandproof-XXXXXX" (0700). SP_IO names the place.
 */
int sp_workdir_make(struct sp_workdir *workdir, struct sp_error *err);
/* Removes the folder with everything in it; one that was never made is fine. */
void sp_workdir_remove(struct sp_workdir *workdir);

#endif
