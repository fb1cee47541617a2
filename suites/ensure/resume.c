/* SPDX-License-Identifier: MIT */
/* N3 to N5: a key with a record. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

#include <witness/gate.h>

void ensure_resume_same(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(ensure_record(&s, &before));
	s.options.run_id = "run-2";
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_STR(t, before.provider_sandbox_id, sp_sandbox_id(&got.sandbox), "the sandbox");
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(sp_sh_ok(t, &got.sandbox, "true"));
	SP_REQUIRE(ensure_record(&s, &after));
	SP_CHECK_STR(t, "run-2", after.latest_run_id, "run of the record");
	SP_CHECK(t, after.updated_at >= before.updated_at, "updated_at does not go back");
	SP_CHECK_STR(t, before.provider_sandbox_id, after.provider_sandbox_id,
		     "sandbox of the record");
	SP_CHECK_STR(t, before.thread_id, after.thread_id, "thread of the record");
}

void ensure_resume_stored_id(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	const char *other;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	other = ensure_other_sandbox(&s);
	SP_REQUIRE(other && ensure_seed(&s, other, NULL, 0));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_STR(t, other, sp_sandbox_id(&got.sandbox), "the sandbox that the store names now");
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made by ensure");
}

void ensure_resume_env(struct sp_case *t)
{
	static const struct sp_env old = { "ENSURE_SECRET", "old" },
				   new = { "ENSURE_SECRET", "new" };
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	const char *seen;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.options.env = &old;
	s.options.n_env = 1;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	seen = sp_sh_out(t, &got.sandbox, "printf %%s \"$ENSURE_SECRET\"");
	SP_REQUIRE(SP_CHECK_STR(t, "old", seen, "the first value"));
	s.options.env = &new;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	seen = sp_sh_out(t, &got.sandbox, "printf %%s \"$ENSURE_SECRET\"");
	SP_CHECK_STR(t, "new", seen, "the value after the resume");
}

void ensure_resume_snapshot_kept(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	const char *id, *shot;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = true;
	shot = stage_add_snapshot(&s.stage);
	id = ensure_other_sandbox(&s);
	SP_REQUIRE(id && ensure_seed(&s, id, shot, 0));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, shot, record.latest_snapshot_id, "snapshot of the record");
	SP_CHECK_INT(t, 1, stage_shots(&s.stage), "snapshots");
}

/* ---- N4: what is no absence ---- */

static const int errors[] = { SP_UNAVAILABLE, SP_DENIED,	  SP_RATE_LIMITED,  SP_TIMED_OUT,
			      SP_PROTOCOL,    SP_UNKNOWN_OUTCOME, SP_NOT_FOUND,	    SP_CONFLICT,
			      SP_IO,	      SP_INTERNAL,	  SP_UNSUPPORTED };

void ensure_error_resume(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(ensure_record(&s, &before));
	s.options.run_id = "run-2";
	for (size_t i = 0; i < SP_COUNT(errors); i++) {
		stage_fail(&s.stage, STAGE_RESUME, errors[i], STAGE_INSTEAD);
		SP_REQUIRE(ensure_refuses(&s, errors[i], &got));
		SP_REQUIRE(SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made after %s",
					sp_code_name(errors[i])));
		SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
		SP_REQUIRE(ensure_live(&s, 1));
	}
	stage_fail(&s.stage, STAGE_RESUME, 0, STAGE_INSTEAD);
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	SP_CHECK_STR(t, before.provider_sandbox_id, sp_sandbox_id(&got.sandbox), "the sandbox");
}

static const struct {
	int how, status;
	const char *what;
} troubles[] = {
	{ SP_FAIL_STATUS, 401, "401" },		{ SP_FAIL_STATUS, 403, "403" },
	{ SP_FAIL_STATUS, 500, "500" },		{ SP_FAIL_STATUS, 502, "502" },
	{ SP_FAIL_STATUS, 503, "503" },		{ SP_FAIL_DROP, 0, "no answer" },
	{ SP_FAIL_EDGE, 0, "the edge's page" },
};

void ensure_error_backend(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	for (size_t i = 0; i < SP_COUNT(troubles); i++) {
		int rc = control->ops->fail(control->self, SP_STEP_GET, 0, troubles[i].how,
					    troubles[i].status, &err);

		SP_REQUIRE(
			SP_CHECK_OK(t, rc, &err, "a back end that answers %s", troubles[i].what));
		ensure_run(&s, &got);
		SP_CHECK(t, got.rc < 0, "%s is an error", troubles[i].what);
		SP_CHECK_INT(t, 1, stage_calls(&s.stage, STAGE_CREATE), "creates after %s",
			     troubles[i].what);
		rc = control->ops->fail(control->self, SP_STEP_GET, 0, -1, 0, &err);
		SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "a back end that answers again"));
	}
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	ensure_live(&s, 1);
}

/* ---- N5: what is one ---- */

void ensure_gone_recreate(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	const char *lost;

	SP_REQUIRE(ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	lost = sp_case_format(t, "%s", sp_sandbox_id(&got.sandbox));
	SP_REQUIRE(ensure_lose_sandbox(&s, lost));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK(t, strcmp(lost, sp_sandbox_id(&got.sandbox)) != 0, "it is another sandbox");
	SP_CHECK_INT(t, 2, stage_calls(&s.stage, STAGE_BOOTSTRAP), "bootstraps");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, sp_sandbox_id(&got.sandbox), record.provider_sandbox_id,
		     "sandbox of the record");
}

/* The record had a snapshot of which this provider can make nothing. */
void ensure_gone_full_replace(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	const char *id;

	SP_REQUIRE(ensure_scene_open(t, &s));
	id = ensure_other_sandbox(&s);
	SP_REQUIRE(id && ensure_lose_sandbox(&s, id) && ensure_seed(&s, id, "shot-of-old", 0));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, NULL, record.latest_snapshot_id, "the stale snapshot");
	SP_CHECK_STR(t, "run-1", record.latest_run_id, "run of the record");
}
