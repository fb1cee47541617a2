/* SPDX-License-Identifier: MIT */
/* The whole program from outside: exit codes and messages. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <base/json.h>
#include <base/testing.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"

SP_TEST_SUITE_WITH_STATE(cli);

/*
 * Runs the program with up to 15 words, in our environment with one variable changed
 * ("NAME=value" or NULL).
 */
static struct sp_run_result run_in(const char *variable, const char *const *words)
{
	const char *argv[18] = { "env", variable ? variable : "SANDPROOF_TEST=1", PROGRAM };

	for (size_t i = 0; words[i] && i < 14; i++)
		argv[3 + i] = words[i];
	return sp_test_run(argv);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Last line of a text, without its newline; malloc'ed. */
static char *last_line(const char *text)
{
	size_t len = text ? strlen(text) : 0, start;

	while (len && text[len - 1] == '\n')
		len--;
	for (start = len; start && text[start - 1] != '\n'; start--)
		;
	return strndup(text ? text + start : "", len - start);
}

static const struct {
	const char *words[12];
	int code;
	/* What standard error says; NULL: standard output says `out`. */
	const char *err, *out;
} rows[] = {
	{ { NULL }, 2, NULL, "usage: sandproof" },
	{ { "--help" }, 0, NULL, "usage: sandproof" },
	{ { "--version" }, 0, NULL, "sandproof 0." },
	{ { "lst" }, 2, "the nearest: list", NULL },
	{ { "rnu" }, 2, "the nearest: run", NULL },
	{ { "prove", "--defect", "kill-leader-onyl" }, 2, "kill-leader-only", NULL },
	{ { "prove", "word" }, 2, "word", NULL },
	{ { "prove", "--defect", "store-zero-is-absent" }, 0, NULL,
	  "1 of 1 modelled defects caught" },
	{ { "prove", "--defect", "store-zero-is-absent", "--json" }, 0,
	  NULL, "\"caught_by\": [\"store.value.times\"]" },
	{ { "show", "contract:C26" }, 0, NULL, "abort-checked-late" },
	{ { "show", "contract:C27" }, 0, NULL, "contract:C26" },
	{ { "doctor" }, 0, NULL, "allow-list is taken, told, and enforced as deny-all" },
	{ { "doctor", "now" }, 2, "one argument too many", NULL },
	{ { "completion", "bash" }, 0, NULL, "complete -o default -F _sandproof sandproof" },
	{ { "completion", "zsh" }, 0, NULL, "#compdef sandproof" },
	{ { "completion", "fish" }, 0, NULL, "complete -c sandproof" },
	{ { "completion", "csh" }, 2, "bash, zsh or fish, not csh", NULL },
	{ { "help", "exit-codes" }, 0, NULL, "130" },
	{ { "help", "environment" }, 0, NULL, "RENDER_API_KEY" },
	{ { "help", "providers" }, 0, NULL, "local:poll" },
	{ { "help", "verdicts" }, 0, NULL, "xpass" },
	{ { "help", "run" }, 0, NULL, "examples:" },
	{ { "help", "exit-code" }, 2, "the nearest: exit-codes", NULL },
	{ { "run", "--help" }, 0, NULL, "--provider SPEC" },
	{ { "list", "--help" }, 0, NULL, "--json" },
	{ { "show", "--help" }, 0, NULL, "examples:" },
	{ { "report", "--help" }, 0, NULL, "junit" },
	{ { "fake-api", "--help" }, 0, NULL, "--listen ADDRESS" },
	{ { "run", "word" }, 2, "one argument too many", NULL },
	{ { "run", "--provder", "bash" }, 2, "the nearest: --provider", NULL },
	{ { "run", "--jobs", "many" }, 2, "takes a number", NULL },
	{ { "run", "--provider", "bsh" }, 2, "the nearest: bash", NULL },
	{ { "run", "--provider", "driver:/nowhere/driver" }, 3, NULL, "cannot be opened" },
	{ { "run", "--suite", "kil" }, 2, "the nearest: kill", NULL },
	/* What is there, but of a subject that this run has not. */
	{ { "run", "--suite", "platform", "--provider", "local" }, 2,
	  "the suite platform needs a provider with a platform", NULL },
	{ { "run", "--store", "memory", "--case", "exec.*" }, 2,
	  "nothing of this run matches --case \"exec.*\": the suite exec needs a provider", NULL },
	{ { "run", "--provider", "local", "--case", "ensure:N1" }, 2,
	  "the suite ensure needs a store; name one: --store", NULL },
	/* A suite, a case, a clause or a list where something else is asked for. */
	{ { "list", "--case", "exec" }, 2, "it is a suite: --suite exec", NULL },
	{ { "list", "--suite", "exec.*" }, 2, "it is of cases: --case 'exec.*'", NULL },
	{ { "list", "--suite", "kill:K1" }, 2, "it is of cases: --case kill:K1", NULL },
	{ { "list", "--case", "live-core" }, 2, "it is a tag: --tag live-core", NULL },
	{ { "list", "--suite", "exec,fs" }, 2, "one at a time: --suite exec --suite fs", NULL },
	{ { "run", "--case", "exec.*,fs.*" }, 2,
	  "one at a time: --case 'exec.*' --case 'fs.*'", NULL },
	{ { "list", "--case", "kill:K1" }, 0, NULL, "kill.shape.foreground" },
	{ { "list", "--case", "kill:K99" }, 2, "the clauses of kill: K1, K2, ", NULL },
	{ { "list", "--case", "exec.nosuch" }, 2, "see `sandproof list --suite exec`", NULL },
	{ { "show", "kill:K99" }, 2, "the clauses of kill: K1, K2, ", NULL },
	{ { "show", "exec.nosuch" }, 2, "see `sandproof list --suite exec`", NULL },
	{ { "run", "exec" }, 2, "it is a suite: --suite exec", NULL },
	{ { "run", "kill.shape.*" }, 2, "it is of cases: --case 'kill.shape.*'", NULL },
	{ { "run", "local" }, 2, "it is a provider: --provider local", NULL },
	{ { "run", "sqlite" }, 2, "it is a store: --store sqlite", NULL },
	{ { "run", "kill-noop" }, 2, "it is a fault: --defect kill-noop", NULL },
	{ { "prove", "kill-noop" }, 2, "it is a fault: --defect kill-noop", NULL },
	{ { "list", "kill" }, 2, "it is a suite: --suite kill", NULL },
	{ { "list", "kil" }, 2, "the nearest: --suite kill", NULL },
	{ { "prove", "exec-code-boolean" }, 2, "it is a fault: --defect exec-code-boolean", NULL },
	{ { "prove", "exec-code-bolean" }, 2, "the nearest: --defect exec-code-boolean", NULL },
	{ { "prove", "--fault", "kill-noop" }, 2, "unknown option --fault; it is called --defect",
	  NULL },
	{ { "run", "--fault=x" }, 2, "unknown option --fault; it is called --defect", NULL },
	{ { "list", "--defect", "kill-noop" }, 2, "it is called --faults", NULL },
	{ { "run", "--profile", "live-cor" }, 2, "not \"live-cor\"; the nearest: live-core", NULL },
	{ { "completion", "zish" }, 2, "not zish; the nearest: zsh", NULL },
	{ { "doctor", "--jsn" }, 2, "unknown option --jsn; there is none but --help", NULL },
	{ { "doctor", "--hlep" }, 2, "the nearest: --help", NULL },
	/* A subject that nothing of the run is about. */
	{ { "run", "--provider", "local", "--store", "memory", "--case",
	    "exec.code.passes-through" }, 0,
	  "note: no case that was asked for is about store memory", NULL },
	{ { "run", "--provider", "local", "--store", "memory", "--lock", "memory", "--case",
	    "store.get.whole", "--shard" , "1/1" }, 0,
	  "note: no case that was asked for is about provider local, lock memory", NULL },
	{ { "sweep", "now" }, 2, "one argument too many", NULL },
	{ { "run", "--ensure", "ours" }, 2, "--suite ensure", NULL },
	{ { "run", "--case", "kill.no-such-case" }, 2, "kill.no-such-case", NULL },
	{ { "run", "--tag", "no-such-tag" }, 2, "no-such-tag", NULL },
	{ { "run", "--report", "junit" }, 2, "needs a path", NULL },
	{ { "run", "--defect", "no-such-fault" }, 2, "unknown fault", NULL },
	{ { "run", "--provider", "render:https://u:hunter22@x/v1" }, 2, "environment", NULL },
	{ { "run", "--provider", "render" }, 3,
	  "RENDER_API_KEY and RENDER_WORKSPACE_ID are not set", NULL },
	{ { "run", "--provider", "render", "--gated" }, 0, NULL, "RENDER_API_KEY" },
	{ { "run", "--provider", "render", "--gated", "--suite", "kill", "--suite", "fs" }, 0, NULL,
	  "cases did not run, and each of their 2 suites is one skip" },
	{ { "run", "--provider", "render", "--gated", "--profile", "live-core" }, 0, NULL,
	  "this bills: the profile live-core takes about 25 sandboxes" },
	{ { "list", "--case", "kill.no-such-case" }, 2, "kill.no-such-case", NULL },
	{ { "list", "--faults" }, 0, NULL, "" },
	{ { "list", "--faults", "--json" }, 0, NULL, "\"seam\": \"render-step\"" },
	{ { "prove", "--defect", "store-zero-is-absent", "--no-control" }, 0, NULL,
	  "1 of 1 modelled defects caught without control" },
	{ { "prove", "--full", "--defect", "store-zero-is-absent" }, 0, NULL,
	  "1 of 1 modelled defects caught" },
	{ { "show", "kill-unknown-is-everybody" }, 0, NULL, "can reach outside its sandbox" },
	{ { "show", "exec", "fs" }, 2, "one argument too many", NULL },
	{ { "serve" }, 2, "--provider", NULL },
	{ { "serve", "--provider", "local", "--listen", "localhost:1" }, 2,
	  "127.0.0.1:PORT", NULL },
	{ { "serve", "--provider", "local", "--listen", "127.0.0.1:70000" }, 2, "65535", NULL },
	{ { "serve", "--provider", "local", "--listen", "unix:/nonexistent/s" }, 3,
	  "cannot listen at /nonexistent/s", NULL },
	{ { "baseline" }, 2, "baseline update RESULTS", NULL },
	{ { "show" }, 2, "name a case", NULL },
	{ { "show", "kill" }, 0, NULL, "kill:K1  MUST" },
	{ { "show", "no-such-thing" }, 2, "no case, clause, suite or fault", NULL },
	{ { "report", "junit" }, 2, "name a format and at least one results file", NULL },
	{ { "report", "junit=-", "/nonexistent" }, 3, "/nonexistent", NULL },
	{ { "report", "junit", "html", "/nonexistent" }, 2, "only one report", NULL },
	{ { "report", "junit=x", "tapp=y", "/nonexistent" }, 2, "the nearest: tap", NULL },
	{ { "baseline", "--help" }, 0, NULL, "PATTERN | MESSAGE | REASON" },
	{ { "baseline" }, 2, "baseline update RESULTS", NULL },
	{ { "baseline", "update", "/nonexistent" }, 3, "/nonexistent", NULL },
	{ { "run", "--baseline", "/nonexistent" }, 3, "/nonexistent", NULL },
	{ { "show", "\033]0;title\a" }, 2, "\\x1b]0;title\\x07", NULL },
	{ { "\033[31m" }, 2, "\\x1b[31m", NULL },
	{ { "fake-api", "--era", "D" }, 2, "--era takes A, B or C", NULL },
	{ { "fake-api", "--listen", "0.0.0.0:80" }, 2, "loopback", NULL },
	{ { "fake-api", "--fault", "no-such-fault" }, 2, "no-such-fault", NULL },
	{ { "fake-api", "--fault", "slow-bot" }, 2,
	  "unknown fault `slow-bot`; the nearest: slow-boot", NULL },
	{ { "fake-api", "--fault", "nonsense" }, 2,
	  "\n  cut-stream             every event stream ends without its terminal event\n",
	  NULL },
};

Test(cli, exit_codes_and_messages, .timeout = 250)
{
	unsetenv("RENDER_API_KEY");
	unsetenv("RENDER_WORKSPACE_ID");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_run_result r = run_in(NULL, rows[i].words);
		const char *said = rows[i].err ? r.err : r.out;
		const char *wanted = rows[i].err ? rows[i].err : rows[i].out;
		const char *first = rows[i].words[0] ? rows[i].words[0] : "";
		const char *second = *first && rows[i].words[1] ? rows[i].words[1] : "";
		const char *third = *second && rows[i].words[2] ? rows[i].words[2] : "";

		cr_expect_eq(r.code, rows[i].code, "%s %s %s: exit %d, expected %d\n%s%s", first,
			     second, third, r.code, rows[i].code, r.out, r.err);
		cr_expect(said && strstr(said, wanted), "%s %s %s: \"%s\" is not in:\n%s", first,
			  second, third, wanted, said);
		cr_expect(!r.err || !strstr(r.err, "hunter22"), "a secret is shown: %s", r.err);
		sp_run_result_done(&r);
	}
}

