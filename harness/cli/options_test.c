/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <cli/options.h>

struct args {
	bool flag;
	const char *text;
	struct cli_list list;
	struct cli_number number;
	const char *secret_option;
};

static const struct cli_option options[] = {
	CLI_OPTION(struct args, flag, "fail-fast", NULL, CLI_FLAG, "a flag"),
	CLI_OPTION(struct args, text, "provider", "SPEC", CLI_TEXT, "a text"),
	CLI_OPTION(struct args, list, "case", "GLOB", CLI_LIST, "a list"),
	CLI_OPTION(struct args, number, "jobs", "N", CLI_NUMBER, "a number", .min = 1, .max = 64),
	CLI_OPTION(struct args, secret_option, "own-folder", "D", CLI_TEXT, "hidden",
		   .hidden = true),
};

/* What parsing gives, as one text: "flag text list number words" or "error: message". */
static void describe(const char *const *argv, struct sp_buf *out)
{
	struct args args = { .text = NULL };
	struct cli_list words = { NULL, 0 };
	struct sp_error err = SP_ERROR_INIT;
	int argc = 0, rc;

	while (argv[argc])
		argc++;
	rc = cli_parse(options, SP_COUNT(options), argc, (char **)argv, &args, &words, &err);
	if (rc == CLI_WANTS_HELP) {
		sp_buf_adds(out, "help");
	} else if (rc) {
		sp_buf_addf(out, "%s: %s", sp_code_name(rc), err.message);
	} else {
		sp_buf_addf(out, "%d %s [", args.flag, args.text ? args.text : "-");
		for (size_t i = 0; i < args.list.len; i++)
			sp_buf_addf(out, "%s%s", i ? " " : "", args.list.items[i]);
		sp_buf_addf(out, "] %d:%d [", args.number.set, (int)args.number.value);
		for (size_t i = 0; i < words.len; i++)
			sp_buf_addf(out, "%s%s", i ? " " : "", words.items[i]);
		sp_buf_adds(out, "]");
	}
	cli_list_done(&args.list);
	cli_list_done(&words);
}

static const struct {
	const char *argv[8];
	const char *expected;
} rows[] = {
	{ { NULL }, "0 - [] 0:0 []" },
	{ { "--fail-fast" }, "1 - [] 0:0 []" },
	{ { "--provider", "bash" }, "0 bash [] 0:0 []" },
	{ { "--provider=bash" }, "0 bash [] 0:0 []" },
	{ { "--provider=a=b" }, "0 a=b [] 0:0 []" },
	{ { "--provider", "--odd" }, "0 --odd [] 0:0 []" },
	{ { "--case=a", "--case", "b", "--case=c*" }, "0 - [a b c*] 0:0 []" },
	{ { "--jobs", "8" }, "0 - [] 1:8 []" },
	{ { "word", "--fail-fast", "two" }, "1 - [] 0:0 [word two]" },
	{ { "--", "--fail-fast", "--x" }, "0 - [] 0:0 [--fail-fast --x]" },
	{ { "-" }, "0 - [] 0:0 [-]" },
	{ { "--help", "--nonsense" }, "help" },
	{ { "-h" }, "help" },
	{ { "--", "-h" }, "0 - [] 0:0 [-h]" },
	{ { "--fail-fast=yes" }, "invalid: --fail-fast takes no value" },
	{ { "--provider" }, "invalid: --provider needs a value: --provider SPEC" },
	{ { "--provider=" }, "invalid: --provider needs a value: --provider SPEC" },
	{ { "--provider=a", "--provider=b" }, "invalid: --provider is given twice" },
	{ { "--jobs=1", "--jobs=2" }, "invalid: --jobs is given twice" },
	{ { "--jobs=0" }, "invalid: --jobs takes a number from 1 to 64, not \"0\"" },
	{ { "--jobs=65" }, "invalid: --jobs takes a number from 1 to 64, not \"65\"" },
	{ { "--jobs=4x" }, "invalid: --jobs takes a number from 1 to 64, not \"4x\"" },
	{ { "--jobs=-1" }, "invalid: --jobs takes a number from 1 to 64, not \"-1\"" },
	{ { "--jobs= 1" }, "invalid: --jobs takes a number from 1 to 64, not \" 1\"" },
	{ { "--jobs=99999999999999999999999" },
	  "invalid: --jobs takes a number from 1 to 64, not \"99999999999999999999999\"" },
	{ { "--provder", "x" }, "invalid: unknown option --provder; the nearest: --provider" },
	{ { "--provder=secret" }, "invalid: unknown option --provder; the nearest: --provider" },
	{ { "-provider" }, "invalid: unknown option -provider; the nearest: --provider" },
	{ { "--own-folde=x" }, "invalid: unknown option --own-folde" },
	{ { "-x" }, "invalid: unknown option -x" },
};

Test(options, parse)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		describe(rows[i].argv, &out);
		cr_expect_str_eq(sp_buf_str(&out), rows[i].expected,
				 "%s: \"%s\", expected \"%s\"",
				 rows[i].argv[0] ? rows[i].argv[0] : "(nothing)", sp_buf_str(&out),
				 rows[i].expected);
	}
}

Test(options, largest_number)
{
	uint64_t value = 0;

	cr_assert_eq(cli_parse_number("x", "9007199254740991", 0, UINT64_C(9007199254740991),
				      &value, NULL), 0);
	cr_assert_eq(value, UINT64_C(9007199254740991));
	cr_assert_lt(cli_parse_number("x", "18446744073709551616", 0, UINT64_MAX, &value, NULL), 0);
	cr_assert_lt(cli_parse_number("x", "", 0, 9, &value, NULL), 0);
}

Test(options, help_shows_what_is_not_hidden)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	cli_options_help(options, SP_COUNT(options), 80, &out);
	cr_expect_not_null(strstr(sp_buf_str(&out), "  --case GLOB…            a list\n"), "%s",
			   sp_buf_str(&out));
	cr_expect_null(strstr(sp_buf_str(&out), "own-folder"), "%s", sp_buf_str(&out));
}
