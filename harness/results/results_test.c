/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <base/json.h>
#include <results/fields.h>
#include <results/results.h>

#define SCHEMA SP_SOURCE_DIR "/harness/results/results.schema.json"

static const struct sp_result_run sample_run = {
    .schema_version = SP_RESULTS_SCHEMA_VERSION,
    .program_version = (char *)"0.1.0",
    .suite_version = (char *)"1",
    .requirements_sha256 =
	(char *)"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .subjects = (char *)"provider=bash store=sqlite",
    .capabilities_json = (char *)"{\"fs\":true,\"signals\":[1,2]}",
    .host = (char *)"host",
    .seed = UINT64_MAX,
    .start = 1796040000000,
    .jobs = 2,
    .defect = (char *)"kill-leader-only",
};

static const struct sp_result_case sample_case = {
    .id = (char *)"kill.group.leader",
    .suite = (char *)"kill",
    .subject = (char *)"bash",
    .clause = (char *)"K1",
    .level = (char *)"MUST",
    .verdict = SP_FAIL,
    .message = (char *)"line\nwith \"quotes\", \x01 and \xC3\xA9",
    .duration_ms = 12,
    .start = 1796040000500,
    .worker = 1,
    .attempt = 1,
    .file = (char *)"suites/kill/kill.c",
    .line = 42,
    .tags = (char *)"quick slow",
    .expected = (char *)"0",
    .actual = (char *)"1",
    .dialogue = (char *)"exec\n",
    .rerun = (char *)"sandproof run --case kill.group.leader",
};

static const struct sp_result_leak sample_leak = {
    .id = (char *)"kill.group.leader",
    .kind = (char *)"process",
    .message = (char *)"a process",
};

static const struct sp_result_end sample_end = {
    .failed = 1,
    .leaks = 1,
    .exit_code = 1,
    .duration_ms = 900,
    .commands = 17,
};

struct place {
	char *dir;
	char path[256];
};

static struct place make_place(void)
{
	struct place place = {NULL, ""};
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("results-test-", &place.dir, &err), 0, "%s", err.message);
	snprintf(place.path, sizeof(place.path), "%s/results.ndjson", place.dir);
	return place;
}

static void drop_place(struct place *place)
{
	sp_remove_tree(place->dir);
	free(place->dir);
}

static void write_sample(const char *path)
{
	struct sp_results_writer *writer = NULL;
	struct sp_result_case pass = sample_case;
	struct sp_error err = SP_ERROR_INIT;

	pass.id = (char *)"kill.group.other";
	pass.verdict = SP_PASS;
	pass.message = (char *)"";
	pass.tags = NULL;
	pass.expected = pass.actual = pass.dialogue = pass.rerun = NULL;
	cr_assert_eq(sp_results_create(path, &writer, &err), 0, "%s", err.message);
	cr_assert_eq(sp_results_write_run(writer, &sample_run), 0);
	cr_assert_eq(sp_results_write_case(writer, &sample_case), 0);
	cr_assert_eq(sp_results_write_leak(writer, &sample_leak), 0);
	cr_assert_eq(sp_results_write_case(writer, &pass), 0);
	cr_assert_eq(sp_results_write_end(writer, &sample_end), 0);
	cr_assert_eq(sp_results_close(writer), 0);
}

static struct sp_bytes read_sample(const char *path)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_read_file(path, 1 << 20, &bytes, &err), 0, "%s", err.message);
	return bytes;
}

Test(results, verdict_names_go_both_ways)
{
	for (int i = 0; i < SP_VERDICT_MAX_; i++)
		cr_expect_eq(sp_verdict_from_name(sp_verdict_name((enum sp_verdict)i)), i);
	cr_expect_eq(sp_verdict_from_name("green"), -1);
	cr_expect_str_eq(sp_verdict_name(SP_VERDICT_MAX_), "unknown");
}

