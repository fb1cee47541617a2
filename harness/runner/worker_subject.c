/* SPDX-License-Identifier: MIT */
/* Subjects and sandboxes of a worker. */
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>

#include "worker.h"

int sp_worker_open(struct sp_worker *w, struct sp_opened *opened, struct sp_subject *ret_subject,
		   struct sp_error *err)
{
	const struct sp_run_options *run = w->options->run;
	struct sp_subject subject = SP_SUBJECT_INIT;
	int rc = run->open(run->opener, opened->kind, opened->spec, w->options->workspace, &subject,
			   err);

	if (rc)
		return rc;
	rc = sp_guard_subject(w->guard, &subject, err);
	if (rc) {
		sp_subject_done(&subject);
		return rc;
	}
	*ret_subject = subject;
	return 0;
}

/* What its store and its lock say of themselves, as far as the two have to go together. */
static unsigned pairing_of(struct sp_subject *subject)
{
	const struct sp_store_capabilities *store = sp_store_capabilities(&subject->store);
	const struct sp_lock_capabilities *lock = sp_lock_capabilities(&subject->lock);
	unsigned bits = 0;

	if (store && (store->durable || store->multi_process))
		bits |= SP_PAIRING_STORE_OUTLIVES;
	if (lock && !lock->multi_process)
		bits |= SP_PAIRING_LOCK_LOCAL;
	return bits;
}

static void tell_opened(struct sp_worker *w, struct sp_opened *opened)
{
	char *json SP_FREE = sp_declaration_json(&opened->subject);

	sp_wire_start(&w->wire, SP_WIRE_OPENED);
	sp_wire_put(&w->wire, opened->kind);
	sp_wire_put(&w->wire, pairing_of(&opened->subject));
	sp_wire_put_text(&w->wire, json);
	sp_worker_tell(w);
}

static void tell_not_opened(struct sp_worker *w, struct sp_opened *opened,
			    const struct sp_error *err)
{
	struct sp_buf reason SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&reason, "the %s %s cannot be opened: %s: %s",
		    sp_subject_kind_name(opened->kind), opened->shown, sp_code_name(err->code),
		    err->message);
	sp_wire_start(&w->wire, SP_WIRE_NOT_OPENED);
	sp_wire_put(&w->wire, opened->kind);
	sp_wire_put_text(&w->wire, sp_buf_str(&reason));
	sp_worker_tell(w);
}

int sp_worker_open_subject(struct sp_worker *w, struct sp_opened *opened, struct sp_error *err)
{
	struct sp_error cause = SP_ERROR_INIT;
	bool gone = false;
	int rc;

	if (opened->open) {
		if (sp_subject_check(&opened->subject, &gone, &cause))
			sp_guard_note(w->guard, "between two cases: %s", cause.message);
		return gone ? sp_worker_reopen(w, opened, err) : 0;
	}
	/* What it keeps open from here on is no leak. */
	sp_leaks_absorb_begin(w->leaks);
	rc = sp_worker_open(w, opened, &opened->subject, err);
	sp_leaks_absorb_end(w->leaks);
	if (rc) {
		tell_not_opened(w, opened, err);
		return rc;
	}
	opened->open = true;
	if (!opened->was_open)
		tell_opened(w, opened);
	opened->was_open = true;
	return 0;
}

int sp_worker_reopen(struct sp_worker *w, struct sp_opened *opened, struct sp_error *err)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = sp_worker_cleanup_cancel();
	char *shared SP_FREE = SP_TAKE(opened->shared_id);
	struct sp_error why = SP_ERROR_INIT;
	int rc;

	sp_sandbox_done(&opened->shared);
	sp_subject_done(&opened->subject);
	opened->open = false;
	rc = sp_worker_open_subject(w, opened, err);
	if (rc || !shared)
		return rc;
	free(sp_guard_take_named(w->guard, shared));
	if (sp_provider_destroy(&opened->subject.provider, shared, cancel, &why))
		sp_worker_stuck(w, shared, &why);
	else
		sp_guard_removed(w->guard, shared);
	return 0;
}

void sp_worker_close_subject(struct sp_worker *w, struct sp_opened *opened)
{
	if (!opened->open)
		return;
	sp_worker_drop_shared(w, opened);
	sp_subject_done(&opened->subject);
	opened->open = false;
}

int sp_worker_make_sandbox(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	uint32_t random;
	char id[64];

	sp_worker_unique(w, id, sizeof(id));
	sp_random(&random, sizeof(random));
	options.id = id;
	/* Long enough for any run, and a fingerprint. */
	options.lifetime_s = SP_RUN_LIFETIME_S + random % SP_RUN_LIFETIME_S;
	options.cancel = cancel;
	options.adapter_name = "sandproof";
	return sp_provider_create(&opened->subject.provider, &options, ret_sandbox, err);
}

/* A shared sandbox may stay where it is, with whatever the provider keeps for it. */
static int make_shared(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	int rc;

	sp_leaks_absorb_begin(w->leaks);
	rc = sp_worker_make_sandbox(w, opened, cancel, &opened->shared, err);
	if (!rc) {
		sp_guard_keep(w->guard, &opened->shared);
		opened->shared_id = strdup(sp_sandbox_id(&opened->shared));
	}
	sp_leaks_absorb_end(w->leaks);
	if (!rc)
		sp_leaks_shared_base(w->leaks, opened);
	return rc;
}

