/* SPDX-License-Identifier: MIT */
/* N8: a failure at each step, and what it leaves. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

/*
 * One step of a new sandbox fails: that is the answer, `made` sandboxes were made and none lives,
 * there is neither record nor snapshot, and the next ensure works, so the lock is free.
 */
static void failing_step(struct sp_case *t, enum stage_call call, int code, unsigned made)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = s.options.snapshot_after_setup = true;
	stage_fail(&s.stage, call, code, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, code, &got));
	SP_CHECK_INT(t, made, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
	SP_CHECK_INT(t, 0, stage_shots(&s.stage), "snapshots left");
	stage_fail(&s.stage, call, 0, STAGE_INSTEAD);
	ensure_works(&s, SP_ENSURE_CREATED, &got);
}

void ensure_fail_lock(struct sp_case *t)
{
	failing_step(t, STAGE_ACQUIRE, SP_UNAVAILABLE, 0);
}

void ensure_fail_look_up(struct sp_case *t)
{
	failing_step(t, STAGE_GET, SP_UNAVAILABLE, 0);
}

void ensure_fail_create(struct sp_case *t)
{
	failing_step(t, STAGE_CREATE, SP_RATE_LIMITED, 0);
}

void ensure_fail_bootstrap(struct sp_case *t)
{
	failing_step(t, STAGE_BOOTSTRAP, SP_DENIED, 1);
}

void ensure_fail_snapshot(struct sp_case *t)
{
	failing_step(t, STAGE_SNAPSHOT, SP_UNAVAILABLE, 1);
}

void ensure_fail_record(struct sp_case *t)
{
	failing_step(t, STAGE_UPSERT, SP_IO, 1);
}

/* Whether it was carried out is not known, so doing it again could make two. */
void ensure_fail_unknown(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	stage_fail(&s.stage, STAGE_CREATE, SP_UNKNOWN_OUTCOME, STAGE_AFTERWARDS);
	SP_REQUIRE(ensure_refuses(&s, SP_UNKNOWN_OUTCOME, &got));
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_CREATE), "creates");
	ensure_no_record(&s);
}

/*
 * The record may or may not be there; a sandbox that it might name is gone, so
 * the next ensure makes another.
 */
void ensure_fail_record_unknown(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	stage_fail(&s.stage, STAGE_UPSERT, SP_UNKNOWN_OUTCOME, STAGE_AFTERWARDS);
	SP_REQUIRE(ensure_refuses(&s, SP_UNKNOWN_OUTCOME, &got));
	SP_REQUIRE(ensure_live(&s, 0));
	stage_fail(&s.stage, STAGE_UPSERT, 0, STAGE_AFTERWARDS);
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	ensure_live(&s, 1);
}

/* ---- Live work stays ---- */

static void failing_resume(struct sp_case *t, enum stage_call call)
{
	static const struct sp_env env = { "ENSURE_A", "b" };
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.env = &env;
	s.options.n_env = 1;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got) && ensure_record(&s, &before));
	s.options.run_id = "run-2";
	stage_fail(&s.stage, call, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_UNAVAILABLE, &got));
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_live(&s, 1));
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
	stage_fail(&s.stage, call, 0, STAGE_INSTEAD);
	ensure_works(&s, SP_ENSURE_RESUMED, &got);
}

void ensure_fail_resumed_env(struct sp_case *t)
{
	failing_resume(t, STAGE_ENV_SET);
}

void ensure_fail_resumed_record(struct sp_case *t)
{
	failing_resume(t, STAGE_UPSERT);
}

static void failing_restore(struct sp_case *t, enum stage_call call)
{
	static const struct sp_env env = { "ENSURE_A", "b" };
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;
	const char *id, *shot;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = true;
	s.options.env = &env;
	s.options.n_env = 1;
	shot = stage_add_snapshot(&s.stage);
	id = ensure_other_sandbox(&s);
	SP_REQUIRE(id && ensure_lose_sandbox(&s, id) && ensure_seed(&s, id, shot, 0));
	SP_REQUIRE(ensure_record(&s, &before));
	stage_fail(&s.stage, call, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_UNAVAILABLE, &got));
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes restored");
	SP_REQUIRE(ensure_live(&s, 0));
	SP_CHECK_INT(t, 1, stage_shots(&s.stage), "snapshots: the record still needs its own");
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
	stage_fail(&s.stage, call, 0, STAGE_INSTEAD);
	ensure_works(&s, SP_ENSURE_RESTORED, &got);
}

void ensure_fail_restored_env(struct sp_case *t)
{
	failing_restore(t, STAGE_ENV_SET);
}

void ensure_fail_restored_record(struct sp_case *t)
{
	failing_restore(t, STAGE_UPSERT);
}

/* ---- The first error ---- */

void ensure_fail_first_error(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.bootstrap_code = SP_DENIED;
	stage_fail(&s.stage, STAGE_DESTROY, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_DENIED, &got));
	SP_CHECK(t, strstr(got.err.message, "the bootstrap's own words"),
		 "the message has the bootstrap's own words: %s", got.err.message);
	SP_CHECK(t, s.stage.n_made == 1 && strstr(got.err.message, s.stage.made[0]),
		 "the message names the sandbox that could not be removed: %s", got.err.message);
	ensure_no_record(&s);
}

/* A step fails while another caller waits: it gets the lock, not the first one's trouble. */
void ensure_fail_lock_free(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_scene other ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct ensure_call call ENSURE_CALL = ENSURE_CALL_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s) && ensure_scene_beside(&other, &s));
	s.bootstrap_code = SP_DENIED;
	SP_REQUIRE(ensure_refuses(&s, SP_DENIED, &got));
	SP_CHECK_INT(t, stage_calls(&s.stage, STAGE_ACQUIRE), stage_calls(&s.stage, STAGE_RELEASE),
		     "locks given back");
	SP_REQUIRE(!sp_case_failed(t) && ensure_call_start(&other, &call) &&
		   ensure_call_join(&call));
	SP_CHECK_OK(t, call.got.rc, &call.got.err, "the next caller");
}
