/* SPDX-License-Identifier: MIT */
/* N2: a key without a record. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

#include <base/clock.h>

void ensure_create_record(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	int64_t before = sp_wall_ms();

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, sp_provider_name(&s.stage.provider), record.provider, "provider");
	SP_CHECK_STR(t, sp_sandbox_id(&got.sandbox), record.provider_sandbox_id, "sandbox");
	SP_CHECK_STR(t, NULL, record.latest_snapshot_id, "snapshot, of which there is none");
	SP_CHECK_STR(t, s.options.thread_id, record.thread_id, "thread");
	SP_CHECK_STR(t, "run-1", record.latest_run_id, "run");
	SP_CHECK(t, record.updated_at >= before && record.updated_at <= sp_wall_ms(),
		 "updated_at is the time of the call in milliseconds, not %lld",
		 (long long)record.updated_at);
}

void ensure_create_bootstrap(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	const char *seen;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.bootstrap_runs = "printf prepared >bootstrapped";
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_BOOTSTRAP), "bootstraps");
	SP_CHECK_STR(t, sp_sandbox_id(&got.sandbox), s.bootstrap_in, "the bootstrap's sandbox");
	SP_CHECK(t, !s.bootstrap_saw_record,
		 "there is no record before the sandbox is ready for use");
	seen = sp_sh_out(t, &got.sandbox, "cat bootstrapped");
	SP_CHECK_STR(t, "prepared", seen, "what the bootstrap left in the sandbox");
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_BOOTSTRAP), "bootstraps after a resume");
}

void ensure_create_wishes(struct sp_case *t)
{
	static const struct sp_env env[] = { { "ENSURE_A", "one" }, { "ENSURE_B", "two" } };
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	const char *seen;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.env = env;
	s.options.n_env = SP_COUNT(env);
	s.options.workspace = "{\"source\":{\"type\":\"none\"}}";
	s.options.network = SP_NETWORK_DENY;
	SP_REQUIRE(ensure_scene_key(&s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_STR(t, s.key, s.stage.asked.id, "id that create was asked for");
	SP_CHECK_STR(t, s.options.workspace, s.stage.asked.workspace,
		     "workspace that it was given");
	SP_CHECK_INT(t, SP_COUNT(env), s.stage.asked.n_env, "variables that it was given");
	SP_CHECK_INT(t, SP_NETWORK_DENY, s.stage.asked.network, "network that it was asked for");
	SP_CHECK(t, s.stage.asked.cancel, "create can be cancelled");
	seen = sp_sh_out(t, &got.sandbox, "printf %%s-%%s \"$ENSURE_A\" \"$ENSURE_B\"");
	SP_CHECK_STR(t, "one-two", seen, "the variables in the sandbox");
}

void ensure_create_snapshot(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = true;
	s.options.snapshot_after_setup = true;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_SNAPSHOT), "snapshots taken");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, s.stage.shots[0], record.latest_snapshot_id, "snapshot of the record");
	SP_CHECK_INT(t, 0, s.bootstrap_saw_shots, "snapshots that were there in the bootstrap");
}

void ensure_create_unsupported(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = false;
	s.options.snapshot_after_setup = true;
	SP_REQUIRE(ensure_refuses(&s, SP_UNSUPPORTED, &got));
	SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
	ensure_no_record(&s);
}
