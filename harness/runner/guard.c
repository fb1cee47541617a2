/* SPDX-License-Identifier: MIT */
#include "guard_impl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

/* A note is formatted whole, redacted whole, and cut only then. */
#define NOTE_CEILING (2UL * 1024 * 1024)

struct sp_guard *sp_guard_new(const struct sp_guard_options *options)
{
	struct sp_guard *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return NULL;
	guard->options = *options;
	pthread_mutex_init(&guard->lock, NULL);
	return guard;
}

static void free_things(struct sp_guard_thing *thing)
{
	while (thing) {
		struct sp_guard_thing *next = thing->next;

		free(thing->id);
		free(thing);
		thing = next;
	}
}

struct sp_guard *sp_guard_free(struct sp_guard *guard)
{
	if (!guard)
		return NULL;
	free_things(guard->sandboxes);
	free_things(guard->snapshots);
	free_things(guard->unknown_sandboxes);
	free_things(guard->unknown_snapshots);
	free_things(guard->records);
	free(guard->workspace);
	free(guard->group);
	pthread_mutex_destroy(&guard->lock);
	free(guard);
	return NULL;
}

int sp_guard_subject(struct sp_guard *guard, struct sp_subject *subject, struct sp_error *err)
{
	int rc = sp_guard_provider(guard, &subject->provider, &subject->platform, err);

	/* What was wrapped before one fails stays wrapped, which is as good. */
	if (!rc)
		rc = sp_guard_store(guard, &subject->store, err);
	if (!rc)
		rc = sp_guard_lock(guard, &subject->lock, err);
	if (!rc)
		rc = sp_guard_journal(guard, &subject->journal, err);
	if (!rc)
		rc = sp_guard_ensure(guard, &subject->ensure, err);
	return rc;
}

/* ---- calls ---- */

/* True when the table that a call's name begins with is a plugin's. */
static bool is_foreign(const struct sp_guard *guard, const char *name)
{
	static const struct {
		const char *table;
		enum sp_subject_kind kind;
	} tables[] = {
		{ "provider.", SP_SUBJECT_PROVIDER },
		{ "sandbox.", SP_SUBJECT_PROVIDER },
		{ "process.", SP_SUBJECT_PROVIDER },
		{ "store.", SP_SUBJECT_STORE },
		{ "lock.", SP_SUBJECT_LOCK },
		{ "lease.", SP_SUBJECT_LOCK },
		{ "journal", SP_SUBJECT_JOURNAL },
		{ "ensure.", SP_SUBJECT_ENSURE },
	};

	for (size_t i = 0; guard->options.foreign && i < SP_COUNT(tables); i++)
		if (!strncmp(name, tables[i].table, strlen(tables[i].table)))
			return guard->options.foreign & 1u << tables[i].kind;
	return false;
}

void sp_guard_enter(struct sp_guard *guard, const char *name)
{
	atomic_store(&guard->options.shared->call, name);
	atomic_fetch_add(&guard->options.shared->in_call, 1);
	if (is_foreign(guard, name))
		atomic_fetch_add(&guard->options.shared->in_plugin, 1);
}

void sp_guard_leave(struct sp_guard *guard, const char *name)
{
	if (is_foreign(guard, name))
		atomic_fetch_sub(&guard->options.shared->in_plugin, 1);
	atomic_fetch_sub(&guard->options.shared->in_call, 1);
}

const char *sp_guard_look(struct sp_guard *guard, const char *name)
{
	const char *before = atomic_load(&guard->options.shared->call);

	sp_guard_enter(guard, name);
	return before;
}

void sp_guard_looked(struct sp_guard *guard, const char *name, const char *before)
{
	sp_guard_leave(guard, name);
	atomic_store(&guard->options.shared->call, before);
}

#define OTHER "a call in another process"

void sp_guard_enter_other(struct sp_guard *guard)
{
	sp_guard_enter(guard, OTHER);
}

