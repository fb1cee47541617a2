/* SPDX-License-Identifier: MIT */
#include <sandproof/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <base/utf8.h>

/* Copies text into a record's field: valid UTF-8, cut at a character. */
static void put(char to[SP_ERROR_TEXT], const char *text)
{
	size_t len = strlen(text);
	size_t at = 0;
	size_t n = 0;

	while (at < len) {
		bool valid;
		size_t step = sp_utf8_next(text + at, len - at, &valid);
		size_t add = valid ? step : 1;

		if (n + add >= SP_ERROR_TEXT)
			break;
		if (valid)
			memcpy(to + n, text + at, step);
		else
			to[n] = '?';
		n += add;
		at += step;
	}
	to[n] = '\0';
}

static void fill(struct sp_error *err, enum sp_code code, int sys_errno, const char *format,
		 va_list args)
{
	/*
	 * Formatted apart, because the arguments may point into the
	 * record; one byte over shows a cut.
	 */
	char text[SP_ERROR_TEXT + 4];
	int len = vsnprintf(text, sizeof(text), format, args);

	if (len < 0)
		text[0] = '\0';
	*err = (struct sp_error)SP_ERROR_INIT;
	err->code = code;
	err->sys_errno = sys_errno;
	put(err->message, text);
}

int sp_error_set(struct sp_error *err, enum sp_code code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	fill(err, code, 0, format, args);
	va_end(args);
	return code;
}

int sp_error_set_errno(struct sp_error *err, int sys_errno, const char *format, ...)
{
	char reason[128];
	char text[SP_ERROR_TEXT + 4 + sizeof(reason)];
	va_list args;

	if (!err)
		return SP_IO;
	va_start(args, format);
	fill(err, SP_IO, sys_errno, format, args);
	va_end(args);
	snprintf(text, sizeof(text), "%s: %s", err->message,
		 strerror_r(sys_errno, reason, sizeof(reason)));
	put(err->message, text);
	return SP_IO;
}

void sp_error_set_detail(struct sp_error *err, const char *text)
{
	if (err)
		put(err->detail, text ? text : "");
}

const char *sp_code_name(int code)
{
	static const char *const names[] = {
		[-SP_OK] = "ok",
		[-SP_INVALID] = "invalid",
		[-SP_UNSUPPORTED] = "unsupported",
		[-SP_NOT_FOUND] = "not-found",
		[-SP_GONE] = "gone",
		[-SP_DENIED] = "denied",
		[-SP_CONFLICT] = "conflict",
		[-SP_RATE_LIMITED] = "rate-limited",
		[-SP_UNAVAILABLE] = "unavailable",
		[-SP_ABORTED] = "aborted",
		[-SP_TIMED_OUT] = "timed-out",
		[-SP_PROTOCOL] = "protocol",
		[-SP_UNKNOWN_OUTCOME] = "unknown-outcome",
		[-SP_IO] = "io",
		[-SP_INTERNAL] = "internal",
	};

	return code <= 0 && code >= SP_INTERNAL ? names[-code] : "unknown";
}
