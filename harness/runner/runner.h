/* SPDX-License-Identifier: MIT */
/*
 * The runner: selects cases, runs them in worker processes under a
 * supervisor, and turns what happened into verdicts. It knows no concrete
 * provider, store, fake or suite: all of them come in through the options.
 */
#ifndef SP_RUNNER_H
#define SP_RUNNER_H

#include <sys/types.h>

#include <sandproof/case.h>
#include <results/results.h>

/* Exit codes of `run`, strongest first (design, section 6). */
enum sp_exit_code {
	SP_EXIT_OK = 0,
	SP_EXIT_FAILED = 1,
	SP_EXIT_USAGE = 2,
	SP_EXIT_HARNESS = 3,
	SP_EXIT_NOTHING_RAN = 4,
	SP_EXIT_LEAKED = 5,
	SP_EXIT_INTERRUPTED = 130,
};

/* ---- Selecting ---- */

/* Which cases to take; every list may be empty, which means all. */
struct sp_filter {
	const char *const *suites;
	size_t n_suites;
	/* Globs over ids, aliases and clauses such as "kill:K1" ('*' matches any text). */
	const char *const *cases;
	size_t n_cases;
	const char *const *tags;
	size_t n_tags;
	/* Shard i of n, from 1; n 0 is no sharding. */
	unsigned shard, n_shards;
};

/* Cases selected, in the order of the suites. */
struct sp_selection {
	const struct sp_case_def **cases;
	/* Suite of each case. */
	const struct sp_suite **suites;
	size_t len;
};

/*
 * Selects. SP_INVALID: a suite, glob or tag that matches nothing; the
 * message has the nearest names.
 */
int sp_select(const struct sp_suite *const *suites, size_t n_suites, const struct sp_filter *filter,
	      struct sp_selection *ret_selection, struct sp_error *err);
void sp_selection_done(struct sp_selection *selection);
/*
 * Checks suites before anything of them is used, foreign ones and ours alike: versions, what is
 * required, names and ids that are there twice (SP_INVALID).
 */
int sp_suites_check(const struct sp_suite *const *suites, size_t n_suites, struct sp_error *err);
/* What a word of a filter is about. */
enum sp_topic {
	SP_TOPIC_SUITE = 0,
	SP_TOPIC_CASE,
	SP_TOPIC_TAG,
};
/* Whether a word of a filter takes a case. */
bool sp_topic_fits(enum sp_topic topic, const char *word, const struct sp_suite *suite,
		   const struct sp_case_def *def);
/* sp_nearest() of the names that a topic has in these suites; NULL without memory. */
char *sp_topic_nearest(const struct sp_suite *const *suites, size_t n_suites, enum sp_topic topic,
		       const char *word);

/* How the message of a case begins that its deadline has ended. */
#define SP_MESSAGE_DEADLINE "the deadline of "

/* ---- Running ---- */

/* One subject that was named or taken by default. */
struct sp_run_subject {
	enum sp_subject_kind kind;
	/* SPEC as given; never printed: `shown` is. */
	const char *spec;
	/* Redacted SPEC. */
	const char *shown;
};

/* What the console hears while a run goes on; every entry may be NULL. Called in the supervisor. */
struct sp_run_listener {
	void *arg;
	void (*started)(void *arg, const struct sp_selection *selection, unsigned jobs);
	void (*case_started)(void *arg, const struct sp_case_def *def, int worker);
	void (*case_slow)(void *arg, const struct sp_case_def *def, int worker,
			  uint64_t elapsed_ms);
	void (*case_ended)(void *arg, const struct sp_result_case *result);
	void (*leaked)(void *arg, const struct sp_result_leak *leak);
	/* About ten times a second while something runs. */
	void (*tick)(void *arg);
	void (*ended)(void *arg, const struct sp_result_end *end);
};

/* Lifetime of what a run makes where it outlives the run: sandboxes between this and twice this. */
#define SP_RUN_LIFETIME_S 3600
#define SP_RUN_SNAPSHOT_LIFETIME_S 7200

#define SP_RUN_OPTIONS_VERSION 1

struct sp_baseline;

