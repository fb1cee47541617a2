/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include <string.h>

#include <base/cleanup.h>
#include <base/utf8.h>

static int check_text(const char *name, const char *text, size_t max, struct sp_error *err)
{
	/* One byte beyond is enough to know, however long it is. */
	size_t len = strnlen(text, max + 1);

	if (len > max)
		return sp_error_set(err, SP_INVALID,
				    "the %s is longer than the %zu bytes that a store takes", name,
				    max);
	if (!sp_utf8_valid(text, len))
		return sp_error_set(err, SP_INVALID, "the %s is not valid UTF-8", name);
	return 0;
}

int sp_stores_check_key(const char *key, struct sp_error *err)
{
	if (!key || !*key)
		return sp_error_set(err, SP_INVALID, "the key is %s; it needs at least one byte",
				    key ? "empty" : "missing");
	return check_text("key", key, SP_STORES_KEY_MAX, err);
}

int sp_stores_check_record(const struct sp_record *record, struct sp_error *err)
{
	const struct {
		const char *name, *text;
		bool optional;
	} rows[] = {
	    {"provider", record->provider, false},
	    {"provider's sandbox id", record->provider_sandbox_id, false},
	    {"latest snapshot id", record->latest_snapshot_id, true},
	    {"thread id", record->thread_id, false},
	    {"latest run id", record->latest_run_id, true},
	};
	int rc = sp_stores_check_key(record->key, err);

	for (size_t i = 0; !rc && i < SP_COUNT(rows); i++) {
		if (rows[i].text)
			rc = check_text(rows[i].name, rows[i].text, SP_STORES_VALUE_MAX, err);
		else if (!rows[i].optional)
			rc = sp_error_set(err, SP_INVALID, "the record has no %s", rows[i].name);
	}
	return rc;
}
