/* SPDX-License-Identifier: MIT */
/*
 * The stage: what ensure stands on in a case. The subject's own provider, store
 * and lock, each behind a table that counts the calls, fails those that the
 * case names, or holds them until the case lets them go. So every step can fail on
 * every back end, and every race has one order, without control.
 *
 * A wish for the network is noted and not handed on: what it does is the network suite's.
 *
 * What a stage pretends, where a case asks for it: snapshots (a restore makes an
 * empty sandbox and remembers from what), a lease that can be lost, fences, and another
 * name of the provider. Ensure is what is judged here; it sees only the contract.
 */
#ifndef SUITE_ENSURE_STAGE_H
#define SUITE_ENSURE_STAGE_H

#include <pthread.h>

#include <base/cleanup.h>
#include <sandproof/case.h>

/* The calls that ensure makes. Destroying counts by id and by handle. */
enum stage_call {
	STAGE_ACQUIRE = 0,
	STAGE_RELEASE,
	STAGE_GET,
	STAGE_UPSERT,
	STAGE_DEL,
	STAGE_CREATE,
	STAGE_RESUME,
	STAGE_RESTORE,
	STAGE_DESTROY,
	STAGE_SNAPSHOT_DELETE,
	STAGE_ENV_SET,
	STAGE_SNAPSHOT,
	/* The bootstrap of scene.h. */
	STAGE_BOOTSTRAP,
	STAGE_CALLS_,
};

/* Ids of sandboxes or snapshots that one case makes. */
#define STAGE_MADE_MAX 32

/* Whether a call that is to fail does its work first. */
enum stage_when {
	STAGE_INSTEAD = 0,
	STAGE_AFTERWARDS,
};

/* Holds every call of one kind; see stage_hold(). */
struct stage_gate {
	/* Counts those that came; readable once it is open. Descriptors, -1: no gate. */
	int reached, open;
};

/* What a create or restore was asked for. Texts live as long as the case. */
struct stage_asked {
	const char *id, *workspace, *from;
	enum sp_network network;
	size_t n_env;
	bool cancel;
};

/* A stage; one a subject. Wiped by STAGE_DONE. */
struct ensure_stage {
	struct sp_case *t;
	struct sp_subject *subject;
	/* What goes into the options of ensure. */
	struct sp_provider provider;
	struct sp_store store;
	struct sp_lock lock;

	/* What is pretended; set before the first call. */
	const char *name;
	bool snapshots;
	uint64_t fence;
	/* Fires to end the lease that is held; NULL: leases are the subject's own. */
	struct sp_cancel *lost;

	pthread_mutex_t mutex;
	unsigned calls[STAGE_CALLS_];
	/* Calls that came while none of one caller's locks was held. */
	unsigned unlocked;
	struct {
		int code;
		enum stage_when when;
	} failing[STAGE_CALLS_];
	struct stage_gate gates[STAGE_CALLS_];
	struct sp_capabilities caps;
	struct sp_store_capabilities store_caps;
	struct sp_lock_capabilities lock_caps;
	/* Every sandbox that was made, in order. */
	const char *made[STAGE_MADE_MAX];
	unsigned n_made;
	/* Every snapshot; NULL once it is deleted. */
	const char *shots[STAGE_MADE_MAX];
	unsigned n_shots;
	struct stage_asked asked;
	/* Key of the last acquire, fence of the last upsert (0: none). */
	const char *lock_key;
	uint64_t fence_seen;
};

/* Puts the stage over a subject with provider, store and lock. False after a recorded error. */
bool stage_open(struct sp_case *t, struct sp_subject *subject, struct ensure_stage *stage);
/* Opens all gates and frees the stage; no call of ensure is pending then. */
void stage_close(struct ensure_stage *stage);

/* From now on the call fails with this code; 0: it works again. */
void stage_fail(struct ensure_stage *stage, enum stage_call call, int code, enum stage_when when);
/* Calls of this kind so far. */
unsigned stage_calls(struct ensure_stage *stage, enum stage_call call);
/* Counts a call and holds or fails it; for what is not behind a table of the stage. */
int stage_enter(struct ensure_stage *stage, enum stage_call call, struct sp_error *err);

/*
 * Holds every call of this kind before its work, until stage_release().
 * False after a recorded error.
 */
bool stage_hold(struct ensure_stage *stage, enum stage_call call);
/* Waits until one more call stands there. False after a recorded failure: none came. */
bool stage_await(struct ensure_stage *stage, enum stage_call call);
/* Lets all go, now and later. */
void stage_release(struct ensure_stage *stage, enum stage_call call);

/* Notes a snapshot that a record names; its id. */
const char *stage_add_snapshot(struct ensure_stage *stage);
/* Snapshots that are not deleted. */
unsigned stage_shots(struct ensure_stage *stage);
/*
 * 1: a sandbox with this id can be resumed, asked below the stage; 0: it is gone for good;
 * -1 after a recorded failure.
 */
int stage_alive(struct ensure_stage *stage, const char *id);
/* How many of those made are alive; -1 after a recorded failure. */
int stage_live(struct ensure_stage *stage);

#endif