Test(results, what_is_written_is_read)
{
	struct place place = make_place();
	struct sp_results r = {.complete = false};
	struct sp_error err = SP_ERROR_INIT;

	write_sample(place.path);
	cr_assert_eq(sp_results_read(place.path, &r, &err), 0, "%s", err.message);
	cr_expect(r.complete);
	cr_expect_eq(r.run.seed, UINT64_MAX, "no digit of the seed is lost");
	cr_expect_str_eq(r.run.capabilities_json, sample_run.capabilities_json);
	cr_expect_str_eq(r.run.defect, "kill-leader-only");
	cr_assert_eq(r.n_cases, 2);
	cr_expect_str_eq(r.cases[0].message, sample_case.message);
	cr_expect_str_eq(r.cases[0].tags, "quick slow");
	cr_expect_str_eq(r.cases[0].dialogue, "exec\n");
	cr_expect_eq(r.cases[0].verdict, SP_FAIL);
	cr_expect_eq(r.cases[0].line, 42);
	cr_expect_eq(r.cases[0].start, sample_case.start);
	cr_expect_str_eq(r.cases[1].tags, "");
	cr_expect_null(r.cases[1].expected);
	cr_assert_eq(r.n_leaks, 1);
	cr_expect_str_eq(r.leaks[0].kind, "process");
	cr_expect_eq(r.end.commands, 17);
	cr_expect_eq(r.end.exit_code, 1);
	sp_results_done(&r);
	drop_place(&place);
}

/* Wherever the file is cut off: what is whole is read, and the rest is counted. */
Test(results, a_file_that_was_cut_off_is_read_as_far_as_it_goes)
{
	struct place place = make_place();
	struct sp_bytes whole;
	size_t first_line;

	write_sample(place.path);
	whole = read_sample(place.path);
	first_line =
	    (size_t)((unsigned char *)memchr(whole.data, '\n', whole.len) - whole.data) + 1;
	for (size_t len = 0; len < whole.len; len++) {
		struct sp_results r = {.complete = false};
		struct sp_error err = SP_ERROR_INIT;
		size_t lines = 0;
		int rc;

		for (size_t i = 0; i < len; i++)
			lines += whole.data[i] == '\n';
		cr_assert_eq(truncate(place.path, 0), 0);
		cr_assert_eq(sp_write_file(place.path, whole.data, len, 0600, NULL), 0);
		rc = sp_results_read(place.path, &r, &err);
		if (len < first_line) {
			cr_expect_eq(rc, SP_PROTOCOL, "%zu bytes: nothing whole", len);
			continue;
		}
		cr_assert_eq(rc, 0, "%zu bytes: %s", len, err.message);
		cr_expect(!r.complete, "%zu bytes", len);
		cr_expect(r.end.interrupted);
		cr_expect_eq(r.end.failed, lines > 1, "%zu bytes", len);
		cr_expect_eq(r.end.leaks, lines > 2, "%zu bytes", len);
		cr_expect_eq(r.end.passed, lines > 3, "%zu bytes", len);
		sp_results_done(&r);
	}
	sp_bytes_done(&whole);
	drop_place(&place);
}

/* ---- lines that are refused ---- */

#define RUN_LINE                                                                                   \
	"{\"type\":\"run\",\"schema_version\":1,\"program_version\":\"0\",\"suite_version\":"      \
	"\"1\","                                                                                   \
	"\"requirements_sha256\":\"\",\"subjects\":\"\",\"capabilities\":null,\"host\":\"\","      \
	"\"seed\":\"0\",\"start\":0,\"jobs\":1}\n"
#define LEAK_LINE "{\"type\":\"leak\",\"id\":\"a\",\"kind\":\"file\",\"message\":\"m\"}\n"
#define DEFECT_LINE                                                                                \
	"{\"type\":\"defect\",\"id\":\"kill-none\",\"suite\":\"kill\",\"status\":\"caught\","      \
	"\"caught_by\":[\"kill.a\",\"kill.b\"],\"evidence\":\"it lives\"}\n"
