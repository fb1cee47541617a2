/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

#include "baseline.h"

/* 2026-11-30T12:00:00Z */
#define NOW INT64_C(1796040000000)

static const char *const former[] = {"kill.group.old-name", NULL};

static const struct sp_case_def kill_cases[] = {
    {.id = "kill.group.leader", .clause = "K1", .requirement = "r"},
    {.id = "kill.group.child", .clause = "K1", .requirement = "r", .aliases = former},
    {.id = "kill.shape.setsid", .clause = "K2", .requirement = "r"},
};

/* More than one pattern may be of. */
static struct sp_case_def many_cases[21];

static const struct sp_suite kill_suite = {
    .version = SP_SUITE_VERSION,
    .name = "kill",
    .cases = kill_cases,
    .n_cases = SP_COUNT(kill_cases),
    .clauses_version = "1",
};
static struct sp_suite many_suite = {
    .version = SP_SUITE_VERSION,
    .name = "many",
    .cases = many_cases,
    .n_cases = SP_COUNT(many_cases),
    .clauses_version = "1",
};

struct place {
	char *dir;
	char path[256];
	char ids[SP_COUNT(many_cases)][24];
};

static void open_place(struct place *p)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("baseline-", &p->dir, &err), 0, "%s", err.message);
	snprintf(p->path, sizeof(p->path), "%s/list", p->dir);
	for (size_t i = 0; i < SP_COUNT(many_cases); i++) {
		snprintf(p->ids[i], sizeof(p->ids[i]), "many.group.n%zu", i);
		many_cases[i] =
		    (struct sp_case_def){.id = p->ids[i], .clause = "M1", .requirement = "r"};
	}
}

static void close_place(struct place *p)
{
	sp_remove_tree(p->dir);
	free(p->dir);
}

static int read_text(struct place *p, const char *text, struct sp_baseline **ret,
		     struct sp_error *err)
{
	const struct sp_suite *const suites[] = {&kill_suite, &many_suite};
	int rc = sp_write_file(p->path, text, strlen(text), 0600, err);

	cr_assert_eq(rc, 0, "%s", err->message);
	rc = sp_baseline_read(p->path, ret, err);
	return rc ? rc : sp_baseline_bind(*ret, suites, 2, NOW, err);
}

/* ---- lines that are no entries ---- */

static const struct {
	const char *text;
	/* NULL: accepted. */
	const char *says;
} lines[] = {
    {"", NULL},
    {"# a comment\n\n  # another\n", NULL},
    {"kill.group.leader | survivor | E2B kills the leader only\n", NULL},
    {"kill.group.leader|survivor|why|https://x/1|2026-12-31", NULL},
    {"kill.group.leader | a \\| b \\\\ c | why | | \r\n", NULL},
    {"kill.group.leader\n", "line 1: the message is missing"},
    {"# c\nkill.group.leader | | why\n", "line 2: the message is missing"},
    {"kill.group.leader | survivor\n", "line 1: the reason is missing"},
    {"kill.group.leader | survivor | |\n", "the reason is missing"},
    {" | survivor | why\n", "the pattern is missing"},
    {"kill.group.leader | s | why | | tomorrow\n", "the expiry is no day"},
    {"kill.group.leader | s | why | | 2026-13-01\n", "the expiry is no day"},
    {"kill.group.leader | s | why | | 2026-01-00\n", "the expiry is no day"},
    {"kill.group.leader | s | why | | 2026-1-1\n", "the expiry is no day"},
    {"kill.group.leader | s | why | l | 2026-12-31 | more\n", "more than five fields"},
    {"kill.group.leader | \xff | why\n", "not a text in UTF-8"},
};

Test(baseline, lines_are_read_or_refused_by_number)
{
	struct place p;

	open_place(&p);
	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct sp_baseline *b = NULL;
		struct sp_error err = SP_ERROR_INIT;
		int rc = read_text(&p, lines[i].text, &b, &err);

		cr_expect_eq(rc, lines[i].says ? SP_INVALID : 0, "row %zu: %s", i, err.message);
		cr_expect(!lines[i].says || strstr(err.message, lines[i].says),
			  "row %zu said \"%s\", not \"%s\"", i, err.message, lines[i].says);
		sp_baseline_free(b);
	}
	close_place(&p);
}

Test(baseline, a_list_that_is_not_there_is_named)
{
	struct sp_baseline *b = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_baseline_read("/nowhere/list", &b, &err), SP_IO);
	cr_expect(strstr(err.message, "/nowhere/list"), "%s", err.message);
	cr_expect_null(b);
}

