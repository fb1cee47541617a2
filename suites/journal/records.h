/* SPDX-License-Identifier: MIT */
/* An owner's records, as a journal asks them: a table, and what was asked. */
#ifndef SUITE_JOURNAL_RECORDS_H
#define SUITE_JOURNAL_RECORDS_H

#include <sandproof/case.h>

/* One run of which the owner knows something. */
struct record {
	const char *run_id;
	enum sp_journal_record answer;
	/* A negative sp_code: the records cannot tell. */
	int rc;
};

/* A table of them; runs that are not in it are absent. */
struct records {
	struct sp_case *t;
	const struct record *rows;
	size_t len;
	/* Questions, and the last one's subject. */
	unsigned asked;
	const char *last;
	/* Someone asked about this run; NULL: nobody is watched. */
	const char *never;
	bool never_asked;
};

/* A sp_journal_record_fn; `arg` is a struct records. */
int records_ask(void *arg, const char *run_id, enum sp_journal_record *ret_record);

#endif
