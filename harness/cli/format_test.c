/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <cli/console.h>

static const struct cli_style plain = { .colour = false, .utf8 = true };
static const struct cli_style ascii = { .colour = false, .utf8 = false };
static const struct cli_style terminal = {
	.colour = true, .live = true, .utf8 = true, .width = 60
};

#define EXPECT_TEXT(buf, expected)                                                                 \
	cr_expect_str_eq(sp_buf_str(buf), expected, "got:\n%s\nexpected:\n%s", sp_buf_str(buf),    \
			 expected)

Test(format, totals)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_end end = { .passed = 80, .warned = 4, .failed = 1, .errors = 2,
				     .xpassed = 3, .skipped = 5, .xfailed = 6 };
	struct cli_totals totals = cli_totals_of(&end);

	cli_format_totals(&out, &plain, &totals);
	EXPECT_TEXT(&out, "84 passed, 6 failed, 11 skipped");
}

Test(format, durations)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = { { -1, "0 ms" },	    { 0, "0 ms" },	  { 999, "999 ms" },
		     { 1000, "1.0 s" },     { 59999, "59.9 s" },  { 60000, "1 min 0 s" },
		     { 125400, "2 min 5 s" } };

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		cli_format_duration(&out, rows[i].ms);
		EXPECT_TEXT(&out, rows[i].text);
	}
}

static struct sp_result_case failure(void)
{
	return (struct sp_result_case){
		.id = (char *)"kill.a.b", .suite = (char *)"kill", .clause = (char *)"K4",
		.level = (char *)"MUST", .verdict = SP_FAIL, .message = (char *)"one survivor",
		.expected = (char *)"lock free\nand no marker", .actual = (char *)"lock held",
		.dialogue = (char *)"> exec\n< 0\n> kill\n", .file = (char *)"suites/kill/a.c",
		.line = 7, .rerun = (char *)"sandproof run --case kill.a.b",
	};
}

Test(format, a_failure_in_full)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_case result = failure();

	cli_format_result(&out, &plain, &result, "A kill ends the group.", 2, "out/r.ndjson");
	EXPECT_TEXT(&out, "FAIL  kill.a.b  kill K4, MUST\n"
			  "      must       A kill ends the group.\n"
			  "      but        one survivor\n"
			  "      expected   lock free\n"
			  "                 and no marker\n"
			  "      actual     lock held\n"
			  "      at         suites/kill/a.c:7\n"
			  "      │ (1 earlier lines are in out/r.ndjson)\n"
			  "      │ < 0\n"
			  "      │ > kill\n"
			  "      again      sandproof run --case kill.a.b\n");
}

Test(format, long_lines_of_a_dialogue_are_cut)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_case result = { .verdict = SP_FAIL };
	char line[1001];

	memset(line, 'x', 1000);
	line[1000] = '\0';
	result.dialogue = line;
	cli_format_result(&out, &plain, &result, NULL, 0, NULL);
	cr_expect_lt(out.len, 300, "%zu bytes", out.len);
	cr_expect_not_null(strstr(sp_buf_str(&out), "xxx…\n"), "%s", sp_buf_str(&out));
}

Test(format, foreign_text_commands_no_terminal)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_case result = failure();

	result.message = (char *)"\x1b[2Jgone\r\x07\xff\xc2\x9b";
	result.dialogue = (char *)"\x1b]0;title\x07";
	cli_format_result(&out, &ascii, &result, NULL, 0, NULL);
	cr_expect_not_null(strstr(sp_buf_str(&out), "\\x1b[2Jgone\\x0d\\x07\\xff\\xc2\\x9b"), "%s",
			   sp_buf_str(&out));
	for (size_t i = 0; i < out.len; i++)
		cr_expect(out.data[i] == '\n' || (out.data[i] >= 0x20 && out.data[i] < 0x7f),
			  "byte %02x at %zu", (unsigned char)out.data[i], i);
}

Test(format, leak)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_result_leak leak = { (char *)"kill.a", (char *)"process", (char *)"pid 7 sleep" };

	cli_format_leak(&out, &plain, &leak);
	EXPECT_TEXT(&out, "LEAK  kill.a  process: pid 7 sleep\n");
}

Test(format, progress_fits_the_terminal)
{
	struct cli_running running[] = {
		{ "kill.group.grandchild", 1200, false },
		{ "exec.a-very-long-name-that-no-terminal-of-sixty-columns-can-hold", 90000, true },
	};
	struct cli_progress progress = { running, 2, 80, { 10, 1, 1 }, 3000 };

	for (unsigned width = 1; width < 120; width++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct cli_style style = terminal;
		size_t lines, start = 0;

		style.width = width;
		lines = cli_format_progress(&out, &style, &progress);
		cr_expect_eq(lines, 3);
		for (size_t i = 0; i < out.len; i++) {
			struct sp_buf line = { .data = out.data, .len = i };

			if (out.data[i] != '\n')
				continue;
			cr_expect_lt(cli_text_columns(&line, start), width,
				     "width %u: %zu columns in:\n%s", width,
				     cli_text_columns(&line, start), sp_buf_str(&out));
			start = i + 1;
		}
	}
}

Test(format, progress_in_plain_letters)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct cli_progress progress = { NULL, 0, 80, { 38, 1, 1 }, 10000 };
	struct cli_style style = ascii;

	style.width = 100;
	cli_format_progress(&out, &style, &progress);
	EXPECT_TEXT(
		&out,
		"  ##########..........  40/80, 1 failed, 1 skipped  10.0 s, about 11 s left\n");
}

