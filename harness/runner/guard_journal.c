/* SPDX-License-Identifier: MIT */
/* The guard around journals, their readers, and ensure. */
#include "guard_impl.h"

#include <stdlib.h>

#define ENTRY(table, prefix, name) .name = (table)->name ? prefix##_##name : NULL

/* ---- readers ---- */

struct guarded_reader {
	struct sp_guard *guard;
	struct sp_guard_link link;
	struct sp_journal_reader inner;
	struct sp_journal_reader_ops ops;
};

static int reader_next(void *self, struct sp_journal_line *ret_line, bool *ret_end,
		       struct sp_error *err)
{
	struct guarded_reader *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_journal_reader in = w->inner;

	return SP_GUARDED(guard, "journal_reader.next",
			  in.ops->next(in.self, ret_line, ret_end, err));
}

static void reader_close(void *self)
{
	struct guarded_reader *w = self;
	struct sp_guard *guard = w->guard;
	struct sp_journal_reader in = w->inner;

	sp_guard_unlink(guard, &w->link);
	free(w);
	sp_guard_enter(guard, "journal_reader.close");
	in.ops->close(in.self);
	sp_guard_leave(guard, "journal_reader.close");
}

static int guard_reader(struct sp_guard *guard, struct sp_journal_reader *reader,
			struct sp_error *err)
{
	struct guarded_reader *w;

	if (!reader->ops || reader->ops->version != SP_JOURNAL_READER_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w) {
		reader->ops->close(reader->self);
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	}
	w->guard = guard;
	w->inner = *reader;
	w->ops = (struct sp_journal_reader_ops){
		.version = SP_JOURNAL_READER_VERSION,
		ENTRY(reader->ops, reader, next),
		ENTRY(reader->ops, reader, close),
	};
	sp_guard_link(guard, &w->link, reader_close, w);
	*reader = (struct sp_journal_reader){ &w->ops, w };
	return 0;
}

/* ---- journals ---- */

struct guarded_journal {
	struct sp_guard *guard;
	struct sp_journal inner;
	struct sp_journal_ops ops;
};

static int journal_start(void *self, struct sp_sandbox *sandbox, const char *run_id,
			 const char *command, const struct sp_journal_options *options,
			 struct sp_process *ret_process, struct sp_error *err)
{
	struct guarded_journal *w = self;
	struct sp_process process = SP_PROCESS_INIT;
	int rc = SP_GUARDED(w->guard, "journal.start",
			    w->inner.ops->start(w->inner.self, sandbox, run_id, command, options,
						&process, err));

	sp_guard_note(w->guard, "journal start %s -> %s", run_id ? run_id : "NULL",
		      rc ? sp_code_name(rc) : "ok");
	if (!rc)
		rc = sp_guard_process(w->guard, &process, err);
	if (!rc)
		*ret_process = process;
	return rc;
}

static int journal_read(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
			const struct sp_journal_options *options,
			struct sp_journal_reader *ret_reader, struct sp_error *err)
{
	struct guarded_journal *w = self;
	struct sp_journal_reader reader = SP_JOURNAL_READER_INIT;
	int rc = SP_GUARDED(w->guard, "journal.read",
			    w->inner.ops->read(w->inner.self, sandbox, run_id, from, options,
					       &reader, err));

	sp_guard_note(w->guard, "journal read %s from %llu -> %s", run_id ? run_id : "NULL",
		      (unsigned long long)from, rc ? sp_code_name(rc) : "ok");
	if (!rc)
		rc = guard_reader(w->guard, &reader, err);
	if (!rc)
		*ret_reader = reader;
	return rc;
}

static int journal_probe(void *self, struct sp_sandbox *sandbox, const char *run_id,
			 const struct sp_journal_options *options, enum sp_journal_state *ret_state,
			 int *ret_exit_code, struct sp_error *err)
{
	struct guarded_journal *w = self;

	return SP_GUARDED(w->guard, "journal.probe",
			  w->inner.ops->probe(w->inner.self, sandbox, run_id, options, ret_state,
					      ret_exit_code, err));
}

static int journal_stderr_tail(void *self, struct sp_sandbox *sandbox, const char *run_id,
			       size_t max, const struct sp_journal_options *options,
			       struct sp_bytes *ret_bytes, struct sp_error *err)
{
	struct guarded_journal *w = self;

	return SP_GUARDED(w->guard, "journal.stderr_tail",
			  w->inner.ops->stderr_tail(w->inner.self, sandbox, run_id, max, options,
						    ret_bytes, err));
}

static int journal_list(void *self, struct sp_sandbox *sandbox,
			const struct sp_journal_options *options, struct sp_journal_list *ret_list,
			struct sp_error *err)
{
	struct guarded_journal *w = self;

	return SP_GUARDED(w->guard, "journal.list",
			  w->inner.ops->list(w->inner.self, sandbox, options, ret_list, err));
}

static int journal_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	struct guarded_journal *w = self;

	return SP_GUARDED(w->guard, "journal.remove",
			  w->inner.ops->remove(w->inner.self, sandbox, run_id, options, err));
}

