/* SPDX-License-Identifier: MIT */
/*
 * Figures, printed and never asserted: `true` through the engine against a
 * bare `bash -c true` by posix_spawn, interleaved in one run; and making and
 * ending a sandbox. Medians.
 *
 *   bench_helper plain|namespaces FOLDER [RUNS]
 */
#include <fakes/bash/engine.h>

#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <base/clock.h>
#include <base/cleanup.h>

static struct fake_engine *engine;

static void turn(void)
{
	struct pollfd fd = { .fd = fake_engine_fd(engine), .events = POLLIN };

	poll(&fd, 1, -1);
	fake_engine_dispatch(engine);
}

static void note(void *arg, int rc, const struct sp_error *err)
{
	if (rc)
		fprintf(stderr, "%s\n", err ? err->message : "failed");
	*(bool *)arg = true;
}

static void woken(void *arg)
{
	(void)arg;
}

static double by_engine(struct fake_sandbox *sandbox, const char *text)
{
	struct sp_error err = SP_ERROR_INIT;
	struct fake_command *command;
	enum sp_stream stream;
	char buffer[65536];
	uint64_t began = sp_now();
	ssize_t n;

	if (fake_command_start(sandbox, text, woken, NULL, &command, &err)) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	while ((n = fake_command_read(command, &stream, buffer, sizeof(buffer))) != FAKE_END)
		if (n == FAKE_AGAIN)
			turn();
	began = sp_now() - began;
	fake_command_drop(command);
	return (double)began / 1e6;
}

static double by_spawn(void)
{
	static char *const argv[] = { (char *)"bash", (char *)"-c", (char *)"true", NULL };
	static char *const envp[] = { (char *)"PATH=/usr/bin:/bin", NULL };
	uint64_t began = sp_now();
	pid_t pid;

	if (posix_spawn(&pid, "/bin/bash", NULL, NULL, argv, envp))
		exit(1);
	waitpid(pid, NULL, 0);
	return (double)(sp_now() - began) / 1e6;
}

static struct fake_sandbox *make(const char *id, double *ret_ms)
{
	struct fake_sandbox_options options = { .id = id };
	struct sp_error err = SP_ERROR_INIT;
	struct fake_sandbox *sandbox;
	bool done = false;
	uint64_t began = sp_now();

	if (fake_sandbox_create(engine, &options, note, &done, &sandbox, &err)) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	while (!done)
		turn();
	*ret_ms = (double)(sp_now() - began) / 1e6;
	return sandbox;
}

static double end(struct fake_sandbox *sandbox)
{
	bool done = false;
	uint64_t began = sp_now();

	fake_sandbox_destroy(sandbox, note, &done);
	while (!done)
		turn();
	fake_sandbox_free(sandbox);
	return (double)(sp_now() - began) / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

static void bench_exec(size_t runs)
{
	double *ours SP_FREE = calloc(runs, sizeof(double));
	double *bare SP_FREE = calloc(runs, sizeof(double));
	double unused, a, b;
	struct fake_sandbox *sandbox = make("bench", &unused);

	for (size_t i = 0; i < runs; i++) {
		bare[i] = by_spawn();
		ours[i] = by_engine(sandbox, "true");
	}
	a = median(ours, runs);
	b = median(bare, runs);
	printf("true: engine %.3f ms, posix_spawn %.3f ms, %.2fx\n", a, b, a / b);
	end(sandbox);
}

static void bench_life(size_t runs)
{
	double *made SP_FREE = calloc(runs, sizeof(double));
	double *ended SP_FREE = calloc(runs, sizeof(double));
	double crowd[5], unused;
	char id[32];

	for (size_t i = 0; i < runs; i++) {
		snprintf(id, sizeof(id), "life-%zu", i);
		ended[i] = end(make(id, &made[i]));
	}
	for (size_t i = 0; i < SP_COUNT(crowd); i++) {
		snprintf(id, sizeof(id), "crowd-%zu", i);
		struct fake_sandbox *sandbox = make(id, &unused);

		by_engine(sandbox, "for ((i=0;i<300;i++)); do if ((i%3)); then setsid sleep 1000 & "
				   "else sleep 1000 & fi; done >/dev/null 2>&1; exit 0");
		crowd[i] = end(sandbox);
	}
	printf("create %.2f ms, destroy empty %.2f ms, destroy with 300 processes %.2f ms\n",
	       median(made, runs), median(ended, runs), median(crowd, SP_COUNT(crowd)));
}

int main(int argc, char **argv)
{
	struct fake_engine_options options = { 0 };
	struct sp_error err = SP_ERROR_INIT;
	size_t runs = argc > 3 ? strtoul(argv[3], NULL, 10) : 300;

	if (argc < 3 || !runs)
		return 2;
	options.mode = strcmp(argv[1], "plain") ? FAKE_NAMESPACES : FAKE_PLAIN;
	options.state_dir = argv[2];
	if (fake_engine_new(&options, &engine, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	bench_exec(runs);
	bench_life(runs / 10 + 1);
	fake_engine_free(engine);
	return 0;
}
