/* SPDX-License-Identifier: MIT */
/* S8: what fails leaves nothing behind, and the sandbox as it was. */
#include <suites/snapshot/cases.h>
#include <suites/snapshot/scene.h>

/* After a failure: no snapshot, and a sandbox that works and has its variables. */
static bool as_before(struct snap_scene *s, const char *what)
{
	return snap_check_count(s->t, 0, SP_HERE, what) &&
	       sp_vars_arrive(s->t, s->sandbox, NULL, 0, &s->var, 1, SP_HERE, what);
}

void snap_fail_capture(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;

	SP_REQUIRE(snap_scene_open(t, &s));
	for (int i = 0; i < 2; i++) {
		struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
		struct sp_call_result *result;

		SP_REQUIRE(i ? snap_fail(t, SP_STEP_SNAPSHOT, SP_FAIL_STATUS, 500)
			     : snap_fail(t, SP_STEP_CAPTURE, SP_FAIL_DISK_FULL, 0));
		SP_REQUIRE(snap_start(&s, &call));
		result = snap_joined(&call);
		SP_REQUIRE(SP_CHECK(t, result->rc != 0 && !s.n_refs,
				    "a failed capture is an error without a reference"));
		SP_REQUIRE(sp_search_check_error(t, &s.secret.canary, &result->err, SP_HERE,
						 "a failed capture"));
		SP_REQUIRE(as_before(&s, "after a failed capture"));
	}
	SP_REQUIRE(snap_take(&s, "again"));
	snap_check_count(t, 1, SP_HERE, "snapshots after the next try");
}

/* It is taken, and nobody is told; an older one of the same label must not be taken for it. */
void snap_fail_lost_answer(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_scene_open(t, &s) && sp_sh_ok(t, s.sandbox, "echo older >state"));
	SP_REQUIRE(snap_take(&s, SNAP_BESIDE) && sp_sh_ok(t, s.sandbox, "echo lost >state"));
	SP_REQUIRE(snap_fail(t, SP_STEP_SNAPSHOT, SP_FAIL_LOST_ANSWER, 0));
	SP_REQUIRE(snap_start(&s, &call));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK(t, (result->rc == 0) == (s.n_refs == 2),
			    "a snapshot whose answer was lost is found again, or an error without "
			    "a reference"));
	SP_REQUIRE(snap_check_count(t, s.n_refs, SP_HERE, "snapshots that the caller knows of"));
	SP_REQUIRE(sp_vars_arrive(t, s.sandbox, NULL, 0, &s.var, 1, SP_HERE, "after it"));
	if (s.n_refs < 2)
		return;
	restored = snap_restore_ok(t, s.refs[1].id, NULL, 0);
	SP_REQUIRE(restored.ops && sp_sh_ok(t, &restored, "[ \"$(cat state)\" = lost ]"));
	snap_destroy(t, &restored);
}

void snap_fail_abort(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_scene_open(t, &s) && snap_other(&s));
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	sp_call_abort(call.call, "no longer wanted");
	(void)sp_rounds_done(t, &s.other, call.call);
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err, "an aborted snapshot"));
	as_before(&s, "after an aborted snapshot");
}

/* What can go wrong on the way from a snapshot to a sandbox with today's variables. */
static const struct {
	enum sp_control_step step;
	enum sp_control_how how;
	int status;
	const char *what;
} restore_failures[] = {
    {SP_STEP_RESTORE, SP_FAIL_DISK_FULL, 0, "a restore that does not fit"},
    {SP_STEP_CREATE, SP_FAIL_STATUS, 500, "a restore that the service refuses"},
    {SP_STEP_GET, SP_FAIL_STATUS, 401, "a restore whose sandbox cannot be looked at"},
    {SP_STEP_MINT_RUN, SP_FAIL_STATUS, 403, "a restore whose sandbox takes no command"},
    {SP_STEP_UPLOAD, SP_FAIL_DISK_FULL, 0, "a restore whose variables find no room"},
};

/* It is an error that tells no secret, and the counts are as they were. */
static bool refused(struct snap_scene *s, const char *ref, const struct sp_env *env,
		    size_t sandboxes_before, int code, const char *what)
{
	struct sp_sandbox none SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	size_t snapshots, sandboxes;
	int rc;

	none = snap_restore(s->t, ref, env, 1, SP_NETWORK_DEFAULT, &rc, &err);
	return (code ? SP_CHECK_CODE(s->t, code, rc, &err, "%s", what)
		     : SP_CHECK(s->t, rc != 0, "%s is an error", what)) &&
	       sp_search_check_error(s->t, &s->secret.canary, &err, SP_HERE, what) &&
	       snap_count(s->t, &snapshots, &sandboxes) &&
	       SP_CHECK_INT(s->t, (long long)sandboxes_before, (long long)sandboxes,
			    "sandboxes after %s", what) &&
	       SP_CHECK_INT(s->t, 1, (long long)snapshots, "snapshots after %s", what);
}

void snap_fail_restore(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox whole SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_env bad = {"MY-KEY", NULL};
	size_t snapshots, before;
	const char *ref;

	SP_REQUIRE(snap_scene_open(t, &s));
	ref = snap_take(&s, "restore");
	SP_REQUIRE(ref && snap_count(t, &snapshots, &before));
	for (size_t i = 0; i < SP_COUNT(restore_failures); i++) {
		SP_REQUIRE(snap_fail(t, restore_failures[i].step, restore_failures[i].how,
				     restore_failures[i].status));
		SP_REQUIRE(refused(&s, ref, &s.var, before, 0, restore_failures[i].what));
	}
	bad.value = s.secret.value;
	SP_REQUIRE(refused(&s, ref, &bad, before, SP_INVALID,
			   "a restore with a variable that cannot be delivered"));
	whole = snap_restore_ok(t, ref, &s.var, 1);
	SP_REQUIRE(whole.ops &&
		   sp_vars_arrive(t, &whole, NULL, 0, &s.var, 1, SP_HERE, "the next try"));
	snap_destroy(t, &whole);
}

/* A snapshot of what is no longer there: `state` by control. */
static void gone(struct sp_case *t, const char *state)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_sandbox sandbox SP_HANDLE = sp_vars_create(t, NULL, 0);
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(sandbox.ops);
	rc = control->ops->set_state(control->self, sp_sandbox_id(&sandbox), state, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "control makes the sandbox %s", state));
	rc = sp_sandbox_snapshot(&sandbox, sp_case_unique(t), &ref, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_GONE, rc, &err, "snapshot of a sandbox that is %s", state));
	SP_REQUIRE(snap_check_count(t, 0, SP_HERE, "snapshots of what is gone"));
	rc = sp_sandbox_destroy(&sandbox, sp_case_cancel(t), &err);
	SP_CHECK_OK(t, rc, &err, "destroy");
}

void snap_fail_gone(struct sp_case *t)
{
	gone(t, "terminated");
	if (!sp_case_failed(t))
		gone(t, "errored");
}

/* It is destroyed while its capture is held. */
void snap_fail_dying(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_call *destroy SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_scene_open(t, &s) && snap_other(&s));
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	destroy = sp_call_destroy(t, &s.other);
	/* Gone before the capture begins: there is one order only. */
	result = sp_call_join(destroy);
	SP_REQUIRE(result &&
		   SP_CHECK_OK(t, result->rc, &result->err, "destroy during a capture"));
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(
	    SP_CHECK(t, (result->rc != 0) == !s.n_refs,
		     "a snapshot of a dying sandbox is whole, or an error without a reference"));
	SP_REQUIRE(snap_check_count(t, s.n_refs, SP_HERE, "snapshots that nobody knows of"));
}
