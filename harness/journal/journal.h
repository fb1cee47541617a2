/* SPDX-License-Identifier: MIT */
/*
 * Our journal, behind the table of sandproof/journal.h. It touches a sandbox through exec and
 * spawn only, and every command is made from the run id alone, so that a
 * successor on another machine composes the same ones.
 */
#ifndef SP_JOURNAL_JOURNAL_H
#define SP_JOURNAL_JOURNAL_H

#include <sandproof/journal.h>
#include <sandproof/seams.h>

#define SP_JOURNAL_OPEN_VERSION 1

/* How to open it. */
struct sp_journal_open_options {
	unsigned version;
	/*
	 * What the provider of the sandboxes declares: whether a reader can follow, and whether
	 * output is bytes. NULL: polled unless a caller forces follow, and output may be text.
	 * Copied.
	 */
	const struct sp_capabilities *capabilities;
	/* Changed steps, or NULL for the healthy ones. Copied. */
	const struct sp_journal_steps *steps;
};

#define SP_JOURNAL_OPEN_INIT { .version = SP_JOURNAL_OPEN_VERSION }

/* Opens the journal. SP_INVALID for a version that is not ours, SP_INTERNAL without memory. */
int sp_journal_open(const struct sp_journal_open_options *options, struct sp_journal *ret_journal,
		    struct sp_error *err);

/* The healthy steps. */
struct sp_journal_steps sp_journal_steps(void);

#endif
