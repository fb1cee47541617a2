/* SPDX-License-Identifier: MIT */
/*
 * Known failures. One line an entry:
 *
 *   PATTERN | MESSAGE | REASON | LINK | EXPIRY
 *
 * PATTERN is a glob over case ids, MESSAGE how the failure's first line begins, REASON why it is
 * known; LINK and EXPIRY (YYYY-MM-DD, the last day on which it holds) may be empty or left out.
 * "\|" and "\\" stand for themselves, '#' begins a comment line. A listed case still runs. A list
 * that no longer says the truth fails the run: that is what keeps it short.
 */
#ifndef SP_RUNNER_BASELINE_H
#define SP_RUNNER_BASELINE_H

#include <base/buf.h>
#include <results/results.h>
#include <sandproof/case.h>

struct sp_baseline;

/* Cases that one pattern may match. */
#define SP_BASELINE_MAX_MATCHES 20

/* Reads a list; `path` is kept for messages. SP_INVALID names the line that is malformed, SP_IO the
 * file. */
int sp_baseline_read(const char *path, struct sp_baseline **ret_baseline, struct sp_error *err);
/* Frees it; NULL is fine. */
void sp_baseline_free(struct sp_baseline *baseline);

/*
 * Holds the list against all cases that there are and against the day (milliseconds since 1970).
 * Entries that are expired, too broad, doubled or of no case excuse nothing from here on.
 */
int sp_baseline_bind(struct sp_baseline *baseline, const struct sp_suite *const *suites,
		     size_t n_suites, int64_t now_ms, struct sp_error *err);

/* What is wrong with an entry whatever the run says. Texts belong to the list. */
struct sp_baseline_problem {
	unsigned line;
	const char *pattern;
	/* What is wrong and what to change. */
	const char *message;
};
/* All of them, in the order of the file. */
const struct sp_baseline_problem *sp_baseline_problems(const struct sp_baseline *baseline,
						       size_t *ret_len);
/* The file. */
const char *sp_baseline_path(const struct sp_baseline *baseline);

/*
 * What becomes of a verdict. A failure (or a warning) as listed is xfail, with the reason; a pass
 * that is listed is xpass; a failure with another message stays one and says so. Skips and errors
 * are never excused. When the message changes it is appended to `message_out`, which is left alone
 * otherwise.
 */
enum sp_verdict sp_baseline_judge(const struct sp_baseline *baseline, const struct sp_case_def *def,
				  enum sp_verdict verdict, const char *message,
				  struct sp_buf *message_out);

/* What an update changed. */
struct sp_baseline_changes {
	size_t kept, added, removed, changed;
};
/*
 * Writes the shortest list that is true after `results` (last result of each case): entries and
 * comments that still hold stay as they are, what passes or is of no case goes, changed messages
 * are taken over, and a new failure gets an entry that expires `days` after `now_ms`. Cases without
 * a result keep theirs. The baseline is bound. 0 or the buffer's error.
 */
int sp_baseline_update(const struct sp_baseline *baseline, const struct sp_results_set *results,
		       int64_t now_ms, unsigned days, struct sp_buf *ret_text,
		       struct sp_baseline_changes *ret_changes);

#endif
