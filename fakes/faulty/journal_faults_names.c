/* SPDX-License-Identifier: MIT */
/* Faults of names, of listing, removing and sweeping, and of attaching. */
#include <string.h>

#include "journal_faults.h"

static struct sp_journal_steps healthy;

typedef struct sp_journal_words words_t;

#define CHANGE(name, step)                                                                         \
	static void change_##name(struct sp_journal_steps *steps)                                  \
	{                                                                                          \
		healthy = *steps;                                                                  \
		steps->step = name;                                                                \
	}

/* ---- Names ---- */

static char *raw_name(const char *run_id, size_t len)
{
	return strndup(run_id, len);
}
CHANGE(raw_name, encode_name)

/* Longest token whose head alone is kept. */
static char *cut_name(const char *run_id, size_t len)
{
	char *token = healthy.encode_name(run_id, len);

	if (token && strlen(token) == 200)
		token[183] = '\0';
	return token;
}
CHANGE(cut_name, encode_name)

/* '_' stays as it is, so "_40" and "@" share a file. */
static char *loose_name(const char *run_id, size_t len)
{
	char *token = healthy.encode_name(run_id, len), *at = token;

	while (at && (at = strstr(at, "_5f"))) {
		memmove(at + 1, at + 3, strlen(at + 3) + 1);
		at++;
	}
	return token;
}
CHANGE(loose_name, encode_name)

static char *host_name(const char *run_id, size_t len)
{
	char *token SP_FREE = healthy.encode_name(run_id, len);

	return token ? journal_text("%s-%d", token, (int)getpid()) : NULL;
}
CHANGE(host_name, encode_name)

static char *no_quotes(const char *text)
{
	return strdup(text);
}

static void change_unprotected(struct sp_journal_steps *steps)
{
	steps->encode_name = raw_name;
	steps->quote = no_quotes;
}

static char *naive_quotes(const char *text)
{
	return journal_text("'%s'", text);
}
CHANGE(naive_quotes, quote)

/* ---- The empty id ---- */

static const char *some_id(const char *run_id)
{
	return run_id && *run_id ? run_id : "none";
}

static int named_start(void *self, struct sp_sandbox *sandbox, const char *run_id,
		       const char *command, const struct sp_journal_options *options,
		       struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->start(in->self, sandbox, some_id(run_id), command, options, ret_process,
			      err);
}

static int named_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
			const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->remove(in->self, sandbox, some_id(run_id), options, err);
}

static int wrap_empty_id(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .start = named_start,
						       .remove = named_remove };

	return fault_wrap_journal(journal, &changed, err);
}

/* ---- Listing ---- */

/* Takes escapes in any spelling, and never asks whether the name is the run's own. */
static int open_decode(const char *file, struct sp_bytes *ret_run_id)
{
	struct sp_buf id SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *dot = strrchr(file, '.');
	char hex[3] = "";

	if (!dot || dot == file || (strcmp(dot, ".ndjson") && strcmp(dot, ".err")))
		return SP_INVALID;
	for (const char *c = file; c < dot; c++) {
		if (*c != '_') {
			sp_buf_addc(&id, *c);
			continue;
		}
		memcpy(hex, c + 1, 2);
		if (strspn(hex, "0123456789abcdefABCDEF") != 2)
			return SP_INVALID;
		sp_buf_addc(&id, (char)strtol(hex, NULL, 16));
		c += 2;
	}
	return sp_buf_take_bytes(&id, ret_run_id) ? SP_INTERNAL : 0;
}
CHANGE(open_decode, decode_name)

static char *other_times(const words_t *w)
{
	return journal_text("stat -c '%%Z %%n' %s %s/* 2>/dev/null", w->dir, w->dir);
}
CHANGE(other_times, compose_mtimes)

static void change_unwitnessed(struct sp_journal_steps *steps)
{
	steps->need_witness = false;
}

static char *remove_half(const words_t *w)
{
	return journal_text("rm -f %s", w->journal);
}
CHANGE(remove_half, compose_remove)

static char *remove_strict(const words_t *w)
{
	return journal_text("rm %s %s", w->journal, w->stderr_file);
}
CHANGE(remove_strict, compose_remove)

/* ---- Sweeping ---- */

static char *remove_nothing(const words_t *w)
{
	(void)w;
	return journal_text(":");
}
CHANGE(remove_nothing, compose_remove)

static enum sp_journal_fate takes_live(const struct sp_journal_facts *facts)
{
	if (facts->from_journal && facts->record == SP_RECORD_OPEN)
		return SP_SWEPT_DELETED;
	return healthy.sweep_fate(facts);
}
CHANGE(takes_live, sweep_fate)

static enum sp_journal_fate paused_is_over(const struct sp_journal_facts *facts)
{
	if (facts->asked && !facts->from_journal && facts->record == SP_RECORD_OPEN)
		return SP_SWEPT_DELETED;
	return healthy.sweep_fate(facts);
}
CHANGE(paused_is_over, sweep_fate)

