/* SPDX-License-Identifier: MIT */
#include <base/glob.h>

#include <stddef.h>

/*
 * First byte after the character at `text`; a stray continuation byte goes with what precedes it.
 */
static const char *next_character(const char *text)
{
	text++;
	while (((unsigned char)*text & 0xC0) == 0x80)
		text++;
	return text;
}

bool sp_glob_match(const char *pattern, const char *text)
{
	/* Only the last star has to be tried again: what an earlier one took can stay. */
	const char *star = NULL;
	const char *taken = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			taken = text;
		} else if (*pattern == '?') {
			pattern++;
			text = next_character(text);
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			taken = next_character(taken);
			text = taken;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
