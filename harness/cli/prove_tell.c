/* SPDX-License-Identifier: MIT */
/* What `prove` says: a line a defect as they come, the sums, JSON, and rows for reports. */
#include <cli/prove.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <cli/cli.h>
#include <runner/runner.h>

#define OUTPUT_CEILING (16 * 1024 * 1024)
#define ID_COLUMN 11
#define CASES_COLUMN 48
#define EVIDENCE_INDENT 11

/* ---- Lines ---- */

static enum cli_ink ink_of(enum prove_status status)
{
	return status == PROVE_CAUGHT ? CLI_GREEN : status == PROVE_SKIPPED ? CLI_YELLOW : CLI_RED;
}

static void add_line(struct sp_buf *out, const struct cli_style *style,
		     const struct prove_defect *defect)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	size_t start = out->len;

	cli_text_ink(out, style, ink_of(defect->status), prove_status_name(defect->status));
	cli_text_pad(out, start, ID_COLUMN);
	sp_buf_adds(out, defect->fault->id);
	cli_text_pad(out, start, CASES_COLUMN);
	prove_caught_by(defect, &text);
	sp_buf_addf(out, "%s%s%.2f s\n", sp_buf_str(&text), text.len ? "  " : "",
		    (double)defect->ns / SP_SECOND);
	sp_buf_clear(&text);
	prove_evidence(defect, &text);
	if (!text.len)
		return;
	sp_buf_addf(out, "%*s", EVIDENCE_INDENT, "");
	cli_text_safe(out, sp_buf_str(&text));
	sp_buf_addc(out, '\n');
}

void prove_tell(struct prove *prove)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	struct cli_style style = cli_style_of(stdout);

	while (prove->told < prove->n_defects && prove->defects[prove->told].done) {
		if (!prove->args->json)
			add_line(&out, &style, &prove->defects[prove->told]);
		prove->told++;
	}
	if (out.len)
		(void)cli_print(&out);
	fflush(stdout);
}

/* ---- Sums ---- */

/* What is counted of a whole proof. */
struct sums {
	size_t caught, skipped, bad, unhealthy;
	size_t passed, failed, skipped_cases;
	size_t toothless, unplaced;
};

static size_t count_words(const char *words)
{
	size_t n = words && *words;

	for (; words && *words; words++)
		n += *words == ' ';
	return n;
}

static struct sums sum_up(const struct prove *prove, const char *toothless, const char *unplaced)
{
	struct sums sums = { .toothless = count_words(toothless),
			     .unplaced = count_words(unplaced) };

	for (size_t i = 0; i < prove->n_defects; i++) {
		enum prove_status status = prove->defects[i].status;

		sums.caught += status == PROVE_CAUGHT;
		sums.skipped += status == PROVE_SKIPPED;
		sums.bad += !prove_is_good(status);
	}
	for (size_t i = 0; i < prove->n_healthy; i++) {
		const struct prove_healthy *healthy = &prove->healthy[i];

		sums.passed += healthy->end.passed;
		sums.failed += count_words(healthy->failures);
		sums.skipped_cases += healthy->end.skipped;
		sums.unhealthy += healthy->failures || healthy->trouble;
	}
	return sums;
}

static int exit_code(const struct prove *prove, const struct sums *sums)
{
	if (prove->interrupted)
		return SP_EXIT_INTERRUPTED;
	/* Without control some faults cannot be seen: that is what is asked for, and no failure. */
	if (prove->args->no_control)
		return sums->unhealthy ? SP_EXIT_FAILED : SP_EXIT_OK;
	if (sums->bad || sums->unhealthy || sums->toothless || sums->unplaced ||
	    (prove->args->fail_on_skip && sums->skipped))
		return SP_EXIT_FAILED;
	return sums->caught ? SP_EXIT_OK : SP_EXIT_NOTHING_RAN;
}

static void add_healthy(struct sp_buf *out, const struct prove *prove)
{
	for (size_t i = 0; i < prove->n_healthy; i++) {
		const struct prove_healthy *healthy = &prove->healthy[i];

		if (!healthy->failures && !healthy->trouble)
			continue;
		sp_buf_addf(out, "healthy %s fails: %s%s%s\n", prove->stacks[healthy->stack].name,
			    healthy->failures ? healthy->failures : "",
			    healthy->failures && healthy->trouble ? "; " : "",
			    healthy->trouble ? healthy->trouble : "");
	}
}