#define END_LINE                                                                                   \
	"{\"type\":\"end\",\"passed\":0,\"failed\":0,\"skipped\":0,\"warned\":0,\"errors\":0,"     \
	"\"leaks\":0,\"xfailed\":0,\"xpassed\":0,\"exit_code\":0,\"duration_ms\":0,"               \
	"\"commands\":0,\"interrupted\":false}\n"

/* A case with members that may be of any kind. */
#define CASE_LINE(verdict, duration, tags, expected)						   \
	"{\"type\":\"case\",\"id\":\"kill.a\",\"suite\":\"kill\","				   \
	"\"subject\":\"bash\",\"clause\":\"K1\",\"level\":\"MUST\","				   \
	"\"verdict\":\"" verdict "\",\"message\":\"m\",\"duration_ms\":" duration ","		   \
	"\"start\":0,\"worker\":0,\"attempt\":1,\"file\":\"\",\"line\":0,"			   \
	"\"tags\":" tags ",\"expected\":" expected "}\n"
#define RUN_HEAD_OF(seed, jobs)									   \
	"{\"type\":\"run\",\"schema_version\":1,\"program_version\":\"0\","			   \
	"\"suite_version\":\"1\",\"requirements_sha256\":\"\",\"subjects\":\"\","		   \
	"\"capabilities\":null,\"host\":\"\",\"seed\":" seed ","				   \
	"\"start\":0,\"jobs\":" jobs "}\n"

static const struct {
	const char *text;
	/* NULL: accepted. */
	const char *message;
} lines[] = {
    {RUN_LINE, NULL},
    {RUN_LINE LEAK_LINE END_LINE, NULL},
    {RUN_LINE DEFECT_LINE END_LINE, NULL},
    {RUN_LINE "{\"type\":\"defect\",\"anything\":1}\n", "line 2: \"id\" is missing"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"a\",\"kind\":\"file\",\"message\":\"m\","
	      "\"later\":{\"a\":[\"}\",1]}}\n",
     NULL},
    {RUN_LINE "[]\n", "line 2: not an object"},
    {RUN_LINE "7\n", "line 2: not an object"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"a\"", NULL},
    {"", "holds no whole line"},
    {LEAK_LINE, "does not begin with a run line"},
    {RUN_LINE RUN_LINE, NULL},
    {RUN_LINE END_LINE RUN_LINE LEAK_LINE, NULL},
    {RUN_LINE END_LINE LEAK_LINE, "after the end"},
    {RUN_LINE "{\"type\":\"leek\"}\n", "line 2: \"type\" is not known"},
    {RUN_LINE "{}\n", "\"type\" is missing"},
    {RUN_LINE "nonsense\n", "line 2"},
    {RUN_LINE "\n", "line 2"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"a\",\"kind\":\"file\"}\n",
     "line 2: \"message\" is missing"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":1,\"kind\":\"file\",\"message\":\"\"}\n",
     "\"id\" is not a string"},
    {"{\"type\":\"run\",\"schema_version\":2}\n", "line 1: schema_version 2"},
    {RUN_LINE END_LINE "{\"type\":\"run\",\"schema_version\":3}\n", "line 3: schema_version 3"},
    {"{\"type\":\"run\",\"schema_version\":1}\n", "\"program_version\" is missing"},
    {RUN_LINE CASE_LINE("pass", "1", "[\"quick\"]", "\"x\""), NULL},
    {RUN_LINE CASE_LINE("past", "1", "[]", "\"x\""), "line 2: \"verdict\" is not a verdict"},
    {RUN_LINE CASE_LINE("pass", "\"1\"", "[]", "\"x\""), "\"duration_ms\" is not an integer"},
    {RUN_LINE CASE_LINE("pass", "1.5", "[]", "\"x\""), "\"duration_ms\" is not an integer"},
    {RUN_LINE CASE_LINE("pass", "1", "\"quick\"", "\"x\""), "\"tags\" is not an array"},
    {RUN_LINE CASE_LINE("pass", "1", "[1]", "\"x\""), "\"tags\" holds something else"},
    {RUN_LINE CASE_LINE("fail", "1", "[]", "7"), "\"expected\" is not a string"},
    {RUN_LINE CASE_LINE("pass", "99999999999999999999", "[]", "\"x\""), "line 2"},
    {RUN_HEAD_OF("\"x\"", "1"), "\"seed\" is not a string of digits"},
    {RUN_HEAD_OF("7", "1"), "\"seed\" is not a string of digits"},
    {RUN_HEAD_OF("\"99999999999999999999\"", "1"), "\"seed\" is not a string of digits"},
    {RUN_HEAD_OF("\"7\"", "4294967296"), "\"jobs\" is out of range"},
    {RUN_HEAD_OF("\"7\"", "-1"), "\"jobs\" is out of range"},
    {RUN_LINE "{\"type\":\"end\",\"passed\":0,\"failed\":0,\"skipped\":0,\"warned\":0,"
	      "\"errors\":0,\"leaks\":0,\"xfailed\":0,\"xpassed\":0,\"exit_code\":0,"
	      "\"duration_ms\":0,\"commands\":0,\"interrupted\":0}\n",
     "\"interrupted\" is not true or false"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"\\ud800\",\"kind\":\"file\",\"message\":\"\"}\n",
     "line 2: not acceptable JSON at byte 21: a lone surrogate"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"\xff\",\"kind\":\"file\",\"message\":\"\"}\n",
     "not valid UTF-8"},
    {RUN_LINE "{\"type\":\"leak\",\"id\":\"\x01\",\"kind\":\"file\",\"message\":\"\"}\n",
     "line 2: not acceptable JSON"},
};

