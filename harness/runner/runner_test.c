/* SPDX-License-Identifier: MIT */
/* Whole runs of a stub suite: each starts the helper program and reads what it left. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <runner/runner.h>

#include "procs.h"

#define HELPER SP_TEST_BIN_DIR "/sp_runner_runner_stub_helper"
/* A test that waits longer is hung. */
#define LIMIT_MS 60000
#define MAX_ARGS 32

/* One run: its private folders and what it said. */
struct run {
	char *dir;
	char state[256], xdg[256], tmp[256], results_path[256];
	/* Further "K=V", or NULL. */
	const char *env;
	struct sp_child child;
	char *out;
	size_t out_len, out_size;
	struct sp_results results;
	bool have_results;
	struct sp_error read_error;
};

static struct run open_run(void)
{
	struct run run = { .child = SP_CHILD_INIT };
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("runner-test-", &run.dir, &err), 0, "%s", err.message);
	snprintf(run.state, sizeof(run.state), "%s/state", run.dir);
	snprintf(run.xdg, sizeof(run.xdg), "%s/xdg", run.dir);
	snprintf(run.tmp, sizeof(run.tmp), "%s/tmp", run.dir);
	snprintf(run.results_path, sizeof(run.results_path), "%s/results.ndjson", run.dir);
	mkdir(run.state, 0700);
	mkdir(run.tmp, 0700);
	return run;
}

static void close_run(struct run *run)
{
	sp_child_done(&run->child);
	if (run->have_results)
		sp_results_done(&run->results);
	sp_remove_tree(run->dir);
	free(run->dir);
	free(run->out);
}

/* Starts the helper with words that are separated by blanks. */
static void start(struct run *run, const char *words)
{
	char state[300], xdg[300], tmp[300];
	char *copy SP_FREE = strdup(words);
	char *rest = copy, *word;
	const char *argv[MAX_ARGS] = { HELPER, "--results", run->results_path };
	/* A sanitizer must leave a crash a crash. */
	const char *env[] = { state, xdg, tmp, "PATH=/usr/bin:/bin", "ASAN_OPTIONS=handle_segv=0",
			      run->env, NULL };
	struct sp_error err = SP_ERROR_INIT;
	size_t n = 3;

	snprintf(state, sizeof(state), "STUB_STATE=%s", run->state);
	snprintf(xdg, sizeof(xdg), "XDG_STATE_HOME=%s", run->xdg);
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", run->tmp);
	while ((word = strsep(&rest, " ")) && n < MAX_ARGS - 1)
		if (*word)
			argv[n++] = word;
	run->child.argv = argv;
	run->child.env = env;
	run->child.out = SP_CHILD_PIPE;
	run->child.err = dup(STDERR_FILENO);
	cr_assert_eq(sp_child_start(&run->child, &err), 0, "%s", err.message);
}

/* Reads what the helper prints; false at the end of it. */
static bool read_more(struct run *run)
{
	ssize_t n;

	if (run->out_size - run->out_len < 4096) {
		run->out_size += 65536;
		run->out = realloc(run->out, run->out_size);
	}
	n = read(run->child.out, run->out + run->out_len, run->out_size - run->out_len - 1);
	if (n > 0)
		run->out_len += (size_t)n;
	run->out[run->out_len] = '\0';
	return n > 0;
}

static void await_line(struct run *run, const char *line)
{
	while (!run->out || !strstr(run->out, line))
		cr_assert(read_more(run), "the helper ended without \"%s\"", line);
}

/* Waits for the end; its exit code. */
static int finish(struct run *run)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	while (read_more(run))
		;
	sp_cancel_set_deadline(cancel, sp_deadline_ms(LIMIT_MS));
	rc = sp_child_wait(&run->child, cancel, &err);
	sp_cancel_unref(cancel);
	cr_assert_eq(rc, 0, "%s", err.message);
	run->have_results = !sp_results_read(run->results_path, &run->results, &run->read_error);
	return run->child.code;
}

static int run_words(struct run *run, const char *words)
{
	start(run, words);
	return finish(run);
}

