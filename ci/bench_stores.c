/* SPDX-License-Identifier: MIT */
/*
 * Figures of the stores: a get and an upsert as multiples of the raw library doing the same
 *statement with the same durability, on the same data, in turn; and processes that write one SQLite
 *file at once.
 *
 *	bench_stores [ROUNDS [PROCESSES [UPSERTS]]]
 */
#include <ci/bench.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <sandproof/store.h>

#include <ci/bench_stores.h>

/* Its time moves with every upsert: SQLite writes nothing for a row that stays as it is. */
static struct sp_record sample = {
    .key = (char *)"bench",
    .provider = (char *)"render",
    .provider_sandbox_id = (char *)"sbx-0123456789abcdef",
    .latest_snapshot_id = (char *)"snap-0123456789abcdef",
    .thread_id = (char *)"thread-0123456789",
    .latest_run_id = (char *)"run-0123456789",
    .updated_at = 1732924800123,
};

static void timed(struct bench_series *series, void (*fn)(void *arg), void *arg)
{
	uint64_t start = sp_now();

	fn(arg);
	bench_add(series, sp_now() - start);
}

static void store_upsert(void *arg)
{
	struct sp_error err = SP_ERROR_INIT;

	if (sp_store_upsert(arg, &sample, NULL, NULL, &err))
		bench_die("upsert", &err);
}

static void store_get(void *arg)
{
	struct sp_record got SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;

	if (sp_store_get(arg, sample.key, &got, &found, NULL, &err) || !found)
		bench_die("get", &err);
}

static void print_ratio(const char *name, const char *what, struct bench_series *ours,
			struct bench_series *raw, double aim)
{
	char text[96];
	uint64_t base = bench_median(raw);

	snprintf(text, sizeof(text), "%s %s, over the raw library (%.0f us)", name, what,
		 (double)base / 1000);
	bench_print(text, (double)bench_median(ours) / (double)base, "x", aim);
	bench_series_done(ours);
	bench_series_done(raw);
}

struct side {
	void (*fn)(void *arg);
	void *arg;
	struct bench_series series;
};

/*
 * Both do the same thing in turn, each as often first as second, so that what the machine does
 * meanwhile and what one finds of the other's work meet both.
 */
static void alternate(struct side *ours, struct side *raw, size_t rounds)
{
	for (size_t i = 0; i < 2 * rounds; i++) {
		struct side *side = (i + i / 2) % 2 ? ours : raw;

		sample.updated_at++;
		timed(&side->series, side->fn, side->arg);
	}
}

static void compare(const char *name, struct sp_store *store, const struct bench_raw *raw,
		    size_t rounds, double aim)
{
	struct side put = {store_upsert, store, {0}}, raw_put = {raw->upsert, raw->arg, {0}};
	struct side get = {store_get, store, {0}}, raw_get = {raw->get, raw->arg, {0}};

	alternate(&put, &raw_put, rounds);
	print_ratio(name, "upsert", &put.series, &raw_put.series, aim);
	alternate(&get, &raw_get, rounds);
	print_ratio(name, "get", &get.series, &raw_get.series, aim);
}

/* ---- processes ---- */

static void key_of(char *key, size_t size, unsigned process, unsigned n)
{
	snprintf(key, size, "p%u-%u", process, n);
}

static int write_keys(const char *path, unsigned process, unsigned n)
{
	struct sp_record record = sample;
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char key[32];
	int rc = bench_sqlite_store(path, &store, &err);

	record.key = key;
	for (unsigned i = 0; !rc && i < n; i++) {
		key_of(key, sizeof(key), process, i);
		record.updated_at = i;
		rc = sp_store_upsert(&store, &record, NULL, NULL, &err);
	}
	if (rc)
		fprintf(stderr, "bench: process %u: %s\n", process, err.message);
	sp_store_done(&store);
	return rc ? 1 : 0;
}

static unsigned count_lost(const char *path, unsigned processes, unsigned n)
{
	struct sp_store store = SP_STORE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	unsigned lost = 0;
	char key[32];

	if (bench_sqlite_store(path, &store, &err))
		bench_die("sqlite", &err);
	for (unsigned i = 0; i < processes * n; i++) {
		struct sp_record got SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
		bool found = false;

		key_of(key, sizeof(key), i / n, i % n);
		if (sp_store_get(&store, key, &got, &found, NULL, &err) || !found ||
		    got.updated_at != i % n)
			lost++;
	}
	sp_store_done(&store);
	return lost;
}

/* Nothing is open in this process while it forks. */
static void bench_processes(const char *path, unsigned processes, unsigned n)
{
	uint64_t start = sp_now();
	unsigned failed = 0;
	char text[96];

	for (unsigned i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			bench_die("fork", NULL);
		if (!pid)
			_exit(write_keys(path, i, n));
	}
	for (unsigned i = 0; i < processes; i++) {
		int status = 1;

		while (wait(&status) < 0 && errno == EINTR)
			;
		failed += status != 0;
	}
	snprintf(text, sizeof(text), "sqlite, %u processes of %u upserts: with errors", processes,
		 n);
	bench_print(text, failed, "", 0);
	bench_print("  lost writes", count_lost(path, processes, n), "", 0);
	bench_print("  upserts a second, all together",
		    (double)processes * n / ((double)(sp_now() - start) / SP_SECOND), "/s", 0);
}

/* ---- the two back ends ---- */

static void bench_sqlite(const char *path, size_t rounds)
{
	struct sp_store store = SP_STORE_INIT;
	struct bench_raw raw = {0};
	struct sp_error err = SP_ERROR_INIT;

	if (bench_sqlite_store(path, &store, &err))
		bench_die("sqlite", &err);
	bench_sqlite_raw(path, &sample, &raw);
	compare("sqlite", &store, &raw, rounds, 1.3);
	raw.close(raw.arg);
	sp_store_done(&store);
}

static void bench_postgres(const char *conninfo, size_t rounds)
{
	struct sp_store store = SP_STORE_INIT;
	struct bench_raw raw = {0};
	struct sp_error err = SP_ERROR_INIT;

	if (bench_postgres_store(conninfo, &store, &err))
		bench_die("postgres", &err);
	bench_postgres_raw(conninfo, &sample, &raw);
	compare("postgres", &store, &raw, rounds, 1.2);
	raw.close(raw.arg);
	sp_store_done(&store);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
	unsigned processes = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 8;
	unsigned upserts = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 5000;
	const char *conninfo = getenv("SANDPROOF_POSTGRES");
	char *dir SP_FREE = NULL, *path SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (sp_tmp_dir("bench-stores-", &dir, &err) || asprintf(&path, "%s/store.db", dir) < 0)
		bench_die("a folder", &err);
	bench_processes(path, processes, upserts);
	bench_sqlite(path, rounds);
	if (conninfo)
		bench_postgres(conninfo, rounds);
	else
		puts("postgres: no server (package postgresql)");
	(void)sp_remove_tree(dir);
	return 0;
}
