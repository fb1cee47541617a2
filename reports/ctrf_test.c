/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/json.h>
#include <reports/ctrf.h>
#include <reports/sample.h>

/*
 * The published rules: required members, types, and no other members than these at each level. 's'
 * text, 't' text that is not empty, 'i' integer, 'S' status, 'T' list of texts, 'o' object of
 * anything, 'c' the constant, 'v' a version.
 */
struct rule {
	const char *name;
	char type;
	bool required;
};

static const struct rule root_rules[] = {
    {"reportFormat", 'c', true}, {"specVersion", 'v', true},  {"reportId", 's', false},
    {"timestamp", 's', false},	 {"generatedBy", 's', false}, {"extra", 'o', false},
    {"results", 'o', true},
};
static const struct rule results_rules[] = {
    {"tool", 'o', true},	 {"summary", 'o', true}, {"tests", 'a', true},
    {"environment", 'o', false}, {"extra", 'o', false},
};
static const struct rule tool_rules[] = {
    {"name", 't', true},
    {"version", 's', false},
    {"extra", 'o', false},
};
static const struct rule summary_rules[] = {
    {"tests", 'i', true},   {"passed", 'i', true}, {"failed", 'i', true},    {"skipped", 'i', true},
    {"pending", 'i', true}, {"other", 'i', true},  {"flaky", 'i', false},    {"suites", 'i', false},
    {"start", 'i', true},   {"stop", 'i', true},   {"duration", 'i', false}, {"extra", 'o', false},
};
static const struct rule test_rules[] = {
    {"id", 's', false},	     {"name", 't', true},      {"status", 'S', true},
    {"duration", 'i', true}, {"start", 'i', false},    {"stop", 'i', false},
    {"suite", 'L', false},   {"message", 's', false},  {"trace", 's', false},
    {"snippet", 's', false}, {"line", 'i', false},     {"rawStatus", 's', false},
    {"tags", 'T', false},    {"type", 's', false},     {"filePath", 's', false},
    {"retries", 'i', false}, {"flaky", 'b', false},    {"stdout", 'T', false},
    {"stderr", 'T', false},  {"threadId", 's', false}, {"parameters", 'o', false},
    {"extra", 'o', false},
};
static const struct rule environment_rules[] = {
    {"appName", 's', false},
    {"osPlatform", 's', false},
    {"osRelease", 's', false},
    {"extra", 'o', false},
};

static bool is_texts(const cJSON *item, int least)
{
	const cJSON *text;

	if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) < least)
		return false;
	cJSON_ArrayForEach(text, item) if (!cJSON_IsString(text)) return false;
	return true;
}

static bool is_status(const char *text)
{
	static const char *const names[] = {"passed", "failed", "skipped", "pending", "other"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(names[i], text))
			return true;
	return false;
}

static bool has_type(const cJSON *item, char type)
{
	const char *text = cJSON_GetStringValue(item);
	unsigned a, b, c;
	int n = 0;

	switch (type) {
	case 's':
		return text;
	case 't':
		return text && *text;
	case 'S':
		return text && is_status(text);
	case 'c':
		return text && !strcmp(text, "CTRF");
	case 'v':
		return text && sscanf(text, "%u.%u.%u%n", &a, &b, &c, &n) == 3 && !text[n];
	case 'i':
		return cJSON_IsNumber(item) &&
		       item->valuedouble == (double)(int64_t)item->valuedouble;
	case 'b':
		return cJSON_IsBool(item);
	case 'a':
		return cJSON_IsArray(item);
	case 'T':
		return is_texts(item, 0);
	case 'L':
		return is_texts(item, 1);
	default:
		return cJSON_IsObject(item);
	}
}

static void check_object(const cJSON *object, const struct rule *rules, size_t n, const char *what)
{
	const cJSON *item;

	cr_assert(cJSON_IsObject(object), "%s is no object", what);
	cJSON_ArrayForEach(item, object)
	{
		size_t i = 0;

		while (i < n && strcmp(rules[i].name, item->string))
			i++;
		cr_assert_lt(i, n, "%s has the member \"%s\", which is not published", what,
			     item->string);
		cr_expect(has_type(item, rules[i].type), "%s.%s has not the type %c", what,
			  item->string, rules[i].type);
	}
	for (size_t i = 0; i < n; i++)
		cr_expect(!rules[i].required ||
			      cJSON_GetObjectItemCaseSensitive(object, rules[i].name),
			  "%s.%s is missing", what, rules[i].name);
}

#define CHECK(object, rules, what) check_object(object, rules, SP_COUNT(rules), what)
#define MEMBER(object, name) cJSON_GetObjectItemCaseSensitive(object, name)

/* The counts are those of the tests. */
static void check_counts(const cJSON *summary, const cJSON *tests)
{
	static const char *const names[] = {"passed", "failed", "skipped", "pending", "other"};
	int64_t total = 0;

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		int64_t told = -1, counted = 0;
		const cJSON *test;

		cJSON_ArrayForEach(test, tests) counted +=
		    !strcmp(sp_json_str(test, "status"), names[i]);
		cr_expect(sp_json_int(summary, names[i], &told));
		cr_expect_eq(told, counted, "%s: %lld told, %lld there", names[i], (long long)told,
			     (long long)counted);
	}
	cr_expect(sp_json_int(summary, "tests", &total));
	cr_expect_eq(total, cJSON_GetArraySize(tests));
}