/* ---- ways to be stale whatever the run says ---- */

static const struct {
	const char *remark;
	const char *text;
	unsigned line;
	/* NULL: nothing is wrong. */
	const char *says;
} stale[] = {
    {"of one case", "kill.group.leader | s | why\n", 0, NULL},
    {"by a former name", "kill.group.old-name | s | why\n", 0, NULL},
    {"of a few", "kill.* | s | why\n", 0, NULL},
    {"on its last day", "kill.group.leader | s | why | | 2026-11-30\n", 0, NULL},
    {"a day later", "# c\nkill.group.leader | s | why | | 2026-11-29\n", 2,
     "until 2026-11-29, which is over: mend the provider and remove the line"},
    {"of no case", "kill.group.lead | s | why\n", 1, "no case of any suite is of that name"},
    {"of no suite", "snapshot.* | s | why\n", 1, "no case of any suite is of that name"},
    {"of 21 cases", "many.* | s | why\n", 1, "which are 21 cases"},
    {"twice", "kill.group.leader | s | why\nkill.group.leader | t | why\n", 2,
     "that line 1 lists already"},
    {"twice by a pattern", "kill.group.leader | s | why\nkill.group.* | t | why\n", 2,
     "that line 1 lists already"},
    {"twice by a former name", "kill.group.child | s | why\nkill.group.old-name | t | why\n", 2,
     "that line 1 lists already"},
};

Test(baseline, an_entry_that_cannot_be_true_is_a_problem)
{
	struct place p;

	open_place(&p);
	for (size_t i = 0; i < SP_COUNT(stale); i++) {
		const struct sp_baseline_problem *problems;
		struct sp_baseline *b = NULL;
		struct sp_error err = SP_ERROR_INIT;
		size_t n;

		cr_assert_eq(read_text(&p, stale[i].text, &b, &err), 0, "%s", err.message);
		problems = sp_baseline_problems(b, &n);
		cr_assert_eq(n, stale[i].says ? 1 : 0, "%s: %zu problems, %s", stale[i].remark, n,
			     n ? problems[0].message : "");
		if (n) {
			cr_expect_eq(problems[0].line, stale[i].line, "%s: line %u",
				     stale[i].remark, problems[0].line);
			cr_expect(strstr(problems[0].message, stale[i].says), "%s: \"%s\"",
				  stale[i].remark, problems[0].message);
			cr_expect(strstr(problems[0].message, p.path), "the file is named");
		}
		sp_baseline_free(b);
	}
	close_place(&p);
}

/* ---- verdicts ---- */

#define LISTED                                                                                     \
	"kill.group.leader | survivor: | E2B kills the leader only | https://x/1 | 2026-12-31\n"

static const struct {
	const char *remark;
	const char *list;
	/* Index of the case. */
	size_t of;
	enum sp_verdict verdict;
	const char *message;
	enum sp_verdict becomes;
	/* Part of the new message; NULL: it stays as it was. */
	const char *says;
} judged[] = {
    {"as listed", LISTED, 0, SP_FAIL, "survivor: pid 7", SP_XFAIL,
     "known failure: E2B kills the leader only <https://x/1> ("},
    {"a warning as listed", LISTED, 0, SP_WARN, "survivor: pid 7", SP_XFAIL, "known failure"},
    {"its own message follows", LISTED, 0, SP_FAIL, "survivor: pid 7", SP_XFAIL,
     ":1)\nsurvivor: pid 7"},
    {"another message", LISTED, 0, SP_FAIL, "hangs", SP_FAIL,
     "hangs\nThis case is listed with another failure: "},
    {"a warning with another message", LISTED, 0, SP_WARN, "hangs", SP_FAIL,
     "begins with \"survivor:\""},
    {"a message that only holds it", LISTED, 0, SP_FAIL, "a survivor: pid 7", SP_FAIL,
     "another failure"},
    {"no message", LISTED, 0, SP_FAIL, NULL, SP_FAIL, "another failure"},
    {"a pass", LISTED, 0, SP_PASS, "", SP_XPASS, "remove that line"},
    {"a skip", LISTED, 0, SP_SKIP, "needs control", SP_SKIP, NULL},
    {"an error is never excused", LISTED, 0, SP_ERROR, "survivor: pid 7", SP_ERROR, NULL},
    {"another case", LISTED, 1, SP_FAIL, "survivor: pid 7", SP_FAIL, NULL},
    {"another case that passes", LISTED, 1, SP_PASS, "", SP_PASS, NULL},
    {"by a pattern", "kill.group.* | survivor | why\n", 1, SP_FAIL, "survivor", SP_XFAIL, "why"},
    {"by a former name", "kill.group.old-name | survivor | why\n", 1, SP_FAIL, "survivor", SP_XFAIL,
     "why"},
    {"escapes", "kill.group.leader | a \\| b \\\\ c | why\n", 0, SP_FAIL, "a | b \\ c d", SP_XFAIL,
     "why"},
    {"an expired line excuses nothing", "kill.group.leader | s | why | | 2026-11-29\n", 0, SP_FAIL,
     "s", SP_FAIL, NULL},
    {"and expects nothing", "kill.group.leader | s | why | | 2026-11-29\n", 0, SP_PASS, "", SP_PASS,
     NULL},
    {"a line that is too broad excuses nothing", "*.group.* | s | why\n", 0, SP_FAIL, "s", SP_FAIL,
     NULL},
    {"of two lines the first counts", LISTED "kill.group.leader | hangs | why\n", 0, SP_FAIL,
     "hangs", SP_FAIL, "survivor:"},
};

