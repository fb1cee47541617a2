/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/sha256.h>
#include <reports/html.h>
#include <reports/reports.h>
#include <reports/sample.h>

static char *write_report(struct sample *s)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_html_write(&s->set, s->path, &err), 0, "%s", err.message);
	return sample_read(s->path);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

Test(html, says_what_there_is)
{
	static const char *const parts[] = {
	    "<title>sandproof: 3 of 7 cases failed</title>",
	    "id=failures",
	    "id=matrix",
	    "id=skips",
	    "id=timeline",
	    "id=durations",
	    "id=cases",
	    "id=runs",
	    "<code>kill.b.fail</code>",
	    "<pre>nothing</pre>",
	    "<pre>pid 7</pre>",
	    "exec \"a\"\n  -&gt; code 0\n</pre>",
	    "<pre>sandproof run --case kill.b.fail</pre>",
	    "<code>suites/kill/kill.c:42</code>",
	    "pid 9 (sh) was left",
	    "needs control",
	    "not selected",
	    "results.ndjson",
	    "SHA-256 <code>0123456789abcdef",
	    "<dt>seed<dd>7",
	};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	s.run.leaks = sample_leaks;
	s.run.n_leaks = 1;
	s.run.end.leaks = 1;
	text = write_report(&s);
	for (size_t i = 0; i < SP_COUNT(parts); i++)
		cr_expect(text && strstr(text, parts[i]), "no \"%s\"", parts[i]);
	sample_close(&s);
}

/* Nothing is fetched: no address, and a policy that forbids it. */
Test(html, is_one_self_contained_file)
{
	static const char *const forbidden[] = {"http:",   "https:",   "url(",	  "@import",
						" src=",   "<link",    "<iframe", "fetch(",
						"XMLHttp", "innerHTML"};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	text = write_report(&s);
	for (size_t i = 0; i < SP_COUNT(forbidden); i++)
		cr_expect(!strstr(text, forbidden[i]), "\"%s\" is in the page", forbidden[i]);
	cr_expect(strstr(text, "default-src 'none'"));
	sample_close(&s);
}

/* The policy lets exactly our script run: its hash is that of what stands in the page. */
Test(html, the_script_is_the_one_that_the_policy_allows)
{
	struct sp_buf hash SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf hex SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char digest[SP_SHA256_HEX], allowed[64] = "";
	const char *begin, *end, *policy;
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	text = write_report(&s);
	begin = strstr(text, "<script>") + strlen("<script>");
	end = strstr(begin, "</script>");
	policy = strstr(text, "'sha256-") + strlen("'sha256-");
	snprintf(allowed, sizeof(allowed), "%.*s", (int)strcspn(policy, "'"), policy);
	cr_assert_eq(sp_sha256_hex(begin, (size_t)(end - begin), digest), 0);
	cr_assert_eq(sp_buf_add_unbase64(&hash, allowed, strlen(allowed)), 0);
	for (size_t i = 0; i < hash.len; i++)
		sp_buf_addf(&hex, "%02x", (unsigned char)hash.data[i]);
	cr_expect_str_eq(sp_buf_str(&hex), digest);
	sample_close(&s);
}

Test(html, hostile_text_is_no_markup)
{
	for (size_t i = 0; i < SAMPLE_N_HOSTILE; i++) {
		struct sp_result_case cases[SP_VERDICT_MAX_];
		struct sample s;
		char *text SP_FREE = NULL;

		for (int v = 0; v < SP_VERDICT_MAX_; v++)
			cases[v] = sample_hostile_case(sample_hostile[i], (enum sp_verdict)v);
		sample_open(&s, cases, SP_VERDICT_MAX_);
		s.run.run.host = s.run.run.subjects = s.run.run.suite_version =
		    s.run.run.requirements_sha256 = s.run.run.defect = (char *)sample_hostile[i];
		text = write_report(&s);
		cr_assert_not_null(text);
		cr_expect_eq(count(text, "<script"), 1, "\"%s\"", sample_hostile[i]);
		cr_expect_eq(count(text, "<img"), 0, "\"%s\"", sample_hostile[i]);
		cr_expect(!strpbrk(text, "\x01\x0b\x1b\x1f"), "\"%s\"", sample_hostile[i]);
		sample_close(&s);
	}
}

Test(html, ten_mebibytes_of_evidence_are_cut)
{
	size_t len = 10 << 20;
	char *huge SP_FREE = malloc(len + 1);
	struct sp_result_case cases[] = {sample_cases[SP_FAIL]};
	struct sample s;
	char *text SP_FREE = NULL;

	for (size_t i = 0; i < len; i++)
		huge[i] = "<&\n\xe2\x82\xac"[i % 6];
	huge[len] = '\0';
	cases[0].message = cases[0].expected = cases[0].actual = cases[0].dialogue =
	    cases[0].rerun = huge;
	sample_open(&s, cases, 1);
	text = write_report(&s);
	cr_expect_lt(strlen(text), 1 << 20, "%zu bytes", strlen(text));
	cr_expect(strstr(text, " bytes are only in the results file …]"));
	sample_close(&s);
}

Test(html, a_run_that_is_not_whole_says_so)
{
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, 1);
	s.run.complete = false;
	text = write_report(&s);
	cr_expect(strstr(text, "<title>sandproof: Incomplete"), "%.300s", text);
	cr_expect(strstr(text, "A run was cut off or interrupted"));
	sample_close(&s);
}

