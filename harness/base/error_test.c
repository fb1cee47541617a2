/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <sandproof/error.h>

#include <base/utf8.h>

Test(error, fills_and_returns)
{
	struct sp_error err = { .http_status = 500, .sys_errno = 3, .detail = "old" };

	cr_assert_eq(sp_error_set(&err, SP_GONE, "sandbox %s is gone", "x"), SP_GONE);
	cr_assert_eq(err.code, SP_GONE);
	cr_assert_str_eq(err.message, "sandbox x is gone");
	cr_assert_str_empty(err.detail);
	cr_assert_eq(err.http_status, 0);
	cr_assert_eq(err.sys_errno, 0);
	cr_assert_eq(sp_error_set(NULL, SP_GONE, "%d", 1), SP_GONE);
	cr_assert_eq(sp_error_set_errno(NULL, ENOENT, "x"), SP_IO);
}

Test(error, errno_is_in_field_and_text)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_error_set_errno(&err, ENOSPC, "cannot write %s", "f"), SP_IO);
	cr_assert_eq(err.sys_errno, ENOSPC);
	cr_assert_str_eq(err.message, "cannot write f: No space left on device");
}

Test(error, a_record_may_be_built_from_itself)
{
	struct sp_error err = SP_ERROR_INIT;

	sp_error_set(&err, SP_IO, "inner");
	sp_error_set(&err, SP_INTERNAL, "outer: %s", err.message);
	cr_assert_str_eq(err.message, "outer: inner");
	sp_error_set_detail(&err, err.message);
	cr_assert_str_eq(err.detail, "outer: inner");
	sp_error_set_detail(&err, NULL);
	cr_assert_str_empty(err.detail);
}

Test(error, long_text_is_cut_at_a_character)
{
	char text[2 * SP_ERROR_TEXT];
	struct sp_error err = SP_ERROR_INIT;

	for (size_t shift = 0; shift < 4; shift++) {
		size_t len;

		memset(text, 'a', shift);
		for (len = shift; len + 4 < sizeof(text); len += 4)
			memcpy(text + len, "\xF0\x9F\x98\x80", 4);
		text[len] = '\0';
		sp_error_set(&err, SP_IO, "%s", text);
		cr_assert(sp_utf8_valid(err.message, strlen(err.message)), "shift %zu", shift);
		cr_assert_gt(strlen(err.message), SP_ERROR_TEXT - 5);
		sp_error_set_detail(&err, text);
		cr_assert(sp_utf8_valid(err.detail, strlen(err.detail)), "shift %zu", shift);
		sp_error_set_errno(&err, EIO, "%s", text);
		cr_assert(sp_utf8_valid(err.message, strlen(err.message)), "shift %zu", shift);
	}
}

Test(error, text_becomes_utf8)
{
	struct sp_error err = SP_ERROR_INIT;

	sp_error_set(&err, SP_IO, "a\xFFz\xC3");
	cr_assert_str_eq(err.message, "a?z?");
}

Test(error, every_code_has_a_name)
{
	static const char *const names[] = { "ok",	     "invalid",	      "unsupported",
					     "not-found",    "gone",	      "denied",
					     "conflict",     "rate-limited",  "unavailable",
					     "aborted",	     "timed-out",     "protocol",
					     "unknown-outcome", "io",	      "internal" };

	for (int i = 0; i < 15; i++)
		cr_assert_str_eq(sp_code_name(-i), names[i]);
	cr_assert_str_eq(sp_code_name(1), "unknown");
	cr_assert_str_eq(sp_code_name(-15), "unknown");
}
