/* SPDX-License-Identifier: MIT */
/*
 * A long journal, read to its exit: as multiples of what the shell needs for the same bytes. Poll
 * stands beside `tail | base64 | base64 -d`, follow beside `tail -c +1 FILE | cat`.
 */
#include <ci/bench.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <journal/journal.h>
#include <providers/local/local.h>

#define RUN_ID "bench"
#define LINE 512

/* One provider's sandbox with a journal of `mib` MiB in it. */
struct place {
	struct sp_sandbox *sandbox;
	struct sp_journal journal;
	struct sp_journal_options options;
	uint64_t mib;
};

static void run(struct sp_sandbox *sandbox, const char *command)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	options.command = command;
	if (sp_sandbox_exec(sandbox, &options, &result, &err) < 0 || result.exit_code)
		bench_die(command, &err);
	sp_exec_result_done(&result);
}

static void make_journal(struct place *place)
{
	char *command SP_FREE = NULL;
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_exit exit;

	if (asprintf(&command, "yes \"$(head -c %d /dev/zero | tr '\\0' x)\" | head -c %lluM",
		     LINE - 1, (unsigned long long)place->mib) < 0)
		bench_die("no memory", NULL);
	if (place->journal.ops->start(place->journal.self, place->sandbox, RUN_ID, command,
				      &place->options, &process, &err) < 0 ||
	    sp_process_wait(&process, &exit, NULL, &err) < 0)
		bench_die("start", &err);
	sp_process_done(&process);
}

/* Reads to the exit; nanoseconds. */
static uint64_t timed_read(struct place *place, enum sp_journal_strategy strategy)
{
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	struct sp_journal_options options = place->options;
	struct sp_error err = SP_ERROR_INIT;
	uint64_t start = sp_now(), lines = 0;
	bool end = false;

	options.strategy = strategy;
	if (place->journal.ops->read(place->journal.self, place->sandbox, RUN_ID, 0, &options,
				     &reader, &err) < 0)
		bench_die("read", &err);
	while (!end) {
		struct sp_journal_line line = SP_JOURNAL_LINE_INIT;

		if (reader.ops->next(reader.self, &line, &end, &err) < 0)
			bench_die("next", &err);
		lines += !end;
		sp_journal_line_done(&line);
	}
	uint64_t took = sp_now() - start;
	reader.ops->close(reader.self);
	if (lines != place->mib * (1024 * 1024 / LINE) + 1)
		bench_die("lines are missing", NULL);
	return took;
}

static uint64_t timed_shell(const char *format, const char *path)
{
	char *command SP_FREE = NULL;

	if (asprintf(&command, format, path) < 0)
		bench_die("no memory", NULL);
	return bench_spawn((const char *const[]){ "bash", "-c", command, NULL });
}

/*
 * Interleaved, so that all see the same machine. The figure is speed: the shell's time over ours.
 */
static void compare(struct place *place, const char *name, const char *path, double poll_aim,
		    double follow_aim, size_t rounds)
{
	struct bench_series poll = { 0 }, follow = { 0 }, base64 = { 0 }, cat = { 0 };
	char *what SP_FREE = NULL, *other SP_FREE = NULL;

	for (size_t i = 0; i < rounds; i++) {
		bench_add(&base64, timed_shell("tail -c +1 %s | base64 | base64 -d", path));
		bench_add(&poll, timed_read(place, SP_JOURNAL_POLL));
		bench_add(&cat, timed_shell("tail -c +1 %s | cat", path));
		bench_add(&follow, timed_read(place, SP_JOURNAL_FOLLOW));
	}
	if (asprintf(&what, "%s: poll of %llu MiB against base64 both ways", name,
		     (unsigned long long)place->mib) < 0 ||
	    asprintf(&other, "%s: follow of %llu MiB against tail | cat", name,
		     (unsigned long long)place->mib) < 0)
		bench_die("no memory", NULL);
	bench_print_least(what, (double)bench_median(&base64) / (double)bench_median(&poll), "x",
			  poll_aim);
	bench_print_least(other, (double)bench_median(&cat) / (double)bench_median(&follow), "x",
			  follow_aim);
	bench_series_done(&poll);
	bench_series_done(&follow);
	bench_series_done(&base64);
	bench_series_done(&cat);
}

static void open_journal(struct place *place, struct sp_provider *provider)
{
	struct sp_journal_open_options open = SP_JOURNAL_OPEN_INIT;
	struct sp_error err = SP_ERROR_INIT;

	open.capabilities = sp_provider_capabilities(provider);
	if (sp_journal_open(&open, &place->journal, &err) < 0)
		bench_die("journal", &err);
	place->options = (struct sp_journal_options)SP_JOURNAL_OPTIONS_INIT;
}

static void bench_place(struct sp_provider *provider, struct sp_sandbox *sandbox, const char *name,
			const char *dir, const char *path, uint64_t mib, double poll_aim,
			double follow_aim, size_t rounds)
{
	struct place place = { .sandbox = sandbox, .mib = mib };
	struct rusage usage;

	open_journal(&place, provider);
	place.options.dir = dir;
	make_journal(&place);
	compare(&place, name, path, poll_aim, follow_aim, rounds);
	if (!getrusage(RUSAGE_SELF, &usage)) {
		char *what SP_FREE = NULL;

		if (asprintf(&what, "%s: peak memory of the reading process", name) > 0)
			bench_print(what, (double)usage.ru_maxrss / 1024, "MiB", 0);
	}
	(void)place.journal.ops->remove(place.journal.self, sandbox, RUN_ID, &place.options, NULL);
	place.journal.ops->close(place.journal.self);
}

void bench_journal(struct bench *bench)
{
	struct sp_local_options local = SP_LOCAL_OPTIONS_INIT;
	struct sp_create_options create = SP_CREATE_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *dir SP_FREE = NULL, *path SP_FREE = NULL;

	if (sp_tmp_dir("bench-", &dir, &err) < 0 ||
	    asprintf(&path, "%s/" RUN_ID ".ndjson", dir) < 0)
		bench_die("temporary folder", &err);
	local.base_dir = dir;
	if (sp_local_open(&local, &provider, &err) < 0 ||
	    sp_provider_create(&provider, &create, &sandbox, &err) < 0)
		bench_die("local", &err);
	bench_place(&provider, &sandbox, "local", dir, path, bench->journal_mib, 0.8, 0.5,
		    bench->journal_rounds);
	(void)sp_sandbox_destroy(&sandbox, NULL, NULL);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	bench_served(bench, bench_journal_served);
	sp_remove_tree(dir);
}

void bench_journal_served(struct bench *bench, struct sp_provider *provider,
			  struct sp_sandbox *sandbox)
{
	char *dir SP_FREE = NULL, *path SP_FREE = NULL, *make SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;

	/*
	 * The shell reads a file of its own, with the same bytes: the sandbox's is not ours to see.
	 */
	if (sp_tmp_dir("bench-", &dir, &err) < 0 || asprintf(&path, "%s/plain", dir) < 0 ||
	    asprintf(&make, "yes \"$(head -c %d /dev/zero | tr '\\0' x)\" | head -c %lluM > %s",
		     LINE - 1, (unsigned long long)bench->journal_mib, path) < 0)
		bench_die("temporary folder", &err);
	(void)bench_spawn((const char *const[]){ "bash", "-c", make, NULL });
	run(sandbox, "mkdir -p /tmp/bench");
	bench_place(provider, sandbox, "bash", "/tmp/bench", path, bench->journal_mib, 0.3, 0.1,
		    bench->journal_rounds);
	sp_remove_tree(dir);
}
