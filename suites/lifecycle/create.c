/* SPDX-License-Identifier: MIT */
/* Creating: what comes is usable and one's own; what fails leaves nothing. */
#include <string.h>

#include <witness/gate.h>
#include <witness/rounds.h>
#include <witness/shell.h>

#include "cases.h"
#include "made.h"

void life_create_ready(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox sandbox SP_MADE = SP_SANDBOX_INIT;
	const char *root, *said;

	SP_REQUIRE(sp_made_create(t, &options, &sandbox));
	SP_CHECK(t, sp_sandbox_id(&sandbox) && *sp_sandbox_id(&sandbox), "a sandbox has an id");
	root = sp_sandbox_workspace_root(&sandbox);
	SP_REQUIRE(SP_CHECK(t, root && *root == '/', "the workspace root is an absolute path"));
	said = sp_sh_out(t, &sandbox, "[ -d '%s' ] && [ -w '%s' ] && pwd", root, root);
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, root, said, "where the first command finds itself, and may write");
}

void life_create_independent(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox one SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox two SP_MADE = SP_SANDBOX_INIT;
	const char *name = sp_case_unique(t), *said;

	SP_REQUIRE(sp_made_create(t, &options, &one) && sp_made_create(t, &options, &two));
	SP_REQUIRE(SP_CHECK(t, strcmp(sp_sandbox_id(&one), sp_sandbox_id(&two)) != 0,
			    "two sandboxes have two ids, not %s twice", sp_sandbox_id(&one)));
	SP_REQUIRE(sp_sh_ok(t, &one, "echo one >%s", name) &&
		   sp_sh_ok(t, &two, "echo two >%s", name));
	said = sp_sh_out(t, &one, "cat %s", name);
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "one", said, "the first one's file, after the second wrote its own");
}

void life_create_env(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox sandbox SP_MADE = SP_SANDBOX_INIT;
	struct sp_env env[] = { { "SP_FROM_CREATE", sp_case_unique(t) }, { "SP_EMPTY", "" } };
	const char *said;

	options.env = env;
	options.n_env = SP_COUNT(env);
	SP_REQUIRE(sp_made_create(t, &options, &sandbox));
	said = sp_sh_out(t, &sandbox, "echo \"${SP_FROM_CREATE-unset}/${SP_EMPTY-unset}\"");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, sp_case_format(t, "%s/", env[0].value), said,
		     "the variables given to create, in the first command");
}

void life_create_aborted(struct sp_case *t)
{
	struct sp_cancel *cancel LIFE_CANCEL = sp_cancel_new();
	struct sp_create_options options = life_options(t);
	struct sp_error err = SP_ERROR_INIT;
	long long before = life_census(t);

	SP_REQUIRE(before >= 0 && cancel);
	sp_cancel_abort(cancel, "changed my mind");
	options.cancel = cancel;
	SP_REQUIRE(SP_CHECK_CODE(t, SP_ABORTED, life_refused(t, &options, "aborted before", &err),
				 &err, "create with a cancel that has fired"));
	SP_CHECK(t, strstr(err.message, "changed my mind") != NULL,
		 "the error tells the abort's reason, but says \"%s\"", err.message);
	SP_CHECK_INT(t, before, life_census(t), "sandboxes afterwards");
}

struct creating {
	struct sp_case *t;
	struct sp_create_options options;
	struct sp_sandbox sandbox;
};

static int create_call(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct creating *creating = arg;

	creating->options.cancel = cancel;
	return sp_provider_create(sp_case_provider(creating->t), &creating->options,
				  &creating->sandbox, &result->err);
}

static void creating_done(struct creating *creating)
{
	sp_made_end(&creating->sandbox);
}

/* The abort comes while the back end stands at `step`: what was made is removed. */
static void aborted_at(struct sp_case *t, enum sp_control_step step, enum sp_control_when when)
{
	static const struct sp_env env[] = { { "SP_ONE", "1" } };
	const char *where = sp_case_format(t, "%s %s", when == SP_BEFORE ? "before" : "after",
					   sp_control_step_name(step));
	struct creating creating SP_CLEANUP(creating_done) = { t, life_options(t),
							       SP_SANDBOX_INIT };
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	long long before = life_census(t);

	creating.options.env = env;
	creating.options.n_env = SP_COUNT(env);
	SP_REQUIRE(before >= 0);
	sp_case_own_sandbox(t, NULL);
	SP_REQUIRE(sp_gate_shut_any(t, step, when, &gate));
	call = sp_call_start(t, create_call, &creating);
	SP_REQUIRE(call && sp_gate_await(&gate));
	sp_call_abort(call, "changed my mind");
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(call);
	SP_REQUIRE(result &&
		   SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err,
				 "create that was aborted %s", where) &&
		   SP_CHECK(t, strstr(result->err.message, "changed my mind") != NULL,
			    "aborted %s, the error tells the reason, but says \"%s\"", where,
			    result->err.message));
	SP_CHECK_INT(t, before, life_census(t), "sandboxes after an abort %s", where);
}

