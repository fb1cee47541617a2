/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include <stdio.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <runner/runner.h>

/* One sweep under way. */
struct sweep {
	const struct sp_sweep_options *o;
	const struct sp_book *book;
	struct sp_sweep_counts *counts;
};

__attribute__((format(printf, 2, 3))) static void say(const struct sweep *s, const char *format,
						      ...)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&line, format, args);
	va_end(args);
	s->o->say(s->o->arg, sp_buf_str(&line));
}

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Whether these credentials are those of a row. */
static bool is_ours(const struct sweep *s, const char *workspace)
{
	const struct sp_platform *platform = s->o->platform;

	return !workspace || !platform->ops ||
	       same(workspace, platform->ops->workspace(platform->self));
}

/* The second is what the platform's times are told in. */
static bool is_younger(int64_t made_ms, int64_t at_ms)
{
	return made_ms && made_ms / 1000 >= at_ms / 1000;
}

static bool has_passed(const struct sweep *s, int64_t at_ms, uint32_t lifetime_s)
{
	return lifetime_s && at_ms + (int64_t)lifetime_s * 1000 < s->o->now_ms;
}

/* ---- what is known by its id ---- */

/* True when there is nothing to be ended; what cannot be looked at is tried. */
static bool is_over(const struct sweep *s, const char *id)
{
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
	    SP_PLATFORM_SANDBOX_INIT;
	struct sp_platform *platform = s->o->platform;
	int rc = platform->ops ? platform->ops->look(platform->self, id, &look, s->o->cancel, NULL)
			       : SP_UNSUPPORTED;

	return rc == SP_GONE || (!rc && !strcmp(look.state, "terminated"));
}

static void end_sandbox(const struct sweep *s, const char *id, const char *why)
{
	struct sp_error err = SP_ERROR_INIT;

	if (is_over(s, id)) {
		say(s, "sandbox %s is gone already", id);
		s->counts->gone++;
	} else if (!s->o->end) {
		say(s, "sandbox %s would be ended%s", id, why);
		s->counts->ended++;
	} else if (sp_provider_destroy(s->o->provider, id, s->o->cancel, &err)) {
		say(s, "sandbox %s could not be ended: %s: %s", id, sp_code_name(err.code),
		    err.message);
		s->counts->failed++;
	} else {
		say(s, "sandbox %s is ended%s", id, why);
		s->counts->ended++;
	}
}

static void end_snapshot(const struct sweep *s, const char *reference, const char *why)
{
	struct sp_error err = SP_ERROR_INIT;

	if (!s->o->end) {
		say(s, "snapshot %s would be deleted%s", reference, why);
		s->counts->ended++;
	} else if (sp_provider_snapshot_delete(s->o->provider, reference, s->o->cancel, &err)) {
		say(s, "snapshot %s could not be deleted: %s: %s", reference,
		    sp_code_name(err.code), err.message);
		s->counts->failed++;
	} else {
		say(s, "snapshot %s is deleted%s", reference, why);
		s->counts->ended++;
	}
}

static void leave(const struct sweep *s, const char *what, const char *why)
{
	say(s, "%s: %s; it is left to its lifetime", what, why);
	s->counts->left++;
}

/* ---- a sandbox whose create has no known outcome ---- */

/* True when the list that was taken before the run says so, or the run made it by another call. */
static bool is_known(const struct sweep *s, const char *workspace, const char *id)
{
	for (size_t i = 0; i < s->book->n_before; i++)
		if (same(s->book->before[i].id, id) &&
		    (!workspace || same(s->book->before[i].workspace, workspace)))
			return true;
	for (size_t i = 0; i < s->book->n_made; i++)
		if (same(s->book->made[i].id, id))
			return true;
	return false;
}

static bool was_listed(const struct sweep *s, const char *workspace)
{
	for (size_t i = 0; i < s->book->n_before; i++)
		if (!workspace || same(s->book->before[i].workspace, workspace))
			return true;
	return false;
}

/* 1: it carries the fingerprint and is younger than the row; 0: not; -1: it cannot be told. */
static int carries(const struct sweep *s, const struct sp_book_sandbox *row, const char *id)
{
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
	    SP_PLATFORM_SANDBOX_INIT;
	struct sp_platform *platform = s->o->platform;
	int rc = platform->ops->look(platform->self, id, &look, s->o->cancel, NULL);

	if (rc)
		return rc == SP_GONE ? 0 : -1;
	return look.lifetime_s == row->lifetime_s && is_younger(look.created_ms, row->at_ms);
}

static void sweep_unknown_sandbox(const struct sweep *s, const struct sp_book_sandbox *row)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *found = NULL;
	size_t n = 0;
	char what[128];

	snprintf(what, sizeof(what), "a create of unknown outcome (lifetime %u s)",
		 row->lifetime_s);
	if (!s->o->platform->ops || !row->lifetime_s || !was_listed(s, row->workspace)) {
		leave(s, what, "nothing was noted by which it could be told");
		return;
	}
	if (sp_provider_list(s->o->provider, &list, s->o->cancel, &err)) {
		say(s, "%s: cannot list: %s: %s", what, sp_code_name(err.code), err.message);
		s->counts->failed++;
		return;
	}
	for (size_t i = 0; i < list.len; i++) {
		int fits =
		    is_known(s, row->workspace, list.ids[i]) ? 0 : carries(s, row, list.ids[i]);

		if (fits < 0) {
			leave(s, what, "a sandbox of the workspace could not be looked at");
			return;
		}
		if (fits) {
			found = list.ids[i];
			n++;
		}
	}
	if (n == 1) {
		end_sandbox(s, found, ", the only one with the fingerprint of its create");
	} else if (n) {
		leave(s, what, "several carry its fingerprint");
	} else {
		say(s, "%s made nothing that is there", what);
		s->counts->gone++;
	}
}