Test(cli, list_is_json)
{
	struct sp_run_result r = run_in(NULL, WORDS("list", "--json"));
	cJSON *json SP_CLEANUP(sp_json_done) = NULL, *item;
	struct sp_error err = SP_ERROR_INIT;
	static const char *const texts[] = {
		"id", "suite", "subject", "clause", "level", "summary"
	};
	static const char *const arrays[] = { "needs", "tags", "defects" };
	int n = 0;

	cr_expect_eq(r.code, 0);
	cr_expect_eq(sp_json_parse(r.out, r.out_len, SP_TEST_OUTPUT_MAX, &json, &err), 0, "%s",
		     err.message);
	cJSON_ArrayForEach(item, json) {
		n++;
		for (size_t i = 0; i < SP_COUNT(texts); i++)
			cr_expect(sp_json_str(item, texts[i]), "case %d has no %s", n, texts[i]);
		for (size_t i = 0; i < SP_COUNT(arrays); i++)
			cr_expect(cJSON_IsArray(cJSON_GetObjectItem(item, arrays[i])),
				  "case %d has no %s", n, arrays[i]);
	}
	cr_expect_gt(n, 0);
	sp_run_result_done(&r);
}

/* A run whose fake cannot have its place ends with a reason and the numbers. */
Test(cli, places_that_cannot_be_used, .timeout = 250)
{
	static const char *const variables[] = { "TMPDIR=/proc", "TMPDIR=/nonexistent" };

	for (size_t i = 0; i < SP_COUNT(variables); i++) {
		struct sp_run_result r = run_in(variables[i], WORDS("run", "--suite", "kill"));
		char *last SP_FREE = last_line(r.out);

		cr_expect_eq(r.code, 3, "%s: exit %d\n%s%s", variables[i], r.code, r.out, r.err);
		cr_expect(strstr(r.out, variables[i] + 7) || strstr(r.err, variables[i] + 7),
			  "%s is not named:\n%s%s", variables[i] + 7, r.out, r.err);
		cr_expect_str_eq(last, "0 passed, 0 failed, 0 skipped", "%s: %s", variables[i],
				 last);
		sp_run_result_done(&r);
	}
}

