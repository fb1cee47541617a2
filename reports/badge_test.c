/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <base/child.h>
#include <reports/badge.h>
#include <reports/sample.h>

static const struct {
	const char *says, *fill;
	struct sp_result_end end;
	bool complete;
} rows[] = {
    {"sandproof: 136 passed", "#1a7f37", {.passed = 134, .warned = 2}, true},
    {"sandproof: 3 failed, 1 passed",
     "#cf222e",
     {.passed = 1, .failed = 1, .errors = 1, .xpassed = 1, .leaks = 1},
     true},
    {"sandproof: 1 passed, 2 leaked", "#9a6700", {.passed = 1, .leaks = 2}, true},
    {"sandproof: incomplete, 1 passed", "#9a6700", {.passed = 1}, false},
    {"sandproof: nothing ran", "#57606a", {.skipped = 4}, true},
};

/* An SVG is XML. */
static void check_xml(const char *path)
{
	const char *const argv[] = {"xmllint", "--noout", path, NULL};
	struct sp_run_result r = {0};
	struct sp_error err = SP_ERROR_INIT;

	if (sp_run(argv, NULL, NULL, 0, 1 << 16, NULL, &r, &err))
		return;
	cr_expect(r.code == 0 || r.code == 127, "%s", r.err);
	sp_run_result_done(&r);
}

Test(badge, says_what_came_out)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sample s;
		struct sp_error err = SP_ERROR_INIT;
		char *text SP_FREE = NULL;

		sample_open(&s, NULL, 0);
		s.run.end = rows[i].end;
		s.run.complete = rows[i].complete;
		cr_expect_eq(sp_badge_write(&s.set, s.path, &err), 0, "%s", err.message);
		text = sample_read(s.path);
		cr_expect(text && strstr(text, rows[i].says), "no \"%s\" in %s", rows[i].says,
			  text);
		cr_expect(text && strstr(text, rows[i].fill), "no %s in %s", rows[i].fill, text);
		check_xml(s.path);
		sample_close(&s);
	}
}