static enum sp_journal_fate error_is_unknown(const struct sp_journal_facts *facts)
{
	struct sp_journal_facts other = *facts;

	if (!other.asked)
		other.record = SP_RECORD_ABSENT;
	other.asked = true;
	return healthy.sweep_fate(&other);
}
CHANGE(error_is_unknown, sweep_fate)

static enum sp_journal_fate age_strict(const struct sp_journal_facts *facts)
{
	struct sp_journal_facts other = *facts;

	other.orphan_age++;
	return healthy.sweep_fate(&other);
}
CHANGE(age_strict, sweep_fate)

static enum sp_journal_fate at_once(const struct sp_journal_facts *facts)
{
	struct sp_journal_facts other = *facts;

	other.orphan_age = 0;
	return healthy.sweep_fate(&other);
}
CHANGE(at_once, sweep_fate)

static enum sp_journal_fate no_cap(const struct sp_journal_facts *facts)
{
	struct sp_journal_facts other = *facts;

	/* The record of a run beyond the cap was not asked: it is taken for what the runs before it
	 * were. */
	if (other.deleted >= other.max_deletes) {
		other.asked = true;
		other.record = SP_RECORD_TERMINAL;
	}
	other.max_deletes = SIZE_MAX;
	return healthy.sweep_fate(&other);
}
CHANGE(no_cap, sweep_fate)

/* ---- Attaching ---- */

static int ask_then_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
			   sp_journal_record_fn record, void *arg,
			   const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;
	enum sp_journal_record answer;

	if (record)
		(void)record(arg, run_id, &answer);
	return in->ops->attach(in->self, sandbox, run_id, record, arg, options, err);
}

static int wrap_asks_first(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .attach = ask_then_attach };

	return fault_wrap_journal(journal, &changed, err);
}

static int attach_unasked(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  sp_journal_record_fn record, void *arg,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;
	struct sp_journal_options other = *options;

	(void)record, (void)arg;
	other.first_byte_ms = 1;
	return in->ops->attach(in->self, sandbox, run_id, NULL, NULL, &other, err);
}

static int wrap_ignores_records(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .attach = attach_unasked };

	return fault_wrap_journal(journal, &changed, err);
}

static int all_absent(void *arg, const char *run_id, enum sp_journal_record *ret_record)
{
	(void)arg, (void)run_id;
	*ret_record = SP_RECORD_ABSENT;
	return 0;
}

static int attach_hastily(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  sp_journal_record_fn record, void *arg,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	(void)record, (void)arg;
	return in->ops->attach(in->self, sandbox, run_id, all_absent, NULL, options, err);
}

static int wrap_hasty(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .attach = attach_hastily };

	return fault_wrap_journal(journal, &changed, err);
}

static int attach_for_ever(void *self, struct sp_sandbox *sandbox, const char *run_id,
			   sp_journal_record_fn record, void *arg,
			   const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;
	struct sp_journal_options other = *options;

	other.first_byte_ms = UINT32_MAX;
	return in->ops->attach(in->self, sandbox, run_id, record, arg, &other, err);
}

static int wrap_unbounded(struct sp_journal *journal, struct sp_error *err)
{
	static const struct sp_journal_ops changed = { .attach = attach_for_ever };

	return fault_wrap_journal(journal, &changed, err);
}

static char *creating(const words_t *w)
{
	return journal_text("mkdir -p %s; : >> %s; test -f %s", w->dir, w->journal, w->journal);
}
CHANGE(creating, compose_exists)

static void change_fails_open(struct sp_journal_steps *steps)
{
	steps->attach_fails_closed = false;
}