Test(cli, a_subject_that_cannot_be_opened, .timeout = 250)
{
	struct sp_run_result r;

	setenv("RENDER_API_KEY", "rnd_hunter22hunter22", 1);
	setenv("RENDER_WORKSPACE_ID", "tea-x", 1);
	r = run_in(NULL, WORDS("run", "--provider", "render:unix:/nonexistent/api", "--case",
			       "kill.*", "--fail-fast"));
	cr_expect_eq(r.code, 3, "exit %d\n%s%s", r.code, r.out, r.err);
	cr_expect(!strstr(r.out, "hunter22") && !strstr(r.err, "hunter22"), "%s%s", r.out, r.err);
	sp_run_result_done(&r);
}

Test(cli, a_socket_path_that_is_too_long)
{
	char listen[300] = "unix:/tmp/";
	struct sp_run_result r;

	memset(listen + 10, 'x', 200);
	listen[210] = '\0';
	r = run_in(NULL, WORDS("fake-api", "--listen", listen));
	cr_expect_eq(r.code, 2, "exit %d: %s", r.code, r.err);
	cr_expect(strstr(r.err, "too long") || strstr(r.err, "107"), "%s", r.err);
	sp_run_result_done(&r);
}

/* A report on standard output has it for itself: the console moves to standard error. */
Test(cli, report_on_standard_output, .timeout = 250)
{
	struct sp_run_result r;
	char *last SP_FREE = NULL;

	unsetenv("RENDER_API_KEY");
	r = run_in(NULL, WORDS("run", "--provider", "render", "--gated", "--report", "junit=-"));
	last = last_line(r.err);
	cr_expect_eq(r.code, 0, "exit %d: %s", r.code, r.err);
	cr_expect_eq(strncmp(r.out, "<?xml ", 6), 0, "%s", r.out);
	cr_expect_not_null(strstr(r.out, "<skipped "), "%s", r.out);
	cr_expect_eq(strncmp(last, "0 passed, 0 failed, ", 20), 0, "%s", last);
	sp_run_result_done(&r);
}

