/* SPDX-License-Identifier: MIT */
/* Faults of single fields of a record: merged, invented, lost, cut. */
#include "store_faults.h"

#include <string.h>

/* ---- absent ---- */

static void absent_is_empty_out(struct sp_record *record)
{
	if (!record->latest_snapshot_id)
		store_set_text(&record->latest_snapshot_id, "");
	if (!record->latest_run_id)
		store_set_text(&record->latest_run_id, "");
}
STORE_OUT_FAULT(absent_is_empty)

static void absent_is_null_out(struct sp_record *record)
{
	if (!record->latest_snapshot_id)
		store_set_text(&record->latest_snapshot_id, "null");
	if (!record->latest_run_id)
		store_set_text(&record->latest_run_id, "null");
}
STORE_OUT_FAULT(absent_is_null)

/* if (!row.latestRunId) */
static void empty_is_absent_out(struct sp_record *record)
{
	if (record->latest_snapshot_id && !*record->latest_snapshot_id)
		store_set_text(&record->latest_snapshot_id, NULL);
	if (record->latest_run_id && !*record->latest_run_id)
		store_set_text(&record->latest_run_id, NULL);
}
STORE_OUT_FAULT(empty_is_absent)

static void null_text_is_absent_out(struct sp_record *record)
{
	if (record->latest_run_id && !strcmp(record->latest_run_id, "null"))
		store_set_text(&record->latest_run_id, NULL);
}
STORE_OUT_FAULT(null_text_is_absent)

/* Columns that take no null: the empty text stands for it, in both directions. */
static void empty_stands_in(struct sp_record *record)
{
	if (!record->latest_snapshot_id)
		record->latest_snapshot_id = (char *)"";
	if (!record->latest_run_id)
		record->latest_run_id = (char *)"";
}

STORE_PUT(empty_stands_put)
{
	return store_put_changed(store, empty_stands_in, record, fence, cancel, err);
}

static const struct fault_store_hooks empty_stands = {.upsert = empty_stands_put,
						      .get = empty_is_absent_get};
FAULT_WRAP_STORE(wrap_empty_stands, empty_stands)

/* ---- merging ---- */

/* {...old, ...record}, of the fields that are named. */
static int merge(struct fault_store *store, bool snapshot, bool run, const struct sp_record *record,
		 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_record merged = *record;
	bool found = record->key && store_peek(store, record->key, &old);

	if (found && snapshot && !merged.latest_snapshot_id)
		merged.latest_snapshot_id = old.latest_snapshot_id;
	if (found && run && !merged.latest_run_id)
		merged.latest_run_id = old.latest_run_id;
	return sp_store_upsert(&store->inner, &merged, fence, cancel, err);
}

STORE_PUT(merges_put)
{
	return merge(store, true, true, record, fence, cancel, err);
}

static const struct fault_store_hooks merges = {.upsert = merges_put};
FAULT_WRAP_STORE(wrap_merges, merges)

STORE_PUT(merges_snapshot_put)
{
	return merge(store, true, false, record, fence, cancel, err);
}

static const struct fault_store_hooks merges_snapshot = {.upsert = merges_snapshot_put};
FAULT_WRAP_STORE(wrap_merges_snapshot, merges_snapshot)

STORE_PUT(merges_run_put)
{
	return merge(store, false, true, record, fence, cancel, err);
}

static const struct fault_store_hooks merges_run = {.upsert = merges_run_put};
FAULT_WRAP_STORE(wrap_merges_run, merges_run)

STORE_PUT(updates_half_put)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_record half = *record;

	if (record->key && store_peek(store, record->key, &old)) {
		half.provider = old.provider;
		half.latest_run_id = old.latest_run_id;
	}
	return sp_store_upsert(&store->inner, &half, fence, cancel, err);
}

static const struct fault_store_hooks updates_half = {.upsert = updates_half_put};
FAULT_WRAP_STORE(wrap_updates_half, updates_half)

/* ---- values ---- */

static void drops_run_id_in(struct sp_record *record)
{
	record->latest_run_id = NULL;
}
STORE_IN_FAULT(drops_run_id)

