/* SPDX-License-Identifier: MIT */
#include <ci/bench.h>

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <results/results.h>

/* Largest resident memory seen, in KiB. */
struct peaks {
	long worker, fake;
};

/* Reads a number after `key` in /proc/PID/status; -1 when it is not there. */
static long status_number(pid_t pid, const char *key)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return -1;
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	const char *at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static bool is_fake(pid_t pid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return n > 0 && memmem(text, n, "fake-api", 9);
}

static void keep_larger(long *peak, long value)
{
	if (value > *peak)
		*peak = value;
}

/*
 * Looks at the children of the supervisor; the kernel keeps each one's peak, so a look
 * every now and then is enough.
 */
static void look(pid_t supervisor, struct peaks *peaks)
{
	DIR *dir = opendir("/proc");

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || status_number(pid, "\nPPid:") != supervisor)
			continue;
		long peak = status_number(pid, "\nVmHWM:");
		keep_larger(is_fake(pid) ? &peaks->fake : &peaks->worker, peak);
	}
	if (dir)
		closedir(dir);
}

/* One whole run with its results at `path`; nanoseconds of wall time. */
static uint64_t whole_run(const struct bench *bench, const char *path, struct peaks *peaks)
{
	const char *argv[] = {
		bench->program, "run", "--provider", "bash", "--results", path, NULL
	};
	struct sp_child child = SP_CHILD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	uint64_t start = sp_now();

	child.argv = argv;
	if (sp_child_start(&child, &err) < 0)
		bench_die("run", &err);
	struct pollfd ended = { .fd = child.pidfd, .events = POLLIN };
	while (poll(&ended, 1, 20) == 0)
		look(child.pid, peaks);
	uint64_t took = sp_now() - start;
	sp_child_wait(&child, NULL, NULL);
	if (child.code > 1)
		printf("the run ended with exit code %d\n", child.code);
	sp_child_done(&child);
	return took;
}

static void print_run(const struct bench *bench, const char *path, uint64_t took,
		      const struct peaks *peaks)
{
	struct sp_results results = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (sp_results_read(path, &results, &err) < 0)
		bench_die("results", &err);
	double asked = (double)results.end.commands * (double)bench->bare_ns / (double)cores;
	bench_print("whole run, cases", (double)results.n_cases, "", 0);
	bench_print("whole run, commands that the fake ran", (double)results.end.commands, "", 0);
	bench_print("whole run, wall time", (double)took / (double)SP_SECOND, "s", 0);
	if (asked > 0)
		bench_print("whole run / (commands x bare bash / cores)", (double)took / asked, "x",
			    5);
	if (peaks->worker > 0)
		bench_print("peak memory of a worker", (double)peaks->worker / 1024, "MB", 32);
	if (peaks->fake > 0)
		bench_print("peak memory of the fake server", (double)peaks->fake / 1024, "MB", 32);
	sp_results_done(&results);
}

static void print_list(const struct bench *bench)
{
	const char *argv[] = { bench->program, "list", NULL };
	struct bench_series series = { 0 };

	for (int i = 0; i < 50; i++)
		bench_add(&series, bench_spawn(argv));
	bench_print("`sandproof list`", (double)bench_median(&series) / (double)SP_MS, "ms", 50);
	bench_series_done(&series);
}

void bench_run(struct bench *bench)
{
	struct peaks peaks = { 0, 0 };
	struct sp_error err = SP_ERROR_INIT;
	char *dir SP_FREE = NULL;
	char *path SP_FREE = NULL;

	if (sp_tmp_dir("bench-", &dir, &err) < 0)
		bench_die("temporary folder", &err);
	if (asprintf(&path, "%s/results.ndjson", dir) < 0)
		bench_die("no memory", NULL);
	uint64_t took = whole_run(bench, path, &peaks);
	print_run(bench, path, took, &peaks);
	sp_remove_tree(dir);
	print_list(bench);
}