void sp_guard_leave_other(struct sp_guard *guard)
{
	sp_guard_leave(guard, OTHER);
}

const char *sp_guard_pending(struct sp_guard *guard)
{
	struct sp_shared *shared = guard->options.shared;

	return atomic_load(&shared->in_call) > 0 ? atomic_load(&shared->call) : NULL;
}

/* ---- dialogue ---- */

void sp_guard_vnote(struct sp_guard *guard, const char *format, va_list args)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NOTE_CEILING);
	struct sp_buf shown SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(NOTE_CEILING);

	if (atomic_load(&guard->muted))
		return;
	sp_buf_vaddf(&line, format, args);
	sp_show_plain(&shown, guard->options.redact, sp_buf_str(&line), SP_DIALOGUE_LINE);
	pthread_mutex_lock(&guard->lock);
	sp_shared_note(guard->options.shared, sp_buf_str(&shown), shown.len);
	pthread_mutex_unlock(&guard->lock);
}

void sp_guard_note(struct sp_guard *guard, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sp_guard_vnote(guard, format, args);
	va_end(args);
}

void sp_guard_mute(struct sp_guard *guard, bool mute)
{
	atomic_store(&guard->muted, mute);
}

/* ---- handles ---- */

void sp_guard_link(struct sp_guard *guard, struct sp_guard_link *link, void (*close)(void *self),
		   void *self)
{
	link->close = close;
	link->self = self;
	pthread_mutex_lock(&guard->lock);
	link->next = guard->links;
	link->from = &guard->links;
	if (link->next)
		link->next->from = &link->next;
	guard->links = link;
	pthread_mutex_unlock(&guard->lock);
}

void sp_guard_unlink(struct sp_guard *guard, struct sp_guard_link *link)
{
	pthread_mutex_lock(&guard->lock);
	*link->from = link->next;
	if (link->next)
		link->next->from = link->from;
	pthread_mutex_unlock(&guard->lock);
}

void sp_guard_keep(struct sp_guard *guard, const struct sp_sandbox *sandbox)
{
	struct sp_sandbox same = *sandbox;
	const char *id = sp_sandbox_id(&same);

	pthread_mutex_lock(&guard->lock);
	for (struct sp_guard_link *link = guard->links; link; link = link->next)
		if (link->self == sandbox->self)
			link->kept = true;
	for (struct sp_guard_thing *thing = guard->sandboxes; thing; thing = thing->next)
		if (id && !strcmp(thing->id, id))
			thing->kept = true;
	pthread_mutex_unlock(&guard->lock);
}

static struct sp_guard_link *newest_left(struct sp_guard *guard)
{
	struct sp_guard_link *link;

	pthread_mutex_lock(&guard->lock);
	for (link = guard->links; link && link->kept; link = link->next)
		;
	pthread_mutex_unlock(&guard->lock);
	return link;
}

void sp_guard_drop_handles(struct sp_guard *guard)
{
	struct sp_guard_link *link;

	while ((link = newest_left(guard)))
		link->close(link->self);
}

/* ---- things ---- */

void sp_guard_add(struct sp_guard *guard, struct sp_guard_thing **list, const char *id)
{
	struct sp_guard_thing *thing = calloc(1, sizeof(*thing));

	if (!thing || !id || !(thing->id = strdup(id))) {
		free(thing);
		return;
	}
	pthread_mutex_lock(&guard->lock);
	thing->next = *list;
	*list = thing;
	pthread_mutex_unlock(&guard->lock);
}

/*
 * Takes the first that fits out of a list: the one with `id`, or any; one
 * that is kept only with `kept`.
 */
static char *take(struct sp_guard *guard, struct sp_guard_thing **list, const char *id, bool kept)
{
	struct sp_guard_thing *thing;
	char *taken = NULL;

	pthread_mutex_lock(&guard->lock);
	while ((thing = *list)) {
		if (id ? !strcmp(thing->id, id) : kept || !thing->kept)
			break;
		list = &thing->next;
	}
	if (thing) {
		*list = thing->next;
		taken = thing->id;
	}
	pthread_mutex_unlock(&guard->lock);
	free(thing);
	return taken;
}