/* if (!row.updatedAt) return null */
STORE_GET(zero_is_absent_get)
{
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	if (!rc && *ret_found && !ret_record->updated_at) {
		sp_record_done(ret_record);
		*ret_found = false;
	}
	return rc;
}

static const struct fault_store_hooks zero_is_absent = {.get = zero_is_absent_get};
FAULT_WRAP_STORE(wrap_zero_is_absent, zero_is_absent)

static void time_is_a_double_in(struct sp_record *record)
{
	/* 53 bits of it stay; what is beyond a number's range is not tried. */
	if (record->updated_at > -(INT64_C(1) << 62) && record->updated_at < INT64_C(1) << 62)
		record->updated_at = (int64_t)(double)record->updated_at;
}
STORE_IN_FAULT(time_is_a_double)

static void time_is_32_bit_in(struct sp_record *record)
{
	record->updated_at = (int32_t)(uint32_t)record->updated_at;
}
STORE_IN_FAULT(time_is_32_bit)

/* In place: the text gets shorter. */
static void trim(char *text)
{
	size_t lead = text ? strspn(text, " \t\n") : 0;
	size_t len = text ? strlen(text + lead) : 0;

	if (!text)
		return;
	memmove(text, text + lead, len + 1);
	while (len && strchr(" \t\n", text[len - 1]))
		text[--len] = '\0';
}

static void trims_values_out(struct sp_record *record)
{
	trim(record->latest_run_id);
	trim(record->thread_id);
}
STORE_OUT_FAULT(trims_values)

#define COLUMN_WIDTH 255

static void cut(char *text)
{
	if (text && strlen(text) > COLUMN_WIDTH)
		text[COLUMN_WIDTH] = '\0';
}

static void cuts_values_out(struct sp_record *record)
{
	cut(record->latest_snapshot_id);
	cut(record->latest_run_id);
	cut(record->provider_sandbox_id);
}

/* What is too long for the healthy store is cut before it, as a column would do. */
STORE_PUT(cuts_values_put)
{
	char snapshot[COLUMN_WIDTH + 1];
	struct sp_record changed = *record;

	if (record->latest_snapshot_id && strlen(record->latest_snapshot_id) > COLUMN_WIDTH) {
		memcpy(snapshot, record->latest_snapshot_id, COLUMN_WIDTH);
		snapshot[COLUMN_WIDTH] = '\0';
		changed.latest_snapshot_id = snapshot;
	}
	return sp_store_upsert(&store->inner, &changed, fence, cancel, err);
}

STORE_GET(cuts_values_get)
{
	return store_get_changed(store, cuts_values_out, key, ret_record, ret_found, cancel, err);
}

static const struct fault_store_hooks cuts_values = {.upsert = cuts_values_put,
						     .get = cuts_values_get};
FAULT_WRAP_STORE(wrap_cuts_values, cuts_values)

