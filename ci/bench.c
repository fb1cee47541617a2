/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/clock.h>

void bench_die(const char *what, const struct sp_error *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err && err->message[0] ? err->message : "failed");
	exit(1);
}

void bench_add(struct bench_series *series, uint64_t ns)
{
	if (series->len == series->size) {
		series->size = series->size ? 2 * series->size : 256;
		series->ns = reallocarray(series->ns, series->size, sizeof(*series->ns));
		if (!series->ns)
			bench_die("no memory", NULL);
	}
	series->ns[series->len++] = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t bench_median(struct bench_series *series)
{
	if (series->len == 0)
		return 0;
	qsort(series->ns, series->len, sizeof(*series->ns), by_value);
	return series->ns[series->len / 2];
}

void bench_series_done(struct bench_series *series)
{
	free(series->ns);
	*series = (struct bench_series){ 0 };
}

void bench_print(const char *what, double value, const char *unit, double aim)
{
	printf("%-58s %8.2f %-3s", what, value, unit);
	if (aim > 0)
		printf("  aim %5.1f  %s", aim, value <= aim ? "ok" : "OVER");
	putchar('\n');
	fflush(stdout);
}

void bench_print_least(const char *what, double value, const char *unit, double aim)
{
	printf("%-58s %8.2f %-3s  least %4.1f  %s\n", what, value, unit, aim,
	       value >= aim ? "ok" : "UNDER");
	fflush(stdout);
}

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

int main(int argc, char **argv)
{
	struct bench bench = { .program = "build/sandproof", .rounds = 500, .journal_mib = 1024,
			       .journal_rounds = 3 };

	if (argc > 1)
		bench.program = argv[1];
	if (argc > 2)
		bench.rounds = strtoul(argv[2], NULL, 10);
	if (argc > 3)
		bench.journal_mib = strtoul(argv[3], NULL, 10);
	if (argc > 4 || bench.journal_mib < 1) {
		fputs("usage: bench [PROGRAM [ROUNDS [JOURNAL_MIB]]]\n", stderr);
		return 2;
	}
	/* No rounds: the journal alone. */
	if (bench.rounds) {
		bench_exec(&bench);
		bench_empty(&bench);
		bench_run(&bench);
	}
	bench_journal(&bench);
	return 0;
}
