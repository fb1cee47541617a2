/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>

#include "limits.h"

static char *repeated(char c, size_t len)
{
	char *text = calloc(1, len + 1);

	cr_assert(text);
	memset(text, c, len);
	return text;
}

static const struct {
	const char *remark, *key;
	/* NULL: taken. */
	const char *says;
} rows[] = {
    {"a letter", "a", NULL},
    {"a blank", " ", NULL},
    {"a path", "../..", NULL},
    {"many bytes a character", "\xf0\x9f\xa6\x80", NULL},
    {"none", NULL, "missing"},
    {"empty", "", "empty"},
    {"half a character", "\xf0\x9f", "UTF-8"},
    {"a surrogate", "\xed\xa0\x80", "UTF-8"},
    {"an overlong NUL", "\xc0\x80", "UTF-8"},
};

Test(limits, keys)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_stores_check_key(rows[i].key, &err);

		cr_expect_eq(rc, rows[i].says ? SP_INVALID : 0, "%s: %s", rows[i].remark,
			     sp_code_name(rc));
		cr_expect(!rows[i].says || strstr(err.message, rows[i].says), "%s: \"%s\"",
			  rows[i].remark, err.message);
	}
}

Test(limits, lengths_are_named)
{
	char *longest SP_FREE = repeated('k', SP_STORES_KEY_MAX);
	char *longer SP_FREE = repeated('k', SP_STORES_KEY_MAX + 1);
	char *value SP_FREE = repeated('v', SP_STORES_VALUE_MAX + 1);
	struct sp_record record = {.key = (char *)"k",
				   .provider = (char *)"",
				   .provider_sandbox_id = (char *)"",
				   .thread_id = (char *)""};
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(sp_stores_check_key(longest, &err), 0);
	cr_expect_eq(sp_stores_check_key(longer, &err), SP_INVALID);
	cr_expect(strstr(err.message, "2048"), "%s", err.message);
	cr_expect_eq(sp_stores_check_record(&record, &err), 0);
	record.latest_snapshot_id = value;
	cr_expect_eq(sp_stores_check_record(&record, &err), SP_INVALID);
	cr_expect(strstr(err.message, "262144") && strstr(err.message, "snapshot"), "%s",
		  err.message);
	cr_expect_not(strstr(err.message, "vvvv"), "no value stands in a message");
	record.latest_snapshot_id = NULL;
	record.thread_id = NULL;
	cr_expect_eq(sp_stores_check_record(&record, &err), SP_INVALID);
	cr_expect(strstr(err.message, "thread id"), "%s", err.message);
}