static const struct sp_result_case *find_case(const struct run *run, const char *id)
{
	for (size_t i = 0; run->have_results && i < run->results.n_cases; i++)
		if (!strcmp(run->results.cases[i].id, id))
			return &run->results.cases[i];
	return NULL;
}

/* Entries of a folder that begin so. */
static size_t entries(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix));
	if (dir)
		closedir(dir);
	return n;
}

/* Nothing may be left: no sandbox, no ledger, no temporary file. */
static void expect_clean(const struct run *run, const char *what)
{
	char ledger[300];

	snprintf(ledger, sizeof(ledger), "%s/sandproof", run->xdg);
	cr_expect_eq(entries(run->state, "sbx-"), 0, "%s: sandboxes are left", what);
	cr_expect_eq(entries(ledger, ""), 0, "%s: a ledger is left", what);
	cr_expect_eq(entries(run->tmp, ""), 0, "%s: temporary files are left", what);
}

/* ---- verdicts ---- */

static const struct {
	const char *id;
	const char *words;
	const char *env;
	enum sp_verdict verdict;
	int code;
	/* In the message. */
	const char *message;
	/* In expected, actual and dialogue; NULL: not looked at. */
	const char *expected, *actual, *dialogue;
} verdicts[] = {
	{ "stub.verdict.pass", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.verdict.fail", "", NULL, SP_FAIL, 1, "one is two", "1", "2",
	  "before the failure\n" },
	{ "stub.verdict.fail", "", NULL, SP_FAIL, 1, "one is two", "1", "2",
	  "also fail at harness/runner/runner_stub_helper.c" },
	{ "stub.verdict.fail-bytes", "", NULL, SP_FAIL, 1, "bytes are equal",
	  "7 bytes, \"abc\\x00def\"", "first difference at byte 5, \"abc\\x00dxf\"", NULL },
	{ "stub.verdict.fail-code", "", NULL, SP_FAIL, 1, "the code is right", "not-found",
	  "gone: it went away", NULL },
	{ "stub.verdict.warn", "", NULL, SP_WARN, 0, "one is two", "1", "2", NULL },
	{ "stub.verdict.skip", "", NULL, SP_SKIP, 4, "needs the moon", NULL, NULL, NULL },
	{ "stub.verdict.error", "", NULL, SP_ERROR, 3, "the set-up broke", NULL, NULL, NULL },
	{ "stub.verdict.no-check", "", NULL, SP_ERROR, 3, "reached no check", NULL, NULL, NULL },
	{ "stub.need.control", "", NULL, SP_SKIP, 4, "needs control: this back end has none", NULL,
	  NULL, NULL },
	{ "stub.need.control", "--control", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.need.undeclared-control", "", NULL, SP_ERROR, 3, "does not declare SP_NEED_CONTROL",
	  NULL, NULL, "holds: it answers all the same" },
	{ "stub.need.tree", "", NULL, SP_SKIP, 4, "kill_reach is group, the case needs tree", NULL,
	  NULL, NULL },
	{ "stub.need.stdin", "", NULL, SP_SKIP, 4,
	  "needs stdin: writable_stdin is declared false", NULL, NULL, NULL },
	{ "stub.need.no-kill", "", NULL, SP_SKIP, 4,
	  "needs a refusal of kill: killable_processes is declared true", NULL, NULL, NULL },
	{ "stub.need.tool", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.need.missing-tool", "", NULL, SP_SKIP, 4, "needs python9", NULL, NULL, NULL },
	{ "stub.need.no-sandbox", "", NULL, SP_ERROR, 3, "SP_NEED_NO_SANDBOX", NULL, NULL, NULL },
	{ "stub.crash.segv", "", NULL, SP_ERROR, 3,
	  "the worker ended by SIGSEGV in the case's own code", NULL, NULL, "dying now" },
	{ "stub.crash.segv-inside", "", NULL, SP_ERROR, 3,
	  "the worker ended by SIGSEGV inside sandbox.exec", NULL, NULL, NULL },
	{ "stub.crash.segv-inside", "", "STUB_PLUGIN=1", SP_FAIL, 1,
	  "the worker ended by SIGSEGV inside sandbox.exec", NULL, NULL, NULL },
	{ "stub.crash.segv", "", "STUB_PLUGIN=1", SP_ERROR, 3,
	  "the worker ended by SIGSEGV in the case's own code", NULL, NULL, NULL },
	{ "stub.crash.exit", "", NULL, SP_ERROR, 3, "the worker ended by exit code 7", NULL, NULL,
	  NULL },
	{ "stub.hang.outside", "--deadline 300", NULL, SP_ERROR, 3,
	  "the deadline of 300 ms passed in the case's own code", NULL, NULL, NULL },
	{ "stub.hang.inside", "--deadline 300", NULL, SP_FAIL, 1,
	  "the deadline of 300 ms passed inside sandbox.exec", "the call returns",
	  "it did not return", "about to hang" },
	{ "stub.hang.pending", "", NULL, SP_ERROR, 3,
	  "the case returned while its call of sandbox.exec had not", NULL, NULL, NULL },
	{ "stub.context.cancel", "--deadline 500", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.context.second", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.context.reopen", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.peer.talks", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.peer.left", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.peer.undeclared", "", NULL, SP_ERROR, 3, "does not declare SP_NEED_PEER", NULL,
	  NULL, NULL },
	{ "stub.context.unique", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.context.flaky", "--repeat 3", NULL, SP_FAIL, 1,
	  "not the second time (attempt 2 of 3; 1 did not pass)", NULL, NULL, NULL },
	{ "stub.verdict.pass", "--repeat 3", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.own.careless", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
	{ "stub.own.fresh", "", NULL, SP_PASS, 0, "", NULL, NULL, NULL },
};

static bool holds(const char *text, const char *part)
{
	return !part || (text && strstr(text, part));
}

Test(runner, verdicts, .timeout = 300)
{
	for (size_t i = 0; i < SP_COUNT(verdicts); i++) {
		struct run run = open_run();
		const struct sp_result_case *c;
		char words[256];
		int code;

		run.env = verdicts[i].env;
		snprintf(words, sizeof(words), "--case %s --grace 100 %s", verdicts[i].id,
			 verdicts[i].words);
		code = run_words(&run, words);
		c = find_case(&run, verdicts[i].id);
		cr_expect_eq(code, verdicts[i].code, "%s: exit %d, expected %d", words, code,
			     verdicts[i].code);
		cr_expect(c && run.results.n_cases == 1, "%s: one result", words);
		if (c) {
			cr_expect_eq(c->verdict, verdicts[i].verdict, "%s: %s, expected %s", words,
				     sp_verdict_name(c->verdict),
				     sp_verdict_name(verdicts[i].verdict));
			cr_expect(holds(c->message, verdicts[i].message), "%s: message \"%s\"",
				  words, c->message);
			cr_expect(holds(c->expected, verdicts[i].expected), "%s: expected \"%s\"",
				  words, c->expected ? c->expected : "");
			cr_expect(holds(c->actual, verdicts[i].actual), "%s: actual \"%s\"", words,
				  c->actual ? c->actual : "");
			cr_expect(holds(c->dialogue, verdicts[i].dialogue), "%s: dialogue \"%s\"",
				  words, c->dialogue ? c->dialogue : "");
		}
		cr_expect(run.have_results && run.results.complete, "%s: %s", words,
			  run.read_error.message);
		expect_clean(&run, words);
		close_run(&run);
	}
}

Test(runner, failure_has_its_evidence)
{
	struct run run = open_run();
	const struct sp_result_case *c;

	run_words(&run,
		  "--case stub.verdict.fail --case stub.verdict.pass --seed 18446744073709551615");
	c = find_case(&run, "stub.verdict.fail");
	cr_assert(c, "there is a result");
	cr_expect_str_eq(c->rerun, "stub run --case stub.verdict.fail");
	cr_expect_str_eq(c->clause, "S1");
	cr_expect_str_eq(c->level, "MUST");
	cr_expect_str_eq(c->subject, "stub");
	cr_expect_str_eq(c->file, "harness/runner/runner_stub_helper.c");
	cr_expect_gt(c->line, 0);
	cr_expect_eq(run.results.run.seed, UINT64_MAX, "all digits of the seed are kept");
	cr_expect_eq(strlen(run.results.run.requirements_sha256), 64);
	cr_expect(holds(run.results.run.capabilities_json, "\"kill_reach\":\"group\""), "%s",
		  run.results.run.capabilities_json);
	c = find_case(&run, "stub.verdict.pass");
	cr_expect(c && !c->dialogue && !c->rerun, "a pass has no evidence");
	cr_expect_str_eq(c->tags, "quick basic");
	close_run(&run);
}

/* ---- secrets ---- */

static void expect_no_secret(const struct run *run)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_read_file(run->results_path, 1 << 20, &bytes, &err), 0, "%s", err.message);
	cr_expect(!memmem(bytes.data, bytes.len, "hunter2", 7), "plain: %s", bytes.data);
	cr_expect(!memmem(bytes.data, bytes.len, "aHVudGVy", 8), "base64: %s", bytes.data);
	cr_expect(memmem(bytes.data, bytes.len, "[redacted]", 10), "it says so: %s", bytes.data);
	sp_bytes_done(&bytes);
}

