/* SPDX-License-Identifier: MIT */
/* One case in a worker: what it needs, its function, what it left. */
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "late.h"
#include "peer.h"
#include "worker.h"

/*
 * The case's own cancel fires before the supervisor's deadline, so that a hang ends as
 * a check that says what hung.
 */
#define MARGIN_SHARE 5
#define MARGIN_MAX_NS (2 * SP_SECOND)
#define ROUNDS 20

static void tell_phase(struct sp_worker *w, enum sp_phase phase)
{
	sp_wire_start(&w->wire, SP_WIRE_PHASE);
	sp_wire_put(&w->wire, phase);
	sp_worker_tell(w);
}

/* Opens the subject and looks at what the case needs; false when the case is decided already. */
static bool prepare(struct sp_case *t)
{
	struct sp_buf reason SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const struct sp_where here = { t->def->file, t->def->line };
	struct sp_error err = SP_ERROR_INIT;
	const char *tool = NULL;

	if (!t->opened->spec) {
		sp_case_error(t, here, "no %s was named or taken by default",
			      sp_subject_kind_name(t->opened->kind));
	} else if (sp_worker_open_subject(t->worker, t->opened, &err)) {
		sp_case_error(t, here, "the %s %s cannot be opened: %s: %s",
			      sp_subject_kind_name(t->opened->kind), t->opened->shown,
			      sp_code_name(err.code), err.message);
	} else if (!sp_needs_met(t->def, &t->opened->subject, &reason)) {
		sp_skip(t, "%s", sp_buf_str(&reason));
	} else if (sp_worker_missing_tool(t, &tool, &err)) {
		sp_case_error(t, here, "the sandbox could not be asked for its tools: %s: %s",
			      sp_code_name(err.code), err.message);
	} else if (tool) {
		sp_skip(t, "needs %s: the sandbox has no such tool", tool);
	}
	return !t->decided;
}

static void run_body(struct sp_case *t, uint64_t limit_ms)
{
	const struct sp_where here = { t->def->file, t->def->line };
	uint64_t limit = limit_ms * SP_MS;
	uint64_t margin = limit / MARGIN_SHARE;
	struct sp_late late;

	margin = margin < MARGIN_MAX_NS ? margin : MARGIN_MAX_NS;
	t->cancel_at = sp_now() + limit - margin;
	if (!prepare(t))
		return;
	/* Opening has had its own time. */
	t->cancel_at = sp_now() + limit - margin;
	sp_cancel_set_deadline(t->cancel, t->cancel_at);
	tell_phase(t->worker, SP_PHASE_BODY);
	sp_late_start(&late, t);
	t->def->run(t);
	sp_late_stop(&late);
	if (!t->decided && !t->checks)
		sp_case_error(t, here, "the case reached no check, so it proves nothing");
}

/* Whether nothing of this key is there, which a store says that cannot delete. */
static bool is_absent(struct sp_store *store, const char *key, struct sp_cancel *cancel)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	bool found = true;

	return !sp_store_get(store, key, &record, &found, cancel, NULL) && !found;
}

/* Records would stay where a store outlives the run, which may be the user's. */
static void remove_records(struct sp_case *t)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = sp_worker_cleanup_cancel();
	struct sp_store *store = &t->opened->subject.store;
	char *key;

	sp_guard_mute(t->guard, true);
	while ((key = sp_guard_take_record(t->guard))) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = sp_store_del(store, key, cancel, &err);

		if (rc && is_absent(store, key, cancel))
			sp_guard_forgot(t->guard, key);
		else if (rc)
			sp_worker_leak_thing(t->worker, "record",
					     sp_guard_can_tell(key) ? key : NULL,
					     "the record %.200s could not be deleted: %s: %s", key,
					     sp_code_name(rc), err.message);
		free(key);
	}
	sp_guard_mute(t->guard, false);
}

/* Not the shared ones, of whatever kind of subject. */
static void remove_sandboxes(struct sp_worker *w, struct sp_provider *provider)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = sp_worker_cleanup_cancel();
	struct sp_error err = SP_ERROR_INIT;
	char *id;

	while ((id = sp_guard_take_sandbox(w->guard, false))) {
		if (sp_provider_destroy(provider, id, cancel, &err))
			sp_worker_stuck(w, id, &err);
		else
			sp_guard_removed(w->guard, id);
		free(id);
	}
}

