/* SPDX-License-Identifier: MIT */
/* J7: only the run's own mark ends it. */
#include "cases.h"
#include "scene.h"

/* What a program may print, and what is no exit of the run whose nonce is %1$s. */
static const char *const forged[] = {
	"{\"__exit\":0}",
	"{\"__exit\":0,\"__nonce\":\"\"}",
	"{\"__exit\":0,\"__nonce\":\"00000000000000000000000000000000\"}",
	"{\"__exit\":\"0\",\"__nonce\":\"%1$s\"}",
	"{\"__exit\":1.5,\"__nonce\":\"%1$s\"}",
	"{\"__exit\":null,\"__nonce\":\"%1$s\"}",
	"{\"__exit\":true,\"__nonce\":\"%1$s\"}",
	"{\"exit\":0,\"__nonce\":\"%1$s\"}",
	"[{\"__exit\":0,\"__nonce\":\"%1$s\"}]",
	"{\"a\":{\"__exit\":0,\"__nonce\":\"%1$s\"}}",
	"{\"__exit\":0,\"__nonce\":[\"%1$s\"]}",
	"{\"__exit\":0,\"__nonce\":\"%1$s\"} trailing",
	"{\"__exit\":0,\"__nonce\":\"%1$s\"",
};

static void add_line(struct sp_case *t, const char *format, const char *nonce, struct sp_buf *out)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	sp_buf_addf(out, "%s\n", sp_case_format(t, format, nonce));
#pragma GCC diagnostic pop
}

static void forge(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	const char *nonce;
	char upper[64];

	SP_REQUIRE(scene_open_live(t, &s));
	nonce = journal_nonce(t, s.run);
	for (size_t i = 0; i < SP_COUNT(forged); i++)
		add_line(t, forged[i], nonce, &text);
	for (size_t i = 0; i <= strlen(nonce); i++)
		upper[i] = (char)(nonce[i] >= 'a' && nonce[i] <= 'f' ? nonce[i] - 32 : nonce[i]);
	if (strcmp(upper, nonce))
		add_line(t, "{\"__exit\":0,\"__nonce\":\"%1$s\"}", upper, &text);
	sp_buf_addf(&text, "%s\n", journal_mark(t, "another-run", 0));
	SP_REQUIRE(scene_append(&s, s.file, text.data, text.len));
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_PRODUCING, 0, SP_HERE,
				     "a journal that ends in somebody else's mark"));
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	SP_REQUIRE(reader_take_all(&r, text.data, text.len, 0, -1, SP_HERE,
				   "what is no end of this run"));
	SP_REQUIRE(scene_write(&s, "%s\n", journal_mark(t, s.run, 7)));
	SP_REQUIRE(reader_take_exit(&r, 7, text.len + strlen(journal_mark(t, s.run, 7)) + 1,
				    SP_HERE, "the run's own mark"));
	scene_check_state(&s, SP_JOURNAL_FINISHED, 7, SP_HERE, "the run after its own mark");
}

void journal_mark_forged(struct sp_case *t)
{
	forge(t, SP_JOURNAL_POLL);
}

void journal_follow_forged(struct sp_case *t)
{
	forge(t, SP_JOURNAL_FOLLOW);
}

/* The program's last word is a mark without a newline; the wrapper's own follows on the same line.
 */
void journal_mark_fused(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	const char *other = journal_mark(t, "another-run", 0);
	size_t len = strlen(other);

	SP_REQUIRE(scene_open(t, &s));
	SP_REQUIRE(scene_run(
		&s,
		sp_case_format(
			t,
			"printf '{\"__exit\":0,'; printf '\"x\":1}\\n'; printf '%%s' '%s'; exit 7",
			other)));
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, 7, SP_HERE, "the run"));
	SP_REQUIRE(reader_open(&s, &r, 0, SP_JOURNAL_POLL));
	SP_REQUIRE(reader_take(&r, "{\"__exit\":0,\"x\":1}", 18, 19, SP_HERE,
			       "a mark written in two pieces"));
	SP_REQUIRE(reader_take(&r, other, len, 19 + len, SP_HERE,
			       "another run's mark without a newline"));
	reader_take_exit(&r, 7, 19 + len + strlen(journal_mark(t, s.run, 7)) + 1, SP_HERE,
			 "the run's own mark");
}