/* Writes, reads with the strict scanner, and holds it against the rules; the caller frees. */
static cJSON *write_report(struct sample *s)
{
	char *text SP_FREE = NULL;
	cJSON *json = NULL;
	const cJSON *results, *test;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_ctrf_write(&s->set, s->path, &err), 0, "%s", err.message);
	text = sample_read(s->path);
	cr_assert_not_null(text);
	cr_assert_eq(sp_json_parse(text, strlen(text), 64 << 20, &json, &err), 0, "%s\n%s",
		     err.message, text);
	results = MEMBER(json, "results");
	CHECK(json, root_rules, "root");
	CHECK(results, results_rules, "results");
	CHECK(MEMBER(results, "tool"), tool_rules, "tool");
	CHECK(MEMBER(results, "summary"), summary_rules, "summary");
	CHECK(MEMBER(results, "environment"), environment_rules, "environment");
	cJSON_ArrayForEach(test, MEMBER(results, "tests")) CHECK(test, test_rules, "test");
	check_counts(MEMBER(results, "summary"), MEMBER(results, "tests"));
	return json;
}

static const struct {
	enum sp_verdict verdict;
	const char *status, *raw;
} rows[] = {
    {SP_PASS, "passed", "pass"},   {SP_FAIL, "failed", "fail"},	   {SP_WARN, "passed", "warn"},
    {SP_SKIP, "skipped", "skip"},  {SP_XFAIL, "skipped", "xfail"}, {SP_XPASS, "failed", "xpass"},
    {SP_ERROR, "failed", "error"},
};

Test(ctrf, every_verdict_has_its_status)
{
	struct sample s;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *tests;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	s.run.leaks = sample_leaks;
	s.run.n_leaks = 1;
	json = write_report(&s);
	tests = MEMBER(MEMBER(json, "results"), "tests");
	cr_assert_eq(cJSON_GetArraySize(tests), SP_VERDICT_MAX_ + 1);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const cJSON *test = cJSON_GetArrayItem(tests, (int)rows[i].verdict);

		cr_expect_str_eq(sp_json_str(test, "status"), rows[i].status, "%s", rows[i].raw);
		cr_expect_str_eq(sp_json_str(test, "rawStatus"), rows[i].raw);
	}
	cr_expect_str_eq(sp_json_str(cJSON_GetArrayItem(tests, SP_VERDICT_MAX_), "name"),
			 "leak.kill.a.pass");
	sample_close(&s);
}

Test(ctrf, nothing_is_lost)
{
	static const struct {
		const char *name, *value;
		bool extra;
	} members[] = {
	    {"name", "kill.b.fail", false},
	    {"message", "it lives\nstill", false},
	    {"trace", "exec \"a\"\n  -> code 0\n", false},
	    {"filePath", "suites/kill/kill.c", false},
	    {"threadId", "0", false},
	    {"clause", "K2", true},
	    {"level", "MUST", true},
	    {"subject", "bash", true},
	    {"expected", "nothing", true},
	    {"actual", "pid 7", true},
	    {"rerun", "sandproof run --case kill.b.fail", true},
	};
	struct sample s;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *test;

	sample_open(&s, &sample_cases[SP_FAIL], 1);
	json = write_report(&s);
	test = cJSON_GetArrayItem(MEMBER(MEMBER(json, "results"), "tests"), 0);
	for (size_t i = 0; i < SP_COUNT(members); i++) {
		const char *value =
		    sp_json_str(members[i].extra ? MEMBER(test, "extra") : test, members[i].name);

		cr_expect(value && !strcmp(value, members[i].value), "%s is \"%s\"",
			  members[i].name, value ? value : "(missing)");
	}
	sample_close(&s);
}

Test(ctrf, a_run_that_is_not_whole_has_failed)
{
	struct sample s;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int64_t failed = 0;

	sample_open(&s, sample_cases, 1);
	s.run.end.interrupted = true;
	json = write_report(&s);
	cr_expect(sp_json_int(MEMBER(MEMBER(json, "results"), "summary"), "failed", &failed));
	cr_expect_eq(failed, 1);
	sample_close(&s);
}

Test(ctrf, hostile_text_stays_text)
{
	for (size_t i = 0; i < SAMPLE_N_HOSTILE; i++) {
		struct sp_result_case cases[SP_VERDICT_MAX_];
		struct sample s;
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;

		for (int v = 0; v < SP_VERDICT_MAX_; v++)
			cases[v] = sample_hostile_case(sample_hostile[i], (enum sp_verdict)v);
		sample_open(&s, cases, SP_VERDICT_MAX_);
		s.run.run.host = s.run.run.subjects = (char *)sample_hostile[i];
		json = write_report(&s);
		cr_expect_eq(cJSON_GetArraySize(MEMBER(MEMBER(json, "results"), "tests")),
			     SP_VERDICT_MAX_);
		sample_close(&s);
	}
}

Test(ctrf, nothing_at_all)
{
	struct sample s;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;

	sample_open(&s, NULL, 0);
	json = write_report(&s);
	sample_close(&s);
}
