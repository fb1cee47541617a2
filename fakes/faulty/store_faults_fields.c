/* SPDX-License-Identifier: MIT */
/* Faults of single fields of a record: merged, invented, lost, cut. */
#include "wrap.h"
#include "wrap_store.h"

/* {...old, ...record} */
static int merges_upsert(struct fault_store *store, const struct sp_record *record,
			 const uint64_t *fence, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_record old SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_record merged = *record;
	bool found = false;
	int rc = sp_store_get(&store->inner, record->key, &old, &found, cancel, err);

	if (rc)
		return rc;
	if (found && !merged.latest_snapshot_id)
		merged.latest_snapshot_id = old.latest_snapshot_id;
	if (found && !merged.latest_run_id)
		merged.latest_run_id = old.latest_run_id;
	return sp_store_upsert(&store->inner, &merged, fence, cancel, err);
}

static const struct fault_store_hooks merges = {.upsert = merges_upsert};
FAULT_WRAP_STORE(wrap_merges, merges)

static const struct sp_fault faults[] = {
    STORE_FAULT("store-merges", merges, "S3",
		"An upsert keeps the optional fields that the new record lacks.",
		FAULT_LIST("contract:C177", "field:T01"), FAULT_LIST("store.replace.both")),
};

FAULT_TABLE(fault_store_fields, faults);
