/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/json.h>
#include <reports/clauses.h>
#include <reports/model.h>
#include <reports/sample.h>

#define SCHEMA SP_SOURCE_DIR "/reports/clauses.schema.json"

/* Two subjects: one with every verdict, one of which a case of K3 could not be judged. */
static struct sp_result_case two_subjects[SP_VERDICT_MAX_ + 1];

static void open_two(struct sample *s)
{
	memcpy(two_subjects, sample_cases, sizeof(sample_cases));
	two_subjects[SP_VERDICT_MAX_] = sample_cases[SP_ERROR];
	two_subjects[SP_VERDICT_MAX_].id = (char *)"kill.d.skip";
	two_subjects[SP_VERDICT_MAX_].clause = (char *)"K3";
	two_subjects[SP_VERDICT_MAX_].subject = (char *)"local:poll";
	sample_open(s, two_subjects, SP_VERDICT_MAX_ + 1);
}

Test(clauses, the_table)
{
	static const char expected[] =
	    "clause   bash                                        local:poll\n"
	    "kill:K1  exercised: 1 warn, 1 pass                   not-selected\n"
	    "kill:K2  exercised: 1 fail, 1 error, 1 xpass, 1 xfail  not-selected\n"
	    "kill:K3  skipped: 1 skip                             could-not: 1 error\n"
	    "kill:K4  not-selected                                not-selected\n\n"
	    "bash: 2 of 4 clauses exercised, 1 skipped, 0 could not be judged, 1 not selected\n"
	    "local:poll: 0 of 4 clauses exercised, 0 skipped, 1 could not be judged, 3 not "
	    "selected\n";
	struct sample s;
	struct sp_error err = SP_ERROR_INIT;
	char *text SP_FREE = NULL, *squeezed SP_FREE = NULL, *to;

	open_two(&s);
	cr_expect_eq(sp_clauses_write(&s.set, s.path, &err), 0, "%s", err.message);
	text = sample_read(s.path);
	/* Widths are checked by the eye; here each run of blanks is one. */
	squeezed = calloc(1, strlen(text) + sizeof(expected));
	to = squeezed;
	for (const char *at = text; *at; at++)
		if (*at != ' ' || at[1] != ' ')
			*to++ = *at;
	*to++ = '\0';
	char *wanted = to;
	for (const char *at = expected; *at; at++)
		if (*at != ' ' || at[1] != ' ')
			*to++ = *at;
	cr_expect_str_eq(squeezed, wanted, "\"%s\"\nexpected\n\"%s\"", squeezed, wanted);
	sample_close(&s);
}

/* Every member that is written is in the schema, with its type, and every required one is written.
 */
static void check_schema(const cJSON *json, const cJSON *schema, const char *where)
{
	const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	const cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required"), *item;
	const cJSON *items = cJSON_GetObjectItemCaseSensitive(schema, "items");
	const char *type = sp_json_str(schema, "type");

	cr_expect(!type || (!strcmp(type, "object") && cJSON_IsObject(json)) ||
		      (!strcmp(type, "array") && cJSON_IsArray(json)) ||
		      (!strcmp(type, "string") && cJSON_IsString(json)) ||
		      (!strcmp(type, "integer") && cJSON_IsNumber(json)) ||
		      (!strcmp(type, "boolean") && cJSON_IsBool(json)),
		  "%s is no %s", where, type);
	cJSON_ArrayForEach(item, required)
	    cr_expect(cJSON_GetObjectItemCaseSensitive(json, item->valuestring), "%s.%s is missing",
		      where, item->valuestring);
	if (items) {
		cJSON_ArrayForEach(item, json) check_schema(item, items, where);
	} else if (properties) {
		cJSON_ArrayForEach(item, json)
		{
			const cJSON *of =
			    cJSON_GetObjectItemCaseSensitive(properties, item->string);

			cr_assert(of, "%s.%s is not in the schema", where, item->string);
			check_schema(item, of, item->string);
		}
	}
}

