/* SPDX-License-Identifier: MIT */
/* Removing: all of it, once and again, and never a failure that looks like success. */
#include <string.h>

#include <witness/call.h>
#include <witness/gate.h>
#include <witness/rounds.h>
#include <witness/shell.h>

#include "cases.h"
#include "made.h"

static const char *copy_id(struct sp_case *t, struct sp_sandbox *sandbox)
{
	return sp_case_format(t, "%s", sp_sandbox_id(sandbox));
}

void life_destroy_again(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_provider *provider = sp_case_provider(t);
	struct sp_subject *second;
	struct sp_error err = SP_ERROR_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = copy_id(t, &made);
	for (int i = 0; i < 2; i++)
		SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
				       "destroy for the %d. time", i + 1));
	for (int i = 0; i < 2; i++)
		SP_REQUIRE(SP_CHECK_OK(t,
				       sp_provider_destroy(provider, id, sp_case_cancel(t), &err),
				       &err, "destroy by id of what is gone"));
	second = sp_case_second(t);
	SP_REQUIRE(second != NULL);
	SP_CHECK_OK(t, sp_provider_destroy(&second->provider, id, sp_case_cancel(t), &err), &err,
		    "destroy by id through another instance");
}

/* The id of one that was, but for its last character. */
static const char *unknown_id(struct sp_case *t, const char *id)
{
	size_t len = strlen(id);

	return sp_case_format(t, "%.*s%c", (int)(len - 1), id, id[len - 1] == '0' ? '1' : '0');
}

void life_destroy_unknown(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_provider_destroy(sp_case_provider(t),
						   unknown_id(t, sp_sandbox_id(&made)),
						   sp_case_cancel(t), &err),
			       &err, "destroy by an id that never was"));
	sp_sh_ok(t, &made, ":");
}

struct by_id {
	struct sp_provider *provider;
	const char *id;
};

static int destroy_call(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct by_id *by_id = arg;

	return sp_provider_destroy(by_id->provider, by_id->id, cancel, &result->err);
}

/* Both stand at the service's door before either is let in. */
void life_destroy_at_once(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox yard SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_MADE = SP_SANDBOX_INIT;
	struct by_id by_id = { sp_case_provider(t), NULL };
	struct sp_call *one SP_CALL = NULL;
	struct sp_call *two SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(sp_made_create(t, &options, &made) && sp_made_create(t, &options, &yard));
	by_id.id = copy_id(t, &made);
	SP_REQUIRE(sp_gate_shut(t, &made, SP_STEP_TERMINATE, SP_BEFORE, &gate));
	one = sp_call_destroy(t, &made);
	SP_REQUIRE(one && sp_gate_await(&gate));
	two = sp_call_start(t, destroy_call, &by_id);
	SP_REQUIRE(two && (sp_rounds_done(t, &yard, two) || sp_rounds(t, &yard)));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(one);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "destroy by handle"));
	result = sp_call_join(two);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "destroy by id, meanwhile"));
	life_resume(t, sp_case_provider(t), by_id.id, false, &again, "after both");
}

void life_destroy_by_id(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox again SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *id;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	id = copy_id(t, &made);
	SP_REQUIRE(
		SP_CHECK_OK(t,
			    sp_provider_destroy(sp_case_provider(t), id, sp_case_cancel(t), &err),
			    &err, "destroy by id"));
	life_resume(t, sp_case_provider(t), id, false, &again, "after destroy by id");
}

void life_destroy_others(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox one SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox two SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *said;

	SP_REQUIRE(sp_made_create(t, &options, &one) && sp_made_create(t, &options, &two));
	SP_REQUIRE(sp_sh_ok(t, &two, "echo kept >kept"));
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_provider_destroy(sp_case_provider(t), sp_sandbox_id(&one),
						   sp_case_cancel(t), &err),
			       &err, "destroy by id"));
	said = sp_sh_out(t, &two, "cat kept");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "kept", said, "the neighbour's file");
}

void life_destroy_processes(struct sp_case *t)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	long long before = life_census(t);

	SP_REQUIRE(before >= 0 && sp_made_create(t, &options, &made));
	SP_REQUIRE(sp_sh_ok(t, &made, "setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' "
				      ">/dev/null 2>&1 &"));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	if (control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, SP_HERE, "census: %s", err.message);
		return;
	}
	SP_CHECK_INT(t, before, (long long)census.n_sandboxes,
		     "sandboxes that the back end still has");
}

