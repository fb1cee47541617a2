/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/utf8.h>
#include <reports/markdown.h>
#include <reports/sample.h>

static char *write_below(struct sample *s, size_t max)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_markdown_write_below(&s->set, s->path, max, &err), 0, "%s", err.message);
	return sample_read(s->path);
}

Test(markdown, says_what_there_is)
{
	static const char *const parts[] = {
	    "## ❌ sandproof: 3 failed, 2 passed, 2 skipped, 1 leaked\n",
	    "| `bash` | 2 | 1 | 1 | 1 | 2 | 1 | 0.0 s |\n",
	    "### ❌ `kill.b.fail`\n",
	    "fail · `bash` · clause `K2` (MUST)\n",
	    "```text\nit lives\nstill\n```\n",
	    "**Expected**\n\n```text\nnothing\n```\n",
	    "**Actual**\n\n```text\npid 7\n```\n",
	    "<details><summary>Dialogue</summary>\n\n```text\nexec \"a\"\n  -> code 0\n```\n",
	    "```text\nsandproof run --case kill.b.fail\n```\n",
	    "### 💥 `kill.g.error`",
	    "### ❗ `kill.f.xpass`",
	    "### ⚠️ `kill.c.warn`",
	    "- 💧 left behind by `kill.a.pass`: `pid 9 (sh) was left`\n",
	    "| 1 | `needs control` |\n",
	    "| 1 | `known failure: #7 (list:3)` |\n",
	};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	s.run.leaks = sample_leaks;
	s.run.n_leaks = 1;
	s.run.end = (struct sp_result_end){.passed = 1,
					   .failed = 1,
					   .warned = 1,
					   .skipped = 1,
					   .xfailed = 1,
					   .xpassed = 1,
					   .errors = 1,
					   .leaks = 1};
	text = write_below(&s, SP_MARKDOWN_MAX_BYTES);
	for (size_t i = 0; i < SP_COUNT(parts); i++)
		cr_expect(text && strstr(text, parts[i]), "no \"%s\" in:\n%s", parts[i], text);
	sample_close(&s);
}

Test(markdown, a_run_that_is_not_whole_says_so)
{
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, 1);
	s.run.complete = false;
	text = write_below(&s, SP_MARKDOWN_MAX_BYTES);
	cr_expect(strstr(text, "## ❌"), "half a run is not green: %s", text);
	cr_expect(strstr(text, "> **Incomplete:**"), "%s", text);
	sample_close(&s);
}

/* A proof has no case, so it is neither green nor a table without rows. */
Test(markdown, a_proof_says_what_it_is)
{
	struct sp_result_defect defect = {(char *)"kill-none", (char *)"kill", (char *)"caught",
					  (char *)"kill.a", NULL};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, NULL, 0);
	s.run.defects = &defect;
	s.run.n_defects = 1;
	text = write_below(&s, SP_MARKDOWN_MAX_BYTES);
	cr_expect(strstr(text, "## ⏭️ sandproof: 0 failed"), "%s", text);
	cr_expect(strstr(text, "1 of 1 were caught"), "%s", text);
	cr_expect(!strstr(text, "| subject |"), "%s", text);
	sample_close(&s);
}

/* Fences are in pairs, and what stands between them cannot end one. */
static void check_fences(const char *text, const char *hostile)
{
	size_t open = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t ticks = strspn(line, "`"), len = strcspn(line, "\n");

		if (!open && ticks >= 3 && !strncmp(line + ticks, "text", 4))
			open = ticks;
		else if (open && ticks >= open && ticks == len)
			open = 0;
		else if (!open)
			cr_expect(strncmp(line, "# forged", 8) &&
				      strncmp(line, "</details>\x60", 11),
				  "\"%.40s\" of \"%s\"", line, hostile);
		if (!line[len])
			break;
	}
	cr_expect_eq(open, 0, "a fence is open after \"%s\"", hostile);
}

Test(markdown, hostile_text_is_no_markdown)
{
	for (size_t i = 0; i < SAMPLE_N_HOSTILE; i++) {
		struct sp_result_case cases[SP_VERDICT_MAX_];
		struct sample s;
		char *text SP_FREE = NULL;

		for (int v = 0; v < SP_VERDICT_MAX_; v++)
			cases[v] = sample_hostile_case(sample_hostile[i], (enum sp_verdict)v);
		sample_open(&s, cases, SP_VERDICT_MAX_);
		text = write_below(&s, SP_MARKDOWN_MAX_BYTES);
		cr_assert_not_null(text);
		check_fences(text, sample_hostile[i]);
		cr_expect(sp_utf8_valid(text, strlen(text)));
		sample_close(&s);
	}
}

/* A row of failures that each need some 400 bytes, and a limit: cases are whole, and what is left
 * out is counted. */
Test(markdown, is_cut_at_the_end_of_a_case)
{
	enum { N = 200 };
	struct sp_result_case *cases SP_FREE = calloc(N, sizeof(*cases));
	char ids[N][32];
	struct sample s;

	for (size_t i = 0; i < N; i++) {
		cases[i] = sample_cases[SP_FAIL];
		snprintf(ids[i], sizeof(ids[i]), "kill.cut.n%zu", i);
		cases[i].id = ids[i];
	}
	sample_open(&s, cases, N);
	for (size_t max = 900; max < 60000; max += 7001) {
		char *text SP_FREE = write_below(&s, max);
		size_t shown = 0, said = 0, ends = 0;

		for (const char *at = text; (at = strstr(at, "### ❌")); at++)
			shown++;
		for (const char *at = text; (at = strstr(at, "**Run again**")); at++)
			ends++;
		cr_expect_leq(strlen(text), max, "%zu bytes of %zu", strlen(text), max);
		cr_expect_lt(shown, N, "all %zu fit into %zu", shown, max);
		cr_expect_eq(shown, ends, "%zu begin, %zu end, at %zu", shown, ends, max);
		cr_expect_eq(sscanf(strstr(text, "\n> ") + 3, "%zu more findings", &said), 1);
		cr_expect_eq(shown + said, N, "%zu shown, %zu left out", shown, said);
	}
	sample_close(&s);
}

Test(markdown, a_dialogue_of_ten_mebibytes_is_cut)
{
	size_t len = 10 << 20;
	char *dialogue SP_FREE = malloc(len + 1);
	struct sp_result_case cases[] = {sample_cases[SP_FAIL]};
	struct sample s;
	char *text SP_FREE = NULL;

	memset(dialogue, 'x', len);
	dialogue[len] = '\0';
	cases[0].dialogue = cases[0].message = dialogue;
	sample_open(&s, cases, 1);
	text = write_below(&s, SP_MARKDOWN_MAX_BYTES);
	cr_expect_lt(strlen(text), 20000, "%zu bytes", strlen(text));
	cr_expect(strstr(text, " bytes before this]\n"));
	sample_close(&s);
}
