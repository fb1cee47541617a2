/* SPDX-License-Identifier: MIT */
/* Sandboxes that a case makes itself, in the runner's books and gone when the scope is left. */
#ifndef SUITE_LIFECYCLE_MADE_H
#define SUITE_LIFECYCLE_MADE_H

#include <base/cleanup.h>
#include <sandproof/case.h>

/*
 * struct sp_sandbox mine LIFE_MADE = SP_SANDBOX_INIT; destroyed and closed when the scope is left.
 */
#define LIFE_MADE SP_CLEANUP(life_end)
void life_end(struct sp_sandbox *sandbox);
/* struct sp_sandbox handle LIFE_HANDLE = SP_SANDBOX_INIT; closed only. */
#define LIFE_HANDLE SP_CLEANUP(sp_sandbox_done)

/* struct sp_cancel *cancel LIFE_CANCEL = sp_cancel_new(); */
#define LIFE_CANCEL SP_CLEANUP(life_unref)
void life_unref(struct sp_cancel **cancel);

/* Create options with the case's cancel. */
struct sp_create_options life_options(struct sp_case *t);
/* Creates; false after a recorded failure. */
bool life_create(struct sp_case *t, const struct sp_create_options *options,
		 struct sp_sandbox *ret_sandbox);
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
