/* SPDX-License-Identifier: MIT */
/*
 * JUnit XML, written against what its consumers read (Jenkins, GitLab,
 * GitHub's reporters, Buildkite, CircleCI): one level of suites, unique
 * classname and name, the whole evidence in the element's text.
 *
 * Verdicts: pass and warn (text in system-out) are bare testcases, fail and
 * xpass hold <failure>, skip and xfail <skipped>, error <error>; what a case
 * left behind is one failing testcase "leak.<case>". A run that was cut off or
 * interrupted ends with an <error> that says so. Where there are several subjects, a suite is one
 * of a subject.
 */
#ifndef SP_REPORTS_JUNIT_H
#define SP_REPORTS_JUNIT_H

#include <results/results.h>

/* Where a file is split; what GitLab and Buildkite take. */
#define SP_JUNIT_MAX_CASES 5000
#define SP_JUNIT_MAX_BYTES (30 * 1000 * 1000)

struct sp_junit_limits {
	/* Testcases and bytes of one file; 0: the limits above. */
	size_t max_cases;
	size_t max_bytes;
};

/*
 * Writes `path`, and "name.2.xml" and so on beside "name.xml" when the limits ask for it; parts
 * of an earlier, longer report are removed. "-" is standard output, never split.
 * `limits` and `ret_files` (number of files) may be NULL. SP_IO names the file.
 */
int sp_junit_write_split(const struct sp_results_set *set, const char *path,
			 const struct sp_junit_limits *limits, unsigned *ret_files,
			 struct sp_error *err);
/* Same with the limits above. */
int sp_junit_write(const struct sp_results_set *set, const char *path, struct sp_error *err);

#endif
