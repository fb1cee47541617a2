/* SPDX-License-Identifier: MIT */
#include <reports/judged.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/* malloc'ed, for a run with a fault. */
static char *fault_label(const struct sp_results *run, const char *subject)
{
	char *label = NULL;

	if (asprintf(&label, "%s + fault %s", subject, run->run.defect) < 0)
		return NULL;
	return label;
}

/* Puts a label in; owned ones are kept. */
static bool add_subject(struct sp_judged *j, const struct sp_results *run, const char *subject)
{
	char *label SP_FREE = NULL, **grown;
	bool is_new = false;

	subject = text_or(subject, "unnamed");
	if (!run->run.defect)
		return sp_index_put(&j->subjects, subject, NULL) != SP_INDEX_NONE;
	label = fault_label(run, subject);
	if (!label || sp_index_put(&j->subjects, label, &is_new) == SP_INDEX_NONE)
		return false;
	if (!is_new)
		return true;
	grown = reallocarray(j->labels, j->n_labels + 1, sizeof(*grown));
	if (!grown)
		return false;
	j->labels = grown;
	grown[j->n_labels++] = SP_TAKE(label);
	return true;
}

static bool add_run(struct sp_judged *j, const struct sp_results *run)
{
	const char *last = NULL;

	for (size_t i = 0; i < run->n_cases; i++) {
		const char *subject = run->cases[i].subject;

		/* Equal texts are mostly one text. */
		if (i && subject == last)
			continue;
		if (!add_subject(j, run, subject))
			return false;
		last = subject;
	}
	return true;
}

bool sp_judged_has(const struct sp_judged *judged, const struct sp_results *run)
{
	return judged->faults_only || !run->run.defect;
}

int sp_judged_make(const struct sp_results_set *set, struct sp_judged *ret, struct sp_error *err)
{
	*ret = (struct sp_judged){.set = set, .faults_only = true};
	for (size_t i = 0; i < set->n_runs; i++)
		ret->faults_only &= set->runs[i].run.defect != NULL;
	for (size_t i = 0; i < set->n_runs; i++) {
		if (!sp_judged_has(ret, &set->runs[i]) || add_run(ret, &set->runs[i]))
			continue;
		sp_judged_done(ret);
		return sp_error_set(err, SP_INTERNAL, "no memory for the report");
	}
	return 0;
}

void sp_judged_done(struct sp_judged *judged)
{
	sp_index_done(&judged->subjects);
	for (size_t i = 0; i < judged->n_labels; i++)
		free(judged->labels[i]);
	free(judged->labels);
	judged->labels = NULL;
	judged->n_labels = 0;
}

size_t sp_judged_subject(const struct sp_judged *judged, const struct sp_results *run,
			 const char *subject)
{
	char *label SP_FREE = NULL;
	size_t at;

	subject = text_or(subject, "unnamed");
	if (run->run.defect)
		label = fault_label(run, subject);
	at = sp_index_find(&judged->subjects, label ? label : subject);
	return at == SP_INDEX_NONE ? 0 : at;
}

const char *sp_judged_label(const struct sp_judged *judged, const struct sp_results *run,
			    const char *subject)
{
	if (judged->subjects.len < 2)
		return NULL;
	return judged->subjects.keys[sp_judged_subject(judged, run, subject)];
}

const char *sp_leak_suite(const struct sp_results *run, const struct sp_result_leak *leak,
			  const char **ret_subject)
{
	*ret_subject = NULL;
	for (size_t i = 0; leak->id && i < run->n_cases; i++) {
		const struct sp_result_case *c = &run->cases[i];

		if (!c->id || strcmp(c->id, leak->id))
			continue;
		*ret_subject = c->subject;
		return text_or(c->suite, "unnamed");
	}
	return "leaks";
}

void sp_judged_total(const struct sp_judged *judged, struct sp_result_end *ret)
{
	*ret = (struct sp_result_end){.passed = 0};
	for (size_t i = 0; i < judged->set->n_runs; i++) {
		const struct sp_results *run = &judged->set->runs[i];
		const struct sp_result_end *end = &run->end;

		if (!sp_judged_has(judged, run))
			continue;
		ret->passed += end->passed;
		ret->failed += end->failed;
		ret->skipped += end->skipped;
		ret->warned += end->warned;
		ret->errors += end->errors;
		ret->leaks += end->leaks;
		ret->xfailed += end->xfailed;
		ret->xpassed += end->xpassed;
		ret->commands += end->commands;
		ret->duration_ms += end->duration_ms;
		ret->interrupted |= sp_run_trouble(run) != NULL;
	}
}

const char *sp_run_trouble(const struct sp_results *run)
{
	if (!run->complete)
		return "the run was cut off: not every case has a result";
	if (run->end.interrupted)
		return "the run was interrupted: not every case has a result";
	return NULL;
}
