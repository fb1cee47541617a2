/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/nameless.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <base/cleanup.h>

/* Not every file system has nameless files. */
int nameless_open(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path SP_FREE = NULL;

	if (fd >= 0 || asprintf(&path, "%s/nameless-XXXXXX", dir) < 0)
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}