Test(results, lines_that_are_not_ours_are_refused_by_number)
{
	struct place place = make_place();

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct sp_results r = {.complete = false};
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		cr_assert_eq(
		    sp_write_file(place.path, lines[i].text, strlen(lines[i].text), 0600, NULL), 0);
		rc = sp_results_read(place.path, &r, &err);
		cr_expect_eq(rc, lines[i].message ? SP_PROTOCOL : 0, "row %zu: %d %s", i, rc,
			     err.message);
		if (lines[i].message)
			cr_expect(strstr(err.message, lines[i].message), "row %zu: %s", i,
				  err.message);
		else
			sp_results_done(&r);
	}
	drop_place(&place);
}

/* A run that was cut off is counted from its cases, each verdict under its own name. */
static const struct {
	const char *line;
	size_t offset;
} counted[] = {
    {CASE_LINE("pass", "1", "[]", "\"x\""), offsetof(struct sp_result_end, passed)},
    {CASE_LINE("fail", "1", "[]", "\"x\""), offsetof(struct sp_result_end, failed)},
    {CASE_LINE("warn", "1", "[]", "\"x\""), offsetof(struct sp_result_end, warned)},
    {CASE_LINE("skip", "1", "[]", "\"x\""), offsetof(struct sp_result_end, skipped)},
    {CASE_LINE("xfail", "1", "[]", "\"x\""), offsetof(struct sp_result_end, xfailed)},
    {CASE_LINE("xpass", "1", "[]", "\"x\""), offsetof(struct sp_result_end, xpassed)},
    {CASE_LINE("error", "1", "[]", "\"x\""), offsetof(struct sp_result_end, errors)},
};

