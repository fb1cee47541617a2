/* SPDX-License-Identifier: MIT */
/* N13: what ensure cannot do without, and what should not stand together. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

void ensure_needs_store(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_store empty = SP_STORE_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.store = NULL;
	SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
	s.options.store = &empty;
	SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
	SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
}

void ensure_needs_lock(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_lock empty = SP_LOCK_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.lock = NULL;
	SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
	s.options.lock = &empty;
	SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
	SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
}

/* The verdict is a warning with these words, which every report has. */
void ensure_needs_pairing(struct sp_case *t)
{
	const struct sp_store_capabilities *store = sp_store_capabilities(sp_case_store(t));
	const struct sp_lock_capabilities *lock = sp_lock_capabilities(sp_case_lock(t));

	SP_REQUIRE(SP_CHECK(t, store && lock, "store and lock say what they are"));
	SP_CHECK(t, lock->multi_process || !(store->durable || store->multi_process),
		 "a lock that excludes only within one process stands beside a store that outlives "
		 "it or "
		 "is shared: two processes can make two sandboxes for one key; take the store's "
		 "own lock");
}
