/* SPDX-License-Identifier: MIT */
/* Each path of ensure, and a failure at each of its steps, in a scripted world. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdatomic.h>

#include "test_script.h"

#define THREAD "thread-1"
#define KEY "1f0902d6b7ad29f7"
#define NOW INT64_C(1700000000000)
#define HOUR INT64_C(3600000)

static int64_t fixed_now(void *arg)
{
	(void)arg;
	return NOW;
}

/* What the bootstrap of a test does. */
struct setup {
	struct script *script;
	int code;
	/* Aborted, or lost, in the middle of it. */
	struct sp_cancel *abort;
	int calls;
};

static int bootstrap(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
		     struct sp_error *err)
{
	struct setup *setup = arg;

	(void)sandbox, (void)cancel;
	(void)script_call(setup->script, "bootstrap", false, NULL);
	setup->calls++;
	sp_cancel_abort(setup->abort, "scripted abort");
	return setup->code < 0
		       ? (int)sp_error_set(err, (enum sp_code)setup->code, "scripted: bootstrap")
		       : setup->code;
}

struct world {
	struct script script;
	struct setup setup;
	struct sp_ensure ensure;
	struct sp_ensure_options options;
	struct sp_sandbox sandbox;
	enum sp_ensure_outcome outcome;
	struct sp_error err;
};

static void quiet(void *arg, const char *text)
{
	(void)text;
	if (arg)
		++*(int *)arg;
}

static void world_init(struct world *w)
{
	struct sp_ensure_settings settings = SP_ENSURE_SETTINGS_INIT;

	*w = (struct world){ .options = SP_ENSURE_OPTIONS_INIT };
	script_init(&w->script);
	w->setup.script = &w->script;
	settings.now_ms = fixed_now;
	settings.warn = quiet;
	cr_assert_eq(sp_ensure_open(&settings, &w->ensure, NULL), 0);
	w->options.provider = &w->script.provider;
	w->options.store = &w->script.store;
	w->options.lock = &w->script.lock;
	w->options.thread_id = THREAD;
	w->options.sandbox_id = "repo";
	w->options.run_id = "run-2";
	w->options.bootstrap = bootstrap;
	w->options.bootstrap_arg = &w->setup;
}

static void world_done(struct world *w)
{
	sp_sandbox_done(&w->sandbox);
	w->ensure.ops->close(w->ensure.self);
	script_done(&w->script);
}

static int run_ensure(struct world *w)
{
	sp_buf_clear(&w->script.log);
	return w->ensure.ops->ensure(w->ensure.self, &w->options, &w->sandbox, &w->outcome,
				     &w->err);
}

/* A record of sandbox 0, which lives or not, with snapshot 0 or none. */
static void seed(struct world *w, bool alive, bool snapshot, int64_t age)
{
	struct sp_record record = {
		.key = (char *)KEY,
		.provider = (char *)"render",
		.provider_sandbox_id = (char *)"sb-0",
		.latest_snapshot_id = snapshot ? (char *)"sn-0" : NULL,
		.thread_id = (char *)THREAD,
		.latest_run_id = (char *)"run-1",
		.updated_at = NOW - age,
	};

	w->script.n_sandboxes = 1;
	w->script.sandboxes[0] = alive;
	w->script.n_snapshots = 1;
	w->script.snapshots[0] = snapshot;
	script_put(&w->script, &record);
}

enum before { NOTHING, LIVE, GONE, GONE_SNAPSHOT, OLD, OLD_SNAPSHOT };

static void prepare(struct world *w, enum before before)
{
	switch (before) {
	case NOTHING:
		break;
	case LIVE:
		seed(w, true, false, 0);
		break;
	case GONE:
		seed(w, false, false, 0);
		break;
	case GONE_SNAPSHOT:
		seed(w, false, true, 0);
		break;
	case OLD:
		seed(w, true, false, 2 * HOUR);
		break;
	case OLD_SNAPSHOT:
		seed(w, true, true, 2 * HOUR);
		break;
	}
}

