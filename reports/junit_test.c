/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/child.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <reports/junit.h>
#include <reports/reports.h>

/* A results value as the reader gives it, and a folder for the report. */
struct fixture {
	struct sp_results results;
	struct sp_results_set set;
	char *dir;
	char *path;
};

static void open_fixture(struct fixture *f, struct sp_result_case *cases, size_t n_cases)
{
	struct sp_error err = SP_ERROR_INIT;

	*f = (struct fixture){.results = {.cases = cases, .n_cases = n_cases, .complete = true}};
	f->results.run = (struct sp_result_run){
	    .program_version = "0.1.0",
	    .suite_version = "1",
	    .subjects = "provider=bash",
	    .requirements_sha256 = "00",
	    .host = "host",
	    .seed = 7,
	    .start = 1796036400000,
	};
	f->set = (struct sp_results_set){.runs = &f->results, .n_runs = 1};
	cr_assert_eq(sp_tmp_dir("junit-", &f->dir, &err), 0, "%s", err.message);
	cr_assert_geq(asprintf(&f->path, "%s/out.xml", f->dir), 0);
}

static void close_fixture(struct fixture *f)
{
	sp_remove_tree(f->dir);
	free(f->dir);
	free(f->path);
}

static char *read_file(const char *path)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (sp_read_file(path, 64 * 1024 * 1024, &bytes, &err))
		return NULL;
	return (char *)bytes.data;
}

static char *write_report(struct fixture *f, const struct sp_junit_limits *limits)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_junit_write_split(&f->set, f->path, limits, NULL, &err);

	cr_expect_eq(rc, 0, "%s", err.message);
	return read_file(f->path);
}

/*
 * Value of an XPath expression, parsed by an independent reader; NULL where there is none on this
 * machine.
 */
static char *xpath(const char *path, const char *expression)
{
	const char *const argv[] = {"xmllint", "--xpath", expression, path, NULL};
	struct sp_run_result result = {0};
	struct sp_error err = SP_ERROR_INIT;
	char *out;

	if (sp_run(argv, NULL, NULL, 0, 1 << 20, NULL, &result, &err))
		return NULL;
	if (result.code == 127) {
		sp_run_result_done(&result);
		return NULL;
	}
	cr_expect_eq(result.code, 0, "xmllint %s: %s", expression, result.err);
	out = strdup(result.out ? result.out : "");
	/* xmllint ends its answer with one newline. */
	if (*out && out[strlen(out) - 1] == '\n')
		out[strlen(out) - 1] = '\0';
	sp_run_result_done(&result);
	return out;
}

static void expect_xpath(const char *path, const char *expression, const char *expected)
{
	char *actual SP_FREE = xpath(path, expression);

	if (actual)
		cr_expect_str_eq(actual, expected, "%s is \"%s\", expected \"%s\"", expression,
				 actual, expected);
}

#define CASE(id_, verdict_, ...)                                                                   \
	{                                                                                          \
		.id = (char *)id_, .suite = (char *)"kill", .clause = (char *)"K4",                \
		.level = (char *)"MUST", .subject = (char *)"bash", .verdict = verdict_,           \
		.duration_ms = 1234, __VA_ARGS__                                                   \
	}

static const struct {
	enum sp_verdict verdict;
	/* Child element that the testcase must have, or NULL. */
	const char *child;
	const char *failures, *errors, *skipped;
} verdict_rows[] = {
    {SP_PASS, NULL, "0", "0", "0"},	 {SP_WARN, "system-out", "0", "0", "0"},
    {SP_FAIL, "failure", "1", "0", "0"}, {SP_XPASS, "failure", "1", "0", "0"},
    {SP_SKIP, "skipped", "0", "0", "1"}, {SP_XFAIL, "skipped", "0", "0", "1"},
    {SP_ERROR, "error", "0", "1", "0"},
};

