/* SPDX-License-Identifier: MIT */
#include <base/clock.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t sp_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SP_SECOND + (uint64_t)now.tv_nsec;
}

int64_t sp_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sp_wall_format(int64_t wall_ms, char *buffer, size_t size)
{
	/* Rounds down also before 1970. */
	time_t seconds = (time_t)(wall_ms / 1000 - (wall_ms % 1000 < 0));
	struct tm tm;

	if (!size)
		return;
	buffer[0] = '\0';
	if (gmtime_r(&seconds, &tm) && !strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		buffer[0] = '\0';
}

/* ".123456" in milliseconds; what is finer is cut off. */
static const char *read_fraction(const char *text, int64_t *ret_ms)
{
	int64_t unit = 100;

	*ret_ms = 0;
	if (*text != '.')
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*ret_ms += unit * (*text - '0');
	return text;
}

/* "Z" or "+02:00" in milliseconds; false for anything else. */
static bool read_offset(const char *text, int64_t *ret_ms)
{
	int hours, minutes, len = 0;

	*ret_ms = 0;
	if (!strcmp(text, "Z") || !strcmp(text, "z"))
		return true;
	if ((*text != '+' && *text != '-') ||
	    sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &len) != 2 || text[1 + len])
		return false;
	*ret_ms = (hours * 60 + minutes) * (*text == '-' ? INT64_C(-60000) : INT64_C(60000));
	return true;
}

bool sp_wall_parse(const char *text, int64_t *ret_wall_ms)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	int64_t fraction, offset;

	if (!rest || !read_offset(read_fraction(rest, &fraction), &offset))
		return false;
	*ret_wall_ms = (int64_t)timegm(&tm) * 1000 + fraction - offset;
	return true;
}

#define LEAST_SCALE 0.1
#define MOST_SCALE 1000

/* False for what is not a number. */
static bool parse_scale(const char *text, double *ret_scale)
{
	char *end = NULL;
	double scale = strtod(text, &end);

	/* The last comparison is false for a NaN. */
	if (!*text || *end || !(scale == scale))
		return false;
	*ret_scale = scale;
	return true;
}

/* Read at each call, so that a test can set it. */
static double time_scale(void)
{
	const char *text = getenv("SANDPROOF_TIME_SCALE");
	double scale;

	if (!text || !parse_scale(text, &scale))
		return 1;
	return scale < LEAST_SCALE ? LEAST_SCALE : scale > MOST_SCALE ? MOST_SCALE : scale;
}

bool sp_time_scale_valid(void)
{
	const char *text = getenv("SANDPROOF_TIME_SCALE");
	double scale;

	return !text || !*text ||
	       (parse_scale(text, &scale) && scale >= LEAST_SCALE && scale <= MOST_SCALE);
}

/* Far beyond any life of a program, and still a valid timespec. */
#define FOR_EVER ((uint64_t)INT64_MAX / 2)

static uint64_t scaled_ns(uint64_t milliseconds)
{
	double nanoseconds = (double)milliseconds * (double)SP_MS * time_scale();

	return nanoseconds >= (double)FOR_EVER ? FOR_EVER : (uint64_t)nanoseconds;
}

uint64_t sp_scaled_ms(uint64_t milliseconds)
{
	return scaled_ns(milliseconds) / SP_MS;
}

uint64_t sp_deadline_ms(uint64_t milliseconds)
{
	uint64_t nanoseconds = scaled_ns(milliseconds);

	return nanoseconds == FOR_EVER ? INT64_MAX : sp_now() + nanoseconds;
}

int sp_until_ms(uint64_t deadline)
{
	uint64_t now, left;

	if (!deadline)
		return -1;
	now = sp_now();
	if (deadline <= now)
		return 0;
	left = (deadline - now - 1) / SP_MS + 1;
	return left > INT_MAX ? INT_MAX : (int)left;
}
