/* SPDX-License-Identifier: MIT */
/*
 * Results as a matrix: cases by suite and clause, and for each subject the worst that any of its
 * runs said of a case. What is shown to people is made from it.
 */
#ifndef SP_REPORTS_MODEL_H
#define SP_REPORTS_MODEL_H

#include <reports/index.h>
#include <reports/judged.h>
#include <results/results.h>

/* A case, of whatever subjects. */
struct sp_model_row {
	const char *id, *suite, *clause, *level;
};

/* Neighbouring rows of one clause. */
struct sp_model_clause {
	const char *suite, *clause;
	/* First row, and how many there are: 0 for a clause of the requirement set that no case of
	 * these runs is of. */
	size_t first, n;
};

/* Neighbouring clauses of one suite. */
struct sp_model_suite {
	const char *suite;
	size_t first, n;
};

/* All that is said of a subject. */
struct sp_model_subject {
	const char *label;
	/* By verdict, each case once. */
	size_t counts[SP_VERDICT_MAX_];
	size_t n_cases, leaks;
	/* Sum of its cases' durations. */
	int64_t busy_ms;
	/* The first of its runs. */
	const struct sp_results *run;
};

/* A fault, and what became of it. */
struct sp_model_defect {
	const char *id, *suite;
	/* "caught", "green", "skip". */
	const char *status;
	/* Names joined by spaces; owned by the model when it was worked out. */
	const char *caught_by, *evidence;
};

struct sp_model {
	struct sp_judged judged;
	struct sp_model_subject *subjects;
	size_t n_subjects;
	struct sp_model_row *rows;
	size_t n_rows;
	/* n_rows times n_subjects; NULL: no result. */
	const struct sp_result_case **cells;
	struct sp_model_clause *clauses;
	size_t n_clauses;
	struct sp_model_suite *suites;
	size_t n_suites;
	struct sp_model_defect *defects;
	size_t n_defects;
	struct sp_result_end total;
	/* Runs of different requirement sets. */
	bool mixed;
	/* Private. */
	char **texts;
	size_t n_texts;
};

/* Works it out. The set is borrowed for the model's life. SP_INTERNAL without memory. */
int sp_model_make(const struct sp_results_set *set, struct sp_model *ret, struct sp_error *err);
void sp_model_done(struct sp_model *model);

/* What was said of a case and a subject, or NULL. */
const struct sp_result_case *sp_model_cell(const struct sp_model *model, size_t row,
					   size_t subject);

/* What a run did with a clause. */
enum sp_exercise {
	/* At least one case reached a verdict on the subject. */
	SP_EXERCISED = 0,
	/* All of its cases were skipped. */
	SP_SKIPPED,
	/* No case was skipped for a reason or judged: harness or set-up failed. */
	SP_COULD_NOT,
	/* No case of it was selected. */
	SP_NOT_SELECTED,
	SP_EXERCISE_MAX_,
};
/* "exercised", "skipped", "could-not", "not-selected". */
const char *sp_exercise_name(enum sp_exercise exercise);

/* A clause and a subject. */
struct sp_model_mark {
	enum sp_exercise exercise;
	/* The worst verdict (a skip only where all are), and cases by verdict. */
	enum sp_verdict worst;
	size_t counts[SP_VERDICT_MAX_];
	size_t n;
	/* The case with the worst verdict, or NULL. */
	const struct sp_result_case *witness;
};
struct sp_model_mark sp_model_mark(const struct sp_model *model, size_t clause, size_t subject);

/* How many faults some case caught. */
size_t sp_model_caught(const struct sp_model *model);

/* Order of verdicts by how bad they are; 0 is a pass. */
int sp_verdict_weight(enum sp_verdict verdict);
/* True for what fails a run: fail, xpass, error. */
bool sp_verdict_is_bad(enum sp_verdict verdict);

#endif
