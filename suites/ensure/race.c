/* SPDX-License-Identifier: MIT */
/* N7: several callers at once. */
#include <stdio.h>

#include <suites/ensure/cases.h>
#include <suites/ensure/scene.h>

#define CALLERS 4

/*
 * The first caller stands in its bootstrap, between its look-up and its record; whoever is not kept
 * out by the lock meanwhile comes to a bootstrap as well.
 */
static bool others_wait(struct ensure_scene *s)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(s->t);

	return sandbox && sp_rounds(s->t, sandbox) &&
	       SP_CHECK_INT(s->t, 1, stage_calls(&s->stage, STAGE_BOOTSTRAP),
			    "callers that came to a bootstrap");
}

void ensure_race_threads(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call first ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call second ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call third ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call fourth ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call *calls[CALLERS] = { &first, &second, &third, &fourth };
	long long created = 0;

	SP_REQUIRE(ensure_scene_open(t, &s) && stage_hold(&s.stage, STAGE_BOOTSTRAP));
	for (int i = 0; i < CALLERS; i++)
		SP_REQUIRE(ensure_call_start(&s, calls[i]));
	if (stage_await(&s.stage, STAGE_BOOTSTRAP))
		others_wait(&s);
	stage_release(&s.stage, STAGE_BOOTSTRAP);
	for (int i = 0; i < CALLERS; i++) {
		SP_REQUIRE(ensure_call_join(calls[i]));
		SP_REQUIRE(SP_CHECK_OK(t, calls[i]->got.rc, &calls[i]->got.err, "caller %d", i));
		created += calls[i]->got.outcome == SP_ENSURE_CREATED;
		SP_CHECK_STR(t, sp_sandbox_id(&first.got.sandbox),
			     sp_sandbox_id(&calls[i]->got.sandbox), "the sandbox of caller %d", i);
	}
	SP_CHECK_INT(t, 1, created, "callers that made one");
	SP_CHECK_INT(t, 1, s.stage.n_made, "sandboxes made");
}

/* False after a skip: this lock or store is one instance's own. */
static bool shared_between_instances(struct sp_case *t)
{
	const struct sp_lock_capabilities *lock = sp_lock_capabilities(sp_case_lock(t));
	const struct sp_store_capabilities *store = sp_store_capabilities(sp_case_store(t));

	if (!store || !store->multi_process)
		sp_skip(t, "needs a store that instances share: multi_process is declared false");
	else if (!lock || !lock->multi_process)
		sp_skip(t, "needs a lock that instances share: multi_process is declared false");
	else
		return true;
	return false;
}

void ensure_race_instances(struct sp_case *t)
{
	struct ensure_scene one ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_scene other ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call first ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call second ENSURE_CALL = ENSURE_CALL_INIT;

	SP_REQUIRE(shared_between_instances(t));
	SP_REQUIRE(ensure_scene_open(t, &one) && ensure_scene_second(&other, &one));
	SP_REQUIRE(stage_hold(&one.stage, STAGE_BOOTSTRAP));
	SP_REQUIRE(ensure_call_start(&one, &first));
	if (stage_await(&one.stage, STAGE_BOOTSTRAP) && ensure_call_start(&other, &second) &&
	    sp_case_sandbox(t))
		SP_CHECK(t, sp_rounds_pending(t, sp_case_sandbox(t), second.call),
			 "the other instance waits for the first one's lock");
	stage_release(&one.stage, STAGE_BOOTSTRAP);
	SP_REQUIRE(ensure_call_join(&first) && ensure_call_join(&second));
	SP_REQUIRE(SP_CHECK_OK(t, first.got.rc, &first.got.err, "the first instance") &&
		   SP_CHECK_OK(t, second.got.rc, &second.got.err, "the other instance"));
	SP_CHECK_STR(t, sp_sandbox_id(&first.got.sandbox), sp_sandbox_id(&second.got.sandbox),
		     "the sandbox of the other instance");
	SP_CHECK_INT(t, 1, one.stage.n_made + other.stage.n_made, "sandboxes made");
	SP_CHECK_INT(t, SP_ENSURE_RESUMED, second.got.outcome, "how the other came by it");
}

