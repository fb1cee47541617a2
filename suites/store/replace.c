/* SPDX-License-Identifier: MIT */
/* An upsert replaces the record whole. */
#include <suites/store/cases.h>
#include <suites/store/scene.h>

void store_replace_both(struct sp_case *t)
{
	struct sp_record full = store_record(t, sp_case_unique(t)), bare = full;

	bare.latest_snapshot_id = NULL;
	bare.latest_run_id = NULL;
	bare.provider_sandbox_id = (char *)"sb-2";
	bare.updated_at = 2;
	SP_REQUIRE(store_put(t, sp_case_store(t), &full));
	SP_REQUIRE(store_holds(t, sp_case_store(t), &full));
	SP_REQUIRE(store_put(t, sp_case_store(t), &bare));
	store_holds(t, sp_case_store(t), &bare);
}
