/* SPDX-License-Identifier: MIT */
/* How a fault is judged from what its cases said; that the program holds every case against one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <cli/cli.h>
#include <cli/prove.h>
#include <runner/runner.h>

Test(prove, no_case_is_without_a_fault)
{
	char *names SP_FREE = prove_toothless();

	cr_assert_not_null(names);
	cr_expect_str_eq(names, "", "cases that no fault was made for: %s", names);
}

Test(prove, no_known_defect_is_without_its_place)
{
	size_t len = 0;
	char *ids SP_FREE = cli_defects_unplaced(&len);

	cr_assert_not_null(ids);
	cr_expect_gt(len, 300u);
	cr_expect_str_eq(ids, "", "%s", ids);
}

/* What two cases that were made for a fault and its control said. */
static const struct {
	const char *remark;
	const char *first, *second, *control;
	const char *trouble, *others, *hangs;
	enum prove_status status;
	const char *evidence;
} judged[] = {
	{ "both saw it", "fail:a", "fail:b", "pass:", NULL, NULL, NULL, PROVE_CAUGHT, "a" },
	{ "a broken SHOULD counts", "warn:a", "fail:b", "pass:", NULL, NULL, NULL, PROVE_CAUGHT,
	  "a" },
	{ "one could not run", "skip:no tool", "fail:b", "pass:", NULL, NULL, NULL, PROVE_CAUGHT,
	  "b" },
	{ "none could run", "skip:no tool", "skip:no tool", "pass:", NULL, NULL, NULL,
	  PROVE_SKIPPED, "no tool" },
	{ "none saw it", "pass:", "pass:", "pass:", NULL, NULL, NULL, PROVE_MISSED,
	  "case.one was made for it and says pass" },
	{ "one stayed green", "fail:a", "pass:", "pass:", NULL, NULL, NULL, PROVE_PARTLY,
	  "case.two" },
	{ "an error is no catch", "error:set-up", "error:set-up", "pass:", NULL, NULL, NULL,
	  PROVE_MISSED, "says error: set-up" },
	{ "a platform that changed is one", "error:platform changed: x", "skip:", "pass:", NULL,
	  NULL, NULL, PROVE_CAUGHT, "platform changed: x" },
	{ "only another case saw it", "pass:", "pass:", "pass:", NULL, "case.other", NULL,
	  PROVE_UNRELATED, "only case.other" },
	{ "only the control saw it", "pass:", "pass:", "fail:c", NULL, NULL, NULL,
	  PROVE_UNRELATED, "only case.control" },
	{ "the control saw it too", "fail:a", "fail:b", "fail:c", NULL, NULL, NULL, PROVE_CRUDE,
	  "case.control says fail: c" },
	{ "only deadlines", "fail:the deadline of 5 ms passed inside x",
	  "fail:the deadline of 5 ms passed inside x", "pass:", NULL, NULL, NULL, PROVE_DEADLINE,
	  "case.one ended at its deadline" },
	{ "a deadline and a sight", "fail:the deadline of 5 ms passed inside x", "fail:b", "pass:",
	  NULL, NULL, NULL, PROVE_CAUGHT, "b" },
	{ "a hang that nothing else can show", "fail:the deadline of 5 ms passed inside x",
	  "skip:", "pass:", NULL, NULL, "nobody could tell", PROVE_CAUGHT, "the deadline" },
	{ "the run did not work", "fail:a", "fail:b", "pass:", "exit 3 on bash", NULL, NULL,
	  PROVE_TROUBLE, "exit 3 on bash" },
};

/* A result from "verdict:message". */
static struct sp_result_case result_of(const char *id, const char *said, char *verdict, size_t size)
{
	const char *colon = strchr(said, ':');

	snprintf(verdict, size, "%.*s", (int)(colon - said), said);
	return (struct sp_result_case){
		.id = (char *)id,
		.verdict = (enum sp_verdict)sp_verdict_from_name(verdict),
		.message = (char *)colon + 1,
	};
}