Test(runner, secrets_are_in_no_result)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--case stub.context.secret"), 1);
	expect_no_secret(&run);
	close_run(&run);
}

Test(runner, secrets_are_in_no_result_of_a_crash)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--case stub.crash.secret"), 3);
	expect_no_secret(&run);
	close_run(&run);
}

/* ---- leaks ---- */

static const struct {
	const char *id;
	/* NULL: none. */
	const char *kind;
	const char *message;
} leaks[] = {
	{ "stub.leak.orphan", "process", "sleep 1000" },
	{ "stub.leak.child", "process", "sleep 1000" },
	{ "stub.leak.descriptor", "descriptor", "1 descriptor is still open" },
	{ "stub.leak.cache", NULL, NULL },
	{ "stub.leak.file", "file", "forgotten is left" },
	{ "stub.leak.sandbox", "sandbox", "sandbox orphan is still running" },
	{ "stub.leak.process-inside", "process", "has 1 processes" },
	{ "stub.leak.file-inside", "file", "./left is left" },
	{ "stub.leak.bookkeeping", NULL, NULL },
	{ "stub.leak.hold", "hold", "1 holds" },
	{ "stub.leak.snapshot", "snapshot", "1 snapshots" },
};

Test(runner, leaks_are_laid_to_their_case, .timeout = 300)
{
	for (size_t i = 0; i < SP_COUNT(leaks); i++) {
		struct run run = open_run();
		char words[256];
		int code;

		/* A case before and one after, which must not be blamed. */
		snprintf(words, sizeof(words),
			 "--control --deadline 2000 --case stub.verdict.pass --case %s "
			 "--case stub.own.fresh --case stub.context.unique",
			 leaks[i].id);
		code = run_words(&run, words);
		cr_expect_eq(code, leaks[i].kind ? 5 : 0, "%s: exit %d", leaks[i].id, code);
		cr_assert(run.have_results, "%s: %s", leaks[i].id, run.read_error.message);
		cr_expect_eq(run.results.n_leaks, leaks[i].kind ? 1 : 0, "%s: %zu leaks",
			     leaks[i].id, run.results.n_leaks);
		for (size_t k = 0; k < run.results.n_leaks; k++) {
			const struct sp_result_leak *leak = &run.results.leaks[k];

			cr_expect_str_eq(leak->id, leaks[i].id);
			cr_expect_str_eq(leak->kind, leaks[i].kind ? leaks[i].kind : "none", "%s",
					 leak->message);
			cr_expect(holds(leak->message, leaks[i].message), "%s", leak->message);
		}
		cr_expect_eq(run.results.end.passed, 4, "%s: the verdicts stand", leaks[i].id);
		expect_clean(&run, leaks[i].id);
		close_run(&run);
	}
}