/* Runs a shell text in which $0 is the program; limits and descriptors are the text's business. */
static struct sp_run_result run_text(const char *text)
{
	const char *argv[] = { "sh", "-c", text, PROGRAM, state, NULL };

	return sp_test_run(argv);
}

#define FAULTY_CASE                                                                                \
	" run --provider bash --defect exec-code-boolean --case exec.code.passes-through"
#define ONE_CASE " run --provider local --case exec.code.passes-through"

/* Each text ends with what `says` names, in the output or in the error output. */
static const struct {
	const char *text, *says;
	int code;
} surroundings[] = {
	/* Without a standard output the next file must not become it. */
	{ "(exec >&-; \"$0\"" ONE_CASE " --results \"$1/r\"); grep -v '^{' \"$1/r\" && exit 9; "
	  "wc -l <\"$1/r\"",
	  "3", 0 },
	{ "exec <&- >&- 2>&-; \"$0\"" ONE_CASE, "", 0 },
	{ "\"$0\"" ONE_CASE " >/dev/full", "standard output", 3 },
	{ "\"$0\"" ONE_CASE " --report junit=- >/dev/full", "standard output", 3 },
	{ "\"$0\"" ONE_CASE " --min-executed 2", "1 case ran, and --min-executed asks for 2", 1 },
	{ "SANDPROOF_TIME_SCALE=fast \"$0\"" ONE_CASE, "SANDPROOF_TIME_SCALE", 2 },
	{ "SANDPROOF_TIME_SCALE=0 \"$0\"" ONE_CASE, "0.1 to 1000", 2 },
	/* On a terminal a block is redrawn, and the verdict is last; in CI nothing moves. */
	{ "env -u CI -u NO_COLOR TERM=xterm script -qec "
	  "\"\\\"$0\\\" run --provider local --suite exec\" /dev/null "
	  "</dev/null >\"$1/pty\"; grep -qa \"$(printf '\\033')\\[[0-9]*A\" \"$1/pty\" || exit 9; "
	  "tail -1 \"$1/pty\"", "skipped", 0 },
	{ "CI=1 TERM=xterm script -qec "
	  "\"\\\"$0\\\" run --provider local --suite exec\" /dev/null "
	  "</dev/null >\"$1/pty\"; grep -qa \"$(printf '\\033')\\[[0-9]*A\" \"$1/pty\" && exit 9; "
	  "tail -1 \"$1/pty\"", "skipped", 0 },
	/* The verdict comes out although a report cannot be written; so do other reports. */
	{ "ln -s /dev/full \"$1/full\"; \"$0\"" ONE_CASE " --report html=\"$1/full\" --report "
	  "ctrf=\"$1/c.json\"; code=$?; "
	  "test -c /dev/full || exit 8; "
	  "grep -q '\"passed\":1' \"$1/c.json\" || exit 9; exit $code",
	  "1 passed, 0 failed, 0 skipped", 3 },
	/* Of what could not be written anyhow nothing is run. */
	{ "\"$0\"" ONE_CASE " --report junit=\"$1/missing/dir/x.xml\"", "missing/dir", 2 },
	{ "\"$0\"" ONE_CASE " --report junit=\"$1\"", "is a folder", 2 },
	/* A file given twice counts once, and that is told. */
	{ "\"$0\"" ONE_CASE " --results \"$1/r\" >/dev/null; "
	  "\"$0\" report markdown \"$1/r\" \"$1/r\" | grep -q '1 passed' || exit 9; "
	  "\"$0\" report markdown \"$1/r\" \"$1/r\" 2>&1 >/dev/null",
	  "given already and counts once", 0 },
	/* The subjects of the last run stay with its failures. */
	{ "\"$0\" run --provider local:poll --defect cwd-default-lost --case exec.cwd.default "
	  ">/dev/null; \"$0\" run --last-failed",
	  "provider local:poll  1 case", 0 },
	/* A fault that can reach outside is a named skip where nothing holds it. */
	{ "SANDPROOF_FAKE=plain \"$0\" run --provider bash --defect kill-unknown-is-everybody "
	  "--report junit=\"$1/d.xml\"; code=$?; "
	  "grep -q '<skipped message=\"the fault kill-unknown-is-everybody can reach' "
	  "\"$1/d.xml\" || exit 9; exit $code",
	  "mount namespaces of their own", 4 },
	/* A proof has no case: each report says so, on its own page or beside it. */
	{ "\"$0\" prove --defect store-zero-is-absent --results \"$1/p\" >/dev/null && "
	  "\"$0\" report clauses \"$1/p\"",
	  "with 1 of 1 faults caught", 0 },
	{ "\"$0\" report junit=/dev/null \"$1/p\"", "junit has no case to show", 0 },
	{ "\"$0\" report html=- \"$1/p\"", "1 of 1 faults caught</h1>", 0 },
	/* TAP has standard output for itself, to the last line. */
	{ "\"$0\"" ONE_CASE " --report tap=- 2>\"$1/talk\"; code=$?; tail -1 \"$1/talk\" | "
	  "grep -q '^1 passed' || exit 9; exit $code",
	  "TAP version 14\nok 1 - exec.code.passes-through\n1..1\n", 0 },
	{ "\"$0\"" ONE_CASE " --report tap=- >/dev/full",
	  "cannot write the report to standard output", 3 },
	/*
	 * Known failures: what passes, what fails as it is listed, what is of
	 * no case whatever was selected.
	 */
	{ "echo 'exec.code.passes-through | x | y' >\"$1/b\"; \"$0\"" ONE_CASE " --baseline "
									       "\"$1/b\"",
	  "0 passed, 1 failed, 0 skipped", 1 },
	{ "echo 'exec.nothing | x | y' >\"$1/b\"; \"$0\"" ONE_CASE " --baseline \"$1/b\"",
	  "1 passed, 1 failed, 0 skipped", 1 },
	{ "echo 'exec.code.is-final | x | y' >\"$1/b\"; \"$0\"" ONE_CASE " --baseline \"$1/b\"",
	  "1 passed, 0 failed, 0 skipped", 0 },
	{ "echo broken >\"$1/b\"; \"$0\"" ONE_CASE " --baseline \"$1/b\"",
	  "line 1: the message is missing", 2 },
	{ "\"$0\"" FAULTY_CASE " --results \"$1/r3\" >/dev/null; sed -i "
			       "'s/,\"defect\":\"[a-z-]*\"//' \"$1/r3\"; "
	  "\"$0\" baseline update \"$1/r3\" --baseline \"$1/b3\" >/dev/null && \"$0\"" FAULTY_CASE
	  " --baseline \"$1/b3\"",
	  "0 passed, 0 failed, 1 skipped", 0 },
	/* Runs of one program go together; two requirement sets do not, unless it is said. */
	{ "\"$0\"" ONE_CASE " --results \"$1/m1\" >/dev/null; sed 's/\"bash\"/\"other\"/' "
			    "\"$1/m1\" >\"$1/m2\"; "
	  "\"$0\" report clauses \"$1/m1\" \"$1/m2\"",
	  "exec:X1", 0 },
	{ "sed 's/\"requirements_sha256\":\"../&zz/' \"$1/m1\" >\"$1/m3\"; "
	  "\"$0\" report clauses \"$1/m1\" \"$1/m3\"",
	  "two requirement sets", 3 },
	{ "\"$0\" report clauses --mixed \"$1/m1\" \"$1/m3\"", "different requirement sets", 0 },
	{ "cat \"$1/m1\" \"$1/m2\" >\"$1/m4\"; \"$0\" report clauses --json \"$1/m4\"",
	  "\"complete\": true", 0 },
	{ "head -c -3 \"$1/m1\" >\"$1/m5\"; \"$0\" report tap \"$1/m5\"",
	  "Bail out! the run was cut off", 0 },
	{ "sed 's/\"schema_version\":1/\"schema_version\":9/' \"$1/m1\" >\"$1/m6\"; "
	  "\"$0\" report tap \"$1/m6\"",
	  "schema_version 9, and this program reads version 1", 3 },
	/* A pair that makes two sandboxes is told in each run of it. */
	{ "\"$0\" run --store sqlite --lock memory --case store.get.whole --case "
	  "lock.hold.excludes --report junit=\"$1/pair\"; "
	  "grep -c 'name=\"ensure.needs.pairing\"' \"$1/pair\"",
	  "0 leaks, 1 warning", 0 },
	{ "\"$0\" run --store sqlite --case store.get.whole --case lock.hold.excludes",
	  "0 leaks, 0 warnings", 0 },
	/* A connection text that nobody writes, and one that would be cut in the middle. */
	{ "mkfifo \"$1/pipe\"; \"$0\" run --store \"postgres:@$1/pipe\"", "/pipe is no file", 3 },
	{ "printf 'host=/x\\0 dbname=y' >\"$1/nul\"; \"$0\" run --store \"postgres:@$1/nul\"",
	  "holds a NUL byte", 3 },
	{ "\"$0\" run --store \"sqlite:$1/none/s.db\"", "/none does not exist", 3 },
	/* A limit on the size of files is an error, not a death. */
	{ "ulimit -f 0; \"$0\"" ONE_CASE " --results \"$1/r2\"", "File too large", 3 },
};

