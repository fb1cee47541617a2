/* SPDX-License-Identifier: MIT */
/*
 * Figures of drivers: an empty call as a multiple of a round trip of a pipe between two C programs,
 * and much output through a served provider as a multiple of `base64 | base64 -d`.
 *
 *	bench_driver [PROGRAM [ROUNDS [MIB]]]
 */
#include <ci/bench.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <providers/driver/driver.h>

/* A request of the protocol and its answer have about this length. */
#define MESSAGE 80

/* The other of the two programs: this one, called with "echo". */
static int echo(void)
{
	char bytes[MESSAGE];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (write(STDOUT_FILENO, bytes, (size_t)n) != n)
			return 1;
	return 0;
}

static uint64_t round_trip(const struct sp_child *child)
{
	char bytes[MESSAGE] = "";
	uint64_t start = sp_now();

	for (size_t done = 0; done < sizeof(bytes);) {
		ssize_t n = done ? 0 : write(child->in, bytes, sizeof(bytes));

		n = n < 0 ? n : read(child->out, bytes, sizeof(bytes) - done);
		if (n <= 0)
			bench_die("a round trip of a pipe", NULL);
		done += (size_t)n;
	}
	return sp_now() - start;
}

static uint64_t empty_call(struct sp_store *store)
{
	struct sp_record record = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	uint64_t start = sp_now();
	bool found = true;

	if (sp_store_get(store, "nothing", &record, &found, NULL, &err) || found)
		bench_die("an empty call", &err);
	return sp_now() - start;
}

static struct sp_driver *open_served(const char *program, const char *option, const char *spec)
{
	const char *argv[] = { program, "serve", option, spec, NULL };
	struct sp_driver_options options = SP_DRIVER_OPTIONS_INIT;
	struct sp_driver *driver = NULL;
	struct sp_error err = SP_ERROR_INIT;

	options.argv = argv;
	if (sp_driver_open(&options, &driver, &err))
		bench_die("a served driver", &err);
	return driver;
}

/*
 * One core for both pairs of programs: where a scheduler puts them decides more than what they do,
 * since a wake-up across cores takes ten times as long as the round trip on one.
 */
static void on_one_core(cpu_set_t *ret_before)
{
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(*ret_before), ret_before))
		bench_die("the cores of this process", NULL);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, ret_before))
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		bench_die("one core for this process", NULL);
}

static void calls(const char *program, const char *self, size_t rounds)
{
	struct bench_series bare = { 0 }, ours = { 0 };
	struct sp_driver *driver;
	const char *argv[] = { self, "echo", NULL };
	struct sp_child child = SP_CHILD_INIT;
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char text[128];
	cpu_set_t before;

	on_one_core(&before);
	driver = open_served(program, "--store", "memory");
	child.argv = argv;
	child.in = child.out = SP_CHILD_PIPE;
	if (sp_child_start(&child, &err) || sp_driver_store(driver, &store, &err))
		bench_die("the two programs", &err);
	for (size_t i = 0; i < rounds; i++) {
		bench_add(&bare, round_trip(&child));
		bench_add(&ours, empty_call(&store));
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
	snprintf(text, sizeof(text),
		 "an empty call, over a round trip of a pipe (%.1f us), on one core",
		 (double)bench_median(&bare) / 1000);
	bench_print(text, (double)bench_median(&ours) / (double)bench_median(&bare), "x", 3);
	bench_series_done(&bare);
	bench_series_done(&ours);
	sp_store_done(&store);
	sp_driver_unref(driver);
	sp_child_done(&child);
}

/* ---- Much output ---- */

static void drain(struct sp_process *process, uint64_t wanted)
{
	static char bytes[1 << 20];
	struct sp_error err = SP_ERROR_INIT;
	uint64_t total = 0;
	size_t len = 1;

	while (len) {
		if (sp_process_read(process, SP_STDOUT, bytes, sizeof(bytes), &len, NULL, &err))
			bench_die("reading much output", &err);
		total += len;
	}
	if (total != wanted)
		bench_die("much output is not whole", NULL);
}

static uint64_t through_driver(struct sp_sandbox *sandbox, uint64_t mib)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char command[96];
	uint64_t start = sp_now();

	snprintf(command, sizeof(command), "head -c %lluM /dev/zero", (unsigned long long)mib);
	options.command = command;
	if (sp_sandbox_spawn(sandbox, &options, &process, &err))
		bench_die("a command with much output", &err);
	drain(&process, mib << 20);
	sp_process_done(&process);
	return sp_now() - start;
}

static uint64_t through_base64(uint64_t mib)
{
	char command[128];
	const char *argv[] = { "sh", "-c", command, NULL };

	snprintf(command, sizeof(command), "head -c %lluM /dev/zero | base64 -w0 | base64 -d",
		 (unsigned long long)mib);
	return bench_spawn(argv);
}

static void volume(const char *program, uint64_t mib)
{
	struct sp_driver *driver = open_served(program, "--provider", "local");
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct bench_series bare = { 0 }, ours = { 0 };
	struct rusage self, children;

	if (sp_driver_provider(driver, &provider, &err) ||
	    sp_provider_create(&provider, &create, &sandbox, &err))
		bench_die("a sandbox behind a driver", &err);
	for (int i = 0; i < 3; i++) {
		bench_add(&bare, through_base64(mib));
		bench_add(&ours, through_driver(&sandbox, mib));
	}
	(void)sp_sandbox_destroy(&sandbox, NULL, NULL);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	sp_driver_unref(driver);
	bench_print_least("output through a driver, of the speed of base64 | base64 -d",
			  (double)bench_median(&bare) / (double)bench_median(&ours), "x", 0.5);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	bench_print("memory of the client", (double)self.ru_maxrss / 1024, "MiB", 32);
	bench_print("memory of the driver", (double)children.ru_maxrss / 1024, "MiB", 32);
	bench_series_done(&bare);
	bench_series_done(&ours);
}

int main(int argc, char **argv)
{
	const char *program = argc > 1 ? argv[1] : "build/sandproof";

	if (argc > 1 && !strcmp(argv[1], "echo"))
		return echo();
	signal(SIGPIPE, SIG_IGN);
	calls(program, "/proc/self/exe", argc > 2 ? strtoul(argv[2], NULL, 10) : 20000);
	volume(program, argc > 3 ? strtoul(argv[3], NULL, 10) : 1024);
	return 0;
}
