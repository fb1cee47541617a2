/* SPDX-License-Identifier: MIT */
/* What the faults of the journal suite share: commands that are composed otherwise, and a journal
 * around a journal. */
#ifndef FAKE_FAULTY_JOURNAL_FAULTS_H
#define FAKE_FAULTY_JOURNAL_FAULTS_H

#include <base/buf.h>

#include "tables.h"
#include "wrap.h"

/* printf(3) into memory, as a step gives its texts; NULL without memory. */
char *journal_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Puts text before and after one that is malloc'ed, which is freed. NULL stays NULL. */
char *journal_around(char *text, const char *before, const char *after);

/* The table that is around the healthy one; ops of `changed` that are not NULL replace its. */
struct fault_journal {
	struct sp_journal inner;
	struct sp_journal_ops ops;
};

/* Puts it around `journal`, in place. `changed` gets a struct fault_journal as its self. */
int fault_wrap_journal(struct sp_journal *journal, const struct sp_journal_ops *changed,
		       struct sp_error *err);

/* One record of a fault that changes steps by change_NAME(). */
#define JOURNAL_STEP_FAULT(id_, name_, clause_, summary_, sources_, cases_, ...)                   \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "journal " clause_, .cases = cases_, .seam = SP_FAULT_JOURNAL_STEP,      \
		.change_journal = change_##name_, ##__VA_ARGS__                                    \
	}

/* Same, of a fault that wraps the journal by wrap_NAME(). */
#define JOURNAL_FAULT(id_, name_, clause_, summary_, sources_, cases_)                             \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "journal " clause_, .cases = cases_, .seam = SP_FAULT_JOURNAL,           \
		.wrap_journal = wrap_##name_                                                       \
	}

/* Same, of a fault that wraps the provider by wrap_NAME(). */
#define JOURNAL_PROVIDER_FAULT(id_, name_, clause_, summary_, sources_, cases_)                    \
	{                                                                                          \
		.version = SP_FAULT_VERSION, .id = id_, .summary = summary_, .sources = sources_,  \
		.clause = "journal " clause_, .cases = cases_, .seam = SP_FAULT_PROVIDER,          \
		.wrap_provider = wrap_##name_                                                      \
	}

#endif
