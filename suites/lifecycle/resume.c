/* SPDX-License-Identifier: MIT */
/* Finding a sandbox again: alive, asleep, gone for good, and everything that is none of these. */
#include <string.h>

#include <witness/gate.h>
#include <witness/rounds.h>
#include <witness/shell.h>

#include "cases.h"
#include "made.h"

void life_resume_same(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_subject *second;
	const char *said;

	SP_REQUIRE(sp_made_create(t, &options, &made) && sp_sh_ok(t, &made, "echo kept >kept"));
	SP_REQUIRE(life_resume(t, sp_case_provider(t), sp_sandbox_id(&made), true, &again,
			       "the same instance"));
	SP_CHECK_STR(t, sp_sandbox_id(&made), sp_sandbox_id(&again), "the id of the handle");
	SP_CHECK_STR(t, sp_sandbox_workspace_root(&made), sp_sandbox_workspace_root(&again),
		     "the workspace root of the handle");
	second = sp_case_second(t);
	SP_REQUIRE(second && life_resume(t, &second->provider, sp_sandbox_id(&made), true, &other,
					 "another instance"));
	said = sp_sh_out(t, &other, "cat kept");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "kept", said, "a file of the sandbox, through another instance");
}

void life_resume_closed(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	const char *id, *said;

	SP_REQUIRE(sp_made_create(t, &options, &made) && sp_sh_ok(t, &made, "echo kept >kept"));
	id = sp_case_format(t, "%s", sp_sandbox_id(&made));
	sp_sandbox_done(&made);
	SP_REQUIRE(life_resume(t, sp_case_provider(t), id, true, &made, "after close()"));
	said = sp_sh_out(t, &made, "cat kept");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "kept", said, "a file of the sandbox whose handle was dropped");
}

void life_resume_gone(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = sp_case_format(t, "%s", sp_sandbox_id(&made));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	life_resume(t, sp_case_provider(t), id, false, &again, "a destroyed sandbox");
}

/* A shape with each %s replaced by the id. */
static const char *odd_id(struct sp_case *t, const char *shape, const char *id)
{
	const char *text = "";

	for (const char *at = shape; *at;) {
		bool here = !strncmp(at, "%s", 2);

		text = here ? sp_case_format(t, "%s%s", text, id)
			    : sp_case_format(t, "%s%c", text, *at);
		at += here ? 2 : 1;
	}
	return text;
}

/* Refused or unknown, whichever the provider says; never a handle. */
void life_resume_odd_ids(struct sp_case *t)
{
	static const char *const shapes[] = { "../%s", "x/../%s", "/%s", "./%s", "x/%s",
					      "%s/.",  "%s/../%s", "%s?x=y" };
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = sp_sandbox_id(&made);
	for (size_t i = 0; i < SP_COUNT(shapes); i++) {
		struct sp_sandbox found SP_HANDLE = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;
		const char *odd = odd_id(t, shapes[i], id);
		int rc = sp_provider_resume(sp_case_provider(t), odd, &found, sp_case_cancel(t),
					    &err);

		SP_REQUIRE(SP_CHECK(t, !found.ops, "resume of \"%s\" gives no handle (%d)",
				    odd_id(t, shapes[i], "ID"), rc));
	}
	sp_sh_ok(t, &made, ":");
}

/* The states that the service knows, and what a resume makes of each. */
void life_resume_states(struct sp_case *t)
{
	static const struct {
		const char *state;
		bool found;
	} rows[] = { { "running", true },
		     { "suspended", true },
		     { "errored", false },
		     { "terminated", false } };
	struct sp_control *control = sp_case_control(t);

	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++) {
		struct sp_create_options options = life_options(t);
		struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
		struct sp_sandbox again SP_HANDLE = SP_SANDBOX_INIT;
		struct sp_error err = SP_ERROR_INIT;

		SP_REQUIRE(sp_made_create(t, &options, &made));
		if (control->ops->set_state(control->self, sp_sandbox_id(&made), rows[i].state,
					    &err)) {
			sp_case_error(t, SP_HERE, "set_state %s: %s", rows[i].state, err.message);
			return;
		}
		SP_REQUIRE(life_resume(t, sp_case_provider(t), sp_sandbox_id(&made), rows[i].found,
				       &again, rows[i].state));
		if (rows[i].found)
			sp_sh_ok(t, &again, ":");
	}
}

struct resuming {
	struct sp_case *t;
	const char *id;
	struct sp_sandbox sandbox;
};

static void resuming_done(struct resuming *resuming)
{
	sp_sandbox_done(&resuming->sandbox);
}

static int resume_call(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct resuming *resuming = arg;

	return sp_provider_resume(sp_case_provider(resuming->t), resuming->id, &resuming->sandbox,
				  cancel, &result->err);
}

static bool set_state(struct sp_case *t, const char *id, const char *state)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	if (!control->ops->set_state(control->self, id, state, &err))
		return true;
	sp_case_error(t, SP_HERE, "set_state %s: %s", state, err.message);
	return false;
}

/* Two ways into a state that passes: falling asleep, and waking by a command. */
static bool stand_between(struct sp_case *t, struct sp_sandbox *sandbox, bool waking,
			  struct sp_gate *gate, struct sp_call **ret_waker)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	const char *id = sp_sandbox_id(sandbox);

	options.command = ":";
	if (waking && !set_state(t, id, "suspended"))
		return false;
	if (!sp_gate_shut(t, sandbox, waking ? SP_STEP_RESUME : SP_STEP_SUSPEND, SP_BEFORE, gate))
		return false;
	if (waking)
		*ret_waker = sp_call_exec(t, sandbox, &options);
	else if (!set_state(t, id, "suspended"))
		return false;
	return sp_gate_await(gate);
}