int prove_summary(struct prove *prove)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	char *toothless SP_FREE = prove->args->defects.len ? strdup("") : prove_toothless();
	size_t entries = 0;
	char *unplaced SP_FREE = cli_defects_unplaced(&entries);
	struct sums sums = sum_up(prove, toothless, unplaced);
	size_t n = prove->n_defects;

	if (prove->interrupted) {
		sp_buf_adds(&out, "interrupted\n");
		(void)cli_print(&out);
		return SP_EXIT_INTERRUPTED;
	}
	add_healthy(&out, prove);
	if (sums.toothless)
		sp_buf_addf(&out, "cases that no fault was made for: %s\n", toothless);
	if (sums.unplaced)
		sp_buf_addf(&out, "known defects that are placed nowhere: %s\n", unplaced);
	sp_buf_addf(&out, "known defects: %zu, %zu placed\n", entries, entries - sums.unplaced);
	sp_buf_addf(&out, "healthy references: %zu passed, %zu failed, %zu skipped\n", sums.passed,
		    sums.failed, sums.skipped_cases);
	sp_buf_addf(&out,
		    "%zu of %zu modelled defects caught%s (%zu.%zu %%), %zu skipped, %.1f s\n",
		    sums.caught, n, prove->args->no_control ? " without control" : "",
		    n ? sums.caught * 100 / n : 0, n ? sums.caught * 1000 / n % 10 : 0,
		    sums.skipped, (double)(sp_now() - prove->begun) / SP_SECOND);
	if (cli_print(&out))
		return SP_EXIT_HARNESS;
	return exit_code(prove, &sums);
}

/* ---- JSON ---- */

static void add_text(struct sp_buf *out, const char *name, const char *text)
{
	sp_buf_addf(out, "\"%s\": ", name);
	sp_buf_add_json(out, text ? text : "", text ? strlen(text) : 0);
}

/* Words joined by spaces as an array. */
static void add_words(struct sp_buf *out, const char *name, const char *words)
{
	sp_buf_addf(out, "\"%s\": [", name);
	for (const char *word = words ? words : ""; *word;) {
		size_t len = strcspn(word, " ");

		sp_buf_adds(out, word == words ? "" : ", ");
		sp_buf_add_json(out, word, len);
		word += len + (word[len] == ' ');
	}
	sp_buf_addc(out, ']');
}

static void add_sources(struct sp_buf *out, const struct sp_fault *fault)
{
	sp_buf_adds(out, "\"sources\": [");
	for (size_t i = 0; fault->sources[i]; i++) {
		sp_buf_adds(out, i ? ", " : "");
		sp_buf_add_json(out, fault->sources[i], strlen(fault->sources[i]));
	}
	sp_buf_addc(out, ']');
}

static void add_defect(struct sp_buf *out, const struct prove_defect *defect)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	char suite[64];

	snprintf(suite, sizeof(suite), "%.*s", (int)strcspn(defect->fault->clause, " "),
		 defect->fault->clause);
	sp_buf_addc(out, '{');
	add_text(out, "id", defect->fault->id);
	sp_buf_adds(out, ", ");
	add_sources(out, defect->fault);
	sp_buf_adds(out, ", ");
	add_text(out, "suite", suite);
	sp_buf_adds(out, ", ");
	add_text(out, "status", prove_status_name(defect->status));
	sp_buf_adds(out, ", ");
	prove_caught_by(defect, &text);
	add_words(out, "caught_by", sp_buf_str(&text));
	sp_buf_clear(&text);
	prove_evidence(defect, &text);
	sp_buf_adds(out, ", ");
	add_text(out, "evidence", sp_buf_str(&text));
	sp_buf_adds(out, ", ");
	add_words(out, "others", defect->others);
	sp_buf_adds(out, ", ");
	add_text(out, "control", defect->cases[defect->n_cases - 1].id);
	sp_buf_addf(out, ", \"duration_ms\": %llu, \"cpu_ms\": %llu}",
		    (unsigned long long)(defect->ns / SP_MS),
		    (unsigned long long)(defect->cpu_ns / SP_MS));
}

