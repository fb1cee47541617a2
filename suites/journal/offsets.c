/* SPDX-License-Identifier: MIT */
/* J5: any byte can be read from, and what was read once is not read again. */
#include "cases.h"
#include "scene.h"

/* Characters of one to four bytes, empty lines, a carriage return, a last line that can be cut: 41
 * bytes, 7 lines. */
#define CONTENT                                                                                    \
	"a\n"                                                                                      \
	"{\"b\":\"\xc3\xa9\"}\n"                                                                   \
	"\n"                                                                                       \
	"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\n"                                                       \
	"tab\tt\r\n"                                                                               \
	"\n"                                                                                       \
	"\xe2\x82\xac 1000\n"
#define CONTENT_LEN (sizeof(CONTENT) - 1)

static bool write_content(struct scene *s, int code)
{
	return scene_write(s, "%s%s\n", CONTENT, journal_mark(s->t, s->run, code));
}

/* The run's own lines, then again from the end of the first. */
static void absolute(struct sp_case *t, enum sp_journal_strategy strategy)
{
	static const char content[] = "{\"first\":1}\n\xc3\xa9t\xc3\xa9\n";
	struct scene s SCENE = SCENE_INIT;
	struct reader again READER = READER_INIT;

	SP_REQUIRE(scene_open_live(t, &s));
	SP_REQUIRE(scene_run(&s, "echo '{\"first\":1}'; printf '\\303\\251t\\303\\251\\n'"));
	SP_REQUIRE(scene_reads(&s, strategy, content, sizeof(content) - 1, 0, SP_HERE,
			       "from the start"));
	SP_REQUIRE(reader_open(&s, &again, 12, strategy));
	reader_take_all(&again, content, sizeof(content) - 1, 12, 0, SP_HERE,
			"from the end of the first line");
}

void journal_offset_absolute(struct sp_case *t)
{
	absolute(t, SP_JOURNAL_POLL);
}

void journal_follow_absolute(struct sp_case *t)
{
	absolute(t, SP_JOURNAL_FOLLOW);
}

static void every(struct sp_case *t, enum sp_journal_strategy strategy, size_t step)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && write_content(&s, 5));
	for (size_t from = 0; from <= CONTENT_LEN; from += step) {
		struct reader r READER = READER_INIT;

		SP_REQUIRE(reader_open(&s, &r, from, strategy));
		SP_REQUIRE(reader_take_all(&r, CONTENT, CONTENT_LEN, from, 5, SP_HERE,
					   sp_case_format(t, "from byte %zu", from)));
	}
}

void journal_offset_every(struct sp_case *t)
{
	every(t, SP_JOURNAL_POLL, 1);
}

/* A follower is a process: every eighth byte, two of which are inside long characters. */
void journal_follow_every(struct sp_case *t)
{
	every(t, SP_JOURNAL_FOLLOW, 8);
}

/* One reader takes `first` lines; another goes on where it stopped. */
static bool split_after(struct scene *s, size_t first, enum sp_journal_strategy strategy)
{
	const char *what = sp_case_format(s->t, "continued after line %zu", first);
	struct reader second READER = READER_INIT;
	uint64_t at = 0;

	{
		struct reader r READER = READER_INIT;

		if (!reader_open(s, &r, 0, strategy))
			return false;
		for (size_t i = 0; i < first; i++) {
			struct sp_call_result *result = reader_next(&r);

			if (!result ||
			    !SP_CHECK_OK(s->t, result->rc, &result->err, "line %zu", i + 1) ||
			    !SP_CHECK(s->t, !r.end && !r.line.is_exit, "line %zu is a line", i + 1))
				return false;
			at = r.line.end_position;
		}
	}
	return reader_open(s, &second, at, strategy) &&
	       reader_take_all(&second, CONTENT, CONTENT_LEN, at, 0, SP_HERE, what);
}

static void resume(struct sp_case *t, enum sp_journal_strategy strategy, size_t step)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && write_content(&s, 0));
	for (size_t first = 1; first <= 7; first += step)
		SP_REQUIRE(split_after(&s, first, strategy));
}

void journal_offset_resume(struct sp_case *t)
{
	resume(t, SP_JOURNAL_POLL, 1);
}

void journal_follow_resume(struct sp_case *t)
{
	resume(t, SP_JOURNAL_FOLLOW, 3);
}

static void beyond_end(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && scene_write(&s, "one\n"));
	scene_check_refused(&s, 5, strategy, SP_HERE, "a reader from byte 5 of 4");
}

void journal_offset_beyond_end(struct sp_case *t)
{
	beyond_end(t, SP_JOURNAL_POLL);
}

void journal_follow_beyond_end(struct sp_case *t)
{
	beyond_end(t, SP_JOURNAL_FOLLOW);
}

/* At the end is not beyond it: the reader waits for what comes. */
static void at_end(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;

	SP_REQUIRE(scene_open_live(t, &s) && scene_write(&s, "one\n") &&
		   reader_open(&s, &r, 4, strategy));
	SP_REQUIRE(reader_ask(&r));
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, s.sandbox, r.pending),
			    "a reader at the end of a live journal waits"));
	SP_REQUIRE(!sp_case_failed(t) && scene_write(&s, "two\n"));
	SP_REQUIRE(reader_check_line(&r, reader_answer(&r), "two", 3, 8, SP_HERE,
				     "what is written next"));
}

void journal_offset_at_end(struct sp_case *t)
{
	at_end(t, SP_JOURNAL_POLL);
}

void journal_follow_at_end(struct sp_case *t)
{
	at_end(t, SP_JOURNAL_FOLLOW);
}

/* 5 GiB of hole: what counts with 32 bits, or reads from the start, does not get here. */
#define HUGE (UINT64_C(5) << 30)

static void huge(struct sp_case *t, enum sp_journal_strategy strategy)
{
	struct scene s SCENE = SCENE_INIT;
	struct reader r READER = READER_INIT;
	const char *mark;

	SP_REQUIRE(scene_open_live(t, &s));
	mark = journal_mark(t, s.run, 4);
	SP_REQUIRE(sp_sh_ok(t, s.sandbox,
			    "mkdir %s && dd if=/dev/null of=%s bs=1 seek=%llu 2>/dev/null", s.dir,
			    s.file, (unsigned long long)HUGE));
	SP_REQUIRE(scene_write(&s, "one\ntwo\n%s\n", mark));
	SP_REQUIRE(reader_open(&s, &r, HUGE, strategy));
	SP_REQUIRE(reader_take(&r, "one", 3, HUGE + 4, SP_HERE, "behind 5 GiB"));
	SP_REQUIRE(reader_take(&r, "two", 3, HUGE + 8, SP_HERE, "behind 5 GiB"));
	SP_REQUIRE(reader_take_exit(&r, 4, HUGE + 9 + strlen(mark), SP_HERE, "behind 5 GiB"));
	reader_done(&r);
	SP_REQUIRE(reader_open(&s, &r, HUGE + 5, strategy));
	SP_REQUIRE(reader_take(&r, "wo", 2, HUGE + 8, SP_HERE, "behind 5 GiB and 5 bytes"));
	scene_check_state(&s, SP_JOURNAL_FINISHED, 4, SP_HERE, "a journal of 5 GiB");
}

void journal_offset_huge(struct sp_case *t)
{
	huge(t, SP_JOURNAL_POLL);
}

void journal_follow_huge(struct sp_case *t)
{
	huge(t, SP_JOURNAL_FOLLOW);
}
