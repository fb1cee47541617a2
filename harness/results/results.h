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
	/* "suite:clause" of the whole requirement set, joined by spaces; NULL in older files. */
	char *clauses;
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

/* What became of one fault whose cases were run to see them fail. */
struct sp_result_defect {
	/* Id of the fault. */
	char *id;
	char *suite;
	/* "caught", "green" (no case saw it), "skip". */
	char *status;
	/* Cases that failed because of it, joined by spaces. */
	char *caught_by;
	/* What the first of them said, or why it was skipped; may be NULL. */
	char *evidence;
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
int sp_results_create(const char *path, struct sp_results_writer **ret_writer,
		      struct sp_error *err);
int sp_results_write_run(struct sp_results_writer *writer, const struct sp_result_run *run);
int sp_results_write_case(struct sp_results_writer *writer, const struct sp_result_case *result);
int sp_results_write_leak(struct sp_results_writer *writer, const struct sp_result_leak *leak);
int sp_results_write_defect(struct sp_results_writer *writer,
			    const struct sp_result_defect *defect);
int sp_results_write_end(struct sp_results_writer *writer, const struct sp_result_end *end);
/* Closes; NULL is fine. Returns 0 or -errno of the first failed write (a full disk). */
int sp_results_close(struct sp_results_writer *writer);

/* ---- Reading ---- */

struct sp_texts;

/* One run in memory. */
struct sp_results {
	struct sp_result_run run;
	struct sp_result_case *cases;
	size_t n_cases;
	struct sp_result_leak *leaks;
	size_t n_leaks;
	struct sp_result_defect *defects;
	size_t n_defects;
	struct sp_result_end end;
	/* False for a run that was cut off: `end` is then counted from the cases. */
	bool complete;
	/* File it was read from, or NULL. */
	const char *source;
	/*
	 * Owner of the texts when it was read alone; NULL: they belong to its set or to the caller.
	 */
	struct sp_texts *texts;
};

/*
 * Reads the last run of a file. Each line is validated; a last line without its newline is
 * dropped. SP_PROTOCOL names the line, or the version of a newer format.
 */
int sp_results_read(const char *path, struct sp_results *ret_results, struct sp_error *err);
/* Frees a run that was read alone. */
void sp_results_done(struct sp_results *results);

/* Any number of runs that are reported together. */
struct sp_results_set {
	struct sp_results *runs;
	size_t n_runs;
	/* Owner of all texts. */
	struct sp_texts *texts;
};
#define SP_RESULTS_SET_INIT { NULL, 0, NULL }

/*
 * Adds all runs of a file: files may be appended to one another, a cut-off one included. Errors as
 * of sp_results_read(), and the set is as it was.
 */
int sp_results_add(struct sp_results_set *set, const char *path, struct sp_error *err);
/*
 * Drops every run from `first` on that is a copy of an earlier one: the same beginning and the same
 * cases, so that nothing counts twice. Returns how many there were.
 */
size_t sp_results_drop_copies(struct sp_results_set *set, size_t first);
/*
 * 0 when all runs were judged by one requirement set; else SP_CONFLICT with the first two files
 * that differ. `err` may be NULL.
 */
int sp_results_same_requirements(const struct sp_results_set *set, struct sp_error *err);
void sp_results_set_done(struct sp_results_set *set);

#endif