static void sweep_sandbox(const struct sweep *s, const struct sp_book_sandbox *row)
{
	char what[256];

	if (!is_ours(s, row->workspace)) {
		snprintf(what, sizeof(what), "sandbox %.80s", row->id ? row->id : "(unknown)");
		if (has_passed(s, row->at_ms, row->lifetime_s)) {
			say(s, "%s of workspace %s: its lifetime has passed", what, row->workspace);
			s->counts->gone++;
		} else {
			leave(s, what, "it is in a workspace that these credentials are not for");
		}
	} else if (row->id) {
		end_sandbox(s, row->id, "");
	} else if (has_passed(s, row->at_ms, row->lifetime_s)) {
		say(s, "a create of unknown outcome: its lifetime has passed");
		s->counts->gone++;
	} else {
		sweep_unknown_sandbox(s, row);
	}
}

/* ---- snapshots ---- */

static bool made_it(const struct sweep *s, const char *sandbox)
{
	for (size_t i = 0; i < s->book->n_made; i++)
		if (same(s->book->made[i].id, sandbox))
			return true;
	return false;
}

/* Another row of the run names it. */
static bool is_named(const struct sweep *s, const char *reference)
{
	for (size_t i = 0; i < s->book->n_snapshots; i++)
		if (same(s->book->snapshots[i].reference, reference))
			return true;
	return false;
}

/* Only a snapshot of a sandbox that the run made itself, and only if there is one alone. */
static void sweep_unknown_snapshot(const struct sweep *s, const struct sp_book_snapshot *row)
{
	static const char what[] = "a snapshot of unknown outcome";
	struct sp_platform_snapshots list SP_CLEANUP(sp_platform_snapshots_done) =
	    SP_PLATFORM_SNAPSHOTS_INIT;
	struct sp_platform *platform = s->o->platform;
	struct sp_error err = SP_ERROR_INIT;
	const char *found = NULL;
	size_t n = 0;

	if (!platform->ops || !row->group || !made_it(s, row->sandbox)) {
		leave(s, what, "nothing was noted by which it could be told");
		return;
	}
	if (platform->ops->snapshots(platform->self, row->group, &list, s->o->cancel, &err)) {
		say(s, "%s: cannot list: %s: %s", what, sp_code_name(err.code), err.message);
		s->counts->failed++;
		return;
	}
	for (size_t i = 0; i < list.len; i++) {
		if (!same(list.items[i].source_id, row->sandbox) ||
		    !is_younger(list.items[i].requested_ms, row->at_ms) ||
		    is_named(s, list.items[i].reference))
			continue;
		found = list.items[i].reference;
		n++;
	}
	if (n == 1) {
		end_snapshot(s, found, ", the only one of its sandbox");
	} else if (n) {
		leave(s, what, "its sandbox has several");
	} else {
		say(s, "%s took nothing that is there", what);
		s->counts->gone++;
	}
}

static void sweep_snapshot(const struct sweep *s, const struct sp_book_snapshot *row)
{
	bool passed = has_passed(s, row->at_ms, SP_RUN_SNAPSHOT_LIFETIME_S);

	if (is_ours(s, row->workspace) && row->reference) {
		end_snapshot(s, row->reference, "");
	} else if (passed) {
		say(s, "snapshot %s: its lifetime has passed",
		    row->reference ? row->reference : "of unknown outcome");
		s->counts->gone++;
	} else if (!is_ours(s, row->workspace)) {
		leave(s, row->reference ? row->reference : "a snapshot",
		      "it is in a workspace that these credentials are not for");
	} else {
		sweep_unknown_snapshot(s, row);
	}
}

void sp_sweep_book(const struct sp_sweep_options *options, struct sp_sweep_counts *ret_counts)
{
	struct sp_sweep_counts counts = {0, 0, 0, 0};
	const struct sweep sweep = {options, options->book, &counts};

	for (size_t i = 0; i < options->book->n_snapshots; i++)
		sweep_snapshot(&sweep, &options->book->snapshots[i]);
	for (size_t i = 0; i < options->book->n_sandboxes; i++)
		sweep_sandbox(&sweep, &options->book->sandboxes[i]);
	*ret_counts = counts;
}

/* ---- records ---- */

/* Deletes one; one that is not there is no news. */
static void sweep_record(struct sweep *s, struct sp_store *store, const char *key)
{
	struct sp_record record SP_CLEANUP(sp_record_done) = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = true;
	int rc = sp_store_get(store, key, &record, &found, s->o->cancel, &err);

	if (!rc && !found) {
		s->counts->gone++;
		return;
	}
	/* One that is damaged is deleted, too. */
	rc = s->o->end ? sp_store_del(store, key, s->o->cancel, &err) : 0;
	if (rc) {
		s->counts->failed++;
		say(s, "record %.200s: cannot be deleted: %s: %s", key, sp_code_name(rc),
		    err.message);
		return;
	}
	s->counts->ended++;
	say(s, "record %.200s: %s", key, s->o->end ? "deleted" : "to be deleted");
}

void sp_sweep_records(const struct sp_sweep_options *options, struct sp_store *store,
		      struct sp_sweep_counts *ret_counts)
{
	struct sp_sweep_counts counts = {0, 0, 0, 0};
	struct sweep s = {.o = options, .book = options->book, .counts = &counts};

	for (size_t i = 0; i < s.book->n_records; i++)
		sweep_record(&s, store, s.book->records[i]);
	*ret_counts = counts;
}