Test(junit, every_verdict_has_its_element)
{
	for (size_t i = 0; i < SP_COUNT(verdict_rows); i++) {
		struct sp_result_case cases[] = {
		    CASE("kill.a.b", verdict_rows[i].verdict, .message = (char *)"what happened")};
		struct fixture f;
		char *text SP_FREE = NULL;

		open_fixture(&f, cases, 1);
		text = write_report(&f, NULL);
		cr_expect_not_null(text);
		expect_xpath(f.path, "name(//testcase/*[1])",
			     verdict_rows[i].child ? verdict_rows[i].child : "");
		expect_xpath(f.path, "count(//testcase/*)", verdict_rows[i].child ? "1" : "0");
		expect_xpath(f.path, "string(//testsuite/@failures)", verdict_rows[i].failures);
		expect_xpath(f.path, "string(//testsuite/@errors)", verdict_rows[i].errors);
		expect_xpath(f.path, "string(//testsuite/@skipped)", verdict_rows[i].skipped);
		close_fixture(&f);
	}
}

Test(junit, skip_gives_its_reason_twice)
{
	struct sp_result_case cases[] = {
	    CASE("kill.a.b", SP_SKIP, .message = (char *)"needs control")};
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, cases, 1);
	text = write_report(&f, NULL);
	expect_xpath(f.path, "string(//skipped/@message)", "needs control");
	expect_xpath(f.path, "string(//skipped)", "needs control");
	close_fixture(&f);
}

Test(junit, failure_carries_the_evidence)
{
	struct sp_result_case cases[] = {
	    CASE("kill.a.b", SP_FAIL, .message = (char *)"survivor\nsecond line",
		 .expected = (char *)"nothing runs", .actual = (char *)"1 process",
		 .dialogue = (char *)"> exec sleep 9\n< exit 0", .rerun = (char *)"run it",
		 .file = (char *)"suites/kill/a.c", .line = 42),
	};
	static const char *const parts[] = {"survivor\nsecond line",	      "kill K4 (MUST)",
					    "expected: nothing runs",	      "actual: 1 process",
					    "&gt; exec sleep 9\n&lt; exit 0", "run again: run it",
					    "at: suites/kill/a.c:42"};
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, cases, 1);
	text = write_report(&f, NULL);
	for (size_t i = 0; i < SP_COUNT(parts); i++)
		cr_expect(text && strstr(text, parts[i]), "no \"%s\" in:\n%s", parts[i], text);
	expect_xpath(f.path, "string(//failure/@message)", "survivor");
	expect_xpath(f.path, "string(//testcase/@file)", "suites/kill/a.c");
	expect_xpath(f.path, "string(//testcase/@line)", "42");
	close_fixture(&f);
}

