/* SPDX-License-Identifier: MIT */
#include "journal_faults.h"

#include <stdarg.h>

char *journal_text(const char *format, ...)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * SP_BUF_COMMAND);
	va_list args;

	va_start(args, format);
	sp_buf_vaddf(&out, format, args);
	va_end(args);
	return sp_buf_take(&out, NULL);
}

char *journal_around(char *text, const char *before, const char *after)
{
	char *inner SP_FREE = text;

	return inner ? journal_text("%s%s%s", before, inner, after) : NULL;
}

/* ---- A journal around a journal ---- */

static int pass_start(void *self, struct sp_sandbox *sandbox, const char *run_id,
		      const char *command, const struct sp_journal_options *options,
		      struct sp_process *ret_process, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->start(in->self, sandbox, run_id, command, options, ret_process, err);
}

static int pass_read(void *self, struct sp_sandbox *sandbox, const char *run_id, uint64_t from,
		     const struct sp_journal_options *options, struct sp_journal_reader *ret_reader,
		     struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->read(in->self, sandbox, run_id, from, options, ret_reader, err);
}

static int pass_probe(void *self, struct sp_sandbox *sandbox, const char *run_id,
		      const struct sp_journal_options *options, enum sp_journal_state *ret_state,
		      int *ret_exit_code, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->probe(in->self, sandbox, run_id, options, ret_state, ret_exit_code, err);
}

static int pass_stderr_tail(void *self, struct sp_sandbox *sandbox, const char *run_id, size_t max,
			    const struct sp_journal_options *options, struct sp_bytes *ret_bytes,
			    struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->stderr_tail(in->self, sandbox, run_id, max, options, ret_bytes, err);
}

static int pass_list(void *self, struct sp_sandbox *sandbox,
		     const struct sp_journal_options *options, struct sp_journal_list *ret_list,
		     struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->list(in->self, sandbox, options, ret_list, err);
}

static int pass_remove(void *self, struct sp_sandbox *sandbox, const char *run_id,
		       const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->remove(in->self, sandbox, run_id, options, err);
}

static int pass_attach(void *self, struct sp_sandbox *sandbox, const char *run_id,
		       sp_journal_record_fn record, void *arg,
		       const struct sp_journal_options *options, struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->attach(in->self, sandbox, run_id, record, arg, options, err);
}

static int pass_sweep(void *self, struct sp_sandbox *sandbox,
		      const struct sp_journal_sweep_options *sweep,
		      const struct sp_journal_options *options, struct sp_journal_sweep *ret_sweep,
		      struct sp_error *err)
{
	struct sp_journal *in = &((struct fault_journal *)self)->inner;

	return in->ops->sweep(in->self, sandbox, sweep, options, ret_sweep, err);
}

static void journal_close(void *self)
{
	struct fault_journal *journal = self;

	journal->inner.ops->close(journal->inner.self);
	free(journal);
}

/* The changed entry, else the one that passes through where the healthy table has one. */
#define ENTRY(name) .name = changed->name ? changed->name : journal->ops->name ? pass_##name : NULL

int fault_wrap_journal(struct sp_journal *journal, const struct sp_journal_ops *changed,
		       struct sp_error *err)
{
	struct fault_journal *wrapper = calloc(1, sizeof(*wrapper));

	if (!wrapper)
		return sp_error_set(err, SP_INTERNAL, "no memory for a fault");
	wrapper->inner = *journal;
	wrapper->ops = (struct sp_journal_ops){
		.version = SP_JOURNAL_VERSION,
		ENTRY(start),
		ENTRY(read),
		ENTRY(probe),
		ENTRY(stderr_tail),
		ENTRY(list),
		ENTRY(remove),
		ENTRY(attach),
		ENTRY(sweep),
		.close = journal_close,
	};
	*journal = (struct sp_journal){ &wrapper->ops, wrapper };
	return 0;
}
