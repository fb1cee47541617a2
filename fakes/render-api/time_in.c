/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/time_in.h>

#include <stdio.h>
#include <time.h>

/* Exactly `n` digits; false when there are fewer. */
static bool digits(const char **text, int n, int *ret)
{
	*ret = 0;
	for (; n; n--, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*ret = *ret * 10 + (**text - '0');
	}
	return true;
}

static bool mark(const char **text, char upper, char lower)
{
	if (**text != upper && **text != lower)
		return false;
	++*text;
	return true;
}

/* Milliseconds of a fraction of any length; what is finer is cut off. */
static bool fraction(const char **text, int *ret_ms)
{
	int scale = 100;

	*ret_ms = 0;
	if (**text != '.')
		return true;
	++*text;
	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; ++*text, scale /= 10)
		*ret_ms += (**text - '0') * scale;
	return true;
}

/* Minutes that the clock is ahead of UTC. */
static bool offset(const char **text, int *ret_minutes)
{
	int sign = **text == '-' ? -1 : 1;
	int hours, minutes;

	*ret_minutes = 0;
	if (mark(text, 'Z', 'z'))
		return true;
	if (!mark(text, '+', '-') || !digits(text, 2, &hours) || !mark(text, ':', ':') ||
	    !digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_minutes = sign * (hours * 60 + minutes);
	return true;
}

bool time_read(const char *text, int64_t *ret_wall_ms)
{
	struct tm tm = { 0 }, back;
	int ms, minutes;
	time_t seconds;

	if (!digits(&text, 4, &tm.tm_year) || !mark(&text, '-', '-') ||
	    !digits(&text, 2, &tm.tm_mon) || !mark(&text, '-', '-') ||
	    !digits(&text, 2, &tm.tm_mday) || !mark(&text, 'T', 't') ||
	    !digits(&text, 2, &tm.tm_hour) || !mark(&text, ':', ':') ||
	    !digits(&text, 2, &tm.tm_min) || !mark(&text, ':', ':') ||
	    !digits(&text, 2, &tm.tm_sec) || !fraction(&text, &ms) || !offset(&text, &minutes) ||
	    *text || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	back = tm;
	seconds = timegm(&tm);
	/* A day that the calendar does not have has become another one. */
	if (tm.tm_mday != back.tm_mday && back.tm_sec < 60)
		return false;
	*ret_wall_ms = ((int64_t)seconds - minutes * 60) * 1000 + ms;
	return true;
}
