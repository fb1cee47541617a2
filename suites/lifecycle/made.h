/* SPDX-License-Identifier: MIT */
/* What the cases of this suite ask again and again: refused creates, counts, resumes. */
#ifndef SUITE_LIFECYCLE_MADE_H
#define SUITE_LIFECYCLE_MADE_H

#include <witness/made.h>
#include <witness/shell.h>

/* struct sp_cancel *cancel LIFE_CANCEL = sp_cancel_new(); */
#define LIFE_CANCEL SP_CLEANUP(life_unref)
void life_unref(struct sp_cancel **cancel);

/* Create options with the case's cancel. */
struct sp_create_options life_options(struct sp_case *t);
/*
 * Creates and expects a failure of any kind; what comes instead is removed. Returns the
 * code, 0 after a recorded failure.
 */
int life_refused(struct sp_case *t, const struct sp_create_options *options, const char *what,
		 struct sp_error *err);
/* Live sandboxes that the back end counts in the workspace, or -1 after a recorded error. */
long long life_census(struct sp_case *t);
/*
 * Resumes in `provider` and expects a handle (`found`) or "gone for good".
 * False after a recorded failure.
 */
bool life_resume(struct sp_case *t, struct sp_provider *provider, const char *id, bool found,
		 struct sp_sandbox *ret_sandbox, const char *what);
/* Resumes and expects an error, which is not "gone". */
void life_resume_fails(struct sp_case *t, struct sp_provider *provider, const char *id,
		       const char *what);

#endif
