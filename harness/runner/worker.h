/* SPDX-License-Identifier: MIT */
/* A worker process: opens subjects, runs one case after another, and says what happened. */
#ifndef SP_RUNNER_WORKER_H
#define SP_RUNNER_WORKER_H

#include "case_impl.h"
#include "leaks.h"
#include "wire.h"

/* What a worker is given by the supervisor; all borrowed. */
struct sp_worker_options {
	const struct sp_run_options *run;
	int slot;
	/* Random text of the run, for names that nobody else uses. */
	const char *run_id;
	/* Its end of the socket. */
	int sock;
	struct sp_shared *shared;
	struct sp_ledger *ledger;
	/* Its part of a shared back end, or NULL. */
	const char *workspace;
	/* Its own folder for temporary files. */
	const char *tmp_dir;
	/* File that takes what it and its libraries print. */
	const char *log_path;
	/* See procs.h. */
	uint64_t mark;
	pid_t supervisor;
};

struct sp_worker {
	const struct sp_worker_options *options;
	struct sp_redact *redact;
	struct sp_guard *guard;
	struct sp_opened opened[SP_SUBJECT_KIND_MAX_];
	struct sp_leaks *leaks;
	/* Where other processes are ordered, or -1. */
	int nursery;
	/* Numbers given out by sp_case_unique(). */
	unsigned unique;
	/* Case that leaks are laid to. */
	const char *case_id;
	/* Sandboxes that could not be destroyed and are reported already. */
	char **stuck;
	size_t n_stuck;
	/* Limit of each phase of a case. */
	uint64_t limit_ms;
	/* It must not get another case. */
	bool retire;
	struct sp_wire wire;
};

/*
 * Runs until it is told to quit; the exit code of the process. Never
 * returns to the supervisor's code.
 */
int sp_worker_main(const struct sp_worker_options *options);

/* ---- Between the parts of the worker ---- */

/* Runs one case and tells the result. */
void sp_worker_run_case(struct sp_worker *w, uint64_t index, uint64_t limit_ms);
/* Sends w->wire. */
void sp_worker_tell(struct sp_worker *w);
/* Opens a subject if it is closed; tells the supervisor how that went. */
int sp_worker_open_subject(struct sp_worker *w, struct sp_opened *opened, struct sp_error *err);
/*
 * First tool that the case lists and the sandbox lacks, or NULL; all tools of the run are asked for
 * once. An error means that asking failed.
 */
int sp_worker_missing_tool(struct sp_case *t, const char **ret_tool, struct sp_error *err);
/* The declaration of a subject's provider as JSON text, malloc'ed; NULL where there is none. */
char *sp_declaration_json(struct sp_subject *subject);
/* A cancel for removing things, and its cleanup attribute. */
struct sp_cancel *sp_worker_cleanup_cancel(void);
void sp_worker_unref_cancel(struct sp_cancel **cancel);

/* Makes a sandbox for the runner's own use (shared or fresh), under `cancel`. */
int sp_worker_make_sandbox(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err);
/* The shared sandbox, made when there is none. */
int sp_worker_shared_sandbox(struct sp_worker *w, struct sp_opened *opened,
			     struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			     struct sp_error *err);
/* Destroys the shared sandbox, if there is one; what goes wrong is a leak line. */
void sp_worker_drop_shared(struct sp_worker *w, struct sp_opened *opened);
/*
 * Puts the back end of a subject into its first state, where it has control; every sandbox of the
 * worker goes with it. False when it was not.
 */
bool sp_worker_reset(struct sp_worker *w, struct sp_opened *opened);
/* Closes a subject with its shared sandbox; it is opened again when a case needs it. */
void sp_worker_close_subject(struct sp_worker *w, struct sp_opened *opened);
/*
 * Opens a subject anew whose back end is gone: its handles are dropped, and the shared sandbox is
 * removed through the new one.
 */
int sp_worker_reopen(struct sp_worker *w, struct sp_opened *opened, struct sp_error *err);
/* Opens another instance of the subject. */
int sp_worker_open(struct sp_worker *w, struct sp_opened *opened, struct sp_subject *ret_subject,
		   struct sp_error *err);
/* Tells of a sandbox that could not be destroyed, once. */
void sp_worker_stuck(struct sp_worker *w, const char *id, const struct sp_error *err);
bool sp_worker_is_stuck(const struct sp_worker *w, const char *id);
/* Tells the supervisor of something left behind. Each call is one leak. */
void sp_worker_leak(struct sp_worker *w, const char *case_id, const char *kind,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/*
 * Same, laid to the running case; `thing` is the id of what was left, so that it is not told twice.
 */
void sp_worker_leak_thing(struct sp_worker *w, const char *kind, const char *thing,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Tells the supervisor a secret. */
void sp_worker_secret(struct sp_worker *w, const char *secret);
/* Next text of [a-z0-9] that nobody else uses. */
void sp_worker_unique(struct sp_worker *w, char *buffer, size_t size);
/* What all of these texts begin with, after an "r"; NULL for no worker. */
const char *sp_worker_run_id(const struct sp_worker *w);

#endif
