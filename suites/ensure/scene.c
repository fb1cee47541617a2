/* SPDX-License-Identifier: MIT */
#include <suites/ensure/scene.h>

#include <poll.h>

#include <base/clock.h>

/* ---- The bootstrap ---- */

/* Also ends with the case, so that a cancel that never fires is a failure and no hang. */
static int hang(struct sp_case *t, struct sp_cancel *cancel, struct sp_error *err)
{
	struct pollfd fds[] = { { .fd = sp_cancel_fd(cancel), .events = POLLIN },
				{ .fd = sp_cancel_fd(sp_case_cancel(t)), .events = POLLIN } };

	if (!cancel)
		return sp_error_set(err, SP_INTERNAL, "the bootstrap got no cancel");
	while (!sp_cancel_check(cancel, NULL)) {
		if (sp_cancel_check(sp_case_cancel(t), NULL))
			return sp_error_set(err, SP_INTERNAL,
					    "the bootstrap's cancel does not fire");
		(void)poll(fds, SP_COUNT(fds), -1);
	}
	return sp_cancel_check(cancel, err);
}

static int run_in(struct ensure_scene *s, struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = s->bootstrap_runs;
	options.cancel = sp_case_cancel(s->t);
	return sp_sandbox_exec(sandbox, &options, &result, err);
}

static void look_for_record(struct ensure_scene *s)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	bool found = false;

	s->bootstrap_saw_record =
		sp_store_get(&s->stage.subject->store, s->key, &record, &found,
			     sp_case_cancel(s->t), NULL) == 0 &&
		found;
}

static int bootstrap(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct ensure_scene *s = arg;
	int rc = stage_enter(&s->stage, STAGE_BOOTSTRAP, err);

	s->bootstrap_in = sp_case_format(s->t, "%s", sp_sandbox_id(sandbox));
	s->bootstrap_saw_shots = stage_calls(&s->stage, STAGE_SNAPSHOT);
	look_for_record(s);
	sp_cancel_abort(s->bootstrap_aborts, "the case aborts");
	if (!rc && s->bootstrap_runs)
		rc = run_in(s, sandbox, err);
	if (!rc && s->bootstrap_hangs)
		rc = hang(s->t, cancel, err);
	if (!rc && s->bootstrap_code)
		rc = sp_error_set(err, (enum sp_code)s->bootstrap_code,
				  "the bootstrap's own words");
	return rc;
}

/* ---- The scene ---- */

bool ensure_scene_key(struct ensure_scene *s)
{
	struct sp_subject *subject = s->stage.subject;
	struct sp_error err = SP_ERROR_INIT;
	int rc = subject->ensure.ops->key(subject->ensure.self, &s->options, s->key, &err);

	return SP_CHECK_OK(s->t, rc, &err, "the key of the case's thread");
}

static bool open_on(struct sp_case *t, struct sp_subject *subject, const char *thread,
		    struct ensure_scene *s)
{
	s->t = t;
	if (!stage_open(t, subject, &s->stage))
		return false;
	s->options = (struct sp_ensure_options)SP_ENSURE_OPTIONS_INIT;
	s->options.provider = &s->stage.provider;
	s->options.store = &s->stage.store;
	s->options.lock = &s->stage.lock;
	s->options.thread_id = thread;
	s->options.sandbox_id = "repo";
	s->options.run_id = "run-1";
	s->options.bootstrap = bootstrap;
	s->options.bootstrap_arg = s;
	s->options.cancel = sp_case_cancel(t);
	return ensure_scene_key(s);
}

bool ensure_scene_open(struct sp_case *t, struct ensure_scene *s)
{
	return open_on(t, sp_case_subject(t), sp_case_format(t, "thread-%s", sp_case_unique(t)), s);
}

bool ensure_scene_second(struct ensure_scene *s, const struct ensure_scene *like)
{
	struct sp_subject *second = sp_case_second(like->t);

	return second && open_on(like->t, second, like->options.thread_id, s);
}

bool ensure_scene_beside(struct ensure_scene *s, const struct ensure_scene *like)
{
	return open_on(like->t, like->stage.subject, like->options.thread_id, s);
}

void ensure_scene_close(struct ensure_scene *s)
{
	/* A store that the user named is left as it was found. */
	if (s->stage.t && s->key[0])
		(void)sp_store_del(&s->stage.subject->store, s->key, sp_case_cancel(s->t), NULL);
	stage_close(&s->stage);
}

/* ---- Calls ---- */

void ensure_run(struct ensure_scene *s, struct ensure_got *got)
{
	struct sp_ensure *ensure = &s->stage.subject->ensure;

	ensure_got_done(got);
	got->rc = ensure->ops->ensure(ensure->self, &s->options, &got->sandbox, &got->outcome,
				      &got->err);
	sp_case_note(s->t, "ensure %s -> %s %s", s->key,
		     got->rc ? sp_code_name(got->rc) : sp_sandbox_id(&got->sandbox),
		     got->rc ? got->err.message : "");
}

static const char *outcome_name(enum sp_ensure_outcome outcome)
{
	switch (outcome) {
	case SP_ENSURE_CREATED:
		return "created";
	case SP_ENSURE_RESUMED:
		return "resumed";
	case SP_ENSURE_RESTORED:
		return "restored";
	}
	return "something else";
}

bool ensure_works(struct ensure_scene *s, enum sp_ensure_outcome outcome, struct ensure_got *got)
{
	ensure_run(s, got);
	return SP_CHECK_OK(s->t, got->rc, &got->err, "ensure") &&
	       SP_CHECK(s->t, got->sandbox.ops, "ensure gives a handle") &&
	       SP_CHECK_STR(s->t, outcome_name(outcome), outcome_name(got->outcome),
			    "how the sandbox was come by");
}