/* The same cache used case after case is no leak, and a real leak beside it is still found. */
Test(runner, caches_do_not_hide_a_leak)
{
	struct run run = open_run();
	int code = run_words(&run, "--case stub.leak.cache --case stub.leak.descriptor "
				   "--case stub.verdict.pass --repeat 2");

	cr_expect_eq(code, 5, "exit %d", code);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_expect_geq(run.results.n_leaks, 1);
	for (size_t i = 0; i < run.results.n_leaks; i++)
		cr_expect_str_eq(run.results.leaks[i].id, "stub.leak.descriptor");
	close_run(&run);
}

Test(runner, a_sandbox_that_cannot_be_removed_is_one_leak_and_stays_in_the_ledger)
{
	struct run run = open_run();
	char ledger[300];
	int code = run_words(&run, "--case stub.own.stuck --case stub.own.fresh");

	cr_expect_eq(code, 5, "exit %d", code);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_assert_eq(run.results.n_leaks, 1, "%zu leaks", run.results.n_leaks);
	cr_expect_str_eq(run.results.leaks[0].id, "stub.own.stuck");
	snprintf(ledger, sizeof(ledger), "%s/sandproof", run.xdg);
	cr_expect_eq(entries(ledger, "run-"), 1, "the ledger is kept for `sweep`");
	close_run(&run);
}