int sp_worker_shared_sandbox(struct sp_worker *w, struct sp_opened *opened,
			     struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			     struct sp_error *err)
{
	int rc = opened->shared.ops ? 0 : make_shared(w, opened, cancel, err);

	if (!rc)
		*ret_sandbox = opened->shared;
	return rc;
}

void sp_worker_drop_shared(struct sp_worker *w, struct sp_opened *opened)
{
	struct sp_cancel *cancel SP_CLEANUP(sp_worker_unref_cancel) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	if (!opened->shared.ops)
		return;
	cancel = sp_worker_cleanup_cancel();
	if (sp_sandbox_destroy(&opened->shared, cancel, &err)) {
		free(sp_guard_take_named(w->guard, opened->shared_id));
		sp_worker_stuck(w, opened->shared_id, &err);
	}
	sp_sandbox_done(&opened->shared);
	free(SP_TAKE(opened->shared_id));
}

bool sp_worker_is_stuck(const struct sp_worker *w, const char *id)
{
	for (size_t i = 0; i < w->n_stuck; i++)
		if (!strcmp(w->stuck[i], id))
			return true;
	return false;
}

void sp_worker_stuck(struct sp_worker *w, const char *id, const struct sp_error *err)
{
	char **longer = reallocarray(w->stuck, w->n_stuck + 1, sizeof(*longer));
	char *copy = id ? strdup(id) : NULL;

	if (longer)
		w->stuck = longer;
	if (longer && copy)
		w->stuck[w->n_stuck++] = SP_TAKE(copy);
	free(copy);
	sp_worker_leak_thing(w, "sandbox", id, "%s could not be destroyed: %s: %s",
			     id ? id : "a sandbox", sp_code_name(err->code), err->message);
}

/* A reset took them all. */
static void forget_made(struct sp_worker *w)
{
	char *id;

	while ((id = sp_guard_take_sandbox(w->guard, true))) {
		sp_guard_removed(w->guard, id);
		free(id);
	}
	while ((id = sp_guard_take_snapshot(w->guard))) {
		sp_guard_deleted(w->guard, id);
		free(id);
	}
	while (w->n_stuck) {
		id = w->stuck[--w->n_stuck];
		sp_guard_removed(w->guard, id);
		free(id);
	}
	sp_guard_nothing_unknown(w->guard);
}

bool sp_worker_reset(struct sp_worker *w, struct sp_opened *opened)
{
	struct sp_control *control = &opened->subject.control;
	struct sp_error err = SP_ERROR_INIT;

	if (!opened->open || !control->ops)
		return false;
	/* All subjects of a worker share its workspace. */
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		sp_worker_drop_shared(w, &w->opened[kind]);
	if (control->ops->reset(control->self, &err)) {
		sp_worker_leak(w, w->case_id, "hold", "the back end could not be reset: %s: %s",
			       sp_code_name(err.code), err.message);
		return false;
	}
	forget_made(w);
	return true;
}

/* ---- tools ---- */

/* What is put into a command text without quotes. */
static bool is_plain_name(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789._+-")];
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

/* The tools that any selected case lists, each once. */
static void list_tools(const struct sp_selection *selection, struct sp_buf *out)
{
	for (size_t i = 0; i < selection->len; i++)
		for (const char *const *t = selection->cases[i]->tools; t && *t; t++)
			if (is_plain_name(*t) && !has_word(sp_buf_str(out), *t))
				sp_buf_addf(out, "%s%s", out->len ? " " : "", *t);
}

/* One exec for all tools of the run. */
static int probe_tools(struct sp_worker *w, struct sp_opened *opened, struct sp_sandbox *sandbox,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf tools SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	int rc;

	list_tools(&w->options->run->selection, &tools);
	sp_buf_addf(&command,
		    "for t in %s; do command -v \"$t\" >/dev/null 2>&1 && printf '%%s ' \"$t\"; "
		    "done; true",
		    sp_buf_str(&tools));
	options.command = sp_buf_str(&command);
	options.cancel = cancel;
	sp_guard_mute(w->guard, true);
	rc = sp_sandbox_exec(sandbox, &options, &result, err);
	sp_guard_mute(w->guard, false);
	if (rc)
		return rc;
	opened->tools = strdup(result.stdout_bytes.data ? (char *)result.stdout_bytes.data : "");
	return opened->tools ? 0 : sp_error_set(err, SP_INTERNAL, "no memory");
}

int sp_worker_missing_tool(struct sp_case *t, const char **ret_tool, struct sp_error *err)
{
	struct sp_opened *opened = t->opened;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	struct sp_sandbox *in = &sandbox;
	int rc = 0;

	*ret_tool = NULL;
	if (!t->def->tools || !t->def->tools[0] || !opened->subject.provider.ops)
		return 0;
	if (!opened->tools) {
		/* In the case's own sandbox where it has one: no other is needed for it then. */
		if (sp_needs_no_sandbox(t->def))
			rc = sp_worker_shared_sandbox(t->worker, opened, sp_case_cancel(t), in,
						      err);
		else
			in = sp_case_sandbox(t);
		if (rc || !in)
			return rc;
		rc = probe_tools(t->worker, opened, in, sp_case_cancel(t), err);
	}
	for (const char *const *tool = t->def->tools; !rc && *tool && !*ret_tool; tool++)
		if (!has_word(opened->tools, *tool))
			*ret_tool = *tool;
	return rc;
}
