/* SPDX-License-Identifier: MIT */
/*
 * What most cases of this suite set up first: a stage, options for a key of
 * the case's own, a bootstrap.
 */
#ifndef SUITE_ENSURE_SCENE_H
#define SUITE_ENSURE_SCENE_H

#include <string.h>

#include <suites/ensure/stage.h>
#include <witness/call.h>
#include <witness/rounds.h>
#include <witness/shell.h>

struct ensure_scene {
	struct sp_case *t;
	struct ensure_stage stage;
	struct sp_ensure_options options;
	char key[17];
	/* What the bootstrap does: this code; abort this cancel first. */
	int bootstrap_code;
	struct sp_cancel *bootstrap_aborts;
	/* Wait until the cancel that it got fires, and answer its code. */
	bool bootstrap_hangs;
	/* Shell text to run in the sandbox that it got, or NULL. */
	const char *bootstrap_runs;
	/* Id of the sandbox that it got last; it saw no record of the key then. */
	const char *bootstrap_in;
	bool bootstrap_saw_record;
	unsigned bootstrap_saw_shots;
};

#define ENSURE_SCENE_INIT { .bootstrap_code = 0 }
/*
 * struct ensure_scene s ENSURE_SCENE = ENSURE_SCENE_INIT; Declare it before the calls that use it.
 */
#define ENSURE_SCENE SP_CLEANUP(ensure_scene_close)

/* What one ensure left. Closes the handle. */
struct ensure_got {
	int rc;
	struct sp_error err;
	struct sp_sandbox sandbox;
	enum sp_ensure_outcome outcome;
};

#define ENSURE_GOT_INIT { .rc = 0 }
/* struct ensure_got got ENSURE_GOT = ENSURE_GOT_INIT; */
#define ENSURE_GOT SP_CLEANUP(ensure_got_done)

/*
 * Opens the stage on the case's subject, with a thread of the case's own.
 * False after a recorded failure.
 */
bool ensure_scene_open(struct sp_case *t, struct ensure_scene *s);
/* Another stage for the key of `like`: on another instance of the subject, or on the same one. */
bool ensure_scene_second(struct ensure_scene *s, const struct ensure_scene *like);
bool ensure_scene_beside(struct ensure_scene *s, const struct ensure_scene *like);
/* See ENSURE_SCENE. */
void ensure_scene_close(struct ensure_scene *s);
/* Computes the key again, after the options were changed. False after a recorded failure. */
bool ensure_scene_key(struct ensure_scene *s);

/* One ensure with the scene's options; records nothing. */
void ensure_run(struct ensure_scene *s, struct ensure_got *got);
/* Same, and checks that it works and how the sandbox was come by. */
bool ensure_works(struct ensure_scene *s, enum sp_ensure_outcome outcome, struct ensure_got *got);
/* Same, and checks that it answers exactly this code. */
bool ensure_refuses(struct ensure_scene *s, int code, struct ensure_got *got);
/* One ensure on a thread of its own. */
struct ensure_call {
	struct ensure_scene *scene;
	struct ensure_got got;
	struct sp_call *call;
};
#define ENSURE_CALL_INIT { .call = NULL }
#define ENSURE_CALL SP_CLEANUP(ensure_call_done)
/* Starts it; false after a recorded error. */
bool ensure_call_start(struct ensure_scene *s, struct ensure_call *call);
/* Waits for the answer; false after a recorded error. */
bool ensure_call_join(struct ensure_call *call);
/* See ENSURE_CALL and ENSURE_GOT. */
void ensure_call_done(struct ensure_call *call);
void ensure_got_done(struct ensure_got *got);

/*
 * The record of the scene's key as the subject's store has it; freed with ENSURE_RECORD. False
 * after a recorded failure, also when there is none.
 */
#define ENSURE_RECORD SP_CLEANUP(sp_record_done)
bool ensure_record(struct ensure_scene *s, struct sp_record *record);
/* The key has no record. */
bool ensure_no_record(struct ensure_scene *s);
/* Two records are equal in every field. */
bool ensure_same_record(struct ensure_scene *s, const struct sp_record *expected,
			const struct sp_record *actual);
/*
 * Writes a record of the scene's key behind ensure's back: this sandbox, thread and
 * age; `snapshot` may be NULL.
 */
bool ensure_seed(struct ensure_scene *s, const char *sandbox_id, const char *snapshot,
		 int64_t age_ms);
/* Makes a sandbox behind ensure's back; its id, or NULL after a recorded failure. */
const char *ensure_other_sandbox(struct ensure_scene *s);
/* Removes a sandbox behind ensure's back. */
bool ensure_lose_sandbox(struct ensure_scene *s, const char *id);
/* Exactly `live` of the sandboxes that were made live. */
bool ensure_live(struct ensure_scene *s, int live);
/* A cancel of the case's own; NULL after a recorded error. */
#define ENSURE_CANCEL SP_CLEANUP(ensure_cancel_done)
struct sp_cancel *ensure_cancel(struct sp_case *t);
/* See ENSURE_CANCEL. */
void ensure_cancel_done(struct sp_cancel **cancel);

#endif