void life_destroy_refused(struct sp_case *t)
{
	static const struct {
		enum sp_control_how how;
		int status;
		const char *what;
	} rows[] = {
		{ SP_FAIL_STATUS, 401, "status 401" }, { SP_FAIL_STATUS, 403, "status 403" },
		{ SP_FAIL_STATUS, 500, "status 500" }, { SP_FAIL_DROP, 0, "no answer" },
		{ SP_FAIL_STATUS, 404, "a 404 for a sandbox that is listed" },
	};
	struct sp_control *control = sp_case_control(t);
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	for (size_t i = 0; i < SP_COUNT(rows) && !sp_case_failed(t); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		if (control->ops->fail(control->self, SP_STEP_TERMINATE, 0, rows[i].how,
				       rows[i].status, &err)) {
			sp_case_error(t, SP_HERE, "fail: %s", err.message);
			return;
		}
		rc = sp_sandbox_destroy(&made, sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0, "%s: destroy is an error, not \"already gone\"", rows[i].what);
		rc = sp_provider_destroy(sp_case_provider(t), sp_sandbox_id(&made),
					 sp_case_cancel(t), &err);
		SP_CHECK(t, rc < 0, "%s: destroy by id is an error", rows[i].what);
		control->ops->fail(control->self, SP_STEP_TERMINATE, 0, -1, 0, NULL);
	}
	/* What could not be removed is as usable as before. */
	sp_sh_ok(t, &made, ":");
}

/* ---- Calls on what was destroyed ---- */

static int try_exec(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = ":";
	options.cancel = cancel;
	return sp_sandbox_exec(sandbox, &options, &result, err);
}

static int try_spawn(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_process process = SP_PROCESS_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	int rc;

	options.command = ":";
	options.cancel = cancel;
	rc = sp_sandbox_spawn(sandbox, &options, &process, err);
	sp_process_done(&process);
	return rc;
}

static int try_read(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	return sp_sandbox_read(sandbox, "file", &bytes, cancel, err);
}

static int try_write(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_sandbox_write(sandbox, "file", "x", 1, cancel, err);
}

static int try_list(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_dir_list list SP_CLEANUP(sp_dir_list_done) = SP_DIR_LIST_INIT;

	return sp_sandbox_list(sandbox, "/workspace", &list, cancel, err);
}

static int try_mkdir(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_sandbox_mkdir(sandbox, "folder", cancel, err);
}

static int try_remove(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_sandbox_remove(sandbox, "file", cancel, err);
}

static int try_rename(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	return sp_sandbox_rename(sandbox, "file", "other", cancel, err);
}

static int try_exists(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	bool exists = false;

	return sp_sandbox_exists(sandbox, "/workspace", &exists, cancel, err);
}

static int try_lstat(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_stat stat;

	return sp_sandbox_lstat(sandbox, "/workspace", &stat, cancel, err);
}

static int try_env(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	const struct sp_env var = { "SP_GONE", "1" };

	return sp_sandbox_env_set(sandbox, &var, 1, cancel, err);
}

static int try_snapshot(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;

	return sp_sandbox_snapshot(sandbox, "gone", &ref, cancel, err);
}

static int try_fork(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_sandbox copy SP_MADE = SP_SANDBOX_INIT;

	return sp_sandbox_fork(sandbox, &copy, cancel, err);
}

static int try_port(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_port port SP_CLEANUP(sp_port_done) = SP_PORT_INIT;

	return sp_sandbox_port_connect(sandbox, 8080, &port, cancel, err);
}

static int try_git(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_git_options options = SP_GIT_OPTIONS_INIT;

	options.verb = "status";
	options.cancel = cancel;
	return sp_sandbox_git(sandbox, &options, &result, err);
}

static const struct {
	const char *name;
	int (*call)(struct sp_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err);
} calls[] = {
	{ "exec", try_exec },	{ "spawn", try_spawn },	  { "read", try_read },
	{ "write", try_write },	{ "list", try_list },	  { "mkdir", try_mkdir },
	{ "remove", try_remove }, { "rename", try_rename }, { "exists", try_exists },
	{ "lstat", try_lstat },	{ "env_set", try_env },	  { "snapshot", try_snapshot },
	{ "fork", try_fork },	{ "port_connect", try_port }, { "git", try_git },
};

/* What the provider does not have at all it may refuse as ever. */
static void all_gone(struct sp_case *t, struct sp_sandbox *sandbox, const char *whose)
{
	for (size_t i = 0; i < SP_COUNT(calls); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = calls[i].call(sandbox, sp_case_cancel(t), &err);

		if (rc != SP_UNSUPPORTED)
			SP_CHECK_CODE(t, SP_GONE, rc, &err, "%s through %s", calls[i].name, whose);
	}
}

void life_destroy_then_use(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_subject *second;
	struct sp_error err = SP_ERROR_INIT;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	second = sp_case_second(t);
	SP_REQUIRE(second && life_resume(t, &second->provider, sp_sandbox_id(&made), true, &other,
					 "another instance"));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(&made, sp_case_cancel(t), &err), &err,
			       "destroy"));
	all_gone(t, &made, "the handle that destroyed it");
	all_gone(t, &other, "another handle");
}