/* ---- Processes ---- */

/* What a process of its own is told. */
struct ensure_order {
	char thread[128];
};

/* Says where it stands in its bootstrap, and goes on when it is told to. */
static int tell_bootstrap(void *arg, struct sp_sandbox *sandbox, struct sp_cancel *cancel,
			  struct sp_error *err)
{
	struct sp_peer_side *side = arg;
	char line[16];

	(void)cancel;
	sp_side_say(side, "bootstrap %s", sp_sandbox_id(sandbox));
	return sp_side_hear(side, line, sizeof(line)) ?
		       0 :
		       sp_error_set(err, SP_ABORTED, "the case is gone");
}

/* Ensures once, in another process, and says what came of it. */
static void other_process(struct sp_peer_side *side)
{
	const struct ensure_order *order = side->arg;
	struct sp_subject *subject = side->subject;
	struct sp_ensure_options options = SP_ENSURE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	enum sp_ensure_outcome outcome = SP_ENSURE_CREATED;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	options.provider = &subject->provider;
	options.store = &subject->store;
	options.lock = &subject->lock;
	options.thread_id = order->thread;
	options.sandbox_id = "repo";
	options.run_id = "run-1";
	options.bootstrap = tell_bootstrap;
	options.bootstrap_arg = side;
	options.cancel = side->cancel;
	sp_side_say(side, "asks");
	rc = subject->ensure.ops->ensure(subject->ensure.self, &options, &sandbox, &outcome, &err);
	if (rc)
		sp_side_say(side, "failed %s %s", sp_code_name(rc), err.message);
	else
		sp_side_say(side, "%s %s", outcome == SP_ENSURE_CREATED ? "created" : "resumed",
			    sp_sandbox_id(&sandbox));
	sp_sandbox_done(&sandbox);
}

static struct sp_peer *start_process(struct ensure_scene *s)
{
	struct ensure_order order = { "" };

	snprintf(order.thread, sizeof(order.thread), "%s", s->options.thread_id);
	return sp_case_peer(s->t, SP_PEER_PLAIN, other_process, &order, sizeof(order));
}

/*
 * The next line begins with `word`; what follows it, kept for the case.
 * NULL after a recorded failure.
 */
static const char *hear(struct sp_case *t, struct sp_peer *peer, const char *word)
{
	const char *line = sp_peer_hear(peer);
	const char *copy = line ? sp_case_format(t, "%s", line) : NULL;
	size_t len = strlen(word);

	/* What a process made is removed with the case, whatever it says about it. */
	if (copy && strchr(copy, ' ') && strncmp(copy, "failed", 6) != 0)
		sp_case_own_sandbox(t, strchr(copy, ' ') + 1);
	if (!SP_CHECK(t, copy && strncmp(copy, word, len) == 0,
		      "the process says \"%s\", not \"%s\"", word, copy ? copy : "nothing more"))
		return NULL;
	return copy[len] ? copy + len + 1 : copy + len;
}

void ensure_race_processes(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	struct sp_peer *peers[CALLERS];
	const char *id;

	SP_REQUIRE(shared_between_instances(t) && ensure_scene_open(t, &s));
	peers[0] = start_process(&s);
	SP_REQUIRE(peers[0] && hear(t, peers[0], "asks"));
	id = hear(t, peers[0], "bootstrap");
	SP_REQUIRE(id);
	for (int i = 1; i < CALLERS; i++) {
		peers[i] = start_process(&s);
		SP_REQUIRE(peers[i] && hear(t, peers[i], "asks"));
	}
	SP_REQUIRE(sp_case_sandbox(t) && sp_rounds(t, sp_case_sandbox(t)));
	SP_REQUIRE(sp_peer_say(peers[0], "on"));
	SP_CHECK_STR(t, id, hear(t, peers[0], "created"), "the sandbox of the first process");
	for (int i = 1; i < CALLERS; i++)
		SP_CHECK_STR(t, id, hear(t, peers[i], "resumed"), "the sandbox of process %d", i);
	SP_REQUIRE(ensure_record(&s, &record));
	SP_CHECK_STR(t, id, record.provider_sandbox_id, "sandbox of the record");
}