static const struct {
	const char *remark;
	const char *text;
	const char *shown;
} hostile_rows[] = {
    {"control bytes are visible",
     "a\x01"
     "b\x0b"
     "c\x1f",
     "a\\x01b\\x0bc\\x1f"},
    {"a bare escape", "a\x1b", "a\\x1b"},
    {"colours go", "\x1b[31;1mred\x1b[0m", "red"},
    {"a title goes", "\x1b]0;title\atext", "text"},
    {"an unfinished title stays", "\x1b]0;title\ntext", "\\x1b]0;title\ntext"},
    {"invalid UTF-8", "a\xff\xc3(", "a\\xff\\xc3("},
    {"overlong", "\xc0\x80", "\\xc0\\x80"},
    {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
    {"beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    {"non-characters", "\xef\xbf\xbe\xef\xbf\xbf", "\\ufffe\\uffff"},
    {"end of CDATA", "a]]>b", "a]]>b"},
    {"markup", "<a href=\"x\">&amp;'</a>", "<a href=\"x\">&amp;'</a>"},
    {"carriage return", "a\rb", "a\rb"},
    {"four bytes", "\xf0\x9f\x94\x91", "\xf0\x9f\x94\x91"},
};

/*
 * Each hostile text goes through every place that takes text, and comes back from another parser.
 */
Test(junit, hostile_text_is_read_back)
{
	for (size_t i = 0; i < SP_COUNT(hostile_rows); i++) {
		char *hostile = (char *)hostile_rows[i].text;
		struct sp_result_case cases[] = {
		    CASE("kill.skip", SP_SKIP, .message = hostile),
		    CASE(hostile, SP_FAIL, .message = hostile, .expected = hostile,
			 .actual = hostile, .dialogue = hostile, .file = hostile, .rerun = hostile),
		};
		struct fixture f;
		char *text SP_FREE = NULL;

		open_fixture(&f, cases, 2);
		f.results.run.host = f.results.run.subjects = hostile;
		text = write_report(&f, NULL);
		expect_xpath(f.path, "string(//skipped)", hostile_rows[i].shown);
		expect_xpath(f.path, "count(//testcase)", "2");
		close_fixture(&f);
	}
}

Test(junit, names_are_unique)
{
	struct sp_result_case cases[] = {
	    CASE("kill.a", SP_PASS), CASE("kill.a", SP_PASS), CASE("kill.a", SP_PASS),
	    CASE("kill.a", SP_PASS), CASE("", SP_PASS),
	};
	struct fixture f;
	char *text SP_FREE = NULL;

	cases[3].suite = (char *)"exec";
	open_fixture(&f, cases, SP_COUNT(cases));
	text = write_report(&f, NULL);
	cr_expect_not_null(strstr(text, "name=\"kill.a\" classname=\"sandproof.kill\""));
	cr_expect_not_null(strstr(text, "name=\"kill.a [bash]\" classname=\"sandproof.kill\""));
	cr_expect_not_null(strstr(text, "name=\"kill.a [bash] #2\" classname=\"sandproof.kill\""));
	cr_expect_not_null(strstr(text, "name=\"kill.a\" classname=\"sandproof.exec\""));
	expect_xpath(f.path, "count(//testcase[@name=''])", "0");
	close_fixture(&f);
}

Test(junit, leaks_of_a_case_are_one_failing_testcase)
{
	struct sp_result_case cases[] = {CASE("kill.a", SP_PASS), CASE("kill.b", SP_PASS)};
	struct sp_result_leak leaks[] = {
	    {(char *)"kill.a", (char *)"process", (char *)"pid 7"},
	    {(char *)"kill.a", (char *)"file", (char *)"/tmp/x"},
	    {NULL, (char *)"sandbox", (char *)"sbx-1"},
	};
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, cases, 2);
	f.results.leaks = leaks;
	f.results.n_leaks = 3;
	text = write_report(&f, NULL);
	expect_xpath(f.path, "count(//testcase)", "4");
	expect_xpath(f.path,
		     "count(//testsuite[@name='kill']/testcase[@name='leak.kill.a']/failure)", "1");
	expect_xpath(f.path, "count(//testsuite[@name='leaks']/testcase[@name='leak.run']/failure)",
		     "1");
	cr_expect_not_null(strstr(text, "file: /tmp/x"));
	close_fixture(&f);
}

Test(junit, a_cut_off_run_is_no_success)
{
	struct sp_result_case cases[] = {CASE("kill.a", SP_PASS)};
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, cases, 1);
	f.results.complete = false;
	text = write_report(&f, NULL);
	expect_xpath(f.path, "count(//testsuite[@name='run']/testcase/error)", "1");
	close_fixture(&f);
}

Test(junit, splits_and_forgets_old_parts)
{
	struct sp_result_case cases[] = {CASE("kill.a", SP_PASS), CASE("kill.b", SP_PASS),
					 CASE("kill.c", SP_PASS)};
	struct sp_junit_limits two = {.max_cases = 2}, bytes = {.max_bytes = 1};
	char *second SP_FREE = NULL, *third SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct fixture f;
	unsigned files = 0;

	cases[2].suite = (char *)"exec";
	open_fixture(&f, cases, 3);
	cr_assert_geq(asprintf(&second, "%s/out.2.xml", f.dir), 0);
	cr_assert_geq(asprintf(&third, "%s/out.3.xml", f.dir), 0);
	cr_expect_eq(sp_junit_write_split(&f.set, f.path, &bytes, &files, &err), 0);
	cr_expect_eq(files, 3, "%u files for 3 cases of which each fills one", files);
	cr_expect_eq(sp_junit_write_split(&f.set, f.path, &two, &files, &err), 0);
	cr_expect_eq(files, 2, "%u files for 3 cases by 2", files);
	expect_xpath(f.path, "count(//testcase)", "2");
	expect_xpath(second, "count(//testcase)", "1");
	expect_xpath(second, "count(//testsuite)", "1");
	cr_expect_neq(access(third, F_OK), 0, "an old part was left");
	cr_expect_eq(sp_junit_write_split(&f.set, f.path, NULL, &files, &err), 0);
	cr_expect_neq(access(second, F_OK), 0, "an old part was left");
	close_fixture(&f);
}