/* ---- exit codes ---- */

static const struct {
	const char *words;
	int code;
} exit_codes[] = {
	{ "--case stub.verdict.pass", 0 },
	{ "--case stub.verdict.pass --case stub.verdict.skip", 0 },
	{ "--case stub.verdict.skip", 4 },
	{ "--case stub.verdict.skip --case stub.need.tree", 4 },
	{ "--case stub.verdict.skip --fail-on-skip", 1 },
	{ "--case stub.verdict.pass --case stub.verdict.skip --fail-on-skip", 1 },
	{ "--case stub.verdict.pass --min 1", 0 },
	{ "--case stub.verdict.pass --min 2", 1 },
	{ "--case stub.verdict.pass --case stub.verdict.skip --min 2", 1 },
	{ "--case stub.verdict.pass --case stub.verdict.fail", 1 },
	{ "--case stub.verdict.error --case stub.verdict.fail", 3 },
	{ "--case stub.leak.file --case stub.verdict.pass", 5 },
	{ "--case stub.leak.file --case stub.verdict.fail", 1 },
	{ "--case stub.leak.file --case stub.verdict.skip", 5 },
	{ "--case stub.verdict.pass --no-open", 3 },
	{ "--case stub.verdict.pass --gated KEY-is-not-set", 0 },
	{ "--case stub.verdict.pass --gated KEY-is-not-set --fail-on-skip", 1 },
	{ "--case stub.nothing", 2 },
};

Test(runner, exit_codes, .timeout = 300)
{
	for (size_t i = 0; i < SP_COUNT(exit_codes); i++) {
		struct run run = open_run();
		int code = run_words(&run, exit_codes[i].words);

		cr_expect_eq(code, exit_codes[i].code, "%s: exit %d, expected %d",
			     exit_codes[i].words, code, exit_codes[i].code);
		if (run.have_results)
			cr_expect_eq(run.results.end.exit_code, code, "%s: the file says %d",
				     exit_codes[i].words, run.results.end.exit_code);
		expect_clean(&run, exit_codes[i].words);
		close_run(&run);
	}
}

Test(runner, a_subject_that_cannot_be_opened_is_asked_for_once)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--no-open --jobs 2 --case empty.*"), 3);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_expect_eq(run.results.n_cases, 100);
	cr_expect_eq(run.results.end.errors, 1, "one error, not %zu", run.results.end.errors);
	cr_expect_eq(run.results.end.skipped, 99, "%zu skipped", run.results.end.skipped);
	for (size_t i = 0; i < run.results.n_cases; i++) {
		const struct sp_result_case *result = &run.results.cases[i];
		const char *says = result->verdict == SP_ERROR ? "the provider" :
								 "not run: the provider";

		cr_expect(!strncmp(result->message, says, strlen(says)) &&
				  holds(result->message, " stub cannot be opened: denied: the stub "
							 "is closed today"),
			  "%s", result->message);
	}
	expect_clean(&run, "no subject");
	close_run(&run);
}