static const struct sp_fault faults[] = {
	JOURNAL_STEP_FAULT("journal-names-raw", raw_name, "J14", "A run id is its file name.",
			   FAULT_LIST("contract:3.1"),
			   FAULT_LIST("journal.names.vectors", "journal.names.look-alikes")),
	JOURNAL_STEP_FAULT("journal-names-cut", cut_name, "J14",
			   "Long names are cut and have no digest.", FAULT_LIST("contract:3.1"),
			   FAULT_LIST("journal.names.vectors")),
	JOURNAL_STEP_FAULT("journal-names-loose", loose_name, "J14", "`_` is not escaped.",
			   FAULT_LIST("contract:3.1"), FAULT_LIST("journal.names.look-alikes")),
	JOURNAL_STEP_FAULT("journal-names-per-host", host_name, "J12",
			   "File names depend on the host that made them.",
			   FAULT_LIST("contract:3"), FAULT_LIST("journal.ends.host-killed")),
	JOURNAL_STEP_FAULT("journal-names-unprotected", unprotected, "J14",
			   "Run ids reach the shell as they are.",
			   FAULT_LIST("contract:C43", "contract:2.4"),
			   FAULT_LIST("journal.names.hostile")),
	JOURNAL_STEP_FAULT("journal-quotes-naive", naive_quotes, "J14",
			   "A quote in a path ends its quoting.",
			   FAULT_LIST("contract:C269", "contract:3.3"),
			   FAULT_LIST("journal.names.hostile-folder")),
	JOURNAL_FAULT("journal-empty-id", empty_id, "J14", "An empty run id is given a name.",
		      FAULT_LIST("contract:3.1"), FAULT_LIST("journal.names.refused")),
	JOURNAL_STEP_FAULT("journal-decode-open", open_decode, "J16",
			   "A name that is not its run's own is taken for the run's.",
			   FAULT_LIST("contract:C93", "contract:C88"),
			   FAULT_LIST("journal.list.names", "journal.sweep.finished-only",
				      "journal.sweep.records")),
	JOURNAL_STEP_FAULT("journal-other-times", other_times, "J16",
			   "Times are those of the last change of status.",
			   FAULT_LIST("contract:3.3"), FAULT_LIST("journal.list.times")),
	JOURNAL_STEP_FAULT("journal-times-unwitnessed", unwitnessed, "J17",
			   "Times that could not be told count as told.",
			   FAULT_LIST("contract:3.3"), FAULT_LIST("journal.sweep.no-times")),
	JOURNAL_STEP_FAULT("journal-remove-half", remove_half, "J16",
			   "stderr files are never removed.", FAULT_LIST("contract:3.3"),
			   FAULT_LIST("journal.remove.own")),
	JOURNAL_STEP_FAULT("journal-remove-strict", remove_strict, "J16",
			   "Removing what is gone is an error.", FAULT_LIST("contract:C79"),
			   FAULT_LIST("journal.remove.own")),
	JOURNAL_STEP_FAULT("sweep-lies", remove_nothing, "J17",
			   "A sweep reports deletions that it did not do.",
			   FAULT_LIST("contract:3.7"),
			   FAULT_LIST("journal.sweep.finished-only", "journal.sweep.failed")),
	JOURNAL_STEP_FAULT("sweep-takes-live", takes_live, "J17", "A sweep removes live runs.",
			   FAULT_LIST("contract:3.7"), FAULT_LIST("journal.sweep.finished-only")),
	JOURNAL_STEP_FAULT("sweep-paused-is-over", paused_is_over, "J17",
			   "A run that is paused is taken for finished.",
			   FAULT_LIST("contract:C90"), FAULT_LIST("journal.sweep.records")),
	JOURNAL_STEP_FAULT("sweep-error-is-unknown", error_is_unknown, "J17",
			   "A record that cannot be read is taken for none.",
			   FAULT_LIST("contract:C89"), FAULT_LIST("journal.sweep.records")),
	JOURNAL_STEP_FAULT("sweep-age-strict", age_strict, "J17",
			   "A run of exactly the age is called fresh.", FAULT_LIST("contract:C86"),
			   FAULT_LIST("journal.sweep.age")),
	JOURNAL_STEP_FAULT("sweep-orphans-at-once", at_once, "J17",
			   "Runs without record go whatever their age.", FAULT_LIST("contract:3.7"),
			   FAULT_LIST("journal.sweep.age")),
	JOURNAL_STEP_FAULT("sweep-no-cap", no_cap, "J17",
			   "A sweep removes as many runs as there are.", FAULT_LIST("contract:C92"),
			   FAULT_LIST("journal.sweep.cap")),
	JOURNAL_FAULT("attach-asks-first", asks_first, "J15",
		      "The records are asked before the journal is looked for.",
		      FAULT_LIST("contract:3.6"), FAULT_LIST("journal.attach.there")),
	JOURNAL_FAULT("attach-ignores-records", ignores_records, "J15",
		      "Attaching waits instead of asking the records.",
		      FAULT_LIST("contract:C54", "contract:C56"),
		      FAULT_LIST("journal.attach.unknown", "journal.attach.terminal")),
	JOURNAL_FAULT("attach-hasty", hasty, "J15",
		      "A journal that comes later than its record is given up.",
		      FAULT_LIST("contract:C57", "contract:C80"),
		      FAULT_LIST("journal.attach.late")),
	JOURNAL_FAULT("attach-unbounded", unbounded, "J15", "Attaching waits for ever.",
		      FAULT_LIST("contract:C58"), FAULT_LIST("journal.attach.bounded")),
	JOURNAL_STEP_FAULT("attach-creates", creating, "J15", "The probe makes what it looks for.",
			   FAULT_LIST("contract:C54"), FAULT_LIST("journal.attach.unknown")),
	JOURNAL_STEP_FAULT("attach-fails-open", fails_open, "J15",
			   "A probe that cannot run means yes.", FAULT_LIST("contract:C55"),
			   FAULT_LIST("journal.attach.broken-probe")),
};
FAULT_TABLE(fault_journal_names, faults);