Test(junit, no_suite_without_cases)
{
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, NULL, 0);
	text = write_report(&f, NULL);
	cr_expect(text && !strstr(text, "<testsuite "), "%s", text);
	close_fixture(&f);
}

Test(junit, time_has_a_dot_in_every_locale)
{
	struct sp_result_case cases[] = {CASE("kill.a", SP_PASS)};
	struct fixture f;
	char *text SP_FREE = NULL;

	setlocale(LC_ALL, "de_DE.UTF-8");
	open_fixture(&f, cases, 1);
	text = write_report(&f, NULL);
	setlocale(LC_ALL, "C");
	cr_expect(text && strstr(text, " time=\"1.234\""), "%s", text);
	cr_expect(text && strstr(text, " timestamp=\"2026-11-30T11:00:00\""), "%s", text);
	close_fixture(&f);
}

Test(junit, long_text_is_bounded)
{
	char *dialogue SP_FREE = malloc(1000001);
	struct fixture f;
	char *text SP_FREE = NULL;

	memset(dialogue, 'x', 1000000);
	dialogue[1000000] = '\0';
	struct sp_result_case cases[] = {
	    CASE("kill.a", SP_FAIL, .message = dialogue, .dialogue = dialogue)};
	open_fixture(&f, cases, 1);
	text = write_report(&f, NULL);
	cr_expect(text && strlen(text) < 200000, "%zu bytes", text ? strlen(text) : 0);
	cr_expect(text && strstr(text, "more bytes]"));
	close_fixture(&f);
}

Test(junit, a_place_that_cannot_be_written_is_named)
{
	struct sp_error err = SP_ERROR_INIT;
	struct fixture f;
	int rc;

	open_fixture(&f, NULL, 0);
	rc = sp_junit_write_split(&f.set, "/nonexistent/out.xml", NULL, NULL, &err);
	cr_expect_eq(rc, SP_IO, "%s", sp_code_name(rc));
	cr_expect_not_null(strstr(err.message, "/nonexistent/out.xml"), "%s", err.message);
	close_fixture(&f);
}

/*
 * What each consumer reads, as an expression that must be true of our files. What they need beyond:
 * an extension
 * (.xml), a size (the split), and an exit code, since none of them judges the job.
 */
static const struct {
	const char *consumer, *rule, *xpath;
} consumers[] = {
    {"Jenkins", "a suite without a testcase is dropped", "not(//testsuite[not(testcase)])"},
    {"Jenkins", "a testcase has a name and a classname",
     "not(//testcase[not(@name) or not(@classname)])"},
    {"Jenkins", "time is a number with a dot", "not(//testcase[string(number(@time))='NaN'])"},
    {"Jenkins", "error beats failure, so there is one child at most",
     "not(//testcase[count(failure|error|skipped) > 1])"},
    {"Jenkins", "the reason of a skip is its message", "not(//skipped[not(string(@message))])"},
    {"GitLab", "of two equal names only the first is kept",
     "not(//testcase[@name=preceding-sibling::testcase/@name])"},
    {"GitLab", "only the text of an outcome is shown",
     "not((//failure|//error|//skipped)[not(normalize-space(.))])"},
    {"GitLab", "the text holds the message", "not(//failure[not(contains(., @message))])"},
    {"GitLab", "a testcase says its file",
     "not(//testcase[starts-with(@name,'kill.')][not(@file)])"},
    {"dorny", "one level of suites", "not(//testsuite//testsuite) and name(/*)='testsuites'"},
    {"dorny", "a suite has a name", "not(//testsuite[not(string(@name))])"},
    {"dorny", "every testcase has a time", "not(//testcase[not(@time)])"},
    {"mikepenz", "counts are those of the testcases",
     "not(//testsuite[@tests!=count(testcase) or @failures!=count(testcase/failure) or "
     "@errors!=count(testcase/error) or @skipped!=count(testcase/skipped)])"},
    {"mikepenz", "no retry is a second testcase", "not(//flakyFailure) and not(//rerunFailure)"},
    {"Buildkite", "name and classname are not empty",
     "not(//testcase[not(string(@name)) or not(string(@classname))])"},
    {"CircleCI", "a failing testcase has its file",
     "not(//testcase[failure and starts-with(@name,'kill.')][not(string(@file))])"},
    {"the strict xUnit plugin", "no classname on a suite", "not(//testsuite[@classname])"},
    {"the strict xUnit plugin", "no zone in a timestamp",
     "not(//testsuite[contains(@timestamp,'Z')])"},
};