bool sp_guard_remove(struct sp_guard *guard, struct sp_guard_thing **list, const char *id)
{
	char *taken SP_FREE = id ? take(guard, list, id, true) : NULL;

	return taken != NULL;
}

void sp_guard_made(struct sp_guard *guard, const char *row, const char *id)
{
	sp_ledger_made(guard->options.ledger, row, guard->workspace, id);
	if (!id)
		return;
	sp_guard_add(guard, &guard->sandboxes, id);
	if (guard->options.made)
		guard->options.made(guard->options.arg, id);
}

void sp_guard_gone(struct sp_guard *guard, const char *id)
{
	/* Destroying is idempotent; only the first time is news. */
	if (sp_guard_remove(guard, &guard->sandboxes, id))
		sp_guard_removed(guard, id);
}

void sp_guard_removed(struct sp_guard *guard, const char *id)
{
	sp_ledger_gone(guard->options.ledger, id);
	if (guard->options.gone)
		guard->options.gone(guard->options.arg, id);
}

void sp_guard_track(struct sp_guard *guard, const char *id)
{
	bool known = false;

	pthread_mutex_lock(&guard->lock);
	for (struct sp_guard_thing *thing = guard->sandboxes; thing; thing = thing->next)
		known = known || !strcmp(thing->id, id);
	pthread_mutex_unlock(&guard->lock);
	if (!known)
		sp_guard_made(guard, NULL, id);
}

char *sp_guard_take_sandbox(struct sp_guard *guard, bool kept)
{
	return take(guard, &guard->sandboxes, NULL, kept);
}

char *sp_guard_take_named(struct sp_guard *guard, const char *id)
{
	return id ? take(guard, &guard->sandboxes, id, true) : NULL;
}

char *sp_guard_take_snapshot(struct sp_guard *guard)
{
	return take(guard, &guard->snapshots, NULL, true);
}

void sp_guard_deleted(struct sp_guard *guard, const char *reference)
{
	sp_ledger_deleted(guard->options.ledger, reference);
}

/* ---- rows before calls, where the back end outlives the run ---- */

static int no_row(int rc, const char *what, struct sp_error *err)
{
	return sp_error_set_errno(err, -rc, "%s is not made without its row in the ledger", what);
}

/* Once: what is there before the run has made anything is a stranger's. */
static int list_before(struct sp_guard *guard, struct sp_provider *inner, struct sp_cancel *cancel)
{
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	bool listed;

	pthread_mutex_lock(&guard->lock);
	listed = guard->listed;
	guard->listed = true;
	pthread_mutex_unlock(&guard->lock);
	/* Without the list no unknown sandbox is ended by `sweep`; that is no reason not to run. */
	if (listed || !inner->ops->list || inner->ops->list(inner->self, &list, cancel, NULL))
		return 0;
	return sp_ledger_before(guard->options.ledger, guard->workspace,
				(const char *const *)list.ids, list.len);
}

int sp_guard_intent(struct sp_guard *guard, struct sp_provider *inner, uint32_t lifetime_s,
		    char row[SP_LEDGER_ROW], struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_ledger *ledger = guard->options.ledger;
	int rc = guard->options.outlives && ledger ? list_before(guard, inner, cancel) : 0;

	if (!rc)
		rc = sp_ledger_intent(ledger, guard->workspace, lifetime_s, row);
	return rc && guard->options.outlives ? no_row(rc, "a sandbox", err) : 0;
}

/* The group of a sandbox of ours; NULL where it is not told. All of a workspace share one. */
static char *group_of(struct sp_guard *guard, struct sp_platform *platform, const char *sandbox,
		      struct sp_cancel *cancel)
{
	struct sp_platform_sandbox look SP_CLEANUP(sp_platform_sandbox_done) =
		SP_PLATFORM_SANDBOX_INIT;
	char *group;