/* Bytes above ASCII that begin nothing become question marks: enough for what the case sends. */
static void repair(const char *text, char *out, size_t size)
{
	size_t i = 0;

	for (; text && text[i] && i + 1 < size; i++)
		out[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	out[i] = '\0';
}

STORE_PUT(repairs_utf8_put)
{
	char key[SP_KEY_TAKEN + 1], run[256];
	struct sp_record changed = *record;

	if (record->key) {
		repair(record->key, key, sizeof(key));
		changed.key = key;
	}
	if (record->latest_run_id) {
		repair(record->latest_run_id, run, sizeof(run));
		changed.latest_run_id = run;
	}
	return sp_store_upsert(&store->inner, &changed, fence, cancel, err);
}

static const struct fault_store_hooks repairs_utf8 = {.upsert = repairs_utf8_put};
FAULT_WRAP_STORE(wrap_repairs_utf8, repairs_utf8)

static void fills_in_in(struct sp_record *record)
{
	record->key = record->key ? record->key : (char *)"undefined";
	record->provider = record->provider ? record->provider : (char *)"";
	record->provider_sandbox_id =
	    record->provider_sandbox_id ? record->provider_sandbox_id : (char *)"";
	record->thread_id = record->thread_id ? record->thread_id : (char *)"";
}
STORE_IN_FAULT(fills_in)

static const struct sp_fault faults[] = {
    STORE_FAULT("store-absent-is-empty", absent_is_empty, "S2",
		"An absent optional comes back as the empty text.",
		FAULT_LIST("contract:C178", "field:T02"), FAULT_LIST("store.get.bare")),
    STORE_FAULT("store-absent-is-null", absent_is_null, "S2",
		"An absent optional comes back as the text null.",
		FAULT_LIST("contract:C178", "field:T02"), FAULT_LIST("store.get.bare")),
    STORE_FAULT("store-drops-run-id", drops_run_id, "S2", "The latest run id is never stored.",
		FAULT_LIST("contract:C177"), FAULT_LIST("store.get.whole")),
    STORE_FAULT("store-empty-is-absent", empty_is_absent, "S2",
		"An empty optional reads as absent.", FAULT_LIST("field:T09"),
		FAULT_LIST("store.value.look-alikes")),
    STORE_FAULT("store-empty-stands-for-absent", empty_stands, "S3",
		"Absent is stored as the empty text, and the empty text read as absent.",
		FAULT_LIST("contract:C178", "field:T02"), FAULT_LIST("store.replace.raw")),
    STORE_FAULT("store-null-text-is-absent", null_text_is_absent, "S2",
		"The text null reads as absent.", FAULT_LIST("field:T09"),
		FAULT_LIST("store.value.look-alikes")),
    STORE_FAULT("store-merges", merges, "S3",
		"An upsert keeps the optional fields that the new record lacks.",
		FAULT_LIST("contract:C177", "field:T01"),
		FAULT_LIST("store.replace.both", "store.replace.snapshot", "store.replace.run")),
    STORE_FAULT("store-merges-snapshot", merges_snapshot, "S3",
		"An upsert keeps the snapshot id that the new record lacks.",
		FAULT_LIST("field:T01"), FAULT_LIST("store.replace.snapshot")),
    STORE_FAULT("store-merges-run", merges_run, "S3",
		"An upsert keeps the run id that the new record lacks.",
		FAULT_LIST("contract:C177"), FAULT_LIST("store.replace.run")),
    STORE_FAULT("store-updates-half", updates_half, "S3",
		"A replacement leaves two of the fields as they were.", FAULT_LIST("field:T13"),
		FAULT_LIST("store.replace.values", "store.process.torn", "store.crash.during")),
    STORE_FAULT("store-zero-is-absent", zero_is_absent, "S2", "A record of time 0 reads as absent.",
		FAULT_LIST("field:T09"), FAULT_LIST("store.value.times")),
    STORE_FAULT("store-time-is-a-double", time_is_a_double, "S2",
		"Times are kept as floating-point numbers.", FAULT_LIST("field:T09"),
		FAULT_LIST("store.value.times")),
    STORE_FAULT("store-time-is-32-bit", time_is_32_bit, "S2", "Times are kept in 32 bits.",
		FAULT_LIST("field:T09"), FAULT_LIST("store.value.times")),
    STORE_FAULT("store-trims-values", trims_values, "S2",
		"Blanks at the ends of values are dropped.", FAULT_LIST("field:T09"),
		FAULT_LIST("store.value.look-alikes")),
    STORE_FAULT("store-cuts-values", cuts_values, "S2", "Values are cut at the width of a column.",
		FAULT_LIST("field:T05"), FAULT_LIST("store.value.long", "store.input.long-value")),
    STORE_FAULT("store-repairs-utf8", repairs_utf8, "S7",
		"Bytes that are not UTF-8 are replaced and stored.",
		FAULT_LIST("contract:C241", "field:T05"),
		FAULT_LIST("store.input.not-utf8")),
    STORE_FAULT("store-fills-in", fills_in, "S7", "Missing required fields are filled in.",
		FAULT_LIST("field:T08"), FAULT_LIST("store.input.missing")),
};

FAULT_TABLE(fault_store_fields, faults);