Test(clauses, json_fits_its_schema)
{
	struct sample s;
	struct sp_error err = SP_ERROR_INIT;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL, *schema SP_CLEANUP(sp_json_done) = NULL;
	char *text SP_FREE = NULL, *schema_text SP_FREE = sample_read(SCHEMA);
	const cJSON *bash, *clause;

	open_two(&s);
	cr_expect_eq(sp_clauses_json_write(&s.set, s.path, &err), 0, "%s", err.message);
	text = sample_read(s.path);
	cr_assert_eq(sp_json_parse(text, strlen(text), 1 << 20, &json, &err), 0, "%s", err.message);
	cr_assert_eq(sp_json_parse(schema_text, strlen(schema_text), 1 << 20, &schema, &err), 0,
		     "%s", err.message);
	check_schema(json, schema, "root");
	bash = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "subjects"), 0);
	cr_expect_str_eq(sp_json_str(bash, "subject"), "bash");
	clause = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(bash, "clauses"), 2);
	cr_expect_str_eq(sp_json_str(clause, "clause"), "K3");
	cr_expect_str_eq(sp_json_str(clause, "state"), "skipped");
	cr_expect_str_eq(sp_json_str(clause, "reason"), "needs control");
	sample_close(&s);
}

/* Without a case the table says why it is empty. */
static const struct {
	const char *remark;
	size_t defects;
	const char *says, *never;
} empty_rows[] = {
    {"a proof", 2, "a proof by `sandproof prove`, with 1 of 2 faults caught", NULL},
    {"nothing at all", 0, "clauses are covered by results of `sandproof run`", "a proof"},
};

Test(clauses, a_table_of_nothing_says_why)
{
	struct sp_result_defect defects[] = {
	    {(char *)"kill-none", (char *)"kill", (char *)"caught", (char *)"kill.a", NULL},
	    {(char *)"kill-all", (char *)"kill", (char *)"green", NULL, NULL},
	};

	for (size_t i = 0; i < SP_COUNT(empty_rows); i++) {
		struct sample s;
		struct sp_error err = SP_ERROR_INIT;
		char *text SP_FREE = NULL;
		const char *never = empty_rows[i].never;

		sample_open(&s, NULL, 0);
		s.run.defects = defects;
		s.run.n_defects = empty_rows[i].defects;
		cr_expect_eq(sp_clauses_write(&s.set, s.path, &err), 0, "%s", err.message);
		text = sample_read(s.path);
		cr_expect(text && strstr(text, empty_rows[i].says), "%s: no \"%s\" in \"%s\"",
			  empty_rows[i].remark, empty_rows[i].says, text);
		cr_expect(!never || !text || !strstr(text, never), "%s: \"%s\" in \"%s\"",
			  empty_rows[i].remark, never, text);
		sample_close(&s);
	}
}

/* ---- the matrix below ---- */

Test(model, shards_and_repeats_are_merged_by_the_worst)
{
	struct sp_result_case first[] = {sample_cases[SP_PASS], sample_cases[SP_SKIP]};
	struct sp_result_case second[] = {sample_cases[SP_FAIL], sample_cases[SP_PASS]};
	struct sp_results runs[2] = {
	    {.run = SAMPLE_RUN, .cases = first, .n_cases = 2, .complete = true},
	    {.run = SAMPLE_RUN, .cases = second, .n_cases = 2, .complete = true},
	};
	struct sp_results_set set = {.runs = runs, .n_runs = 2};
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct sp_error err = SP_ERROR_INIT;

	second[1].id = second[0].id;
	second[1].clause = second[0].clause;
	cr_assert_eq(sp_model_make(&set, &m, &err), 0, "%s", err.message);
	cr_expect_eq(m.n_subjects, 1);
	cr_expect_eq(m.n_rows, 3);
	cr_expect_eq(m.subjects[0].counts[SP_FAIL], 1, "the worst of two results counts");
	cr_expect_eq(m.subjects[0].n_cases, 3);
	cr_expect(!m.mixed);
}

