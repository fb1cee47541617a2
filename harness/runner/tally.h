/* SPDX-License-Identifier: MIT */
/*
 * What happened, on its way to the results file and the listener: attempts become one result,
 * everything is redacted once more, counted, and gives the exit code.
 */
#ifndef SP_RUNNER_TALLY_H
#define SP_RUNNER_TALLY_H

#include <runner/runner.h>

struct sp_tally;

/* Opens the results file. `options` outlives the record. */
int sp_tally_open(const struct sp_run_options *options, unsigned jobs,
		   struct sp_tally **ret_tally, struct sp_error *err);

/* A secret that no line may hold from here on. */
void sp_tally_secret(struct sp_tally *tally, const char *secret);
/*
 * The declaration of a subject as JSON text; it belongs to the first line, so the first one counts.
 */
void sp_tally_capabilities(struct sp_tally *tally, const char *json);

/*
 * What a subject that was opened says of its store and lock (enum sp_pairing). Once both are known
 * to be the wrong pair, the run has the warning of options->pairing_case.
 */
void sp_tally_pairing(struct sp_tally *tally, unsigned bits);

/*
 * One attempt at case `index` ended. Only verdict, message, duration_ms,
 * start, worker, file, line, expected, actual and dialogue are looked at;
 * texts stay the caller's. `last`: no other attempt will follow, whatever
 * --repeat says. Returns true when another attempt is due.
 */
bool sp_tally_attempt(struct sp_tally *tally, size_t index, const struct sp_result_case *attempt,
		       bool last);
/* A fault of the run itself, of no case: exit code 3. The first line of it is printed. */
void sp_tally_fault(struct sp_tally *tally, const char *message);
/* True once a case failed or was an error. */
bool sp_tally_failed(const struct sp_tally *tally);
void sp_tally_leak(struct sp_tally *tally, const char *case_id, const char *kind,
		    const char *message);

/*
 * Writes the last line, tells the listener, closes the file, frees the
 * tally; returns the exit code. `rc` and `err`: why the run could not be
 * carried out, or 0. For SP_EXIT_HARNESS `err` says why.
 */
int sp_tally_close(struct sp_tally *tally, int rc, bool interrupted, uint64_t commands,
		    struct sp_result_end *ret_end, struct sp_error *err);

#endif