static int journal_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
			  sp_journal_record_fn record, void *arg,
			  const struct sp_journal_options *options, struct sp_error *err)
{
	struct guarded_journal *w = self;
	int rc = SP_GUARDED(w->guard, "journal.attach",
			    w->inner.ops->attach(w->inner.self, sandbox, run_id, record, arg,
						 options, err));

	sp_guard_note(w->guard, "journal attach %s -> %s", run_id ? run_id : "NULL",
		      rc ? sp_code_name(rc) : "ok");
	return rc;
}

static int journal_sweep(void *self, struct sp_sandbox *sandbox,
			 const struct sp_journal_sweep_options *sweep,
			 const struct sp_journal_options *options,
			 struct sp_journal_sweep *ret_sweep, struct sp_error *err)
{
	struct guarded_journal *w = self;
	int rc = SP_GUARDED(w->guard, "journal.sweep",
			    w->inner.ops->sweep(w->inner.self, sandbox, sweep, options, ret_sweep,
						err));

	sp_guard_note(w->guard, "journal sweep -> %s", rc ? sp_code_name(rc) : "ok");
	return rc;
}

static void journal_close(void *self)
{
	struct guarded_journal *w = self;

	sp_guard_enter(w->guard, "journal.close");
	w->inner.ops->close(w->inner.self);
	sp_guard_leave(w->guard, "journal.close");
	free(w);
}

int sp_guard_journal(struct sp_guard *guard, struct sp_journal *journal, struct sp_error *err)
{
	const struct sp_journal_ops *in = journal->ops;
	struct guarded_journal *w;

	if (!in || in->version != SP_JOURNAL_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	w->guard = guard;
	w->inner = *journal;
	w->ops = (struct sp_journal_ops){
		.version = SP_JOURNAL_VERSION,
		ENTRY(in, journal, start),
		ENTRY(in, journal, read),
		ENTRY(in, journal, probe),
		ENTRY(in, journal, stderr_tail),
		ENTRY(in, journal, list),
		ENTRY(in, journal, remove),
		ENTRY(in, journal, attach),
		ENTRY(in, journal, sweep),
		ENTRY(in, journal, close),
	};
	*journal = (struct sp_journal){ &w->ops, w };
	return 0;
}

/* ---- ensure ---- */

struct guarded_ensure {
	struct sp_guard *guard;
	struct sp_ensure inner;
	struct sp_ensure_ops ops;
};

static int ensure_ensure(void *self, const struct sp_ensure_options *options,
			 struct sp_sandbox *ret_sandbox, enum sp_ensure_outcome *ret_outcome,
			 struct sp_error *err)
{
	struct guarded_ensure *w = self;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	enum sp_ensure_outcome outcome = SP_ENSURE_CREATED;
	int rc = SP_GUARDED(w->guard, "ensure.ensure",
			    w->inner.ops->ensure(w->inner.self, options, &sandbox, &outcome, err));

	sp_guard_note(w->guard, "ensure -> %s", rc ? sp_code_name(rc) : "ok");
	if (!rc)
		rc = sp_guard_sandbox(w->guard, NULL, &sandbox, err);
	if (rc)
		return rc;
	*ret_sandbox = sandbox;
	*ret_outcome = outcome;
	return 0;
}

static int ensure_key(void *self, const struct sp_ensure_options *options, char ret_key[17],
		      struct sp_error *err)
{
	struct guarded_ensure *w = self;

	return SP_GUARDED(w->guard, "ensure.key",
			  w->inner.ops->key(w->inner.self, options, ret_key, err));
}

static int ensure_destroy(void *self, const struct sp_ensure_options *options,
			  struct sp_error *err)
{
	struct guarded_ensure *w = self;
	int rc = SP_GUARDED(w->guard, "ensure.destroy",
			    w->inner.ops->destroy(w->inner.self, options, err));

	sp_guard_note(w->guard, "ensure destroy -> %s", rc ? sp_code_name(rc) : "ok");
	return rc;
}

static void ensure_close(void *self)
{
	struct guarded_ensure *w = self;

	sp_guard_enter(w->guard, "ensure.close");
	w->inner.ops->close(w->inner.self);
	sp_guard_leave(w->guard, "ensure.close");
	free(w);
}

int sp_guard_ensure(struct sp_guard *guard, struct sp_ensure *ensure, struct sp_error *err)
{
	const struct sp_ensure_ops *in = ensure->ops;
	struct guarded_ensure *w;

	if (!in || in->version != SP_ENSURE_VERSION)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return sp_error_set(err, SP_INTERNAL, "no memory for a guard");
	w->guard = guard;
	w->inner = *ensure;
	w->ops = (struct sp_ensure_ops){
		.version = SP_ENSURE_VERSION,
		ENTRY(in, ensure, ensure),
		ENTRY(in, ensure, key),
		ENTRY(in, ensure, destroy),
		ENTRY(in, ensure, close),
	};
	*ensure = (struct sp_ensure){ &w->ops, w };
	return 0;
}