Test(cli, surroundings, .timeout = 250)
{
	for (size_t i = 0; i < SP_COUNT(surroundings); i++) {
		struct sp_run_result r = run_text(surroundings[i].text);
		const char *says = surroundings[i].says;

		cr_expect_eq(r.code, surroundings[i].code, "%s: exit %d, expected %d\n%s%s",
			     surroundings[i].text, r.code, surroundings[i].code, r.out, r.err);
		cr_expect((r.out && strstr(r.out, says)) || (r.err && strstr(r.err, says)),
			  "%s: \"%s\" is not in:\n%s%s", surroundings[i].text, says, r.out, r.err);
		sp_run_result_done(&r);
	}
}

/*
 * The fake is killed once a case has its result: one fault of ours, and
 * nothing is laid to the subject.
 */
Test(cli, a_fake_that_dies_in_mid_run, .timeout = 250)
{
	struct sp_run_result r =
		run_text("mkdir \"$1/t\"; TMPDIR=$1/t \"$0\" run --provider bash --jobs 2 "
			 "--results \"$1/d\" & "
			 "p=$!; until grep -qs '\"type\":\"case\"' \"$1/d\"; do :; done; "
			 "read -r fake rest </proc/$p/task/$p/children; kill -KILL \"$fake\"; "
			 "wait $p; code=$?; ls -A \"$1/t\" >&2; exit $code");
	char *last SP_FREE = last_line(r.out);
	unsigned failed = 99;

	cr_expect_eq(r.code, 3, "exit %d\n%s%s", r.code, r.out, r.err);
	cr_expect(strstr(r.out, "the fake API server ended in the middle of the run"), "%s", r.out);
	cr_expect(!strstr(r.out, "FAIL ") && strstr(r.out, "\n0 leaks"), "%s", r.out);
	cr_expect_eq(sscanf(last, "%*u passed, %u failed", &failed), 1, "%s", last);
	cr_expect_leq(failed, 2, "%u cases are blamed, two jobs ran", failed);
	cr_expect_str_empty(r.err, "left behind: %s", r.err);
	sp_run_result_done(&r);
}

