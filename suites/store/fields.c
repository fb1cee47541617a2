/* SPDX-License-Identifier: MIT */
/* Every legal value comes back as it was given. */
#include <stdlib.h>
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>

void store_get_absent(struct sp_case *t)
{
	store_lacks(t, sp_case_store(t), sp_case_unique(t));
}

void store_get_whole(struct sp_case *t)
{
	struct sp_record record = store_version(t, sp_case_unique(t), 7);

	store_keeps(t, sp_case_store(t), &record);
}

void store_get_bare(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));

	record.latest_snapshot_id = NULL;
	record.latest_run_id = NULL;
	store_keeps(t, sp_case_store(t), &record);
}

void store_value_times(struct sp_case *t)
{
	static const int64_t times[] = {0,
					1,
					-1,
					INT64_C(1) << 31,
					INT64_C(1732924800123),
					(INT64_C(1) << 53) - 1,
					(INT64_C(1) << 53) + 1,
					INT64_MAX,
					INT64_MIN};
	struct sp_record record = store_record(t, sp_case_unique(t));

	for (size_t i = 0; i < SP_COUNT(times); i++) {
		record.updated_at = times[i];
		SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	}
}

/* Texts that something between might read as another value. */
static const char *const look_alikes[] = {
    "",
    "null",
    "NULL",
    "undefined",
    "0",
    "false",
    "{}",
    "[]",
    " ",
    "\t",
    "\n",
    " x ",
    "x\n",
    "'",
    "\"",
    "\\",
    "%s",
    "$1",
    "\\x00",
    "\\u0000",
    "a\x01\x1f",
    "\x7f",
    "0x10",
    "1e3",
    "\xc3\xa4",
    "e\xcc\x81",
    "\xf0\x9f\xa6\x80",
    "\xef\xbf\xbd",
    "\xef\xbb\xbf"
    "bom",
    "\xe2\x80\xae"
    "rtl",
    "line\r\nend",
};

void store_value_look_alikes(struct sp_case *t)
{
	struct sp_record record = store_record(t, sp_case_unique(t));

	for (size_t i = 0; i < SP_COUNT(look_alikes); i++) {
		char *text = (char *)look_alikes[i];

		record.latest_snapshot_id = text;
		record.latest_run_id = text;
		record.thread_id = text;
		record.provider = text;
		record.provider_sandbox_id = text;
		SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	}
}

static char *repeated(char c, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		abort();
	memset(text, c, len);
	text[len] = '\0';
	return text;
}

void store_value_long(struct sp_case *t)
{
	char *text SP_FREE = repeated('v', SP_VALUE_TAKEN);
	struct sp_record record = store_record(t, sp_case_unique(t));

	record.provider_sandbox_id = text;
	record.latest_snapshot_id = text;
	record.latest_run_id = text;
	store_keeps(t, sp_case_store(t), &record);
}

/* ---- what is refused ---- */

#define BEYOND (1024 * 1024)

/* Either it is kept whole, or it is refused with the limit and nothing is stored. */
static void whole_or_refused(struct sp_case *t, const struct sp_record *record, const char *what)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(sp_case_store(t), record, NULL, sp_case_cancel(t), &err);

	if (rc == 0) {
		store_holds(t, sp_case_store(t), record);
		return;
	}
	SP_CHECK_CODE(t, SP_INVALID, rc, &err, "a %s of 1 MiB is kept whole or refused", what);
	SP_CHECK(t, err.message[strcspn(err.message, "0123456789")] != '\0',
		 "the refusal of a long %s names the limit: %s", what, err.message);
}

void store_input_long_key(struct sp_case *t)
{
	char *key SP_FREE = repeated('k', BEYOND);
	char *shorter SP_FREE = repeated('k', SP_KEY_TAKEN);
	struct sp_record record = store_record(t, sp_case_unique(t));
	struct sp_record taken = record;

	record.key = key;
	whole_or_refused(t, &record, "key");
	/* Nothing was written under a cut key. */
	taken.key = shorter;
	SP_REQUIRE(store_lacks(t, sp_case_store(t), shorter));
	SP_REQUIRE(store_keeps(t, sp_case_store(t), &taken));
	store_delete(t, sp_case_store(t), shorter);
}

void store_input_long_value(struct sp_case *t)
{
	char *text SP_FREE = repeated('v', BEYOND);
	struct sp_record old = store_record(t, sp_case_unique(t)), record = old;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &old));
	record.latest_snapshot_id = text;
	whole_or_refused(t, &record, "value");
	if (sp_store_upsert(sp_case_store(t), &record, NULL, sp_case_cancel(t), &err) == 0)
		return;
	store_holds(t, sp_case_store(t), &old);
}

void store_input_not_utf8(struct sp_case *t)
{
	static const char *const texts[] = {"a\xff"
					    "b",
					    "\xc3(", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					    "\xc0\x80"};
	const char *key = sp_case_unique(t);
	struct sp_record old = store_record(t, key);

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &old));
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_record record = old;
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		record.latest_run_id = (char *)texts[i];
		rc = sp_store_upsert(sp_case_store(t), &record, NULL, sp_case_cancel(t), &err);
		SP_CHECK_CODE(t, SP_INVALID, rc, &err, "a value that is no UTF-8 is refused");
		record = old;
		record.key = (char *)sp_case_format(t, "%s%s", key, texts[i]);
		rc = sp_store_upsert(sp_case_store(t), &record, NULL, sp_case_cancel(t), &err);
		SP_CHECK_CODE(t, SP_INVALID, rc, &err, "a key that is no UTF-8 is refused");
		SP_REQUIRE(store_holds(t, sp_case_store(t), &old));
	}
}

void store_input_missing(struct sp_case *t)
{
	struct sp_record old = store_record(t, sp_case_unique(t));
	struct sp_record tries[4] = {old, old, old, old};

	tries[0].key = NULL;
	tries[1].provider = NULL;
	tries[2].provider_sandbox_id = NULL;
	tries[3].thread_id = NULL;
	SP_REQUIRE(store_keeps(t, sp_case_store(t), &old));
	for (size_t i = 0; i < SP_COUNT(tries); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc =
		    sp_store_upsert(sp_case_store(t), &tries[i], NULL, sp_case_cancel(t), &err);

		SP_CHECK_CODE(t, SP_INVALID, rc, &err,
			      "a record without required field %zu is refused", i + 1);
	}
	store_holds(t, sp_case_store(t), &old);
}
