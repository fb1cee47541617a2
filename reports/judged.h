/* SPDX-License-Identifier: MIT */
/*
 * Which runs of a set are reported, and under which subject. A run with a fault applied shows that
 * cases can fail and says nothing about its subject: it is left out beside runs without one.
 */
#ifndef SP_REPORTS_JUDGED_H
#define SP_REPORTS_JUDGED_H

#include <reports/index.h>
#include <results/results.h>

struct sp_judged {
	const struct sp_results_set *set;
	/* Subjects in order of appearance: "bash", "bash + fault kill-none". */
	struct sp_index subjects;
	/* Owned labels. */
	char **labels;
	size_t n_labels;
	/* True: every run has a fault, and they are reported for want of others. */
	bool faults_only;
};

/* Works it out; SP_INTERNAL without memory. */
int sp_judged_make(const struct sp_results_set *set, struct sp_judged *ret, struct sp_error *err);
void sp_judged_done(struct sp_judged *judged);
/* True when a run is reported. */
bool sp_judged_has(const struct sp_judged *judged, const struct sp_results *run);
/* Number of the subject of a case of a run. */
size_t sp_judged_subject(const struct sp_judged *judged, const struct sp_results *run,
			 const char *subject);
/* What comes after a case's name where there are several subjects: its label; else NULL. */
const char *sp_judged_label(const struct sp_judged *judged, const struct sp_results *run,
			    const char *subject);
/* Suite of the case that a leak is laid to, or "leaks"; `*ret_subject` is that case's subject, or
 * NULL. */
const char *sp_leak_suite(const struct sp_results *run, const struct sp_result_leak *leak,
			  const char **ret_subject);
/* Counts of all reported runs, as if they were one; `interrupted` when one of them is not whole. */
void sp_judged_total(const struct sp_judged *judged, struct sp_result_end *ret);
/* "cut off" or "interrupted" in words, or NULL for a run that is whole. */
const char *sp_run_trouble(const struct sp_results *run);

#endif
