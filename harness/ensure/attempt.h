/* SPDX-License-Identifier: MIT */
/*
 * One call of ensure() or destroy(): what it holds, and how each piece is let
 * go. Everything happens between attempt_begin() and attempt_done(), which
 * means under the key's lock.
 */
#ifndef SP_ENSURE_ATTEMPT_H
#define SP_ENSURE_ATTEMPT_H

#include <sandproof/ensure.h>

#include <ensure/key.h>
#include <ensure/work.h>

struct attempt {
	const struct sp_ensure_options *options;
	char key[SP_ENSURE_KEY_SIZE];
	const char *provider_name;
	int64_t now_ms;
	struct sp_lease lease;
	/* What the call obeys: the options' cancel, or one of its own. May be NULL. */
	struct sp_cancel *caller;
	/* Fires with `caller` and with the loss of the lease. */
	struct work work;
	/* What the store had, if anything. */
	struct sp_record record;
	bool found;
	/* The sandbox of this call, and the snapshot that was taken of it. */
	struct sp_sandbox sandbox;
	struct sp_snapshot_ref snapshot;
	/* It was made by this call, so a later failure removes it. */
	bool made;
};

#define ATTEMPT_INIT { .work = WORK_INIT }

/*
 * Takes the lock and reads the record. `patient`: under a cancel of its own, as for a clean-up that
 * must not depend on a request. SP_CONFLICT when the record belongs to somebody else.
 */
int attempt_begin(struct attempt *a, const struct sp_ensure_options *options, bool patient,
		  struct sp_error *err);
/* Closes the sandbox's handle, gives the lock back and frees the rest. */
void attempt_done(struct attempt *a);

/*
 * Writes a record of this key: with `sandbox_id`, the run of this call, this moment, and
 * `snapshot_id` (NULL: absent).
 */
int attempt_store(struct attempt *a, const char *sandbox_id, const char *snapshot_id,
		  struct sp_error *err);
/*
 * 0 while the call may go on; after a lost lease SP_UNAVAILABLE, after
 * the caller's cancel its code.
 */
int attempt_check(struct attempt *a, struct sp_error *err);
/*
 * Removes what this call made, after `rc`; returns `rc`, and adds to the message when even that
 * failed. A lost lease is told as such.
 */
int attempt_undo(struct attempt *a, int rc, struct sp_error *err);
/* Destroys by id, under a cancel of its own. */
int attempt_destroy(struct attempt *a, const char *sandbox_id, struct sp_error *err);
/* Whether the provider declares snapshots. */
bool attempt_has_snapshots(const struct attempt *a);
/* Deletes a snapshot (NULL: none) where the provider has snapshots, under a cancel of its own. */
int attempt_delete_snapshot(struct attempt *a, const char *snapshot_id, struct sp_error *err);

#endif