Test(baseline, verdicts)
{
	struct place p;

	open_place(&p);
	for (size_t i = 0; i < SP_COUNT(judged); i++) {
		struct sp_buf message SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_baseline *b = NULL;
		struct sp_error err = SP_ERROR_INIT;
		enum sp_verdict verdict;

		cr_assert_eq(read_text(&p, judged[i].list, &b, &err), 0, "%s", err.message);
		verdict = sp_baseline_judge(b, &kill_cases[judged[i].of], judged[i].verdict,
					    judged[i].message, &message);
		cr_expect_eq(verdict, judged[i].becomes, "%s: %s, not %s", judged[i].remark,
			     sp_verdict_name(verdict), sp_verdict_name(judged[i].becomes));
		if (judged[i].says)
			cr_expect(strstr(sp_buf_str(&message), judged[i].says), "%s: \"%s\"",
				  judged[i].remark, sp_buf_str(&message));
		else
			cr_expect_eq(message.len, 0, "%s: \"%s\"", judged[i].remark,
				     sp_buf_str(&message));
		sp_baseline_free(b);
	}
	close_place(&p);
}

/* ---- update ---- */

#define RESULT(id_, verdict_, message_)                                                            \
	{                                                                                          \
		.id = (char *)id_, .verdict = verdict_, .message = (char *)message_                \
	}