/* From a state that passes into one that stays, while the resume waits. */
static void changes(struct sp_case *t, bool waking, const char *to, bool found)
{
	const char *from = waking ? "resuming" : "suspending";
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox yard SP_MADE = SP_SANDBOX_INIT;
	struct resuming resuming SP_CLEANUP(resuming_done) = { .t = t };
	struct sp_call *waker SP_CALL = NULL;
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(sp_made_create(t, &options, &made) && sp_made_create(t, &options, &yard));
	resuming.id = sp_sandbox_id(&made);
	SP_REQUIRE(stand_between(t, &made, waking, &gate, &waker));
	call = sp_call_start(t, resume_call, &resuming);
	SP_REQUIRE(call != NULL);
	/* The rounds go through another sandbox: a command would wake this one. */
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, &yard, call), "%s: resume waits", from));
	SP_REQUIRE(found || set_state(t, resuming.id, to));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	SP_REQUIRE(result &&
		   SP_CHECK_OK(t, result->rc, &result->err, "%s, then %s: resume", from, to));
	SP_CHECK_STR(t, found ? "a handle" : "gone for good",
		     resuming.sandbox.ops ? "a handle" : "gone for good",
		     "%s, then %s: resume answers", from, to);
	if (found && !sp_case_failed(t))
		sp_sh_ok(t, &resuming.sandbox, ":");
}

void life_resume_changes(struct sp_case *t)
{
	static const struct {
		const char *to;
		bool found;
	} rows[] = { { "up", true }, { "errored", false }, { "terminated", false } };

	for (int waking = 0; waking < 2; waking++)
		for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++)
			changes(t, waking, rows[i].to, rows[i].found);
}

/* From "creating", where control has put it, into a state that stays. */
static void comes_up(struct sp_case *t, const char *to, bool found)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox yard SP_MADE = SP_SANDBOX_INIT;
	struct resuming resuming SP_CLEANUP(resuming_done) = { .t = t };
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;

	SP_REQUIRE(sp_made_create(t, &options, &made) && sp_made_create(t, &options, &yard));
	resuming.id = sp_sandbox_id(&made);
	SP_REQUIRE(set_state(t, resuming.id, "creating"));
	call = sp_call_start(t, resume_call, &resuming);
	SP_REQUIRE(call != NULL);
	SP_REQUIRE(SP_CHECK(t, sp_rounds_pending(t, &yard, call), "creating: resume waits"));
	SP_REQUIRE(set_state(t, resuming.id, to));
	result = sp_call_join(call);
	SP_REQUIRE(result && SP_CHECK_OK(t, result->rc, &result->err,
					 "creating, then %s: resume", to));
	SP_CHECK_STR(t, found ? "a handle" : "gone for good",
		     resuming.sandbox.ops ? "a handle" : "gone for good",
		     "creating, then %s: resume answers", to);
	if (found && !sp_case_failed(t))
		sp_sh_ok(t, &resuming.sandbox, ":");
}

void life_resume_creating(struct sp_case *t)
{
	static const struct {
		const char *to;
		bool found;
	} rows[] = { { "running", true }, { "errored", false }, { "terminated", false } };

	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++)
		comes_up(t, rows[i].to, rows[i].found);
}

void life_resume_transient(struct sp_case *t)
{
	static const struct {
		enum sp_control_how how;
		int status;
		const char *what;
	} rows[] = {
		{ SP_FAIL_STATUS, 500, "status 500" }, { SP_FAIL_STATUS, 503, "status 503" },
		{ SP_FAIL_STATUS, 401, "status 401" }, { SP_FAIL_STATUS, 403, "status 403" },
		{ SP_FAIL_STATUS, 408, "status 408" }, { SP_FAIL_STATUS, 409, "status 409" },
		{ SP_FAIL_STATUS, 429, "status 429" }, { SP_FAIL_STATUS, 502, "status 502" },
		{ SP_FAIL_STATUS, 504, "status 504" }, { SP_FAIL_STATUS, 418, "status 418" },
		{ SP_FAIL_DROP, 0, "no answer" },      { SP_FAIL_EDGE, 0, "the edge's page" },
	};
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++) {
		struct sp_error err = SP_ERROR_INIT;

		if (control->ops->fail(control->self, SP_STEP_GET, 0, rows[i].how, rows[i].status,
				       &err)) {
			sp_case_error(t, SP_HERE, "fail: %s", err.message);
			return;
		}
		life_resume_fails(t, sp_case_provider(t), sp_sandbox_id(&made), rows[i].what);
		control->ops->fail(control->self, SP_STEP_GET, 0, -1, 0, NULL);
	}
}

/* A 404 is no proof: only a list that succeeds without the sandbox is. */
void life_resume_404(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	if (control->ops->fail(control->self, SP_STEP_GET, 0, SP_FAIL_STATUS, 404, &err)) {
		sp_case_error(t, SP_HERE, "fail: %s", err.message);
		return;
	}
	life_resume_fails(t, sp_case_provider(t), sp_sandbox_id(&made),
			  "a 404 for a sandbox that is listed");
	control->ops->fail(control->self, SP_STEP_LIST, 0, SP_FAIL_STATUS, 404, NULL);
	life_resume_fails(t, sp_case_provider(t), sp_sandbox_id(&made),
			  "a 404, and another for the list");
	control->ops->fail(control->self, SP_STEP_LIST, 0, -1, 0, NULL);
	control->ops->fail(control->self, SP_STEP_GET, 0, -1, 0, NULL);
}
