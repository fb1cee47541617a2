/* SPDX-License-Identifier: MIT */
/* J6: lines are whole, and their bytes are the file's. */
#include "cases.h"
#include "scene.h"

/* ---- A last line without its newline ---- */

static void unterminated(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	struct reader again READER = READER_INIT;
	uint64_t at, whole;

	SP_REQUIRE(scene_open_live(t, &s) && scene_run(&s, "printf 'a\\nb'; exit 3"));
	whole = 3 + strlen(journal_mark(t, s.run, 3)) + 1;
	SP_REQUIRE(scene_check_state(&s, SP_JOURNAL_FINISHED, 3, SP_HERE,
				     "a run without a last newline"));
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	SP_REQUIRE(reader_take(&r, "a", 1, 2, SP_HERE, "the ended line"));
	/* Its last byte is byte 3; nothing else is free to choose. */
	SP_REQUIRE(reader_take(&r, "b", 1, 3, SP_HERE, "the unended line"));
	at = r.line.end_position;
	SP_REQUIRE(reader_take_exit(&r, 3, whole, SP_HERE, "after the unended line"));
	SP_REQUIRE(reader_open(&s, &again, at, strategy));
	reader_take_exit(&again, 3, whole, SP_HERE, "continued after the unended line");
}

void journal_line_unterminated(struct sp_case *t)
{
	unterminated(t, SP_JOURNAL_POLL);
}

void journal_follow_unterminated(struct sp_case *t)
{
	unterminated(t, SP_JOURNAL_FOLLOW);
}

/* ---- Half a line, while its writer lives ---- */

static void half(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && scene_write(&s, "before\n{\"half\":"));
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	SP_REQUIRE(reader_take(&r, "before", 6, 7, SP_HERE, "the line before"));
	SP_REQUIRE(reader_ask(&r));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "half a line is not given while its end may come"));
	/* The second half ends inside a character, the third within its bytes. */
	SP_REQUIRE(!sp_case_failed(t) && scene_write(&s, "\"\xf0\x9f") &&
		   SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "half a character is not given either"));
	SP_REQUIRE(!sp_case_failed(t) && scene_write(&s, "\x98\x80\"}\nafter\n"));
	SP_REQUIRE(reader_check_line(&r, reader_answer(&r), "{\"half\":\"\xf0\x9f\x98\x80\"}", 15,
				     23, SP_HERE, "the line in one piece"));
	reader_take(&r, "after", 5, 29, SP_HERE, "the line after");
}

void journal_line_half(struct sp_case *t)
{
	half(t, SP_JOURNAL_POLL);
}

void journal_follow_half(struct sp_case *t)
{
	half(t, SP_JOURNAL_FOLLOW);
}

/* ---- Any byte ---- */

static void any_bytes(struct sp_case *t, enum sp_journal_strategy strategy)
{
	/* A byte order mark, bytes that are no UTF-8, a NUL, one half of a pair, the replacement
	 * itself. */
	static const char content[] = "\xef\xbb\xbf{\"bom\":1}\n"
				      "{\"\xff\"}\n"
				      "nul\0nul\n"
				      "\xed\xa0\x80 \xc0\xaf \xf0\x9f\n"
				      "\xef\xbf\xbd\n"
				      "plain\n";
	enum { LEN = sizeof(content) - 1 };
	unsigned char all[257];
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open_live(t, &s));
	SP_REQUIRE(scene_append(&s, s.file, content, LEN) &&
		   scene_write(&s, "%s\n", journal_mark(t, s.run, 0)));
	SP_REQUIRE(scene_reads(&s, strategy, content, LEN, 0, SP_HERE, "bytes that are no text"));
	for (size_t i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	all[256] = '\n';
	SP_REQUIRE(scene_set_run(&s, NULL) && scene_append(&s, s.file, all, sizeof(all)) &&
		   scene_write(&s, "%s\n", journal_mark(t, s.run, 9)));
	scene_reads(&s, strategy, all, sizeof(all), 9, SP_HERE, "all 256 bytes");
}

void journal_line_bytes(struct sp_case *t)
{
	any_bytes(t, SP_JOURNAL_POLL);
}

void journal_follow_bytes(struct sp_case *t)
{
	any_bytes(t, SP_JOURNAL_FOLLOW);
}

void journal_line_empty(struct sp_case *t)
{
	static const char content[] = "\n\nx\n\n \n\r\n\n";
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open(t, &s) && scene_run(&s, "printf '\\n\\nx\\n\\n \\n\\r\\n\\n'"));
	SP_REQUIRE(scene_reads(&s, SP_JOURNAL_POLL, content, sizeof(content) - 1, 0, SP_HERE,
			       "empty lines"));
	if (sp_case_capabilities(t)->follow)
		scene_reads(&s, SP_JOURNAL_FOLLOW, content, sizeof(content) - 1, 0, SP_HERE,
			    "empty lines, followed");
}

/* ---- The ceiling ---- */

#define CEILING 1000

static void ceiling(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	char line[CEILING + 2];
	struct sp_call_result *result;
	bool names_it;

	SP_REQUIRE(scene_open_live(t, &s));
	memset(line, 'x', sizeof(line));
	line[CEILING] = '\n';
	SP_REQUIRE(scene_append(&s, s.file, line, CEILING + 1));
	/* No newline will ever come: waiting for one would fill the memory. */
	line[CEILING] = 'x';
	SP_REQUIRE(scene_append(&s, s.file, line, CEILING + 1));
	s.options.line_ceiling = CEILING;
	SP_REQUIRE(reader_open(&s, &r, 0, strategy));
	SP_REQUIRE(reader_take(&r, line, CEILING, CEILING + 1, SP_HERE,
			       "a line of exactly the ceiling"));
	r.settled = true;
	result = reader_next(&r);
	SP_REQUIRE(result && SP_CHECK_CODE(t, SP_PROTOCOL, result->rc, &result->err,
					   "a line of one byte more than the ceiling"));
	names_it = strstr(result->err.message, "1000") || strstr(result->err.detail, "1000");
	SP_CHECK(t, names_it, "the error names the ceiling of 1000 bytes, not \"%s\"",
		 result->err.message);
}

void journal_line_ceiling(struct sp_case *t)
{
	ceiling(t, SP_JOURNAL_POLL);
}

void journal_follow_ceiling(struct sp_case *t)
{
	ceiling(t, SP_JOURNAL_FOLLOW);
}
