/* SPDX-License-Identifier: MIT */
/* The small ones: clock, glob, SHA-256. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/glob.h>
#include <base/sha256.h>

static const struct {
	const char *pattern, *text;
	bool match;
} globs[] = {
	{ "", "", true },
	{ "", "a", false },
	{ "*", "", true },
	{ "*", "kill.group", true },
	{ "**", "x", true },
	{ "?", "", false },
	{ "?", "a", true },
	{ "?", "ab", false },
	{ "?", "\xC3\xA9", true },
	{ "a?c", "a\xF0\x9F\x98\x80" "c", true },
	{ "??", "\xC3\xA9", false },
	{ "kill.*", "kill.group.x", true },
	{ "kill.*", "kill", false },
	{ "*.x", "kill.group.x", true },
	{ "*.x", "kill.x.y", false },
	{ "k*l.*x", "kill.group.x", true },
	{ "*ab*ab*", "xabyab", true },
	{ "*ab*ab*", "xaby", false },
	{ "*aab", "aaaab", true },
	{ "[a]", "a", false },
	{ "[a]", "[a]", true },
	{ "a\\*", "a\\b", true },
	{ "kill", "Kill", false },
	{ "a*b?", "axbybz", true },
	{ "*?", "", false },
};

Test(glob, table)
{
	for (size_t i = 0; i < SP_COUNT(globs); i++)
		cr_expect_eq(sp_glob_match(globs[i].pattern, globs[i].text), globs[i].match,
			     "\"%s\" on \"%s\"", globs[i].pattern, globs[i].text);
}

Test(sha256, vectors)
{
	char hex[SP_SHA256_HEX];

	cr_assert_eq(sp_sha256_hex("", 0, hex), 0);
	cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	cr_assert_eq(sp_sha256_hex(NULL, 0, hex), 0);
	cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	cr_assert_eq(sp_sha256_hex("abc", 3, hex), 0);
	cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

Test(clock, wall_format)
{
	char text[32];

	static const struct {
		int64_t ms;
		const char *expected;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00Z" },
		{ 999, "1970-01-01T00:00:00Z" },
		{ -1, "1969-12-31T23:59:59Z" },
		{ -1000, "1969-12-31T23:59:59Z" },
		{ INT64_C(1796032800000), "2026-11-30T10:00:00Z" },
	};
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		sp_wall_format(rows[i].ms, text, sizeof(text));
		cr_expect_str_eq(text, rows[i].expected);
	}
	sp_wall_format(0, text, 5);
	cr_assert_str_empty(text, "a small buffer holds nothing rather than half a time");
	sp_wall_format(INT64_MAX, text, sizeof(text));
}

Test(clock, scale_stretches_deadlines)
{
	/* Each is compared with what another scale gives, whatever time passes in between. */
	static const struct {
		const char *scale;
		uint64_t least_ms, most_ms;
	} rows[] = {
		{ NULL, 1000000, 1100000 },    { "", 1000000, 1100000 },
		{ "1", 1000000, 1100000 },     { "2.5", 2500000, 2600000 },
		{ "0.1", 100000, 200000 },     { "0", 100000, 200000 },
		{ "-3", 100000, 200000 },      { "1e9", 1000000000, 1000100000 },
		{ "junk", 1000000, 1100000 },  { "2x", 1000000, 1100000 },
		{ "nan", 1000000, 1100000 },
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		uint64_t before = sp_now(), deadline;

		if (rows[i].scale)
			setenv("SANDPROOF_TIME_SCALE", rows[i].scale, 1);
		else
			unsetenv("SANDPROOF_TIME_SCALE");
		deadline = sp_deadline_ms(1000000);
		cr_expect_geq(deadline, before + rows[i].least_ms * SP_MS, "scale %s",
			      rows[i].scale);
		cr_expect_leq(deadline, before + rows[i].most_ms * SP_MS, "scale %s",
			      rows[i].scale);
		cr_expect_eq(sp_scaled_ms(1000000), rows[i].least_ms, "scale %s", rows[i].scale);
	}
	unsetenv("SANDPROOF_TIME_SCALE");
	cr_expect(sp_time_scale_valid());
	cr_assert_eq(sp_deadline_ms(UINT64_MAX), (uint64_t)INT64_MAX);
}

Test(clock, until)
{
	cr_assert_eq(sp_until_ms(0), -1);
	cr_assert_eq(sp_until_ms(1), 0);
	cr_assert_eq(sp_until_ms(UINT64_MAX), INT_MAX);
	/* Rounded up: a poll never returns just before the deadline, again and again. */
	cr_assert_geq(sp_until_ms(sp_now() + 3600 * SP_SECOND), 3500000);
	cr_assert_leq(sp_until_ms(sp_now() + 3600 * SP_SECOND), 3600000);
}