Test(runner, gated_is_one_named_skip_a_suite_and_touches_nothing)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--gated KEY-is-not-set"), 0);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_expect_eq(run.results.n_cases, 2, "%zu results", run.results.n_cases);
	cr_expect_str_eq(run.results.cases[0].message, "KEY-is-not-set");
	cr_expect_eq(entries(run.state, "prepared"), 0, "no back end was started");
	close_run(&run);
}

Test(runner, fail_fast_begins_nothing_more)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--fail-fast --case stub.verdict.fail --case empty.*"), 1);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_expect_eq(run.results.n_cases, 1, "%zu results", run.results.n_cases);
	close_run(&run);
}

Test(runner, a_seed_gives_one_order_and_another_seed_another)
{
	static const char *const words[] = { "--case empty.* --seed 7", "--case empty.* --seed 7",
					     "--case empty.* --seed 8", "--case empty.*" };
	struct run runs[SP_COUNT(words)];
	size_t same[SP_COUNT(words)] = { 0 };

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		runs[i] = open_run();
		cr_expect_eq(run_words(&runs[i], words[i]), 0);
		cr_assert_eq(runs[i].results.n_cases, 100);
		for (size_t k = 0; k < 100; k++)
			same[i] +=
				!strcmp(runs[0].results.cases[k].id, runs[i].results.cases[k].id);
	}
	cr_expect_eq(same[1], 100, "the same seed");
	cr_expect_lt(same[2], 50, "another seed: %zu in place", same[2]);
	cr_expect_lt(same[3], 50, "no seed: %zu in place", same[3]);
	cr_expect_str_eq(runs[3].results.cases[0].id, "empty.case.n00");
	for (size_t i = 0; i < SP_COUNT(words); i++)
		close_run(&runs[i]);
}

Test(runner, workers_run_side_by_side)
{
	struct run run = open_run();
	bool seen[4] = { false };

	/*
	 * Two of four hang until their deadline: whoever is alone with them is not done before it.
	 */
	cr_expect_eq(run_words(&run, "--jobs 4 --deadline 1500 --grace 100 --case "
				     "stub.hang.outside "
				     "--case stub.hang.inside --case empty.*"),
		     3);
	cr_assert(run.have_results, "%s", run.read_error.message);
	cr_expect_eq(run.results.n_cases, 102, "%zu results", run.results.n_cases);
	for (size_t i = 0; i < run.results.n_cases; i++)
		if (run.results.cases[i].worker >= 0 && run.results.cases[i].worker < 4)
			seen[run.results.cases[i].worker] = true;
	cr_expect(seen[0] + seen[1] + seen[2] + seen[3] >= 3, "several workers had cases");
	/* The hung ones end last, so the others did not wait for them. */
	cr_expect(!strncmp(run.results.cases[101].id, "stub.hang", 9), "%s",
		  run.results.cases[101].id);
	expect_clean(&run, "jobs");
	close_run(&run);
}

Test(runner, an_empty_selection_is_fine)
{
	struct sp_run_options options = SP_RUN_OPTIONS_INIT;
	struct sp_result_end end;
	struct run run = open_run();

	options.results_path = run.results_path;
	cr_expect_eq(sp_run_cases(&options, &end, NULL), 0);
	close_run(&run);
}

/* ---- interrupts and deaths ---- */

static pid_t read_pid(const struct run *run)
{
	char path[300];
	struct sp_bytes bytes = SP_BYTES_INIT;
	long pid;

	snprintf(path, sizeof(path), "%s/pids", run->state);
	/* The case says that it began before it writes its number. */
	while (access(path, F_OK) || sp_read_file(path, 100, &bytes, NULL) || !bytes.len)
		poll(NULL, 0, 1);
	pid = strtol((char *)bytes.data, NULL, 10);
	sp_bytes_done(&bytes);
	return (pid_t)pid;
}

static const struct {
	int signal;
	const char *id;
} interrupts[] = {
	{ SIGINT, "stub.hang.outside" },
	{ SIGTERM, "stub.hang.with-sandbox" },
	{ SIGINT, "stub.hang.orphan" },
};

