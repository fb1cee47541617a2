/* SPDX-License-Identifier: MIT */
/* What no case of the suites can see from outside. */
#include <malloc.h>
#include <stdio.h>

#include <criterion/criterion.h>

#include "memory.h"

/* Takes and gives back a thousand keys that were never there before. */
static void many_keys(struct sp_lock *lock, unsigned from)
{
	for (unsigned i = from; i < from + 1000; i++) {
		struct sp_lease lease = SP_LEASE_INIT;
		char key[32];

		snprintf(key, sizeof(key), "key-%u", i);
		cr_assert_eq(sp_lock_acquire(lock, key, NULL, &lease, NULL), 0);
		sp_lease_done(&lease);
	}
}

Test(memory, keys_that_nobody_holds_take_no_memory)
{
	struct sp_lock lock = SP_LOCK_INIT;
	size_t before, after;

	cr_assert_eq(sp_memory_lock_open(&lock, NULL), 0);
	many_keys(&lock, 1000);
	before = mallinfo2().uordblks;
	many_keys(&lock, 2000);
	after = mallinfo2().uordblks;
	cr_expect_leq(after, before, "%zu bytes before, %zu after", before, after);
	sp_lock_done(&lock);
}

Test(memory, instances_share_nothing)
{
	struct sp_store one = SP_STORE_INIT, two = SP_STORE_INIT;
	struct sp_record record = {.key = (char *)"k",
				   .provider = (char *)"p",
				   .provider_sandbox_id = (char *)"i",
				   .thread_id = (char *)"t"};
	struct sp_record got = SP_RECORD_INIT;
	bool found = true;

	cr_assert_eq(sp_memory_store_open(&one, NULL), 0);
	cr_assert_eq(sp_memory_store_open(&two, NULL), 0);
	cr_expect_eq(sp_store_upsert(&one, &record, NULL, NULL, NULL), 0);
	cr_expect_eq(sp_store_get(&two, "k", &got, &found, NULL, NULL), 0);
	cr_expect_not(found);
	sp_store_done(&one);
	sp_store_done(&two);
}