static void add_healthy_json(struct sp_buf *out, const struct prove *prove,
			     const struct sums *sums)
{
	sp_buf_addf(out, "\"healthy\": {\"passed\": %zu, \"failed\": %zu, \"skipped\": %zu, "
			 "\"runs\": [",
		    sums->passed, sums->failed, sums->skipped_cases);
	for (size_t i = 0; i < prove->n_healthy; i++) {
		const struct prove_healthy *healthy = &prove->healthy[i];

		sp_buf_adds(out, i ? ",\n  {" : "\n  {");
		add_text(out, "subjects", prove->stacks[healthy->stack].name);
		sp_buf_adds(out, ", ");
		add_text(out, "suite", healthy->suite);
		sp_buf_addf(out, ", \"passed\": %zu, \"skipped\": %zu, ", healthy->end.passed,
			    healthy->end.skipped);
		add_words(out, "failures", healthy->failures);
		sp_buf_adds(out, ", ");
		add_text(out, "trouble", healthy->trouble);
		sp_buf_addc(out, '}');
	}
	sp_buf_adds(out, "]}");
}

int prove_json(struct prove *prove)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	char *toothless SP_FREE = prove->args->defects.len ? strdup("") : prove_toothless();
	size_t entries = 0;
	char *unplaced SP_FREE = cli_defects_unplaced(&entries);
	struct sums sums = sum_up(prove, toothless, unplaced);

	if (prove->interrupted)
		return SP_EXIT_INTERRUPTED;
	sp_buf_addf(&out, "{\"schema_version\": 1, \"known\": %zu, \"modelled\": %zu, "
			  "\"caught\": %zu, \"defects\": [",
		    entries, prove->n_defects, sums.caught);
	for (size_t i = 0; i < prove->n_defects; i++) {
		sp_buf_adds(&out, i ? ",\n" : "\n");
		add_defect(&out, &prove->defects[i]);
	}
	sp_buf_adds(&out, "],\n");
	add_words(&out, "unplaced", unplaced);
	sp_buf_adds(&out, ",\n");
	add_words(&out, "toothless", toothless);
	sp_buf_adds(&out, ",\n");
	add_healthy_json(&out, prove, &sums);
	sp_buf_adds(&out, "}\n");
	if (cli_print(&out))
		return SP_EXIT_HARNESS;
	return exit_code(prove, &sums);
}

/* ---- Rows for reports ---- */

static int write_defect(struct sp_results_writer *writer, const struct prove_defect *defect)
{
	struct sp_buf names SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	struct sp_buf evidence SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	struct sp_result_defect row = { .id = (char *)defect->fault->id };
	char suite[64];

	snprintf(suite, sizeof(suite), "%.*s", (int)strcspn(defect->fault->clause, " "),
		 defect->fault->clause);
	prove_caught_by(defect, &names);
	prove_evidence(defect, &evidence);
	row.suite = suite;
	row.status = defect->status == PROVE_CAUGHT    ? (char *)"caught"
		     : defect->status == PROVE_SKIPPED ? (char *)"skip"
						       : (char *)"green";
	row.caught_by = (char *)sp_buf_str(&names);
	row.evidence = (char *)sp_buf_str(&evidence);
	return sp_results_write_defect(writer, &row);
}

static void fill_run(struct prove *prove, struct sp_result_run *run, char digest[65])
{
	size_t n;
	const struct sp_suite *const *suites = cli_suites(&n);

	sp_requirements_digest(suites, n, digest);
	*run = (struct sp_result_run){
		.schema_version = SP_RESULTS_SCHEMA_VERSION,
		.program_version = (char *)SP_VERSION,
		.suite_version = (char *)SP_REQUIREMENTS_VERSION,
		.requirements_sha256 = digest,
		.subjects = (char *)"",
		.capabilities_json = (char *)"{}",
		.host = (char *)"",
		.start = sp_wall_ms() - (int64_t)((sp_now() - prove->begun) / SP_MS),
		.jobs = prove->jobs,
	};
}

int prove_write_results(struct prove *prove, struct sp_error *err)
{
	struct sp_results_writer *writer = NULL;
	struct sp_result_run run;
	struct sp_result_end end = { .duration_ms =
					     (int64_t)((sp_now() - prove->begun) / SP_MS) };
	char digest[65];
	int rc = sp_results_create(prove->args->results, &writer, err);

	if (rc)
		return rc;
	fill_run(prove, &run, digest);
	rc = sp_results_write_run(writer, &run);
	for (size_t i = 0; i < prove->n_defects; i++)
		rc = rc ? rc : write_defect(writer, &prove->defects[i]);
	rc = rc ? rc : sp_results_write_end(writer, &end);
	if (sp_results_close(writer) || rc)
		return sp_error_set(err, SP_IO, "cannot write %.300s", prove->args->results);
	return 0;
}