Test(results, what_was_cut_off_is_counted_from_its_cases)
{
	struct place place = make_place();

	for (size_t i = 0; i < SP_COUNT(counted); i++) {
		struct sp_results r = {.complete = false};
		struct sp_error err = SP_ERROR_INIT;
		char *text SP_FREE = NULL;
		size_t sum, n;

		cr_assert_geq(asprintf(&text, "%s%s", RUN_LINE, counted[i].line), 0);
		cr_assert_eq(sp_write_file(place.path, text, strlen(text), 0600, NULL), 0);
		cr_assert_eq(sp_results_read(place.path, &r, &err), 0, "%s", err.message);
		memcpy(&n, (char *)&r.end + counted[i].offset, sizeof(n));
		sum = r.end.passed + r.end.failed + r.end.warned + r.end.skipped + r.end.xfailed +
		      r.end.xpassed + r.end.errors;
		cr_expect(n == 1 && sum == 1, "row %zu: %zu under its name, %zu in all", i, n, sum);
		sp_results_done(&r);
	}
	drop_place(&place);
}

/* ---- several runs ---- */

static void write_text(const char *path, const char *text)
{
	cr_assert_eq(sp_write_file(path, text, strlen(text), 0600, NULL), 0);
}

static const struct {
	const char *remark;
	const char *text;
	/* Runs, and whether the first and the last one are whole. */
	size_t n_runs;
	bool first_whole, last_whole;
} files[] = {
    {"one after another", RUN_LINE END_LINE RUN_LINE DEFECT_LINE END_LINE, 2, true, true},
    {"the first has no end", RUN_LINE LEAK_LINE RUN_LINE END_LINE, 2, false, true},
    {"appended to half a line", RUN_LINE "{\"type\":\"leak\",\"id\":\"a" RUN_LINE END_LINE, 2,
     false, true},
    {"appended to half a line that quotes a run line",
     RUN_LINE "{\"type\":\"leak\",\"id\":\"{\\\"type\\\":\\\"run\\\"," RUN_LINE END_LINE, 2, false,
     true},
    {"both cut off", RUN_LINE LEAK_LINE RUN_LINE "{\"type\"", 2, false, false},
};

Test(results, a_file_may_hold_several_runs)
{
	struct place place = make_place();

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		struct sp_results_set set = SP_RESULTS_SET_INIT;
		struct sp_error err = SP_ERROR_INIT;

		write_text(place.path, files[i].text);
		cr_expect_eq(sp_results_add(&set, place.path, &err), 0, "%s: %s", files[i].remark,
			     err.message);
		cr_assert_eq(set.n_runs, files[i].n_runs, "%s: %zu runs", files[i].remark,
			     set.n_runs);
		cr_expect_eq(set.runs[0].complete, files[i].first_whole, "%s", files[i].remark);
		cr_expect_eq(set.runs[0].end.interrupted, !files[i].first_whole, "%s",
			     files[i].remark);
		cr_expect_eq(set.runs[set.n_runs - 1].complete, files[i].last_whole, "%s",
			     files[i].remark);
		sp_results_set_done(&set);
	}
	drop_place(&place);
}

static const struct {
	const char *remark;
	const char *text;
	size_t dropped;
} copies[] = {
    {"the same again", RUN_LINE LEAK_LINE END_LINE, 1},
    {"twice again", RUN_LINE LEAK_LINE END_LINE RUN_LINE LEAK_LINE END_LINE, 2},
    {"cut off", RUN_LINE LEAK_LINE, 0},
    {"another leak", RUN_LINE LEAK_LINE LEAK_LINE END_LINE, 0},
    {"faults", RUN_LINE DEFECT_LINE END_LINE, 0},
    {"one of two", RUN_LINE END_LINE RUN_LINE LEAK_LINE END_LINE, 1},
};

