/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/core_file.h>

/* The mappings that a core file would hold, by bits; -1: not known. */
static long dumped(void)
{
	FILE *file = fopen("/proc/self/coredump_filter", "re");
	long bits = -1;

	if (file && fscanf(file, "%lx", &bits) != 1)
		bits = -1;
	if (file)
		fclose(file);
	return bits;
}

/* In a child, since it cannot be taken back; what it starts is bound as well. */
Test(core_file, holds_no_memory)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		sp_no_core_file();
		execl("/bin/sh", "sh", "-c",
		      "read -r f </proc/$$/coredump_filter && [ \"$f\" = 00000000 ] && "
		      "[ \"$(ulimit -c)\" = 0 ]",
		      (char *)NULL);
		_exit(126);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_expect(dumped() != 0, "memory is dumped before: filter %lx", dumped());
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
}