struct sp_run_options {
	unsigned version;
	struct sp_selection selection;
	/*
	 * The whole requirement set, whatever was selected, so that shards and subjects can be told
	 * to belong together; NULL: the suites of the selection.
	 */
	const struct sp_suite *const *suites;
	size_t n_suites;
	/* Known failures, bound; NULL: none. */
	const struct sp_baseline *baseline;
	const struct sp_run_subject *subjects;
	size_t n_subjects;
	/* Opens a subject inside a worker. */
	sp_subject_open_fn open;
	void *opener;
	/*
	 * Called once in the supervisor before any worker, e.g. to start a fake;
	 * and at the end. May be NULL.
	 */
	int (*prepare)(void *opener, struct sp_error *err);
	void (*finish)(void *opener);
	/*
	 * The unreaped child that is the back end of this run, or -1. Asked
	 * after `prepare`. May be NULL.
	 */
	pid_t (*backend_pid)(void *opener);
	/* Says in `err` what ended and with which last words. Set together with backend_pid. */
	void (*backend_ended)(void *opener, struct sp_error *err);
	/*
	 * Asks that back end for a sign of life, within a bounded time, wherever a case failed or
	 * waits. 0, or a code that says what does not answer: nobody is asked for anything more
	 * then, and `finish` ends it. May be NULL.
	 */
	int (*backend_answers)(void *opener, struct sp_error *err);
	/*
	 * A workspace for one worker in a shared back end (malloc'ed name), or NULL for none.
	 * Called in the supervisor. May be NULL.
	 */
	int (*workspace)(void *opener, int worker, char **ret_workspace, struct sp_error *err);
	/*
	 * Coverage of what is inside a worker besides us (a plugin): writes what was counted.
	 * Called in a worker right before it ends, possibly on another thread than its cases and
	 * after a crash. NULL: none is collected.
	 */
	void (*dump)(void *opener);
	/* Commands that the fake ran so far, 0 where unknown. May be NULL. */
	uint64_t (*commands)(void *opener);

	unsigned jobs;
	unsigned repeat;
	uint64_t seed;
	/* 0: the defaults of the design (10 s local, 180 s live; 2 s; 20). */
	uint64_t case_deadline_ms;
	uint64_t grace_ms;
	unsigned rounds;
	bool fail_fast;
	bool fail_on_skip;
	size_t min_executed;
	/*
	 * Credentials are missing and --gated was given: one named skip a suite
	 * with this text. NULL otherwise.
	 */
	const char *gated_skip;
	/* Live back end: one job. */
	bool live;
	/*
	 * What the back end of the provider holds outlives the run, if nobody removes it: rows of
	 * the ledger are synced, and nothing is made without one. A live one always does.
	 */
	bool outlives;
	const char *results_path;
	/* Start of the command that runs one case again ("sandproof run --provider bash"). */
	const char *rerun_prefix;
	/* Id of an applied fault, or NULL. */
	const char *defect;
	/*
	 * The case that warns of a lock of one process beside a store that outlives it or is
	 * shared. Where it was not selected the run warns in its name. NULL: nobody warns.
	 */
	const char *pairing_case;
	/* Credentials in use: no result holds them in any encoding. Ended by NULL; NULL: none. */
	const char *const *secrets;
	/*
	 * Whether the run may go on: SP_RATE_LIMITED when its budget is used up, with what was used
	 * in `err`. `*ret_refused` is true once something was refused for that reason. The cases
	 * that are left are errors then, of SP_BUDGET_NOT_RUN. May be NULL.
	 */
	int (*budget)(void *arg, bool *ret_refused, struct sp_error *err);
	void *budget_arg;
	struct sp_run_listener listener;
};

/* How the message of a case begins that a used-up budget left out. */
#define SP_BUDGET_NOT_RUN "budget: not run"

#define SP_RUN_OPTIONS_INIT { .version = SP_RUN_OPTIONS_VERSION, .jobs = 1, .repeat = 1 }

/*
 * Runs. Returns an sp_exit_code (never SP_EXIT_USAGE); `err` says why for
 * SP_EXIT_HARNESS. Results are in options->results_path, also after an interrupt.
 */
int sp_run_cases(const struct sp_run_options *options, struct sp_result_end *ret_end,
		 struct sp_error *err);

/* Version of the requirement set; raised with every change of contract or clauses. */
#define SP_REQUIREMENTS_VERSION "1"

/*
 * The requirement set of a run: the SHA-256 of options->suites (else of the selection's), and their
 * clauses as "suite:clause" words, each once, in `clauses`.
 */
struct sp_buf;
void sp_run_requirements(const struct sp_run_options *options, char ret_hex[65],
			 struct sp_buf *clauses);
/* SHA-256 of all requirements of these suites (64 hex digits and a NUL). */
void sp_requirements_digest(const struct sp_suite *const *suites, size_t n_suites,
			    char ret_hex[65]);

#endif