Test(results, a_copy_of_a_run_is_dropped)
{
	struct place place = make_place();

	for (size_t i = 0; i < SP_COUNT(copies); i++) {
		struct sp_results_set set = SP_RESULTS_SET_INIT;
		struct sp_error err = SP_ERROR_INIT;
		size_t dropped, whole;

		write_text(place.path, RUN_LINE LEAK_LINE END_LINE);
		cr_assert_eq(sp_results_add(&set, place.path, &err), 0, "%s", err.message);
		write_text(place.path, copies[i].text);
		cr_assert_eq(sp_results_add(&set, place.path, &err), 0, "%s", err.message);
		whole = set.n_runs;
		dropped = sp_results_drop_copies(&set, 1);
		cr_expect(dropped == copies[i].dropped && set.n_runs == whole - dropped,
			  "%s: %zu of %zu dropped, %zu expected", copies[i].remark, dropped, whole,
			  copies[i].dropped);
		sp_results_set_done(&set);
	}
	drop_place(&place);
}

Test(results, a_file_that_is_refused_leaves_the_set_as_it_was)
{
	struct sp_results_set set = SP_RESULTS_SET_INIT;
	struct place place = make_place();
	struct sp_error err = SP_ERROR_INIT;

	write_text(place.path, RUN_LINE LEAK_LINE END_LINE);
	cr_assert_eq(sp_results_add(&set, place.path, &err), 0, "%s", err.message);
	write_text(place.path, RUN_LINE LEAK_LINE END_LINE RUN_LINE "nonsense\n");
	cr_expect_eq(sp_results_add(&set, place.path, &err), SP_PROTOCOL);
	cr_expect_eq(sp_results_add(&set, "/nowhere/results.ndjson", &err), SP_IO);
	cr_expect_eq(set.n_runs, 1);
	cr_expect_str_eq(set.runs[0].leaks[0].message, "m");
	sp_results_set_done(&set);
	drop_place(&place);
}

Test(results, a_defect_is_read_as_it_was_written)
{
	struct sp_result_defect defect = {.id = (char *)"kill-none",
					  .suite = (char *)"kill",
					  .status = (char *)"caught",
					  .caught_by = (char *)"kill.a kill.b"};
	struct sp_results_writer *writer = NULL;
	struct sp_results r = {.complete = false};
	struct place place = make_place();
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_results_create(place.path, &writer, &err), 0, "%s", err.message);
	cr_expect_eq(sp_results_write_run(writer, &sample_run), 0);
	cr_expect_eq(sp_results_write_defect(writer, &defect), 0);
	cr_expect_eq(sp_results_close(writer), 0);
	cr_assert_eq(sp_results_read(place.path, &r, &err), 0, "%s", err.message);
	cr_assert_eq(r.n_defects, 1);
	cr_expect_str_eq(r.defects[0].caught_by, "kill.a kill.b");
	cr_expect_null(r.defects[0].evidence);
	sp_results_done(&r);
	drop_place(&place);
}

static const struct {
	const char *version, *digest;
	int rc;
} requirements[] = {
    {"1", "aa", 0},
    {"2", "aa", SP_CONFLICT},
    {"1", "bb", SP_CONFLICT},
};

Test(results, two_requirement_sets_are_told_apart)
{
	for (size_t i = 0; i < SP_COUNT(requirements); i++) {
		struct sp_results runs[3] = {
		    {.run = {.suite_version = (char *)"1", .requirements_sha256 = (char *)"aa"},
		     .source = "a.ndjson"},
		    {.run = {.suite_version = (char *)"1", .requirements_sha256 = (char *)"aa"},
		     .source = "b.ndjson"},
		    {.run = {.suite_version = (char *)requirements[i].version,
			     .requirements_sha256 = (char *)requirements[i].digest},
		     .source = "c.ndjson"},
		};
		struct sp_results_set set = {.runs = runs, .n_runs = 3};
		struct sp_error err = SP_ERROR_INIT;

		cr_expect_eq(sp_results_same_requirements(&set, &err), requirements[i].rc,
			     "row %zu", i);
		if (requirements[i].rc)
			cr_expect(strstr(err.message, "a.ndjson") &&
				      strstr(err.message, "c.ndjson"),
				  "%s", err.message);
	}
}

