/* SPDX-License-Identifier: MIT */
/* N10: whose key it is. N14: under which lock. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

/* A refusal for somebody else's key: the owner's record and sandbox are as they were. */
static void check_refused(struct ensure_scene *s, const struct sp_record *before)
{
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;
	unsigned made = s->stage.n_made;

	SP_REQUIRE(ensure_refuses(s, SP_CONFLICT, &got));
	SP_CHECK_INT(s->t, made, s->stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_record(s, &after) && ensure_same_record(s, before, &after));
	SP_CHECK_INT(s->t, 1, stage_alive(&s->stage, before->provider_sandbox_id),
		     "the owner's sandbox");
}

/* Two threads with one key, as found in the wild. The key is fixed, so two workers take turns. */
void ensure_owner_collision(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_lease turn SP_CLEANUP(sp_lease_done) = SP_LEASE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_lock_acquire(sp_case_lock(t), "ensure.owner.collision", sp_case_cancel(t),
				 &turn, &err);

	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "this case's turn") && ensure_scene_open(t, &s));
	s.stage.name = "render";
	s.options.thread_id = "t0412789";
	SP_REQUIRE(ensure_scene_key(&s));
	/* What another run left under this key is not looked at. */
	SP_REQUIRE(
		SP_CHECK_OK(t,
			    sp_store_del(&s.stage.subject->store, s.key, sp_case_cancel(t), &err),
			    &err, "a clean start"));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got) && ensure_record(&s, &before));
	s.options.thread_id = "t0649192";
	check_refused(&s, &before);
}

void ensure_owner_thread(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	const char *id, *own;

	SP_REQUIRE(ensure_scene_open(t, &s));
	id = ensure_other_sandbox(&s);
	own = s.options.thread_id;
	s.options.thread_id = "somebody else's";
	SP_REQUIRE(id && ensure_seed(&s, id, NULL, 0) && ensure_record(&s, &before));
	s.options.thread_id = own;
	check_refused(&s, &before);
}

void ensure_owner_provider(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	const char *id;

	SP_REQUIRE(ensure_scene_open(t, &s));
	id = ensure_other_sandbox(&s);
	s.stage.name = "another-provider";
	SP_REQUIRE(id && ensure_seed(&s, id, NULL, 0) && ensure_record(&s, &before));
	s.stage.name = NULL;
	check_refused(&s, &before);
}

void ensure_owner_run(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	const char *id;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.per_run = true;
	/* The seed is of run-0. */
	s.options.run_id = "run-1";
	SP_REQUIRE(ensure_scene_key(&s));
	id = ensure_other_sandbox(&s);
	SP_REQUIRE(id && ensure_seed(&s, id, NULL, 0) && ensure_record(&s, &before));
	check_refused(&s, &before);
}

/* "a:b" in run "c" and "a" in run "b:c" have one key, and each is owed a sandbox of its own. */
void ensure_owner_alike(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	const char *thread = sp_case_unique(t);

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.per_run = true;
	s.options.thread_id = sp_case_format(t, "%s:b", thread);
	s.options.run_id = "c";
	SP_REQUIRE(ensure_scene_key(&s) && ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(ensure_record(&s, &before));
	s.options.thread_id = thread;
	s.options.run_id = "b:c";
	check_refused(&s, &before);
}

void ensure_lock_name(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_STR(t, sp_case_format(t, "sandbox:%s", s.key), s.stage.lock_key,
		     "name of the lock");
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_ACQUIRE), "locks taken");
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_RELEASE), "locks given back");
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_INT(t, 0, s.stage.unlocked, "calls before the lock is taken or after it is free");
}

void ensure_lock_fence(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.fence = 42;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 42, (long long)s.stage.fence_seen, "fence of the first record");
	s.stage.fence = 43;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_INT(t, 43, (long long)s.stage.fence_seen, "fence of the record after the resume");
}

/* The store says that a newer holder has written: what was made is nobody's then. */
void ensure_lock_fenced_off(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	stage_fail(&s.stage, STAGE_UPSERT, SP_CONFLICT, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_CONFLICT, &got));
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_live(&s, 0));
	ensure_no_record(&s);
}

/* A bootstrap during which the lease is lost. */
static void losing(struct sp_case *t, bool hangs)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call call ENSURE_CALL = ENSURE_CALL_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s) && stage_hold(&s.stage, STAGE_BOOTSTRAP));
	s.stage.lost = ensure_cancel(t);
	s.bootstrap_hangs = hangs;
	SP_REQUIRE(s.stage.lost && ensure_call_start(&s, &call));
	SP_REQUIRE(stage_await(&s.stage, STAGE_BOOTSTRAP));
	sp_cancel_abort(s.stage.lost, "the lease ran out");
	stage_release(&s.stage, STAGE_BOOTSTRAP);
	SP_REQUIRE(ensure_call_join(&call));
	SP_CHECK_CODE(t, SP_UNAVAILABLE, call.got.rc, &call.got.err, "ensure that lost its lock");
	SP_CHECK_INT(t, 0, stage_calls(&s.stage, STAGE_UPSERT), "records written");
	ensure_live(&s, 0);
}

void ensure_lock_lost(struct sp_case *t)
{
	losing(t, false);
}

void ensure_lock_lost_reaches(struct sp_case *t)
{
	losing(t, true);
}