static void judge_row(size_t row)
{
	static const char *const ids[] = { "case.one", "case.two", NULL };
	struct sp_fault fault = { .id = "f", .cases = ids, .hangs = judged[row].hangs };
	struct prove_case cases[3] = { { .id = "case.one", .verdict = SP_SKIP },
				       { .id = "case.two", .verdict = SP_SKIP },
				       { .id = "case.control", .verdict = SP_SKIP } };
	struct prove_defect defect = { .fault = &fault, .cases = cases, .n_cases = 3,
				       .n_stacks = 1 };
	struct prove prove = { .n_defects = 1 };
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char verdict[16];
	struct sp_result_case said[] = {
		result_of("case.one", judged[row].first, verdict, sizeof(verdict)),
		result_of("case.two", judged[row].second, verdict, sizeof(verdict)),
		result_of("case.control", judged[row].control, verdict, sizeof(verdict)),
		{ .id = (char *)judged[row].others, .verdict = SP_FAIL },
	};
	struct sp_results results = { .cases = said, .n_cases = judged[row].others ? 4 : 3 };

	prove_take(&prove, &defect, &results,
		   judged[row].trouble ? strdup(judged[row].trouble) : NULL);
	prove_judge(&prove, &defect);
	prove_evidence(&defect, &line);
	cr_expect_eq(defect.status, judged[row].status, "%s: %s instead of %s",
		     judged[row].remark, prove_status_name(defect.status),
		     prove_status_name(judged[row].status));
	cr_expect(strstr(sp_buf_str(&line), judged[row].evidence), "%s: \"%s\" has no \"%s\"",
		  judged[row].remark, sp_buf_str(&line), judged[row].evidence);
	for (size_t i = 0; i < 3; i++)
		free(cases[i].message);
	free(defect.others);
	free(defect.trouble);
}

Test(prove, statuses)
{
	for (size_t i = 0; i < SP_COUNT(judged); i++)
		judge_row(i);
}

/* What a healthy reference said, and whether that is a failure of it. */
static const struct {
	enum sp_verdict verdict;
	bool leaks, in_trouble, fails;
} references[] = {
	{ SP_PASS, false, false, false }, { SP_SKIP, false, false, false },
	{ SP_WARN, false, false, false }, { SP_FAIL, false, false, true },
	{ SP_ERROR, false, false, true }, { SP_PASS, true, false, true },
	{ SP_PASS, false, true, true },
};

static void judge_reference(size_t row, bool no_control)
{
	static const char *items[] = { "f" };
	static const char *const ids[] = { "case.one", NULL };
	struct sp_fault fault = { .id = "f", .clause = "kill K1", .cases = ids };
	struct prove_args args = { .defects = { items, 1 }, .no_control = no_control };
	struct prove_case cases[2] = { { .id = "case.one", .caught = true, .ran = true },
				       { .id = "case.control", .ran = true } };
	struct prove_defect defect = { .fault = &fault, .cases = cases, .n_cases = 2,
				       .done = true, .status = PROVE_CAUGHT };
	struct prove_stack stack = { .name = (char *)"provider x" };
	struct prove_healthy healthy = { .stack = 0 };
	struct prove prove = { .args = &args, .stacks = &stack, .n_stacks = 1, .defects = &defect,
			       .n_defects = 1, .healthy = &healthy, .n_healthy = 1 };
	struct sp_result_case said = { .id = (char *)"case.one",
				       .verdict = references[row].verdict };
	struct sp_result_leak leak = { .id = (char *)"case.one" };
	struct sp_results results = { .cases = &said, .n_cases = 1, .leaks = &leak,
				      .n_leaks = references[row].leaks };

	prove_take_healthy(&healthy, &results,
			   references[row].in_trouble ? strdup("exit 3") : NULL);
	cr_expect_eq(prove_summary(&prove), references[row].fails ? SP_EXIT_FAILED : SP_EXIT_OK,
		     "row %zu%s", row, no_control ? ", without control" : "");
	free(healthy.failures);
	free(healthy.trouble);
}

Test(prove, a_healthy_reference_that_fails_fails_the_proof)
{
	for (size_t i = 0; i < SP_COUNT(references); i++) {
		judge_reference(i, false);
		judge_reference(i, true);
	}
}

/* What one stack skips is tried on the next, and nothing else. */
Test(prove, a_skip_goes_on_to_the_next_stack)
{
	struct prove_case cases[2] = { { .id = "case.one", .ran = true },
				       { .id = "case.control", .ran = true } };
	struct prove_defect defect = { .cases = cases, .n_cases = 2, .n_stacks = 2, .turn = 1 };

	cr_expect(!prove_goes_on(&defect));
	cases[0].ran = false;
	cr_expect(prove_goes_on(&defect));
	defect.turn = 2;
	cr_expect(!prove_goes_on(&defect), "there is no third stack");
	defect.turn = 1;
	defect.trouble = (char *)"exit 3";
	cr_expect(!prove_goes_on(&defect), "a run that did not work is not tried again");
}