/* Each escape of JSON, in a text that is long enough to be looked for and in one that is not. */
Test(results, texts_are_decoded)
{
	static const char line[] = RUN_LINE
	    "{\"type\":\"leak\",\"message\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac"
	    "\\ud83d\\udd11 end\" , \"kind\" :\"file\",\"id\":\"\"}\n";
	struct sp_results r = {.complete = false};
	struct place place = make_place();
	struct sp_error err = SP_ERROR_INIT;

	write_text(place.path, line);
	cr_assert_eq(sp_results_read(place.path, &r, &err), 0, "%s", err.message);
	cr_expect_str_eq(r.leaks[0].message,
			 "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91 end");
	cr_expect_str_eq(r.leaks[0].id, "");
	sp_results_done(&r);
	drop_place(&place);
}

/* Evidence without measure, every byte of it six in JSON. */
Test(results, ten_mebibytes_of_evidence_are_read)
{
	size_t len = 10 << 20;
	char *evidence SP_FREE = malloc(len + 1);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(128 << 20);
	struct sp_results r = {.complete = false};
	struct place place = make_place();
	struct sp_error err = SP_ERROR_INIT;

	memset(evidence, '\x01', len);
	evidence[len] = '\0';
	sp_buf_adds(&text,
		    RUN_LINE "{\"type\":\"leak\",\"id\":\"a\",\"kind\":\"file\",\"message\":");
	sp_buf_add_json(&text, evidence, len);
	sp_buf_adds(&text, "}\n");
	cr_assert_eq(sp_write_file(place.path, text.data, text.len, 0600, &err), 0);
	cr_assert_eq(sp_results_read(place.path, &r, &err), 0, "%s", err.message);
	cr_expect(!strcmp(r.leaks[0].message, evidence));
	sp_results_done(&r);
	drop_place(&place);
}

/* ---- the disk ---- */

Test(results, a_full_disk_is_noticed_and_stays_noticed)
{
	struct sp_results_writer *writer = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_results_create("/dev/full", &writer, &err), 0, "%s", err.message);
	cr_expect_eq(sp_results_write_run(writer, &sample_run), -ENOSPC);
	cr_expect_eq(sp_results_write_leak(writer, &sample_leak), -ENOSPC);
	cr_expect_eq(sp_results_close(writer), -ENOSPC);
}

Test(results, a_place_that_cannot_be_written_is_named)
{
	struct sp_results_writer *writer = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_results_create("/nowhere/at/all", &writer, &err), SP_IO);
	cr_expect(strstr(err.message, "/nowhere/at/all"), "%s", err.message);
	cr_expect_eq(sp_results_close(NULL), 0);
}

/* ---- the committed schema ---- */

static const char *schema_type(const cJSON *property)
{
	const char *type = sp_json_str(property, "type");

	return type ? type : "any";
}

static bool is_required(const cJSON *definition, const char *name)
{
	const cJSON *required = cJSON_GetObjectItemCaseSensitive(definition, "required");
	const cJSON *item;

	cJSON_ArrayForEach(item, required) if (cJSON_IsString(item) &&
					       !strcmp(item->valuestring, name)) return true;
	return false;
}