/*
 * The same of a fake that only stops: a case that is inside a call then is no failure of the
 * subject, and an interrupt ends the run, though nobody removes anything any more.
 */
Test(cli, a_fake_that_hangs_in_mid_run, .timeout = 250)
{
	static const char *const endings[] = { ":", "kill -INT $p" };
	static const int codes[] = { 3, 130 };

	for (size_t i = 0; i < SP_COUNT(endings); i++) {
		char text[800];
		struct sp_run_result r;

		snprintf(text, sizeof(text),
			 "mkdir \"$1/h%zu\"; TMPDIR=$1/h%zu env --default-signal=INT \"$0\" run "
			 "--provider bash --jobs 2 --results \"$1/g%zu\" & "
			 "p=$!; until grep -qs '\"type\":\"case\"' \"$1/g%zu\"; do :; done; "
			 "read -r fake rest </proc/$p/task/$p/children; kill -STOP \"$fake\"; %s; "
			 "wait $p; code=$?; ls -A \"$1/h%zu\" >&2; "
			 "[ ! -e /proc/$fake ] || echo alive; exit $code",
			 i, i, i, i, endings[i], i);
		r = run_text(text);
		cr_expect_eq(r.code, codes[i], "exit %d\n%s%s", r.code, r.out, r.err);
		cr_expect(strstr(i ? r.err : r.out, "the fake API server does not answer"),
			  "%s%s", r.out, r.err);
		cr_expect(!strstr(r.out, "FAIL ") && strstr(r.out, "\n0 leaks"), "%s", r.out);
		cr_expect(!strstr(r.out, "\nalive"), "the server is left behind");
		cr_expect(i || !*r.err, "left behind: %s", r.err);
		sp_run_result_done(&r);
	}
}