/* ---- Others ---- */

void ensure_race_keys(struct sp_case *t)
{
	struct ensure_scene one ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_scene other ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_call first ENSURE_CALL = ENSURE_CALL_INIT;
	struct ensure_call second ENSURE_CALL = ENSURE_CALL_INIT;

	SP_REQUIRE(ensure_scene_open(t, &one) && ensure_scene_open(t, &other));
	SP_REQUIRE(stage_hold(&one.stage, STAGE_BOOTSTRAP) &&
		   stage_hold(&other.stage, STAGE_BOOTSTRAP));
	SP_REQUIRE(ensure_call_start(&one, &first));
	SP_REQUIRE(ensure_call_start(&other, &second));
	/*
	 * Each stands in its bootstrap while the other does: neither can have waited for the other.
	 */
	if (stage_await(&one.stage, STAGE_BOOTSTRAP))
		stage_await(&other.stage, STAGE_BOOTSTRAP);
	stage_release(&one.stage, STAGE_BOOTSTRAP);
	stage_release(&other.stage, STAGE_BOOTSTRAP);
	SP_REQUIRE(ensure_call_join(&first) && ensure_call_join(&second));
	SP_REQUIRE(SP_CHECK_OK(t, first.got.rc, &first.got.err, "the one key") &&
		   SP_CHECK_OK(t, second.got.rc, &second.got.err, "the other key"));
	SP_CHECK(t,
		 strcmp(sp_sandbox_id(&first.got.sandbox), sp_sandbox_id(&second.got.sandbox)) != 0,
		 "two keys have two sandboxes");
}

static int destroy_on_thread(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct ensure_scene *s = arg;
	struct sp_ensure *ensure = &s->stage.subject->ensure;

	(void)cancel;
	return ensure->ops->destroy(ensure->self, &s->options, &result->err);
}

/* contract:C283: a destroy is held while an ensure comes; afterwards record and sandbox agree. */
void ensure_race_destroy(struct sp_case *t)
{
	struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_scene other ENSURE_SCENE = ENSURE_SCENE_INIT;
	struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT;
	struct ensure_call call ENSURE_CALL = ENSURE_CALL_INIT;
	struct sp_call *destroy SP_CALL = NULL;
	struct sp_record record ENSURE_RECORD = SP_RECORD_INIT;
	bool waits = true;

	SP_REQUIRE(ensure_scene_open(t, &s) && ensure_scene_beside(&other, &s));
	SP_REQUIRE(ensure_works(&s, SP_ENSURE_CREATED, &got));
	SP_REQUIRE(stage_hold(&s.stage, STAGE_DESTROY));
	destroy = sp_call_start(t, destroy_on_thread, &s);
	if (destroy && stage_await(&s.stage, STAGE_DESTROY) && ensure_call_start(&other, &call))
		waits = sp_case_sandbox(t) && sp_rounds_pending(t, sp_case_sandbox(t), call.call);
	stage_release(&s.stage, STAGE_DESTROY);
	SP_REQUIRE(destroy && ensure_call_join(&call));
	SP_CHECK_OK(t, sp_call_join(destroy)->rc, &sp_call_join(destroy)->err, "destroy");
	SP_CHECK(t, waits, "an ensure waits until the destroy of its key is over");
	SP_REQUIRE(SP_CHECK_OK(t, call.got.rc, &call.got.err, "ensure beside a destroy"));
	SP_REQUIRE(ensure_record(&other, &record));
	SP_CHECK_STR(t, sp_sandbox_id(&call.got.sandbox), record.provider_sandbox_id,
		     "sandbox of the record");
	SP_CHECK_INT(t, 1, stage_alive(&other.stage, record.provider_sandbox_id),
		     "the sandbox that the record names");
}
