/* SPDX-License-Identifier: MIT */
/*
 * The results format: results.ndjson, one object a line, written as it
 * happens and never rewritten. Everything that is reported is made from it,
 * also from a file that was cut off. schema: harness/results/results.schema.json.
 */
#ifndef SP_RESULTS_H
#define SP_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sandproof/error.h>

#define SP_RESULTS_SCHEMA_VERSION 1

/* What became of a case. */
enum sp_verdict {
	SP_PASS = 0,
	/* The subject broke a MUST. */
	SP_FAIL,
	/* The subject broke a SHOULD. */
	SP_WARN,
	/* Not applicable, with a reason. */
	SP_SKIP,
	/* Failed as the baseline says. */
	SP_XFAIL,
	/* Passed although the baseline says it fails. */
	SP_XPASS,
	/* Harness, set-up or budget. */
	SP_ERROR,
	SP_VERDICT_MAX_,
};
/* "pass" and so on. */
const char *sp_verdict_name(enum sp_verdict verdict);
/* Verdict of a name, or -1. */
int sp_verdict_from_name(const char *name);

/* First line of a run. Texts are owned by whoever filled the struct. */
struct sp_result_run {
	int schema_version;
	char *program_version;
	/* Version of the requirement set and SHA-256 (64 hex digits) of its clauses. */
	char *suite_version;
	char *requirements_sha256;
	/* "provider=bash" and so on, redacted, joined by spaces. */
	char *subjects;
	/* Capabilities of the subject as JSON text. */
	char *capabilities_json;
	char *host;
	uint64_t seed;
	/* Wall clock, milliseconds. */
	int64_t start;
	unsigned jobs;
	/* Id of the fault that was applied, or NULL. */
	char *defect;
};

/* One case. */
struct sp_result_case {
	char *id;
	char *suite;
	/* Redacted SPEC. */
	char *subject;
	char *clause;
	/* "MUST" or "SHOULD". */
	char *level;
	enum sp_verdict verdict;
	/* First line of what happened; the reason of a skip. */
	char *message;
	int64_t duration_ms;
	int64_t start;
	int worker;
	int attempt;
	char *file;
	int line;
	/* Joined by spaces. */
	char *tags;
	/* Evidence; NULL unless failed, warned or an error. */
	char *expected;
	char *actual;
	char *dialogue;
	char *rerun;
};

/* Something that was left behind. */
struct sp_result_leak {
	/* Case it is laid to. */
	char *id;
	/* "process", "descriptor", "file", "sandbox", "snapshot", "hold". */
	char *kind;
	char *message;
};

/* Last line of a run that was not cut off. */
struct sp_result_end {
	size_t passed, failed, skipped, warned, errors, leaks, xfailed, xpassed;
	int exit_code;
	int64_t duration_ms;
	/* Commands that the fake ran, 0 where unknown. */
	uint64_t commands;
	bool interrupted;
};

/* How many cases ran to a verdict of their own: neither skipped nor ended by an error. */
static inline size_t sp_result_executed(const struct sp_result_end *end)
{
	return end->passed + end->warned + end->failed + end->xfailed + end->xpassed;
}

/* ---- Writing ---- */

struct sp_results_writer;
/* Opens `path` for writing (truncates); every line is one write. */
int sp_results_create(const char *path, struct sp_results_writer **ret_writer, struct sp_error *err);
int sp_results_write_run(struct sp_results_writer *writer, const struct sp_result_run *run);
int sp_results_write_case(struct sp_results_writer *writer, const struct sp_result_case *result);
int sp_results_write_leak(struct sp_results_writer *writer, const struct sp_result_leak *leak);
int sp_results_write_end(struct sp_results_writer *writer, const struct sp_result_end *end);
/* Closes; NULL is fine. Returns 0 or -errno of the first failed write (a full disk). */
int sp_results_close(struct sp_results_writer *writer);

/* ---- Reading ---- */

/* A whole file in memory. */
struct sp_results {
	struct sp_result_run run;
	struct sp_result_case *cases;
	size_t n_cases;
	struct sp_result_leak *leaks;
	size_t n_leaks;
	struct sp_result_end end;
	/* False for a file that was cut off: `end` is then counted from the cases. */
	bool complete;
};
/* Validates each line; a last line without its newline is dropped. SP_PROTOCOL names the line. */
int sp_results_read(const char *path, struct sp_results *ret_results, struct sp_error *err);
void sp_results_done(struct sp_results *results);

#endif
