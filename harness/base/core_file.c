/* SPDX-License-Identifier: MIT */
#include <base/core_file.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/files.h>

void sp_no_core_file(void)
{
	struct rlimit none = { 0, 0 };
	int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

	setrlimit(RLIMIT_CORE, &none);
	/* A collector behind a pipe is not bound by the limit: it gets a file without memory. */
	if (fd < 0)
		return;
	(void)sp_write_all(fd, "0", 1);
	close(fd);
}