static void remove_snapshots(struct sp_worker *w, struct sp_provider *provider)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = sp_worker_cleanup_cancel();
	struct sp_error err = SP_ERROR_INIT;
	char *id;

	while ((id = sp_guard_take_snapshot(w->guard))) {
		if (sp_provider_snapshot_delete(provider, id, cancel, &err))
			sp_worker_leak(w, w->case_id, "snapshot",
				       "%s cannot be removed: %s: %s", id,
				       sp_code_name(err.code), err.message);
		else
			sp_guard_deleted(w->guard, id);
		free(id);
	}
}

/*
 * Removes what the case made; by id, since its handles are gone. Each has its own limit: neither a
 * failure nor the time that one takes keeps the other from being removed.
 */
static void remove_made(struct sp_case *t)
{
	struct sp_provider *provider = &t->opened->subject.provider;

	remove_records(t);
	if (!provider->ops)
		return;
	remove_sandboxes(t->worker, provider);
	remove_snapshots(t->worker, provider);
}

/* Lays what the back end itself did wrong to the case. True when the subject has to be reopened. */
static bool look_at_health(struct sp_case *t)
{
	struct sp_error cause = SP_ERROR_INIT;
	bool gone = false, other;

	if (t->opened->open && sp_subject_check(&t->opened->subject, &gone, &cause))
		sp_case_blame(t, &cause);
	for (struct sp_case_second *at = t->seconds; at; at = at->next)
		if (sp_subject_check(&at->subject, &other, &cause))
			sp_case_blame(t, &cause);
	return gone;
}

static bool is_failure(const struct sp_case *t)
{
	return t->decided && t->verdict != SP_SKIP;
}

static void tear_down(struct sp_case *t)
{
	const char *pending = sp_guard_pending(t->guard);
	bool gone = look_at_health(t);

	if (pending) {
		/*
		 * A thread of the case still is in the subject, so nothing here can be trusted any
		 * more: another worker removes what was made.
		 */
		sp_case_error(t, (struct sp_where){ t->def->file, t->def->line },
			      "the case returned while its call of %s had not", pending);
		t->worker->retire = true;
		return;
	}
	sp_peers_end(t);
	sp_guard_drop_handles(t->guard);
	/* Another one that knows the same ids removes what the case made. */
	if (gone)
		(void)sp_worker_reopen(t->worker, t->opened, &(struct sp_error)SP_ERROR_INIT);
	remove_made(t);
	sp_case_release(t);
	/* A failure may have left anything in the shared sandbox. */
	if (is_failure(t))
		sp_worker_drop_shared(t->worker, t->opened);
	sp_leaks_check(t->worker->leaks, t->opened);
	if (is_failure(t))
		sp_worker_reset(t->worker, t->opened);
}

static void send_result(struct sp_case *t, uint64_t index)
{
	struct sp_wire *wire = &t->worker->wire;

	/* Before the result, so that no other attempt is sent to a worker that ends. */
	if (t->worker->retire) {
		sp_wire_start(wire, SP_WIRE_RETIRE);
		sp_worker_tell(t->worker);
	}
	sp_wire_start(wire, SP_WIRE_RESULT);
	sp_wire_put(wire, index);
	sp_wire_put(wire, t->verdict);
	sp_wire_put(wire, (uint64_t)t->where.line);
	sp_wire_put_text(wire, t->where.file);
	sp_wire_put_text(wire, t->message);
	sp_wire_put_text(wire, t->expected);
	sp_wire_put_text(wire, t->actual);
	sp_worker_tell(t->worker);
}

void sp_worker_run_case(struct sp_worker *w, uint64_t index, uint64_t limit_ms)
{
	const struct sp_run_options *run = w->options->run;
	struct sp_case t = {
		.def = run->selection.cases[index],
		.worker = w,
		.opened = &w->opened[run->selection.suites[index]->subject],
		.guard = w->guard,
		.redact = w->redact,
		.rounds = run->rounds ? run->rounds : ROUNDS,
	};

	w->case_id = t.def->id;
	w->limit_ms = limit_ms;
	sp_shared_reset(w->options->shared);
	sp_case_init(&t);
	run_body(&t, limit_ms);
	tell_phase(w, SP_PHASE_TEARDOWN);
	tear_down(&t);
	/* Removing is a part of the case, too. */
	if (!w->retire)
		(void)look_at_health(&t);
	send_result(&t, index);
	/* A pending call may still look at the case. */
	if (!w->retire)
		sp_case_done(&t);
}
