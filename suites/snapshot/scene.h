/* SPDX-License-Identifier: MIT */
/* What most cases of this suite set up: a sandbox with a secret and a planted decoy, and snapshots
 * that go again. */
#ifndef SUITE_SNAPSHOT_SCENE_H
#define SUITE_SNAPSHOT_SCENE_H

#include <string.h>

#include <witness/count.h>
#include <witness/gate.h>
#include <witness/rounds.h>
#include <witness/vars.h>

/* Name of the variable that holds the scene's secret. */
#define SNAP_NAME "CLAUDE_CODE_OAUTH_TOKEN"
/* Label of the snapshots that are taken on a thread. */
#define SNAP_BESIDE "beside"

struct snap_scene {
	struct sp_case *t;
	/* What labels begin with, from the first snapshot on. */
	const char *own;
	struct sp_sandbox *sandbox;
	/* The sandbox's secret; shown to have arrived. */
	struct sp_secret secret;
	struct sp_env var;
	/* Stands in a file of the workspace, so that a search of archives can be seen to find. */
	struct sp_canary decoy;
	/* Another instance's handle; ops NULL until snap_other(). */
	struct sp_sandbox other;
	/* Snapshots to delete. */
	struct sp_snapshot_ref refs[8];
	size_t n_refs;
};

/* struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT; leaving the scope deletes its snapshots and
 * closes its handles. */
#define SNAP_SCENE_INIT                                                                            \
	{                                                                                          \
		.other = SP_SANDBOX_INIT                                                           \
	}
/* See SNAP_SCENE_INIT. */
#define SNAP_SCENE SP_CLEANUP(snap_scene_done)

/* Takes the case's sandbox, sets the secret, shows that it arrived, plants the decoy. False after a
 * recorded failure. */
bool snap_scene_open(struct sp_case *t, struct snap_scene *s);
/* See SNAP_SCENE_INIT. */
void snap_scene_done(struct snap_scene *s);
/* Opens the second handle. */
bool snap_other(struct snap_scene *s);
/* True when snapshots are of this kind; else the case is skipped. */
bool snap_is_kind(struct sp_case *t, enum sp_snapshot_kind kind);
/* True when files and network of the case's sandbox are its own; else the case is skipped. */
bool snap_is_isolated(struct sp_case *t);
/* Takes a snapshot that must succeed; the scene deletes it. NULL after a recorded failure. */
const char *snap_take(struct snap_scene *s, const char *label);
/* Keeps a reference for deletion; its id, or NULL when there is none. Takes it over. */
const char *snap_keep(struct snap_scene *s, struct sp_snapshot_ref *ref);
/* Deletes all of the scene's snapshots now; a failure is recorded. */
bool snap_delete_all(struct snap_scene *s);
/* snapshot() on a thread; its reference is kept by snap_joined(). */
struct snap_call {
	struct snap_scene *s;
	const char *label;
	struct sp_snapshot_ref ref;
	struct sp_call *call;
};

/* struct snap_call c SNAP_CALL = SNAP_CALL_INIT; declare it after the scene, and gates after it. */
#define SNAP_CALL_INIT                                                                             \
	{                                                                                          \
		NULL, NULL, SP_SNAPSHOT_REF_INIT, NULL                                             \
	}
/* See SNAP_CALL_INIT. */
#define SNAP_CALL SP_CLEANUP(snap_call_done)

/* Starts it. False after a recorded error. */
bool snap_start(struct snap_scene *s, struct snap_call *call);
/* Joins it and keeps its reference, if there is one. NULL without a call. */
struct sp_call_result *snap_joined(struct snap_call *call);
/* See SNAP_CALL_INIT. */
void snap_call_done(struct snap_call *call);

/* Restores with `n` variables and a policy; ops NULL and `ret_rc` the code after a failure, which
 * is not recorded. */
struct sp_sandbox snap_restore(struct sp_case *t, const char *ref, const struct sp_env *env,
			       size_t n, enum sp_network network, int *ret_rc,
			       struct sp_error *err);
/* Same, and it must succeed. */
struct sp_sandbox snap_restore_ok(struct sp_case *t, const char *ref, const struct sp_env *env,
				  size_t n);
/* Destroys a restored sandbox; a failure is recorded. */
bool snap_destroy(struct sp_case *t, struct sp_sandbox *sandbox);
/* Needs control: how many snapshots and sandboxes the workspace has; false after a recorded
 * failure. */
bool snap_count(struct sp_case *t, size_t *ret_snapshots, size_t *ret_sandboxes);
/* Needs control: fails the case at `where` unless that many snapshots are there. */
bool snap_check_count(struct sp_case *t, size_t expected, struct sp_where where, const char *what);
/* Needs control: makes the next occurrence of a step fail. */
bool snap_fail(struct sp_case *t, enum sp_control_step step, enum sp_control_how how, int status);

#endif