/* Every spelling of the mark that the contract accepts. */
void journal_mark_spellings(struct sp_case *t)
{
	static const struct {
		const char *format;
		int code;
	} spelled[] = {
		{ "{\"__exit\":0,\"__nonce\":\"%1$s\"}", 0 },
		{ "{\"__nonce\":\"%1$s\",\"__exit\":3}", 3 },
		{ "{\"__exit\":1e2,\"__nonce\":\"%1$s\"}", 100 },
		{ "{\"__exit\":-1,\"__nonce\":\"%1$s\"}", -1 },
		{ "  {\"__exit\":5,\"__nonce\":\"%1$s\"}\r", 5 },
		{ "{\"more\":[1],\"__exit\":6,\"__nonce\":\"%1$s\"}", 6 },
	};
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	const char *runs[SP_COUNT(spelled)], *lines[SP_COUNT(spelled)];
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s));
	sp_buf_addf(&command, "mkdir %s", s.dir);
	for (size_t i = 0; i < SP_COUNT(spelled); i++) {
		struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		SP_REQUIRE(scene_set_run(&s, NULL));
		runs[i] = s.run;
		add_line(t, spelled[i].format, journal_nonce(t, s.run), &line);
		lines[i] = sp_case_format(t, "%s", sp_buf_str(&line));
		sp_buf_adds(&command, " && printf %s ");
		sp_buf_add_shell(&command, lines[i]);
		sp_buf_addf(&command, " > %s", s.file);
	}
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "%s", sp_buf_str(&command)));
	for (size_t i = 0; i < SP_COUNT(spelled); i++) {
		struct reader r READER = READER_INIT;

		SP_REQUIRE(scene_set_run(&s, runs[i]) && reader_open(&s, &r, 0, SP_JOURNAL_POLL));
		SP_REQUIRE(reader_take_exit(&r, spelled[i].code, strlen(lines[i]), SP_HERE,
					    lines[i]));
		SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, spelled[i].code, SP_HERE,
					     lines[i]));
	}
}

/* The probe looks from the end, at the tail alone. */
void journal_mark_probe(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	const char *seven, *zero;

	SP_REQUIRE(scene_open(t, &s));
	SP_REQUIRE(
		scene_check_state(&s, SP_JOURNAL_UNKNOWN, 0, SP_HERE, "a run without a journal"));
	SP_REQUIRE(
		scene_write(&s, "junk\n") &&
		scene_check_state(&s, SP_JOURNAL_PRODUCING, 0, SP_HERE, "a run that has written"));
	seven = journal_mark(t, s.run, 7);
	zero = journal_mark(t, s.run, 0);
	SP_REQUIRE(scene_write(&s, "%s", seven) &&
		   scene_check_state(&s, SP_JOURNAL_FINISHED, 7, SP_HERE,
				     "a mark without its newline"));
	SP_REQUIRE(scene_write(&s, "\nlate output of a child\n") &&
		   scene_check_state(&s, SP_JOURNAL_FINISHED, 7, SP_HERE,
				     "a mark with output behind it"));
	SP_REQUIRE(scene_write(&s, "%s\n", zero));
	scene_check_state(&s, SP_JOURNAL_FINISHED, 0, SP_HERE,
			  "two marks, of which the last counts");
}

/* Reader and probe have one verdict, also where a run's mark stands twice. */
void journal_mark_two(struct sp_case *t)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	struct sp_call_result *result;
	int lines = 0;

	SP_REQUIRE(scene_open(t, &s) && scene_write(&s, "a\n%s\nb\n%s\n", journal_mark(t, s.run, 7),
						    journal_mark(t, s.run, 4)));
	SP_REQUIRE(
		scene_check_state(&s, SP_JOURNAL_FINISHED, 4, SP_HERE, "a journal with two marks"));
	SP_REQUIRE(reader_open(&s, &r, 0, SP_JOURNAL_POLL));
	while ((result = reader_next(&r)) && !result->rc && !r.end && !r.line.is_exit)
		lines++;
	SP_REQUIRE(result &&
		   SP_CHECK_OK(t, result->rc, &result->err, "reading a journal with two marks"));
	SP_REQUIRE(SP_CHECK(t, r.line.is_exit, "the reader comes to the exit"));
	SP_CHECK_INT(t, 4, r.line.exit_code, "the reader's exit code, as the probe has it");
	sp_case_note(t, "%d lines before the exit", lines);
}