Test(runner, an_interrupt_keeps_results_and_leaves_nothing, .timeout = 120)
{
	for (size_t i = 0; i < SP_COUNT(interrupts); i++) {
		struct run run = open_run();
		const struct sp_result_case *c;
		char words[200], line[100];
		pid_t worker;
		int code;

		snprintf(words, sizeof(words),
			 "--grace 200 --deadline 600000 --case stub.verdict.pass --case %s "
			 "--case stub.own.stuck",
			 interrupts[i].id);
		snprintf(line, sizeof(line), "case %s\n", interrupts[i].id);
		start(&run, words);
		await_line(&run, line);
		worker = read_pid(&run);
		kill(run.child.pid, interrupts[i].signal);
		code = finish(&run);
		cr_expect_eq(code, 130, "%s: exit %d", interrupts[i].id, code);
		cr_expect(!sp_is_alive(worker), "%s: the worker lives", interrupts[i].id);
		cr_assert(run.have_results && run.results.complete, "%s", run.read_error.message);
		cr_expect(run.results.end.interrupted);
		c = find_case(&run, "stub.verdict.pass");
		cr_expect(c && c->verdict == SP_PASS, "what was done is kept");
		c = find_case(&run, interrupts[i].id);
		cr_expect(c && holds(c->message, "interrupted while it ran"), "%s",
			  c ? c->message : "no result");
		cr_expect(!find_case(&run, "stub.own.stuck"), "what had not begun has no result");
		expect_clean(&run, interrupts[i].id);
		close_run(&run);
	}
}

static void await_file(const struct run *run, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", run->state, name);
	while (access(path, F_OK))
		poll(NULL, 0, 1);
}

/* What is being made then is known only when the call is answered. */
Test(runner, an_interrupt_in_a_create_leaves_nothing, .timeout = 120)
{
	struct run run = open_run();
	int code;

	start(&run, "--outlives --deadline 600000 --case stub.hang.create");
	await_line(&run, "case stub.hang.create\n");
	await_file(&run, "creating");
	kill(run.child.pid, SIGINT);
	code = finish(&run);
	cr_expect_eq(code, 130, "exit %d", code);
	expect_clean(&run, "a create");
	close_run(&run);
}

/* Before any worker is there. */
Test(runner, an_interrupt_while_the_back_end_starts_leaves_nothing, .timeout = 120)
{
	struct run run = open_run();
	int code;

	start(&run, "--interrupt-prepare --case stub.verdict.pass");
	code = finish(&run);
	cr_expect_eq(code, 130, "exit %d", code);
	cr_expect(run.have_results && run.results.complete && run.results.end.interrupted);
	cr_expect_eq(entries(run.state, "finished"), 1, "the back end is ended");
	expect_clean(&run, "a start");
	close_run(&run);
}

Test(runner, a_second_interrupt_skips_the_clean_up_and_keeps_the_ledger)
{
	struct run run = open_run();
	char ledger[300];

	start(&run, "--deadline 600000 --case stub.hang.unremovable");
	await_line(&run, "case stub.hang.unremovable\n");
	read_pid(&run);
	kill(run.child.pid, SIGINT);
	/* The clean-up hangs in the back end. */
	await_file(&run, "removing");
	kill(run.child.pid, SIGINT);
	cr_expect_eq(finish(&run), 130);
	cr_expect(run.have_results && run.results.complete && run.results.end.interrupted);
	snprintf(ledger, sizeof(ledger), "%s/sandproof", run.xdg);
	cr_expect_eq(entries(ledger, "run-"), 1, "the ledger is kept for `sweep`");
	cr_expect_eq(entries(run.tmp, ""), 0, "temporary files are left");
	close_run(&run);
}

/* Ended or a zombie: whoever adopted it may take its time. */
static bool await_death(pid_t pid)
{
	struct pollfd pfd = { .fd = sp_pidfd_open(pid), .events = POLLIN };
	int fd SP_CLOSE = pfd.fd;

	return fd < 0 || poll(&pfd, 1, 30000) == 1;
}

