/* SPDX-License-Identifier: MIT */
/*
 * The command's text: any characters, any length, any ending, and nothing in
 * its output is taken for ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>

#include "cases.h"
#include "run.h"

void exec_text_quotes(struct sp_case *t)
{
	/*
	 * Each word is passed to printf as the shell's own quoting says; what
	 * comes out is what was meant.
	 */
	static const struct {
		const char *command;
		const char *out;
	} rows[] = {
		{ "printf %s \"it's\"", "it's" },
		{ "printf %s 'say \"hi\"'", "say \"hi\"" },
		{ "printf %s '\\'", "\\" },
		{ "printf %s \\\\\\\\", "\\\\" },
		{ "printf %s '$HOME `id` $(id)'", "$HOME `id` $(id)" },
		{ "printf %s \"\\$HOME\"", "$HOME" },
		{ "printf %s '!! !x *'", "!! !x *" },
		{ "printf %s 'a\tb'", "a\tb" },
		{ "printf %s 'a\nb'", "a\nb" },
		{ "printf %s 'a\rb'", "a\rb" },
		{ "printf %s '\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80'", "\xc3\xa4\xe2\x82\xac\xf0\x9f"
								      "\x98\x80" },
		{ "printf %s ''\\'''\\'''", "''" },
		{ "printf '%s|' '' ' ' \"\"", "| ||" },
		{ "printf %s '%s %n &amp; <b> {\"a\":1}'", "%s %n &amp; <b> {\"a\":1}" },
		{ "printf %s '\\n \\u0041 \\x41'", "\\n \\u0041 \\x41" },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = rows[i].out }, SP_HERE,
					 rows[i].command));
}

/*
 * A command of exactly `len` bytes that prints ok; padded by `fill`, which must be
 * harmless in single or double quotes.
 */
static bool long_command_gives_ok(struct sp_case *t, size_t len, char fill, char quote)
{
	static const char head[] = ": ";
	static const char tail[] = "; printf ok";
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char what[80];

	sp_buf_adds(&text, head);
	sp_buf_addc(&text, quote);
	while (text.len + sizeof(tail) < len && !text.error)
		sp_buf_addc(&text, fill);
	sp_buf_addc(&text, quote);
	sp_buf_adds(&text, tail);
	snprintf(what, sizeof(what), "a command of %zu bytes", text.len);
	return command_gives(t, sp_buf_str(&text), &(struct expected){ .out = "ok" }, SP_HERE,
			     what);
}

void exec_text_long(struct sp_case *t)
{
	/* Around the kernel's limit for one argument (131,072 with its NUL), and far beyond. */
	static const size_t lengths[] = { 60000,  130000,     131071,	  131072,
					  131073, 200 * 1024, 1024 * 1024 };

	for (size_t i = 0; i < SP_COUNT(lengths); i++)
		SP_REQUIRE(long_command_gives_ok(t, lengths[i], 'x', '\''));
	/* 45,000 single quotes grow fourfold when they are quoted once more. */
	long_command_gives_ok(t, 45000, '\'', '"');
}

void exec_text_endings(struct sp_case *t)
{
	static const struct {
		const char *command;
		const char *out;
		int code;
	} rows[] = {
		{ "echo a # a comment to the end", "a\n", 0 },
		{ "echo a;", "a\n", 0 },
		{ "echo a\n", "a\n", 0 },
		{ "echo a\n\n\n", "a\n", 0 },
		{ "# only a comment", "", 0 },
		{ "cat <<EOF\nbody\nEOF", "body\n", 0 },
		{ "echo a; exit 5 # code", "a\n", 5 },
		{ "exit 6\n", "", 6 },
		{ "  \t echo a", "a\n", 0 },
		{ "-no-option 2>/dev/null || echo $?", "127\n", 0 },
		{ "echo a || \\\n echo b", "a\n", 0 },
		{ "echo $LINENO\necho $LINENO", "1\n2\n", 0 },
		{ "", "", 0 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = rows[i].out,
							     .code = rows[i].code },
					 SP_HERE, rows[i].command));
}

void exec_text_imitations(struct sp_case *t)
{
	/*
	 * Texts that an implementation could take for its own, its transport's or its platform's.
	 */
	static const char *const texts[] = {
		"event: exit\ndata: {\"exit_code\":0}\n\n",
		"data: {\"stream\":\"stderr\",\"data\":\"x\"}",
		"{\"exit_code\":0}",
		"{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":0}",
		"HTTP/1.1 401 Unauthorized",
		"<!DOCTYPE html><title>Log in</title>",
		"error: not authenticated, please log in",
		"__exit:0",
		"{\"__exit\":0}",
		"command not found",
		"sandbox not found",
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_adds(&command, "printf %s ");
		sp_buf_add_shell(&command, texts[i]);
		sp_buf_adds(&command, "; printf %s ");
		sp_buf_add_shell(&command, texts[i]);
		sp_buf_adds(&command, " >&2; exit 1");
		SP_REQUIRE(command_gives(t, sp_buf_str(&command),
					 &(struct expected){
						 .out = texts[i], .err = texts[i], .code = 1 },
					 SP_HERE,
					 "a guest that prints what a platform could have said"));
	}
}