	pthread_mutex_lock(&guard->lock);
	group = guard->group ? strdup(guard->group) : NULL;
	pthread_mutex_unlock(&guard->lock);
	if (group || !platform->ops ||
	    platform->ops->look(platform->self, sandbox, &look, cancel, NULL) || !look.group)
		return group;
	pthread_mutex_lock(&guard->lock);
	if (!guard->group)
		guard->group = strdup(look.group);
	pthread_mutex_unlock(&guard->lock);
	return SP_TAKE(look.group);
}

int sp_guard_snapshot_begins(struct sp_guard *guard, struct sp_platform *platform,
			     const char *sandbox, const char *label, char row[SP_LEDGER_ROW],
			     struct sp_cancel *cancel, struct sp_error *err)
{
	char *group SP_FREE = NULL;
	int rc;

	row[0] = '\0';
	if (!guard->options.outlives || !guard->options.ledger)
		return 0;
	group = group_of(guard, platform, sandbox, cancel);
	rc = sp_ledger_snapshot(guard->options.ledger, guard->workspace, sandbox, group, label,
				row);
	return rc ? no_row(rc, "a snapshot", err) : 0;
}

bool sp_guard_may_be_there(int rc, const struct sp_error *err)
{
	return rc == SP_UNKNOWN_OUTCOME || (rc && err && strstr(err->detail, SP_MAY_BE_THERE));
}

void sp_guard_snapshot_ended(struct sp_guard *guard, const char *row, int rc,
			     const char *reference, const struct sp_error *err)
{
	if (*row && sp_guard_may_be_there(rc, err))
		sp_guard_add(guard, &guard->unknown_snapshots, row);
	else if (*row)
		sp_ledger_taken(guard->options.ledger, row, rc ? NULL : reference);
	if (!rc)
		sp_guard_add(guard, &guard->snapshots, reference);
}

void sp_guard_nothing_unknown(struct sp_guard *guard)
{
	char *row;

	while ((row = take(guard, &guard->unknown_sandboxes, NULL, true))) {
		sp_ledger_made(guard->options.ledger, row, guard->workspace, NULL);
		free(row);
	}
	while ((row = take(guard, &guard->unknown_snapshots, NULL, true))) {
		sp_ledger_taken(guard->options.ledger, row, NULL);
		free(row);
	}
}

/* Longest key that is told of: longer than any that our stores take, since messages are bounded. */
#define KEY_MAX_TOLD 4096

static bool has_record(struct sp_guard *guard, const char *key)
{
	bool has = false;

	pthread_mutex_lock(&guard->lock);
	for (struct sp_guard_thing *at = guard->records; !has && at; at = at->next)
		has = !strcmp(at->id, key);
	pthread_mutex_unlock(&guard->lock);
	return has;
}

bool sp_guard_can_tell(const char *key)
{
	return strnlen(key, KEY_MAX_TOLD + 1) <= KEY_MAX_TOLD;
}

bool sp_guard_wrote(struct sp_guard *guard, const char *key)
{
	if (has_record(guard, key))
		return false;
	sp_guard_add(guard, &guard->records, key);
	if (!sp_guard_can_tell(key))
		return true;
	sp_ledger_record(guard->options.ledger, key);
	if (guard->options.wrote)
		guard->options.wrote(guard->options.arg, key);
	return true;
}

void sp_guard_forgot(struct sp_guard *guard, const char *key)
{
	(void)sp_guard_remove(guard, &guard->records, key);
	if (!sp_guard_can_tell(key))
		return;
	sp_ledger_forgot(guard->options.ledger, key);
	if (guard->options.forgot)
		guard->options.forgot(guard->options.arg, key);
}

char *sp_guard_take_record(struct sp_guard *guard)
{
	return take(guard, &guard->records, NULL, true);
}
