/* SPDX-License-Identifier: MIT */
#include "census.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "worker.h"

/* Times that a number which does not fit is asked for again; the first ones at once. */
#define ROUNDS 60
#define ROUNDS_AT_ONCE 4
#define PAUSE_MS 5
#define LISTING_MS 5000
#define LISTING_CEILING (8UL * 1024 * 1024)

static const struct sp_census_sandbox *find_sandbox(const struct sp_census *census, const char *id)
{
	for (size_t i = 0; id && i < census->n_sandboxes; i++)
		if (!strcmp(census->sandboxes[i].id, id))
			return &census->sandboxes[i];
	return NULL;
}

static int ask(struct sp_opened *opened, struct sp_census *ret_census)
{
	struct sp_control *control = &opened->subject.control;

	if (!control->ops)
		return SP_UNSUPPORTED;
	return control->ops->census(control->self, ret_census, NULL);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines of a text; malloc'ed, or NULL. */
static char *sorted_lines(char *text)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LISTING_CEILING);
	size_t n = 0, i = 0;
	char **lines SP_FREE = NULL;
	char *rest = text;
	char *line;

	for (const char *at = text; *at; at++)
		n += *at == '\n';
	lines = calloc(n + 1, sizeof(*lines));
	if (!lines)
		return NULL;
	while (i <= n && (line = strsep(&rest, "\n")))
		if (*line)
			lines[i++] = line;
	qsort(lines, i, sizeof(*lines), compare_lines);
	for (size_t k = 0; k < i; k++)
		sp_buf_addf(&out, "%s\n", lines[k]);
	return sp_buf_take(&out, NULL);
}

/* Whether the back end keeps sandboxes apart; where it does not, /tmp is everybody's. */
static bool has_own_tmp(const struct sp_census *census)
{
	for (size_t i = 0; i < census->n_cannot_hold; i++)
		if (!strcmp(census->cannot_hold[i], "isolation"))
			return false;
	return true;
}

/*
 * Names of everything in the shared sandbox's home, and in /tmp where that is its own;
 * NULL when it cannot be told.
 */
static char *list_files(struct sp_opened *opened, bool own_tmp)
{
	struct sp_cancel *cancel = sp_cancel_new();
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	char *listing = NULL;

	options.command = own_tmp ? "find /tmp . -xdev -print 2>/dev/null; true" :
				    "find . -xdev -print 2>/dev/null; true";
	options.cancel = cancel;
	sp_cancel_set_deadline(cancel, sp_deadline_ms(LISTING_MS));
	if (cancel && !sp_sandbox_exec(&opened->shared, &options, &result, NULL) &&
	    !result.stdout_cut && result.stdout_bytes.data)
		listing = sorted_lines((char *)result.stdout_bytes.data);
	sp_exec_result_done(&result);
	sp_cancel_unref(cancel);
	return listing;
}

void sp_shared_look_done(struct sp_shared_look *look)
{
	free(look->listing);
	memset(look, 0, sizeof(*look));
}

/* Takes the numbers as they are now. */
static void take_numbers(struct sp_shared_look *look, const struct sp_census_sandbox *sandbox)
{
	look->known = true;
	look->processes = sandbox->processes;
	look->commands = sandbox->commands;
	look->files = sandbox->files;
}

void sp_shared_look_take(struct sp_shared_look *look, struct sp_opened *opened)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	const struct sp_census_sandbox *sandbox;

	sp_shared_look_done(look);
	if (!opened->subject.control.ops)
		return;
	if (ask(opened, &census))
		return;
	look->own_tmp = has_own_tmp(&census);
	look->listing = list_files(opened, look->own_tmp);
	sandbox = find_sandbox(&census, opened->shared_id);
	if (!sandbox)
		return;
	take_numbers(look, sandbox);
	/* A new sandbox has nobody in it: what is still counted is on its way out. */
	look->processes = 0;
	look->commands = 0;
}

/*
 * True when a sandbox is the shared one of some subject of this worker, or
 * one that was reported already.
 */
static bool is_expected(const struct sp_worker *w, const char *id)
{
	if (sp_worker_is_stuck(w, id))
		return true;
	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		if (w->opened[kind].shared_id && !strcmp(w->opened[kind].shared_id, id))
			return true;
	return false;
}

static bool all_as_expected(const struct sp_worker *w, const struct sp_opened *opened,
			    const struct sp_shared_look *look, const struct sp_census *census)
{
	const struct sp_census_sandbox *shared = find_sandbox(census, opened->shared_id);

	for (size_t i = 0; i < census->n_sandboxes; i++)
		if (!is_expected(w, census->sandboxes[i].id))
			return false;
	if (census->n_snapshots || census->n_holds)
		return false;
	return !look->known || !shared ||
	       (shared->processes <= look->processes && shared->commands <= look->commands);
}

