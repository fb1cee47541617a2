/* SPDX-License-Identifier: MIT */
/* N11: records that are too old. N12: destroying. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

#define MINUTE INT64_C(60000)

static const char *const durations[] = {
	"", "5", "h", "m", "0h", "5d", "5 h", " 5h", "5h ", "-5h", "+5h", "1.5h", "5H", "1h30m",
	"0x5h", "99999999999999999999h",
};

void ensure_age_refused(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	for (size_t i = 0; i < SP_COUNT(durations); i++) {
		sp_case_note(t, "max_age \"%s\"", durations[i]);
		s.options.max_age = durations[i];
		SP_REQUIRE(ensure_refuses(&s, SP_INVALID, &got));
		SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
	}
}

/* A record of this age, and a limit: a sandbox that is there, with a snapshot or none. */
static const char *open_aged(struct sp_case *t, struct ensure_scene *s, int64_t age,
			     const char *limit)
{
	const char *id;

	if (!ensure_scene_open(t, s))
		return NULL;
	s->stage.snapshots = true;
	s->options.max_age = limit;
	id = ensure_other_sandbox(s);
	return id && ensure_seed(s, id, stage_add_snapshot(&s->stage), age) ? id : NULL;
}

static const struct {
	int64_t age;
	const char *limit;
	bool young;
} ages[] = {
	{ 59 * MINUTE, "1h", true },	   { 61 * MINUTE, "1h", false },
	{ 4 * MINUTE, "5m", true },	   { 6 * MINUTE, "5m", false },
	{ 23 * 60 * MINUTE, "24h", true }, { 25 * 60 * MINUTE, "24h", false },
	{ -60 * MINUTE, "1m", true },	   { 1000000 * MINUTE, NULL, true },
};

void ensure_age_limit(struct sp_case *t)
{
	for (size_t i = 0; i < SP_COUNT(ages); i++) {
		struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
		struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
		const char *id = open_aged(t, &s, ages[i].age, ages[i].limit);

		sp_case_note(t, "%lld minutes old, limit %s", (long long)(ages[i].age / MINUTE),
			     ages[i].limit ? ages[i].limit : "none");
		SP_REQUIRE(id &&
			   ensure_works(&s, ages[i].young ? SP_ENSURE_RESUMED : SP_ENSURE_CREATED,
					&got));
	}
}

void ensure_age_replaced(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	const char *id = open_aged(t, &s, 120 * MINUTE, "1h");

	SP_REQUIRE(id && ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK(t, strcmp(id, sp_sandbox_id(&got.sandbox)) != 0, "it is another sandbox");
	SP_CHECK_INT(t, 0, stage_alive(&s.stage, id), "the sandbox of the record that was too old");
	SP_CHECK_INT(t, 0, stage_shots(&s.stage), "its snapshot, to which nothing leads any more");
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, sp_sandbox_id(&got.sandbox), record.provider_sandbox_id,
		     "sandbox of the record");
	SP_CHECK_STR(t, NULL, record.latest_snapshot_id, "snapshot of the record");
	ensure_works(&s, SP_ENSURE_RESUMED, &got);
}

/* What cannot be removed keeps its record, or nobody would ever remove it. */
static void stuck(struct sp_case *t, enum stage_call call)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;
	const char *id = open_aged(t, &s, 120 * MINUTE, "1h");

	SP_REQUIRE(id && ensure_record(&s, &before));
	stage_fail(&s.stage, call, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(ensure_refuses(&s, SP_UNAVAILABLE, &got));
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
	SP_CHECK_INT(t, 0, s.stage.n_made, "sandboxes made");
	stage_fail(&s.stage, call, 0, STAGE_INSTEAD);
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_CHECK_INT(t, 0, stage_alive(&s.stage, id), "the sandbox of the record that was too old");
	SP_CHECK_INT(t, 0, stage_shots(&s.stage), "its snapshot");
}

void ensure_age_stuck(struct sp_case *t)
{
	stuck(t, STAGE_DESTROY);
	if (!sp_case_failed(t))
		stuck(t, STAGE_SNAPSHOT_DELETE);
}

/* ---- N12 ---- */

static int run_destroy(struct ensure_scene *s, struct sp_error *err)
{
	struct sp_ensure *ensure = &s->stage.subject->ensure;

	return ensure->ops->destroy(ensure->self, &s->options, err);
}

void ensure_destroy_all(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = s.options.snapshot_after_setup = true;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(SP_CHECK_OK(t, run_destroy(&s, &err), &err, "destroy"));
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
	SP_CHECK_INT(t, 0, stage_shots(&s.stage), "snapshots left");
	SP_REQUIRE(SP_CHECK_OK(t, run_destroy(&s, &err), &err, "destroy of what is gone"));
	ensure_works(&s, SP_ENSURE_CREATED, &got);
}

static void destroy_failing(struct sp_case *t, enum stage_call call)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(ensure_scene_open(t, &s));
	s.stage.snapshots = s.options.snapshot_after_setup = true;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got) && ensure_record(&s, &before));
	stage_fail(&s.stage, call, SP_UNAVAILABLE, STAGE_INSTEAD);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_UNAVAILABLE, run_destroy(&s, &err), &err, "destroy"));
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
	stage_fail(&s.stage, call, 0, STAGE_INSTEAD);
	SP_REQUIRE(SP_CHECK_OK(t, run_destroy(&s, &err), &err, "the second destroy"));
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
	SP_CHECK_INT(t, 0, stage_shots(&s.stage), "snapshots left");
}

void ensure_destroy_error(struct sp_case *t)
{
	destroy_failing(t, STAGE_DESTROY);
	if (!sp_case_failed(t))
		destroy_failing(t, STAGE_SNAPSHOT_DELETE);
}

void ensure_destroy_aborted(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(cancel && ensure_scene_open(t, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	s.options.cancel = cancel;
	sp_cancel_abort(cancel, "the request is over");
	SP_REQUIRE(SP_CHECK_OK(t, run_destroy(&s, &err), &err, "destroy under an aborted request"));
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
}

void ensure_destroy_owner(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct sp_record before ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_record after ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *id, *own;

	SP_REQUIRE(ensure_scene_open(t, &s));
	id = ensure_other_sandbox(&s);
	own = s.options.thread_id;
	s.options.thread_id = "somebody else's";
	SP_REQUIRE(id && ensure_seed(&s, id, NULL, 0) && ensure_record(&s, &before));
	s.options.thread_id = own;
	SP_REQUIRE(SP_CHECK_CODE(t, SP_CONFLICT, run_destroy(&s, &err), &err, "destroy"));
	SP_CHECK_INT(t, 1, stage_alive(&s.stage, id), "the owner's sandbox");
	SP_REQUIRE(ensure_record(&s, &after) && ensure_same_record(&s, &before, &after));
}
