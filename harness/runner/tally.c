/* SPDX-License-Identifier: MIT */
#include "tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>

#include "baseline.h"
#include "evidence.h"
#include "wire.h"

/* Far above what a worker may send. */
#define TEXT_MAX (512 * 1024)
#define TEXT_CEILING (4UL * 1024 * 1024)

/* The attempts at one case. */
struct attempts {
	unsigned done;
	unsigned not_passed;
	/* The worst one so far, its texts owned; `attempt` is 0 before the first. */
	struct sp_result_case worst;
};

struct sp_tally {
	const struct sp_run_options *options;
	unsigned jobs;
	struct sp_results_writer *writer;
	struct sp_redact *redact;
	struct attempts *attempts;
	struct sp_result_end end;
	uint64_t begun;
	int64_t start;
	char *capabilities;
	bool run_written;
	/* Results of no case: lines about the list of known failures, the wrong pair. */
	size_t n_problems;
	/* enum sp_pairing, of all subjects. */
	unsigned pairing;
	/* Something went wrong that belongs to no case. */
	bool fault;
	/* The first error's message, for the exit code's reason. */
	char first_error[SP_ERROR_TEXT];
};

int sp_tally_open(const struct sp_run_options *options, unsigned jobs,
		   struct sp_tally **ret_tally, struct sp_error *err)
{
	struct sp_tally *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return sp_error_set(err, SP_INTERNAL, "no memory for the results");
	r->options = options;
	r->jobs = jobs;
	r->begun = sp_now();
	r->start = sp_wall_ms();
	r->attempts = calloc(options->selection.len + 1, sizeof(*r->attempts));
	r->redact = sp_redact_new();
	for (const char *const *at = options->secrets; r->redact && at && *at; at++)
		sp_redact_add(r->redact, *at);
	rc = r->attempts && r->redact ? sp_results_create(options->results_path, &r->writer, err) :
					sp_error_set(err, SP_INTERNAL, "no memory for the results");
	if (!rc) {
		*ret_tally = r;
		return 0;
	}
	free(r->attempts);
	sp_redact_free(r->redact);
	free(r);
	return rc;
}

void sp_tally_secret(struct sp_tally *r, const char *secret)
{
	sp_redact_add(r->redact, secret);
}

void sp_tally_capabilities(struct sp_tally *r, const char *json)
{
	if (!r->capabilities && json)
		r->capabilities = strdup(json);
}

/* ---- the first line ---- */

static void write_run(struct sp_tally *r)
{
	const struct sp_run_options *o = r->options;
	struct sp_buf subjects SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf clauses SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_result_run run = { .schema_version = SP_RESULTS_SCHEMA_VERSION };
	char digest[65] = "", host[65] = "";

	if (r->run_written)
		return;
	r->run_written = true;
	for (size_t i = 0; i < o->n_subjects; i++)
		sp_buf_addf(&subjects, "%s%s=%s", i ? " " : "",
			    sp_subject_kind_name(o->subjects[i].kind), o->subjects[i].shown);
	sp_run_requirements(o, digest, &clauses);
	gethostname(host, sizeof(host) - 1);
	run.program_version = (char *)SP_VERSION;
	run.suite_version = (char *)SP_REQUIREMENTS_VERSION;
	run.requirements_sha256 = digest;
	run.subjects = (char *)sp_buf_str(&subjects);
	run.capabilities_json = r->capabilities;
	run.host = host;
	run.seed = o->seed;
	run.start = r->start;
	run.jobs = r->jobs;
	run.defect = (char *)o->defect;
	run.clauses = (char *)sp_buf_str(&clauses);
	(void)sp_results_write_run(r->writer, &run);
}

/* ---- cases ---- */

/* How bad a verdict is among the attempts at one case. */
static int badness(enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_FAIL:
		return 5;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		return 4;
	case SP_XPASS:
		return 3;
	case SP_WARN:
		return 2;
	case SP_XFAIL:
	case SP_SKIP:
		return 1;
	case SP_PASS:
		return 0;
	}
	return 4;
}

static char *redacted(struct sp_tally *r, const char *text)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);

	if (!text)
		return NULL;
	sp_show_plain(&out, r->redact, text, TEXT_MAX);
	return sp_buf_take(&out, NULL);
}

static void free_texts(struct sp_result_case *result)
{
	free(result->message);
	free(result->expected);
	free(result->actual);
	free(result->dialogue);
	free(result->file);
}

/* Keeps a copy of the attempt if it is worse than what there was. */
static void keep_worst(struct sp_tally *r, struct attempts *a, const struct sp_result_case *attempt)
{
	bool evidence = attempt->verdict != SP_PASS && attempt->verdict != SP_SKIP;

	if (a->worst.attempt && badness(attempt->verdict) <= badness(a->worst.verdict)) {
		a->worst.duration_ms += attempt->duration_ms;
		return;
	}
	free_texts(&a->worst);
	a->worst = (struct sp_result_case){
		.verdict = attempt->verdict,
		.duration_ms = a->worst.duration_ms + attempt->duration_ms,
		.start = a->worst.attempt ? a->worst.start : attempt->start,
		.worker = attempt->worker,
		.attempt = (int)a->done,
		.line = attempt->line,
		.file = redacted(r, attempt->file),
		.message = redacted(r, attempt->message),
	};
	if (!evidence)
		return;
	a->worst.expected = redacted(r, attempt->expected);
	a->worst.actual = redacted(r, attempt->actual);
	a->worst.dialogue = redacted(r, attempt->dialogue);
}

