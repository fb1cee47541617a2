/* SPDX-License-Identifier: MIT */
/*
 * Figures as multiples of a bare `bash -c true` in the same run, so that they
 * mean the same on every machine. Nothing here passes or fails: a figure over
 * its aim is printed as such.
 */
#ifndef CI_BENCH_H
#define CI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sandproof/error.h>
#include <sandproof/provider.h>

/* What to measure with. */
struct bench {
	/* The program under test: "build/sandproof". */
	const char *program;
	/* Interleaved rounds of the exec figures. */
	size_t rounds;
	/* Length of the journal that is read, in MiB, and how often. */
	uint64_t journal_mib;
	size_t journal_rounds;
	/* Thousands of files in the snapshots; 10 is what the figures are for. */
	unsigned snapshot_parts;
	/* Median of a bare `bash -c true`, nanoseconds; filled by bench_exec(). */
	uint64_t bare_ns;
};

/* Durations of one thing, in nanoseconds. */
struct bench_series {
	uint64_t *ns;
	size_t len, size;
};

/* Adds a duration; ends the program when memory is short. */
void bench_add(struct bench_series *series, uint64_t ns);
/* The median; 0 of nothing. Sorts the series. */
uint64_t bench_median(struct bench_series *series);
/* The value below which `percent` of them lie; 0 of nothing. Sorts the series. */
double bench_percentile(struct bench_series *series, double percent);
/* Frees the durations. */
void bench_series_done(struct bench_series *series);

/* Prints one figure: a number, its unit, and its aim ("at most"), 0 for none. */
void bench_print(const char *what, double value, const char *unit, double aim);
/* Same with an aim of "at least". */
void bench_print_least(const char *what, double value, const char *unit, double aim);
/* Ends the program with a message. */
void bench_die(const char *what, const struct sp_error *err) __attribute__((noreturn));

/* Starts a program with its output thrown away and waits for it; nanoseconds. */
uint64_t bench_spawn(const char *const *argv);

/* exec through HTTP and the fake without and with the wrapper, and a group kill. */
void bench_exec(struct bench *bench);
/* Calls `fn` with a sandbox of the fake, behind its HTTP API. */
void bench_served(struct bench *bench, void (*fn)(struct bench *bench, struct sp_provider *provider,
						  struct sp_sandbox *sandbox));
/* A long journal read to its exit: over local, then over the fake. */
void bench_journal(struct bench *bench);
/* The second half of it. */
void bench_journal_served(struct bench *bench, struct sp_provider *provider,
			  struct sp_sandbox *sandbox);
/*
 * A whole run: wall time, the count of its commands, peak memory of workers and fake; then `list`.
 */
void bench_run(struct bench *bench);
/*
 * Capture and restore beside `tar`, and what it does to an event stream and to the fake's memory.
 */
void bench_snapshot(struct bench *bench);
/* The fake API server: commands a second on all cores, and memory with a thousand idle streams. */
void bench_server(struct bench *bench);
/* The runner's own cost of a case that does nothing. */
void bench_empty(struct bench *bench);

/* Reports: time and memory for 100,000 results, size and opening of a page of 200 by 10. */
void bench_reports(struct bench *bench);

#endif