bool ensure_refuses(struct ensure_scene *s, int code, struct ensure_got *got)
{
	ensure_run(s, got);
	return SP_CHECK_CODE(s->t, code, got->rc, &got->err, "ensure") &&
	       SP_CHECK(s->t, !got->sandbox.ops, "a failed ensure gives no handle") &&
	       SP_CHECK(s->t, got->err.message[0], "the refusal says why");
}

static int on_thread(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct ensure_call *call = arg;

	/* The scene's own cancel is what the case is about. */
	(void)cancel;
	ensure_run(call->scene, &call->got);
	result->rc = call->got.rc;
	return call->got.rc;
}

bool ensure_call_start(struct ensure_scene *s, struct ensure_call *call)
{
	call->scene = s;
	call->call = sp_call_start(s->t, on_thread, call);
	return call->call != NULL;
}

bool ensure_call_join(struct ensure_call *call)
{
	return sp_call_join(call->call) != NULL;
}

void ensure_call_done(struct ensure_call *call)
{
	sp_call_done(&call->call);
	ensure_got_done(&call->got);
}

void ensure_got_done(struct ensure_got *got)
{
	sp_sandbox_done(&got->sandbox);
	*got = (struct ensure_got)ENSURE_GOT_INIT;
}

/* ---- Records ---- */

static bool read_record(struct ensure_scene *s, struct sp_record *record, bool *found)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_get(&s->stage.subject->store, s->key, record, found,
			      sp_case_cancel(s->t), &err);

	return SP_CHECK_OK(s->t, rc, &err, "a look at the record of %s", s->key);
}

bool ensure_record(struct ensure_scene *s, struct sp_record *record)
{
	bool found = false;

	sp_record_done(record);
	return read_record(s, record, &found) &&
	       SP_CHECK(s->t, found, "the key %s has a record", s->key);
}

bool ensure_no_record(struct ensure_scene *s)
{
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	bool found = false;

	return read_record(s, &record, &found) &&
	       SP_CHECK(s->t, !found, "the key %s has no record", s->key);
}

bool ensure_same_record(struct ensure_scene *s, const struct sp_record *expected,
			const struct sp_record *actual)
{
	struct sp_case *t = s->t;

	return SP_CHECK_STR(t, expected->key, actual->key, "key of the record") &&
	       SP_CHECK_STR(t, expected->provider, actual->provider, "provider of the record") &&
	       SP_CHECK_STR(t, expected->provider_sandbox_id, actual->provider_sandbox_id,
			    "sandbox of the record") &&
	       SP_CHECK_STR(t, expected->latest_snapshot_id, actual->latest_snapshot_id,
			    "snapshot of the record") &&
	       SP_CHECK_STR(t, expected->thread_id, actual->thread_id, "thread of the record") &&
	       SP_CHECK_STR(t, expected->latest_run_id, actual->latest_run_id,
			    "run of the record") &&
	       SP_CHECK_INT(t, expected->updated_at, actual->updated_at,
			    "updated_at of the record");
}

bool ensure_seed(struct ensure_scene *s, const char *sandbox_id, const char *snapshot,
		 int64_t age_ms)
{
	struct sp_record record = {
		.key = s->key,
		.provider = (char *)sp_provider_name(&s->stage.provider),
		.provider_sandbox_id = (char *)sandbox_id,
		.latest_snapshot_id = (char *)snapshot,
		.thread_id = (char *)s->options.thread_id,
		.latest_run_id = (char *)"run-0",
		.updated_at = sp_wall_ms() - age_ms,
	};
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_store_upsert(&s->stage.subject->store, &record, NULL, sp_case_cancel(s->t),
				 &err);

	return SP_CHECK_OK(s->t, rc, &err, "a record written behind ensure's back");
}

/* ---- Sandboxes ---- */

const char *ensure_other_sandbox(struct ensure_scene *s)
{
	struct sp_sandbox made SP_CLEANUP(sp_sandbox_done) = SP_SANDBOX_INIT;
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.id = sp_case_unique(s->t);
	options.cancel = sp_case_cancel(s->t);
	rc = sp_provider_create(&s->stage.subject->provider, &options, &made, &err);
	if (!SP_CHECK_OK(s->t, rc, &err, "a sandbox made behind ensure's back"))
		return NULL;
	return sp_case_format(s->t, "%s", sp_sandbox_id(&made));
}

bool ensure_lose_sandbox(struct ensure_scene *s, const char *id)
{
	struct sp_error err = SP_ERROR_INIT;
	int rc = sp_provider_destroy(&s->stage.subject->provider, id, sp_case_cancel(s->t), &err);

	return SP_CHECK_OK(s->t, rc, &err, "a sandbox removed behind ensure's back") &&
	       SP_CHECK_INT(s->t, 0, stage_alive(&s->stage, id), "the removed sandbox");
}

bool ensure_live(struct ensure_scene *s, int live)
{
	return SP_CHECK_INT(s->t, live, stage_live(&s->stage), "sandboxes that live, of %u made",
			    s->stage.n_made);
}

struct sp_cancel *ensure_cancel(struct sp_case *t)
{
	struct sp_cancel *cancel = sp_cancel_new();

	if (!cancel)
		sp_case_error(t, SP_HERE, "no memory for a cancel");
	return cancel;
}

void ensure_cancel_done(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}