static void count(struct sp_result_end *end, enum sp_verdict verdict)
{
	switch (verdict) {
	case SP_PASS:
		end->passed++;
		break;
	case SP_WARN:
		end->warned++;
		break;
	case SP_FAIL:
		end->failed++;
		break;
	case SP_SKIP:
		end->skipped++;
		break;
	case SP_XFAIL:
		end->xfailed++;
		break;
	case SP_XPASS:
		end->xpassed++;
		break;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		end->errors++;
		break;
	}
}

static const char *shown_subject(const struct sp_tally *r, enum sp_subject_kind kind)
{
	for (size_t i = 0; i < r->options->n_subjects; i++)
		if (r->options->subjects[i].kind == kind)
			return r->options->subjects[i].shown;
	return "";
}

static void write_case(struct sp_tally *r, struct sp_result_case *result)
{
	count(&r->end, result->verdict);
	if (result->verdict == SP_ERROR && !r->first_error[0])
		snprintf(r->first_error, sizeof(r->first_error), "%s: %s", result->id,
			 result->message);
	write_run(r);
	(void)sp_results_write_case(r->writer, result);
	if (r->options->listener.case_ended)
		r->options->listener.case_ended(r->options->listener.arg, result);
}

/* Completes the worst attempt by what the case's record says. */
static void emit(struct sp_tally *r, size_t index)
{
	const struct sp_run_options *o = r->options;
	const struct sp_case_def *def = o->selection.cases[index];
	struct attempts *a = &r->attempts[index];
	struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_buf tags SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf rerun SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf judged SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEXT_CEILING);
	struct sp_result_case result = a->worst;

	for (const char *const *tag = def->tags; tag && *tag; tag++)
		sp_buf_addf(&tags, "%s%s", tags.len ? " " : "", *tag);
	sp_buf_adds(&message, result.message ? result.message : "");
	if (a->done > 1 && a->not_passed)
		sp_buf_addf(&message, " (attempt %d of %u; %u did not pass)", result.attempt,
			    a->done, a->not_passed);
	sp_buf_addf(&rerun, "%s --case %s", o->rerun_prefix ? o->rerun_prefix : "sandproof run",
		    def->id);
	result.id = (char *)def->id;
	result.suite = (char *)o->selection.suites[index]->name;
	result.subject = (char *)shown_subject(r, o->selection.suites[index]->subject);
	result.clause = (char *)def->clause;
	result.level = (char *)(def->level == SP_MUST ? "MUST" : "SHOULD");
	result.tags = (char *)sp_buf_str(&tags);
	result.message = (char *)sp_buf_str(&message);
	if (o->baseline)
		result.verdict = sp_baseline_judge(o->baseline, def, result.verdict, result.message,
						   &judged);
	if (judged.len)
		result.message = (char *)sp_buf_str(&judged);
	if (!result.file) {
		result.file = (char *)(def->file ? def->file : "");
		result.line = def->line;
	}
	if (result.verdict != SP_PASS && result.verdict != SP_SKIP)
		result.rerun = (char *)sp_buf_str(&rerun);
	write_case(r, &result);
	free_texts(&a->worst);
	a->worst = (struct sp_result_case){ .attempt = a->worst.attempt };
}

bool sp_tally_attempt(struct sp_tally *r, size_t index, const struct sp_result_case *attempt,
		       bool last)
{
	struct attempts *a = &r->attempts[index];
	unsigned wanted = r->options->repeat ? r->options->repeat : 1;

	a->done++;
	a->not_passed += attempt->verdict != SP_PASS;
	keep_worst(r, a, attempt);
	/* What was skipped once is skipped again. */
	if (!last && attempt->verdict != SP_SKIP && a->done < wanted)
		return true;
	emit(r, index);
	return false;
}

void sp_tally_fault(struct sp_tally *r, const char *message)
{
	char *text SP_FREE = redacted(r, message);

	r->fault = true;
	if (!r->first_error[0] && text)
		snprintf(r->first_error, sizeof(r->first_error), "%s", text);
}

bool sp_tally_failed(const struct sp_tally *r)
{
	return r->end.failed || r->end.errors || r->end.xpassed;
}

void sp_tally_leak(struct sp_tally *r, const char *case_id, const char *kind, const char *message)
{
	char *text SP_FREE = redacted(r, message);
	struct sp_result_leak leak = {
		.id = (char *)case_id,
		.kind = (char *)kind,
		.message = text ? text : (char *)"",
	};

	r->end.leaks++;
	write_run(r);
	(void)sp_results_write_leak(r->writer, &leak);
	if (r->options->listener.leaked)
		r->options->listener.leaked(r->options->listener.arg, &leak);
}

/* ---- the end ---- */