/* Asks until the numbers fit or the rounds are used up; false when the back end does not answer. */
static bool settle(struct sp_worker *w, struct sp_opened *opened, const struct sp_shared_look *look,
		   struct sp_census *ret_census)
{
	for (int round = 0; round < ROUNDS; round++) {
		sp_census_done(ret_census);
		if (ask(opened, ret_census))
			return false;
		if (all_as_expected(w, opened, look, ret_census))
			break;
		if (round >= ROUNDS_AT_ONCE)
			poll(NULL, 0, PAUSE_MS);
	}
	return true;
}

static void check_workspace(struct sp_worker *w, struct sp_opened *opened,
			    const struct sp_census *census)
{
	for (size_t i = 0; i < census->n_sandboxes; i++) {
		const struct sp_census_sandbox *sandbox = &census->sandboxes[i];

		if (is_expected(w, sandbox->id))
			continue;
		sp_worker_leak(w, w->case_id, "sandbox", "sandbox %s is still %s", sandbox->id,
			       sandbox->state);
		if (opened->subject.provider.ops)
			sp_provider_destroy(&opened->subject.provider, sandbox->id, NULL, NULL);
	}
	if (census->n_snapshots)
		sp_worker_leak(w, w->case_id, "snapshot", "%zu snapshots are left in the workspace",
			       census->n_snapshots);
	if (census->n_holds)
		sp_worker_leak(w, w->case_id, "hold", "%zu holds were set and not released",
			       census->n_holds);
}

/* First line that is in `after` and not in `before`; both sorted. Points into `after`. */
static const char *first_new_line(const char *before, const char *after, size_t *ret_len)
{
	while (*after) {
		size_t a = strcspn(after, "\n"), b = strcspn(before, "\n");
		int order = *before ? strncmp(before, after, a < b ? a : b) : 1;

		if (!order && a != b)
			order = b < a ? -1 : 1;
		if (order > 0) {
			*ret_len = a;
			return after;
		}
		before += b + (before[b] == '\n');
		if (!order)
			after += a + (after[a] == '\n');
	}
	return NULL;
}

/* True when files were left in the shared sandbox, or are missing from it. */
static bool check_files(struct sp_worker *w, struct sp_opened *opened, struct sp_shared_look *look)
{
	char *now SP_FREE = look->listing ? list_files(opened, look->own_tmp) : NULL;
	const char *line;
	size_t len;

	if (!now)
		return false;
	line = first_new_line(look->listing, now, &len);
	if (line) {
		sp_worker_leak(w, w->case_id, "file", "%.*s is left in the shared sandbox",
			       (int)len, line);
		return true;
	}
	line = first_new_line(now, look->listing, &len);
	if (line)
		sp_worker_leak(w, w->case_id, "file", "%.*s is missing from the shared sandbox",
			       (int)len, line);
	return line != NULL;
}

/* True when the shared sandbox is not as it was found. */
static bool check_shared(struct sp_worker *w, struct sp_opened *opened, struct sp_shared_look *look,
			 const struct sp_census_sandbox *sandbox)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;

	if (sandbox->processes > look->processes || sandbox->commands > look->commands) {
		sp_worker_leak(w, w->case_id, "process",
			       "the shared sandbox has %zu processes and %zu commands, %zu and %zu "
			       "were found",
			       sandbox->processes, sandbox->commands, look->processes,
			       look->commands);
		return true;
	}
	if (sandbox->files == look->files)
		return false;
	if (check_files(w, opened, look))
		return true;
	/* The provider's own bookkeeping: look at it from here on. */
	if (!ask(opened, &census) && find_sandbox(&census, opened->shared_id))
		look->files = find_sandbox(&census, opened->shared_id)->files;
	return false;
}

void sp_census_check(struct sp_worker *w, struct sp_opened *opened, struct sp_shared_look *look)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	const struct sp_census_sandbox *shared;
	bool reset;

	if (!opened->open || !opened->subject.control.ops)
		return;
	if (!settle(w, opened, look, &census))
		return;
	check_workspace(w, opened, &census);
	/* What nobody expected was told as a leak; then an unknown one may be among it. */
	if (all_as_expected(w, opened, look, &census))
		sp_guard_nothing_unknown(w->guard);
	/* Only a reset releases a hold, and it takes every sandbox with it. */
	reset = census.n_holds || census.n_snapshots;
	shared = find_sandbox(&census, opened->shared_id);
	if (opened->shared_id &&
	    (reset || !shared || (look->known && check_shared(w, opened, look, shared))))
		sp_worker_drop_shared(w, opened);
	if (reset)
		sp_worker_reset(w, opened);
}
