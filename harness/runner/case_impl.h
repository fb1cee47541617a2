/* SPDX-License-Identifier: MIT */
/* A running case, as the parts of the worker see it. */
#ifndef SP_RUNNER_CASE_IMPL_H
#define SP_RUNNER_CASE_IMPL_H

#include <pthread.h>

#include <redact/redact.h>
#include <runner/runner.h>

#include "guard.h"

/* Longest first line of what happened. */
#define SP_MESSAGE_MAX 1000

/* Memory that lives as long as the case. */
struct sp_case_block {
	struct sp_case_block *next;
	char text[];
};

/* A subject that a worker opened, with what it made of it. */
struct sp_opened {
	enum sp_subject_kind kind;
	const char *spec;
	const char *shown;
	struct sp_subject subject;
	bool open;
	/* It was open at least once. */
	bool was_open;
	/* The shared sandbox, and its id. */
	struct sp_sandbox shared;
	char *shared_id;
	/* Tools found in a sandbox of it, joined by spaces; NULL until asked for. */
	char *tools;
};

struct sp_worker;

struct sp_case {
	const struct sp_case_def *def;
	struct sp_worker *worker;
	struct sp_opened *opened;
	struct sp_guard *guard;
	struct sp_redact *redact;
	/* Cases may check and note from several threads. */
	pthread_mutex_t lock;

	/* True once the verdict is anything but a pass; the first one stays. */
	bool decided;
	enum sp_verdict verdict;
	size_t checks;
	char *message;
	char *expected;
	char *actual;
	struct sp_where where;

	struct sp_case_block *blocks;
	struct sp_cancel *cancel;
	/* Absolute time of the case's own cancel. */
	uint64_t cancel_at;
	unsigned rounds;
	unsigned unique;
	/* The sandbox that sp_case_sandbox() gave out, own or shared; ops NULL before. */
	struct sp_sandbox sandbox;
	bool sandbox_failed;
	/* Second instances, closed after the case. */
	struct sp_case_second *seconds;
	/* Other processes, killed after the case. */
	struct sp_peer *peers;
};

struct sp_case_second {
	struct sp_case_second *next;
	struct sp_subject subject;
};

/* Prepares a case; the caller sets the borrowed members before. */
void sp_case_init(struct sp_case *t);
/* Closes the second instances and drops the cancel. */
void sp_case_release(struct sp_case *t);
/* Frees everything else. */
void sp_case_done(struct sp_case *t);
/* Decides the verdict, if it is still open, with a plain message; texts are redacted. */
void sp_case_decide(struct sp_case *t, enum sp_verdict verdict, struct sp_where where,
		    const char *message);

/*
 * Makes the case a failure whatever it decided itself: its back end was at fault, and what the case
 * noticed of it comes after the cause.
 */
void sp_case_blame(struct sp_case *t, const struct sp_error *cause);

/* True when every need is met; else `ret_reason` says which is not. Tools are not looked at. */
bool sp_needs_met(const struct sp_case_def *def, const struct sp_subject *subject,
		  struct sp_buf *ret_reason);
/* "group" and so on. */
const char *sp_reach_name(enum sp_kill_reach reach);
/* True for cases that may never have a sandbox. */
bool sp_needs_no_sandbox(const struct sp_case_def *def);

#endif
