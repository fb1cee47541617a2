/* SPDX-License-Identifier: MIT */
#include <witness/gate.h>

static bool shut(struct sp_case *t, const char *id, enum sp_control_step step,
		 enum sp_control_when when, struct sp_gate *gate)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	if (!control)
		return false;
	gate->t = t;
	rc = control->ops->hold(control->self, step, when, id, &gate->hold, &err);
	if (rc < 0) {
		sp_case_error(t, SP_HERE, "control cannot hold %s: %s", sp_control_step_name(step),
			      err.message);
		return false;
	}
	sp_case_note(t, "gate shut %s %s", when == SP_BEFORE ? "before" : "after",
		     sp_control_step_name(step));
	gate->shut = true;
	return true;
}

bool sp_gate_shut(struct sp_case *t, struct sp_sandbox *sandbox, enum sp_control_step step,
		  enum sp_control_when when, struct sp_gate *gate)
{
	return sandbox && shut(t, sp_sandbox_id(sandbox), step, when, gate);
}

bool sp_gate_shut_any(struct sp_case *t, enum sp_control_step step, enum sp_control_when when,
		      struct sp_gate *gate)
{
	return shut(t, NULL, step, when, gate);
}

bool sp_gate_await(struct sp_gate *gate)
{
	struct sp_control *control = sp_case_control(gate->t);
	struct sp_error err = SP_ERROR_INIT;
	int rc = control->ops->await_held(control->self, gate->hold, sp_case_cancel(gate->t), &err);

	return SP_CHECK_OK(gate->t, rc, &err, "the subject comes to the step that is held");
}

bool sp_gate_open(struct sp_gate *gate)
{
	struct sp_control *control = sp_case_control(gate->t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	gate->shut = false;
	rc = control->ops->release(control->self, gate->hold, &err);
	if (rc < 0) {
		sp_case_error(gate->t, SP_HERE, "control cannot release: %s", err.message);
		return false;
	}
	sp_case_note(gate->t, "gate open");
	return true;
}

void sp_gate_done(struct sp_gate *gate)
{
	if (gate->shut)
		(void)sp_gate_open(gate);
}
