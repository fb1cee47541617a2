/* SPDX-License-Identifier: MIT */
/* N9: aborts and deadlines. */
#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

#include <base/clock.h>

void ensure_abort_before(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);

	SP_REQUIRE(cancel && ensure_scene_open(t, &s));
	s.options.cancel = cancel;
	sp_cancel_abort(cancel, "the case aborts");
	SP_REQUIRE(ensure_refuses(&s, SP_ABORTED, &got));
	SP_CHECK_STR(t, "the case aborts", got.err.message, "the reason");
	SP_CHECK_INT(t, 0, stage_calls(&s.stage, STAGE_CREATE), "creates");
	ensure_no_record(&s);
}

/* The bootstrap succeeds, and its caller has gone meanwhile. */
void ensure_abort_bootstrap(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);

	SP_REQUIRE(cancel && ensure_scene_open(t, &s));
	s.options.cancel = s.bootstrap_aborts = cancel;
	SP_REQUIRE(ensure_refuses(&s, SP_ABORTED, &got));
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
	s.options.cancel = sp_case_cancel(t);
	s.bootstrap_aborts = NULL;
	ensure_works(&s, SP_ENSURE_CREATED, &got);
}

static void hanging_bootstrap(struct sp_case *t, int code)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call call ENSURE_CALL = ENSURE_CALL_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);

	SP_REQUIRE(cancel && ensure_scene_open(t, &s) && stage_hold(&s.stage, STAGE_BOOTSTRAP));
	s.options.cancel = cancel;
	s.bootstrap_hangs = true;
	SP_REQUIRE(ensure_call_start(&s, &call));
	SP_REQUIRE(stage_await(&s.stage, STAGE_BOOTSTRAP));
	stage_release(&s.stage, STAGE_BOOTSTRAP);
	if (code == SP_ABORTED)
		sp_cancel_abort(cancel, "the case aborts");
	else
		sp_cancel_set_deadline(cancel, sp_now());
	SP_REQUIRE(ensure_call_join(&call));
	SP_CHECK_CODE(t, code, call.got.rc, &call.got.err, "ensure with a bootstrap that hangs");
	SP_REQUIRE(ensure_live(&s, 0) && ensure_no_record(&s));
}

void ensure_abort_hanging(struct sp_case *t)
{
	hanging_bootstrap(t, SP_ABORTED);
}

void ensure_abort_deadline(struct sp_case *t)
{
	hanging_bootstrap(t, SP_TIMED_OUT);
}

/* One caller waits for another's lock and gives up; the other is not disturbed. */
void ensure_abort_waiting(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_scene other ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call holder ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call waiter ENSURE_CALL = ENSURE_CALL_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);

	SP_REQUIRE(cancel && ensure_scene_open(t, &s) && ensure_scene_beside(&other, &s));
	SP_REQUIRE(stage_hold(&s.stage, STAGE_BOOTSTRAP) &&
		   stage_hold(&other.stage, STAGE_ACQUIRE));
	other.options.cancel = cancel;
	SP_REQUIRE(ensure_call_start(&s, &holder));
	if (stage_await(&s.stage, STAGE_BOOTSTRAP) && ensure_call_start(&other, &waiter) &&
	    stage_await(&other.stage, STAGE_ACQUIRE)) {
		stage_release(&other.stage, STAGE_ACQUIRE);
		sp_cancel_abort(cancel, "the case aborts");
		/* Joined while the first still holds the lock: it cannot have got it. */
		ensure_call_join(&waiter);
		SP_CHECK_CODE(t, SP_ABORTED, waiter.got.rc, &waiter.got.err,
			      "the caller that gave up");
		SP_CHECK_INT(t, 0, other.stage.n_made, "sandboxes that it made");
	}
	stage_release(&s.stage, STAGE_BOOTSTRAP);
	SP_REQUIRE(ensure_call_join(&holder));
	SP_CHECK_OK(t, holder.got.rc, &holder.got.err, "the caller that had the lock");
	ensure_live(&s, 1);
}

void ensure_abort_watchers(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct sp_cancel *cancel ENSURE_CANCEL = ensure_cancel(t);

	SP_REQUIRE(cancel && ensure_scene_open(t, &s));
	s.options.cancel = cancel;
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_RESUMED, &got));
	ensure_got_done(&got);
	SP_CHECK_INT(t, 0, (long long)sp_cancel_watchers(cancel), "watchers left on the cancel");
	SP_CHECK_INT(t, 1, (long long)sp_cancel_refs(cancel), "references to the cancel");
}
