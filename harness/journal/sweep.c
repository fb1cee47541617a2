/* SPDX-License-Identifier: MIT */
/* The sweep of left-over journals (sandbox-contract 3.7): in doubt a file stays. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/clock.h>

#define MAX_DELETES 200

struct sweeping {
	struct journal *journal;
	struct sp_sandbox *sandbox;
	const struct sp_journal_options *options;
	const struct sp_journal_sweep_options *how;
	const struct sp_journal_list *list;
	struct sp_journal_facts facts;
};

/* What the journal itself says stands in for records that nobody keeps. */
static bool ask_journal(struct sweeping *s, const char *run_id, enum sp_journal_record *ret,
			struct sp_error *why)
{
	enum sp_journal_state state;
	int code;

	if (journal_probe(s->journal, s->sandbox, run_id, s->options, &state, &code, why))
		return false;
	switch (state) {
	case SP_JOURNAL_FINISHED:
		*ret = SP_RECORD_TERMINAL;
		return true;
	case SP_JOURNAL_PRODUCING:
		*ret = SP_RECORD_OPEN;
		return true;
	case SP_JOURNAL_UNKNOWN:
		*ret = SP_RECORD_ABSENT;
		return true;
	}
	return false;
}

/* The newest of a run's files; -1 when one has no time. */
static int64_t newest(const struct sp_journal_list *list, const char *run_id)
{
	int64_t found = 0;

	for (size_t i = 0; i < list->len; i++) {
		const struct sp_journal_entry *entry = &list->entries[i];

		if (!entry->run_id || strcmp(entry->run_id, run_id))
			continue;
		if (entry->mtime < 0)
			return -1;
		if (entry->mtime > found)
			found = entry->mtime;
	}
	return found;
}

/* "removing the journal: exit code 1 (rm: cannot remove …)". */
static char *reason_of(const struct sp_error *why)
{
	char *text = NULL;

	if (asprintf(&text, "%s%s%s%s", why->message, why->detail[0] ? " (" : "", why->detail,
		     why->detail[0] ? ")" : "") < 0)
		return NULL;
	return text;
}

static enum sp_journal_fate sweep_run(struct sweeping *s, const char *run_id, char **ret_reason)
{
	struct sp_journal_facts *facts = &s->facts;
	struct sp_error why = SP_ERROR_INIT;
	enum sp_journal_fate fate;

	facts->record = SP_RECORD_OPEN;
	facts->newest = newest(s->list, run_id);
	/* Nobody is asked about a run that cannot be removed any more. */
	if (facts->deleted < facts->max_deletes)
		facts->asked = s->how->record ? !s->how->record(s->how->arg, run_id, &facts->record)
					      : ask_journal(s, run_id, &facts->record, &why);
	fate = s->journal->steps.sweep_fate(facts);
	if (fate == SP_KEPT_RECORD_ERROR && why.message[0])
		*ret_reason = reason_of(&why);
	if (fate != SP_SWEPT_DELETED)
		return fate;
	if (journal_remove(s->journal, s->sandbox, run_id, s->options, &why)) {
		*ret_reason = reason_of(&why);
		return SP_KEPT_DELETE_FAILED;
	}
	facts->deleted++;
	return fate;
}

/* True when an earlier entry of the listing is a file of the same run. */
static bool came_before(const struct sp_journal_sweep *sweep, const char *run_id)
{
	for (size_t i = 0; i < sweep->len; i++)
		if (sweep->runs[i].run_id && !strcmp(sweep->runs[i].run_id, run_id))
			return true;
	return false;
}

static int sweep_entry(struct sweeping *s, const struct sp_journal_entry *entry,
		       struct sp_journal_sweep *sweep, struct sp_error *err)
{
	struct sp_journal_swept *swept = &sweep->runs[sweep->len];

	if (entry->run_id && came_before(sweep, entry->run_id))
		return 0;
	*swept = (struct sp_journal_swept){ .file = strdup(entry->file),
					    .fate = SP_KEPT_UNDECODABLE };
	if (entry->run_id)
		swept->run_id = strdup(entry->run_id);
	sweep->len++;
	if (!swept->file || (entry->run_id && !swept->run_id))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (entry->run_id)
		swept->fate = sweep_run(s, entry->run_id, &swept->reason);
	return 0;
}

static struct sp_journal_facts first_facts(const struct sp_journal_sweep_options *how,
					   const struct sp_journal_list *list)
{
	return (struct sp_journal_facts){
		.from_journal = !how->record,
		.mtimes_known = list->mtimes_known,
		.now = how->now_s ? how->now_s : sp_wall_ms() / 1000,
		.orphan_age = how->orphan_age_s,
		.max_deletes = how->max_deletes ? how->max_deletes : MAX_DELETES,
	};
}

int journal_sweep(void *self, struct sp_sandbox *sandbox,
		  const struct sp_journal_sweep_options *how,
		  const struct sp_journal_options *options, struct sp_journal_sweep *ret_sweep,
		  struct sp_error *err)
{
	static const struct sp_journal_sweep_options none = SP_JOURNAL_SWEEP_OPTIONS_INIT;
	struct sp_journal_list list SP_CLEANUP(sp_journal_list_done) = SP_JOURNAL_LIST_INIT;
	struct sp_journal_sweep sweep SP_CLEANUP(sp_journal_sweep_done) = SP_JOURNAL_SWEEP_INIT;
	struct sweeping s = { self, sandbox, options, how ? how : &none, &list, { 0 } };
	int rc;

	if (s.how->version != SP_JOURNAL_SWEEP_VERSION)
		return sp_error_set(err, SP_INVALID, "sweep options of version %u, expected %d",
				    s.how->version, SP_JOURNAL_SWEEP_VERSION);
	rc = journal_list(self, sandbox, options, &list, err);
	if (rc)
		return rc;
	s.facts = first_facts(s.how, &list);
	sweep.runs = calloc(list.len + 1, sizeof(*sweep.runs));
	if (!sweep.runs)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (size_t i = 0; !rc && i < list.len; i++) {
		rc = sp_cancel_check(options ? options->cancel : NULL, err);
		if (!rc)
			rc = sweep_entry(&s, &list.entries[i], &sweep, err);
	}
	if (rc)
		return rc;
	*ret_sweep = sweep;
	sweep = (struct sp_journal_sweep)SP_JOURNAL_SWEEP_INIT;
	return 0;
}