/* Room that runs out is no fault of the store, whenever it does. */
Test(cli, a_temporary_folder_that_is_full, .timeout = 250)
{
	/* Full at the beginning; filled when the first case has its result. */
	static const char *const rows[][2] = {
		{ "100k", ":" },
		{ "24m", "until grep -qs case \"$1/sr\"; do :; done; "
			 "head -c 30000000 /dev/zero >\"$1/s/fill\"" },
	};

	if (geteuid())
		cr_skip("needs root, to mount a small file system");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		char text[700];
		struct sp_run_result r;

		snprintf(text, sizeof(text),
			 "mkdir -p \"$1/s\"; rm -f \"$1/sr\"; "
			 "exec unshare -m --propagation private sh -c '"
			 "mount -t tmpfs -o size=%s small \"$1/s\"; "
			 "TMPDIR=$1/s \"$0\" run --store sqlite --case \"store.*\" --repeat 40 "
			 "--results \"$1/sr\" & p=$!; %s; wait $p' \"$0\" \"$1\" 2>&1",
			 rows[i][0], rows[i][1]);
		r = run_text(text);
		cr_expect(!r.out || !strstr(r.out, "FAIL "), "%s: %s", rows[i][0], r.out);
		cr_expect_eq(r.code, 3, "%s: exit %d\n%s", rows[i][0], r.code, r.out);
		cr_expect(r.out && strstr(r.out, "the temporary folder"), "%s: %s", rows[i][0],
			  r.out);
		sp_run_result_done(&r);
	}
}

