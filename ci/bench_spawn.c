/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/clock.h>

uint64_t bench_spawn(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	uint64_t start = sp_now();
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) != 0)
		bench_die(argv[0], NULL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	uint64_t took = sp_now() - start;
	posix_spawn_file_actions_destroy(&actions);
	if (status != 0)
		bench_die(argv[0], NULL);
	return took;
}
