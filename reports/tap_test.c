/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/child.h>
#include <reports/sample.h>
#include <reports/tap.h>

static char *write_report(struct sample *s)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_tap_write(&s->set, s->path, &err), 0, "%s", err.message);
	return sample_read(s->path);
}

static const struct {
	enum sp_verdict verdict;
	/* First line, and a line of its block (NULL: it has none). */
	const char *point, *block;
} rows[] = {
    {SP_PASS, "ok 1 - kill.a.pass\n", NULL},
    {SP_FAIL, "not ok 1 - kill.b.fail\n", "  severity: fail\n"},
    {SP_WARN, "ok 1 - kill.c.warn\n", "  severity: warning\n"},
    {SP_SKIP, "ok 1 - kill.d.skip # SKIP needs control\n", NULL},
    {SP_XFAIL, "not ok 1 - kill.e.xfail # TODO known failure: \\#7 (list:3)\n", NULL},
    {SP_XPASS, "not ok 1 - kill.f.xpass\n",
     "  message: \"passes, and list:4 lists it: remove that line\"\n"},
    {SP_ERROR, "not ok 1 - kill.g.error\n", "  severity: error\n"},
};

Test(tap, every_verdict_has_its_line)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sample s;
		char *text SP_FREE = NULL;

		sample_open(&s, &sample_cases[rows[i].verdict], 1);
		text = write_report(&s);
		cr_assert_not_null(text);
		cr_expect_eq(strncmp(text, "TAP version 14\n", 15), 0, "%s", text);
		cr_expect_eq(strncmp(text + 15, rows[i].point, strlen(rows[i].point)), 0,
			     "\"%s\" does not begin with \"%s\"", text + 15, rows[i].point);
		cr_expect_eq(strstr(text, "  ---\n") != NULL, rows[i].block != NULL, "%s", text);
		cr_expect(!rows[i].block || strstr(text, rows[i].block), "no \"%s\" in:\n%s",
			  rows[i].block, text);
		cr_expect(strstr(text, "\n1..1\n"), "the plan: %s", text);
		sample_close(&s);
	}
}

Test(tap, a_failure_carries_its_evidence)
{
	static const char *const parts[] = {
	    "  message: \"it lives\\nstill\"\n",
	    "  clause: \"K2\"\n",
	    "  level: \"MUST\"\n",
	    "  expected: \"nothing\"\n",
	    "  actual: \"pid 7\"\n",
	    "  file: \"suites/kill/kill.c\"\n",
	    "  line: 42\n",
	    "  rerun: \"sandproof run --case kill.b.fail\"\n",
	    "  dialogue: |\n    exec \"a\"\n      -> code 0\n  ...\n",
	};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, &sample_cases[SP_FAIL], 1);
	text = write_report(&s);
	for (size_t i = 0; i < SP_COUNT(parts); i++)
		cr_expect(text && strstr(text, parts[i]), "no \"%s\" in:\n%s", parts[i], text);
	sample_close(&s);
}

Test(tap, leaks_and_subjects)
{
	struct sp_result_case cases[] = {sample_cases[SP_PASS], sample_cases[SP_PASS]};
	struct sample s;
	char *text SP_FREE = NULL;

	cases[1].subject = (char *)"local";
	sample_open(&s, cases, 2);
	s.run.leaks = sample_leaks;
	s.run.n_leaks = 1;
	text = write_report(&s);
	cr_expect(strstr(text, "ok 1 - kill.a.pass [bash]\nok 2 - kill.a.pass [local]\n"), "%s",
		  text);
	cr_expect(strstr(text,
			 "not ok 3 - leak.kill.a.pass\n  ---\n  message: \"pid 9 (sh) was left\"\n"
			 "  severity: leak\n"),
		  "%s", text);
	cr_expect(strstr(text, "\n1..3\n"), "%s", text);
	sample_close(&s);
}

Test(tap, a_run_that_is_not_whole_bails_out)
{
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, 1);
	s.run.complete = false;
	text = write_report(&s);
	cr_expect(strstr(text, "\nBail out! the run was cut off"), "%s", text);
	cr_expect(!strstr(text, "\n1.."), "half a run has no plan: %s", text);
	sample_close(&s);
}

Test(tap, nothing_is_a_plan_of_nothing)
{
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, NULL, 0);
	text = write_report(&s);
	cr_expect_str_eq(text, "TAP version 14\n1..0 # no case was selected\n");
	sample_close(&s);
}

/* Whatever a text says, it is no line of the protocol: each line is one that we wrote. */
static void check_lines(const char *text, const char *hostile)
{
	bool in_block = false;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		bool block = !strncmp(line, "  ", 2);

		cr_expect(block || !strncmp(line, "ok ", 3) || !strncmp(line, "not ok ", 7) ||
			      !strncmp(line, "TAP version 14\n", 15) || !strncmp(line, "1..7\n", 5),
			  "\"%.60s\" of \"%s\"", line, hostile);
		in_block =
		    !strncmp(line, "  ---\n", 6) || (in_block && strncmp(line, "  ...\n", 6));
		cr_expect(!block || in_block || !strncmp(line, "  ...\n", 6), "\"%.60s\" of \"%s\"",
			  line, hostile);
		cr_expect(strchr(line, '\n'), "a line without its end");
	}
	cr_expect(!in_block, "an open block");
}

/* A reader that others wrote: the counts are what the verdicts say. It knows version 13 only, and
 * the lines are the same. */
static void check_by_perl(const char *path, const char *hostile)
{
	static const char script[] =
	    "open F,'<',$ARGV[0];$_=join '',<F>;s/^TAP version 14/TAP version 13/;"
	    "my $p=TAP::Parser->new({tap=>$_});while($p->next){};"
	    "print join ' ',$p->tests_run,scalar $p->failed,scalar $p->skipped,scalar $p->todo,"
	    "scalar $p->parse_errors,$p->parse_errors";
	const char *const argv[] = {"perl", "-MTAP::Parser", "-e", script, path, NULL};
	struct sp_run_result r = {0};
	struct sp_error err = SP_ERROR_INIT;

	if (sp_run(argv, NULL, NULL, 0, 1 << 20, NULL, &r, &err))
		return;
	/* 2 is perl without the module; 127 no perl. */
	if (r.code == 0)
		cr_expect_str_eq(r.out, "7 3 1 1 0", "\"%s\" reads as \"%s\"", hostile, r.out);
	sp_run_result_done(&r);
}

Test(tap, hostile_text_is_no_protocol)
{
	for (size_t i = 0; i < SAMPLE_N_HOSTILE; i++) {
		struct sp_result_case cases[SP_VERDICT_MAX_];
		struct sample s;
		char *text SP_FREE = NULL;

		for (int v = 0; v < SP_VERDICT_MAX_; v++)
			cases[v] = sample_hostile_case(sample_hostile[i], (enum sp_verdict)v);
		sample_open(&s, cases, SP_VERDICT_MAX_);
		text = write_report(&s);
		cr_assert_not_null(text);
		check_lines(text, sample_hostile[i]);
		check_by_perl(s.path, sample_hostile[i]);
		sample_close(&s);
	}
}