void life_create_aborted_during(struct sp_case *t)
{
	static const struct {
		enum sp_control_step step;
		enum sp_control_when when;
	} rows[] = {
		{ SP_STEP_CREATE, SP_BEFORE },	    { SP_STEP_CREATE, SP_AFTER },
		{ SP_STEP_GET, SP_BEFORE },	    { SP_STEP_GET, SP_AFTER },
		{ SP_STEP_MINT_RUN, SP_BEFORE },    { SP_STEP_MINT_RUN, SP_AFTER },
		{ SP_STEP_RUN, SP_BEFORE },	    { SP_STEP_RUN, SP_AFTER },
		{ SP_STEP_EXIT, SP_BEFORE },	    { SP_STEP_MINT_UPLOAD, SP_BEFORE },
		{ SP_STEP_MINT_UPLOAD, SP_AFTER },  { SP_STEP_UPLOAD, SP_BEFORE },
		{ SP_STEP_UPLOAD, SP_AFTER },
	};

	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++)
		aborted_at(t, rows[i].step, rows[i].when);
}

/* Each request of a create fails in turn; the first error is the answer, and nothing is left. */
void life_create_fails_part_way(struct sp_case *t)
{
	static const struct {
		enum sp_control_step step;
		enum sp_control_how how;
		int status, code;
		const char *what;
	} rows[] = {
		{ SP_STEP_CREATE, SP_FAIL_STATUS, 500, SP_UNAVAILABLE, "the service refuses" },
		{ SP_STEP_CREATE, SP_FAIL_STATUS, 402, SP_DENIED, "the bill is not paid" },
		{ SP_STEP_GET, SP_FAIL_STATUS, 401, SP_DENIED, "the key is refused at the look" },
		{ SP_STEP_MINT_RUN, SP_FAIL_STATUS, 403, SP_DENIED, "no command is allowed" },
		{ SP_STEP_MINT_UPLOAD, SP_FAIL_STATUS, 403, SP_DENIED, "no file is allowed" },
		{ SP_STEP_UPLOAD, SP_FAIL_STATUS, 500, SP_UNAVAILABLE, "the file is refused" },
		{ SP_STEP_UPLOAD, SP_FAIL_DISK_FULL, 507, SP_IO, "the file finds no room" },
	};
	struct sp_control *control = sp_case_control(t);
	struct sp_env env[] = { { "SP_ONE", "1" } };
	struct sp_create_options options = life_options(t);
	long long before = life_census(t);

	options.env = env;
	options.n_env = SP_COUNT(env);
	SP_REQUIRE(before >= 0);
	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		if (control->ops->fail(control->self, rows[i].step, 1, rows[i].how, rows[i].status,
				       &err)) {
			sp_case_error(t, SP_HERE, "fail: %s", err.message);
			return;
		}
		rc = life_refused(t, &options, rows[i].what, &err);
		SP_CHECK_CODE(t, rows[i].code, rc, &err, "%s: create", rows[i].what);
		SP_CHECK_INT(t, before, life_census(t), "%s: sandboxes left", rows[i].what);
		control->ops->fail(control->self, rows[i].step, 0, -1, 0, NULL);
	}
}

void life_create_lost_answer(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_id_list old SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_id_list now SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_provider *provider = sp_case_provider(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(SP_CHECK_OK(t, sp_provider_list(provider, &old, sp_case_cancel(t), &err), &err,
			       "list"));
	if (control->ops->fail(control->self, SP_STEP_CREATE, 1, SP_FAIL_LOST_ANSWER, 0, &err)) {
		sp_case_error(t, SP_HERE, "fail: %s", err.message);
		return;
	}
	rc = life_refused(t, &options, "no answer came", &err);
	SP_CHECK_CODE(t, SP_UNKNOWN_OUTCOME, rc, &err, "create whose answer was lost");
	/*
	 * One and only one was made, and the case ends it: a repeated request would have made two.
	 */
	SP_REQUIRE(SP_CHECK_OK(t, sp_provider_list(provider, &now, sp_case_cancel(t), &err), &err,
			       "list"));
	SP_CHECK_INT(t, (long long)old.len + 1, (long long)now.len, "sandboxes after one create");
	for (size_t i = 0; i < now.len; i++) {
		bool known = false;

		for (size_t j = 0; j < old.len; j++)
			known = known || !strcmp(old.ids[j], now.ids[i]);
		if (!known)
			sp_provider_destroy(provider, now.ids[i], NULL, NULL);
	}
}
