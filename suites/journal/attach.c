/* SPDX-License-Identifier: MIT */
/* J15: whether a reader may attach is decided before anything is made, and never in doubt. */
#include "cases.h"
#include "records.h"
#include "scene.h"

/* A scene, records, and a relay that counts what attach() does. */
struct attaching {
	struct scene s;
	struct relay relay;
	struct records records;
	struct sp_error err;
};

#define ATTACHING_INIT                                                                             \
	{                                                                                          \
		.s = SCENE_INIT, .relay = RELAY_INIT, .err = SP_ERROR_INIT                         \
	}
#define ATTACHING SP_CLEANUP(attaching_done)

static void attaching_done(struct attaching *a)
{
	relay_done(&a->relay);
	scene_done(&a->s);
}

static bool attaching_open(struct sp_case *t, struct attaching *a, const struct relay_hooks *hooks)
{
	if (!scene_open(t, &a->s))
		return false;
	if (!a->s.journal->ops->attach) {
		sp_skip(t, "needs attach: this journal has none");
		return false;
	}
	a->s.options.poll_ms = scene_poll_ms(&a->s);
	relay_open(t, a->s.sandbox, hooks, &a->relay);
	a->records.t = t;
	return true;
}

static int attach(struct attaching *a)
{
	struct scene *s = &a->s;
	int rc = s->journal->ops->attach(s->journal->self, &a->relay.sandbox, s->run, records_ask,
					 &a->records, &s->options, &a->err);

	sp_case_note(s->t, "attach: %s%s%s; %u commands, %u questions",
		     rc ? sp_code_name(rc) : "ok", rc ? ": " : "", rc ? a->err.message : "",
		     atomic_load(&a->relay.execs), a->records.asked);
	return rc;
}

/* Nothing was made, and nothing was started but, where it is counted, one probe. */
static void check_untouched(struct attaching *a, bool counts)
{
	unsigned execs = atomic_load(&a->relay.execs);
	struct scene *s = &a->s;
	const char *there = sp_sh_out(s->t, s->sandbox, "[ -e %s ] && echo yes || echo no", s->dir);

	SP_REQUIRE(there != NULL);
	SP_CHECK_STR(s->t, "no", there, "whether attach made a file or folder");
	SP_REQUIRE(!sp_case_failed(s->t) && relay_used(&a->relay));
	SP_CHECK_INT(s->t, 0, atomic_load(&a->relay.spawns), "commands that attach left running");
	if (counts)
		SP_CHECK_INT(s->t, 1, execs, "commands, before the records decide");
}

void journal_attach_there(struct sp_case *t)
{
	struct attaching a ATTACHING = ATTACHING_INIT;
	int rc;

	SP_REQUIRE(attaching_open(t, &a, NULL) && scene_write(&a.s, "one\n"));
	rc = attach(&a);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &a.err, "attaching to a journal that is there"));
	SP_CHECK_INT(t, 0, a.records.asked,
		     "questions to the records about a journal that is there");
}

void journal_attach_unknown(struct sp_case *t)
{
	struct attaching a ATTACHING = ATTACHING_INIT;
	int rc;

	SP_REQUIRE(attaching_open(t, &a, NULL));
	rc = attach(&a);
	SP_REQUIRE(
		SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &a.err, "attaching to a run that nobody knows"));
	SP_CHECK_INT(t, 1, a.records.asked, "questions to the records");
	SP_CHECK_STR(t, a.s.run, a.records.last, "the run that was asked about");
	check_untouched(&a, true);
}

void journal_attach_terminal(struct sp_case *t)
{
	struct attaching a ATTACHING = ATTACHING_INIT;
	struct record row;
	int rc;

	SP_REQUIRE(attaching_open(t, &a, NULL));
	row = (struct record){ a.s.run, SP_RECORD_TERMINAL, 0 };
	a.records.rows = &row;
	a.records.len = 1;
	rc = attach(&a);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_CONFLICT, rc, &a.err,
				 "attaching to a run that is over and whose journal is gone"));
	check_untouched(&a, true);
}

static int run_attach(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct attaching *a = arg;

	(void)cancel;
	result->rc = attach(a);
	result->err = a->err;
	return result->rc;
}

/* The normal race: the record is there, the journal comes a little later. */
void journal_attach_late(struct sp_case *t)
{
	struct attaching a ATTACHING = ATTACHING_INIT;
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;
	struct record row;

	SP_REQUIRE(attaching_open(t, &a, NULL));
	row = (struct record){ a.s.run, SP_RECORD_OPEN, 0 };
	a.records.rows = &row;
	a.records.len = 1;
	call = sp_call_start(t, run_attach, &a);
	SP_REQUIRE(call && SP_CHECK(t, sp_rounds_pending(t, a.s.sandbox, call),
				    "attach waits for the journal of a run that the records know"));
	SP_REQUIRE(!sp_case_failed(t) && scene_write(&a.s, "one\n"));
	result = sp_call_join(call);
	SP_REQUIRE(
		SP_CHECK_OK(t, result->rc, &result->err, "attaching to a journal that came late"));
	SP_CHECK_INT(t, 1, a.records.asked, "questions to the records, however long it takes");
}

/* The call's cancel has the case's limit; that it polls on ends it before. */
static int run_bounded(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct attaching *a = arg;

	a->s.options.cancel = cancel;
	relay_bound(&a->relay, cancel);
	return run_attach(a, cancel, result);
}

void journal_attach_bounded(struct sp_case *t)
{
	struct attaching a ATTACHING = ATTACHING_INIT;
	struct sp_call *call SP_CALL = NULL;
	struct sp_call_result *result;
	struct record row;
	int rc;

	SP_REQUIRE(attaching_open(t, &a, NULL));
	/* Records that cannot tell decide nothing: it is waited for, and not for ever. */
	row = (struct record){ a.s.run, SP_RECORD_ABSENT, SP_UNAVAILABLE };
	a.records.rows = &row;
	a.records.len = 1;
	/* Far less than so many commands take. */
	a.s.options.first_byte_ms = 7;
	call = sp_call_start(t, run_bounded, &a);
	result = sp_call_join(call);
	SP_REQUIRE(result != NULL);
	rc = result->rc;
	SP_REQUIRE(SP_CHECK_CODE(t, SP_TIMED_OUT, rc, &a.err,
				 "waiting for a journal that never comes"));
	SP_CHECK(t, strstr(a.err.message, "7 ms"), "the message names the bound: %s",
		 a.err.message);
	check_untouched(&a, false);
}

static int exec_refused(struct relay *relay, const struct sp_exec_options *options,
			struct sp_exec_result *ret_result, struct sp_error *err)
{
	(void)relay, (void)options, (void)ret_result;
	return sp_error_set(err, SP_UNAVAILABLE, "the case refuses every command");
}

void journal_attach_broken_probe(struct sp_case *t)
{
	static const struct relay_hooks hooks = { .exec = exec_refused };
	struct attaching a ATTACHING = ATTACHING_INIT;
	struct record row;
	int rc;

	SP_REQUIRE(attaching_open(t, &a, &hooks));
	row = (struct record){ a.s.run, SP_RECORD_OPEN, 0 };
	a.records.rows = &row;
	a.records.len = 1;
	a.s.options.first_byte_ms = 1;
	rc = attach(&a);
	SP_REQUIRE(relay_used(&a.relay));
	SP_REQUIRE(SP_CHECK(t, rc < 0, "a probe that cannot run is no \"yes\""));
	SP_CHECK(t, strstr(a.err.message, "could not"),
		 "the message says that the probe could not run: %s", a.err.message);
	check_untouched(&a, false);
}