/* The table and the schema say the same of one kind of line. */
static void compare_line(const cJSON *definitions, enum sp_line_kind kind)
{
	const struct sp_line *line = sp_line_of(kind);
	const cJSON *definition = cJSON_GetObjectItemCaseSensitive(definitions, line->type);
	const cJSON *properties = cJSON_GetObjectItemCaseSensitive(definition, "properties");

	cr_assert(properties, "%s: no properties", line->type);
	/* "type" is the one member that is not in the table. */
	cr_expect_eq((size_t)cJSON_GetArraySize(properties), line->n_fields + 1,
		     "%s: %d properties for %zu fields", line->type, cJSON_GetArraySize(properties),
		     line->n_fields);
	for (size_t i = 0; i < line->n_fields; i++) {
		const struct sp_field *field = &line->fields[i];
		const cJSON *property = cJSON_GetObjectItemCaseSensitive(properties, field->name);

		cr_assert(property, "%s.%s is not in the schema", line->type, field->name);
		/* A JSON value is narrowed by the schema where it can be. */
		if (field->kind != SP_FIELD_JSON)
			cr_expect_str_eq(schema_type(property), sp_field_json_type(field->kind),
					 "%s.%s", line->type, field->name);
		cr_expect_eq(is_required(definition, field->name), field->required, "%s.%s",
			     line->type, field->name);
		cr_expect(sp_json_str(property, "description"), "%s.%s has no description",
			  line->type, field->name);
	}
}

Test(results, schema_and_table_agree)
{
	struct sp_bytes bytes = read_sample(SCHEMA);
	cJSON *schema = NULL;
	const cJSON *definitions;
	struct sp_error err = SP_ERROR_INIT;
	int64_t version = 0;

	cr_assert_eq(sp_json_parse((char *)bytes.data, bytes.len, 1 << 20, &schema, &err), 0, "%s",
		     err.message);
	cr_expect(sp_json_int(schema, "schema_version", &version));
	cr_expect_eq(version, SP_RESULTS_SCHEMA_VERSION);
	definitions = cJSON_GetObjectItemCaseSensitive(schema, "$defs");
	for (int kind = 0; kind < SP_LINE_MAX_; kind++)
		compare_line(definitions, (enum sp_line_kind)kind);
	cJSON_Delete(schema);
	sp_bytes_done(&bytes);
}

static enum sp_line_kind kind_of(const char *type)
{
	for (int kind = 0; kind < SP_LINE_MAX_; kind++)
		if (!strcmp(sp_line_of((enum sp_line_kind)kind)->type, type))
			return (enum sp_line_kind)kind;
	cr_assert_fail("unknown type %s", type);
	return SP_LINE_MAX_;
}

static const char *json_type(const cJSON *item)
{
	if (cJSON_IsString(item))
		return "string";
	if (cJSON_IsArray(item))
		return "array";
	if (cJSON_IsBool(item))
		return "boolean";
	if (cJSON_IsNumber(item))
		return "integer";
	return "any";
}

/* A line has every required member, no other ones, each of its type. */
static void check_line(const cJSON *object)
{
	const struct sp_line *line = sp_line_of(kind_of(sp_json_str(object, "type")));
	int known = 1;

	for (size_t i = 0; i < line->n_fields; i++) {
		const struct sp_field *field = &line->fields[i];
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field->name);

		cr_expect(item || !field->required, "%s.%s is missing", line->type, field->name);
		if (!item)
			continue;
		known++;
		if (field->kind != SP_FIELD_JSON)
			cr_expect_str_eq(json_type(item), sp_field_json_type(field->kind), "%s.%s",
					 line->type, field->name);
	}
	cr_expect_eq(cJSON_GetArraySize(object), known, "%s has members of its own", line->type);
}

Test(results, what_is_written_fits_the_table)
{
	struct place place = make_place();
	struct sp_bytes bytes;
	const char *at, *end;
	size_t n = 0;

	write_sample(place.path);
	bytes = read_sample(place.path);
	at = (char *)bytes.data;
	for (; (end = strchr(at, '\n')); at = end + 1, n++) {
		cJSON *object = NULL;
		struct sp_error err = SP_ERROR_INIT;

		cr_assert_eq(sp_json_parse(at, (size_t)(end - at), 1 << 20, &object, &err), 0, "%s",
			     err.message);
		check_line(object);
		cJSON_Delete(object);
	}
	cr_expect_eq(n, 5, "%zu lines", n);
	sp_bytes_done(&bytes);
	drop_place(&place);
}
