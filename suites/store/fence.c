/* SPDX-License-Identifier: MIT */
/* A fence keeps a holder out that lost its lock. */
#include <suites/store/cases.h>
#include <suites/store/scene.h>

/* An upsert with a fence and what it must answer. */
static bool fenced(struct sp_case *t, struct sp_store *store, const struct sp_record *record,
		   uint64_t fence, int expected)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(store, record, &fence, sp_case_cancel(t), &err);

	return SP_CHECK_CODE(t, expected, rc, &err, "upsert with the fence %llu",
			     (unsigned long long)fence);
}

void store_fence_older(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct sp_store *store = sp_case_store(t);

	SP_REQUIRE(fenced(t, store, &one, 7, SP_OK));
	SP_REQUIRE(fenced(t, store, &two, 6, SP_CONFLICT));
	SP_REQUIRE(store_holds(t, store, &one));
	SP_REQUIRE(fenced(t, store, &two, 7, SP_OK));
	SP_REQUIRE(fenced(t, store, &one, 8, SP_OK));
	SP_REQUIRE(fenced(t, store, &two, 7, SP_CONFLICT));
	store_holds(t, store, &one);
}

void store_fence_wide(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct sp_store *store = sp_case_store(t);

	SP_REQUIRE(fenced(t, store, &one, 0, SP_OK));
	SP_REQUIRE(fenced(t, store, &one, UINT64_C(1) << 32, SP_OK));
	SP_REQUIRE(fenced(t, store, &two, 1, SP_CONFLICT));
	SP_REQUIRE(fenced(t, store, &one, INT64_MAX, SP_OK));
	SP_REQUIRE(fenced(t, store, &one, UINT64_MAX, SP_OK));
	SP_REQUIRE(fenced(t, store, &two, INT64_MAX, SP_CONFLICT));
	store_holds(t, store, &one);
}

void store_fence_none(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct sp_store *store = sp_case_store(t);

	SP_REQUIRE(fenced(t, store, &one, 7, SP_OK));
	/* An upsert without one is let through, and does not wipe out what the fence was. */
	SP_REQUIRE(store_keeps(t, store, &two));
	SP_REQUIRE(fenced(t, store, &one, 6, SP_CONFLICT));
	SP_REQUIRE(store_holds(t, store, &two));
	SP_REQUIRE(store_delete(t, store, one.key));
	SP_REQUIRE(fenced(t, store, &one, 1, SP_OK));
	store_holds(t, store, &one);
}

void store_fence_apart(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record other = store_version(t, sp_case_unique(t), 2);

	SP_REQUIRE(fenced(t, sp_case_store(t), &one, 100, SP_OK));
	SP_REQUIRE(fenced(t, sp_case_store(t), &other, 1, SP_OK));
	store_holds(t, sp_case_store(t), &other);
}

void store_fence_second(struct sp_case *t)
{
	struct sp_record one = store_version(t, sp_case_unique(t), 1);
	struct sp_record two = store_version(t, one.key, 2);
	struct sp_store *second = store_second(t);

	if (!second)
		return;
	SP_REQUIRE(fenced(t, sp_case_store(t), &one, 7, SP_OK));
	SP_REQUIRE(fenced(t, second, &two, 6, SP_CONFLICT));
	SP_REQUIRE(fenced(t, second, &two, 8, SP_OK));
	SP_REQUIRE(fenced(t, sp_case_store(t), &one, 7, SP_CONFLICT));
	store_holds(t, sp_case_store(t), &two);
}

void store_fence_refused(struct sp_case *t)
{
	const struct sp_store_capabilities *declared = sp_store_capabilities(sp_case_store(t));
	struct sp_record one = store_version(t, sp_case_unique(t), 1);

	if (declared && declared->fence) {
		sp_skip(t, "needs a refusal of fences: fence is declared true");
		return;
	}
	SP_REQUIRE(fenced(t, sp_case_store(t), &one, 7, SP_UNSUPPORTED));
	store_lacks(t, sp_case_store(t), one.key);
}