/* One reason is said once, whatever number of cases stands on it. */
Test(cli, a_store_that_cannot_be_opened_is_one_error, .timeout = 250)
{
	static const char *const specs[] = { "postgres:host=/nonexistent",
					     "postgres:nonsense", "sqlite:/nonexistent/x" };

	for (size_t i = 0; i < SP_COUNT(specs); i++) {
		struct sp_run_result r = run_in(NULL, WORDS("run", "--store", specs[i]));
		char *last SP_FREE = last_line(r.out);
		unsigned failed = 99;

		cr_expect_eq(r.code, 3, "%s: exit %d\n%s", specs[i], r.code, r.out);
		cr_expect_eq(sscanf(last, "0 passed, %u failed", &failed), 1, "%s", last);
		cr_expect_eq(failed, 1, "%s: %u errors", specs[i], failed);
		sp_run_result_done(&r);
	}
}

Test(cli, a_fake_ends_well_at_each_signal, .timeout = 250)
{
	static const char *const signals[] = { "TERM", "INT", "HUP" };

	for (size_t i = 0; i < SP_COUNT(signals); i++) {
		char text[400];
		struct sp_run_result r;

		/* A shell's background child ignores INT unless it is told otherwise. */
		snprintf(text, sizeof(text),
			 "mkdir \"$1/t%zu\"; mkfifo \"$1/f%zu\"; TMPDIR=$1/t%zu env "
			 "--default-signal=INT \"$0\" fake-api --json >\"$1/f%zu\" & p=$!; "
			 "read -r line <\"$1/f%zu\"; kill -%s $p; wait $p; code=$?; "
			 "ls -A \"$1/t%zu\"; exit $code",
			 i, i, i, i, i, signals[i], i);
		r = run_text(text);
		cr_expect_eq(r.code, 0, "%s: exit %d %s", signals[i], r.code, r.err);
		cr_expect_str_empty(r.out, "%s left: %s", signals[i], r.out);
		sp_run_result_done(&r);
	}
}
