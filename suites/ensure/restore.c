/* SPDX-License-Identifier: MIT */
/* N6: the sandbox is gone, its snapshot is not. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

/*
 * A record with a snapshot and a sandbox that is gone; the snapshot's id, or
 * NULL after a recorded failure.
 */
static const char *open_gone(struct sp_case *t, struct ensure_scene *s)
{
	const char *id, *shot;

	if (!ensure_scene_open(t, s))
		return NULL;
	s->stage.snapshots = true;
	shot = stage_add_snapshot(&s->stage);
	id = ensure_other_sandbox(s);
	return id && ensure_lose_sandbox(s, id) && ensure_seed(s, id, shot, 0) ? shot : NULL;
}

void ensure_restore_snapshot(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	const char *shot = open_gone(t, &s);

	SP_REQUIRE(shot && ensure_works(&s, SP_ENSURE_RESTORED, &got));
	SP_CHECK_STR(t, shot, s.stage.asked.from, "the snapshot that was restored");
	SP_CHECK_INT(t, 0, stage_calls(&s.stage, STAGE_BOOTSTRAP),
		     "bootstraps of what is set up already");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, sp_sandbox_id(&got.sandbox), record.provider_sandbox_id,
		     "sandbox of the record");
	SP_CHECK_STR(t, shot, record.latest_snapshot_id, "snapshot of the record");
	SP_CHECK_STR(t, "run-1", record.latest_run_id, "run of the record");
	SP_CHECK_INT(t, 1, stage_shots(&s.stage), "snapshots");
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
}

void ensure_restore_wishes(struct sp_case *t)
{
	static const struct sp_env env = { "ENSURE_SECRET", "of today" };
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	const char *seen;

	SP_REQUIRE(open_gone(t, &s));
	s.options.env = &env;
	s.options.n_env = 1;
	s.options.network = SP_NETWORK_DENY;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESTORED, &got));
	SP_CHECK_INT(t, 1, s.stage.asked.n_env, "variables that restore was given");
	SP_CHECK_INT(t, SP_NETWORK_DENY, s.stage.asked.network, "network that it was asked for");
	SP_CHECK(t, s.stage.asked.cancel, "restore can be cancelled");
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_ENV_SET), "env_set after the restore");
	seen = sp_sh_out(t, &got.sandbox, "printf %%s \"$ENSURE_SECRET\"");
	SP_CHECK_STR(t, "of today", seen, "the value in the restored sandbox");
}

void ensure_restore_error(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(open_gone(t, &s) && ensure_record(&s, &before));
	stage_fail(&s.stage, STAGE_RESTORE, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_UNAVAILABLE, &got));
	SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
	stage_fail(&s.stage, STAGE_RESTORE, 0, STAGE_INSTEAD);
	ensure_works(&s, SP_ENSURE_RESTORED, &got);
}

void ensure_restore_lost_snapshot(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(open_gone(t, &s));
	s.stage.shots[0] = NULL;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_BOOTSTRAP), "bootstraps");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, NULL, record.latest_snapshot_id, "the snapshot that is gone");
}
