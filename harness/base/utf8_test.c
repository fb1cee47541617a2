/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>

#define R "\xEF\xBF\xBD"

static const struct {
	const char *what;
	const char *bytes;
	/* What the decoder makes of it; NULL: the same, it is well-formed. */
	const char *decoded;
} texts[] = {
	{ "empty", "", NULL },
	{ "ASCII", "a~\x7F\x01", NULL },
	{ "ends of two bytes", "\xC2\x80\xDF\xBF", NULL },
	{ "ends of three bytes", "\xE0\xA0\x80\xEF\xBF\xBF", NULL },
	{ "around the surrogates", "\xED\x9F\xBF\xEE\x80\x80", NULL },
	{ "ends of four bytes", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", NULL },
	{ "mixed", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", NULL },
	{ "a stray continuation", "a\x80z", "a" R "z" },
	{ "two stray continuations", "\x80\xBF", R R },
	{ "overlong of two", "\xC0\xAF\xC1\xBF", R R R R },
	{ "overlong of three", "\xE0\x9F\xBF", R R R },
	{ "overlong of four", "\xF0\x8F\xBF\xBF", R R R R },
	{ "surrogates", "\xED\xA0\x80\xED\xBF\xBF", R R R R R R },
	{ "above the end", "\xF4\x90\x80\x80\xF5\x80", R R R R R R },
	{ "impossible bytes", "\xFE\xFF", R R },
	{ "cut after two of three, then text", "\xE2\x82z", R "z" },
	{ "cut after three of four, then text", "\xF0\x9F\x98z", R "z" },
	{ "cut, then another head", "\xF0\x9F\xE2\x82\xAC", R "\xE2\x82\xAC" },
	{ "cut at the end", "a\xF0\x9F\x98", "a" R },
	{ "cut head at the end", "a\xC3", "a" R },
	/* The example of Unicode, table 3-11. */
	{ "Unicode 3-11", "\xF0\x80\x80\x41\xE0\x9F\x41\xF4\x91\x41\xED\xA0\x41",
	  R R R "A" R R "A" R R "A" R R "A" },
	/* And of table 3-10: truncated sequences. */
	{ "Unicode 3-10", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", R R R R "A" },
};

static void expect(size_t row, const struct sp_buf *out, const char *how, size_t split)
{
	const char *expected = texts[row].decoded ? texts[row].decoded : texts[row].bytes;

	cr_assert_eq(out->error, 0);
	cr_assert_str_eq(sp_buf_str(out), expected, "%s, %s at %zu", texts[row].what, how, split);
}

Test(utf8, valid)
{
	for (size_t i = 0; i < SP_COUNT(texts); i++)
		cr_assert_eq(sp_utf8_valid(texts[i].bytes, strlen(texts[i].bytes)),
			     texts[i].decoded == NULL, "%s", texts[i].what);
	cr_assert(sp_utf8_valid("a\0b", 3), "NUL is a character");
}

Test(utf8, decoder_split_at_every_byte)
{
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		size_t len = strlen(texts[i].bytes);

		for (size_t split = 0; split <= len; split++) {
			struct sp_utf8_decoder decoder = { 0 };
			struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(256);

			sp_utf8_decode(&decoder, texts[i].bytes, split, &out);
			cr_assert(sp_utf8_valid(sp_buf_str(&out), out.len));
			sp_utf8_decode(&decoder, texts[i].bytes + split, len - split, &out);
			sp_utf8_finish(&decoder, &out);
			expect(i, &out, "split", split);
		}
	}
}

Test(utf8, decoder_byte_by_byte)
{
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_utf8_decoder decoder = { 0 };
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(256);

		for (const char *at = texts[i].bytes; *at; at++) {
			sp_utf8_decode(&decoder, at, 1, &out);
			sp_utf8_decode(&decoder, NULL, 0, &out);
		}
		sp_utf8_finish(&decoder, &out);
		sp_utf8_finish(&decoder, &out);
		expect(i, &out, "byte by byte", 1);
	}
}

Test(utf8, every_code_point_survives_and_is_one_step)
{
	for (unsigned v = 1; v <= 0x10FFFF; v++) {
		unsigned char c[4];
		size_t n;
		bool valid;

		if (v < 0x80) {
			c[0] = (unsigned char)v, n = 1;
		} else if (v < 0x800) {
			c[0] = (unsigned char)(0xC0 | v >> 6), n = 2;
		} else if (v < 0x10000) {
			c[0] = (unsigned char)(0xE0 | v >> 12), n = 3;
		} else {
			c[0] = (unsigned char)(0xF0 | v >> 18), n = 4;
		}
		for (size_t i = 1; i < n; i++)
			c[i] = (unsigned char)(0x80 | (v >> 6 * (n - 1 - i) & 63));
		if (sp_utf8_valid((char *)c, n) != (v < 0xD800 || v > 0xDFFF))
			cr_assert_fail("U+%04X", v);
		if ((v < 0xD800 || v > 0xDFFF) &&
		    (sp_utf8_next((char *)c, n, &valid) != n || !valid))
			cr_assert_fail("U+%04X is not one step", v);
	}
}

Test(utf8, cut_ends_at_a_character)
{
	static const struct {
		const char *text;
		size_t max, expected;
	} cuts[] = {
		{ "abc", 9, 3 },	  { "abc", 3, 3 },	     { "abc", 2, 2 },
		{ "abc", 0, 0 },	  { "\xC3\xA9", 1, 0 },	     { "a\xC3\xA9z", 2, 1 },
		{ "a\xC3\xA9z", 3, 3 },	  { "\xE2\x82\xAC", 2, 0 },  { "\xF0\x9F\x98\x80", 3, 0 },
		{ "\xF0\x9F\x98\x80", 4, 4 },
	};

	for (size_t i = 0; i < SP_COUNT(cuts); i++)
		cr_assert_eq(sp_utf8_cut(cuts[i].text, strlen(cuts[i].text), cuts[i].max),
			     cuts[i].expected, "row %zu", i);
}

Test(utf8, count_is_in_code_points)
{
	cr_assert_eq(sp_utf8_count("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10), 4);
	cr_assert_eq(sp_utf8_count("", 0), 0);
}

Test(utf8, decoder_reports_the_ceiling)
{
	struct sp_utf8_decoder decoder = { 0 };
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4);

	cr_assert_eq(sp_utf8_decode(&decoder, "abcd", 4, &out), 0);
	cr_assert_lt(sp_utf8_decode(&decoder, "\xFF", 1, &out), 0);
	cr_assert_str_eq(sp_buf_str(&out), "abcd");
}