/*
 * What is wrong with the list of known failures whatever its cases did is
 * told as a failure of its own.
 */
static void write_problems(struct sp_tally *r)
{
	size_t n = 0;
	const struct sp_baseline_problem *problems =
		r->options->baseline ? sp_baseline_problems(r->options->baseline, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		char id[48];
		struct sp_result_case result = {
			.id = id,
			.suite = (char *)"baseline",
			.subject = (char *)sp_baseline_path(r->options->baseline),
			.clause = (char *)"list",
			.level = (char *)"MUST",
			.verdict = SP_FAIL,
			.message = (char *)problems[i].message,
			.start = sp_wall_ms(),
			.attempt = 1,
			.file = (char *)sp_baseline_path(r->options->baseline),
			.line = (int)problems[i].line,
			.tags = (char *)"",
		};

		snprintf(id, sizeof(id), "baseline.line-%u", problems[i].line);
		write_case(r, &result);
		r->n_problems++;
	}
}

void sp_tally_pairing(struct sp_tally *r, unsigned bits)
{
	r->pairing |= bits;
}

/* The record of the case that warns of the pair; NULL when it ran, or is unknown. */
static const struct sp_case_def *silent_pairing_case(const struct sp_tally *r,
						     const struct sp_suite **ret_suite)
{
	const struct sp_run_options *o = r->options;

	for (size_t i = 0; o->pairing_case && i < o->selection.len; i++)
		if (!strcmp(o->selection.cases[i]->id, o->pairing_case))
			return NULL;
	for (size_t i = 0; o->pairing_case && i < o->n_suites; i++) {
		const struct sp_suite *suite = *ret_suite = o->suites[i];

		for (size_t k = 0; k < suite->n_cases; k++)
			if (!strcmp(suite->cases[k].id, o->pairing_case))
				return &suite->cases[k];
	}
	return NULL;
}

static void write_pairing(struct sp_tally *r)
{
	const unsigned wrong = SP_PAIRING_STORE_OUTLIVES | SP_PAIRING_LOCK_LOCAL;
	const struct sp_suite *suite = NULL;
	const struct sp_case_def *def = silent_pairing_case(r, &suite);
	struct sp_result_case result = { .verdict = SP_WARN, .attempt = 1, .tags = (char *)"" };

	if (!def || (r->pairing & wrong) != wrong)
		return;
	result.id = (char *)def->id;
	result.suite = (char *)suite->name;
	result.subject = (char *)shown_subject(r, SP_SUBJECT_LOCK);
	result.clause = (char *)def->clause;
	result.level = (char *)(def->level == SP_MUST ? "MUST" : "SHOULD");
	result.message = (char *)"the lock of this run excludes only within one process, while its "
				 "store outlives it or is shared: two processes can make two "
				 "sandboxes for one key; take the store's own lock";
	result.file = (char *)def->file;
	result.line = def->line;
	result.start = sp_wall_ms();
	write_case(r, &result);
	r->n_problems++;
}

static int exit_code(const struct sp_tally *r, int rc, bool interrupted)
{
	const struct sp_run_options *o = r->options;
	const struct sp_result_end *end = &r->end;
	size_t executed = sp_result_executed(end) - r->n_problems;

	if (interrupted)
		return SP_EXIT_INTERRUPTED;
	if (rc || end->errors || r->fault)
		return SP_EXIT_HARNESS;
	if (end->failed || end->xpassed || (o->fail_on_skip && end->skipped) ||
	    executed < o->min_executed)
		return SP_EXIT_FAILED;
	if (end->leaks)
		return SP_EXIT_LEAKED;
	/* Nothing selected at all is an empty shard. */
	if (!executed && end->skipped && !o->gated_skip)
		return SP_EXIT_NOTHING_RAN;
	return SP_EXIT_OK;
}

int sp_tally_close(struct sp_tally *r, int rc, bool interrupted, uint64_t commands,
		    struct sp_result_end *ret_end, struct sp_error *err)
{
	int code, write_error;

	write_problems(r);
	write_pairing(r);
	code = exit_code(r, rc, interrupted);
	if (code == SP_EXIT_HARNESS && !rc)
		sp_error_set(err, SP_INTERNAL, "%s", r->first_error);
	r->end.exit_code = code;
	r->end.duration_ms = (int64_t)((sp_now() - r->begun) / SP_MS);
	r->end.commands = commands;
	r->end.interrupted = interrupted;
	write_run(r);
	(void)sp_results_write_end(r->writer, &r->end);
	write_error = sp_results_close(r->writer);
	if (write_error) {
		sp_error_set_errno(err, -write_error,
				   "the results are not whole: writing %s failed",
				   r->options->results_path);
		if (!interrupted)
			code = SP_EXIT_HARNESS;
		r->end.exit_code = code;
	}
	if (r->options->listener.ended)
		r->options->listener.ended(r->options->listener.arg, &r->end);
	*ret_end = r->end;
	for (size_t i = 0; i < r->options->selection.len; i++)
		free_texts(&r->attempts[i].worst);
	free(r->attempts);
	sp_redact_free(r->redact);
	free(r->capabilities);
	free(r);
	return code;
}