Test(model, runs_with_a_fault_are_proof_and_not_results)
{
	struct sp_result_case good[] = {sample_cases[SP_PASS]};
	struct sp_result_case caught[] = {sample_cases[SP_FAIL], sample_cases[SP_SKIP]};
	struct sp_result_case green[] = {sample_cases[SP_PASS]};
	struct sp_result_case skipped[] = {sample_cases[SP_SKIP]};
	struct sp_result_defect line = {(char *)"kill-line", (char *)"kill", (char *)"caught",
					(char *)"kill.x kill.y", (char *)"seen"};
	struct sp_results runs[] = {
	    {.run = SAMPLE_RUN,
	     .cases = good,
	     .n_cases = 1,
	     .defects = &line,
	     .n_defects = 1,
	     .complete = true},
	    {.run = SAMPLE_RUN, .cases = caught, .n_cases = 2, .complete = true},
	    {.run = SAMPLE_RUN, .cases = green, .n_cases = 1, .complete = true},
	    {.run = SAMPLE_RUN, .cases = skipped, .n_cases = 1, .complete = true},
	    {.run = SAMPLE_RUN, .cases = caught, .n_cases = 2, .complete = true},
	};
	static const char *const wanted[][3] = {
	    {"kill-green", "green", ""},
	    {"kill-caught", "caught", "kill.b.fail"},
	    {"kill-line", "caught", "kill.x kill.y"},
	    {"kill-twice", "caught", "kill.b.fail"},
	};
	struct sp_results_set set = {.runs = runs, .n_runs = SP_COUNT(runs)};
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct sp_error err = SP_ERROR_INIT;

	runs[1].run.defect = (char *)"kill-caught";
	runs[2].run.defect = (char *)"kill-green";
	/* Skipped on one stack, caught on another. */
	runs[3].run.defect = runs[4].run.defect = (char *)"kill-twice";
	cr_assert_eq(sp_model_make(&set, &m, &err), 0, "%s", err.message);
	cr_expect_eq(m.subjects[0].n_cases, 1, "the subject has passed");
	cr_expect_eq(m.subjects[0].counts[SP_FAIL], 0);
	cr_assert_eq(m.n_defects, SP_COUNT(wanted));
	for (size_t i = 0; i < SP_COUNT(wanted); i++) {
		cr_expect_str_eq(m.defects[i].id, wanted[i][0]);
		cr_expect_str_eq(m.defects[i].status, wanted[i][1], "%s", wanted[i][0]);
		cr_expect_str_eq(m.defects[i].caught_by, wanted[i][2], "%s", wanted[i][0]);
	}
}

Test(model, a_run_with_a_fault_alone_is_reported)
{
	struct sample s;
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct sp_error err = SP_ERROR_INIT;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	s.run.run.defect = (char *)"kill-none";
	cr_assert_eq(sp_model_make(&s.set, &m, &err), 0, "%s", err.message);
	cr_expect_eq(m.n_rows, SP_VERDICT_MAX_);
	cr_expect_str_eq(m.subjects[0].label, "bash + fault kill-none");
	sample_close(&s);
}

Test(model, clauses_come_in_the_order_of_their_numbers)
{
	struct sp_result_case cases[] = {sample_cases[SP_PASS], sample_cases[SP_FAIL],
					 sample_cases[SP_SKIP]};
	static const char *const wanted[] = {"K1", "K2", "K3", "K4", "K9", "K10"};
	struct sample s;
	struct sp_model m SP_CLEANUP(sp_model_done) = {.n_rows = 0};
	struct sp_error err = SP_ERROR_INIT;

	cases[0].clause = (char *)"K10";
	cases[1].clause = (char *)"K9";
	cases[2].clause = (char *)"K2";
	sample_open(&s, cases, 3);
	cr_assert_eq(sp_model_make(&s.set, &m, &err), 0, "%s", err.message);
	cr_assert_eq(m.n_clauses, SP_COUNT(wanted));
	for (size_t i = 0; i < SP_COUNT(wanted); i++)
		cr_expect_str_eq(m.clauses[i].clause, wanted[i]);
	sample_close(&s);
}