Test(html, two_requirement_sets_are_told)
{
	struct sp_results runs[2];
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, 1);
	runs[0] = runs[1] = s.run;
	runs[1].run.requirements_sha256 = (char *)"ff";
	s.set = (struct sp_results_set){.runs = runs, .n_runs = 2};
	text = write_report(&s);
	cr_expect(strstr(text, "judged by different requirement sets"));
	sample_close(&s);
}

Test(html, defects_have_a_section)
{
	struct sp_result_defect defects[] = {
	    {(char *)"kill-none", (char *)"kill", (char *)"caught", (char *)"kill.a kill.b",
	     (char *)"it lives"},
	    {(char *)"kill-late", (char *)"kill", (char *)"green", (char *)"", NULL},
	};
	struct sample s;
	char *text SP_FREE = NULL;

	sample_open(&s, sample_cases, 1);
	text = write_report(&s);
	cr_expect(!strstr(text, "id=defects"), "nothing to prove, no section");
	free(text);
	s.run.defects = defects;
	s.run.n_defects = 2;
	text = write_report(&s);
	cr_expect(strstr(text, "1 of 2 were caught"));
	cr_expect(
	    strstr(text, "<code>kill-none</code><td><code>kill.a</code><br><code>kill.b</code>"));
	cr_expect(strstr(text, "not seen<td><code>kill-late</code>"));
	sample_close(&s);
}

/* A proof alone is no run in which nothing happened. */
static const struct {
	const char *status, *headline;
} proofs[] = {
    {"caught", "<h1><span class=\"v p\">✓</span> 1 of 1 faults caught</h1>"},
    {"green", "<h1><span class=\"v f\">✗</span> 0 of 1 faults caught</h1>"},
};

Test(html, a_proof_alone_says_what_it_is)
{
	for (size_t i = 0; i < SP_COUNT(proofs); i++) {
		struct sp_result_defect defect = {(char *)"kill-none", (char *)"kill",
						  (char *)proofs[i].status, NULL, NULL};
		struct sample s;
		char *text SP_FREE = NULL;

		sample_open(&s, NULL, 0);
		s.run.defects = &defect;
		s.run.n_defects = 1;
		text = write_report(&s);
		cr_expect(strstr(text, proofs[i].headline), "no \"%s\" in\n%s", proofs[i].headline,
			  strstr(text, "<h1>"));
		cr_expect(strstr(text, "This is a proof by sandproof prove"));
		cr_expect(!strstr(text, "Nothing failed"), "a proof has no findings to tell of");
		sample_close(&s);
	}
}

/* A proof beside runs has no workers, so no timeline. */
Test(html, a_proof_has_no_timeline)
{
	struct sp_result_defect defect = {(char *)"kill-none", (char *)"kill", (char *)"caught",
					  NULL, NULL};
	struct sp_results runs[2];
	struct sample s;
	char *text SP_FREE = NULL;
	size_t axes = 0;

	sample_open(&s, sample_cases, SP_VERDICT_MAX_);
	runs[0] = runs[1] = s.run;
	runs[1].cases = NULL;
	runs[1].n_cases = 0;
	runs[1].defects = &defect;
	runs[1].n_defects = 1;
	s.set = (struct sp_results_set){.runs = runs, .n_runs = 2};
	text = write_report(&s);
	for (const char *at = text; (at = strstr(at, "<div class=axis ")); at++)
		axes++;
	cr_expect_eq(axes, 1, "%zu timelines of one run and a proof", axes);
	sample_close(&s);
}

/* ---- what holds for every format ---- */

Test(reports, every_format_takes_everything)
{
	size_t n;
	const struct sp_report_format *formats = sp_report_formats(&n);
	struct sp_results_set empty = SP_RESULTS_SET_INIT;

	for (size_t i = 0; i < n; i++) {
		struct sample s;
		struct sp_error err = SP_ERROR_INIT;
		char *text SP_FREE = NULL;

		sample_open(&s, sample_cases, SP_VERDICT_MAX_);
		s.run.leaks = sample_leaks;
		s.run.n_leaks = 1;
		cr_expect_eq(formats[i].write(&s.set, s.path, &err), 0, "%s: %s", formats[i].name,
			     err.message);
		text = sample_read(s.path);
		cr_expect(text && *text, "%s wrote nothing", formats[i].name);
		cr_expect_eq(formats[i].write(&empty, s.path, &err), 0, "%s of nothing: %s",
			     formats[i].name, err.message);
		sample_close(&s);
	}
}

/* The place is named, and nothing is left of the attempt. */
Test(reports, a_place_that_cannot_be_written_is_named)
{
	size_t n;
	const struct sp_report_format *formats = sp_report_formats(&n);

	for (size_t i = 0; i < n; i++) {
		struct sample s;
		struct sp_error err = SP_ERROR_INIT;

		sample_open(&s, sample_cases, SP_VERDICT_MAX_);
		cr_expect_eq(formats[i].write(&s.set, "/nowhere/report", &err), SP_IO, "%s",
			     formats[i].name);
		cr_expect(strstr(err.message, "/nowhere/report"), "%s: %s", formats[i].name,
			  err.message);
		/* A folder in its place: the rename fails, and the temporary file goes. */
		cr_assert_eq(sp_mkdirs(s.path, 0700), 0);
		cr_expect_eq(formats[i].write(&s.set, s.path, &err), SP_IO, "%s", formats[i].name);
		cr_expect_eq(rmdir(s.path), 0);
		cr_expect_eq(rmdir(s.dir), 0, "%s left something behind", formats[i].name);
		sample_close(&s);
	}
}