Test(junit, consumers_read_what_was_meant)
{
	struct sp_result_case cases[2 * SP_VERDICT_MAX_];
	struct sp_result_leak leaks[] = {{(char *)"kill.v0", (char *)"file", (char *)"/tmp/x"}};
	char ids[SP_VERDICT_MAX_][16];
	struct fixture f;
	char *text SP_FREE = NULL;

	for (int v = 0; v < SP_VERDICT_MAX_; v++) {
		snprintf(ids[v], sizeof(ids[v]), "kill.v%d", v);
		cases[v] = (struct sp_result_case)CASE(
		    ids[v], (enum sp_verdict)v, .message = (char *)"what\nhappened",
		    .file = (char *)"suites/kill/a.c", .line = 4);
		/* The same cases of another subject. */
		cases[SP_VERDICT_MAX_ + v] = cases[v];
		cases[SP_VERDICT_MAX_ + v].subject = (char *)"plugin:./x.so";
	}
	open_fixture(&f, cases, SP_COUNT(cases));
	f.results.leaks = leaks;
	f.results.n_leaks = 1;
	f.results.complete = false;
	text = write_report(&f, NULL);
	for (size_t i = 0; i < SP_COUNT(consumers); i++) {
		char *actual SP_FREE = xpath(f.path, consumers[i].xpath);

		cr_expect(!actual || !strcmp(actual, "true"), "%s: %s is %s in\n%s",
			  consumers[i].consumer, consumers[i].rule, actual, text);
	}
	close_fixture(&f);
}

Test(junit, each_subject_has_suites_of_its_own)
{
	struct sp_result_case bash[] = {CASE("kill.a", SP_PASS), CASE("kill.b", SP_FAIL)};
	struct sp_result_case local[] = {CASE("kill.a", SP_PASS)};
	struct sp_results runs[2];
	struct fixture f;
	char *text SP_FREE = NULL;

	local[0].subject = (char *)"plugin:./x.so";
	open_fixture(&f, bash, 2);
	runs[0] = runs[1] = f.results;
	runs[1].cases = local;
	runs[1].n_cases = 1;
	f.set = (struct sp_results_set){.runs = runs, .n_runs = 2};
	text = write_report(&f, NULL);
	cr_expect_not_null(text);
	expect_xpath(f.path, "count(//testsuite)", "2");
	expect_xpath(f.path, "string(//testsuite[1]/@name)", "kill [bash]");
	expect_xpath(f.path, "string(//testsuite[2]/@name)", "kill [plugin:./x.so]");
	/* A dot would begin a package. */
	expect_xpath(f.path, "string(//testsuite[2]/testcase/@classname)",
		     "sandproof.kill [plugin:_/x_so]");
	expect_xpath(f.path, "string(//testsuite[2]/testcase/@name)", "kill.a");
	close_fixture(&f);
}

/* Shards of one subject are one suite, as if it had been one run. */
Test(junit, shards_are_one_suite)
{
	struct sp_result_case one[] = {CASE("kill.a", SP_PASS)}, two[] = {CASE("kill.b", SP_PASS)};
	struct sp_results runs[2];
	struct fixture f;
	char *text SP_FREE = NULL;

	open_fixture(&f, one, 1);
	runs[0] = runs[1] = f.results;
	runs[1].cases = two;
	runs[1].run.seed = 8;
	f.set = (struct sp_results_set){.runs = runs, .n_runs = 2};
	text = write_report(&f, NULL);
	cr_expect_not_null(text);
	expect_xpath(f.path, "count(//testsuite)", "1");
	expect_xpath(f.path, "count(//testcase)", "2");
	expect_xpath(f.path, "string(//property[@name='seed']/@value)", "7 8");
	expect_xpath(f.path, "count(//property[@name='requirements'])", "0");
	close_fixture(&f);
}

Test(reports, formats)
{
	cr_assert_not_null(sp_report_format_find("junit")->write);
	cr_assert_not_null(sp_report_format_find("tap")->write);
	cr_assert_null(sp_report_format_find("junitt"));
}
