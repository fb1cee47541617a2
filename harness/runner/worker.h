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
	/* Numbers given out by sp_case_unique(). */
	unsigned unique;
	/* Case that leaks are laid to. */
	const char *case_id;
	/* It must not get another case. */
	bool retire;
	struct sp_wire wire;
};

/* Runs until it is told to quit; the exit code of the process. Never returns to the supervisor's code. */
int sp_worker_main(const struct sp_worker_options *options);

/* ---- Between worker.c, context.c and leaks.c ---- */

/* Makes a sandbox for the runner's own use (shared or fresh), under `cancel`. */
int sp_worker_make_sandbox(struct sp_worker *w, struct sp_opened *opened, struct sp_cancel *cancel,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err);
/* The shared sandbox, made when there is none. */
int sp_worker_shared_sandbox(struct sp_worker *w, struct sp_opened *opened,
			     struct sp_cancel *cancel, struct sp_sandbox *ret_sandbox,
			     struct sp_error *err);
/* Destroys the shared sandbox, if there is one; what goes wrong is a leak line. */
void sp_worker_drop_shared(struct sp_worker *w, struct sp_opened *opened);
/* Puts the back end of a subject into its first state, where it has control; every shared sandbox goes with it. */
void sp_worker_reset(struct sp_worker *w, struct sp_opened *opened);
/* Closes a subject with its shared sandbox; it is opened again when a case needs it. */
void sp_worker_close_subject(struct sp_worker *w, struct sp_opened *opened);
/* Opens another instance of the subject. */
int sp_worker_open(struct sp_worker *w, struct sp_opened *opened, struct sp_subject *ret_subject,
		   struct sp_error *err);
/* Tells the supervisor of something left behind. Each call is one leak. */
void sp_worker_leak(struct sp_worker *w, const char *case_id, const char *kind,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Tells the supervisor a secret. */
void sp_worker_secret(struct sp_worker *w, const char *secret);
/* Next text of [a-z0-9] that nobody else uses. */
void sp_worker_unique(struct sp_worker *w, char *buffer, size_t size);

#endif
