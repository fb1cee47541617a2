/* SPDX-License-Identifier: MIT */
/*
 * What a run says while it goes on. On a terminal one block at the bottom is
 * redrawn (what runs, how far it is); elsewhere nothing moves. Failures are
 * told in full as they happen, passes only by number.
 */
#ifndef SP_CLI_CONSOLE_H
#define SP_CLI_CONSOLE_H

#include <stdio.h>

#include <cli/text.h>
#include <runner/runner.h>

/* ---- Pieces of text, without any state ---- */

/*
 * Numbers of the last line: errors and xpasses count as failed, warnings
 * as passed, xfails as skipped.
 */
struct cli_totals {
	size_t passed, failed, skipped;
};
struct cli_totals cli_totals_of(const struct sp_result_end *end);

/* "N passed, N failed, N skipped" without newline. */
void cli_format_totals(struct sp_buf *out, const struct cli_style *style,
		       const struct cli_totals *totals);

/* "850 ms", "3.2 s", "2 min 5 s". */
void cli_format_duration(struct sp_buf *out, int64_t ms);

/*
 * Everything about a case that failed, warned or was an error. `requirement` may be NULL; of
 * the dialogue the last `max_lines` lines are shown (0: all), each cut to
 * the terminal's width, with the file that holds the rest.
 */
void cli_format_result(struct sp_buf *out, const struct cli_style *style,
		       const struct sp_result_case *result, const char *requirement,
		       size_t max_lines, const char *results_path);

/* One leak, one line. */
void cli_format_leak(struct sp_buf *out, const struct cli_style *style,
		     const struct sp_result_leak *leak);

/* One case that runs now. */
struct cli_running {
	const char *id;
	int64_t elapsed_ms;
	bool slow;
};

/* State of the block on a terminal. */
struct cli_progress {
	const struct cli_running *running;
	size_t n_running;
	size_t total;
	struct cli_totals totals;
	int64_t elapsed_ms;
};

/*
 * The block: one line for each running case, one for the whole; every line fits the width.
 * Returns the number of lines.
 */
size_t cli_format_progress(struct sp_buf *out, const struct cli_style *style,
			   const struct cli_progress *progress);

/* ---- The console of one run ---- */

struct cli_console;

struct cli_console_options {
	FILE *stream;
	struct cli_style style;
	/* Redacted subjects ("provider bash"), and the fault that is applied or NULL. */
	const char *subjects;
	const char *defect;
	/* Where the results are, for pointers to it. */
	const char *results_path;
};

/* NULL without memory. Texts are borrowed. */
struct cli_console *cli_console_new(const struct cli_console_options *options);
/* Removes the block if there is one; NULL is fine. */
struct cli_console *cli_console_free(struct cli_console *console);
/* What the runner tells it to. */
struct sp_run_listener cli_console_listener(struct cli_console *console);
/* A line above the block. */
void cli_console_note(struct cli_console *console, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The summary; its last line is always "N passed, N failed, N skipped". */
void cli_console_summary(struct cli_console *console, const struct sp_result_end *end);
/*
 * errno of the first text that could not be written, or 0; a reader that went away does not count.
 */
int cli_console_error(const struct cli_console *console);

#endif