Test(runner, workers_die_with_a_killed_supervisor)
{
	struct run run = open_run();
	pid_t worker;

	start(&run, "--deadline 600000 --case stub.verdict.pass --case stub.hang.outside");
	await_line(&run, "case stub.hang.outside\n");
	worker = read_pid(&run);
	kill(run.child.pid, SIGKILL);
	cr_expect_eq(finish(&run), 128 + SIGKILL);
	cr_expect(await_death(worker), "the worker outlives its supervisor");
	cr_expect(run.have_results && !run.results.complete, "the file can be read: %s",
		  run.read_error.message);
	cr_expect(find_case(&run, "stub.verdict.pass") != NULL);
	close_run(&run);
}

Test(runner, everything_a_hung_worker_started_dies)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--deadline 400 --grace 100 --case stub.hang.orphan "
				     "--case stub.leak.orphan"),
		     3);
	cr_assert(run.have_results, "%s", run.read_error.message);
	/* The second case would be told of an orphan of the first. */
	cr_expect_eq(run.results.n_leaks, 1, "%zu leaks", run.results.n_leaks);
	expect_clean(&run, "orphan");
	close_run(&run);
}

Test(runner, the_next_worker_removes_what_a_dead_one_made)
{
	struct run run = open_run();

	cr_expect_eq(run_words(&run, "--deadline 400 --grace 100 --case stub.hang.with-sandbox "
				     "--case stub.crash.segv-inside --case stub.verdict.pass"),
		     3);
	cr_expect_eq(run.results.end.passed, 1);
	cr_expect_eq(run.results.n_leaks, 0);
	cr_expect_eq(entries(run.state, "made-"), 2, "sandboxes were made");
	expect_clean(&run, "dead workers");
	close_run(&run);
}

/* ---- bad places ---- */

Test(runner, a_full_disk_is_told)
{
	struct run run = open_run();
	int code;

	snprintf(run.results_path, sizeof(run.results_path), "/dev/full");
	start(&run, "--case stub.verdict.pass");
	while (read_more(&run))
		;
	sp_child_wait(&run.child, NULL, NULL);
	code = run.child.code;
	cr_expect_eq(code, 3, "exit %d", code);
	cr_expect(holds(run.out, "exit 3") && holds(run.out, "writing /dev/full failed"), "%s",
		  run.out);
	expect_clean(&run, "full disk");
	close_run(&run);
}

Test(runner, a_temporary_folder_that_cannot_be_used_is_told)
{
	/* One that is missing, and one where not even root may write. */
	static const char *const folders[] = { "/nowhere/at/all", "/proc" };

	for (size_t i = 0; i < SP_COUNT(folders); i++) {
		struct run run = open_run();

		snprintf(run.tmp, sizeof(run.tmp), "%s", folders[i]);
		cr_expect_eq(run_words(&run, "--case stub.verdict.pass"), 3, "%s", folders[i]);
		cr_expect(holds(run.out, "cannot make a temporary folder in"), "%s", run.out);
		cr_expect(holds(run.out, folders[i]), "%s", run.out);
		cr_expect_eq(entries(run.state, "prepared"), 0, "no back end was started");
		close_run(&run);
	}
}

Test(runner, results_that_cannot_be_made_are_told)
{
	struct run run = open_run();

	snprintf(run.results_path, sizeof(run.results_path), "%s/missing/results", run.dir);
	cr_expect_eq(run_words(&run, "--case stub.verdict.pass"), 3);
	cr_expect(holds(run.out, "cannot write the results to"), "%s", run.out);
	close_run(&run);
}

Test(runner, a_back_end_is_prepared_and_finished_once)
{
	struct run run = open_run();
	char path[300];
	struct stat st;

	run_words(&run, "--jobs 2 --case empty.*");
	snprintf(path, sizeof(path), "%s/prepared", run.state);
	cr_expect(!stat(path, &st) && st.st_size == 1, "prepared once");
	snprintf(path, sizeof(path), "%s/finished", run.state);
	cr_expect(!stat(path, &st) && st.st_size == 1, "finished once");
	close_run(&run);
}