/*
 * A row: what was there, the call that fails (a "!" behind it: after its work) and how, then what
 * has to come of it. A record that is not there is "".
 */
static const struct {
	const char *what;
	enum before before;
	const char *fail;
	int code, rc;
	enum sp_ensure_outcome outcome;
	const char *log;
	int live, kept;
	const char *record_sandbox, *record_snapshot, *record_run;
} rows[] = {
	{ "create", NOTHING, NULL, 0, 0, SP_ENSURE_CREATED,
	  "acquire get create bootstrap snapshot upsert release", 1, 1, "sb-0", "sn-0", "run-2" },
	{ "resume", LIVE, NULL, 0, 0, SP_ENSURE_RESUMED,
	  "acquire get resume env_set upsert release", 1, 0, "sb-0", "", "run-2" },
	{ "restore", GONE_SNAPSHOT, NULL, 0, 0, SP_ENSURE_RESTORED,
	  "acquire get resume restore env_set upsert release", 1, 1, "sb-1", "sn-0", "run-2" },
	{ "re-create", GONE, NULL, 0, 0, SP_ENSURE_CREATED,
	  "acquire get resume create bootstrap snapshot upsert release", 1, 1, "sb-1", "sn-1",
	  "run-2" },
	{ "too old", OLD, NULL, 0, 0, SP_ENSURE_CREATED,
	  "acquire get destroy create bootstrap snapshot upsert release", 1, 1, "sb-1", "sn-1",
	  "run-2" },
	{ "too old, with a snapshot", OLD_SNAPSHOT, NULL, 0, 0, SP_ENSURE_CREATED,
	  "acquire get destroy snapshot_delete create bootstrap snapshot upsert release", 1, 1,
	  "sb-1", "sn-1", "run-2" },

	{ "the lock fails", LIVE, "acquire", SP_UNAVAILABLE, SP_UNAVAILABLE, 0, "acquire", 1, 0,
	  "sb-0", "", "run-1" },
	{ "the look-up fails", LIVE, "get", SP_IO, SP_IO, 0, "acquire get release", 1, 0, "sb-0",
	  "", "run-1" },
	{ "resume is unavailable", LIVE, "resume", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get resume release", 1, 0, "sb-0", "", "run-1" },
	{ "resume is denied", LIVE, "resume", SP_DENIED, SP_DENIED, 0, "acquire get resume release",
	  1, 0, "sb-0", "", "run-1" },
	{ "resume is told that the sandbox is not found", LIVE, "resume", SP_NOT_FOUND,
	  SP_NOT_FOUND, 0, "acquire get resume release", 1, 0, "sb-0", "", "run-1" },
	{ "env_set after resume fails", LIVE, "env_set", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get resume env_set release", 1, 0, "sb-0", "", "run-1" },
	{ "upsert after resume fails", LIVE, "upsert", SP_IO, SP_IO, 0,
	  "acquire get resume env_set upsert release", 1, 0, "sb-0", "", "run-1" },
	{ "restore fails", GONE_SNAPSHOT, "restore", SP_RATE_LIMITED, SP_RATE_LIMITED, 0,
	  "acquire get resume restore release", 0, 1, "sb-0", "sn-0", "run-1" },
	{ "the snapshot is gone as well", GONE_SNAPSHOT, "restore", SP_GONE, 0, SP_ENSURE_CREATED,
	  "acquire get resume restore create bootstrap snapshot upsert release", 1, 2, "sb-1",
	  "sn-1", "run-2" },
	{ "env_set after restore fails", GONE_SNAPSHOT, "env_set", SP_IO, SP_IO, 0,
	  "acquire get resume restore env_set destroy release", 0, 1, "sb-0", "sn-0", "run-1" },
	{ "upsert after restore fails", GONE_SNAPSHOT, "upsert", SP_IO, SP_IO, 0,
	  "acquire get resume restore env_set upsert destroy release", 0, 1, "sb-0", "sn-0",
	  "run-1" },
	{ "create fails", NOTHING, "create", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get create release", 0, 0, "", "", "" },
	{ "snapshot fails", NOTHING, "snapshot", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get create bootstrap snapshot destroy release", 0, 0, "", "", "" },
	{ "upsert after create fails", NOTHING, "upsert", SP_IO, SP_IO, 0,
	  "acquire get create bootstrap snapshot upsert destroy snapshot_delete release", 0, 0, "",
	  "", "" },
	{ "the answer of upsert is lost", NOTHING, "upsert!", SP_UNKNOWN_OUTCOME,
	  SP_UNKNOWN_OUTCOME, 0,
	  "acquire get create bootstrap snapshot upsert destroy snapshot_delete release", 0, 0,
	  "sb-0", "sn-0", "run-2" },
	{ "a newer holder has written", NOTHING, "upsert", SP_CONFLICT, SP_CONFLICT, 0,
	  "acquire get create bootstrap snapshot upsert destroy snapshot_delete release", 0, 0, "",
	  "", "" },
	{ "the old sandbox cannot be destroyed", OLD, "destroy", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get destroy release", 1, 0, "sb-0", "", "run-1" },
	{ "the old snapshot cannot be deleted", OLD_SNAPSHOT, "snapshot_delete", SP_DENIED,
	  SP_DENIED, 0, "acquire get destroy snapshot_delete release", 0, 1, "sb-0", "sn-0",
	  "run-1" },
	{ "create after the old one fails", OLD, "create", SP_UNAVAILABLE, SP_UNAVAILABLE, 0,
	  "acquire get destroy create release", 0, 0, "sb-0", "", "run-1" },
};

static const char *text(const char *t)
{
	return t ? t : "";
}

static void expect_record(struct world *w, const char *what, const char *sandbox,
			  const char *snapshot, const char *run)
{
	struct sp_record *record = script_find(&w->script, KEY);

	cr_expect_str_eq(record ? record->provider_sandbox_id : "", sandbox,
			 "%s: the record's sandbox", what);
	cr_expect_str_eq(record ? text(record->latest_snapshot_id) : "", snapshot,
			 "%s: the record's snapshot is %s", what,
			 record ? text(record->latest_snapshot_id) : "");
	cr_expect_str_eq(record ? text(record->latest_run_id) : "", run, "%s: the record's run",
			 what);
	if (record && !strcmp(run, "run-2")) {
		cr_expect_str_eq(record->thread_id, THREAD, "%s", what);
		cr_expect_str_eq(record->provider, "render", "%s", what);
		cr_expect_eq(record->updated_at, NOW, "%s", what);
	}
}

Test(ensure, every_path_and_a_failure_at_every_step)
{
	static const struct sp_env env = { "NAME", "value" };

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct world w;
		int rc;

		world_init(&w);
		prepare(&w, rows[i].before);
		w.script.fail = rows[i].fail;
		w.script.fail_code = rows[i].code;
		w.options.env = &env;
		w.options.n_env = 1;
		w.options.max_age = "1h";
		w.options.snapshot_after_setup = true;
		rc = run_ensure(&w);
		cr_expect_eq(rc, rows[i].rc, "%s: %s instead of %s: %s", rows[i].what,
			     sp_code_name(rc), sp_code_name(rows[i].rc), w.err.message);
		cr_expect_eq(w.sandbox.ops != NULL, rows[i].rc == 0, "%s: a handle", rows[i].what);
		if (!rows[i].rc)
			cr_expect_eq(w.outcome, rows[i].outcome, "%s: outcome %d", rows[i].what,
				     w.outcome);
		cr_expect_str_eq(sp_buf_str(&w.script.log), rows[i].log, "%s: %s", rows[i].what,
				 sp_buf_str(&w.script.log));
		cr_expect_eq(script_live(&w.script), rows[i].live, "%s: %d sandboxes", rows[i].what,
			     script_live(&w.script));
		cr_expect_eq(script_kept(&w.script), rows[i].kept, "%s: %d snapshots", rows[i].what,
			     script_kept(&w.script));
		expect_record(&w, rows[i].what, rows[i].record_sandbox, rows[i].record_snapshot,
			      rows[i].record_run);
		cr_expect(!w.script.held, "%s: the lock is held", rows[i].what);
		world_done(&w);
	}
}

/* What restore is asked for is today's, never the snapshot's. */
Test(ensure, a_restore_applies_todays_wishes)
{
	static const struct sp_env env[] = { { "A", "1" }, { "B", "2" } };
	struct world w;
	char key[17];

	world_init(&w);
	prepare(&w, GONE_SNAPSHOT);
	w.options.env = env;
	w.options.n_env = 2;
	w.options.network = SP_NETWORK_DENY;
	w.options.workspace = "{ \"b\" : undefined, \"a\" : 1 }";
	cr_assert_eq(w.ensure.ops->key(w.ensure.self, &w.options, key, NULL), 0);
	free(w.script.records[0].key);
	w.script.records[0].key = strdup(key);
	cr_assert_eq(run_ensure(&w), 0, "%s", w.err.message);
	cr_expect_eq(w.outcome, SP_ENSURE_RESTORED);
	cr_expect_eq(w.script.asked_env, 2u);
	cr_expect_eq(w.script.set_env, 2u);
	cr_expect_eq(w.script.asked_network, SP_NETWORK_DENY);
	cr_expect_str_eq(w.script.asked_workspace, "{\"a\":1}", "what is undefined is no JSON");
	cr_expect_eq(w.setup.calls, 0, "what was restored is set up already");
	world_done(&w);
}

Test(ensure, without_snapshots_a_gone_sandbox_is_made_anew)
{
	struct world w;

	world_init(&w);
	w.script.caps.snapshots = false;
	prepare(&w, GONE_SNAPSHOT);
	cr_assert_eq(run_ensure(&w), 0, "%s", w.err.message);
	cr_expect_eq(w.outcome, SP_ENSURE_CREATED);
	cr_expect_str_eq(sp_buf_str(&w.script.log),
			 "acquire get resume create bootstrap upsert release");
	expect_record(&w, "made anew", "sb-1", "", "run-2");
	w.options.snapshot_after_setup = true;
	cr_expect_eq(run_ensure(&w), SP_UNSUPPORTED);
	cr_expect_str_eq(sp_buf_str(&w.script.log), "", "refused before anything was looked at");
	world_done(&w);
}

/* ---- Bootstraps ---- */

static const struct {
	int code, rc;
} bootstraps[] = {
	{ SP_UNAVAILABLE, SP_UNAVAILABLE },
	{ SP_TIMED_OUT, SP_TIMED_OUT },
	{ SP_ABORTED, SP_ABORTED },
	{ 7, SP_INTERNAL },
};

Test(ensure, a_failing_bootstrap_leaves_nothing)
{
	for (size_t i = 0; i < SP_COUNT(bootstraps); i++) {
		struct world w;
		int rc;

		world_init(&w);
		w.setup.code = bootstraps[i].code;
		rc = run_ensure(&w);
		cr_expect_eq(rc, bootstraps[i].rc, "%d: %s", bootstraps[i].code, sp_code_name(rc));
		cr_expect_str_eq(sp_buf_str(&w.script.log),
				 "acquire get create bootstrap destroy release");
		cr_expect_eq(script_live(&w.script), 0);
		cr_expect_null(script_find(&w.script, KEY));
		world_done(&w);
	}
}

Test(ensure, the_first_error_stays_when_the_removal_fails_too)
{
	struct world w;

	world_init(&w);
	w.setup.code = SP_DENIED;
	w.script.fail = "destroy";
	w.script.fail_code = SP_UNAVAILABLE;
	cr_expect_eq(run_ensure(&w), SP_DENIED);
	cr_expect_eq(w.err.code, SP_DENIED);
	cr_expect(strstr(w.err.message, "scripted: bootstrap"), "%s", w.err.message);
	cr_expect(strstr(w.err.message, "sb-0") && strstr(w.err.message, "scripted: destroy"),
		  "what stayed has to be told: %s", w.err.message);
	world_done(&w);
}

/* ---- Cancels and leases ---- */

Test(ensure, an_abort_in_the_bootstrap_leaves_nothing)
{
	for (int lease = 0; lease < 2; lease++) {
		struct world w;

		world_init(&w);
		w.options.cancel = sp_cancel_new();
		w.script.lost = lease ? sp_cancel_new() : NULL;
		w.setup.abort = w.options.cancel;
		cr_expect_eq(run_ensure(&w), SP_ABORTED, "%s", w.err.message);
		cr_expect_str_eq(w.err.message, "scripted abort");
		cr_expect_eq(script_live(&w.script), 0,
			     "destroyed although the request is aborted");
		cr_expect_null(script_find(&w.script, KEY));
		cr_expect_eq(sp_cancel_watchers(w.options.cancel), 0u);
		cr_expect_eq(sp_cancel_refs(w.options.cancel), 1u);
		sp_cancel_unref(w.options.cancel);
		world_done(&w);
	}
}

Test(ensure, what_has_fired_before_starts_nothing)
{
	struct world w;

	world_init(&w);
	w.options.cancel = sp_cancel_new();
	sp_cancel_set_deadline(w.options.cancel, 1);
	cr_expect_eq(run_ensure(&w), SP_TIMED_OUT);
	cr_expect_str_eq(sp_buf_str(&w.script.log), "acquire");
	sp_cancel_unref(w.options.cancel);
	world_done(&w);
}

Test(ensure, a_lost_lease_records_nothing)
{
	struct world w;

	world_init(&w);
	w.script.lost = sp_cancel_new();
	w.setup.abort = w.script.lost;
	cr_expect_eq(run_ensure(&w), SP_UNAVAILABLE, "%s", w.err.message);
	cr_expect(strstr(w.err.message, "lock"), "%s", w.err.message);
	cr_expect_eq(script_live(&w.script), 0);
	cr_expect_null(script_find(&w.script, KEY));
	cr_expect_eq(sp_cancel_watchers(w.script.lost), 0u);
	world_done(&w);
}

/* A step that notices the loss itself says "aborted", which the caller never did. */
static void lose(void *arg)
{
	sp_cancel_abort(arg, "the lease is over");
}

Test(ensure, a_lease_lost_during_a_step_is_told_as_such)
{
	struct world w;

	world_init(&w);
	w.script.lost = sp_cancel_new();
	w.script.at_create = lose;
	w.script.at_create_arg = w.script.lost;
	cr_expect_eq(run_ensure(&w), SP_UNAVAILABLE, "%s", w.err.message);
	cr_expect_str_eq(sp_buf_str(&w.script.log), "acquire get create release");
	world_done(&w);
}

/* The deadline is set when the call has begun, and the bootstrap waits for nothing else. */
static int wait_for_cancel(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	struct pollfd fd = { .fd = sp_cancel_fd(cancel), .events = POLLIN };

	(void)sandbox;
	sp_cancel_set_deadline(arg, 1);
	while (!sp_cancel_check(cancel, NULL))
		(void)poll(&fd, 1, -1);
	return sp_cancel_check(cancel, err);
}

Test(ensure, a_deadline_that_is_set_later_counts, .timeout = 60)
{
	for (int lease = 0; lease < 2; lease++) {
		struct world w;

		world_init(&w);
		w.options.cancel = sp_cancel_new();
		w.script.lost = lease ? sp_cancel_new() : NULL;
		w.options.bootstrap = wait_for_cancel;
		w.options.bootstrap_arg = w.options.cancel;
		cr_expect_eq(run_ensure(&w), SP_TIMED_OUT, "%s", w.err.message);
		cr_expect_eq(script_live(&w.script), 0);
		sp_cancel_unref(w.options.cancel);
		world_done(&w);
	}
}

Test(ensure, the_fence_goes_where_both_sides_know_it)
{
	for (int i = 0; i < 4; i++) {
		struct world w;
		bool store = i & 1;
		uint64_t fence = i & 2 ? 42 : 0;

		world_init(&w);
		w.script.store_caps.fence = store;
		w.script.fence = fence;
		cr_assert_eq(run_ensure(&w), 0);
		cr_expect_eq(w.script.fence_seen, store ? fence : 0u);
		world_done(&w);
	}
}

/* ---- Whose key ---- */

Test(ensure, a_collision_is_noticed)
{
	struct world w;
	enum sp_ensure_outcome untouched = SP_ENSURE_RESTORED;

	world_init(&w);
	w.options.thread_id = "t0412789";
	cr_assert_eq(run_ensure(&w), 0);
	sp_sandbox_done(&w.sandbox);
	w.options.thread_id = "t0649192";
	w.outcome = untouched;
	cr_expect_eq(run_ensure(&w), SP_CONFLICT);
	cr_expect(strstr(w.err.message, "t0412789"), "%s", w.err.message);
	cr_expect_str_eq(sp_buf_str(&w.script.log), "acquire get release");
	cr_expect_eq(w.outcome, untouched);
	cr_expect_eq(w.ensure.ops->destroy(w.ensure.self, &w.options, &w.err), SP_CONFLICT,
		     "nor is it destroyed for another thread");
	cr_expect_eq(script_live(&w.script), 1);
	world_done(&w);
}

/* "a:b" with run "c" and "a" with run "b:c" have one key. */
Test(ensure, runs_that_read_alike_are_told_apart)
{
	struct world w;

	world_init(&w);
	w.options.per_run = true;
	w.options.thread_id = "a:b";
	w.options.run_id = "c";
	cr_assert_eq(run_ensure(&w), 0);
	sp_sandbox_done(&w.sandbox);
	w.options.thread_id = "a";
	w.options.run_id = "b:c";
	cr_expect_eq(run_ensure(&w), SP_CONFLICT);
	world_done(&w);
}

Test(ensure, another_providers_record_is_no_licence)
{
	struct world w;

	world_init(&w);
	prepare(&w, LIVE);
	free(w.script.records[0].provider);
	w.script.records[0].provider = strdup("docker");
	cr_expect_eq(run_ensure(&w), SP_CONFLICT);
	cr_expect_str_eq(sp_buf_str(&w.script.log), "acquire get release");
	world_done(&w);
}

/* ---- What is refused ---- */

static void no_store(struct sp_ensure_options *o)
{
	o->store = NULL;
}

static void empty_store(struct sp_ensure_options *o)
{
	static struct sp_store empty = SP_STORE_INIT;

	o->store = &empty;
}

static void no_lock(struct sp_ensure_options *o)
{
	o->lock = NULL;
}

static void no_provider(struct sp_ensure_options *o)
{
	o->provider = NULL;
}

static void bad_age(struct sp_ensure_options *o)
{
	o->max_age = "5d";
}

static void no_thread(struct sp_ensure_options *o)
{
	o->thread_id = NULL;
}

static void other_version(struct sp_ensure_options *o)
{
	o->version = 99;
}

static void (*const spoilers[])(struct sp_ensure_options *) = { no_store,    empty_store, no_lock,
								no_provider, bad_age,	  no_thread,
								other_version };

Test(ensure, what_is_refused_touches_nothing)
{
	for (size_t i = 0; i < SP_COUNT(spoilers); i++) {
		struct world w;

		world_init(&w);
		spoilers[i](&w.options);
		cr_expect_eq(run_ensure(&w), SP_INVALID, "spoiler %zu", i);
		cr_expect(w.err.message[0], "spoiler %zu", i);
		cr_expect_str_eq(sp_buf_str(&w.script.log), "", "spoiler %zu", i);
		world_done(&w);
	}
}

/* ---- Destroying ---- */

static const struct {
	const char *what;
	enum before before;
	const char *fail;
	int rc;
	const char *log;
	int live, kept;
	bool record;
} destroys[] = {
	{ "nothing there", NOTHING, NULL, 0, "acquire get release", 0, 0, false },
	{ "a sandbox", LIVE, NULL, 0, "acquire get destroy del release", 0, 0, false },
	{ "a sandbox with a snapshot", OLD_SNAPSHOT, NULL, 0,
	  "acquire get destroy snapshot_delete del release", 0, 0, false },
	{ "destroying fails", LIVE, "destroy", SP_UNAVAILABLE, "acquire get destroy release", 1, 0,
	  true },
	{ "the look-up fails", LIVE, "get", SP_UNAVAILABLE, "acquire get release", 1, 0, true },
	{ "forgetting fails", LIVE, "del", SP_UNAVAILABLE, "acquire get destroy del release", 0, 0,
	  true },
};

/* The caller's cancel has fired; what is to go goes all the same. */
Test(ensure, destroying)
{
	for (size_t i = 0; i < SP_COUNT(destroys); i++) {
		struct world w;

		world_init(&w);
		prepare(&w, destroys[i].before);
		w.script.fail = destroys[i].fail;
		w.script.fail_code = SP_UNAVAILABLE;
		w.options.cancel = sp_cancel_new();
		sp_cancel_abort(w.options.cancel, "the request is over");
		cr_expect_eq(w.ensure.ops->destroy(w.ensure.self, &w.options, &w.err),
			     destroys[i].rc, "%s: %s", destroys[i].what, w.err.message);
		cr_expect_str_eq(sp_buf_str(&w.script.log), destroys[i].log, "%s: %s",
				 destroys[i].what, sp_buf_str(&w.script.log));
		cr_expect_eq(script_live(&w.script), destroys[i].live, "%s", destroys[i].what);
		cr_expect_eq(script_kept(&w.script), destroys[i].kept, "%s", destroys[i].what);
		cr_expect_eq(script_find(&w.script, KEY) != NULL, destroys[i].record, "%s",
			     destroys[i].what);
		sp_cancel_unref(w.options.cancel);
		world_done(&w);
	}
}

/* ---- Pairing ---- */

static const struct {
	bool durable, store_shared, lock_shared, warned;
} pairs[] = {
	{ false, false, false, false }, { true, false, false, true }, { false, true, false, true },
	{ true, true, false, true },	{ true, true, true, false },  { false, false, true, false },
};

Test(ensure, a_lock_of_one_process_beside_a_shared_store_is_told_once)
{
	for (size_t i = 0; i < SP_COUNT(pairs); i++) {
		struct sp_ensure_settings settings = SP_ENSURE_SETTINGS_INIT;
		struct world w;
		int warnings = 0;

		world_init(&w);
		w.ensure.ops->close(w.ensure.self);
		settings.warn = quiet;
		settings.warn_arg = &warnings;
		cr_assert_eq(sp_ensure_open(&settings, &w.ensure, NULL), 0);
		w.script.store_caps.durable = pairs[i].durable;
		w.script.store_caps.multi_process = pairs[i].store_shared;
		w.script.lock_caps.multi_process = pairs[i].lock_shared;
		cr_assert_eq(run_ensure(&w), 0);
		sp_sandbox_done(&w.sandbox);
		cr_assert_eq(run_ensure(&w), 0);
		cr_expect_eq(warnings, pairs[i].warned, "pair %zu: %d warnings", i, warnings);
		cr_expect_eq(sp_ensure_pairing(&w.script.store, &w.script.lock) != NULL,
			     pairs[i].warned);
		world_done(&w);
	}
}

/* ---- Several callers ---- */

#define CALLERS 8

/* One lock object: a mutex, which is all that a lock of one process is. */
struct mutex_lock {
	pthread_mutex_t mutex;
};

static void mutex_release(void *self)
{
	pthread_mutex_unlock(&((struct mutex_lock *)self)->mutex);
}

static const struct sp_lease_ops mutex_lease_ops = { .version = SP_LEASE_VERSION,
						     .release = mutex_release };

static int mutex_acquire(void *self, const char *key, struct sp_cancel *cancel,
			 struct sp_lease *ret_lease, struct sp_error *err)
{
	(void)key, (void)cancel, (void)err;
	pthread_mutex_lock(&((struct mutex_lock *)self)->mutex);
	*ret_lease = (struct sp_lease){ &mutex_lease_ops, self };
	return 0;
}

static const struct sp_lock_capabilities *mutex_caps(void *self)
{
	static const struct sp_lock_capabilities caps = SP_LOCK_CAPABILITIES_INIT;

	(void)self;
	return &caps;
}

static const struct sp_lock_ops mutex_lock_ops = { .version = SP_LOCK_VERSION,
						   .capabilities = mutex_caps,
						   .acquire = mutex_acquire };

struct caller {
	struct world *world;
	struct sp_lock lock;
	pthread_t thread;
	int rc;
	enum sp_ensure_outcome outcome;
	char id[32];
};

static void *call(void *arg)
{
	struct caller *caller = arg;
	struct sp_ensure_options options = caller->world->options;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;

	options.lock = &caller->lock;
	options.bootstrap = NULL;
	caller->rc = caller->world->ensure.ops->ensure(caller->world->ensure.self, &options,
						       &sandbox, &caller->outcome, NULL);
	if (!caller->rc)
		snprintf(caller->id, sizeof(caller->id), "%s", sp_sandbox_id(&sandbox));
	sp_sandbox_done(&sandbox);
	return NULL;
}

Test(ensure, many_callers_one_sandbox)
{
	struct mutex_lock lock = { PTHREAD_MUTEX_INITIALIZER };
	struct caller callers[CALLERS];
	struct world w;
	int created = 0;

	world_init(&w);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .world = &w, .lock = { &mutex_lock_ops, &lock } };
		pthread_create(&callers[i].thread, NULL, call, &callers[i]);
	}
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	for (int i = 0; i < CALLERS; i++) {
		cr_expect_eq(callers[i].rc, 0);
		cr_expect_str_eq(callers[i].id, "sb-0");
		created += callers[i].outcome == SP_ENSURE_CREATED;
	}
	cr_expect_eq(created, 1);
	cr_expect_eq(w.script.n_sandboxes, 1);
	world_done(&w);
}

/* Stops every create until both have come: with one lock the second never would. */
static void meet(void *arg)
{
	pthread_barrier_wait(arg);
}

/*
 * The self-test of contract:C185: two lock objects on one store, as two processes with a lock of
 * their own have. The duplicate is made, and what the cases look at shows it.
 */
Test(ensure, two_lock_objects_make_a_duplicate_and_it_is_seen)
{
	struct mutex_lock locks[2] = { { PTHREAD_MUTEX_INITIALIZER },
				       { PTHREAD_MUTEX_INITIALIZER } };
	struct caller callers[2];
	pthread_barrier_t barrier;
	struct world w;

	world_init(&w);
	pthread_barrier_init(&barrier, NULL, 2);
	w.script.at_create = meet;
	w.script.at_create_arg = &barrier;
	for (int i = 0; i < 2; i++) {
		callers[i] = (struct caller){ .world = &w, .lock = { &mutex_lock_ops, &locks[i] } };
		pthread_create(&callers[i].thread, NULL, call, &callers[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(callers[i].thread, NULL);
	cr_expect_eq(callers[0].rc, 0);
	cr_expect_eq(callers[1].rc, 0);
	cr_expect_str_neq(callers[0].id, callers[1].id, "the duplicate is not seen");
	cr_expect_eq(script_live(&w.script), 2);
	pthread_barrier_destroy(&barrier);
	world_done(&w);
}