Test(text, wrap)
{
	static const struct {
		const char *text;
		size_t column, indent;
		unsigned width;
		const char *expected;
	} rows[] = {
		{ "one two three", 0, 0, 0, "one two three" },
		{ "one two three", 0, 2, 8, "one two\n  three" },
		{ "one two three", 4, 4, 8, "one\n    two\n    three" },
		{ "a\nb", 0, 2, 80, "a\n  b" },
		{ "averylongword x", 0, 0, 5, "averylongword\nx" },
		{ "", 0, 0, 5, "" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		cli_text_wrap(&out, rows[i].text, rows[i].column, rows[i].indent, rows[i].width);
		EXPECT_TEXT(&out, rows[i].expected);
	}
}

Test(text, cut)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *utf8, *ascii;
	} rows[] = {
		{ "abcdef", 6, "abcdef", "abcdef" },
		{ "abcdef", 5, "abcd…", "ab..." },
		{ "ä€öüßx", 4, "ä€ö…", "ä..." },
		{ "abcdef", 0, "", "" },
		{ "abcdef", 1, "…", "" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf a SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_buf b SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		cli_text_cut(&a, &plain, rows[i].text, rows[i].columns);
		cli_text_cut(&b, &ascii, rows[i].text, rows[i].columns);
		EXPECT_TEXT(&a, rows[i].utf8);
		EXPECT_TEXT(&b, rows[i].ascii);
	}
}

Test(text, shell_words)
{
	static const char *const rows[][2] = {
		{ "bash", "bash" },
		{ "", "''" },
		{ "render:https://x/v1", "render:https://x/v1" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "kill.*", "'kill.*'" },
		{ "$HOME", "'$HOME'" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		cli_text_word(&out, rows[i][0]);
		EXPECT_TEXT(&out, rows[i][1]);
	}
}

/* Off a terminal nothing moves: not one escape, and the last line is the numbers. */
Test(console, quiet_off_a_terminal)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct cli_console_options options = { .stream = stream, .style = plain,
					       .subjects = "provider bash" };
	struct cli_console *console = cli_console_new(&options);
	struct sp_run_listener listener = cli_console_listener(console);
	struct sp_selection selection = { NULL, NULL, 0 };
	struct sp_result_case result = failure();
	struct sp_result_case skip = { .id = (char *)"kill.c", .verdict = SP_SKIP,
				       .message = (char *)"needs control" };
	struct sp_result_end end = { .failed = 1, .skipped = 1, .leaks = 1, .duration_ms = 12 };

	listener.started(listener.arg, &selection, 2);
	listener.case_ended(listener.arg, &result);
	listener.case_ended(listener.arg, &skip);
	listener.tick(listener.arg);
	listener.ended(listener.arg, &end);
	cli_console_summary(console, &end);
	cli_console_free(console);
	fclose(stream);
	cr_expect_null(strchr(text, '\x1b'), "%s", text);
	cr_expect_not_null(strstr(text, "skipped:\n    1  needs control\n"
					"1 leak, 0 warnings, 12 ms\n"
					"0 passed, 1 failed, 1 skipped\n"), "%s", text);
	cr_expect_str_eq(strstr(text, "0 passed"), "0 passed, 1 failed, 1 skipped\n");
	free(text);
}

/* A budget that is used up is one line, not a block a case; the numbers are those of the errors. */
Test(console, a_used_up_budget_is_told_once)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct cli_console_options options = { .stream = stream, .style = plain,
					       .subjects = "provider bash" };
	struct cli_console *console = cli_console_new(&options);
	struct sp_run_listener listener = cli_console_listener(console);
	struct sp_selection selection = { NULL, NULL, 0 };
	struct sp_result_case first = { .id = (char *)"kill.a", .verdict = SP_ERROR, .worker = -1,
					.message = (char *)"budget: not run: 2 sandboxes used" };
	struct sp_result_case other = { .id = (char *)"kill.b", .verdict = SP_ERROR, .worker = -1,
					.message = (char *)"budget: not run: 3 sandboxes used" };
	struct sp_result_end end = { .errors = 3, .duration_ms = 12 };

	listener.started(listener.arg, &selection, 2);
	listener.case_ended(listener.arg, &first);
	listener.case_ended(listener.arg, &other);
	listener.case_ended(listener.arg, &other);
	listener.ended(listener.arg, &end);
	cli_console_summary(console, &end);
	cli_console_free(console);
	fclose(stream);
	cr_expect_null(strstr(text, "kill."), "%s", text);
	cr_expect_not_null(strstr(text, "\n3 not run, each an error: the budget is used up: "
					"2 sandboxes used\n"
					"0 leaks, 0 warnings, 3 errors, 12 ms\n"
					"0 passed, 3 failed, 0 skipped\n"), "%s", text);
	free(text);
}

/* On a terminal the block is gone at the end: what it drew was erased line by line. */
Test(console, leaves_no_block_behind)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct cli_console_options options = { .stream = stream, .style = terminal,
					       .subjects = "provider bash" };
	struct cli_console *console = cli_console_new(&options);
	struct sp_run_listener listener = cli_console_listener(console);
	struct sp_case_def def = { .id = "kill.a" };
	struct sp_selection selection = { NULL, NULL, 0 };

	listener.started(listener.arg, &selection, 1);
	listener.case_started(listener.arg, &def, 3);
	listener.tick(listener.arg);
	cli_console_free(console);
	fclose(stream);
	cr_expect_not_null(strstr(text, "kill.a"), "%s", text);
	cr_expect_str_eq(text + strlen(text) - strlen("\x1b[2A\r\x1b[J"), "\x1b[2A\r\x1b[J");
	free(text);
}