static const struct {
	const char *remark;
	const char *before, *after;
	struct sp_result_case results[4];
	/* Kept, added, removed, changed. */
	struct sp_baseline_changes changes;
} updates[] = {
    {"nothing to do",
     "# mine\n\n" LISTED,
     "# mine\n\n" LISTED,
     {RESULT("kill.group.leader", SP_XFAIL, "known failure: x")},
     {1, 0, 0, 0}},
    {"not run", LISTED, LISTED, {RESULT("kill.shape.setsid", SP_PASS, "")}, {1, 0, 0, 0}},
    {"skipped", LISTED, LISTED, {RESULT("kill.group.leader", SP_SKIP, "no")}, {1, 0, 0, 0}},
    {"an error says nothing",
     LISTED,
     LISTED,
     {RESULT("kill.group.leader", SP_ERROR, "no")},
     {1, 0, 0, 0}},
    {"a new failure",
     "# mine\n",
     "# mine\nkill.group.leader | survivor: pid 7 | not looked into yet |  | 2026-12-30\n",
     {RESULT("kill.group.leader", SP_FAIL, "survivor: pid 7\nmore")},
     {0, 1, 0, 0}},
    {"a warning needs no line",
     "",
     "",
     {RESULT("kill.group.leader", SP_WARN, "slow")},
     {0, 0, 0, 0}},
    {"it passes",
     "# mine\n" LISTED,
     "# mine\n",
     {RESULT("kill.group.leader", SP_PASS, "")},
     {0, 0, 1, 0}},
    {"it passes, and the run said so",
     LISTED,
     "",
     {RESULT("kill.group.leader", SP_XPASS, "")},
     {0, 0, 1, 0}},
    {"another message",
     LISTED,
     "kill.group.leader | hangs \\| \\\\ | E2B kills the leader only | https://x/1 | 2026-12-31\n",
     {RESULT("kill.group.leader", SP_FAIL, "hangs | \\\nThis case is listed with another failure")},
     {0, 0, 0, 1}},
    {"a former name that still fits",
     "kill.group.old-name | s | why\n",
     "kill.group.old-name | s | why\n",
     {RESULT("kill.group.child", SP_FAIL, "s")},
     {1, 0, 0, 0}},
    {"of no case",
     "kill.group.gone | s | why\n" LISTED,
     LISTED,
     {RESULT("kill.group.leader", SP_XFAIL, "known")},
     {1, 0, 1, 0}},
    {"twice",
     LISTED LISTED,
     LISTED,
     {RESULT("kill.group.leader", SP_XFAIL, "known")},
     {1, 0, 1, 0}},
    {"a pattern that still fits",
     "kill.group.* | s | why\n",
     "kill.group.* | s | why\n",
     {RESULT("kill.group.leader", SP_FAIL, "s"), RESULT("kill.group.child", SP_XFAIL, "known")},
     {1, 0, 0, 0}},
    {"a pattern of which one passes",
     "kill.group.* | s | why | l | 2027-01-01\n",
     "kill.group.child | s | why | l | 2027-01-01\n",
     {RESULT("kill.group.leader", SP_XPASS, ""), RESULT("kill.group.child", SP_XFAIL, "known")},
     {0, 0, 0, 1}},
    {"an expired line stays for people",
     "kill.group.leader | s | why | | 2026-11-29\n",
     "kill.group.leader | s | why | | 2026-11-29\n",
     {RESULT("kill.group.leader", SP_FAIL, "s")},
     {1, 0, 0, 0}},
    {"a long message ends at a word",
     "",
     "kill.group.leader | a message whose first line is far too long to be kept as a whole, since "
     "it goes | "
     "not looked into yet |  | 2026-12-30\n",
     {RESULT("kill.group.leader", SP_FAIL,
	     "a message whose first line is far too long to be kept as a whole, since it goes on")},
     {0, 1, 0, 0}},
};

Test(baseline, update)
{
	struct place p;

	open_place(&p);
	for (size_t i = 0; i < SP_COUNT(updates); i++) {
		struct sp_result_case results[4];
		struct sp_results run = {.cases = results};
		struct sp_results_set set = {.runs = &run, .n_runs = 1};
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_baseline_changes changes = {.kept = 0};
		struct sp_baseline *b = NULL, *again = NULL;
		struct sp_error err = SP_ERROR_INIT;

		for (; run.n_cases < 4 && updates[i].results[run.n_cases].id; run.n_cases++)
			results[run.n_cases] = updates[i].results[run.n_cases];
		cr_assert_eq(read_text(&p, updates[i].before, &b, &err), 0, "%s", err.message);
		cr_expect_eq(sp_baseline_update(b, &set, NOW, 30, &text, &changes), 0);
		cr_expect_str_eq(sp_buf_str(&text), updates[i].after, "%s: \"%s\", expected \"%s\"",
				 updates[i].remark, sp_buf_str(&text), updates[i].after);
		cr_expect(!memcmp(&changes, &updates[i].changes, sizeof(changes)),
			  "%s: %zu kept, %zu added, %zu removed, %zu changed", updates[i].remark,
			  changes.kept, changes.added, changes.removed, changes.changed);
		/* What was written is a list again. */
		cr_expect_eq(read_text(&p, sp_buf_str(&text), &again, &err), 0, "%s: %s",
			     updates[i].remark, err.message);
		sp_baseline_free(again);
		sp_baseline_free(b);
	}
	close_place(&p);
}

Test(baseline, a_run_with_a_fault_is_no_reason_to_list_anything)
{
	struct sp_result_case results[] = {RESULT("kill.group.leader", SP_FAIL, "on purpose")};
	struct sp_results run = {
	    .run = {.defect = (char *)"kill-none"}, .cases = results, .n_cases = 1};
	struct sp_results_set set = {.runs = &run, .n_runs = 1};
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_baseline_changes changes = {.kept = 0};
	struct sp_baseline *b = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct place p;

	open_place(&p);
	cr_assert_eq(read_text(&p, "", &b, &err), 0, "%s", err.message);
	cr_expect_eq(sp_baseline_update(b, &set, NOW, 30, &text, &changes), 0);
	cr_expect_eq(text.len, 0, "%s", sp_buf_str(&text));
	sp_baseline_free(b);
	close_place(&p);
}
