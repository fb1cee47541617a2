/* SPDX-License-Identifier: MIT */
#include <cli/skip.h>

#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/clock.h>

#define CLAUSES_CEILING ((size_t)4 << 20)

/* The suites of a selection, each once and in order, and the first case of each. */
static size_t list_suites(const struct sp_selection *selection, const struct sp_suite **suites,
			  const struct sp_case_def **firsts)
{
	size_t n = 0;

	for (size_t i = 0; i < selection->len; i++) {
		if (n && suites[n - 1] == selection->suites[i])
			continue;
		suites[n] = selection->suites[i];
		firsts[n++] = selection->cases[i];
	}
	return n;
}

static int write_run(struct sp_results_writer *writer, const struct sp_run_options *options)
{
	struct sp_buf subjects SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf clauses SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(CLAUSES_CEILING);
	char host[256] = "", digest[65];
	struct sp_result_run run = {
		.schema_version = SP_RESULTS_SCHEMA_VERSION,
		.program_version = (char *)SP_VERSION,
		.suite_version = (char *)SP_REQUIREMENTS_VERSION,
		.requirements_sha256 = digest,
		.capabilities_json = (char *)"{}",
		.host = host,
		.seed = options->seed,
		.start = sp_wall_ms(),
		.jobs = options->jobs,
		.defect = (char *)options->defect,
	};

	sp_run_requirements(options, digest, &clauses);
	run.clauses = (char *)sp_buf_str(&clauses);
	(void)gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < options->n_subjects; i++)
		sp_buf_addf(&subjects, "%s%s=%s", i ? " " : "",
			    sp_subject_kind_name(options->subjects[i].kind),
			    options->subjects[i].shown);
	run.subjects = (char *)sp_buf_str(&subjects);
	return sp_results_write_run(writer, &run);
}

static int write_skip(struct sp_results_writer *writer, const struct sp_run_options *options,
		      const struct sp_suite *suite, const struct sp_case_def *def,
		      const char *reason)
{
	struct sp_result_case result = {
		.id = (char *)def->id,
		.suite = (char *)suite->name,
		.subject = (char *)(options->n_subjects ? options->subjects[0].shown : ""),
		.clause = (char *)def->clause,
		.level = (char *)(def->level == SP_SHOULD ? "SHOULD" : "MUST"),
		.verdict = SP_SKIP,
		.message = (char *)reason,
		.start = sp_wall_ms(),
		.attempt = 1,
		.file = (char *)(def->file ? def->file : ""),
		.line = def->line,
		.tags = (char *)"",
	};

	if (options->listener.case_ended)
		options->listener.case_ended(options->listener.arg, &result);
	return sp_results_write_case(writer, &result);
}

int cli_skip_all(const struct sp_run_options *options, const char *reason,
		 struct sp_result_end *ret_end, struct sp_error *err)
{
	size_t most = options->selection.len + 1;
	const struct sp_suite **suites SP_FREE = calloc(most, sizeof(*suites));
	const struct sp_case_def **firsts SP_FREE = calloc(most, sizeof(*firsts));
	size_t n = suites && firsts ? list_suites(&options->selection, suites, firsts) : 0;
	struct sp_result_end end = { .skipped = n, .exit_code = SP_EXIT_NOTHING_RAN };
	struct sp_results_writer *writer;
	int rc = sp_results_create(options->results_path, &writer, err);

	if (rc)
		return SP_EXIT_HARNESS;
	(void)write_run(writer, options);
	for (size_t i = 0; i < n; i++)
		(void)write_skip(writer, options, suites[i], firsts[i], reason);
	(void)sp_results_write_end(writer, &end);
	rc = sp_results_close(writer);
	*ret_end = end;
	if (!rc)
		return SP_EXIT_NOTHING_RAN;
	(void)sp_error_set_errno(err, -rc, "cannot write the results to %s", options->results_path);
	return SP_EXIT_HARNESS;
}
