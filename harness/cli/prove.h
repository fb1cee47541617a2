/* SPDX-License-Identifier: MIT */
/*
 * `prove`: every fault against the cases that were made for it. Here is what its files share: what
 * is run where (prove_plan.c), by how many at once (prove_pool.c), what became of it
 * (prove_judge.c) and how it is told (prove_tell.c).
 */
#ifndef SP_CLI_PROVE_H
#define SP_CLI_PROVE_H

#include <base/child.h>
#include <cli/options.h>
#include <cli/registry.h>
#include <cli/text.h>
#include <results/results.h>

/* The options of `prove` as they were given. */
struct prove_args {
	struct cli_list defects, stores;
	bool full, no_control, json, fail_on_skip;
	struct cli_number jobs;
	const char *results;
};

/* One set of subjects on which a fault can be shown. */
struct prove_stack {
	/* As it is told: "provider bash". */
	char *name;
	/* Words after `run`, ended by NULL. */
	const char *words[6];
};

/* A case that a fault is held against. */
struct prove_case {
	const char *id;
	/* Verdict of the last run in which it was not skipped; SP_SKIP until then. */
	enum sp_verdict verdict;
	bool ran;
	/* It has seen the fault. */
	bool caught;
	/* It failed because its deadline passed, not because it saw something. */
	bool by_deadline;
	/* What it said, and what there was instead of what was expected; or NULL. */
	char *message, *actual;
};

enum prove_status {
	/* Every case that was made for it and ran has caught it. */
	PROVE_CAUGHT = 0,
	/* None of its cases could run here. */
	PROVE_SKIPPED,
	/* No case caught it. */
	PROVE_MISSED,
	/* One of its cases caught it, and another that should stayed green. */
	PROVE_PARTLY,
	/* Only a case that was not made for it caught it. */
	PROVE_UNRELATED,
	/* Its cases ended at their deadlines, although a count of rounds could show it. */
	PROVE_DEADLINE,
	/* The control case failed as well: the fault changes more than one behaviour. */
	PROVE_CRUDE,
	/* The run itself did not work. */
	PROVE_TROUBLE,
};

/* One fault and what became of it. */
struct prove_defect {
	const struct sp_fault *fault;
	/* The cases made for it, then the one that must stay green. */
	struct prove_case *cases;
	size_t n_cases;
	/* Cases that failed besides, by --full: joined by spaces, or NULL. */
	char *others;
	/* Indices of its stacks, and the one whose turn it is. */
	unsigned stacks[4], n_stacks, turn;
	/* Why a run did not work, or NULL. */
	char *trouble;
	/* Time of its runs, and processor time of everything in them. */
	uint64_t ns, cpu_ns;
	bool done;
	enum prove_status status;
};

/* The healthy reference on one stack, in one run. */
struct prove_healthy {
	unsigned stack;
	/* Only this suite, or NULL for all. */
	const char *suite;
	/* Only these cases; none: all. Borrowed ids. */
	struct cli_list cases;
	/* Its cases are those that faults were shown by there; it runs when all faults are done. */
	bool late;
	struct sp_result_end end;
	/* Cases that failed, joined by spaces; why the run did not work, or NULL. */
	char *failures;
	char *trouble;
};

struct prove {
	const struct prove_args *args;
	struct prove_stack *stacks;
	size_t n_stacks;
	struct prove_defect *defects;
	size_t n_defects;
	struct prove_healthy *healthy;
	size_t n_healthy;
	unsigned jobs;
	/* Private folder of this command. */
	char *dir;
	/* Environment of the runs: ours, with state and temporary files of its own. */
	const char **env;
	char *state, *tmp;
	/* This program, for children. */
	int self_fd;
	/* Defects up to here were told. */
	size_t told;
	uint64_t begun;
	/* Processor time of all runs. */
	uint64_t cpu_ns;
	bool interrupted;
};

/* ---- What is run where ---- */

/* Fills stacks, defects and healthy runs. SP_INVALID names an unknown fault and its nearest. */
int prove_plan(struct prove *prove, struct sp_error *err);
/* Adds a case to the late healthy run of a stack, where there is one. */
void prove_plan_late(struct prove *prove, unsigned stack, const char *id);
/* True for a fault of which a limit may be what ends a case: one that nothing comes after. */
bool prove_may_wait(const struct prove_defect *defect);
/* Ids of cases that no fault names, joined by spaces; malloc'ed, "" for none, NULL: no memory. */
char *prove_toothless(void);

/* ---- Running ---- */

/* Runs everything. 0, or SP_IO and the like when that could not go on; interrupted is set. */
int prove_pool(struct prove *prove, struct sp_error *err);

/* ---- Judging ---- */

/* Takes the results of a defect's run on its current stack; `trouble` is owned, or NULL. */
void prove_take(struct prove *prove, struct prove_defect *defect, const struct sp_results *results,
		char *trouble);
/* True when the errors of a run, which make it exit 3, all say that the platform has changed. */
bool prove_is_platform_change(const struct sp_results *results);
/* True when one of its cases still has to be tried on the next stack. */
bool prove_goes_on(const struct prove_defect *defect);
/* Decides what became of it. */
void prove_judge(const struct prove *prove, struct prove_defect *defect);
/* Takes the results of a healthy run. */
void prove_take_healthy(struct prove_healthy *healthy, const struct sp_results *results,
			char *trouble);
/* True when the status is one that proves. */
bool prove_is_good(enum prove_status status);
/* "caught" and so on. */
const char *prove_status_name(enum prove_status status);
/* The line that shows how it was seen, or why not; appended to `out`. */
void prove_evidence(const struct prove_defect *defect, struct sp_buf *out);
/* Ids of the cases that caught it, joined by spaces. */
void prove_caught_by(const struct prove_defect *defect, struct sp_buf *out);

/* ---- Telling ---- */

/* Tells the defects that are done, in their order, as far as there are no gaps. */
void prove_tell(struct prove *prove);
/* Tells the rest; returns the exit code. */
int prove_summary(struct prove *prove);
/* Writes the JSON document instead; returns the exit code. */
int prove_json(struct prove *prove);
/* Writes rows for reports to args->results. */
int prove_write_results(struct prove *prove, struct sp_error *err);

#endif
